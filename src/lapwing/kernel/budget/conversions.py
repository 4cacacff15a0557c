"""Convert between zero-concentrated privacy (rho) and approximate privacy (epsilon, delta), on the safe side.

Every order of the Renyi divergence gives a valid pair. So a good order is searched in floating point, and the bound at
it is evaluated with directed rounding: what is returned is proved. See ``conversions.proof.md``.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from typing import Final

from lapwing.errors import ParameterError

# -- Logarithms of rational numbers, enclosed between rational numbers.


_LOGARITHM_DIGITS: Final = 60


def log_between(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return a proved lower and a proved upper bound of ln(x).

    Returns lower, upper: about 58 digits apart for numbers far from 1.

    x is rounded down and up once to 60 digits; ``Decimal.ln`` is correctly rounded to nearest, whatever the rounding of
    its context (documented for `decimal`), so one step outwards from it is on the safe side, and so is ln, which
    increases. ``x = 1`` gives exactly 0 twice.

    >>> lower, upper = log_between(Fraction(2))
    >>> lower < upper, round(float(lower), 6)
    (True, 0.693147)
    """
    if not Fraction(1, 10**2000) <= x <= 10**2000:
        raise ParameterError("a logarithm needs a number above 0 of at most 2000 digits; scale it", code="LW390")
    if x == 1:
        return Fraction(0), Fraction(0)
    down, up = _logarithm_context(ROUND_FLOOR), _logarithm_context(ROUND_CEILING)
    lower = _ratio(x, down).ln(down).next_minus(down)
    upper = _ratio(x, up).ln(up).next_plus(up)
    return Fraction(lower), Fraction(upper)


def rounded_up(x: Fraction, digits: int) -> Fraction:
    """Return the next number of so many decimal digits that is not below x; x is above 0.

    >>> rounded_up(Fraction(1, 3), 4)
    Fraction(1667, 5000)
    """
    return Fraction(_ratio(x, Context(prec=digits, rounding=ROUND_CEILING)))


def _ratio(x: Fraction, context: Context) -> Decimal:
    """Return x rounded once, in the direction of the context."""
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def _logarithm_context(rounding: str) -> Context:
    # A fresh context per call: contexts carry flags and must not be shared between threads.
    return Context(prec=_LOGARITHM_DIGITS, rounding=rounding, Emin=-4000, Emax=4000)


RHO_STEP = Decimal("1e-12")
EPSILON_STEP = Decimal("1e-9")
CERTIFICATE_DELTAS = (Fraction(1, 10**6), Fraction(1, 10**9), Fraction(1, 10**12))

_LARGEST = 10**9
_SMALLEST_DELTA = Fraction(1, 10**300)
_DIGITS = 80
_LOG_ORDER = 80.0
"""The search covers alpha - 1 from exp(-80) to exp(80); beyond, the end of the range is used and stays valid."""


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho whose guarantee implies (epsilon, delta).

    Returns a multiple of 10^-12, rounded down; 0 where even 10^-12 would be too much.

    Guarantee: a mechanism that is rho-zCDP under some neighbour relation is (epsilon, delta)-DP under the same one.

    References
    ----------
    Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Proposition 12 with the
    divergence bound of zCDP. We changed the arithmetic only: directed rounding instead of floats.

    >>> float(rho_for(Fraction(1), Fraction(1, 10**6)))
    0.024355970359
    """
    _check("epsilon", epsilon, delta)
    if epsilon == 0:
        raise ParameterError("epsilon must be above 0, got 0; give a positive number such as 0.5", code="LW313")
    down = _context(ROUND_FLOOR)

    a = _best_order_for_epsilon(float(epsilon), _log_inverse(delta))
    room = down.subtract(_decimal(epsilon, down), _penalty_above(a, delta))
    rho = down.divide(room, _order(a))
    return max(Fraction(rho.quantize(RHO_STEP, context=down)), Fraction(0))


def epsilon_for(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the smallest epsilon that rho-zCDP implies at ``delta``.

    Guarantee: a mechanism that is rho-zCDP under some neighbour relation is (epsilon, delta)-DP under the same one.

    References
    ----------
    Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Proposition 12.

    >>> float(epsilon_for(Fraction(1, 2), Fraction(1, 10**6)))
    5.221534445
    """
    _check("rho", rho, delta)
    if rho == 0:
        return Fraction(0)
    up = _context(ROUND_CEILING)

    a = _best_order_for_rho(float(rho), _log_inverse(delta))
    epsilon = up.add(up.multiply(_order(a), _decimal(rho, up)), _penalty_above(a, delta))
    # A negative bound means that delta alone covers everything: epsilon 0 is then proved too.
    return max(Fraction(epsilon.quantize(EPSILON_STEP, context=up)), Fraction(0))


