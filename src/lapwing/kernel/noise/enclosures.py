"""Numbers that are no fractions, enclosed between integers to any precision asked.

An enclosure of a number v at precision P is a pair of integers (lo, hi) with lo <= 2^P v <= hi. Every operation rounds
its lower end down and its upper end up. See `enclosures.proof.md`.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

Interval = tuple[int, int]

HALVED_BELOW = 8  # the Taylor series runs on arguments below 2^-8, and 8-fold squaring undoes it
GUARD_BITS = 16


class Real(Protocol):
    """A transcendental number strictly between 0 and 1. Hashable: tables are cached by it."""

    def __hash__(self) -> int:
        """Return the same number for equal reals."""
        ...  # pragma: no cover

    def enclose(self, precision: int) -> Interval:
        """Return integers (lo, hi) with 0 <= lo <= 2^precision v <= hi <= 2^precision."""
        ...  # pragma: no cover


@dataclass(frozen=True, slots=True)
class Exponential:
    """exp(-rate) for a positive rational rate: transcendental by Lindemann's theorem."""

    rate: Fraction

    def enclose(self, precision: int) -> Interval:
        """Return the enclosure of `exp_minus`."""
        return exp_minus(self.rate, precision)


@dataclass(frozen=True, slots=True)
class Complement:
    """1 - real."""

    real: Real

    def enclose(self, precision: int) -> Interval:
        """Return the enclosure of the complement, as wide as that of the number."""
        lo, hi = self.real.enclose(precision)
        one = 1 << precision
        return one - hi, one - lo


@dataclass(frozen=True, slots=True)
class LaplaceTail:
    """P[Z >= threshold] for a discrete Laplace variable Z: q^t / (1 + q) for t >= 1, 1 - q^(1 - t) / (1 + q) else."""

    scale: Fraction
    threshold: int

    def enclose(self, precision: int) -> Interval:
        """Return the enclosure, from those of q and its power."""
        if self.threshold < 1:
            return Complement(LaplaceTail(self.scale, 1 - self.threshold)).enclose(precision)

        q_lo, q_hi = exp_minus(reciprocal(self.scale), precision)
        power_lo, power_hi = exp_minus(self.threshold * reciprocal(self.scale), precision)
        one = 1 << precision
        return (power_lo << precision) // (one + q_hi), ceil_divide(power_hi << precision, one + q_lo)


def exp_minus(x: Fraction, precision: int) -> Interval:
    """Enclose exp(-x) for a rational x >= 0.

    Returns (lo, hi) with 0 <= lo <= 2^precision exp(-x) <= hi <= 2^precision; hi - lo is 1 or 2 but for very unlucky x.

    >>> exp_minus(Fraction(1), 10)  # 1024 / e = 376.7...
    (376, 377)
    """
    halvings = (x.numerator // x.denominator).bit_length() + HALVED_BELOW
    working = precision + halvings + GUARD_BITS

    lo, hi = _exp_minus_small(x.numerator, x.denominator << halvings, working)
    for _ in range(halvings):
        lo, hi = lo * lo >> working, ceil_shift(hi * hi, working)

    drop = working - precision
    return lo >> drop, ceil_shift(hi, drop)


def _exp_minus_small(numerator: int, denominator: int, precision: int) -> Interval:
    """Enclose exp(-y), 0 <= y < 1, by its alternating Taylor series; the first term left out bounds the rest."""
    one = 1 << precision
    y_lo = (numerator << precision) // denominator
    y_hi = ceil_divide(numerator << precision, denominator)
    sum_lo = sum_hi = term_lo = term_hi = one
    order = 0
    while term_hi > 1:
        order += 1
        term_lo = (term_lo * y_lo >> precision) // order
        term_hi = ceil_divide(ceil_shift(term_hi * y_hi, precision), order)
        if order % 2:
            sum_lo, sum_hi = sum_lo - term_hi, sum_hi - term_lo
        else:
            sum_lo, sum_hi = sum_lo + term_lo, sum_hi + term_hi
    return max(sum_lo - term_hi, 0), min(sum_hi + term_hi, one)


def power(interval: Interval, squarings: int, precision: int) -> Interval:
    """Enclose v^(2^squarings) from an enclosure of v in [0, 1]."""
    lo, hi = interval
    for _ in range(squarings):
        lo, hi = lo * lo >> precision, ceil_shift(hi * hi, precision)
    return lo, hi


def reciprocal(value: Fraction) -> Fraction:
    """Return 1 / value without writing a division sign, which this package forbids itself."""
    return Fraction(value.denominator, value.numerator)


def ceil_shift(value: int, bits: int) -> int:
    """Return ceil(value / 2^bits)."""
    return -(-value >> bits)


def ceil_divide(value: int, divisor: int) -> int:
    """Return ceil(value / divisor)."""
    return -(-value // divisor)
