"""From which noisy count on a text may be shown: so that what one unit alone brought stays hidden but for delta.

A unit of at most m rows may hold texts that nobody else has: c_1, ..., c_k rows of each, their sum at most m. With
independent noise Z and a threshold T none of them is shown with the probability ``product of F(T - 1 - c_i)``, F the
distribution function of Z. What is the least that this can be?

*F is log-concave on the integers:* ``F(x) / F(x - 1) = 1 + p(x) / F(x - 1)``, and ``F(x - 1) / p(x)``, the sum of
``p(x - j) / p(x)`` over j >= 1, does not fall in x, because the mass p of either law is log-concave. So
``g(c) = -ln F(T - 1 - c)`` is convex and grows in c.

*Only two units matter.* For k texts the sum of ``g(c_i)`` over ``c_i >= 1``, their sum m, is largest at a corner
(convexity): k - 1 texts of one row and one of m - k + 1. As a function of k, ``(k - 1) g(1) + g(m - k + 1)`` is convex
again, so k = 1 or k = m is worst: one text of m rows, or m texts of one row. T therefore is the least integer with

    P[m + Z >= T] <= delta   and   1 - (1 - P[1 + Z >= T])^m <= delta,

which is at least m + 1, as delta is at most 1/2. For m > 1 one condition alone would not do: at a small epsilon m
texts of one row are the worst, at a large one a text of m rows.

*Tails,* for x >= 1. Laplace of scale s, q = exp(-1 / s): ``q^x / (1 + q)``. Gaussian up to sigma = 64: both sums term
by term; what comes after the last term is at most a geometric series, and is left out of the normaliser. Beyond: the
normaliser is at least ``sigma sqrt(2 pi)`` (Poisson summation, all terms are positive), and a convex term at most its
integral over the unit around it, so for ``t = (x - 1/2) / sigma >= 1`` the tail is at most that of a real Gaussian
beyond t: its density at t times ``1 / (t + 1 / (t + 2 / (t + 3 / ...)))``, of which every odd convergent is too large
(the terms are positive). There T may be 1 more than the least, and a delta above 0.158 is treated as that.

*Rounding.* All of this adds, multiplies and divides positive numbers of `_DIGITS` digits and some thousand times at
most, with correctly rounded ``exp`` and ``ln``. `_SLACK` is more than all of it. The digits that ``1 - p`` and
``1 - delta`` cancel are added beforehand.
"""

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Final, Literal

from lapwing.errors import ParameterError

LEAST_DELTA: Final = Fraction(1, 10**300)
LARGEST_DELTA: Final = Fraction(1, 2)

_SHOWN: Final = 10**9  # larger numbers may not even be floats
_DIGITS: Final = 60
_SLACK: Final = 1 + Decimal("1e-40")
_SUMMED_VARIANCE: Final = 64**2
_LEVELS: Final = 401  # odd; at t = 1 the convergent is right to 20 digits
_ROOT_TWO_PI: Final = Decimal("2.506628274631000502415765284811045253006986740609938316629923")  # digits cut off

_Tail = Callable[[int], Decimal]


def check_delta(delta: Fraction) -> None:
    """Refuse a delta for which no threshold is computed: outside 1e-300 to 1/2."""
    if not LEAST_DELTA <= delta <= LARGEST_DELTA:
        shown = f"{float(delta):.6g}" if abs(delta) < _SHOWN else "far more"
        raise ParameterError(
            f"the delta of a selection must be from 1e-300 to 0.5, got {shown}; give one such as 1e-9", code="LW311"
        )


