"""Questions about vectors of rows, and their answers: records come back, and a stranger's are refused."""

from fractions import Fraction

import numpy as np
import pytest

from helpers.vectors import (
    coordinates_of,
    cut_cells,
    lattice_cells,
    moment_asked,
    sums_asked,
)
from lapwing.errors import BudgetError, CapacityError, ParameterError
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
        question.read_answer({"values": pack_counts(np.zeros(10**6, dtype=np.int64)), "noise": law.to_dict()})


def edited(record, path, value):
    """Return a record with one entry changed, or left out."""
    if not path:
        return value
    copy = list(record) if isinstance(record, list) else dict(record)
    copy[path[0]] = edited(copy[path[0]], path[1:], value)
    return copy


def packed(*shape, fill=0):
    return pack_counts(np.full(shape, fill, dtype=np.int64))


HUGE = 10**400
HOSTILE = [
    (("coordinates",), None),
    (("coordinates",), []),
    (("coordinates", "columns"), "ab"),
    (("coordinates", "columns"), [["a"], ["b"]]),
    (("coordinates", "columns"), ["c0"]),
    (("coordinates", "columns"), ["c0", "c0"]),
    (("coordinates", "groupings"), [None, None]),
    (("coordinates", "groupings"), []),
    (("coordinates", "groupings", 0, "values"), 2**53),
    (("coordinates", "groupings", 0, "values"), 2**60),
    (("coordinates", "groupings", 0, "reserved"), 2**24),
    (("coordinates", "groupings", 0, "shift"), -1),
    (("coordinates", "kinds"), ["line", "tree"]),
    (("coordinates", "kinds"), [["line"], "line"]),
    (("coordinates", "kinds"), ["line", None]),
    (("coordinates", "listed"), [0, 1.0]),
    (("coordinates", "listed"), [0, -1]),
    (("coordinates", "listed"), [0, HUGE]),
    (("coordinates", "listed"), [True, 0]),
    (("coordinates", "listed"), [float("nan"), 0]),
    (("coordinates", "coding"), "x"),
    (("coordinates", "coding"), None),
    (("coordinates", "convex_set"), "x"),
    (("coordinates", "convex_set"), ["ball"]),
    (("coordinates", "bits"), 17),
    (("coordinates", "bits"), HUGE),
    (("coordinates", "bits"), 1.0),
    (("coordinates", "bits"), float("nan")),
    (("cost", "amount"), "0"),
    (("cost", "amount"), "-1"),
    (("cost", "amount"), "1e999999999"),
    (("cost", "amount"), 0.5),
    (("cost", "notion"), "both"),
    (("cost", "notion"), ["pure"]),
    (("cost",), "1"),
]
HOSTILE_CELLS = [
    (("summed",), "everything"),
    (("summed",), None),
    (("damping",), 4),
    (("damping",), "4"),
    (("projection",), []),
    (("projection", "shape"), [2]),
    (("projection", "shape"), [2, 1, 1]),
    (("projection", "shape"), [2, -1]),
    (("projection", "shape"), [2, 65]),
    (("projection", "shape"), [2**40, 2**20]),
    (("projection", "shape"), [2001, 1]),
    (("projection", "shape"), [2.0, 1]),
    (("projection", "shape"), [HUGE, 1]),
    (("projection", "directions"), packed(10**6)),
    (("projection", "directions"), packed(1, 1)),
    (("projection", "directions"), packed(2, 1, fill=-(2**63))),
    (("projection", "directions"), packed(2, 1, fill=2**40)),
    (("projection", "directions"), None),
    (("projection", "cuts"), [[1, 0]]),
    (("projection", "cuts"), [[2**62, -(2**62) - 5]]),
    (("projection", "cuts"), [[HUGE]]),
    (("projection", "cuts"), [[2**63]]),
    (("projection", "cuts"), [[0.5]]),
    (("projection", "cuts"), [[float("nan")]]),
    (("projection", "cuts"), [0]),
    (("projection", "cuts"), []),
    (("projection", "cuts"), [list(range(2**20))]),
    (("projection", "origin"), [0]),
    (("projection", "origin"), [HUGE]),
    (("projection", "origin"), [None]),
    (("projection", "spacing"), 1),
    (("projection", "spacing"), -1),
    (("projection", "spacing"), True),
    (("projection", "spacing"), 0.0),
    (("projection", "norm"), 1),
    (("projection", "norm"), HUGE),
]
HOSTILE_NETS = [
    {"origin": [-(2**63)]},
    {"origin": [2**40 + 1]},
    {"spacing": HUGE},
    {"spacing": 2**41 + 1},
    {"norm": HUGE},
    {"norm": 2**60},
    {"norm": 36 * 10**6},
    {"norm": -1},
    {"norm": 10**4 + 1},
    {"shape": [2, 0], "directions": packed(2, 0), "origin": [], "norm": 2**60},
    {"shape": [2, 2], "directions": packed(2, 2), "origin": [0, 0], "norm": 36 * 10**6},
    {"shape": [2, 3], "directions": packed(2, 3), "origin": [0, 0, 0], "norm": 10**4},
    {"shape": [2, 64], "directions": packed(2, 64), "origin": [0] * 64, "norm": 10**4},
    {"shape": [2, 64], "directions": packed(2, 64), "origin": [0] * 64, "norm": 3},
]


@pytest.mark.parametrize(
    "record",
    [
        *(edited(moment_asked(FLAGS).to_dict(), *each) for each in HOSTILE),
        *(edited(moment_asked(FLAGS).to_dict(), ("diagonal",), value) for value in (1, None, "yes")),
        *(edited(moment_asked(FLAGS).to_dict(), ("bound",), value) for value in ("x", None, "paper")),
        *(edited(sums_asked(FLAGS, CUTS).to_dict(), *each) for each in (*HOSTILE, *HOSTILE_CELLS)),
        *(
            sums_asked(FLAGS, LATTICE).to_dict() | {"projection": LATTICE.to_dict() | changes}
            for changes in HOSTILE_NETS
        ),
        *(
            edited(sums_asked(FLAGS, None, "damped means", damping=1).to_dict(), ("damping",), value)
            for value in (0, -1, None, 1.5, True, HUGE, float("nan"))
        ),
        {"kind": "CellSums"},
        {"kind": "SecondMoment"},
    ],
    ids=lambda record: f"{record['kind']}",
)
def test_a_stranger_s_record_is_refused(record):
    with pytest.raises((ParameterError, CapacityError, BudgetError)):
        question_from_dict(record)
