"""lw.evaluate with a budget: what it takes and refuses, what it returns, and degenerate tables."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.unrecorded import RUN
from lapwing.errors import LapwingError, ParameterError
from lapwing.extras.audit.mechanism_pairs import bought_settings
from lapwing.extras.evaluate.bought import BoughtEvaluation, run_evaluation
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.kernel.room.opening import public_terms
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

SCHEMA = {
    "fields": [
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "kind", "type": "string", "categories": ["a", "b"]},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
        {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    ]
}
CLOSE = 1e-3  # at an epsilon of 10**6 noise and rounding stay far below


def rows(count, seed):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "flag": rng.random(count) < 0.3 + 0.1 * (seed % 3),
            "kind": rng.choice(["a", "b"], count),
            "age": rng.integers(0, 100, count),
            "pay": rng.random(count) ** 2,
        }
    )


REAL, SYNTHETIC = rows(500, 1), rows(400, 2)


def bought(real=REAL, synthetic=SYNTHETIC, schema=SCHEMA, **settings):
    return lw.evaluate(real, synthetic, schema, **({"epsilon": 10**6} | settings))


def test_the_private_table_itself_is_no_synthetic_table(tmp_path):
    REAL.write_csv(tmp_path / "real.csv")

    for real, synthetic in ((REAL, REAL), (tmp_path / "real.csv", str(tmp_path / "real.csv"))):
        with pytest.raises(ParameterError, match="the private table itself") as raised:
            bought(real, synthetic)
        assert raised.value.code == "LW351"


def exact(real, synthetic, found, schema=SCHEMA):
    """Return the means without noise, of all tables."""
    schema = Schema.load(schema)
    names = [column.name for column in schema.columns]
    sources = code_table(real, schema), code_table(synthetic, replace(schema, privacy_unit=None))
    parts = [list(each.chunks()) for each in sources]
    codes = [{name: np.concatenate([part[name] for part in each]) for name in names} for each in parts]
    groups = [
        [tuple(names[place] for place in table) for table in answer.question.tables]
        for answer in found.noisy
        if answer.question.kind == "TableDistances"
    ]
    return [each.mean for each in compare_tables(*codes, schema, groups)]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", [{"epsilon": 10**6}, {"epsilon": 10**4, "delta": 1e-6}, {"rho": 10**6}])
def test_at_a_huge_budget_the_figures_are_the_exact_ones(neighbours, budget):
    found = bought(neighbours=neighbours, **({"epsilon": None} | budget))

    assert isinstance(found, BoughtEvaluation)
    assert [(each.ways, each.tables, each.possible) for each in found.variations] == [(1, 4, 4), (2, 6, 6), (3, 4, 4)]
    for each, truth in zip(found.variations, exact(REAL, SYNTHETIC, found), strict=True):
        assert abs(each.mean - truth) < CLOSE
        assert each.upper - each.lower < CLOSE


def test_a_privacy_unit_is_cut_to_its_rows_and_the_noise_grows_with_them():
    schema = {
        "fields": [{"name": "person", "type": "integer", "role": "identifier"}, *SCHEMA["fields"]],
        "privacyUnit": {"field": "person", "maxRows": 3},
    }
    people = REAL.with_columns(person=pl.Series(np.arange(500) // 5))

    found = bought(people, SYNTHETIC, schema)

    assert found.certificate.max_rows == 3
    assert found.certificate.privacy_unit == "person:3"
    assert abs(found.certificate.released_rows - 300) <= 1
    alone = bought(REAL.head(300))
    assert found.variations[0].noise_sd > 2.9 * alone.variations[0].noise_sd


def test_the_public_number_of_rows_costs_nothing_under_replace_one():
    public, private = bought(neighbours="replace-one"), bought()

    assert [line.question for line in public.certificate.lines] == ["TableDistances"] * 3
    assert [line.question for line in private.certificate.lines] == ["MarginalCounts"] + ["TableDistances"] * 3
    assert (public.certificate.released_rows, public.rows_error) == (500, 0)
    assert {line.cost.amount for line in public.certificate.lines} == {Fraction(10**6, 3)}
    assert {line.cost.amount for line in private.certificate.lines} == {Fraction(10**6, 4)}


@pytest.mark.parametrize("expected", [1, 250, 500, 520, 2**40])
def test_an_expected_number_of_rows_is_used_and_a_wrong_one_only_widens_the_intervals(expected):
    found = bought(expected_rows=expected)

    assert [line.question for line in found.certificate.lines] == ["TableDistances"] * 3
    assert (found.certificate.released_rows, found.rows_error) == (expected, None)
    for each, truth in zip(found.variations, exact(REAL, SYNTHETIC, found), strict=True):
        assert each.lower <= truth <= each.upper
    assert "a public guess" in found.summary()
    is_wide = any(warning.code == "wide" for warning in found.certificate.warnings)
    assert is_wide or abs(expected - 500) < 100


def test_the_seed_chooses_the_tables_and_is_told():
    fields = [{"name": f"c{place}", "type": "boolean"} for place in range(13)]
    table = pl.DataFrame({field["name"]: [True, False] for field in fields})

    one, same, other = (bought(table, table.clone(), {"fields": fields}, seed=seed) for seed in (1, 1, 2))

    chosen = [found.noisy[-1].question.tables for found in (one, same, other)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert [found.certificate.seed for found in (one, same, other)] == [1, 1, 2]
    assert bought(table, table.clone(), {"fields": fields}, seed=None).certificate.seed is not None


@pytest.mark.parametrize("settings", [{"target": "flag"}, {"by": "flag"}, {"by": ["flag", "kind"]}, {"test": REAL}])
def test_what_is_internal_is_refused_with_a_budget(settings):
    with pytest.raises(ParameterError, match="leave them out, or the budget"):
        bought(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"delta": 1e-6},
        {"neighbours": "replace-one"},
        {"expected_rows": 5},
        {"ledger": "budget.db"},
        {"dataset": "d"},
        {"transcript": "t.jsonl"},
    ],
)
def test_settings_of_a_budget_are_refused_without_one(settings):
    with pytest.raises(ParameterError, match="give epsilon or rho"):
        lw.evaluate(REAL, SYNTHETIC, SCHEMA, **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rho": 1}, "exactly one of epsilon and rho"),
        ({"epsilon": -1}, "must be above 0"),
        ({"neighbours": "swap"}, "neighbours must be one of"),
        ({"expected_rows": 0}, "from 1"),
        ({"expected_rows": 2.5}, "a whole number from 1"),
        ({"expected_rows": True}, "a whole number from 1"),
        ({"seed": -1}, "seed must be"),
        ({"dataset": "d"}, "give the ledger too"),
        ({"synthetic": SYNTHETIC.head(0)}, "no row"),
        ({"synthetic": SYNTHETIC.drop("age")}, "age"),
        ({"real": REAL.drop("age")}, "age"),
    ],
)
def test_a_wrong_argument_is_one_sentence(settings, words):
    with pytest.raises(LapwingError, match=words) as failure:
        bought(**settings)

    assert "\n" not in str(failure.value)


def run_on(data, schema, settings):
    schema = Schema.load(schema)
    source = code_table(data, schema)
    terms = public_terms(source, schema, settings.relation, settings.expected_rows)
    return run_evaluation(source, settings, terms, RUN)


@pytest.mark.parametrize("times", ["1/1000000000", 1, 10**9])
@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_tables_and_extreme_budgets_give_figures_from_0_to_1(count, pure, times):
    settings = bought_settings(SCHEMA, "add-remove", pure=pure, times=Fraction(times), rows=1)

    found = run_on(REAL.head(count), SCHEMA, settings)

    for each in found.variations:
        assert 0 <= each.lower <= each.mean <= each.upper <= 1
        assert 0 <= each.floor <= 1
        assert math.isfinite(each.noise_sd)
    assert found.certificate.released_rows >= 1
    assert len(found.summary().splitlines()) > 10


@pytest.mark.parametrize(
    "name",
    [
        "mimic-demo-admissions",
        "tarragona",
        *(
            pytest.param(each, marks=pytest.mark.full)
            for each in ("eusilc", "diabetes130", "nhanes", "teacher-climate")
        ),
    ],
)
def test_real_tables_are_compared_with_half_of_their_rows(shared_data, name):
    real, schema = pl.read_parquet(shared_data / name / "data.parquet"), shared_data / name / "schema.json"
    half = real.sample(fraction=0.5, seed=1)

    found = bought(real, half, schema)

    for each, truth in zip(found.variations, exact(real, half, found, schema), strict=True):
        assert abs(each.mean - truth) < CLOSE
        assert each.lower <= truth <= each.upper
