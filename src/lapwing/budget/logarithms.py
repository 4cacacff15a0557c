"""Logarithms of rational numbers, enclosed between rational numbers."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final

from lapwing.errors import ParameterError

_DIGITS: Final = 60


def log_between(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return a proved lower and a proved upper bound of ln(x).

    Parameters
    ----------
    x : Fraction
        Above 0, between 10^-2000 and 10^2000.

    Returns
    -------
    lower, upper : Fraction
        About 58 digits apart for numbers far from 1.

    Notes
    -----
    x is rounded down and up once to 60 digits; ``Decimal.ln`` is correctly rounded to nearest, whatever the rounding of
    its context (documented for `decimal`), so one step outwards from it is on the safe side, and so is ln, which
    increases. ``x = 1`` gives exactly 0 twice.

    Examples
    --------
    >>> lower, upper = log_between(Fraction(2))
    >>> lower < upper, round(float(lower), 6)
    (True, 0.693147)
    """
    if not Fraction(1, 10**2000) <= x <= 10**2000:
        raise ParameterError("a logarithm needs a number above 0 of at most 2000 digits; scale it", code="LW390")
    if x == 1:
        return Fraction(0), Fraction(0)
    down, up = _context(ROUND_FLOOR), _context(ROUND_CEILING)
    lower = _ratio(x, down).ln(down).next_minus(down)
    upper = _ratio(x, up).ln(up).next_plus(up)
    return Fraction(lower), Fraction(upper)


def rounded_up(x: Fraction, digits: int) -> Fraction:
    """Return the next number of so many decimal digits that is not below x; x is above 0.

    Examples
    --------
    >>> rounded_up(Fraction(1, 3), 4)
    Fraction(1667, 5000)
    """
    return Fraction(_ratio(x, Context(prec=digits, rounding=ROUND_CEILING)))


def _ratio(x: Fraction, context: Context) -> Decimal:
    """Return x rounded once, in the direction of the context."""
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def _context(rounding: str) -> Context:
    # A fresh context per call: contexts carry flags and must not be shared between threads.
    return Context(prec=_DIGITS, rounding=rounding, Emin=-4000, Emax=4000)
