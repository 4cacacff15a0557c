"""Warnings of a certificate about cells that do not fit the schema, made from noisy counts alone."""

import polars as pl
import pytest

import lapwing as lw

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}}
PAID = {"name": "paid", "type": "number", "constraints": {"minimum": 0, "maximum": 500}}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
SCHEMA = {"fields": [AGE, PAID, SEX]}


def warnings_of(ages, paid, mechanism):
    rows = len(ages)
    table = pl.DataFrame({"age": ages, "paid": paid, "sex": ["f", "m"] * (rows // 2)}, schema_overrides={"age": str})
    return lw.synthesize(table, SCHEMA, epsilon=5, mechanism=mechanism, misfits=1).certificate.warnings


@pytest.mark.parametrize("mechanism", ["Independent", "Adaptive"])
def test_a_column_in_another_format_is_warned_of(mechanism):
    ages, paid = ["3 years"] * 1000 + ["40"] * 1000, ["7,50"] * 2000

    said = warnings_of(ages, paid, mechanism)

    shares = {each.fields["column"]: each.fields["share"] for each in said if each.code.startswith("column_invalid")}
    assert shares["age"] > 0.05
    assert shares["paid"] > 0.9
    assert not any("3 years" in each.text or "7,50" in each.text for each in said)


@pytest.mark.parametrize("mechanism", ["Independent", "Adaptive"])
def test_few_misfits_and_usual_gaps_are_no_news(mechanism):
    ages, paid = ["?"] * 20 + ["40"] * 1980, ["7.5"] * 1000 + [None] * 1000

    said = warnings_of(ages, paid, mechanism)

    assert not any("column" in each.fields for each in said)


def test_only_what_is_missing_together_is_said_to_be_kept():
    fields = [{**PAID, "name": name} for name in "abc"]
    # By the public number of rows such tables are worth their noise. Values are told apart in them where noisy counts
    # find about 200 rows with one: 4 are, and noise of 190 rows has a chance below 1e-10 (Laplace, scale 8).
    table = pl.DataFrame({name: [1.0] * 4 + [None] * 156 for name in "abc"})

    release = lw.synthesize(table, {"fields": fields}, epsilon=1, expected_rows=160)

    assert {len(line.columns) for line in release.certificate.lines} == {1, 2}
    assert any(each.code == "relations_of_missing" for each in release.certificate.warnings)
