"""The conversions against a slow version written from the paper, at 40 digits and with no closed form for epsilon.

Canonne, Kamath, Steinke (2020), Proposition 12: delta is the least value over alpha > 1 of
exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from lapwing.kernel.budget.conversions import epsilon_for, rho_for

CASES = [("1e-9", "1e-6"), ("0.001", "1e-30"), ("0.05", "1e-9"), ("0.5", "1e-6"), ("3", "0.1"), ("40", "1e-12")]


def log_delta_at(alpha: Decimal, rho: Decimal, epsilon: Decimal) -> Decimal:
    """Return the logarithm of Proposition 12's expression at one order."""
    return (alpha - 1) * (alpha * rho - epsilon) - (alpha - 1).ln() + alpha * (1 - 1 / alpha).ln()


def log_delta(rho: Decimal, epsilon: Decimal) -> Decimal:
    """Return its least value over the orders, by ternary search on ln(alpha - 1)."""
    low, high = Decimal(-30), Decimal(30)
    for _ in range(80):
        third = (high - low) / 3
        left, right = low + third, high - third
        if log_delta_at(1 + left.exp(), rho, epsilon) < log_delta_at(1 + right.exp(), rho, epsilon):
            high = right
        else:
            low = left
    return log_delta_at(1 + low.exp(), rho, epsilon)


def naive_epsilon(rho: Decimal, delta: Decimal) -> Decimal:
    """Return the epsilon at which the least delta is ``delta``, by bisection, to about 1e-14."""
    low, high = Decimal(0), Decimal(1000)
    for _ in range(56):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(rho, middle) > delta.ln() else (low, middle)
    return high


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_epsilon_for_is_the_naive_epsilon_rounded_up(rho: str, delta: str) -> None:
    with localcontext(prec=40):
        slow = naive_epsilon(Decimal(rho), Decimal(delta))

    fast = epsilon_for(Fraction(rho), Fraction(delta))

    excess = fast - Fraction(slow)
    # Rounded up to a step of 1e-9; the bisection is good to 1000 / 2^56 = 1.4e-14.
    assert Fraction(-2, 10**14) <= excess <= Fraction(1, 10**9) + Fraction(2, 10**14)


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_rho_for_is_the_largest_multiple_that_fits(rho: str, delta: str) -> None:
    epsilon = epsilon_for(Fraction(rho), Fraction(delta)) + Fraction(1, 1000)

    granted = rho_for(epsilon, Fraction(delta))

    with localcontext(prec=40):
        exact = Decimal(epsilon.numerator) / epsilon.denominator
        here = log_delta(Decimal(granted.numerator) / granted.denominator, exact)
        more = granted + Fraction(1, 10**12)
        there = log_delta(Decimal(more.numerator) / more.denominator, exact)
        assert here <= Decimal(delta).ln() < there
