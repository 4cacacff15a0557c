"""lw.evaluate: a synthetic table against the real one, with the reference rows."""

import json

import jsonschema
import polars as pl
import pytest

import lapwing as lw
from helpers import canary
from helpers.evaluations import METRICS, table

SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]},
        {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}},
        {"name": "rich", "type": "boolean"},
        {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 3}},
    ]
}


def means(evaluation, name="synthetic"):
    return [each.mean for each in evaluation.findings.tables[name]]


def test_a_table_is_as_the_real_one_where_it_is_the_real_one():
    found = lw.evaluate(table(1), table(1), SCHEMA)

    assert means(found) == [0, 0, 0]
    assert means(found, "independent")[0] == 0
    assert all(0 < mean < 0.4 for mean in means(found, "bootstrap"))
    assert means(found, "independent")[1] > means(found, "bootstrap")[1]


def test_the_seed_fixes_every_figure():
    rows = table(1, 200), table(2, 200)
    runs = [lw.evaluate(*rows, SCHEMA, target="rich", seed=seed).to_dict() for seed in (5, 5, 6)]

    assert runs[0] == runs[1]
    assert runs[0]["total_variation"]["bootstrap"] != runs[2]["total_variation"]["bootstrap"]
    assert runs[0]["total_variation"]["synthetic"] == runs[2]["total_variation"]["synthetic"], "4 triples: all of them"


@pytest.mark.parametrize("target", [None, "rich"])
def test_the_figures_are_json_of_one_form_under_the_notice(target):
    figures = json.loads(json.dumps(lw.evaluate(table(1), table(2), SCHEMA, target=target).to_dict(), allow_nan=False))

    jsonschema.Draft202012Validator(METRICS).validate(figures)
    assert figures["notice"] == "internal - do not publish"
    assert [each["possible"] for each in figures["total_variation"]["synthetic"]] == [4, 6, 4]
    assert (figures["downstream"] is None) == (target is None)


@pytest.mark.parametrize("which", [0, 1])
def test_an_empty_table_is_refused(which):
    tables = [table(1), table(2)]
    tables[which] = tables[which][:0]

    with pytest.raises(lw.DataError, match=f"the {['real', 'synthetic'][which]} table has no row"):
        lw.evaluate(*tables, SCHEMA)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(lw.DataError, match='no column "age"'):
        lw.evaluate(table(1), table(2).drop("age"), SCHEMA)
    with pytest.raises(lw.ParameterError, match="no modelled column"):
        lw.evaluate(table(1), table(2), SCHEMA, target="poor")
    with pytest.raises(lw.ParameterError, match="seed must be"):
        lw.evaluate(table(1), table(2), SCHEMA, seed=-1)


def test_errors_lead_to_no_row():
    rows = table(1).with_columns(sex=pl.lit(canary.TEXT), rich=pl.lit(True))

    for tables in [(rows, rows[:0]), (rows[:0], rows), (rows, rows.drop("age"))]:
        with pytest.raises(lw.LapwingError) as caught:
            lw.evaluate(*tables, SCHEMA)
        assert canary.leaks(caught.value) == []


def test_a_release_of_other_columns_is_refused():
    other = lw.synthesize(table(1).select("sex"), {"fields": SCHEMA["fields"][1:2]}, epsilon=1, misfits=1)

    with pytest.raises(lw.ParameterError, match=r'same columns, "age" is in one only'):
        lw.evaluate(table(1), table(2), SCHEMA, model=other)


def test_nothing_hidden_in_a_name_reaches_the_summary():
    fields = [{"name": "a\x1b[2J\u202eb", "type": "boolean"}, {"name": "c", "type": "boolean"}]
    rows = pl.DataFrame({field["name"]: [True, False, None] * 20 for field in fields})

    said = lw.evaluate(rows, rows, {"fields": fields}).summary()

    assert "a�[2J�b" in said
    assert "\x1b" not in said
    assert "\u202e" not in said
