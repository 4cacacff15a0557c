"""The bounded-Lipschitz distance where it is known, and what is refused."""

import math

import numpy as np
import pytest

from lapwing.errors import CapacityError, ParameterError
from lapwing.judge.samples import MAX_ROUTES, bounded_lipschitz, wasserstein_assignment

# HiGHS solves to 1e-7 of masses below 1.
SOLVED = 1e-6


def cloud(seed, rows):
    return np.random.default_rng(seed).random((rows, 2))


def equal(rows):
    return np.full(rows, 1 / rows)


@pytest.mark.parametrize("metric", ["linf", "l1", "l2"])
def test_between_equal_masses_it_is_w1_under_a_wide_bound(metric: str) -> None:
    points, others = cloud(1, 30), cloud(2, 30)

    found = bounded_lipschitz(points, equal(30), others, equal(30), metric=metric)

    assert found == pytest.approx(wasserstein_assignment(points, others, metric=metric), abs=SOLVED)


@pytest.mark.parametrize(("distance", "expected"), [(0.1, 0.1), (0.5, 0.5), (0.9, 0.6)])
def test_no_mass_travels_farther_than_twice_the_bound(distance: float, expected: float) -> None:
    found = bounded_lipschitz([[0.0]], [1.0], [[distance]], [1.0], bound=0.3)

    assert found == pytest.approx(expected, abs=SOLVED)


@pytest.mark.parametrize(("mass", "other_mass"), [(2.0, 0.5), (0.5, 2.0), (1.0, 0.0), (0.0, 1.0)])
def test_missing_mass_is_made_at_the_price_of_the_bound(mass: float, other_mass: float) -> None:
    moved = 0.25 * min(mass, other_mass)

    found = bounded_lipschitz([[0.0]], [mass], [[0.25]], [other_mass], bound=0.7)

    assert found == pytest.approx(moved + 0.7 * 1.5 if moved else 0.7, abs=SOLVED)


def test_the_excess_is_taken_where_that_is_cheapest() -> None:
    # One unit too much: the far point's is destroyed, the near one's moves a tenth.
    found = bounded_lipschitz([[0.1], [0.9]], [1.0, 1.0], [[0.0]], [1.0], bound=0.4)

    assert found == pytest.approx(0.1 + 0.4, abs=SOLVED)


def test_negative_mass_counts_as_mass_of_the_other_side() -> None:
    signed = bounded_lipschitz([[0.0], [0.5]], [1.5, -0.5], [[0.0]], [1.0])

    assert signed == pytest.approx(0.25, abs=SOLVED)
    assert bounded_lipschitz([[0.0]], [1.5], [[0.0], [0.5]], [1.0, 0.5]) == pytest.approx(signed, abs=SOLVED)


def test_the_same_measure_is_at_distance_0_in_any_order() -> None:
    points, masses = cloud(1, 700), np.random.default_rng(2).normal(size=700)

    assert bounded_lipschitz(points, masses, points[::-1], masses[::-1]) == 0


def test_distances_are_in_the_unit_of_the_masses() -> None:
    points, others = cloud(1, 12), cloud(2, 9)

    one = bounded_lipschitz(points, np.ones(12), others, np.ones(9))

    assert bounded_lipschitz(points, 1e6 * np.ones(12), others, 1e6 * np.ones(9)) == pytest.approx(
        1e6 * one, rel=SOLVED
    )


@pytest.mark.parametrize("bound", [0, -1, math.inf, math.nan])
def test_a_bound_that_is_none_is_refused(bound: float) -> None:
    with pytest.raises(
        ParameterError, match=r"bound must be finite and above 0, got .*; it is the diameter of the dom"
    ):
        bounded_lipschitz([[0.0]], [1.0], [[1.0]], [1.0], bound=bound)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ParameterError, match="masses must be one for each point"):
        bounded_lipschitz([[0.0]], [1.0, 2.0], [[1.0]], [1.0])
    with pytest.raises(ParameterError, match="metric must be one of linf, l1, l2, got 'l3'"):
        bounded_lipschitz([[0.0]], [1.0], [[1.0]], [1.0], metric="l3")
    with pytest.raises(ParameterError, match="other_masses must be finite"):
        bounded_lipschitz([[0.0]], [1.0], [[1.0]], [math.nan])


def test_more_routes_than_fit_are_refused_with_their_number() -> None:
    side = math.isqrt(MAX_ROUTES) + 1

    with pytest.raises(CapacityError, match=f"at most {MAX_ROUTES} pairs of points"):
        bounded_lipschitz(cloud(1, side), np.ones(side), cloud(2, side), np.ones(side))
