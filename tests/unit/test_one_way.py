"""One-way tables in stages: questions, fine cells where rows are, and the resolutions of a column."""

import itertools
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from helpers import make
from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.cases import spread
from helpers.kept import Kept
from helpers.resolved import FIELDS, SIZES, answer_of, column_of, dense_laws
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.candidates import resolved_column
from lapwing.mechanisms.adaptive.one_way import (
    BRANCH_SHARE,
    MOST_SEARCHED,
    SEARCH_CELLS,
    STAGES,
    CellCounts,
    OneWayTable,
    answered_tables,
    ask_columns,
    cell_deviation,
    first_questions,
    is_staged,
    next_parts,
    one_way_table,
    search_parts,
    search_steps,
    stage_questions,
)
from lapwing.mechanisms.shared.one_way import one_way_grouping
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

AMOUNT = {"name": "amount", "type": "integer", "constraints": {"minimum": -1000, "maximum": 10**6}, "special": [-9999]}
OWED = {"name": "owed", "type": "integer", "constraints": {"minimum": 0, "maximum": 10**6, "required": True}}
SIZE = make.field("size", (0.0, 1000000.0), required=True, scale="log")
KIND = make.field("kind", ["a", "b", "c"])
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


def test_answers_alone_give_the_tables_that_were_found_when_they_were_asked() -> None:
    tables, _, answers = asked(table(2000))

    again = answered_tables(answers, SCHEMA, Terms(relation="add-remove"))

    assert max(len(answers_of(answers, name)) for name in WIDE) > STAGES  # some of them searched for single values
    for one, other in zip(tables, again, strict=True):
        assert (one.grouping, one.sd, one.state_sd) == (other.grouping, other.sd, other.state_sd)
        assert np.array_equal(one.counts, other.counts)


def test_levels_of_branches_cost_a_tenth_each_and_the_categories_the_rest() -> None:
    _, _, answers = asked(table(100))

    codes = [answer.question for answer in answers_of(answers, "code")]

    assert [question.cost.amount for question in codes] == [BRANCH_SHARE, BRANCH_SHARE, 1 - 2 * BRANCH_SHARE]
    assert [question.groupings[0].regular for question in codes] == [2, 8, 80]


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


def test_rows_of_misfits_are_shared_out_among_the_regular_cells() -> None:
    data = table(4000)

    tables, _, answers = asked(data, bits=ZeroNoiseBits(), costs=[Budget.pure(1000)] * 5)

    misfits = int((data["owed"] == "?").sum())
    assert {int(answer.counts[-1]) for answer in answers_of(answers, "owed")} == {misfits}
    assert misfits > 300
    assert tables[1].masses.size == tables[1].grouping.groups - 1
    assert tables[1].masses.sum() == pytest.approx(4000)


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


EVERY_FIELD = pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS.keys())
HOWS = (
    {},
    {"sd": 300.0, "rows": 500, "total": 600.0},
    {"sd": 20.0, "rows": 1, "total": 1.0},
    {"sd": 0.0, "rows": 5000, "shape": 0.05},
)
EVERY_FIELD_SOMEHOW = pytest.mark.parametrize(
    ("field", "how"), list(zip(FIELDS.values(), itertools.cycle(HOWS), strict=False)), ids=FIELDS
)


def run_edges(column):
    """Return all ends of pieces of a column's laws."""
    return np.unique(
        np.concatenate([part for laws in (column.base, column.within) for part in (laws.starts, laws.stops)])
    )


@EVERY_FIELD_SOMEHOW
def test_every_group_and_category_keeps_some_mass_and_the_masses_are_records(field, how) -> None:
    column, total = column_of(field, **how), how.get("total", 5000.0)

    cells = one_way_grouping(field, 128).groups
    values = column.axis.base.size - field.domain.specials - int(field.domain.missing)
    least = min(0.03, 0.01 * total / cells)
    assert column.axis.base[:values].min() >= least * (1 - 1e-9)
    assert column.axis.base.min() >= 0
    assert total * (1 - 1e-9) <= column.axis.base.sum() <= 1.01 * total
    law = dense_laws(column.base, run_edges(column))[0]
    assert field.domain.ordered or (law[:values] > 0).all()


