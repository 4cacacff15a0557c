"""Adaptive: odd tables, both relations and notions, an exact budget, and answers that fix the model."""

import itertools
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.pmm_runs import run
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.schema.schemas import Schema

BUDGETS = [Budget.pure(1), Budget.zcdp("0.05")]
QUICK = Adaptive(particles=400, rounds=6, resolutions=(8, 4))
REQUIRED = {"required": True}

FLAG = {"name": "flag", "type": "boolean", "constraints": REQUIRED}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"]}
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, **REQUIRED}}
SIZE = {"name": "size", "type": "number", "constraints": {"minimum": -1, "maximum": 1}, "special": [99, 98, 97]}
DAY = {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}}
AT = {
    "name": "at",
    "type": "datetime",
    "constraints": {"minimum": "2020-01-01T00:00:00", "maximum": "2020-12-31T23:59:59", **REQUIRED},
}
FIELDS = [FLAG, KIND, AGE, SIZE, DAY, AT]


def schema_of(*fields, **more):
    return Schema.from_dict({"fields": list(fields), **more})


def table(rows, seed=1):
    """Return rows in which kind, age and size go with flag."""
    rng = np.random.default_rng(seed)
    flag = rng.random(rows) < 0.4
    sizes = np.where(rng.random(rows) < 0.1, 99.0, np.clip(rng.normal(np.where(flag, 0.4, -0.4), 0.2), -1, 1))
    days = [None if each > 360 else date(2020, 1, 1) + timedelta(days=int(each)) for each in rng.integers(0, 366, rows)]
    return pl.DataFrame(
        {
            "flag": flag,
            "kind": np.where(flag, "a", rng.choice(["b", "c"], rows)).astype(object),
            "age": np.where(flag, 30, 60) + rng.integers(0, 10, rows),
            "size": sizes,
            "day": days,
            "at": [datetime(2020, 3, 1) + timedelta(minutes=int(each)) for each in rng.integers(0, 10**5, rows)],
        },
        schema_overrides={"kind": pl.String, "day": pl.Date, "at": pl.Datetime},
    )


def spent(answers):
    return sum((answer.question.cost.amount for answer in answers), Fraction(0))


def asked_tables(answers):
    """Return the column sets of tables of two columns or more."""
    return [
        each.question.columns for each in answers if not isinstance(each, Selection) and len(each.question.columns) > 1
    ]


