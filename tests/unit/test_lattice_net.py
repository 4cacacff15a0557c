"""Nets of lattice points: what is refused, sizes, and the distance that the proof needs."""

import math

import numpy as np
import pytest

from lapwing.errors import CapacityError, ParameterError
from lapwing.maths.lattice_net import (
    NetChoice,
    anonymous_net,
    lattice_points,
    lattice_ranks,
    nearest_lattice_points,
    net_size_bound,
    private_net,
)


@pytest.mark.parametrize(
    ("z", "spacing", "budget", "message"),
    [
        ([[0]], 0, 1, "the spacing of a lattice must be at least 1, got 0"),
        ([[0]], 1, -1, "the budget of a lattice must be between 0 and 10000, got -1"),
        ([[0]], 1, 10_001, "the budget of a lattice must be between 0 and 10000, got 10001"),
        (
            [[2**61]],
            5,
            4,
            "rows of 1 coordinates are too large for a spacing of 5 and a budget of 4; use a smaller scale",
        ),
        ([[-(2**63)]], 5, 0, "rows of 1 coordinates are too large for a spacing of 5 and a budget of 0"),
        ([[1]], 2**61, 4, "rows of 1 coordinates are too large"),
        ([[0]], 2**62, 0, "rows of 1 coordinates are too large"),
    ],
)
def test_settings_that_cannot_be_decided_in_int64_are_refused(z, spacing: int, budget: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        nearest_lattice_points(np.array(z, dtype=np.int64), spacing, budget)


def test_the_largest_rows_allowed_are_decided_without_overflow() -> None:
    z = np.array([[2**54, 2**54 - 1] + [0] * 98, [-(2**54), 2**54] + [1] * 98])

    found = nearest_lattice_points(z, 1, 100)

    assert (found[:, :2] == [[7, 7], [-7, 7]]).all()
    assert ((found**2).sum(axis=1) <= 100).all()


@pytest.mark.parametrize(("t", "alpha"), [(1, 0.501), (2, 0.6), (4, 0.6)])
def test_every_row_of_the_unit_ball_is_nearer_than_alpha_to_its_point(t: int, alpha: float) -> None:
    rng = np.random.default_rng(0)
    radius = 2**40
    directions = rng.normal(size=(20_000, t))
    lengths = rng.random((20_000, 1)) ** (1 / 8)
    z = (radius * lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(np.int64)
    spacing = int(radius * alpha / math.sqrt(t))

    found = nearest_lattice_points(z, spacing, math.floor(t / alpha**2))

    distances = np.linalg.norm(z - spacing * found, axis=1) / radius
    # In one dimension the end of the ball is nearly alpha away from the last point.
    assert (0.99 * alpha if t == 1 else 0) < distances.max() < alpha


def test_more_points_than_allowed_are_refused_before_memory_is_taken() -> None:
    message = "a net of 1000 dimensions and budget 1000 has more than the 5000 points allowed; use fewer dimensions"
    with pytest.raises(CapacityError, match=message):
        lattice_points(1000, 1000, 5000)
    with pytest.raises(CapacityError, match="has more than the 4 points allowed"):
        lattice_points(2, 1, 4)
    with pytest.raises(CapacityError, match="has more than the 4 points allowed"):
        lattice_points(1, 10**30, 4)

    assert len(lattice_points(10_000, 0, 1)) == 1


def test_a_ball_of_negative_dimension_or_budget_is_refused() -> None:
    with pytest.raises(ParameterError, match="needs t and budget of at least 0, got -1 and 2"):
        lattice_points(-1, 2, 10)
    with pytest.raises(ParameterError, match="needs t of at least 0 and alpha above 0, got 2 and 0"):
        net_size_bound(2, 0)


@pytest.mark.parametrize("point", [[1, 1], [2, 0], [0, -9]])
def test_a_point_outside_the_net_has_no_rank(point: list[int]) -> None:
    net = lattice_points(2, 1, 10)

    with pytest.raises(ParameterError, match="every point must be a row of the net"):
        lattice_ranks(np.array([point]), net)


@pytest.mark.parametrize("t", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.9])
def test_the_ball_holds_no_more_points_than_proposition_3_7_says(t: int, alpha: float) -> None:
    points = len(lattice_points(t, math.floor(t / alpha**2), 10**6))

    bound = net_size_bound(t, alpha)

    assert points <= bound <= (7 / alpha) ** t


def test_proposition_3_7_with_a_third_of_its_constant_fails() -> None:
    points = len(lattice_points(4, math.floor(4 / 0.3**2), 10**6))

    assert points > net_size_bound(4, 0.3) / 3**4


# -- The net that formulas (3.5) and (5.14) choose.


RADIUS = 2**48


@pytest.mark.parametrize(("cells", "dimensions"), [(1, 0), (2, 0), (3, 0), (9, 0), (10, 1), (100, 2), (10**6, 5)])
def test_formula_3_5(cells: int, dimensions: int) -> None:
    choice = anonymous_net(cells, columns=50)

    assert choice.dimensions == dimensions
    if cells >= 3:
        assert choice.alpha**4 == pytest.approx(math.log(math.log(cells)) / math.log(cells))
        assert (7 / choice.alpha) ** choice.dimensions <= cells < (7 / choice.alpha) ** (choice.dimensions + 1)


@pytest.mark.parametrize(("rows", "dimensions"), [(-5.0, 0), (0, 0), (2, 0), (3, 0), (316, 1), (10**6, 2), (10**12, 4)])
def test_formula_5_14(rows: float, dimensions: int) -> None:
    choice = private_net(rows, columns=50)

    assert choice.dimensions == dimensions
    if rows > 2:
        assert choice.alpha**-4 == pytest.approx(math.log(rows))
        assert (7 / choice.alpha) ** choice.dimensions <= math.sqrt(rows)


def test_there_are_no_more_dimensions_than_columns() -> None:
    assert anonymous_net(10**6, columns=2).dimensions == 2
    assert private_net(10**12, columns=3).dimensions == 3


@pytest.mark.parametrize("rows", [10**3, 10**6, 10**9])
def test_the_lattice_of_a_choice_has_no_more_points_than_planned(rows: int) -> None:
    choice = private_net(rows, columns=50)

    points = lattice_points(choice.dimensions, choice.budget(RADIUS), 10**6)

    assert len(points) <= math.sqrt(rows)


@pytest.mark.parametrize(
    ("dimensions", "alpha", "budget"), [(0, 1.0, 0), (1, 0.5, 4), (2, 0.5, 7), (4, 0.5, 16), (3, 0.7, 6)]
)
def test_the_lattice_fits_the_ball_and_is_alpha_fine(dimensions: int, alpha: float, budget: int) -> None:
    choice = NetChoice(dimensions, alpha)

    spacing = choice.spacing(RADIUS)

    assert choice.budget(RADIUS) == budget
    assert spacing**2 * choice.budget(RADIUS) <= RADIUS**2
    if dimensions:
        assert spacing == pytest.approx(RADIUS * alpha / math.sqrt(dimensions))


def test_choices_without_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="needs dimensions of at least 0 and alpha above 0, got 1 and 0"):
        NetChoice(1, 0)
    with pytest.raises(ParameterError, match="needs at least 1 cell and 0 columns, got 0 and 3"):
        anonymous_net(0, 3)
    with pytest.raises(ParameterError, match="needs at least 1 cell and 0 columns, got 10 and -1"):
        private_net(10, -1)
