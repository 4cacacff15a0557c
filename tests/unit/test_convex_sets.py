"""Projections of many points: against scipy's optimiser, and by what a nearest point must satisfy."""

import numpy as np
import pytest
from scipy.optimize import minimize

from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.vectors.row_vectors import Blocks, rows_in_ball, rows_on_simplex


def nearest_by_scipy(point, *, bounds, constraints=()):
    """Return the nearest point of a set that scipy's SLSQP finds."""
    found = minimize(
        lambda x: ((x - point) ** 2).sum(),
        np.clip(point, *np.array(bounds, dtype=float).T),
        jac=lambda x: 2 * (x - point),
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


SUMS_TO_ONE = {"type": "eq", "fun": lambda x: x.sum() - 1}


@pytest.mark.parametrize("width", [1, 2, 5])
def test_points_go_to_the_nearest_of_the_simplex(width):
    points = np.random.default_rng(width).normal(0, 1, (12, width))

    found = rows_on_simplex(points)

    for point, nearest in zip(points, found, strict=True):
        expected = nearest_by_scipy(point, bounds=[(0, 1)] * width, constraints=SUMS_TO_ONE)
        assert nearest == pytest.approx(expected, abs=1e-5)
    assert rows_on_simplex(found) == pytest.approx(found, abs=1e-15)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_points_go_to_the_nearest_of_the_ball(width):
    points = np.random.default_rng(width).normal(0, 1, (12, width))
    inside = {"type": "ineq", "fun": lambda x: 1 - (x**2).sum(), "jac": lambda x: -2 * x}

    found = rows_in_ball(points)

    for point, nearest in zip(points, found, strict=True):
        expected = nearest_by_scipy(point, bounds=[(-1, 1)] * width, constraints=inside)
        assert nearest == pytest.approx(expected, abs=1e-5)
    short = points[(points**2).sum(axis=1) <= 1]
    assert rows_in_ball(short).tolist() == short.tolist()


def test_points_go_to_the_nearest_of_a_product_of_intervals_and_simplices():
    lows = np.array([-1.0, np.nan, np.nan, 0.0, np.nan, np.nan, np.nan, np.nan])
    product = Blocks(lows, [np.array([[1, 6], [2, 7]]), np.array([[4], [5]])])
    points = np.random.default_rng(1).normal(0, 1.5, (20, 8))

    found = product.project(points)

    for point, nearest in zip(points, found, strict=True):
        assert nearest[0] == min(1.0, max(-1.0, point[0]))
        assert nearest[3] == min(1.0, max(0.0, point[3]))
        assert nearest[4] == nearest[5] == 1.0
        for pair in ([1, 6], [2, 7]):
            expected = nearest_by_scipy(point[pair], bounds=[(0, 1)] * 2, constraints=SUMS_TO_ONE)
            assert nearest[pair] == pytest.approx(expected, abs=1e-5)
    assert product.project(found) == pytest.approx(found, abs=1e-15)
    assert product.project(points[:0]).shape == (0, 8)


@pytest.mark.parametrize(
    ("lows", "simplices"),
    [
        ([-1.0, 0.0], [[[1]]]),
        ([-1.0, np.nan], []),
        ([np.nan, np.nan], [[[0, 1]], [[1]]]),
        ([np.nan, np.nan], [[[0, 1, 2]]]),
    ],
)
def test_a_coordinate_in_no_block_or_in_two_is_refused(lows, simplices):
    with pytest.raises(ParameterError, match="each coordinate must be an interval or in one simplex; list it once"):
        Blocks(np.array(lows), [np.array(each) for each in simplices])