# -------------------------------------------------------------------------------------------------------- odd tables


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_both_relations_and_several_rows_per_unit_spend_exactly_the_budget(relation, max_rows, budget):
    person = {"name": "id", "type": "integer", "role": "identifier", "constraints": {"required": True}}
    schema = schema_of(person, FLAG, KIND, AGE, privacyUnit={"field": "id", "maxRows": max_rows})
    data = table(40_000).with_columns(id=pl.arange(40_000) // max_rows)

    mechanism = Adaptive(particles=400, rounds=2, resolutions=(8, 4))

    model, answers = run(mechanism, data, schema, budget=budget, relation=relation, expected_rows=40_000)

    assert spent(answers) == budget.amount
    assert asked_tables(answers)
    assert {answer.sensitivity for answer in answers if isinstance(answer, Selection)} == {
        max_rows * (1 if relation == "add-remove" else 2)
    }
    if relation == "replace-one" and max_rows == 1:
        assert model.rows == 40_000


# ----------------------------------------------------------------------------------------------------- what is asked


def test_all_pairs_are_asked_at_once_where_their_noise_is_small():
    _, answers = run(QUICK, table(20_000), schema_of(*FIELDS), budget=Budget.zcdp("0.2"))

    names = [each["name"] for each in FIELDS]
    assert asked_tables(answers)[:15] == list(itertools.combinations(names, 2))
    assert not any(isinstance(each, Selection) for each in answers[: len(FIELDS) + 15])


def test_no_two_columns_are_together_twice_in_a_round():
    mechanism = Adaptive(particles=400, rounds=1, resolutions=(8, 4))

    _, answers = run(mechanism, table(600), schema_of(*FIELDS), budget=Budget.zcdp("0.2"))

    together = [pair for columns in asked_tables(answers) for pair in itertools.combinations(columns, 2)]
    assert sum(isinstance(each, Selection) for each in answers) == len(asked_tables(answers)) >= 3
    assert len(set(together)) == len(together)


def test_categories_that_tell_another_column_do_so_one_by_one():
    values = np.random.default_rng(1).integers(0, 100, 30_000)
    kinds, groups = [f"k{value:02}" for value in range(100)], np.random.default_rng(2).integers(0, 5, 100)
    data = pl.DataFrame({"kind": [kinds[value] for value in values], "group": groups[values], "flag": values % 7 < 3})
    schema = schema_of(
        {"name": "kind", "type": "string", "categories": kinds, "constraints": REQUIRED},
        {"name": "group", "type": "integer", "constraints": {"minimum": 0, "maximum": 4, **REQUIRED}},
        FLAG,
    )

    rows = lw.synthesize(data, schema, epsilon=2, delta=1e-9, mechanism=Adaptive(), seed=1).sample()

    agreeing = [group == groups[kinds.index(kind)] for kind, group in zip(rows["kind"], rows["group"], strict=True)]
    assert np.mean(agreeing) > 0.85  # about 0.5 where 31 kinds stand alone


@pytest.mark.parametrize("rows", [600, 20_000])
@pytest.mark.parametrize("settings", [{"target": "day"}, {"workload": ("day",)}])
def test_tables_with_a_target_or_a_preferred_column_get_more_than_half(settings, rows):
    mechanism = Adaptive(particles=400, resolutions=(8, 4), **settings)

    _, answers = run(mechanism, table(rows), schema_of(*FIELDS), budget=Budget.zcdp("0.2"))

    asked = [each.question for each in answers if not isinstance(each, Selection) and len(each.question.columns) > 1]
    assert len(asked) >= 3
    assert spent_on(asked, lambda columns: "day" in columns) > spent_on(asked, lambda columns: "day" not in columns)


def spent_on(questions, is_counted):
    """Return what the questions cost whose columns are counted."""
    return sum((each.cost.amount for each in questions if is_counted(each.columns)), Fraction(0))


def test_a_missing_state_that_no_row_has_is_not_invented_and_is_said():
    schema = schema_of(FLAG, AGE, KIND | {"constraints": {"required": False}}, DAY)
    data = table(3000).with_columns(day=pl.lit(date(2020, 2, 2)))
    asked = {"epsilon": 1, "mechanism": QUICK, "expected_rows": 3000}

    found = [lw.synthesize(data, schema, seed=seed, **asked) for seed in range(8)]

    # Noise of an empty state passes two standard deviations in one of forty releases.
    invented = [release.sample(3000).select("kind", "day").null_count().sum_horizontal().item() for release in found]
    said = [[each for each in r.certificate.accuracy if each.code == "states_without_rows"] for r in found]
    assert sorted(invented)[:5] == [0] * 5
    assert [each.value for statements in said for each in statements].count(2) >= 5


# ----------------------------------------------------------------------------------------- answers fix the release


def test_another_seed_asks_other_questions_and_is_refused():
    schema, terms = schema_of(*FIELDS), Terms(relation="add-remove", max_rows=1)
    _, answers = run(QUICK, table(3000), schema, budget=Budget.zcdp("0.2"), seed=4)

    with pytest.raises(ParameterError):
        QUICK.run(ReplayCurator(terms, answers), schema, Budget.zcdp("0.2"), np.random.default_rng(5))


def test_a_release_keeps_no_estimates_of_its_selections():
    release = lw.synthesize(table(3000), schema_of(*FIELDS), epsilon=4, mechanism=QUICK, seed=3)

    selections = [each.question for each in release.noisy if isinstance(each, Selection)]
    assert selections
    assert all(question.estimates is None and not question.levels for question in selections)


@pytest.mark.parametrize(("epsilon", "says"), [(0.5, 1), (50, 0)])
def test_a_release_without_tables_of_two_columns_says_that_it_keeps_no_relation(epsilon, says):
    # With a noisy number of rows, a table as small as this may be taken for one that bears a few more questions.
    settings = {"epsilon": epsilon, "mechanism": QUICK, "seed": 3, "expected_rows": 40}

    certificate = lw.synthesize(table(40), schema_of(*FIELDS), **settings).certificate
    planned = lw.plan(schema_of(*FIELDS), epsilon=epsilon, mechanism=QUICK, expected_rows=40).text()

    assert sum("no relation between columns is kept" in warning.text for warning in certificate.warnings) == says
    assert planned.count("no relation between columns is kept") == says