def certificate_epsilons(rho: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return (delta, epsilon) for each delta that a certificate lists: 10^-6, 10^-9 and 10^-12.

    >>> [round(float(epsilon), 3) for _, epsilon in certificate_epsilons(Fraction(1, 2))]
    [5.222, 6.474, 7.515]
    """
    return tuple((delta, epsilon_for(rho, delta)) for delta in CERTIFICATE_DELTAS)


def _check(name: str, amount: Fraction, delta: Fraction) -> None:
    if not 0 <= amount <= _LARGEST:
        raise ParameterError(
            f"{name} must lie between 0 and 10^9, got {float(amount):g}; give a smaller budget", code="LW313"
        )
    if not _SMALLEST_DELTA <= delta < 1:
        raise ParameterError(
            f"delta must lie between 1e-300 and 1 to convert a budget, got {float(delta):g}; "
            "give a small positive number such as 1e-9",
            code="LW311",
        )


def _best_order_for_rho(rho: float, log_inverse: float) -> Decimal:
    """Solve rho a^2 + ln(1 + a) = ln(1/delta): where the derivative of epsilon in a changes its sign."""
    return _crossing(lambda a: rho * a * a + math.log1p(a) < log_inverse)


def _best_order_for_epsilon(epsilon: float, log_inverse: float) -> Decimal:
    """Find where the derivative in a of rho = (epsilon - penalty(a)) / alpha changes its sign."""
    return _crossing(
        lambda a: (log_inverse - math.log1p(a)) * (1 + 2 * a) / a / a - math.log1p(1 / a) > epsilon,
    )


def _crossing(is_before: Callable[[float], bool]) -> Decimal:
    """Return a near the point up to which ``is_before`` holds, by bisection of its logarithm."""
    low, high = -_LOG_ORDER, _LOG_ORDER
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_before(math.exp(middle)) else (low, middle)
    return Decimal(repr(math.exp(low)))


def _penalty_above(a: Decimal, delta: Fraction) -> Decimal:
    """Return a proved upper bound of penalty(a): every step rounds so that the result can only grow."""
    up, down = _context(ROUND_CEILING), _context(ROUND_FLOOR)
    log_order = _log_below(_order(a), down)
    # ``copy_negate``, because a bare minus sign would round to the 28 digits of the thread's own context.
    log_inverse = _log_below(_decimal(delta, down), down).copy_negate()
    ratio = up.subtract(_log_above(a, up), log_order)
    return up.add(ratio, up.divide(up.subtract(log_inverse, log_order), a))


def _order(a: Decimal) -> Decimal:
    """Return alpha = 1 + a exactly: a has 17 digits between 1e-36 and 1e36, so 80 digits hold the sum."""
    exact = _context(ROUND_FLOOR)
    exact.traps[Inexact] = True
    return exact.add(Decimal(1), a)


def _log_inverse(delta: Fraction) -> float:
    """Return ln(1/delta) as a float, for the search only."""
    return -float(_log_below(_decimal(delta, _context(ROUND_FLOOR)), _context(ROUND_FLOOR)))


def _log_below(x: Decimal, down: Context) -> Decimal:
    # ``ln`` is correctly rounded to nearest whatever the context says: one step down is below the true value.
    return x.ln(down).next_minus(down)


def _log_above(x: Decimal, up: Context) -> Decimal:
    return x.ln(up).next_plus(up)


def _decimal(x: Fraction, context: Context) -> Decimal:
    """Return ``x`` rounded once, in the direction of ``context``."""
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def _context(rounding: str) -> Context:
    # A fresh context per call: contexts carry flags and must not be shared between threads.
    return Context(
        prec=_DIGITS,
        rounding=rounding,
        Emin=-999_999,
        Emax=999_999,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )
