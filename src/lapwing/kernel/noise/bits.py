"""Secret bits from the operating system.

Secret randomness protects people: it comes from the operating system, and nothing can seed it. No bit is kept between
calls, so there is nothing here that a fork, a thread or a snapshot could use twice; the kernel must do its part.
"""

import os
from fractions import Fraction
from numbers import Rational
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ParameterError

WORD_BYTES = 8
WORD_BITS = 8 * WORD_BYTES
BLOCK_WORDS = (1 << 20) // WORD_BYTES


class BitSource(Protocol):
    """A source of secret, independent, uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words that were never returned before.

        Returns uint64 (count,).
        """
        ...  # pragma: no cover


class SystemBits:
    """Bits of the operating system (``os.urandom``), read in blocks of 1 MiB.

    There is no seed and no state. About 40 million words per CPU second.

    >>> SystemBits().words(3).shape
    (3,)
    """

    __slots__ = ()

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` fresh words.

        Returns uint64 (count,), read-only where one block is enough.
        """
        if count <= BLOCK_WORDS:
            return np.frombuffer(os.urandom(WORD_BYTES * count), dtype=np.uint64)

        words = np.empty(count, dtype=np.uint64)
        for start in range(0, count, BLOCK_WORDS):
            block = words[start : start + BLOCK_WORDS]
            block[:] = np.frombuffer(os.urandom(WORD_BYTES * block.size), dtype=np.uint64)
        return words


# -- Checks of the public settings that all samplers share.


LARGEST_SCALE = 1 << 55  # draws stay below 2^62 but for a probability under exp(-127)


def checked_scale(scale: Fraction) -> Fraction:
    """Return the noise scale; ParameterError unless it is a positive rational of at most 2^55."""
    scale = checked_rational("noise scale", scale)
    if scale > LARGEST_SCALE:
        raise ParameterError(f"noise scale must be at most 2**55, got {scale}; spend more budget", code="LW508")
    return scale


def checked_rational(name: str, value: Fraction) -> Fraction:
    """Return a positive setting as a Fraction; ParameterError for anything but a positive rational."""
    # A float is refused, not rounded: the caller decides which rational it stands for.
    if not isinstance(value, Rational):
        raise ParameterError(
            f"{name} must be a Fraction, got a {type(value).__name__}; use Fraction(str(value))", code="LW390"
        )
    if value <= 0:
        raise ParameterError(f"{name} must be positive, got {value}", code="LW390")
    return Fraction(value)


def checked_size(size: int) -> int:
    """Return the number of draws; ParameterError below 0."""
    if size < 0:
        raise ParameterError(f"size must be at least 0, got {size}", code="LW390")
    return size
