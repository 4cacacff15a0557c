"""Enclosed logarithms: between their bounds, and as close as said."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from lapwing.errors import ParameterError
from lapwing.kernel.budget.conversions import log_between, rounded_up

NUMBERS = ["2", "1/2", "3/7", "1000000001/1000000000", "144/100001", "1e300", "1e-300", f"{10**80 + 1}/{10**80}"]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_logarithm_of_more_digits_lies_between_the_bounds(text):
    number = Fraction(text)
    with localcontext(prec=200):
        closer = Fraction((Decimal(number.numerator) / Decimal(number.denominator)).ln())

    lower, upper = log_between(number)

    assert lower < closer < upper
    assert upper - lower <= Fraction(1, 10**50) * max(1, abs(closer))


def test_the_logarithm_of_one_is_zero():
    assert log_between(Fraction(1)) == (0, 0)


@pytest.mark.parametrize("number", [Fraction(0), Fraction(-1), Fraction(10**2001), Fraction(1, 10**2001)])
def test_numbers_out_of_range_are_refused(number):
    with pytest.raises(ParameterError, match="a logarithm needs a number above 0 of at most 2000 digits; scale it"):
        log_between(number)


@pytest.mark.parametrize("text", ["1/3", "2/3", "12345.678", "1e-20", "7"])
def test_numbers_are_rounded_up(text):
    number = Fraction(text)

    rounded = rounded_up(number, 3)

    assert number <= rounded < number * (1 + Fraction(1, 99))
    assert math.isclose(float(rounded), float(f"{float(rounded):.3g}"))
