"""Geometric variables, exactly: independent digits to base 256, and what is built from their gaps.

See `geometric.proof.md`.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, repeat

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.bits import WORD_BITS, BitSource
from lapwing.noise.enclosures import Interval, Real, ceil_divide, ceil_shift, power
from lapwing.noise.inverse_cdf import Table, draw, make_table

DIGIT_BITS = 8
BASE = 1 << DIGIT_BITS
LIMIT = 1 << 62  # the most that an int64 draw can be: a count below 2^62 can be added without overflow
MAX_PLACES = 7
CHUNK = 1 << 14  # draws at a time: their words and digits stay in the cache of a core
RESTART_BITS = 46  # places are added until a restart is rarer than 2^-46


@dataclass(frozen=True, slots=True)
class Digit:
    """The digit of weight 256^place: P[d = r] proportional to u^r, u = ratio^(256^place), r = 0..255.

    The last place is not cut off: its outcome 256 stands for "256 or more".
    """

    ratio: Real
    place: int
    is_last: bool

    def cumulative(self, precision: int) -> tuple[list[int], list[int]]:
        """Return the ends of (1 - u^r) / (1 - u^256), r = 1..255; of 1 - u^r, r = 1..256, in the last place."""
        u_lo, u_hi = _place_ratio(self.ratio, self.place, precision)
        one = 1 << precision
        powers_lo = list(accumulate(repeat(u_lo, BASE), lambda a, b: a * b >> precision))
        powers_hi = list(accumulate(repeat(u_hi, BASE), lambda a, b: -(-a * b >> precision)))
        if self.is_last:
            return [one - end for end in powers_hi], [one - end for end in powers_lo]
        if powers_hi[-1] >= one:
            # Too coarse to divide by 1 - u^256: enclose by (0, 1), which makes the caller ask for more precision.
            return [0] * (BASE - 1), [one] * (BASE - 1)

        factor_lo = (one << precision) // (one - powers_lo[-1])
        factor_hi = ceil_divide(one << precision, one - powers_hi[-1])
        lower = [(one - end) * factor_lo >> precision for end in powers_hi[:-1]]
        upper = [-((end - one) * factor_hi >> precision) for end in powers_lo[:-1]]
        return lower, upper


def _place_ratio(ratio: Real, place: int, precision: int) -> Interval:
    """Enclose ratio^(256^place)."""
    guard = DIGIT_BITS * place
    lo, hi = power(ratio.enclose(precision + guard), guard, precision + guard)
    return lo >> guard, ceil_shift(hi, guard)


@lru_cache(maxsize=256)
def _places(ratio: Real, limit: int) -> int:
    """Return how many digits to draw: until restarts are rare or the digits reach the limit. Any number is exact."""
    most = max(1, ceil_divide((limit - 1).bit_length(), DIGIT_BITS))
    if limit <= LIMIT:
        most = min(most, MAX_PLACES)
    precision = RESTART_BITS + 2 * DIGIT_BITS * most
    interval = ratio.enclose(precision)
    for places in range(1, most):
        interval = power(interval, DIGIT_BITS, precision)
        if interval[1] >> (precision - RESTART_BITS) == 0:
            return places
    return most


def geometric(ratio: Real, size: int, bits: BitSource, *, limit: int = LIMIT) -> NDArray[np.int64]:
    """Draw geometric variables G, P[G = k] = (1 - ratio) ratio^k for k >= 0, capped at a limit.

    Parameters
    ----------
    ratio : Real
        Irrational, strictly between 0 and 1: `Exponential(1 / scale)`, or `Complement` of a success probability.
    size : int
        Number of draws, at least 0.
    bits : BitSource
        Secret bits: one word per digit, whatever the value.
    limit : int, default 2^62
        From 1 to 2^62: min(G, limit) is returned.

    Returns
    -------
    ndarray of int64, shape (size,)

    Notes
    -----
    Guarantee: the law of min(G, limit) is exact. Time: about 40 ns per digit.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from lapwing.noise.bits import SystemBits
    >>> from lapwing.noise.enclosures import Exponential
    >>> bool((geometric(Exponential(Fraction(1, 3)), 5, SystemBits()) >= 0).all())
    True
    """
    values = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        chunk = values[start : start + CHUNK]
        chunk[:] = geometric_chunk(ratio, chunk.size, bits, limit, WORD_BITS)
    return values


def geometric_chunk(ratio: Real, size: int, bits: BitSource, limit: int, word_bits: int) -> NDArray[np.int64]:
    """Draw one chunk of min(G, limit), limit <= 2^62, by words of a given length."""
    places = _places(ratio, limit)
    unit = 1 << DIGIT_BITS * (places - 1)
    enough = ceil_divide(limit, unit)
    values = _last_digit(make_table(Digit(ratio, places - 1, True), word_bits), size, bits, enough)
    if not (values < enough).any():
        return np.full(size, limit, dtype=np.int64)

    for place in reversed(range(places - 1)):
        values <<= DIGIT_BITS
        values += draw(make_table(Digit(ratio, place, False), word_bits), size, bits)
    return np.minimum(values, limit, out=values)


def _last_digit(table: Table, size: int, bits: BitSource, enough: int) -> NDArray[np.int64]:
    """Draw the unbounded last digit: 256 and a restart as often as "256 or more" comes up, until it is `enough`."""
    digits = draw(table, size, bits).astype(np.int64)
    growing = np.flatnonzero(digits == BASE)
    while growing.size:
        more = draw(table, growing.size, bits)
        # [restart] given G >= 256 units, G - 256 units has the law of G again.
        digits[growing] += more
        growing = growing[(more == BASE) & (digits[growing] < enough)]
    return np.minimum(digits, enough, out=digits)
