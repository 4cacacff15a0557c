"""Bernoulli(exp(-x)) for rational x, exactly. See `bernoulli.proof.md`.

A filter: exp(-x) is computed in 32-bit fixed point with a proved error, which decides all but about one element in two
million; those are decided by exact enclosures.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ParameterError
from lapwing.kernel.noise.bits import WORD_BITS, BitSource, checked_rational
from lapwing.kernel.noise.enclosures import ceil_divide, exp_minus, reciprocal

EXPONENT_BITS = 40  # fixed-point exponents are whole numbers of 2^-40
EXPONENT_CLIP = 24  # exp(-24) < 2^-34: larger exponents look alike to the filter
FILTER_BITS = 32  # bits of a word that the filter looks at
SLACK = 1024  # proved error of the filter, in units of 2^-32, is below 400
STEP_BITS = 8  # the table of exponentials has steps of 2^-8
TABLE_BITS = 30
MULTIPLE_BITS = 31
PRODUCT_BITS = 17


def bernoulli_exp_multiples(multiples: NDArray[np.uint64], unit: Fraction, bits: BitSource) -> NDArray[np.bool_]:
    """Draw independent Bernoulli variables, each with its own exponent: true with probability exp(-multiple * unit).

    multiples: uint64 (size,), any values; bits: secret bits: one word per draw, more with probability about 2^-21.
    Returns bool (size,).

    Guarantee: the law is exact.

    >>> from lapwing.kernel.noise.bits import SystemBits
    >>> bernoulli_exp_multiples(np.array([0, 10**9], dtype=np.uint64), Fraction(1), SystemBits()).tolist()
    [True, False]
    """
    if multiples.dtype != np.uint64:
        raise ParameterError(f"multiples must be an array of uint64, got {multiples.dtype}; convert it", code="LW390")
    unit = checked_rational("unit", unit)
    return accept_exp(multiple_exponents(multiples, unit), lambda index: int(multiples[index]) * unit, bits)


def multiple_exponents(multiples: NDArray[np.uint64], unit: Fraction) -> NDArray[np.int64]:
    """Return multiple * unit in units of 2^-40, as close as `accept_exp` asks."""
    per_unit = reciprocal(unit)
    clip = min(ceil_divide(EXPONENT_CLIP * per_unit.numerator, per_unit.denominator), (1 << WORD_BITS) - 1)
    drop = max(clip.bit_length() - MULTIPLE_BITS, 0)
    scaled = (unit.numerator << EXPONENT_BITS + PRODUCT_BITS + drop) // unit.denominator
    factor = min(scaled, EXPONENT_CLIP << EXPONENT_BITS + PRODUCT_BITS)
    # [multiples] int64 from here on: NumPy would turn a mix of int64 and uint64 into floating point.
    short = (np.minimum(multiples, np.uint64(clip)) >> np.uint64(drop)).astype(np.int64)
    exponents: NDArray[np.int64] = short * np.int64(factor) >> np.int64(PRODUCT_BITS)
    return exponents


def accept_exp(exponents: NDArray[np.int64], exact: Callable[[int], Fraction], bits: BitSource) -> NDArray[np.bool_]:
    """Accept each element with probability exp(-x) from its approximate exponent, exactly.

    exponents: int64 (size,), at least 0 and such that exp(-exponent / 2^40) is within 2^-24 of exp(-x); exact: the
    exact exponent x of an element, by its index; bits: secret bits: one word per element, more for those that the
    filter leaves open. Returns bool (size,).

    Guarantee: the law is exact, given exponents as close as asked. Time: about 40 ns per element.
    """
    words = bits.words(exponents.size)
    heads = (words >> np.uint64(WORD_BITS - FILTER_BITS)).astype(np.int64)
    # [filter] heads <= 2^32 U < heads + 1: outside the slack the comparison of U with exp(-x) is settled.
    distance = heads - approximate_exp(np.minimum(exponents, EXPONENT_CLIP << EXPONENT_BITS))
    accepted = distance < -SLACK
    for index in np.flatnonzero(np.abs(distance) <= SLACK):
        accepted[index] = decide(exact(int(index)), int(words[index]), bits)
    return accepted


def approximate_exp(exponents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 2^32 exp(-x), with an error below 50, from 2^40 x <= 24 * 2^40."""
    coarse_bits = EXPONENT_BITS - STEP_BITS
    rest = (exponents & ((1 << coarse_bits) - 1)) >> (EXPONENT_BITS - FILTER_BITS)
    # exp(-y) = 1 - y + y^2 / 2 for 0 <= y < 2^-8, with an error below 2^-24 / 6
    fine = (1 << FILTER_BITS) - rest + (rest * rest >> (FILTER_BITS + 1))
    product: NDArray[np.int64] = _exp_table()[exponents >> coarse_bits] * fine >> TABLE_BITS
    return product


@lru_cache(maxsize=1)
def _exp_table() -> NDArray[np.int64]:
    """Return 2^30 exp(-k / 256), at most 1.001 too small, for k = 0..24 * 256; public constants."""
    precision = 2 * TABLE_BITS
    units = [exp_minus(Fraction(unit), precision)[0] for unit in range(EXPONENT_CLIP + 1)]
    steps = [exp_minus(Fraction(step, 1 << STEP_BITS), precision)[0] for step in range(1 << STEP_BITS)]
    values = [unit * step >> 2 * precision - TABLE_BITS for unit in units for step in steps]
    table = np.array(values, dtype=np.int64)
    table.flags.writeable = False
    return table


def decide(x: Fraction, word: int, bits: BitSource, word_bits: int = WORD_BITS) -> bool:
    """Return U < exp(-x) for a uniform number U whose first word is given, drawing more words while it is open."""
    if x == 0:
        return True
    known = word_bits
    while True:
        lo, hi = exp_minus(x, known + WORD_BITS)
        # [decide] word / 2^known <= U < (word + 1) / 2^known, and exp(-x) is irrational.
        if word < lo >> WORD_BITS:
            return True
        if word > hi - 1 >> WORD_BITS:
            return False
        word = word << word_bits | int(bits.words(1)[0]) >> WORD_BITS - word_bits
        known += word_bits
