"""The net that formulas (3.5) and (5.14) choose."""

import math

import pytest

from lapwing.errors import ParameterError
from lapwing.maths.lattice_net import NetChoice, anonymous_net, lattice_points, private_net

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