@pytest.mark.parametrize("rows", [2000, 100_000])
def test_values_beyond_those_with_rows_have_none_unless_noise_hides_it(rows) -> None:
    field = Field(name="x", type="integer", minimum=0, maximum=100, required=True)
    rng = np.random.default_rng(1)
    true = np.bincount(np.clip(rng.normal(20, 5, rows).round(), 0, 100).astype(int), minlength=101)
    counts = np.append(true, 0) + rng.normal(0, 10, 102)

    column = resolved_column(OneWayTable(identity(field.domain), counts, 10.0), field, rows, (32, 16))
    law = dense_laws(column.base, np.arange(102))[0]

    mean = law @ np.arange(101)
    assert law[60:].sum() < 0.001
    assert abs(mean - 20) < 0.5
    assert (law @ np.square(np.arange(101) - mean)) ** 0.5 < 1.3 * 5


def test_an_empty_group_beside_zeros_has_its_rows_near_them() -> None:
    field = Field(name="x", type="integer", minimum=0, maximum=500, required=True)
    counts = np.zeros(502)
    counts[0], counts[400] = 90_000, 10_000

    column = resolved_column(OneWayTable(identity(field.domain), counts, 5.0), field, 1e5, (32, 16))

    middle = next(
        group for group in range(column.within.count) if column.groupings[0].apply(np.array([200]))[0] == group
    )
    own = column.within.law_of_piece == middle
    places, shares = column.within.starts[own], column.within.probabilities[own]
    assert places.max() > 300
    assert shares @ places / shares.sum() < 400


def test_a_special_or_missing_state_within_two_deviations_of_noise_has_no_rows() -> None:
    field = FIELDS["integer, special and missing"]
    answer = answer_of(field, sd=5.0)
    states = field.domain.specials + 1
    counts = answer.counts.copy()
    first = answer.question.groupings[0].regular
    counts[first : first + states] = [9, 11, *[10] * (states - 2)]

    column = resolved_column(one_way_table([replace(answer, whole=counts)]), field, 5000.0, SIZES)

    assert states >= 3
    assert column.axis.base[-states] == 0
    assert (column.axis.base[-states + 1 :] > 0).all()
    assert (dense_laws(column.base, run_edges(column))[0][-states:] > 0).tolist() == [False, *[True] * (states - 1)]


@pytest.mark.parametrize("seed", range(5))
def test_without_noise_the_law_is_the_table(seed) -> None:
    field = FIELDS["few categories"]
    answer = answer_of(field, sd=0.0, seed=seed, shape=3.0)
    total = float(answer.counts[:-1].sum())

    column = column_of(field, total=total, sd=0.0, seed=seed, shape=3.0)

    assert column.axis.base.tolist() == pytest.approx(answer.counts[:-1].tolist())
    assert column.base.probabilities.tolist() == pytest.approx((answer.counts[:-1] / total).tolist())


def test_masses_that_are_given_are_taken_as_they_are() -> None:
    field = FIELDS["date"]
    answer = answer_of(field, sd=200.0)
    masses = np.zeros(answer.counts.size)
    masses[[3, 4, 57]], masses[-1] = (1000.0, 500.0, 2500.0), 1000.0
    table = OneWayTable(answer.question.groupings[0], answer.counts.astype(np.float64), 200.0, masses)

    column = resolved_column(table, field, 5000.0, SIZES)

    starts, _, _ = table.grouping.pieces()
    edges = np.unique(np.concatenate((starts, column.base.starts, column.base.stops)))
    found = dense_laws(column.base, edges)[0]
    shares = [found[np.searchsorted(edges, starts[place])] for place in (3, 4, 57, -1)]
    # Groups that got nothing keep 0.03 records each: 16 of them at most.
    assert shares == pytest.approx([0.2, 0.1, 0.5, 0.2], abs=16 * 0.03 / 5000)
    assert column.sd == pytest.approx(200.0 * (masses.size / column.axis.base.size) ** 0.5)


