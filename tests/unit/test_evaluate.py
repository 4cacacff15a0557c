"""lw.evaluate: a synthetic table against the real one, with the reference rows."""

import json

import jsonschema
import numpy as np
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


def worst(evaluation):
    return dict(evaluation.findings.tables["synthetic"][0].worst())


def test_a_table_is_as_the_real_one_where_it_is_the_real_one():
    found = lw.evaluate(table(1), table(1), SCHEMA)

    assert means(found) == [0, 0, 0]
    assert means(found, "independent")[0] == 0
    assert all(0 < mean < 0.4 for mean in means(found, "bootstrap"))
    assert means(found, "independent")[1] > means(found, "bootstrap")[1]


def test_misfits_missing_and_special_values_are_cells_of_their_own():
    cells = pl.DataFrame({"age": [-1, None, 5, 120], "sex": ["other", "m", "m", "m"]})
    schema = {"fields": SCHEMA["fields"][:2]}

    found = lw.evaluate(cells, cells.with_columns(age=pl.lit(5), sex=pl.lit("m")), schema)

    assert worst(found) == {("age",): 0.75, ("sex",): 0.25}


def marked(name):
    return {"fields": [each | {"role": "target"} if each["name"] == name else each for each in SCHEMA["fields"]]}


def test_the_column_that_a_schema_marks_is_predicted_where_it_has_few_values():
    asked = lw.evaluate(table(1), table(2), SCHEMA, target="rich", seed=5).to_dict()

    assert lw.evaluate(table(1), table(2), marked("rich"), seed=5).to_dict()["downstream"] == asked["downstream"]
    assert lw.evaluate(table(1), table(2), marked("height"), seed=5).to_dict()["downstream"] is None


def test_single_columns_are_compared_beside_the_bootstrap():
    real = pl.DataFrame({"age": [10, 30, None, -1], "sex": ["f"] * 4, "rich": [True, True, None, None]})
    synthetic = pl.DataFrame({"age": [50, 50, None, None], "sex": ["f"] * 4, "rich": [True] * 4})

    found = lw.evaluate(real, synthetic, {"fields": SCHEMA["fields"][:3]})

    age, sex, rich = found.findings.columns["synthetic"]
    # Mean 20 and deviation 10 against 50 and 0.
    assert (age.missing, age.special, age.numbers.mean, age.numbers.deviation) == (0.25, ((-1, -0.25),), 3, -1)
    assert (sex.missing, sex.special, sex.numbers) == (None, (), None)
    assert (rich.missing, rich.numbers) == (-0.5, None)
    assert [each.column for each in found.findings.columns["bootstrap"]] == ["age", "sex", "rich"]
    assert found.findings.columns["bootstrap"] != found.findings.columns["synthetic"]


def test_what_is_missing_together_and_where_is_compared_beside_reference_rows():
    age, rich = [None, None, 5, 5] * 50, [None, None, True, False] * 50
    real = pl.DataFrame({"age": age, "sex": ["f", "f", "m", "m"] * 50, "rich": rich})
    synthetic = real.with_columns(rich=pl.Series(rich[1:] + rich[:1]))

    found = lw.evaluate(real, synthetic, {"fields": SCHEMA["fields"][:3]})

    # A quarter of the rows lack both, rich alone, age alone and none, against half both and half none.
    assert found.findings.together["synthetic"].mean == 0.5
    assert dict(found.findings.given["synthetic"].worst())["rich", "sex"] == 0.5
    assert dict(found.findings.given["synthetic"].worst())["age", "sex"] == 0
    for gaps in (found.findings.together, found.findings.given):
        floor, lazy = references(gaps)
        assert floor.mean < 0.2 < lazy.mean


def references(gaps):
    return gaps["bootstrap"], gaps["independent"]


def test_all_ordered_columns_at_once_are_compared_beside_reference_rows():
    real = table(1)
    synthetic = real.with_columns(rich=pl.col("rich").reverse())

    found = figure(lw.evaluate(real, synthetic, SCHEMA), "mmd")

    assert found["columns"] == 4
    sizes = {name: each["value"] for name, each in found["values"].items()}
    assert sizes["bootstrap"] < sizes["independent"] / 2
    # Shuffled by itself, or only the column that the others tell of: about the same is lost.
    assert sizes["synthetic"] == pytest.approx(sizes["independent"], rel=0.3)


def figure(evaluation, key):
    """Return the entry of one metric, or None."""
    return next((each for each in evaluation.to_dict()["metrics"] if each["key"] == key), None)


def test_a_target_is_predicted_from_synthetic_rows_and_from_real_ones():
    synthetic = table(2).with_columns(rich=pl.Series(np.random.default_rng(3).random(600) < 0.5))

    found = lw.evaluate(table(1), synthetic, SCHEMA, target="rich").findings.downstream

    assert (found.target, found.floor) == ("rich", 0.5)
    # A fifth of the ages are missing or special, and the 120 rows held back are few: standard deviation below 0.06.
    assert found.ceiling > 0.8
    assert 0.2 < found.auc < 0.8


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


def test_the_result_shows_no_figure_by_accident():
    assert repr(lw.evaluate(table(1), table(2), SCHEMA)) == "Evaluation(internal - do not publish)"


def test_rows_of_a_privacy_unit_are_all_compared():
    fields = [{"name": "id", "type": "integer", "role": "identifier"}, *SCHEMA["fields"][1:3]]
    schema = {"fields": fields, "privacyUnit": {"field": "id", "maxRows": 1}}
    real = pl.DataFrame({"id": [1, 1, 1, 2], "sex": ["f", "f", "f", "m"], "rich": [True] * 4})

    found = lw.evaluate(real, real.drop("id"), schema)

    assert (found.findings.rows, means(found)) == (4, [0, 0])


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


def test_real_rows_given_as_test_rows_are_named():
    found = lw.evaluate(table(1), table(2), SCHEMA, test=table(1)).to_dict()["notes"]
    other = lw.evaluate(table(1), table(2), SCHEMA, test=table(3)).to_dict()["notes"]

    assert any("the test rows are the real rows" in note for note in found)
    assert other == []


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
