"""The question PrivateDraw: what it refuses, what the room answers, and its records."""

import itertools
import math

import numpy as np
import pytest

from helpers.bits import ScriptedBits
from helpers.private_draws import asked, cube_schema, frame_of, kinds_of_rows, source_of
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.private_draw.answer import answer_private_draw, exact_weights
from lapwing.kernel.questions.private_draw.question import DrawnRows
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import CostLine
from lapwing.rows.source import code_table

POINTS = [0, 1, 2, 3, 4, 5, 6, 7]
TERMS = Terms(relation="replace-one", rows=8)
TABLE = [*kinds_of_rows(3)[:7], kinds_of_rows(3)[0]]


def published(rows=8, **changes):
    return asked(3, rows, **{"points": POINTS, "floor": "1/4", "ceiling": "2"} | changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": [8]}, "takes 1 to 32 points, all of its cube"),
        ({"points": [-1]}, "takes 1 to 32 points, all of its cube"),
        ({"points": []}, "takes 1 to 32 points, all of its cube"),
        ({"points": list(range(8)) * 5}, "takes 1 to 32 points, all of its cube"),
        ({"ceiling": None}, "a ceiling goes with points"),
        ({"points": None}, "a ceiling goes with points"),
        ({"degree": 4}, "degree of a private draw must be a whole number from 1 to 3, got 4"),
        ({"draws": 0}, "draws of a private draw must be a whole number from 1 to 1048576, got 0"),
        ({"draws": True}, "draws of a private draw must be a whole number from 1 to 1048576, got True"),
        ({"rows": 0}, "rows of a private draw must be a whole number from 1 to 2147483648, got 0"),
        ({"notion": "gaussian"}, "the notion of a budget must be 'pure' or 'zcdp', got 'gaussian'"),
        ({"floor": "1/1000001"}, "floor must be from 0.000001 to 1, got 1/1000001"),
        ({"floor": "0"}, "floor must be from 0.000001 to 1, got 0"),
    ],
)
def test_a_question_outside_its_range_is_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        published(**change)


def test_the_published_variant_needs_a_floor_below_what_its_ceiling_allows():
    published(floor="9/20")
    for change in ({"floor": "23/50"}, {"floor": "1/2"}, {"ceiling": "1"}, {"ceiling": "5/4"}):
        with pytest.raises(ParameterError, match="needs 2 floor < 1 < ceiling - floor"):
            published(**change)


@pytest.mark.parametrize(("columns", "degree"), [(1, 1), (3, 1), (3, 2), (3, 3), (4, 2)])
def test_the_sensitivity_is_how_far_a_replaced_row_moves_the_sums_of_walsh_functions(columns, degree):
    chosen = [each for size in range(degree + 1) for each in itertools.combinations(range(columns), size)]
    signs = itertools.product((-1, 1), repeat=columns)
    walsh = np.array([[math.prod(row[place] for place in places) for places in chosen] for row in signs])
    moves = walsh[:, None] - walsh

    bound = asked(columns, 8, degree=degree).sensitivity("replace-one", 1)

    assert (bound.l1, bound.l2_squared) == (np.abs(moves).sum(axis=2).max(), (moves**2).sum(axis=2).max())


# ----------------------------------------------------------------------------------------------------- in the room


def room(points=TABLE, *, terms=TERMS, budget="9", bits=None):
    source = code_table(frame_of(points, 3), cube_schema(3))
    return Room(source, cube_schema(3), terms, Budget.pure(budget), bits=bits or SystemBits(), sink=NoTranscript())


def test_a_number_of_rows_that_is_not_the_public_one_is_refused():
    with pytest.raises(ParameterError, match="is for 9 rows, which is not the public number of rows"):
        room().ask(asked(3, 9, floor="1"))


@pytest.mark.parametrize("terms", [Terms(relation="add-remove"), Terms(relation="replace-one", max_rows=2)])
def test_terms_that_hide_the_number_of_rows_are_refused(terms):
    with pytest.raises(ParameterError, match="is for 8 rows, which is not the public number of rows"):
        room(terms=terms).ask(asked(3, 8))
    with pytest.raises(ParameterError, match="a private draw protects replace-one neighbours with one row per unit"):
        CostLine.planned(asked(3, 8), terms)


def test_points_that_do_not_tell_the_marginals_apart_are_refused_before_a_row_is_read():
    with pytest.raises(ParameterError, match=r"smallest singular value of 4 points is below sqrt\(m\) / \(2 e\*\*1\)"):
        room(budget=9999).ask(published(points=[0, 0, 0, 1]))


def test_the_answer_is_drawn_by_exact_weights_from_the_secret_words():
    question = asked(3, 8, floor="1/8", draws=3)
    weights = exact_weights(question, source_of(TABLE, 3))
    ends = np.cumsum(weights)

    words = [0, int(ends[4]), int(ends[-1]) - 1]
    (answer,) = answer_private_draw([question], PrivateRows.of(source_of(TABLE, 3), None), TERMS, ScriptedBits(words))

    assert answer.rows.tolist() == [0, 5, 7]
    assert answer.tables == ()


def test_rows_of_the_published_variant_are_its_points():
    question = published(points=[7, 6, 5, 4, 3, 2, 1, 0], draws=200)

    (answer,) = answer_private_draw([question], PrivateRows.of(source_of(TABLE, 3), None), TERMS, SystemBits())

    assert set(answer.rows.tolist()) <= set(POINTS)
    assert answer.question.points.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


def test_a_misfit_counts_as_spread_over_the_whole_cube():
    misfits = [None] * 8

    assert set(exact_weights(asked(3, 8, degree=3), source_of(misfits, 3)).tolist()) == {8}


# ---------------------------------------------------------------------------------------------------------- records


@pytest.mark.parametrize("rows", [[0, 8], [-1, 0], [0], [0, 1, 2]])
def test_an_answer_outside_the_space_is_refused(rows):
    with pytest.raises(ParameterError, match="an answer must hold 2 rows of the space"):
        DrawnRows(asked(3, 8, draws=2), np.array(rows))
