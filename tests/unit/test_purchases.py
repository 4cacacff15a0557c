"""What learned bounds and lists cost: in schema files, on certificates, in reports."""

import json
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files

import polars as pl
import pytest
from jsonschema import Draft202012Validator

import lapwing as lw
from helpers.cases import spread
from lapwing.errors import SchemaError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for, rho_for
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import pairs_apart, pairs_at, together
from lapwing.present.promises import together_text
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
