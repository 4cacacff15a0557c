"""Questions about vectors of rows, and their answers: records come back, and a stranger's are refused."""

from fractions import Fraction

import numpy as np
import pytest

from helpers.vectors import (
    coordinates_of,
    cut_cells,
    lattice_cells,
    sums_asked,
)
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.plain import pack_counts
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.registered import question_from_dict

FLAGS = coordinates_of(("line", "line"))
CUTS = cut_cells([[1], [1]], [0])
LATTICE = lattice_cells([[1], [1]], spacing=1, norm=4)


def test_an_answer_of_another_shape_or_type_is_refused():
    question, law = sums_asked(FLAGS, LATTICE), NoiseLaw("laplace", Fraction(1))

    for values in (np.zeros((2, 5), dtype=np.int64), np.zeros((5, 2)), np.zeros(10, dtype=np.int64)):
        with pytest.raises(ParameterError, match="an answer to CellSums must be int64 of shape \\(5, 2\\), got"):
            NoisySums(question, values, law)
    with pytest.raises(
        ParameterError, match="an answer of shape \\(5, 2\\) must hold 10 counts; the record is damaged"
    ):
        NoisySums.read(question, {"values": pack_counts(np.zeros(10**6, dtype=np.int64)), "noise": {}})


def packed(*shape, fill=0):
    return pack_counts(np.full(shape, fill, dtype=np.int64))


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [2, 0], "directions": packed(2, 0), "origin": [], "norm": 2**60},
        {"shape": [2, 2], "directions": packed(2, 2), "origin": [0, 0], "norm": 36 * 10**6},
        {"shape": [2, 3], "directions": packed(2, 3), "origin": [0, 0, 0], "norm": 10**4},
        {"shape": [2, 64], "directions": packed(2, 64), "origin": [0] * 64, "norm": 10**4},
        {"shape": [2, 64], "directions": packed(2, 64), "origin": [0] * 64, "norm": 3},
    ],
)
def test_a_lattice_of_too_many_points_is_refused(changes):
    record = sums_asked(FLAGS, LATTICE).to_dict()
    record["projection"] |= changes

    with pytest.raises((ParameterError, CapacityError)):
        question_from_dict(record)
