import json
import warnings

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.errors import ParameterError, SchemaError
from lapwing.model.certificate.notices import Notice

DATA = pl.DataFrame({"age": [20, 60] * 500, "town": ["Rome", "Oslo"] * 500, "left": [True, False] * 500})
AGE = {"name": "age", "type": "integer", "provenance": "dp"}
TOWN = {"name": "town", "type": "string", "provenance": "dp"}
LEFT = {"name": "left", "type": "boolean", "provenance": "public"}


def learned(*fields, **settings):
    return lw.Schema.learn(DATA, {"fields": list(fields)}, epsilon=100, **settings)


@pytest.mark.parametrize("fields", [None, ["age"]], ids=["blank", "named"])
def test_a_field_that_only_a_program_has_looked_at_is_not_learned(fields):
    with pytest.raises(ParameterError, match='field "age": its provenance is still drafted; check its type'):
        learned({**AGE, "provenance": "drafted"}, LEFT, fields=fields)


def test_a_draft_that_nobody_has_edited_leads_to_no_release():
    drafted = lw.Schema.draft(DATA)

    with pytest.raises(ParameterError, match="still drafted"):
        lw.Schema.learn(DATA, drafted, epsilon=1, delta=1e-6)
    with pytest.raises(SchemaError, match="draft"):
        lw.synthesize(DATA, drafted, epsilon=1)


def test_a_drafted_field_beside_learned_ones_keeps_the_result_a_draft():
    found = learned(AGE, {**LEFT, "provenance": "drafted"})

    assert found.is_draft
    with pytest.raises(SchemaError, match="draft"):
        lw.synthesize(DATA, found, epsilon=1)


QUESTIONS = ["whose rows are protected together", "whether ages are whole"]


def test_open_questions_are_answered_before_anything_is_learned_or_released(tmp_path):
    known = {**AGE, "constraints": {"minimum": 0, "maximum": 99}, "provenance": "public"}
    with pytest.raises(
        SchemaError, match=r"an open question: whose rows are protected together \(and 1 more\); answer"
    ):
        lw.Schema.learn(DATA, {"fields": [AGE], "questions": QUESTIONS}, epsilon=1)
    with pytest.raises(SchemaError, match="open question"):
        lw.synthesize(DATA, {"fields": [known], "questions": QUESTIONS[:1]}, epsilon=1)

    schema = lw.Schema.load_draft({"fields": [known], "questions": QUESTIONS})
    schema.save(tmp_path / "s.json")

    assert schema.is_draft
    assert lw.Schema.load_draft(tmp_path / "s.json").questions == tuple(QUESTIONS)
    assert not lw.Schema.load({"fields": [known], "questions": []}).is_draft


@pytest.mark.parametrize(
    ("field", "settings"),
    [(TOWN, {"dictionaries": {"town": ["Rome", "Oslo"]}}), ({**AGE, "special": [60]}, {})],
    ids=["dictionary", "special"],
)
def test_what_rests_on_lists_that_are_assumed_stays_assumed(field, settings):
    assumed = learned({**field, "provenance": "assumed"}, **settings)
    bought = learned(field, **settings)

    assert assumed.fields[0].provenance == "assumed"
    assert bought.fields[0].provenance == "dp"


def test_what_was_not_found_is_a_warning_in_python_and_no_filter_loses_what_is_paid_for():
    with pytest.warns(lw.LapwingWarning, match="field 'age': the noise hides where its values lie"):
        found = lw.Schema.learn(DATA, {"fields": [AGE]}, epsilon="1e-6")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = lw.Schema.learn(DATA, {"fields": [AGE]}, epsilon="1e-6")

    assert found.is_draft
    assert len(again.purchases) == 1


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (["--epsilon", "100"], "--epsilon E -o OUT.parquet`"),
        (["--rho", "100"], "--rho R -o OUT.parquet`"),
        (["--epsilon", "100", "--delta", "1e-6"], "--epsilon E --delta D -o OUT.parquet`"),
        (["--rho", "100", "--neighbours", "replace-one"], "--rho R --neighbours replace-one -o OUT.parquet`"),
    ],
    ids=["pure", "rho", "delta", "neighbours"],
)
def test_the_next_command_goes_on_in_the_same_terms(budget, says, tmp_path):
    DATA.write_csv(tmp_path / "t.csv")
    (tmp_path / "s.json").write_text(json.dumps({"fields": [AGE, LEFT]}))

    said = lapwing(
        "schema", "learn", tmp_path / "t.csv", "--schema", tmp_path / "s.json", *budget, "-o", tmp_path / "l"
    )

    assert f"Next: `lapwing synthesize {tmp_path / 't.csv'} --schema {tmp_path / 'l'} {says}" in said.out


def test_what_a_quantile_leaves_out_is_told_before_anything_is_spent(tmp_path):
    DATA.write_csv(tmp_path / "t.csv")
    (tmp_path / "s.json").write_text(json.dumps({"fields": [AGE, LEFT]}))
    learn = ["schema", "learn", tmp_path / "t.csv", "--schema", tmp_path / "s.json", "--epsilon", "100"]

    said = lapwing(*learn, "--quantile", "0.01", "-o", tmp_path / "l")

    assert "rows, and 0.01 of all rows, at each end, of age." in said.err


def test_nothing_hidden_in_a_name_reaches_the_screen(tmp_path):
    name = "red\x1b[31m"
    DATA.rename({"age": name}).write_parquet(tmp_path / "t.parquet")
    (tmp_path / "s.json").write_text(json.dumps({"fields": [{**AGE, "name": name}]}))
    learn = ["schema", "learn", tmp_path / "t.parquet", "--schema", tmp_path / "s.json"]

    said = [
        lapwing(*learn, "--epsilon", epsilon, "-o", tmp_path / f"{epsilon}.json") for epsilon in ("100", "0.000001")
    ]

    assert [ran.status for ran in said] == [0, 0]
    assert "\x1b" not in "".join(ran.out + ran.err for ran in said)


PAID = {"fields": ["age"], "notion": "pure", "amount": "1/10", "relation": "add-remove", "privacyUnit": "row"}
PAID |= {"release": "r", "lapwing": "0.1"}


def test_what_was_bought_under_another_promise_is_a_warning_of_every_release():
    known = {**AGE, "constraints": {"minimum": 0, "maximum": 99}}
    schema = {"fields": [known, {**TOWN, "role": "identifier"}], "purchases": [PAID]}
    alike = lw.synthesize(DATA, schema, epsilon=1).certificate.warnings

    units = {**schema, "privacyUnit": {"field": "town", "maxRows": 3}}
    other = lw.synthesize(DATA, units, epsilon=1).certificate.warnings

    assert not any(each.code == "other_terms" for each in alike)
    assert Notice("other_terms", {"fields": ("age",), "unit": "row", "relation": "add-remove"}) in other
