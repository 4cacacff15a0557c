"""Bit sources of the audit: remember the secret words of one run, and give them again."""

import numpy as np

from lapwing.noise.bits import BitSource


class RecordingBits:
    """Pass words on and keep them.

    Parameters
    ----------
    bits : BitSource
        Where the words come from.
    """

    __slots__ = ("_bits", "_words")

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        self._words: list[np.ndarray] = []

    def words(self, count: int) -> np.ndarray:
        """Return fresh words and remember them."""
        drawn = self._bits.words(count)
        self._words.append(drawn.copy())
        return drawn

    def playback(self) -> "PlaybackBits":
        """Return a source that gives the same words once more."""
        return PlaybackBits(np.concatenate([np.empty(0, dtype=np.uint64), *self._words]))


class PlaybackBits:
    """Give recorded words in order.

    Parameters
    ----------
    words : ndarray of uint64
        The record.
    """

    __slots__ = ("_next", "_words")

    def __init__(self, words: np.ndarray) -> None:
        self._words = words
        self._next = 0

    @property
    def left(self) -> int:
        """How many words were not given yet."""
        return len(self._words) - self._next

    def words(self, count: int) -> np.ndarray:
        """Return the next words.

        Raises
        ------
        EOFError
            If the record is too short: the recorded run drew less noise than this one asks for.
        """
        if count > self.left:
            raise EOFError("the recorded run drew fewer secret words")
        self._next += count
        return self._words[self._next - count : self._next].copy()
