"""Damped means of cells: exact rational arithmetic on neighbours, against Lemma 5.6 and the bound of the proof."""

from fractions import Fraction

import numpy as np
import pytest

from helpers.vectors import (
    Rows,
    coordinates_of,
    cut_cells,
    exact,
    lattice_cells,
    random_rows,
    sums_asked,
)
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS

RELATIONS = ("add-remove", "replace-one")


def rational_means(question, codes):
    """Return the damped means before they are rounded: {(cell, coordinate): Fraction}, for cells that have rows."""
    coordinates = question.coordinates
    vectors = coordinates.vectors(dict(zip(coordinates.columns, codes.T, strict=True))).astype(int)
    cells = np.zeros(len(codes), dtype=int) if question.projection is None else question.projection.cells_of(vectors)
    members = {
        cell: [row for row, at in zip(vectors.tolist(), cells, strict=True) if at == cell] for cell in set(cells)
    }
    return {
        (cell, place): Fraction(sum(row[place] for row in rows), max(len(rows), question.damping) * coordinates.unit)
        for cell, rows in members.items()
        for place in range(coordinates.size)
    }


def random_neighbours(rng, coordinates, relation, max_rows):
    """Return two tables of rows with common rows and up to so many rows of one person."""
    pole = random_rows(rng, coordinates, 1)
    common = np.repeat(pole, rng.integers(0, 9), axis=0)
    common = np.concatenate((common, random_rows(rng, coordinates, int(rng.integers(0, 3)))))
    one = random_rows(rng, coordinates, int(rng.integers(1, max_rows + 1)))
    other = random_rows(rng, coordinates, int(rng.integers(1, max_rows + 1)) * (relation == "replace-one"))
    return np.concatenate((common, one)), np.concatenate((other, common))


MEANS = [
    (("line", "line"), {}, None),
    (("line or missing", "list of 2"), {"bits": 3}, cut_cells([[1], [2], [-3], [0]], [-4, 0])),
    (("line of 3",) * 2, {"convex_set": "ball", "bits": 5}, lattice_cells(np.eye(2), spacing=20, norm=2)),
    (("line of 3",) * 3, {"convex_set": "simplex", "coding": "unit", "bits": 12}, None),
    (("line", "list of 3"), {"coding": "unit"}, lattice_cells([[1], [2], [0], [-1]], spacing=1, norm=4)),
]


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("blocks", "settings", "cells"), MEANS)
def test_no_damped_means_move_farther_than_lemma_5_6_and_their_bound(blocks, settings, cells, relation, max_rows):
    rng, coordinates = np.random.default_rng(4), coordinates_of(blocks, **settings)

    for _ in range(60):
        question = sums_asked(coordinates, cells, "damped means", damping=int(rng.integers(1, 8)))
        one, other = random_neighbours(rng, coordinates, relation, max_rows)
        first, second = rational_means(question, one), rational_means(question, other)
        moves = [first.get(key, Fraction(0)) - second.get(key, Fraction(0)) for key in {*first, *second}]
        touched = (2 if relation == "replace-one" else 1) * max_rows
        lemma = Fraction(2 * coordinates.row_norm * touched, (question.damping + 1) * coordinates.unit)
        assert sum(map(abs, moves)) <= lemma

        rounded = [exact(question, Rows(coordinates, codes)) for codes in (one, other)]
        change, bound = rounded[0] - rounded[1], question.sensitivity(relation, max_rows)
        assert np.abs(change).sum() <= bound.l1
        assert (change * change).sum() <= bound.l2_squared
        for (cell, place), mean in first.items():
            assert rounded[0][cell, place] == mean * 2**MEAN_BITS // 1


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("damping", [1, 9, 400])
def test_damped_means_can_move_by_nearly_their_bound(damping, relation, max_rows):
    coordinates = coordinates_of(("line",) * 4, bits=12)
    question = sums_asked(coordinates, cut_cells([[1], [0], [0], [0]], [0]), "damped means", damping=damping)
    # In each of both cells `damping` rows that are alike; the person's rows differ from them in all but the cell.
    common = [[0, 0, 0, 0]] * damping + [[1, 0, 0, 0]] * damping
    person, other = [[0, 1, 1, 1]] * max_rows, [[1, 1, 1, 1]] * max_rows * (relation == "replace-one")
    first, second = (exact(question, Rows(coordinates, common + rows)) for rows in (person, other))

    change = np.abs(first - second).sum()

    bound = question.sensitivity(relation, max_rows).l1
    assert Fraction(3, 4) * damping / (damping + max_rows) * bound * Fraction(999, 1000) < change <= bound


@pytest.mark.parametrize("relation", RELATIONS)
def test_means_that_are_rounded_down_to_minus_one_stay_below_their_bound(relation):
    question = sums_asked(coordinates_of(("line",) * 6), None, "damped means", damping=2**31)
    person, other = [[0] * 6], [[1] * 6] if relation == "replace-one" else []

    first, second = (exact(question, Rows(question.coordinates, rows)) for rows in (person, other))

    assert first.tolist() == [[-1] * 6]
    assert not second.any()
    assert question.sensitivity(relation, 1).l1 >= 6
