"""Secret bits from the operating system.

Secret randomness protects people: it comes from the operating system, and nothing can seed it. No bit is kept between
calls, so there is nothing here that a fork, a thread or a snapshot could use twice; the kernel must do its part.
"""

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

WORD_BYTES = 8
WORD_BITS = 8 * WORD_BYTES
BLOCK_WORDS = (1 << 20) // WORD_BYTES


class BitSource(Protocol):
    """A source of secret, independent, uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words that were never returned before.

        Parameters
        ----------
        count : int
            Number of words, at least 0.

        Returns
        -------
        ndarray of uint64, shape (count,)
            Possibly read-only.
        """
        ...  # pragma: no cover


class SystemBits:
    """Bits of the operating system (``os.urandom``), read in blocks of 1 MiB.

    Notes
    -----
    There is no seed and no state. About 40 million words per CPU second.

    Examples
    --------
    >>> SystemBits().words(3).shape
    (3,)
    """

    __slots__ = ()

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` fresh words.

        Parameters
        ----------
        count : int
            Number of words, at least 0.

        Returns
        -------
        ndarray of uint64, shape (count,)
            Read-only where one block is enough.
        """
        if count <= BLOCK_WORDS:
            return np.frombuffer(os.urandom(WORD_BYTES * count), dtype=np.uint64)

        words = np.empty(count, dtype=np.uint64)
        for start in range(0, count, BLOCK_WORDS):
            block = words[start : start + BLOCK_WORDS]
            block[:] = np.frombuffer(os.urandom(WORD_BYTES * block.size), dtype=np.uint64)
        return words
