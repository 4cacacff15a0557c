"""Geometric variables, exactly, by independent digits to base 256; and which of many trials succeed, by their gaps.

See `geometric.proof.md`.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ParameterError
from lapwing.kernel.noise.bits import WORD_BITS, BitSource, checked_size
from lapwing.kernel.noise.enclosures import Complement, Interval, Real, ceil_divide, ceil_shift, power
from lapwing.kernel.noise.inverse_cdf import WordTable, draw, make_table

IntegerArray = np.ndarray[Any, Any]  # of int64, or of Python integers where 64 bits are too few

DIGIT_BITS = 8
BASE = 1 << DIGIT_BITS
LIMIT = 1 << 62  # the most that an int64 draw can be: a count below 2^62 can be added without overflow
MAX_PLACES = 7
CHUNK = 1 << 14  # draws at a time: their words and digits stay in the cache of a core
NARROW_POPULATION = 1 << 46  # ranks of a chunk of capped gaps stay below 2^62
FEW = 16
RESTART_BITS = 46  # places are added until a restart is rarer than 2^-46


@dataclass(frozen=True, slots=True)
class Digit:
    """The digit of weight 256^place: P[d = r] proportional to u^r, u = ratio^(256^place), r = 0..255.

    The last place is not cut off: its outcome 256 stands for "256 or more".
    """

    ratio: Real
    place: int
    is_last: bool

    def cumulative(self, precision: int) -> tuple[list[int], int]:
        """Enclose (1 - u^r) / (1 - u^256), r = 1..255; in the last place 1 - u^r, r = 1..256."""
        u_lo, u_hi = _place_ratio(self.ratio, self.place, precision)
        one = 1 << precision
        powers = list(accumulate(repeat(u_lo, BASE), lambda a, b: a * b >> precision))
        # [powers] u^r is at most r (u_hi - u_lo + 1) above its lower end: one more such step for each factor.
        slack = BASE * (u_hi - u_lo + 1)
        if self.is_last:
            return [one - slack - end for end in powers], slack
        if powers[-1] + slack >= one:
            # Too coarse to divide by 1 - u^256: enclose by (0, 1), which makes the caller ask for more precision.
            return [0] * (BASE - 1), one

        factor_lo = (one << precision) // (one - powers[-1])
        factor_hi = ceil_divide(one << precision, one - powers[-1] - slack)
        # [quotient] ends: (one - slack - p_r) factor_lo and (one - p_r) factor_hi; p_r is least at r = 255.
        width = (one - powers[-2]) * (factor_hi - factor_lo) + slack * factor_lo
        return [(one - slack - end) * factor_lo >> precision for end in powers[:-1]], (width >> precision) + 2


def _place_ratio(ratio: Real, place: int, precision: int) -> Interval:
    """Enclose ratio^(256^place)."""
    guard = DIGIT_BITS * place
    lo, hi = power(ratio.enclose(precision + guard), guard, precision + guard)
    return lo >> guard, ceil_shift(hi, guard)


@lru_cache(maxsize=256)
def _places(ratio: Real, most: int) -> int:
    """Return how many digits to draw: until restarts are rare, at most `most`. Any number is exact."""
    precision = RESTART_BITS + 2 * DIGIT_BITS * most
    interval = ratio.enclose(precision)
    for places in range(1, most):
        interval = power(interval, DIGIT_BITS, precision)
        if interval[1] >> (precision - RESTART_BITS) == 0:
            return places
    return most


def geometric(ratio: Real, size: int, bits: BitSource, *, limit: int = LIMIT) -> NDArray[np.int64]:
    """Draw geometric variables G, P[G = k] = (1 - ratio) ratio^k for k >= 0, capped at a limit.

    ratio: transcendental, strictly between 0 and 1: `Exponential(1 / scale)`, or `Complement` of a success probability;
    bits: secret bits: one word per digit, whatever the value. Returns int64 (size,).

    Guarantee: the law of min(G, limit) is exact. Time: about 40 ns per digit.

    >>> from fractions import Fraction
    >>> from lapwing.kernel.noise.bits import SystemBits
    >>> from lapwing.kernel.noise.enclosures import Exponential
    >>> bool((geometric(Exponential(Fraction(1, 3)), 5, SystemBits()) >= 0).all())
    True
    """
    if not 1 <= limit <= LIMIT:
        raise ParameterError(f"limit must be from 1 to 2**62, got {limit}", code="LW390")
    values = np.empty(checked_size(size), dtype=np.int64)
    for start in range(0, size, CHUNK):
        chunk = values[start : start + CHUNK]
        chunk[:] = geometric_chunk(ratio, chunk.size, bits, limit, WORD_BITS)
    return values


def geometric_chunk(ratio: Real, size: int, bits: BitSource, limit: int, word_bits: int) -> IntegerArray:
    """Draw one chunk of min(G, limit) by words of a given length: int64 up to the limit 2^62, else Python integers."""
    is_narrow = limit <= LIMIT
    most = max(1, ceil_divide((limit - 1).bit_length(), DIGIT_BITS))
    places = _places(ratio, min(most, MAX_PLACES) if is_narrow else most)
    enough = ceil_divide(limit, 1 << DIGIT_BITS * (places - 1))
    last = make_table(Digit(ratio, places - 1, True), word_bits)
    values: IntegerArray = draw(last, size, bits).astype(np.int64 if is_narrow else np.object_)
    _restart(values, last, bits, enough)
    if not (values < enough).any():
        # The lower digits of numbers beyond the limit are not asked for: their tables could be very fine.
        values[:] = limit
        return values

    for place in reversed(range(places - 1)):
        values <<= DIGIT_BITS
        values += draw(make_table(Digit(ratio, place, False), word_bits), size, bits)
    np.minimum(values, limit, out=values)
    return values


def _restart(digits: IntegerArray, table: WordTable, bits: BitSource, enough: int) -> None:
    """Complete last digits in place: while one says "256 or more" and is below `enough`, add another draw."""
    growing = np.flatnonzero(digits == BASE)
    while growing.size:
        # [restart] given G >= 256 units, G - 256 units has the law of G again.
        more = draw(table, growing.size, bits)
        digits[growing] += more
        growing = growing[(more == BASE) & (digits[growing] < enough)]
    np.minimum(digits, enough, out=digits)


def survivors(population: int, success: Real, bits: BitSource) -> NDArray[np.int64] | NDArray[np.object_]:
    """Draw which of `population` independent trials succeed, without going through them.

    population: number of trials, at least 0; it may exceed 2^63; success: probability of success, transcendental,
    strictly between 0 and 1: `LaplaceTail`, for instance; bits: secret bits: one word per digit of a gap. Returns
    int64, or of Python integers for a population above 2^46; shape (m,), ranks of the successes, increasing, from 0 to
    population - 1; m is Binomial(population, success).

    Guarantee: the joint law is exact. Time and memory grow with m, which the caller bounds in advance by public
    numbers.

    >>> from fractions import Fraction
    >>> from lapwing.kernel.noise.bits import SystemBits
    >>> from lapwing.kernel.noise.enclosures import LaplaceTail
    >>> survivors(10**30, LaplaceTail(Fraction(1), 1000), SystemBits()).size
    0
    """
    failure = Complement(success)
    parts: list[IntegerArray] = [np.empty(0, dtype=np.int64 if population <= NARROW_POPULATION else np.object_)]
    often = success.enclose(max(population.bit_length(), 1))[1]
    start = 0
    while start < population:
        expected = (population - start) * often >> population.bit_length()
        size = min(expected + (expected >> 3) + FEW, CHUNK)
        gaps = geometric_chunk(failure, size, bits, population, WORD_BITS).astype(parts[0].dtype)
        # [gaps] the failures before each success are independent geometric variables.
        ranks = np.cumsum(gaps + 1) + (start - 1)
        parts.append(ranks[ranks < population])
        start = int(ranks[-1]) + 1
    return np.concatenate(parts)
