"""How Adaptive divides its budget: from the schema, the settings and a public or noisy number of rows."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from helpers.bits import SeededBits
from helpers.kept import Kept
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive import budget as adaptive_costs
from lapwing.mechanisms.adaptive.budget import table_law
from lapwing.mechanisms.adaptive.candidates import MOST_CELLS
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.shared.one_way import COUNT_SHARE, public_or_noisy_rows
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

ADD = Terms(relation="add-remove")
BUDGETS = [Budget.pure(1), Budget.zcdp("0.1")]
EVERY_BUDGET = pytest.mark.parametrize("budget", BUDGETS, ids=str)
ROWS = [round(10 ** (place / 8)) for place in range(0, 65)]


def whole(name, **more):
    """Return a column of whole numbers that can be missing."""
    return {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, **more}


def required(name, **more):
    return {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}, **more}


def schema_of(fields, max_rows=1):
    person = {"name": "person", "type": "string", "role": "identifier"}
    return Schema.from_dict({"fields": [person, *fields], "privacyUnit": {"field": "person", "maxRows": max_rows}})


GAPS = [whole("a"), whole("b"), whole("c")]


def costs(fields, budget, rows, terms=ADD, **given_as):
    return Adaptive(**given_as).costs_of(schema_of(fields), budget, float(rows), terms)


def regime(found):
    """Return what a division pays for beside one-way tables: nothing, tables of gaps, or tables of all kinds."""
    return (2 if found.most_cells == MOST_CELLS else 1) if found.table.amount else 0


# ----------------------------------------------------------------------------------------------------- which tables


@EVERY_BUDGET
def test_more_rows_pay_for_nothing_then_for_gaps_then_for_pairs(budget) -> None:
    regimes = [regime(costs(GAPS, budget, rows)) for rows in ROWS]

    assert regimes == sorted(regimes)
    assert set(regimes) == {0, 1, 2}


@EVERY_BUDGET
def test_more_rows_never_give_one_way_tables_more_while_pairs_are_asked(budget) -> None:
    found = [costs(GAPS, budget, rows) for rows in ROWS]

    shares = [each.one_way.amount / budget.amount for each in found if regime(each) == 2]
    least = Fraction(str(adaptive_costs.ONE_WAY_SHARE[budget.notion]))
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) > 3
    assert (shares[-1], max(shares) < 1) == (least, True)


@EVERY_BUDGET
@pytest.mark.parametrize(
    ("relation", "max_rows", "times"), [("add-remove", 1, 1), ("add-remove", 5, 5), ("replace-one", 5, 10)]
)
def test_the_noise_decides_with_the_rows_not_the_rows_alone(budget, relation, max_rows, times) -> None:
    terms = Terms(relation=relation, max_rows=max_rows)

    # Five rows per unit need five times the rows; replace-one twice that under pure epsilon, 2**0.5 under zCDP.
    times = times if budget.notion == "pure" or relation == "add-remove" else 5 * 2**0.5
    for rows in (3, 30, 300, 3000, 30_000):
        plain, other = costs(GAPS, budget, rows), costs(GAPS, budget, rows * times, terms)
        assert regime(plain) == regime(other)
        assert float(plain.one_way.amount) == pytest.approx(float(other.one_way.amount), rel=0.03)


@EVERY_BUDGET
def test_tables_of_gaps_have_noise_that_the_rows_bear_and_cost_at_most_a_quarter(budget) -> None:
    found = [(rows, costs(GAPS, budget, rows)) for rows in ROWS]

    trees = [(rows, each) for rows, each in found if regime(each) == 1]
    for rows, each in trees:
        moved = table_law(each.table, ADD).mean_absolute * 4 / (2 * rows)
        spent = each.table.amount * each.tables / budget.amount
        assert (each.tables, each.rounds) == (2, 1)
        assert spent <= Fraction(1, 4)
        assert moved <= adaptive_costs.PRESENCE_DROWNING * 1.001
        assert spent > Fraction(249, 1000) or moved == pytest.approx(adaptive_costs.PRESENCE_NOISE, rel=0.02)
        assert each.one_way.amount + each.table.amount * each.tables == budget.amount
    first = min(rows for rows, _ in trees)
    full = budget * Fraction(1, 8)
    assert table_law(full, ADD).mean_absolute * 4 / (2 * first / 1.34) > adaptive_costs.PRESENCE_DROWNING


@pytest.mark.parametrize(
    "fields",
    [
        [required("a"), required("b"), required("c")],
        [whole("a"), required("b"), required("c")],
        [whole("a"), whole("b", special=[-1, -2, -3])],
        [whole("a")],
    ],
    ids=["nothing can be missing", "one column", "too many special values", "a single column"],
)
@EVERY_BUDGET
def test_without_two_columns_with_few_gaps_there_are_no_tables_of_them(fields, budget) -> None:
    found = [costs(fields, budget, rows) for rows in ROWS]

    assert 1 not in {regime(each) for each in found}
    assert all(each.one_way == budget for each in found if regime(each) == 0)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("rows", [1, 50, 120, 400, 10**6])
def test_what_is_planned_is_the_whole_budget(budget, rows) -> None:
    found = costs(GAPS, budget, rows)

    assert found.one_way.amount + found.table.amount * found.rounds * found.tables == budget.amount
    assert sum(cost.amount for cost in found.one_way_costs) == found.one_way.amount


# ------------------------------------------------------------------------------------------------- explicit settings


@EVERY_BUDGET
@pytest.mark.parametrize("share", [0.05, 0.4, 0.8, 0.95])
def test_a_share_for_one_way_tables_is_the_least_they_get(budget, share) -> None:
    found = [costs(GAPS, budget, rows, one_way_share=share).one_way.amount / budget.amount for rows in ROWS]

    assert min(found) == found[-1] == Fraction(str(share))
    assert found[0] == 1


@EVERY_BUDGET
@pytest.mark.parametrize("share", [0.07, 0.6])
def test_a_share_for_selections_holds_for_every_choice(budget, share) -> None:
    found = {costs(GAPS, budget, rows, selection_share=share).selection for rows in ROWS}

    assert found == {Fraction(str(share))}


@EVERY_BUDGET
def test_rounds_are_as_they_were_set(budget) -> None:
    found = costs(GAPS, budget, 10**7, rounds=7, one_way_share=0.1)

    assert (found.rounds, found.tables) == (7, 4)
    assert found.table.amount * 7 * 4 == budget.amount * Fraction("0.9")


@pytest.mark.parametrize(("columns", "tables"), [(1, 0), (2, 1), (3, 4), (4, 6), (14, 14), (30, 30), (40, 24)])
def test_a_round_chooses_about_a_table_for_each_column_and_no_set_twice(columns, tables) -> None:
    assert adaptive_costs.tables_of(columns) == tables


# ------------------------------------------------------------------------------------------------- number of rows


@EVERY_BUDGET
def test_a_number_of_rows_is_bought_only_where_none_is_known(budget) -> None:
    class Fixed:
        def __init__(self, terms, count=None):
            self.terms, self.count, self.asked = terms, count, []

        def ask(self, *questions):
            self.asked += questions
            return tuple(type("Answer", (), {"counts": np.array(self.count)})() for _ in questions)

    for terms in (Terms(relation="replace-one", rows=0), Terms(relation="add-remove", expected_rows=70)):
        curator = Fixed(terms)
        assert public_or_noisy_rows(curator, budget) == (max(1.0, terms.rows or terms.expected_rows or 0), budget)
        assert curator.asked == []
    for count, known in ((-50, 1.0), (0, 1.0), (123, 123.0)):
        curator = Fixed(ADD, count)
        rows, left = public_or_noisy_rows(curator, budget)
        (question,) = curator.asked
        assert rows == known
        assert (question.columns, question.cost) == ((), budget * COUNT_SHARE)
        assert question.cost.amount + left.amount == budget.amount


# --------------------------------------------------------------------------------------------------------- releases


FIELDS = [
    whole("a"),
    whole("b", special=[-1]),
    required("c", special=[-1]),
    required("d", special=[-1, -2]),
    required("e"),
    {"name": "f", "type": "boolean"},
    {"name": "g", "type": "number", "constraints": {"minimum": -5, "maximum": 1e6}},
    {"name": "h", "type": "string", "categories": ["x1", "x2", "y1", "y2", "1"], "hierarchy": {"prefixes": [1]}},
]


@st.composite
def releases(draw):
    """Return fields, a budget, terms and a number of rows; often noise is about as large as the table."""
    chosen = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=5, unique_by=lambda field: field["name"]))
    notion, relation = draw(st.sampled_from(["pure", "zcdp"])), draw(st.sampled_from(["add-remove", "replace-one"]))
    max_rows, rows = draw(st.sampled_from([1, 3])), draw(st.sampled_from([0, 30, 300]))
    amount = Fraction(draw(st.integers(1, 999)), draw(st.sampled_from([3, 100, 7919]))) / (
        1 if notion == "pure" else 40
    )
    is_public = relation == "replace-one" and max_rows == 1
    expected = None if is_public else draw(st.sampled_from([None, 30, 300]))
    terms = Terms(relation=relation, max_rows=max_rows, rows=rows if is_public else None, expected_rows=expected)
    return chosen, Budget(notion, amount), terms, rows


def released(fields, budget, terms, rows):
    """Return the answers of a run."""
    schema, kept = schema_of(fields, terms.max_rows), Kept()
    texts = {field["name"]: ["1", "-1", ""] * (rows // 3) for field in fields}
    data = pl.DataFrame(
        texts | {"person": [str(place // terms.max_rows) for place in range(rows)]},
        schema={field.name: pl.String for field in schema.fields},
    )
    room = Room(code_table(data, schema), schema, terms, budget, bits=SeededBits(5), sink=kept)
    Adaptive(particles=64, rounds=3, resolutions=(3, 2)).run(room, schema, budget, np.random.default_rng(1))
    return kept.answers


@settings(max_examples=80)
@given(releases())
def test_every_release_spends_its_budget_exactly(release) -> None:
    fields, budget, terms, rows = release

    answers = released(fields, budget, terms, rows)

    assert sum(answer.question.cost.amount for answer in answers) == budget.amount
    assert all(answer.question.cost.amount > 0 for answer in answers)


@pytest.mark.parametrize(
    "fields",
    [
        [whole("a"), whole("b")],
        [whole("a", special=[-1]), whole("b", special=[-1])],
        [whole("a", special=[-1]), whole("b"), required("c", special=[-7])],
        [required("a", special=[-1]), required("b", special=[-1])],
        [required("a", special=[-1, -2]), required("b", special=[-1, -2])],
    ],
    ids=["missing", "missing or special", "mixed", "one special", "two special"],
)
@pytest.mark.parametrize("rows", [90, 150, 300])
@EVERY_BUDGET
def test_tables_of_gaps_are_all_that_follow_the_one_way_tables(fields, rows, budget) -> None:
    terms = Terms(relation="add-remove", expected_rows=rows)
    found = Adaptive(rounds=3, resolutions=(3, 2)).costs_of(schema_of(fields), budget, float(rows), terms)

    answers = released(fields, budget, terms, rows)

    assert sum(answer.question.cost.amount for answer in answers) == budget.amount
    if regime(found) != 2:
        pairs = [each for each in answers if not isinstance(each, Selection) and len(each.question.columns) == 2]
        assert len(pairs) == found.tables * int(regime(found) == 1)
        assert all(each.question.cost.amount > found.table.amount / 3 for each in pairs)


@pytest.mark.parametrize(("rows", "mode"), [(20, 0), (250, 1), (10**6, 2)])
def test_a_plan_states_the_questions_of_a_release(rows, mode) -> None:
    mechanism = Adaptive(rounds=3, particles=400, resolutions=(8, 4))
    few = min(rows, 3000)
    data = pl.DataFrame({name: np.arange(few) % 7 for name in "abc"})
    given_as = {"epsilon": 1, "mechanism": mechanism, "expected_rows": rows}

    planned = lw.plan({"fields": GAPS}, **given_as)
    release = lw.synthesize(data, {"fields": GAPS}, seed=1, **given_as)

    lines = release.certificate.lines
    assert regime(costs(GAPS, Budget.pure(1), rows, rounds=3, resolutions=(8, 4))) == mode
    known = len(lines) if mode < 2 else 3 + 3  # later rounds choose as many tables as those before make worth while
    told = [line.question.removesuffix(" (chosen)") for line in planned.lines]
    assert told[:known] == [line.question for line in lines[:known]]
    # The last table gets what rounding left of the others.
    assert [float(line.cost.amount) for line in planned.lines[:known]] == pytest.approx(
        [float(line.cost.amount) for line in lines[:known]], rel=1e-4
    )
    assert sum(line.cost.amount for line in planned.lines) == pytest.approx(
        sum(line.cost.amount for line in lines), rel=1e-4
    )
    assert [line.cost.amount for line in planned.lines[:3]] == [line.cost.amount for line in lines[:3]]
