"""Small quadratic programs, exactly: against a general solver, degenerate ones, and ones with a known answer."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from lapwing.maths.reduced_density import exact_minimum


def fractions(values):
    return [Fraction(int(each)) for each in values]


def random_program(rng, *, is_linear):
    """Return a feasible, bounded program in whole numbers, with repeated and binding limits."""
    count = int(rng.integers(1, 7))
    inside = rng.integers(0, 4, count)
    rows = rng.integers(-3, 4, (int(rng.integers(0, 5)), count))
    limits = rows @ inside - rng.integers(0, 2, len(rows))
    rows = np.vstack([rows, rows[:1], -np.eye(count, dtype=int)])
    limits = np.concatenate([limits, limits[:1], np.full(count, -5)])
    hessian = np.zeros(count, dtype=int) if is_linear else rng.integers(1, 4, count)
    return hessian, rng.integers(-4, 5, count), rows, limits, inside


def value_by_solver(hessian, gradient, rows, limits, inside):
    """Return the minimum that SciPy finds."""
    if not hessian.any():
        return linprog(gradient, A_ub=-rows, b_ub=-limits).fun
    return minimize(
        lambda x: (hessian * x * x / 2 + gradient * x).sum(),
        inside,
        jac=lambda x: hessian * x + gradient,
        constraints=[{"type": "ineq", "fun": lambda x: rows @ x - limits, "jac": lambda x: rows}],
        bounds=[(0, None)] * len(inside),
        method="SLSQP",
    ).fun


@pytest.mark.parametrize("is_linear", [True, False])
def test_no_solver_finds_a_lower_value(is_linear):
    rng = np.random.default_rng(is_linear)

    for _ in range(60):
        hessian, gradient, rows, limits, inside = random_program(rng, is_linear=is_linear)

        found = exact_minimum(
            fractions(hessian), fractions(gradient), [fractions(row) for row in rows], fractions(limits)
        )

        assert min(found) >= 0
        assert all(
            sum(a * x for a, x in zip(row, found, strict=True)) >= limit
            for row, limit in zip(rows.tolist(), limits.tolist(), strict=True)
        )
        value = sum(h * x * x / 2 + g * x for h, g, x in zip(hessian.tolist(), gradient.tolist(), found, strict=True))
        other = value_by_solver(hessian, gradient, rows, limits, inside)
        assert float(value) == pytest.approx(other, abs=1e-5)  # what SLSQP leaves


def test_a_program_without_limits_is_its_unconstrained_minimum():
    assert exact_minimum(fractions([2, 1]), fractions([-3, 4]), [], []) == [Fraction(3, 2), Fraction(0)]


def test_many_equal_limits_do_not_make_it_cycle():
    """Every limit binds in the solution: all ratios are tied."""
    rows = [fractions([1] * 6)] * 9 + [fractions([-1] * 6)] * 9

    found = exact_minimum(fractions([1] * 6), fractions([0] * 6), rows, fractions([3] * 9 + [-3] * 9))

    assert found == [Fraction(1, 2)] * 6


def test_fractions_are_scaled_and_not_rounded():
    tiny = Fraction(1, 10**40)

    found = exact_minimum([Fraction(1)], [-tiny], [[Fraction(-1)]], [-tiny / 3])

    assert found == [tiny / 3]
