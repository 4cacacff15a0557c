"""Lazy inverse distribution function: exact draws from a law on 0..n-1, one 64-bit word each.

A uniform number U is revealed word by word; the draw is how many F_r = P[X < r] are at most U. Where the first word
equals that of some F_r, one more word is drawn and F_r is enclosed finer. See `inverse_cdf.proof.md`.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.kernel.noise.bits import WORD_BITS, BitSource

EXTRA_PRECISION = 128
GUIDE_BITS = 12
GUIDED_SIZE = 2048  # a guide pays from about this many draws on
OPEN = 0xFFFF  # guide entry of a bucket that contains a threshold; more than any outcome


class Law(Protocol):
    """A law on 0..n-1 whose distribution values are irrational, strictly between 0 and 1, and increasing. Hashable."""

    def __hash__(self) -> int:
        """Return the same number for equal laws."""
        ...  # pragma: no cover

    def cumulative(self, precision: int) -> tuple[list[int], int]:
        """Return lower ends of 2^precision P[X < r], r = 1..n-1, never decreasing, and how far above them it may be."""
        ...  # pragma: no cover


@dataclass(frozen=True, slots=True, eq=False)
class WordTable:
    """First words of the distribution values of a law.

    `words` is an ndarray of uint64, shape (n - 1,): floor(2^word_bits F_r). Words are 64 bits long; tests shorten them
    to 1 or 3 bits, so that the refinement really happens.
    """

    law: Law
    word_bits: int
    words: NDArray[np.uint64]


@lru_cache(maxsize=256)
def make_table(law: Law, word_bits: int = WORD_BITS) -> WordTable:
    """Return the table of a law."""
    words = np.array(thresholds(law, word_bits), dtype=np.uint64)
    words.flags.writeable = False
    return WordTable(law, word_bits, words)


@lru_cache(maxsize=256)
def thresholds(law: Law, bits: int) -> tuple[int, ...]:
    """Return floor(2^bits F_r) for r = 1..n-1, accepted only when both ends of every enclosure agree."""
    precision = bits + EXTRA_PRECISION
    top = (1 << bits) - 1
    while True:
        lower, width = law.cumulative(precision)
        drop = precision - bits
        # [agree] F_r is irrational, so a whole number at the upper end is not reached: hence the -1.
        low = [end >> drop for end in lower]
        high = [end + width - 1 >> drop for end in lower]
        if low[0] < 0 or high[-1] > top:
            # 0 < F_r < 1 clips the ends.
            low, high = [max(end, 0) for end in low], [min(end, top) for end in high]
        if low == high:
            return tuple(low)
        precision *= 2


def draw(table: WordTable, size: int, bits: BitSource) -> NDArray[np.uint16]:
    """Draw independent outcomes of the law, exactly.

    bits: secret bits: one word per draw, more with probability below n 2^-64. Returns uint16 (size,).

    Guarantee: the law is exact, not 2^-64-close. Time: about 30 ns per draw, most of it the system's bits.
    """
    words = bits.words(size)
    if table.word_bits < WORD_BITS:
        words = words >> np.uint64(WORD_BITS - table.word_bits)
    if size < GUIDED_SIZE:
        return _resolve(table, words, bits)

    outcomes = _guide(table)[(words >> _bucket_shift(table)).view(np.int64)]
    unresolved = np.flatnonzero(outcomes == OPEN)
    outcomes[unresolved] = _resolve(table, words[unresolved], bits)
    return outcomes


@lru_cache(maxsize=128)
def _guide(table: WordTable) -> NDArray[np.uint16]:
    """Return the outcome of every bucket of words that contains no threshold, OPEN for the others."""
    buckets = 1 << min(GUIDE_BITS, table.word_bits)
    homes = (table.words >> _bucket_shift(table)).astype(np.int64)
    guide = np.searchsorted(homes, np.arange(buckets), side="left").astype(np.uint16)
    guide[homes] = OPEN
    guide.flags.writeable = False
    return guide


def _bucket_shift(table: WordTable) -> np.uint64:
    """Return how many low bits of a word its bucket ignores."""
    return np.uint64(max(table.word_bits - GUIDE_BITS, 0))


def _resolve(table: WordTable, words: NDArray[np.uint64], bits: BitSource) -> NDArray[np.uint16]:
    """Compare each word with the thresholds; refine where it equals one."""
    # [count] thresholds below the word are counted, thresholds above it are not.
    outcomes = np.searchsorted(table.words, words, side="left").astype(np.uint16)
    nearest = table.words[np.minimum(outcomes, table.words.size - 1)]
    for tie in np.flatnonzero(nearest == words):
        outcomes[tie] = _refine(table, int(words[tie]), bits)
    return outcomes


def _refine(table: WordTable, word: int, bits: BitSource) -> int:
    """Decide a word that equals a threshold by drawing more of the same uniform number."""
    known = table.word_bits
    while True:
        # [refine] the bits drawn so far stay; finer thresholds are compared with the longer word.
        word = word << table.word_bits | int(bits.words(1)[0]) >> WORD_BITS - table.word_bits
        known += table.word_bits
        ends = thresholds(table.law, known)
        outcome = bisect_left(ends, word)
        if outcome == len(ends) or ends[outcome] != word:
            return outcome
