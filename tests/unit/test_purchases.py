"""What learned bounds and lists cost: in schema files, on certificates, in reports."""

import json
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files

import polars as pl
import pytest
from jsonschema import Draft202012Validator

import lapwing as lw
from lapwing.budget.budget import Budget
from lapwing.budget.conversions import epsilon_for
from lapwing.errors import SchemaError
from lapwing.release.certificate import Certificate
from lapwing.release.domain_cost import pairs_at, together
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


@pytest.mark.parametrize(
    "changes",
    [
        {"fields": []},
        {"fields": [3]},
        {"fields": "age"},
        {"notion": "renyi"},
        {"notion": []},
        {"amount": 0.5},
        {"amount": "-1"},
        {"amount": "0"},
        {"amount": "1e999999999"},
        {"amount": "1/0"},
        {"delta": "1"},
        {"delta": None},
        {"relation": "swap"},
        {"privacyUnit": ""},
        {"release": None},
        {"lapwing": 1},
        {"price": "1"},
    ],
)
def test_a_damaged_purchase_is_refused_in_one_sentence(changes):
    with pytest.raises(SchemaError, match="a purchase") as failure:
        Schema.from_dict({"fields": [FLAG], "purchases": [PURE.to_dict() | changes]})

    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("value", [PURE.to_dict(), "bought", 3, [3], [None]])
def test_what_is_no_list_of_purchases_is_refused(value):
    with pytest.raises(SchemaError):
        Schema.from_dict({"fields": [FLAG], "purchases": value})
    assert not VALIDATOR.is_valid({"fields": [FLAG], "purchases": value})


def test_pure_amounts_add_up_to_a_pure_one():
    whole = together(Budget.pure(1), Fraction(0), None, TERMS, [PURE, PURE])

    assert (whole.total, whole.delta, whole.epsilons) == (Budget("pure", Fraction(5, 3)), 0, ())
    assert whole.text() == "epsilon 1.667"


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
    assert "epsilon" in whole.text()


def test_pairs_below_delta_1_are_told_only():
    assert pairs_at(Fraction(1), Fraction(999_999_999_999, 10**12)) == ()
    assert len(pairs_at(Fraction(1), Fraction(1, 2))) == 3


@pytest.mark.parametrize("changes", [{"relation": "replace-one"}, {"privacy_unit": "person:3"}])
def test_what_was_bought_under_other_terms_is_told_and_not_added_up(changes):
    schema = bought(replace(PURE, **changes))

    written = lw.synthesize(TABLE, schema, epsilon=1).certificate

    assert written.together is None
    assert "is not added up here" in written.text()
    assert written.to_dict()["purchases"] == [schema.purchases[0].to_dict()]


@pytest.mark.parametrize("kind", ["release", "evaluation", "learned"])
def test_every_certificate_of_such_a_schema_tells_what_it_cost(kind, tmp_path):
    schema = bought(PURE, ZCDP)
    if kind == "release":
        written = lw.synthesize(TABLE, schema, epsilon=1).certificate
    elif kind == "evaluation":
        written = lw.evaluate(TABLE, TABLE, schema, epsilon=1).certificate
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
    assert "Bounds or categories of age, town were bought before for epsilon 0.3333 (release 8f14e45f)." in lines
    assert any(line.startswith("Together with what was bought before under the same terms: rho 0.") for line in lines)
    assert Certificate.from_dict(json.loads(written.to_json())) == written
    assert written.to_dict()["together"]["delta"]["exact"] == "1/10000000"


def test_certificates_of_before_are_read_as_ever():
    written = lw.synthesize(TABLE, {"fields": [FLAG]}, epsilon=1, delta=1e-6).certificate
    old = {key: value for key, value in written.to_dict().items() if key not in ("delta", "purchases", "together")}

    assert Certificate.from_dict(old) == written
    assert (written.delta, written.purchases, written.together) == (0, (), None)


def test_a_certificate_with_damaged_purchases_is_refused_as_such():
    written = lw.synthesize(TABLE, bought(PURE), epsilon=1).certificate.to_dict()

    with pytest.raises(lw.ParameterError, match="a purchase"):
        Certificate.from_dict(written | {"purchases": [{"fields": []}]})
    with pytest.raises(lw.ParameterError, match="part of the delta"):
        Certificate.from_dict(written | {"delta": {"exact": "1"}})


def test_a_saved_release_and_its_report_keep_what_was_bought(tmp_path):
    release = lw.synthesize(TABLE, bought(PURE), epsilon=1)
    release.save(tmp_path / "r.lapwing")

    again = lw.load(tmp_path / "r.lapwing")
    again.to_html(tmp_path / "r.html")

    assert again.schema.purchases == again.certificate.purchases == (PURE,)
    page = (tmp_path / "r.html").read_text()
    assert "were bought before for epsilon 0.3333" in page
    assert "Together with what was bought before" in page


def test_of_many_purchases_the_first_are_told_and_all_are_added_up():
    schema = bought(*(replace(PURE, release=str(each)) for each in range(20)))

    written = lw.synthesize(TABLE, schema, epsilon=1).certificate

    assert written.text().count("were bought before for") == 8
    assert "There are 12 earlier purchases more." in written.text()
    assert written.together.total.epsilon == 1 + Fraction(20, 3)