def test_a_state_within_the_noise_of_its_own_count_has_no_rows() -> None:
    field = FIELDS["date"]
    answer = answer_of(field, sd=1.0)
    masses = np.zeros(answer.counts.size)
    masses[3], masses[-1] = 4990.0, 9.0
    table = OneWayTable(answer.question.groupings[0], answer.counts.astype(np.float64), 1.0, masses, state_sd=5.0)

    absent, present = (resolved_column(each, field, 5000.0, SIZES) for each in (table, replace(table, state_sd=4.0)))

    assert absent.axis.base[-1] == 0
    assert present.axis.base[-1] == pytest.approx(9.0)


@pytest.mark.parametrize(("name", "is_smoother"), [("date", True), ("integer categories", False)])
def test_noise_between_neighbours_is_taken_out_of_ordered_columns_only(name, is_smoother) -> None:
    column = column_of(FIELDS[name], rows=20_000, total=20_000.0, sd=30.0, shape=1e6)
    raw = answer_of(FIELDS[name], rows=20_000, sd=30.0, shape=1e6).counts

    kept = column.base.probabilities[: raw.size - 1] * 20_000

    assert (np.std(kept) < 0.5 * np.std(raw[:-1])) == is_smoother


def test_ordered_columns_get_runs_and_others_get_leaders() -> None:
    ordered = column_of(FIELDS["many ordered categories"]).groupings[0]
    unordered = column_of(FIELDS["many categories"], shape=0.001).groupings[0]

    assert ordered.kind == "cuts"
    assert unordered.kind == "table"
    assert np.bincount(unordered.table).max() > 9000


def test_the_noise_of_a_group_grows_with_the_cells_it_holds() -> None:
    few = column_of(FIELDS["few categories"], sd=5.0)
    many = column_of(FIELDS["many categories"], sd=5.0)

    assert few.sd == pytest.approx(5.0)
    assert many.sd == pytest.approx(5.0 * (10_001 / many.axis.base.size) ** 0.5)


@EVERY_FIELD
def test_the_last_level_tells_only_what_is_missing_or_special_where_anything_can_be(field) -> None:
    column = column_of(field)

    others = field.domain.reserved - int(field.required)
    assert column.has_presence == (others > 0 and field.domain.values > 1)
    assert [grouping.regular == 1 for grouping in column.groupings[:-1]] == [False] * (len(column.groupings) - 1)
    if column.has_presence:
        assert column.groupings[-1].regular == 1
        assert column.axis.sizes[-1] == 1 + others


@pytest.mark.parametrize(("values", "sd"), [(11, 10.0), (11, 60.0), (16, 25.0), (6, 60.0)])
def test_a_few_rare_values_do_not_come_back_many_times_as_wide_as_they_were(values, sd) -> None:
    field = Field(name="x", type="integer", minimum=0, maximum=values - 1, required=True)
    counts = np.zeros(values)
    counts[:3] = 19_960, 38, 2
    true = np.sqrt(np.cov(np.arange(values), fweights=counts.astype(int)))
    found = []
    for seed in range(20):
        noisy = np.append(counts + np.rint(np.random.default_rng(seed).normal(0, sd, values)), 0)
        table = OneWayTable(grouping=identity(field.domain), counts=noisy, sd=sd)
        masses = resolved_column(table, field, 20_000.0, SIZES).axis.base
        found.append(np.sqrt(np.cov(np.arange(values), aweights=masses, ddof=0)))

    assert np.mean(found) < 1.5 * true


ROWS = 5000
LARGE = 2**53 + 1
MOST_FALSE = 0.03
"""Of the rows: about what two deviations of the noise in one cell are at the smallest budget here."""


