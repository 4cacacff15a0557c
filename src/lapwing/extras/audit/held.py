"""What an audit keeps of a run: secret words, to be given again or made unlikely, and rows, read once."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import polars as pl

from lapwing.kernel.noise.bits import BitSource
from lapwing.rows.counting import CodedSource, Codes


class RecordingBits:
    """Pass words on and keep them."""

    __slots__ = ("_bits", "_words")

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        self._words: list[np.ndarray] = []

    def words(self, count: int) -> np.ndarray:
        """Return fresh words and remember them."""
        drawn = self._bits.words(count)
        self._words.append(drawn.copy())
        return drawn

    @property
    def drawn(self) -> int:
        """How many words were given."""
        return sum(map(len, self._words))

    @property
    def has_repeats(self) -> bool:
        """Whether a word came twice: by chance for n honest words less than once in 2^65 / n^2 runs."""
        words = np.sort(self._all())
        return bool((words[1:] == words[:-1]).any())

    def playback(self) -> "PlaybackBits":
        """Return a source that gives the same words once more."""
        return PlaybackBits(self._all())

    def _all(self) -> np.ndarray:
        return np.concatenate([np.empty(0, dtype=np.uint64), *self._words])


class UnlikelyBits:
    """Make an eighth of all words very small and an eighth very large, so that rare noise and choices happen.

    Replay holds for any words; that each word can still come lets repeated draws end.

    >>> from lapwing.kernel.noise.bits import SystemBits
    >>> bool(UnlikelyBits(SystemBits()).words(10_000).min() < 2**40)
    True
    """

    __slots__ = ("_bits",)

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits

    def words(self, count: int) -> np.ndarray:
        """Return words, a quarter of which begin with up to 47 zeros or ones more than others."""
        plain, choices = self._bits.words(2 * count).reshape(2, count)
        small = plain >> (choices // np.uint64(8) % np.uint64(48))
        kind = choices % np.uint64(8)
        return np.where(kind == 0, small, np.where(kind == 1, ~small, plain))


class PlaybackBits:
    """Give recorded words in order.

    words: uint64, the record.
    """

    __slots__ = ("_next", "_words")

    def __init__(self, words: np.ndarray) -> None:
        self._words = words
        self._next = 0

    @property
    def drawn(self) -> int:
        """How many words were given."""
        return self._next

    @property
    def left(self) -> int:
        """How many words were not given yet."""
        return len(self._words) - self._next

    def words(self, count: int) -> np.ndarray:
        """Return the next words."""
        if count > self.left:
            raise EOFError("the recorded run drew fewer secret words")
        self._next += count
        return self._words[self._next - count : self._next].copy()


class Rows(Protocol):
    """What a recount sees of a `CodedSource`."""

    def chunks(self, *, apart: bool = False) -> Iterator[Codes]:
        """Yield the codes of all rows, chunk by chunk."""

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of an opened string column, chunk by chunk."""

    @property
    def unmet(self) -> int:
        """Number of rows that belong to no row above."""


class HeldRows:
    """The rows of a source, whose codes are read once, when they are first wanted.

    Recounting each answer from another pass over a table would take most of the time of an audit. Rows that change
    from one pass to the next are still seen: whoever counts them then does not count these.
    """

    __slots__ = ("_chunks", "_source")

    def __init__(self, source: CodedSource) -> None:
        self._source = source
        self._chunks: dict[bool, list[Codes]] = {}

    def chunks(self, *, apart: bool = False) -> Iterator[Codes]:
        """Yield the codes of all rows, chunk by chunk."""
        if apart not in self._chunks:
            self._chunks[apart] = list(self._source.chunks(apart=apart))
        return iter(self._chunks[apart])

    @property
    def unmet(self) -> int:
        """Number of rows that belong to no row above, as the source says; naive twins of linked tables count again."""
        return self._source.unmet

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of an opened string column, chunk by chunk."""
        return self._source.texts(column)
