"""Questions about vectors: their coordinates, their price, and their record."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers.vectors import Rows, coordinates_of, cut_cells, lattice_cells, moment_asked, sums_asked
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity
from lapwing.kernel.plain import pack_counts
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.registered import question_from_dict
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

BOX = coordinates_of(("line", "line or missing", "list of 3"))
FLAGS = coordinates_of(("line", "line"))
CUTS = cut_cells([[1], [1]], [0])


# ------------------------------------------------------------------------------------------------ what is refused
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": ("a", "a", "b")}, "coordinates need distinct columns, got \\('a', 'a', 'b'\\)"),
        ({"columns": (), "groupings": (), "kinds": (), "listed": ()}, "need distinct columns"),
        ({"columns": ("a", "b")}, "one grouping, kind and number of listed codes for each column"),
        ({"kinds": ("line", "line")}, "one grouping, kind and number of listed codes"),
        ({"listed": (0, 2, 0)}, "list only the reserved codes of their column; list 0 to all"),
        ({"listed": (0, -1, 0)}, "list only the reserved codes"),
        ({"kinds": ("line", "line", "lists")}, "a word that is no kind, coding or convex set"),
        ({"coding": "plain"}, "no kind, coding or convex set"),
        ({"convex_set": "cube"}, "no kind, coding or convex set"),
        ({"bits": 17}, "bits of coordinates must be a whole number from 0 to 16, got 17"),
        ({"bits": -1}, "whole number from 0 to 16"),
        ({"bits": True}, "whole number from 0 to 16"),
        ({"convex_set": "ball"}, 'column "c1" must be one coordinate in a ball, but has categories, special or'),
        ({"convex_set": "simplex"}, "use convex_set='box'"),
    ],
)
def test_coordinates_that_do_not_go_together_are_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        replace(BOX, **changes)


@pytest.mark.parametrize(("convex_set", "coding"), [("ball", "unit"), ("simplex", "centred")])
def test_a_ball_is_centred_and_a_simplex_is_not(convex_set, coding):
    with pytest.raises(ParameterError, match=f"a {convex_set} does not go with {coding} coding; use the other one"):
        replace(FLAGS, convex_set=convex_set, coding=coding)


@pytest.mark.parametrize("parts", [{"bound": "loose"}, {"diagonal": 1}])
def test_a_second_moment_has_a_known_bound_and_says_whether_it_has_a_diagonal(parts):
    with pytest.raises(ParameterError, match="a second moment needs the bound tight or paper"):
        replace(moment_asked(FLAGS), **parts)


def test_more_than_2000_coordinates_are_refused_with_the_memory_they_would_take():
    three = coordinates_of(("list of 3",) * 666)

    assert three.size == 1998
    with pytest.raises(CapacityError, match=r"2001 coordinates are above 2000 .their second moment would take 31 MiB"):
        coordinates_of(("list of 3",) * 667)


@pytest.mark.parametrize("values", [2**13, 2**32, 2**53])
@pytest.mark.parametrize("kind", ["line", "list"])
def test_columns_of_too_many_groups_are_refused_before_memory_is_taken(values, kind):
    grouping = identity(Domain(values, 0, True, True, False))

    with pytest.raises(CapacityError, match=r"8193 groups|above 2000|9007199254740993 groups|4294967297 groups"):
        Coordinates(columns=("a",), groupings=(grouping,), kinds=(kind,), listed=(0,))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"directions": np.zeros(2, dtype=np.int64)}, "directions must have shape \\(p, up to 64\\), got \\(2,\\)"),
        ({"directions": np.zeros((2, 65), dtype=np.int64)}, "up to 64"),
        ({"directions": np.zeros((2, 1))}, "must be int64, got float64; round them first"),
        ({"directions": np.zeros((2, 1), dtype=np.int32)}, "must be int64, got int32"),
        ({"cuts": (np.array([0.5]),)}, "must be int64, got float64"),
        ({"cuts": (np.array([1, 0]),)}, "the cuts of a direction must increase; sort them"),
        ({"cuts": (np.array([0, 0]),)}, "must increase"),
        ({"cuts": (np.array([[0]]),)}, "must increase"),
        ({"cuts": (np.array([20, 2**62, -(2**62) - 5, 0, 30]),)}, "must increase"),  # their differences wrap
        ({"cuts": ()}, "cells need cuts along each of 1 directions, and no lattice"),
        ({"cuts": (np.array([0]),) * 2}, "along each of 1 directions"),
        ({"norm": 1}, "cells need cuts"),
        ({"origin": np.array([0])}, "cells need cuts"),
        ({"spacing": 1}, "a lattice needs an origin of 1 numbers, and no cuts"),
        ({"spacing": 1, "cuts": ()}, "a lattice needs an origin of 1 numbers, and no cuts"),
        ({"spacing": -1, "cuts": (), "origin": np.array([0])}, "spacing from 1 to 2\\*\\*41 and a norm from 0 to"),
        ({"spacing": 2**41 + 1, "cuts": (), "origin": np.array([0])}, "spacing from 1 to 2\\*\\*41"),
        ({"spacing": 1, "norm": -1, "cuts": (), "origin": np.array([0])}, "got 1 and -1"),
        ({"spacing": 1, "norm": 10_001, "cuts": (), "origin": np.array([0])}, "got 1 and 10001"),
    ],
)
def test_a_malformed_projection_is_refused(parts, message):
    good = {
        "directions": np.ones((2, 1), dtype=np.int64),
        "cuts": (np.array([0]),),
        "origin": np.zeros(0, dtype=np.int64),
    }

    with pytest.raises(ParameterError, match=message):
        Projection(**good | parts)


def test_too_many_cells_are_refused():
    axes = np.zeros((1, 21), dtype=np.int64)

    assert cut_cells(axes[:, :20], *[[0]] * 20).cells == 2**20
    with pytest.raises(CapacityError, match="2097152 cells are above 1048576; use fewer directions or bins"):
        cut_cells(axes, *[[0]] * 21)
    with pytest.raises(CapacityError, match="more than the 1048576 points allowed"):
        lattice_cells(axes[:, :3], spacing=1, norm=10_000)
    with pytest.raises(CapacityError, match="points allowed"):
        lattice_cells(np.zeros((1, 64), dtype=np.int64), spacing=1, norm=3)


@pytest.mark.parametrize("what", ["directions", "origin"])
@pytest.mark.parametrize("far", [2**41, -(2**41), -(2**63), 2**63 - 1])
def test_projections_that_floats_would_round_are_refused(what, far):
    directions = np.array([[1], [far if what == "directions" else 1]])
    cells = lattice_cells(directions, spacing=1, norm=1, origin=[far if what == "origin" else 0])

    with pytest.raises(
        ParameterError, match="projections on these directions could pass 2\\*\\*40; scale the directions"
    ):
        sums_asked(FLAGS, cells)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"summed": "columns"}, "summed must be one of rows, vectors, damped means, got 'columns'"),
        ({"damping": 3}, "damped means, and nothing else, need a damping, got 3"),
        ({"summed": "damped means"}, "need a damping, got None"),
        ({"summed": "damped means", "damping": 0}, "whole number from 1 to 2\\*\\*31, got 0"),
        ({"summed": "damped means", "damping": -4}, "whole number from 1"),
        ({"summed": "damped means", "damping": 1.5}, "got 1.5"),
        ({"summed": "damped means", "damping": True}, "got True"),
        ({"summed": "damped means", "damping": 2**31 + 1}, "from 1 to 2\\*\\*31"),
        ({"cost": Budget("pure", Fraction(0))}, "must cost more than 0"),
        ({"projection": cut_cells([[1], [1], [1]], [0])}, "directions of 3 coordinates do not fit vectors of 2"),
    ],
)
def test_a_malformed_question_for_cells_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        replace(sums_asked(FLAGS, CUTS), **changes)


def test_means_of_many_bits_and_answers_beyond_memory_are_refused():
    wide = coordinates_of(("line",) * 65)

    with pytest.raises(ParameterError, match="damped means need coordinates of at most 12 bits; use fewer"):
        sums_asked(replace(FLAGS, bits=13), summed="damped means", damping=1)
    cells = cut_cells(np.zeros((65, 20)), *[[0]] * 20)
    assert sums_asked(wide, cells, "rows").shape == (2**20,)
    with pytest.raises(CapacityError, match=r"1048576 cells of 65 numbers are above 67108864 .520 MiB.; use fewer"):
        sums_asked(wide, cells)


@pytest.mark.parametrize(
    ("coordinates", "changes", "message"),
    [
        (FLAGS, {"bound": "loose"}, "needs the bound tight or paper, got 'loose'"),
        (FLAGS, {"diagonal": 1}, "needs the bound tight or paper"),
        (FLAGS, {"cost": Budget("pure", Fraction(0))}, "must cost more than 0"),
        (FLAGS, {"bound": "paper"}, "for unit lines in a box and pure epsilon; use bound='tight'"),
        (replace(FLAGS, coding="unit"), {"bound": "paper", "cost": Budget.zcdp(1)}, "pure epsilon"),
        (replace(FLAGS, convex_set="simplex", coding="unit"), {"bound": "paper"}, "in a box"),
        (coordinates_of(("list of 3",)), {}, "of one column has no products between columns; ask for its totals"),
    ],
)
def test_a_malformed_second_moment_is_refused(coordinates, changes, message):
    with pytest.raises(ParameterError, match=message):
        moment_asked(coordinates, **changes)


def test_the_paper_s_bound_is_for_replaced_rows_only():
    question = moment_asked(replace(FLAGS, coding="unit"), bound="paper", diagonal=True)

    assert question.sensitivity("replace-one", 3) == Sensitivity(24, 576)
    with pytest.raises(ParameterError, match="for replace-one neighbours; use bound='tight'"):
        question.sensitivity("add-remove", 1)


# ------------------------------------------------------------------------------------------------ shapes and pairs
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_noise_is_that_of_the_sensitivity(relation):
    question = moment_asked(coordinates_of(("line",) * 4), cost=Budget.pure("1/2"))
    zcdp = replace(question, cost=Budget.zcdp("1/2"))

    bound = question.sensitivity(relation, 3)

    assert question.noise(relation, 3) == NoiseLaw("laplace", Fraction(2 * bound.l1))
    assert zcdp.noise(relation, 3) == NoiseLaw("gaussian", Fraction(bound.l2_squared))


def test_the_loss_of_a_change_whose_square_passes_64_bits_is_exact():
    law = NoiseLaw("gaussian", Fraction(1, 2))

    assert law.loss(np.array([2**32, -(2**33), 3])) == 2**64 + 2**66 + 9


# ---------------------------------------------------------------------------------------------------- in the room
SCHEMA = Schema.from_dict(
    {"fields": [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in ("c0", "c1")]}
)


class Table(Rows):
    """Rows that a room takes."""

    rows = units = 0


def room(*, bits=None, budget=9, rows=()):
    source = Table(FLAGS, np.array(rows, dtype=np.int64))
    terms = Terms(relation="add-remove")
    return Room(source, SCHEMA, terms, Budget.pure(budget), bits=bits or SystemBits(), sink=NoTranscript())


@pytest.mark.parametrize("rows", [[], [[1, 1]], [[0, 1]] * 5])
@pytest.mark.parametrize(
    "question",
    [
        sums_asked(FLAGS, lattice_cells([[2**39], [2**38]], spacing=2**41, norm=10_000)),
        sums_asked(FLAGS, lattice_cells([[2**38], [0]], spacing=1, norm=0, origin=[2**39]), "rows"),
        sums_asked(FLAGS, None, "damped means", damping=2**31),
        sums_asked(replace(FLAGS, bits=16)),
        moment_asked(replace(FLAGS, bits=16), diagonal=True),
    ],
)
def test_no_question_that_was_made_fails_because_of_the_rows(question, rows):
    (answer,) = room(rows=rows).ask(question)

    assert answer.values.shape == question.shape


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
