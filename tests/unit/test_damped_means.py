"""Damped means are exact for tables of any size, so that one row moves them by no more than it may."""

import numpy as np
import pytest

from helpers.vectors import coordinates_of, sums_asked
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
