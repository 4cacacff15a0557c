"""One-way tables in stages: who pays what, what later stages ask, and what all answers say together."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.bits import SeededBits
from helpers.cases import spread
from helpers.kept import Kept
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.ask_columns import (
    STAGES,
    ask_columns,
    first_questions,
    stage_questions,
)
from lapwing.mechanisms.adaptive.columns import resolved_column
from lapwing.mechanisms.adaptive.ordered_law import Counted, cell_deviation
from lapwing.mechanisms.shared.one_way import is_staged
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

AMOUNT = {"name": "amount", "type": "integer", "constraints": {"minimum": -1000, "maximum": 10**6}, "special": [-9999]}
OWED = {"name": "owed", "type": "integer", "constraints": {"minimum": 0, "maximum": 10**6, "required": True}}
SIZE = {
    "name": "size",
    "type": "number",
    "constraints": {"minimum": 0, "maximum": 1e6, "required": True},
    "scale": "log",
}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"]}
CODE = {
    "name": "code",
    "type": "string",
    "categories": [f"{one}{two}{three}" for one in "AB" for two in "0123" for three in "0123456789"],
    "hierarchy": {"prefixes": [1, 2]},
    "constraints": {"required": True},
}
COLUMNS = [AMOUNT, OWED, SIZE, KIND, CODE]
TIMES = {"amount": STAGES, "owed": STAGES, "size": STAGES, "kind": 1, "code": 3}
WIDE = {"amount", "owed", "size"}


def schema_of(*fields):
    return Schema.from_dict({"fields": list(fields)})


SCHEMA = schema_of(*COLUMNS)


def table(rows, seed=1):
    """Return rows: most amounts 0, some missing or special, a peak at 123,456; misfits among what is owed."""
    rng = np.random.default_rng(seed)
    amount = rng.choice([0, 0, 0, 0, 123_456, -9999, None], rows)
    owed = np.where(rng.random(rows) < 0.1, "?", rng.integers(0, 500, rows).astype(str))
    return pl.DataFrame(
        {
            "amount": [None if each is None else str(each) for each in amount],
            "owed": owed.tolist(),
            "size": np.exp(rng.normal(3, 1, rows)).astype(str).tolist(),
            "kind": rng.choice(["a", "b"], rows).tolist(),
            "code": rng.choice(["A00", "A01", "B35", "?"], rows, p=[0.5, 0.3, 0.1, 0.1]).tolist(),
        },
        schema=dict.fromkeys(("amount", "owed", "size", "kind", "code"), pl.String),
    )


def asked(data, schema=SCHEMA, *, costs=None, bits=None, terms=None):
    """Return tables, total and all answers."""
    kept, terms = Kept(), terms or Terms(relation="add-remove")
    costs = costs or [Budget.pure(1)] * len(schema.columns)
    budget = Budget(costs[0].notion, sum(cost.amount for cost in costs))
    room = Room(code_table(data, schema), schema, terms, budget, bits=bits or SeededBits(3), sink=kept)
    return *ask_columns(room, schema, costs), kept.answers


def answers_of(answers, name):
    return [answer for answer in answers if answer.question.columns == (name,)]


# ------------------------------------------------------------------------------------------------------ what is asked


@settings(max_examples=40)
@given(st.lists(st.fractions(Fraction(1, 10**6), 50, max_denominator=10**9), min_size=5, max_size=5), st.booleans())
def test_stages_of_a_column_cost_what_the_column_costs_exactly(amounts: list[Fraction], is_pure: bool) -> None:
    costs = [Budget("pure" if is_pure else "zcdp", amount) for amount in amounts]

    _, _, answers = asked(table(30), costs=costs)

    for field, cost in zip(COLUMNS, costs, strict=True):
        spent = [answer.question.cost.amount for answer in answers_of(answers, field["name"])]
        assert sum(spent) == cost.amount
        assert TIMES[field["name"]] <= len(spent) <= TIMES[field["name"]] + 4 * (field["name"] in WIDE)
    planned = stage_questions(SCHEMA, costs)
    assert sum(each.cost.amount for each in planned) == sum(amounts)
    first = [(each.question.columns, each.question.cost) for each in answers[:7]]
    assert [(each.columns, each.cost) for each in planned[:7]] == first
    for name, times in TIMES.items():
        assert sum(each.columns == (name,) for each in planned) == times


def test_the_first_stage_is_public_and_tables_hold_the_cells_of_all() -> None:
    tables, _, answers = asked(table(2000))

    found = {field.name: each for field, each in zip(SCHEMA.columns, tables, strict=True)}
    for field in SCHEMA.columns:
        groupings = [answer.question.groupings[0] for answer in answers_of(answers, field.name)]
        first = first_questions(field, Budget.pure(1))
        assert groupings[: len(first)] == [question.groupings[0] for question in first]
        assert all(grouping.groups - grouping.regular == field.domain.reserved for grouping in groupings)
        if is_staged(field):
            cuts = [set(grouping.pieces()[0].tolist()) for grouping in (*groupings[: STAGES - 1], groupings[-1])]
            assert set(found[field.name].grouping.pieces()[0].tolist()) == set().union(*cuts)


# ------------------------------------------------------------------------------------------------- what answers say


@spread(("rows", [0, 1, 40, 3000]), ("epsilon", ["0.001", 1, 1000]), ("public", [False, True]))
def test_masses_are_the_rows_whatever_the_noise(rows, epsilon, public) -> None:
    terms = Terms(relation="replace-one", rows=rows) if public else Terms(relation="add-remove")

    tables, total, _ = asked(table(rows), costs=[Budget.pure(epsilon)] * 5, terms=terms)

    assert total == rows if public else total >= 0
    for field, found in zip(SCHEMA.columns, tables, strict=True):
        if found.masses is None:
            continue
        assert found.masses.size == found.grouping.groups - int(field.required)
        assert np.isfinite(found.masses).all()
        assert found.masses.min() >= 0
        assert found.masses.sum() == pytest.approx(total, abs=1e-6)
    for field, found in zip(SCHEMA.columns, tables, strict=True):
        column = resolved_column(found, field, max(1.0, total), (8, 4))
        assert column.base.probabilities.min() > 0
        assert column.has_misfit == field.required


def test_the_noise_that_is_stated_is_that_of_all_stages() -> None:
    tables, _, answers = asked(table(3000))

    for field, found in zip(SCHEMA.columns, tables, strict=True):
        own = answers_of(answers, field.name)
        own = [*own[: STAGES - 1], own[-1]] if is_staged(field) else own
        stages = [
            Counted(a.question.groupings[0].pieces()[0][: a.question.groupings[0].regular], a.counts, a.noise.sd)
            for a in own
        ]
        assert found.sd == pytest.approx(cell_deviation(stages))


def test_schemas_without_a_wide_column_are_asked_once() -> None:
    batches = []

    class Counting:
        terms = Terms(relation="add-remove")

        def __init__(self, room):
            self.room = room

        def ask(self, *questions):
            batches.append(len(questions))
            return self.room.ask(*questions)

    schema = schema_of(KIND, {**KIND, "name": "other"})
    data = table(50).select("kind", other="kind")
    room = Room(code_table(data, schema), schema, Counting.terms, Budget.pure(2), bits=SeededBits(1), sink=Kept())

    ask_columns(Counting(room), schema, [Budget.pure(1)] * 2)

    assert batches == [2]
