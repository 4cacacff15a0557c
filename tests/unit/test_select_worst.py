"""SelectWorst: what it refuses, what it costs, and what the room does with it."""

import functools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import ZeroNoiseBits
from helpers.selections import (
    levels_of,
    question,
    random_question,
    rows_of,
    scores_by_hand,
    tables_over,
)
from lapwing.engine.tables import pack, unpack
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.registered import question_from_dict
from lapwing.kernel.questions.select_worst import question as questions
from lapwing.kernel.questions.select_worst.question import Selection, SelectWorst
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity, interval_grouping, prefix_grouping
from lapwing.schema.groupings.hierarchies import merge_groups
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 11}},
    {"name": "flag", "type": "boolean"},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
NAMES = ("kind", "age", "flag")
LEVELS = tuple(levels_of(SCHEMA.field(name).domain) for name in NAMES)
PAIRS = tables_over(LEVELS, (2,))
DATA = pl.DataFrame(
    {
        "kind": ["a", "b", "b", "zzz", "c", "a", "a"],
        "age": ["0", "11", "5", "6", None, "99", "3"],
        "flag": ["true", "false", None, "true", "true", "false", "?"],
    }
)
TERMS = Terms(relation="add-remove")
TWO = Budget.pure(2)


@functools.cache
def small():
    return code_table(DATA, SCHEMA)


def asked(**parts):
    return question(NAMES, LEVELS, PAIRS, **parts)


def room(*, source=None, bits=None, budget=TWO, terms=TERMS, recorded=()):
    return Room(
        source or small(), SCHEMA, terms, budget, bits=bits or ZeroNoiseBits(), sink=NoTranscript(), recorded=recorded
    )


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"columns": ()}, "needs distinct columns"),
        ({"columns": ("kind", "age", "kind")}, "name each column once"),
        ({"columns": ("kind", "age")}, "give each its own"),
        ({"levels": (*LEVELS[:2], ())}, "must be at least one"),
        ({"levels": (*LEVELS[:2], LEVELS[2][::-1])}, "merging groups of the first"),
        ({"levels": (*LEVELS[:2], (LEVELS[2][0], LEVELS[1][2]))}, "merging groups of the first"),
        ({"candidates": None}, "at least one candidate"),
        ({"candidates": (((0, 0),),)}, "must be int64 of shape"),
        ({"candidates": np.zeros((0, 1, 2), dtype=np.int64)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 0, 2), dtype=np.int64)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 3), dtype=np.int64)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 2, 2), dtype=np.int64)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 2), dtype=bool)}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 2))}, "must be int64 of shape"),
        ({"candidates": np.zeros((1, 1, 2), dtype=object)}, "must be int64 of shape"),
        ({"candidates": np.array([[[-1, -1]], [[0, 0]]])}, "at least one of 3 columns"),
        ({"candidates": np.array([[[-1, -1], [0, 0]]])}, "beyond all of its axes"),
        ({"candidates": np.array([[[0, 0], [-1, -1], [1, 0]]])}, "beyond all of its axes"),
        ({"candidates": np.array([[[0, 0], [0, 0]]])}, "positions increasing"),
        ({"candidates": np.array([[[1, 0], [0, 0]]])}, "positions increasing"),
        ({"candidates": np.array([[[-1, 0]]])}, "by position"),
        ({"candidates": np.array([[[-2, 0]]])}, "by position"),
        ({"candidates": np.array([[[3, 0]]])}, "by position"),
        ({"candidates": np.array([[[0, 3]]])}, "levels count from 0"),
        ({"candidates": np.array([[[0, -1]]])}, "levels count from 0"),
        ({"estimates": np.ones(3, dtype=np.int64)}, "estimates of a selection must be int64 of shape"),
        ({"estimates": np.ones(16)}, "estimates of a selection must be int64"),
        ({"penalties": np.zeros(3, dtype=np.int64)}, "penalties of a selection must be int64 of shape"),
        ({"penalties": None}, "both estimates and penalties"),
        ({"estimates": None}, "both estimates and penalties"),
        ({"estimates": np.full(7, -2)}, "at least 0, or -1"),
        ({"estimates": np.full(7, 2**61)}, "at most 2\\*\\*60"),
        ({"penalties": np.array([2**60 + 1, 0])}, "between"),
        ({"penalties": np.array([0, -(2**63)])}, "between"),
        ({"epsilon": Fraction(0)}, "above 0"),
        ({"epsilon": 0.5}, "must be a Fraction"),
        ({"notion": "renyi"}, "'pure' or 'zcdp'"),
    ],
)
def test_a_malformed_question_is_refused(parts, message):
    whole = question(NAMES, LEVELS, (((0, 0),), ((2, 0),)), estimates=np.ones(7), penalties=[0, 0])
    given = {
        key: getattr(whole, key)
        for key in ("columns", "levels", "candidates", "estimates", "penalties", "epsilon", "notion")
    }

    with pytest.raises(ParameterError, match=message):
        SelectWorst(**given | parts)