@lru_cache(maxsize=256)
def selection_threshold(
    kind: Literal["laplace", "gaussian"], parameter: Fraction, max_rows: int, delta: Fraction
) -> int:
    """Return the least noisy count that keeps texts of one unit alone hidden, but for a probability delta.

    parameter: its scale, or sigma squared; positive, at most 2**120; max_rows: rows that one unit may own, at least 1.
    Returns above ``max_rows``; never too small. The least there is, except that Gaussian noise beyond sigma = 64 may
    need 1 less (see the top of this module).

    Korolova, Kenthapadi, Mishra and Ntoulas (2009), "Releasing search queries and clicks privately"; Wilson et al.
    (2020), "Differentially private SQL with bounded user contribution". Changed: discrete noise, the
    exact worst unit in place of a union bound, and both neighbour relations.

    >>> selection_threshold("laplace", Fraction(1), 1, Fraction(1, 10**6)), selection_threshold(
    ...     "gaussian", Fraction(9), 3, Fraction(1, 10**6)
    ... )
    (15, 18)
    """
    if kind not in ("laplace", "gaussian") or not 0 < parameter <= 2**120 or max_rows < 1:
        raise ParameterError(
            "a threshold needs laplace or gaussian noise of a positive parameter, and at least one row",
            code="LW390",
        )
    check_delta(delta)
    digits = _DIGITS + len(str(int(1 / delta))) + len(str(max_rows)) + len(str(int(parameter)))
    with localcontext(Context(prec=digits, Emin=-(10**17), Emax=10**17)):
        tail = _laplace(parameter) if kind == "laplace" else _gaussian(parameter, max_rows, delta)
        allowed = _decimal(delta)
        joint = -(1 - allowed).ln()

        def is_safe(extra: int) -> bool:
            threshold = max_rows + extra
            if tail(threshold - max_rows) * _SLACK > allowed:
                return False
            return -(1 - tail(threshold - 1)).ln() * max_rows * _SLACK <= joint

        return max_rows + least_safe(is_safe)


def least_safe(is_safe: Callable[[int], bool]) -> int:
    """Return the least number from 1 on that is safe; all above a safe one are."""
    high = 1
    while not is_safe(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_safe(middle) else (middle, high)
    return high


def _decimal(number: Fraction) -> Decimal:
    """Return a fraction in the digits of the context."""
    return Decimal(number.numerator) / number.denominator


def _laplace(scale: Fraction) -> _Tail:
    """Return P[Z >= x] for x >= 1."""
    rate = _decimal(1 / scale)
    whole = 1 + (-rate).exp()
    return lambda x: (-rate * x).exp() / whole


def _gaussian(sigma_squared: Fraction, max_rows: int, delta: Fraction) -> _Tail:
    """Return a function that is at least P[Z >= x] for x >= 1."""
    if sigma_squared > _SUMMED_VARIANCE:
        return _wide_gaussian(sigma_squared)
    rate = _decimal(1 / (2 * sigma_squared))
    reach = math.log(max_rows) - math.log(delta.numerator) + math.log(delta.denominator) + 100
    last = math.ceil(math.sqrt(2 * float(sigma_squared) * reach)) + 1
    terms = [(-rate * k * k).exp() for k in range(last + 1)]

    def after(k: int) -> Decimal:
        """At least the sum of all terms from k on: each is at most ``exp(-rate (2k + 1))`` times the one before."""
        return (-rate * k * k).exp() / (1 - (-rate * (2 * k + 1)).exp())

    beyond = list(accumulate(reversed(terms), initial=after(last + 1)))[::-1]
    whole = 1 + 2 * sum(terms[1:], Decimal(0))
    return lambda x: (beyond[x] if x <= last else after(x)) / whole


def _wide_gaussian(sigma_squared: Fraction) -> _Tail:
    """Return a function that is at least P[Z >= x]: 1 up to one sigma."""
    sigma = _decimal(sigma_squared).sqrt()

    def tail(x: int) -> Decimal:
        if (2 * x - 1) ** 2 < 4 * sigma_squared:
            return Decimal(1)
        t = (Decimal(2 * x - 1) / 2) / sigma
        ratio = t
        for level in range(_LEVELS - 1, 0, -1):
            ratio = t + level / ratio
        return (-t * t / 2).exp() / (_ROOT_TWO_PI * ratio)

    return tail
