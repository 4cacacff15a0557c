"""Exact log-likelihood ratios of what discrete Laplace noise can show: a value, or only on which side of a threshold.

With q = exp(-1 / scale): P[Z = z] = (1 - q) / (1 + q) q^|z|, and P[Z >= x] = q^x / (1 + q) for x >= 0,
1 - q^(1 - x) / (1 + q) for x <= 0.
"""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Final

_DIGITS: Final = 60
_SLACK: Final = Fraction(1, 10**40)
"""Added to what is rounded: more than the error of `_DIGITS` digits, and less than any mistake that matters."""


def value_ratio(scale: Fraction, shown: int, count: int, other: int) -> Fraction:
    """Return ``ln P[count + Z = shown] / P[other + Z = shown]``, exactly.

    shown, count, other: the noisy value, and the exact counts on two tables.

    >>> value_ratio(Fraction(2), 10, 9, 6)
    Fraction(3, 2)
    """
    return Fraction(abs(shown - other) - abs(shown - count)) / scale


def tail_ratio(scale: Fraction, threshold: int, other: int) -> Fraction:
    """Return ``ln P[Z >= threshold] / P[Z >= other]``: exactly where it is rational, else rounded away from zero.

    threshold, other: of the events on two tables. The event below a threshold x has the probability of ``Z >= 1 - x``.
    Returns at most 10**-39 further from zero than the true value.

    >>> tail_ratio(Fraction(2), 3, 5), float(round(tail_ratio(Fraction(2), -2, 5), 6))
    (Fraction(1, 1), 2.824545)
    """
    if threshold == other:
        return Fraction(0)
    if min(threshold, other) >= 0:
        return Fraction(other - threshold) / scale
    largest = int(max(abs(threshold), abs(other)) / scale)
    with localcontext(Context(prec=_DIGITS + len(str(largest)))):
        ratio = Fraction(_log_tail(scale, threshold) - _log_tail(scale, other))
    return ratio + _SLACK if threshold < other else ratio - _SLACK


def log_tail(scale: Fraction, threshold: int) -> float:
    """Return ``ln P[Z >= threshold]`` in floating point, for plans and capacity.

    >>> round(log_tail(Fraction(1), 800), 2), round(log_tail(Fraction(1), 0), 4)
    (-800.31, -0.3133)
    """
    rate = float(min(1 / scale, Fraction(2**1000)))
    whole = math.log1p(math.exp(-rate))
    if threshold >= 1:
        return -rate * threshold - whole
    return math.log1p(-math.exp(-rate * (1 - threshold) - whole))


def _log_tail(scale: Fraction, threshold: int) -> Decimal:
    """Return ln P[Z >= threshold] in the precision of the context."""
    rate = Decimal(scale.denominator) / Decimal(scale.numerator)
    whole = 1 + (-rate).exp()
    if threshold >= 0:
        return -rate * threshold - whole.ln()
    return (1 - (-rate * (1 - threshold)).exp() / whole).ln()