def test_tables_beyond_the_cell_limit_are_refused_however_large_their_product():
    wide = prefix_grouping(Domain(2**32, 0, missing=True, ordered=True, continuous=True), 10)

    for columns in (2, 60):
        with pytest.raises(CapacityError, match="fewer or coarser tables"):
            question(
                [f"x{i}" for i in range(columns)],
                [(wide,)] * columns,
                [tuple((place, 0) for place in range(columns))],
                estimates=np.ones(1),
            )


def test_levels_are_nested_in_the_first_and_need_not_be_in_each_other():
    domain = SCHEMA.field("age").domain
    fine, thirds, halves = identity(domain), interval_grouping(domain, [4, 8]), interval_grouping(domain, [6])

    assert merge_groups(fine, thirds).tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3]
    assert merge_groups(thirds, halves) is None
    assert question(["age"], [(fine, thirds, halves)], [((0, 1),), ((0, 2),)]).candidate_count == 2


# ------------------------------------------------------------------------------------------------------ its price


def test_the_price_is_epsilon_or_an_eighth_of_its_square():
    assert asked(epsilon=Fraction(3, 4)).cost == Budget.pure("3/4")
    assert asked(epsilon=Fraction(3, 4), notion="zcdp").cost == Budget.zcdp("9/128")


def test_the_digest_changes_with_every_part_of_the_question():
    base = {"estimates": np.ones(asked().estimates.size), "penalties": np.zeros(len(PAIRS), dtype=np.int64)}
    one_estimate, one_penalty = base["estimates"].copy(), base["penalties"].copy()
    one_estimate[3], one_penalty[1] = -1, 1
    other_levels = (
        LEVELS[0],
        (LEVELS[1][0], interval_grouping(SCHEMA.field("age").domain, [3]), LEVELS[1][2]),
        LEVELS[2],
    )
    variants = [
        asked(**base),
        asked(**base | {"estimates": one_estimate}),
        asked(**base | {"penalties": one_penalty}),
        asked(**base, epsilon=Fraction(1, 3)),
        asked(**base, notion="zcdp"),
        question(("kind", "age", "other"), LEVELS, PAIRS),
        question(NAMES, other_levels, PAIRS),
        question(NAMES, LEVELS, PAIRS[::-1], estimates=base["estimates"]),
    ]

    assert len({each.digest for each in variants}) == len(variants)
    assert asked(**base).digest == asked().digest
    assert replace(asked(), epsilon=Fraction(1, 3)).digest == asked(epsilon=Fraction(1, 3)).digest


def test_digests_of_estimates_that_are_let_go_are_not_taken_for_others():
    rng = np.random.default_rng(2)
    first, before = asked(), len(questions._HASHES)
    estimates = [rng.integers(-1, 10**6, first.estimates.size) for _ in range(30)]

    found = [replace(first, estimates=each).digest for each in estimates]

    assert len(set(found)) == len(estimates)
    assert found == [asked(estimates=each).digest for each in estimates]
    assert len(questions._HASHES) == before


# ------------------------------------------------------------------------------------------------------- the room


def test_without_noise_the_worst_candidate_is_chosen():
    rng = np.random.default_rng(1)
    for _ in range(20):
        whole = random_question(rng, SCHEMA)
        (answer,) = room().ask(whole)

        scores = scores_by_hand(whole, rows_of(small()))
        assert answer.choice == int(np.argmax(scores))
        assert answer.chosen == tuple(NAMES[place] for place, _ in unpack(whole.candidates)[answer.choice])
        assert answer.tables == ()


@pytest.mark.parametrize(("relation", "max_rows", "bound"), [("add-remove", 3, 3), ("replace-one", 3, 6)])
def test_the_draw_is_for_the_sensitivity_of_the_terms(relation, max_rows, bound):
    terms = Terms(relation=relation, max_rows=max_rows)

    (answer,) = room(terms=terms).ask(asked())

    assert answer.sensitivity == asked().sensitivity(relation, max_rows).l1 == bound


def test_a_question_read_back_or_only_planned_is_refused():
    read = question_from_dict(asked().to_dict())
    planned = SelectWorst(
        columns=NAMES,
        levels=LEVELS,
        candidates=pack(PAIRS),
        estimates=None,
        penalties=None,
        epsilon=Fraction(1),
        notion="pure",
    )

    for each in (read, planned):
        assert each.candidate_count == len(PAIRS)
        with pytest.raises(ParameterError, match="only a record or a plan"):
            room().ask(each)


# ----------------------------------------------------------------------------------------------------- its record


def test_a_choice_outside_the_candidates_is_refused():
    with pytest.raises(ParameterError, match="cannot be number"):
        Selection(asked(), len(PAIRS), 1)