def of_numbers(kind, low, high):
    return {"name": "x", "type": kind, "constraints": {"minimum": low, "maximum": high, "required": True}}


DAYS = make.field("x", ("1900-01-01", "2030-12-31"))
MOMENTS = make.field("x", ("1000-01-01T00:00:00", "2999-12-31T00:00:00"), resolution="second")
FIRST = datetime(1950, 1, 1)


# Of each kind: a field, the type of its cells, values that many rows share, and how others are drawn, between 0 and 1.
KINDS = {
    "float64": (of_numbers("number", 0, 100), pl.Float64, [2.0, 0.1, 37.3], lambda u: 100 * u),
    "float32": (of_numbers("number", -10, 1000), pl.Float32, [0.1, 99.9, 250.0], lambda u: float(np.expm1(6 * u))),
    "wide int64": (of_numbers("integer", LARGE, LARGE + 2**50), pl.Int64, [LARGE + 3, LARGE + 10**14, LARGE + 10**15],
                   lambda u: LARGE + int(2**50 * u)),
    "int32": (of_numbers("integer", 0, 10**6), pl.Int32, [1000, 2000, 50_000], lambda u: int(10**6 * u**3)),
    "int16": (of_numbers("integer", 0, 5000), pl.Int16, [1000, 1001, 1002], lambda u: int(5000 * u)),
    "date": (DAYS, pl.Date, [date(1970, 1, 1), date(2000, 1, 1), date(2001, 9, 9)],
             lambda u: date(1990, 1, 1) + timedelta(days=int(9000 * u))),
    "datetime": (MOMENTS, pl.Datetime("ms"), [datetime(1970, 1, 1), datetime(2020, 5, 5, 12, 30, 1), FIRST],
                 lambda u: FIRST + timedelta(seconds=int(2e9 * u))),
}  # fmt: skip


def cells(kind, shares, seed):
    """Return a column of some kind, of which each of three values holds a share."""
    _, dtype, held, drawn = KINDS[kind]
    rng = np.random.default_rng(seed)
    which = rng.choice(4, ROWS, p=[*shares, 1 - sum(shares)])
    return pl.Series("x", [held[k] if k < 3 else drawn(u) for k, u in zip(which, rng.random(ROWS), strict=True)], dtype)


def law_of(source, schema, cost, seed):
    """Return first codes, codes behind the last, and shares of the rows of each piece of a column's law."""
    room = Room(source, schema, Terms(relation="add-remove"), cost, bits=SeededBits(seed), sink=Kept())
    (table,), total = ask_columns(room, schema, [cost])
    law = resolved_column(table, schema.columns[0], max(1.0, total), (32, 16, 8, 4)).base
    return law.starts, law.stops, law.probabilities


@spread(
    ("kind", list(KINDS)),
    ("shares", [(0.55, 0.0, 0.0), (0.05, 0.1, 0.3), (0.2, 0.2, 0.2)]),
    ("epsilon", ["0.5", "1", "3", "10"]),
    ("notion", ["pure", "zcdp"]),
    at_least=28,
)
def test_a_value_of_many_rows_in_the_model_is_one_that_was_shared(kind, shares, epsilon, notion) -> None:
    schema = Schema.from_dict({"fields": [KINDS[kind][0]]})
    # Half of the budget of a release goes to three columns; about rho as of a delta of 1e-9.
    cost = Budget.pure(epsilon) / 6 if notion == "pure" else Budget.zcdp(epsilon) / 240
    for seed in range(2):
        source = code_table(cells(kind, shares, seed).to_frame(), schema)
        real = Counter(code for chunk in source.chunks() for code in chunk["x"].tolist())

        starts, stops, mass = law_of(source, schema, cost, seed)

        for place in np.flatnonzero(mass / (stops - starts) > MOST_FALSE):
            code = int(starts[place])
            assert int(stops[place]) == code + 1
            assert real[code] > 0.01 * ROWS


