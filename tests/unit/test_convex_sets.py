"""Projections of many points: against scipy's optimiser, and by what a nearest point must satisfy."""

import numpy as np
import pytest
from scipy.optimize import minimize

from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.vectors.row_vectors import Blocks, rows_in_ball, rows_on_simplex

WIDE = np.array([[1e6, -1e6, 0.0, 3.0], [5.0, 5.0, 5.0, 5.0], [-9.0, -9.5, -9.0, -9.0], [0.0, 0.0, 0.0, 0.0]])


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


def test_large_even_and_negative_points_end_on_the_simplex():
    found = rows_on_simplex(WIDE)

    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-15)
    assert found[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert found[1:].tolist() == [[0.25] * 4, [1 / 3, 0.0, 1 / 3, 1 / 3], [0.25] * 4]


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


def test_a_point_at_the_centre_of_the_ball_stays_there():
    assert rows_in_ball(np.zeros((2, 3))).tolist() == [[0.0] * 3] * 2


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


def test_projecting_brings_no_two_points_farther_apart():
    rng = np.random.default_rng(2)
    product = Blocks(np.array([-1.0, np.nan, np.nan, np.nan]), [np.array([[1, 2, 3]])])
    one, other = rng.normal(0, 2, (2, 300, 4))

    for project in (rows_on_simplex, rows_in_ball, product.project):
        moved = ((project(one) - project(other)) ** 2).sum(axis=1)
        assert (moved <= ((one - other) ** 2).sum(axis=1) + 1e-12).all()


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
