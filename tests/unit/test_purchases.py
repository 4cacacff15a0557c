"""Evaluations and other things that are bought: their terms, their debit, and what comes after it."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator

import lapwing as lw
import lapwing.kernel.room.room as rooms
from helpers.cases import spread
from helpers.invented_answers import INVENTORS, Invented
from helpers.unrecorded import RUN
from helpers.used_releases import use
from lapwing.errors import LapwingError, ParameterError, SchemaError
from lapwing.extras.audit.mechanism_pairs import bought_settings
from lapwing.extras.evaluate.bought import BoughtEvaluation, run_evaluation
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for, rho_for
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.opening import public_terms
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import pairs_apart, pairs_at, together
from lapwing.present.promises import together_text
from lapwing.rows.source import code_table
from lapwing.schema.purchases import Purchase
from lapwing.schema.schemas import Schema

VALIDATOR = Draft202012Validator(
    json.loads((files("lapwing") / "schema" / "lapwing.schema.json").read_text(encoding="utf-8"))
)
PURE = Purchase(
    fields=("age", "town"),
    notion="pure",
    amount=Fraction(1, 3),
    relation="add-remove",
    privacy_unit="row",
    release="8f14e45f",
    lapwing="0.1.0",
)
ZCDP = replace(PURE, notion="zcdp", amount=Fraction(1, 100), delta=Fraction(1, 10**7), release="c9f0f895")
TERMS = ("add-remove", "row")
FLAG = {"name": "flag", "type": "boolean", "constraints": {"required": True}}
TABLE = pl.DataFrame({"flag": [True, False] * 50})


def bought(*purchases):
    return replace(Schema.load({"fields": [FLAG]}), purchases=purchases)


def test_purchases_survive_the_file_and_the_format_knows_them(tmp_path):
    schema = bought(PURE, ZCDP)

    schema.save(tmp_path / "s.json")

    assert Schema.load(tmp_path / "s.json") == schema
    assert Schema.load(tmp_path / "s.json").fingerprint == schema.fingerprint != bought().fingerprint
    written = json.loads((tmp_path / "s.json").read_text())
    assert written["purchases"][0]["amount"] == "1/3"
    assert "delta" not in written["purchases"][0]
    assert VALIDATOR.is_valid(written)


def test_pure_amounts_add_up_to_a_pure_one():
    whole = together(Budget.pure(1), Fraction(0), None, TERMS, [PURE, PURE])

    assert (whole.total, whole.delta, whole.epsilons) == (Budget("pure", Fraction(5, 3)), 0, ())
    assert together_text(whole) == "epsilon 1.667"


def test_a_pure_amount_enters_zcdp_as_half_its_square_and_deltas_of_selections_are_part_of_every_delta():
    whole = together(Budget.zcdp(1), Fraction(1, 10**9), Fraction(1, 10**6), TERMS, [PURE, ZCDP])

    rho = 1 + Fraction(1, 18) + Fraction(1, 100)
    selected = Fraction(1, 10**9) + Fraction(1, 10**7)
    assert (whole.total.rho, whole.delta) == (rho, selected)
    assert whole.epsilons[0] == (
        Fraction(1, 10**6) + Fraction(1, 10**7),
        epsilon_for(rho, Fraction(1, 10**6) - Fraction(1, 10**9)),
    )
    assert dict(whole.epsilons)[Fraction(1, 10**9) + selected] == epsilon_for(rho, Fraction(1, 10**9))
    assert "epsilon" in together_text(whole)


@pytest.mark.parametrize("changes", [{"relation": "replace-one"}, {"privacy_unit": "person:3"}])
def test_what_was_bought_under_other_terms_is_told_and_not_added_up(changes):
    schema = bought(replace(PURE, **changes))

    written = lw.synthesize(TABLE, schema, epsilon=1).certificate

    assert written.together is None
    assert "is not added here" in written.text()
    assert written.to_dict()["purchases"] == [schema.purchases[0].to_dict()]


@pytest.mark.parametrize("kind", ["release", "evaluation", "learned"])
def test_every_certificate_of_such_a_schema_tells_what_it_cost(kind, tmp_path):
    schema = bought(PURE, ZCDP)
    if kind == "release":
        written = lw.synthesize(TABLE, schema, epsilon=1).certificate
    elif kind == "evaluation":
        written = lw.evaluate(TABLE, TABLE.clone(), schema, epsilon=1).certificate
    else:
        more = {"name": "age", "type": "integer", "constraints": {"minimum": None, "maximum": 9}}
        draft = {**schema.to_dict(), "draft": True, "fields": [FLAG, more]}
        table = TABLE.with_columns(age=pl.lit(3))
        found = lw.Schema.learn(table, draft, epsilon=1, certificate=tmp_path / "c.json")
        written = Certificate.from_dict(json.loads((tmp_path / "c.json").read_text()))
        assert found.purchases[:2] == (PURE, ZCDP)
        assert len(found.purchases) == 3

    assert written.purchases == (PURE, ZCDP)
    assert written.total.epsilon <= 1
    assert written.together.total.rho == written.total.amount**2 / 2 + Fraction(1, 18) + Fraction(1, 100)
    lines = written.text().splitlines()
    assert (
        "Bounds or categories of age, town were learned with budget before, at epsilon 0.3334 (release 8f14e45f)."
        in lines
    )
    assert any(line.startswith("Together with what was learned before under the same terms: rho 0.") for line in lines)
    assert Certificate.from_dict(json.loads(written.to_json())) == written
    assert written.to_dict()["together"]["delta"]["exact"] == "1/10000000"


LONG = 10**480
HOSTILE = {
    "long denominators": [{"amount": f"1/{LONG + more}"} for more in (7, 9, 13, 33)],
    "long numerators": [{"amount": f"{LONG * 10**9 - more}/{LONG}"} for more in (7, 9, 13)],
    "powers of two": [{"amount": f"1/{2**1650}"}, {"amount": f"3/{2**1650}"}],
    "long deltas": [{"delta": f"1/{LONG + more}"} for more in (7, 9, 13)],
    "many primes": [{"amount": f"1/{10_007 + 2 * more}"} for more in range(1000)],
    "largest": [{"amount": "1000000000"}] * 1000,
    "deltas of nearly 1": [{"delta": "9/10"}] * 2,
    "a long name": [{"fields": ["\t" + "a" * 10_000]}],
}


def test_of_many_purchases_the_first_are_told_and_all_are_added_up():
    schema = bought(*(replace(PURE, release=str(each)) for each in range(20)))

    written = lw.synthesize(TABLE, schema, epsilon=1).certificate

    assert written.text().count("were learned with budget before, at") == 8
    assert "Bounds or categories were learned with budget 12 more times." in written.text()
    assert written.together.total.epsilon == 1 + Fraction(20, 3)


@spread(
    ("notion", ["pure", "zcdp"]), ("asked", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}]), ("case", list(HOSTILE))
)
def test_whatever_purchases_a_schema_may_hold_a_release_of_it_can_be_certified(case, asked, notion):
    entries = [PURE.to_dict() | {"notion": notion} | changes for changes in HOSTILE[case]]
    schema = Schema.from_dict({"fields": [FLAG], "purchases": entries})
    requested = Fraction(1, 10**6) if "delta" in asked else None
    total = Budget.pure(1) if requested is None else Budget.zcdp("0.02")

    whole = together(total, Fraction(0), requested, TERMS, schema.purchases)

    exact = sum((each.amount for each in schema.purchases), Fraction(1))
    assert whole.total.notion == "zcdp" or whole.total.amount >= exact
    assert whole.delta >= sum(each.delta for each in schema.purchases)
    assert whole.total.amount.denominator <= 10**300
    assert len(json.dumps(whole.to_dict())) < 10_000
    assert len(together_text(whole)) < 500
    if case in ("long denominators", "a long name"):
        written = lw.synthesize(TABLE, schema, **asked).certificate
        assert Certificate.from_dict(json.loads(written.to_json())) == written
        assert written.text().encode()


def test_sums_are_exact_where_they_are_short_and_never_too_small_where_they_are_long():
    odd = Fraction(10**20 + 1, 3 * 10**20)
    tiny = Fraction(1, 7 * 10**30)

    found = together(Budget.pure(1), Fraction(0), None, TERMS, [replace(PURE, amount=odd, delta=tiny)] * 5)

    assert 0 < found.total.epsilon - (1 + 5 * odd) < Fraction(1, 10**16)
    assert 1 < found.delta / (5 * tiny) < 1 + Fraction(1, 10**15)
    assert found.total.epsilon.denominator <= 10**18


def test_deltas_that_sum_to_1_are_told_to_promise_nothing():
    many = [replace(ZCDP, delta=Fraction(9, 10))] * 2

    whole = together(Budget.zcdp(1), Fraction(0), Fraction(1, 10**6), TERMS, many)

    assert together_text(whole) == "rho 1.02, but the deltas sum to 1 or more, so together there is no promise"
    assert whole.epsilons == ()


def test_more_than_1000_purchases_are_refused():
    with pytest.raises(SchemaError, match="at most 1000"):
        Schema.from_dict({"fields": [FLAG], "purchases": [PURE.to_dict()] * 1001})


DP = {"fields": [FLAG | {"name": name, "provenance": "dp"} for name in ("flag", "other")]}


def test_plain_addition_is_told_where_it_is_the_better_bound():
    half = Fraction(1, 2 * 10**6)
    rho = rho_for(Fraction(1), half)
    lists = replace(ZCDP, amount=rho, delta=half)

    whole = together(Budget.pure(1), Fraction(0), None, TERMS, [lists])

    assert whole.epsilons[0] == (2 * half, 1 + epsilon_for(rho, half))
    assert 1.999 < whole.epsilons[0][1] <= 2
    assert whole.plain == tuple(delta for delta, _ in whole.epsilons)
    assert together_text(whole) == "rho 0.523: epsilon 2 at delta 1e-06 by plain addition"
    assert {pair["by"] for pair in whole.to_dict()["epsilons"]} == {"addition"}


def test_a_sum_in_rho_that_cannot_be_converted_is_told_by_plain_addition():
    whole = together(Budget.zcdp(1), Fraction(0), None, TERMS, [replace(PURE, amount=Fraction(10**9))])

    assert [eps for _, eps in whole.epsilons] == [
        10**9 + epsilon_for(Fraction(1), delta) for delta, _ in whole.epsilons
    ]


def test_pairs_of_hardly_another_delta_are_not_shown():
    pairs = pairs_at(Fraction(1, 100), Fraction(1, 200), Fraction(1, 100))

    assert len(pairs) == 4
    assert pairs_apart(pairs) == pairs[:1]


@pytest.mark.parametrize("is_release", [True, False], ids=["release", "evaluation"])
def test_a_field_that_is_said_to_be_bought_and_that_no_purchase_names_is_warned_of(is_release):
    table = TABLE.with_columns(other=pl.col("flag"))
    schema = DP | {"purchases": [replace(PURE, fields=("flag", "gone")).to_dict()]}

    if is_release:
        written = lw.synthesize(table, schema, epsilon=1, mechanism="Independent").certificate
    else:
        written = lw.evaluate(table, table.clone(), schema, epsilon=1).certificate

    assert Notice("untold", {"fields": ("other",)}) in written.warnings


def test_pairs_below_delta_1_are_told_only():
    assert pairs_at(Fraction(1), Fraction(999_999_999_999, 10**12)) == ()
    assert len(pairs_at(Fraction(1), Fraction(1, 2))) == 3


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


def bought_bought(real=REAL, synthetic=SYNTHETIC, schema=SCHEMA, **settings):
    return lw.evaluate(real, synthetic, schema, **({"epsilon": 10**6} | settings))


def test_the_private_table_itself_is_no_synthetic_table(tmp_path):
    REAL.write_csv(tmp_path / "real.csv")

    for real, synthetic in ((REAL, REAL), (tmp_path / "real.csv", str(tmp_path / "real.csv"))):
        with pytest.raises(ParameterError, match="the private table itself") as raised:
            bought_bought(real, synthetic)
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
    found = bought_bought(neighbours=neighbours, **({"epsilon": None} | budget))

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

    found = bought_bought(people, SYNTHETIC, schema)

    assert found.certificate.max_rows == 3
    assert found.certificate.privacy_unit == "person:3"
    assert abs(found.certificate.released_rows - 300) <= 1
    alone = bought_bought(REAL.head(300))
    assert found.variations[0].noise_sd > 2.9 * alone.variations[0].noise_sd


def test_the_public_number_of_rows_costs_nothing_under_replace_one():
    public, private = bought_bought(neighbours="replace-one"), bought_bought()

    assert [line.question for line in public.certificate.lines] == ["TableDistances"] * 3
    assert [line.question for line in private.certificate.lines] == ["MarginalCounts"] + ["TableDistances"] * 3
    assert (public.certificate.released_rows, public.rows_error) == (500, 0)
    assert {line.cost.amount for line in public.certificate.lines} == {Fraction(10**6, 3)}
    assert {line.cost.amount for line in private.certificate.lines} == {Fraction(10**6, 4)}


@pytest.mark.parametrize("expected", [1, 250, 500, 520, 2**40])
def test_an_expected_number_of_rows_is_used_and_a_wrong_one_only_widens_the_intervals(expected):
    found = bought_bought(expected_rows=expected)

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

    one, same, other = (bought_bought(table, table.clone(), {"fields": fields}, seed=seed) for seed in (1, 1, 2))

    chosen = [found.noisy[-1].question.tables for found in (one, same, other)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert [found.certificate.seed for found in (one, same, other)] == [1, 1, 2]
    assert bought_bought(table, table.clone(), {"fields": fields}, seed=None).certificate.seed is not None


@pytest.mark.parametrize("settings", [{"target": "flag"}, {"by": "flag"}, {"by": ["flag", "kind"]}, {"test": REAL}])
def test_what_is_internal_is_refused_with_a_budget(settings):
    with pytest.raises(ParameterError, match="leave them out, or the budget"):
        bought_bought(**settings)


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
        bought_bought(**settings)

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

    found = bought_bought(real, half, schema)

    for each, truth in zip(found.variations, exact(real, half, found, schema), strict=True):
        assert abs(each.mean - truth) < CLOSE
        assert each.lower <= truth <= each.upper


HUGE = next(each for each in INVENTORS if each.__name__ == "_huge")
ROWS = np.arange(900)
AFTER_TABLE = pl.DataFrame(
    {"v": np.array(["a", "b", "c"])[ROWS % 3], "o": np.array(["p", "q"])[ROWS // 3 % 2], "n": ROWS // 6 % 3}
)


def listed(name, *categories, required=False):
    field = {"name": name, "type": "string", "categories": list(categories), "provenance": "public"}
    return {**field, "constraints": {"required": required}}


def whole(name, least, most):
    limits = {"minimum": least, "maximum": most}
    return {"name": name, "type": "integer", "provenance": "public", "constraints": limits}


def public(columns, cells, **more):
    return {"columns": columns, "source": "census", "provenance": "public", "cells": cells, **more}


THREE = {"fields": [listed("v", "a", "b", "c"), listed("o", "p", "q"), whole("n", 0, 2)]}


@pytest.mark.parametrize("hold", [{"hold": "prior", "sd": 10}, {"hold": "exact"}])
@pytest.mark.parametrize(
    "cells",
    [
        [["0..1", 600], ["2..", 300], [None, 0]],
        [["0..1", 500], ["2..", 300], [None, 100]],  # missing, though no row is
        [["0..1", 0], ["2..", 0], [None, 900]],
    ],
)
def test_a_public_table_may_speak_of_missing_cells_where_no_row_has_one(tmp_path, hold, cells):
    release = lw.synthesize(AFTER_TABLE, {**THREE, "publicTables": [public(["n"], cells, **hold)]}, epsilon=10, seed=1)

    use(release, tmp_path)
    assert 800 < release.model.rows < 1000


def test_a_complete_public_table_leaves_missing_cells_out_where_no_row_has_one(tmp_path):
    table = public(["n"], [["0..1", 600], ["2..", 300]], hold="prior", sd=10, complete=True)

    use(lw.synthesize(AFTER_TABLE, {**THREE, "publicTables": [table]}, epsilon=10, seed=1), tmp_path)


def test_a_range_that_is_open_at_both_ends_is_read_back(tmp_path):
    table = public(["n"], [[{"minimum": None, "maximum": None}, 900], [None, 0]])

    use(lw.synthesize(AFTER_TABLE, {**THREE, "publicTables": [table]}, epsilon=10, mechanism="Independent"), tmp_path)


def test_one_group_has_no_pairs_of_which_anything_is_certified(tmp_path):
    schema = {"fields": [listed("v", "a", "b", required=True)]}
    paper = lw.Microaggregation(variant="paper", intervals=2, damping=1)

    use(
        lw.synthesize(AFTER_TABLE.select("v"), schema, epsilon=1, mechanism=paper, neighbours="replace-one", misfits=1),
        tmp_path,
    )


def test_a_column_of_one_category_can_be_released_by_the_published_tree(tmp_path):
    schema = {"fields": [listed("v", "a", required=True)]}

    use(
        lw.synthesize(AFTER_TABLE.select(v=pl.lit("a")), schema, epsilon=1, mechanism=lw.PMM(variant="paper")), tmp_path
    )


@pytest.mark.parametrize("mechanism", [lw.Grid(), lw.Grid(variant="paper"), lw.KDTree(), lw.PSMM(), lw.PMM()])
def test_cells_stay_as_many_as_memory_holds_however_many_rows_are_bought(monkeypatch, tmp_path, mechanism):
    limits = {"minimum": 0, "maximum": 10**6, "required": True}
    schema = {"fields": [{**whole(name, 0, 0), "constraints": limits} for name in "xyz"]}
    monkeypatch.setattr(rooms, "ANSWERS", Invented(np.random.default_rng(1), HUGE))

    release = lw.synthesize(AFTER_TABLE.select(x="n", y="n", z="n"), schema, epsilon=1, mechanism=mechanism, misfits=1)

    assert 0 <= release.model.rows <= 2**40  # sums of such numbers leave 64 bits
    use(release, tmp_path)


@pytest.mark.parametrize("name", [name for name, known in MECHANISMS.items() if not known.one_row_per_unit])
def test_noise_that_passes_every_table_is_refused_before_the_debit(tmp_path, name):
    fields = [{"name": "who", "type": "string", "role": "identifier"}, *THREE["fields"]]
    schema = Schema.from_dict({"fields": fields, "privacyUnit": {"field": "who", "maxRows": 10**6}})
    ledger = tmp_path / "budget.db"
    account = Ledger.create_or_open(ledger)
    account.init("d", unit="pure", limit=2, relation="add-remove", privacy_unit=schema.unit_label)

    with pytest.raises(lw.LapwingError) as refused:
        lw.synthesize(
            AFTER_TABLE.with_columns(who=pl.lit("u")),
            schema,
            epsilon="1e-9",
            mechanism=MECHANISMS[name].small(),
            ledger=ledger,
            dataset="d",
        )

    assert refused.value.code == "LW508"
    assert account.balance("d").spent == 0