@spread(("kind", list(KINDS)), ("shares", [(0.05, 0.1, 0.3), (0.2, 0.2, 0.2)]))
def test_with_enough_budget_each_shared_value_comes_out_as_written(kind, shares) -> None:
    field, dtype, held, _ = KINDS[kind]
    letters = pl.Series("letter", ["a", "b", "c", "d"] * (ROWS // 4))
    beside = make.field("letter", ["a", "b", "c", "d"])
    schema = {"fields": [field, beside, {**beside, "name": "other"}]}
    data = pl.DataFrame([cells(kind, shares, 1), letters, letters.alias("other")])

    released = lw.synthesize(data, schema, epsilon=30, expected_rows=ROWS, mechanism="Adaptive", seed=1).sample()

    found = Counter(released["x"].cast(dtype).to_list())
    many = {value for value, count in found.items() if count > 0.02 * ROWS}
    assert many == set(pl.Series(held, dtype=dtype).to_list())
    assert [found[value] / ROWS for value in pl.Series(held, dtype=dtype)] == pytest.approx(shares, abs=0.03)


def counted(starts, counts, sd):
    return CellCounts(np.array(starts, dtype=np.int64), np.array(counts, dtype=np.float64), sd)


@pytest.mark.parametrize(
    ("stages", "deviation"),
    [([(1, 2.0)], 2.0), ([(4, 2.0), (4, 2.0)], 2.0 / 2**0.5), ([(2, 3.0), (8, 3.0)], 3.0 / 5**0.5)],
)
def test_the_noise_of_a_cell_falls_with_every_stage(stages, deviation) -> None:
    made = [counted(range(cells), [0] * cells, sd) for cells, sd in stages]

    # The noise of a coarse cell is spread over the finest in it: a quarter of its variance for each of four.
    assert cell_deviation(made) == pytest.approx(deviation)


def _placed(pairs):
    """Return first codes of cells of some widths, with gaps between them, and the codes after them."""
    widths, gaps = (np.array(each, dtype=np.int64) for each in zip(*pairs, strict=True))
    starts = np.cumsum(gaps + np.append(0, widths[:-1]))
    return starts, starts + widths


next_cells = st.lists(st.tuples(st.integers(1, 2**26), st.integers(0, 1000)), min_size=1, max_size=MOST_SEARCHED).map(
    _placed
)


@settings(max_examples=60)
@given(next_cells)
def test_every_code_ends_as_a_cell_of_its_own_in_the_announced_steps(found):
    starts, stops = found
    code = int(stops[-1]) - 1 - (int(stops[-1] - starts[-1]) // 3)

    steps = search_steps(stops - starts)
    for left in range(steps, 0, -1):
        firsts, lasts, cell = search_parts(starts, stops, left)
        assert firsts.size <= SEARCH_CELLS
        assert (firsts >= starts[cell]).all()
        assert (lasts <= stops[cell]).all()
        assert (np.diff(firsts)[np.diff(cell) == 0] > 0).all()
        assert np.bincount(cell, lasts - firsts).tolist() == (stops - starts).tolist()
        holds = np.flatnonzero((firsts <= code) & (code < lasts))
        assert holds.size == 1
        starts, stops = firsts[holds], lasts[holds]

    assert starts.tolist() == [code]
    assert stops.tolist() == [code + 1]


@pytest.mark.parametrize(
    ("masses", "codes", "most", "parts"),
    [
        ([0.0, 19.9, 20.0, 95.0, 95.0], [9, 9, 9, 100, 3], 128, [1, 1, 2, 9, 3]),
        ([5.0, 1000.0, 3000.0], [500] * 3, 100, [1, 25, 75]),  # too many are cut down in proportion
        ([25.0, 1e6], [500, 10**9], 128, [1, 127]),
    ],
)
def test_cells_are_cut_in_as_many_parts_as_are_worth_counting(masses, codes, most, parts) -> None:
    assert next_parts(np.array(masses), np.array(codes), 10.0, most).tolist() == parts
