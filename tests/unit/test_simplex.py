"""The Euclidean projection on a simplex."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from lapwing.errors import ParameterError
from lapwing.maths.arrays import project_to_simplex

VALUES = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6))


def _kkt_gap(values: np.ndarray, projected: np.ndarray) -> float:
    """Return how far a point is from satisfying the optimality conditions, with the best multiplier."""
    gradient = projected - values
    multiplier = gradient[projected > 0].mean()
    on_support = np.abs(gradient - multiplier)[projected > 0].max()
    off_support = np.maximum(multiplier - gradient[projected == 0], 0).max(initial=0.0)
    return max(float(on_support), float(off_support))


@given(VALUES, st.floats(1e-3, 1e6))
def test_the_projection_satisfies_the_optimality_conditions(values: np.ndarray, total: float):
    projected = project_to_simplex(values, total)

    assert (projected >= 0).all()
    # Sums and thresholds of at most 40 numbers up to 1e6 carry rounding errors of about 40 * 1e6 * 2^-52 = 1e-8.
    assert projected.sum() == pytest.approx(total, rel=1e-12)
    assert _kkt_gap(values, projected) <= 1e-7 * max(1.0, total / 1e6)


def test_a_point_moved_off_the_projection_fails_the_optimality_conditions():
    values = np.array([3.0, 1.0, -2.0])
    projected = project_to_simplex(values, 2.0)

    planted = projected + np.array([-0.01, 0.01, 0.0])

    assert _kkt_gap(values, projected) < 1e-12
    assert _kkt_gap(values, planted) > 5e-3


def test_a_general_solver_finds_the_same_point():
    values = np.random.default_rng(3).normal(0, 2, 6)
    solved = minimize(
        lambda x: ((x - values) ** 2).sum(),
        np.full(6, 0.5),
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 3.0},
        method="SLSQP",
        options={"ftol": 1e-14},
    )

    projected = project_to_simplex(values, 3.0)

    # SLSQP stops at about the square root of its function tolerance.
    assert np.allclose(projected, solved.x, atol=1e-6)


@pytest.mark.parametrize("total", [-1.0, float("nan"), float("inf")])
def test_a_total_that_is_no_mass_is_refused(total: float):
    with pytest.raises(ParameterError, match="total of a projection"):
        project_to_simplex(np.ones(2), total)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [float("inf")]])
def test_values_that_cannot_be_projected_are_refused(values: list[float]):
    with pytest.raises(ParameterError, match="finite values"):
        project_to_simplex(np.array(values), 1.0)
