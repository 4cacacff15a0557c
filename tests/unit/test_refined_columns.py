"""One-way tables in stages: who pays what, what later stages ask, and what all answers say together."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.cases import spread
from helpers.kept import Kept
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.candidates import resolved_column
from lapwing.mechanisms.adaptive.one_way import (
    BRANCH_SHARE,
    STAGES,
    CellCounts,
    ask_columns,
    cell_deviation,
    first_questions,
    is_staged,
    stage_questions,
)
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


def test_levels_of_branches_cost_a_tenth_each_and_the_categories_the_rest() -> None:
    _, _, answers = asked(table(100))

    codes = [answer.question for answer in answers_of(answers, "code")]

    assert [question.cost.amount for question in codes] == [BRANCH_SHARE, BRANCH_SHARE, 1 - 2 * BRANCH_SHARE]
    assert [question.groupings[0].regular for question in codes] == [2, 8, 80]


def test_questions_and_tables_follow_from_the_answers_alone() -> None:
    tables, total, answers = asked(table(2000))

    curator = ReplayCurator(Terms(relation="add-remove"), answers)
    again, same = ask_columns(curator, SCHEMA, [Budget.pure(1)] * 5)

    assert curator.is_exhausted
    assert same == total
    for one, two in zip(tables, again, strict=True):
        assert one.grouping == two.grouping
        assert one.counts.tolist() == two.counts.tolist()
        assert one.sd == two.sd
        assert (one.masses is None) == (two.masses is None)
        assert one.masses is None or one.masses.tolist() == two.masses.tolist()


def test_other_answers_of_the_first_stage_are_followed_by_other_questions() -> None:
    (few, many) = (answers_of(asked(table(rows))[-1], "size")[-1].question for rows in (20, 5000))

    assert few.groupings[0].regular < many.groupings[0].regular


def test_cells_become_fine_where_rows_are_and_stay_coarse_elsewhere() -> None:
    tables, _, _ = asked(table(5000), bits=ZeroNoiseBits())

    starts, stops, _ = tables[0].grouping.pieces()
    cell = int(np.searchsorted(starts, 123_456 + 1000, "right")) - 1
    assert stops[cell] - starts[cell] < 10**6 / 48 / 20
    assert tables[0].masses[cell] == pytest.approx(5000 / 7, rel=0.2)
    regular = tables[0].grouping.regular
    assert (stops - starts)[:regular].max() > 10**6 / 100
    assert regular < 48 + 6 + 2 * 17 + 128 + 10


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


def test_reserved_codes_get_the_mean_of_both_stages() -> None:
    data = table(4000)
    tables, total, answers = asked(data, costs=[Budget.pure("0.1")] * 5)

    stages = [answer.counts[answer.question.groupings[0].regular :] for answer in answers_of(answers, "amount")]

    # What the whole lacks is shared out too: at most the noise of the totals, about 20 * 2**0.5 * 100**0.5 / 100 each.
    special, missing = tables[0].masses[-2:]
    assert [special, missing] == pytest.approx(np.mean(stages, axis=0).tolist(), abs=25)
    assert total == pytest.approx(4000, abs=400)


def test_without_noise_missing_and_special_values_are_counted_exactly() -> None:
    data = table(4000)

    tables, total, _ = asked(data, bits=ZeroNoiseBits(), costs=[Budget.pure(1000)] * 5)

    exact = [(data["amount"] == "-9999").sum(), data["amount"].is_null().sum()]
    assert tables[0].masses[-2:].tolist() == pytest.approx(exact)
    assert total == pytest.approx(4000)


def test_rows_of_misfits_are_shared_out_among_the_regular_cells() -> None:
    data = table(4000)

    tables, _, answers = asked(data, bits=ZeroNoiseBits(), costs=[Budget.pure(1000)] * 5)

    misfits = int((data["owed"] == "?").sum())
    assert {int(answer.counts[-1]) for answer in answers_of(answers, "owed")} == {misfits}
    assert misfits > 300
    assert tables[1].masses.size == tables[1].grouping.groups - 1
    assert tables[1].masses.sum() == pytest.approx(4000)


def test_categories_of_an_empty_branch_get_nothing_and_those_of_a_full_one_keep_their_shares() -> None:
    tables, _, answers = asked(table(3000), costs=[Budget.pure("0.1")] * 5)

    masses, found = tables[4].masses, table(3000)["code"]

    # Noise of scale 12.5 on 80 codes: alone, empty codes would keep some 500 rows; of three branches they keep few.
    assert masses.sum() == pytest.approx(3000, abs=300)
    assert masses[:2].tolist() == pytest.approx([(found == "A00").sum(), (found == "A01").sum()], rel=0.15)
    assert masses[10:40].sum() < 150
    assert len(answers_of(answers, "code")) == 3


def test_the_noise_that_is_stated_is_that_of_all_stages() -> None:
    tables, _, answers = asked(table(3000))

    for field, found in zip(SCHEMA.columns, tables, strict=True):
        own = answers_of(answers, field.name)
        own = [*own[: STAGES - 1], own[-1]] if is_staged(field) else own
        stages = [
            CellCounts(a.question.groupings[0].pieces()[0][: a.question.groupings[0].regular], a.counts, a.noise.sd)
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
