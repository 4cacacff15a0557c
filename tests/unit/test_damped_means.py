"""Damped means are exact for tables of any size, so that one row moves them by no more than it may."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from helpers.vectors import Rows, all_rows, coordinates_of, cut_cells, exact, sums_asked
from lapwing.kernel.questions.cell_sums.answer import damped_means
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS


@pytest.mark.parametrize("most", [5, 2**20, 2**31, 2**40])
def test_damped_means_are_those_of_whole_numbers_of_any_size(most):
    rng = np.random.default_rng(most)
    unit = 2**12
    counts = np.append(rng.integers(0, most, 200, endpoint=True), [0, 1, most])
    sums = rng.integers(-counts * unit, counts * unit, (3, counts.size), endpoint=True).T
    sums[-1] = [most * unit, -most * unit, most * unit - 1]
    damping = int(rng.integers(1, min(most, 2**31), endpoint=True))

    found = damped_means(sums, counts, damping=damping, unit=unit, bits=MEAN_BITS)

    pairs = zip(sums.tolist(), counts.tolist(), strict=True)
    assert found.dtype == np.int64
    assert found.tolist() == [[each * 2**20 // (max(count, damping) * unit) for each in row] for row, count in pairs]


def test_one_row_among_two_to_the_31_moves_a_mean_by_no_more_than_the_sensitivity():
    coordinates = coordinates_of(("line of 5",), coding="unit", bits=12)
    question = sums_asked(coordinates, summed="damped means", damping=1000)
    rows = 2**31

    means = [
        damped_means(np.array([[ones * coordinates.unit]]), np.array([rows]), damping=1000, unit=2**12, bits=MEAN_BITS)
        for ones in (rows - 1, rows)
    ]

    assert abs(int(means[1][0, 0] - means[0][0, 0])) <= question.sensitivity("replace-one", 1).l1


# One, and four numbers of which all but the first may move in both of the cells that a row leaves and enters.
SHAPES = {"one number": 1, "four numbers": 4}


@pytest.mark.parametrize("max_rows", [1, 2])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("damping", [1, 2**22, 2**31])
@pytest.mark.parametrize("numbers", SHAPES.values(), ids=SHAPES)
def test_the_worst_neighbours_of_tiny_cells_are_within_the_sensitivity(numbers, damping, relation, max_rows):
    coordinates = coordinates_of(("line",) * numbers)
    cells = cut_cells(np.eye(numbers, 1, dtype=np.int64), [0])
    question = sums_asked(coordinates, cells, "damped means", damping=damping)
    rows = [tuple(row) for row in all_rows(coordinates).tolist() if max(row) < 2]  # all of them fit
    units = [unit for size in range(max_rows + 1) for unit in combinations_with_replacement(rows, size)]
    known = {}

    def means(table):
        if table not in known:
            known[table] = exact(question, Rows(coordinates, table)).reshape(-1)
        return known[table]

    bound = question.sensitivity(relation, max_rows)
    for rest in [(), *((row,) for row in rows)]:
        found = np.array([means(tuple(sorted(rest + unit))) for unit in units])
        before = found[:1] if relation == "add-remove" else found
        moved = np.abs(before[:, None] - found[None])
        assert moved.sum(axis=2).max() <= bound.l1
        assert (moved**2).sum(axis=2).max() <= bound.l2_squared


@pytest.mark.parametrize("max_rows", [8, 50])
@pytest.mark.parametrize("numbers", SHAPES.values(), ids=SHAPES)
def test_many_equal_rows_of_a_unit_move_as_many_times_what_one_moves(numbers, max_rows):
    coordinates = coordinates_of(("line",) * numbers)
    question = sums_asked(coordinates, cut_cells(np.eye(numbers, 1, dtype=np.int64), [0]), "damped means", damping=400)
    bound = question.sensitivity("add-remove", max_rows)
    empty = exact(question, Rows(coordinates, ())).reshape(-1)

    for row in [tuple(row) for row in all_rows(coordinates).tolist() if max(row) < 2]:
        moved = np.abs(exact(question, Rows(coordinates, (row,) * max_rows)).reshape(-1) - empty)
        assert moved.sum() <= bound.l1
        assert (moved**2).sum() <= bound.l2_squared
