"""An evaluation as a whole: its sections, its internal look, and the rules it tells."""

import datetime as dt
import json
import re
import subprocess
import sys

import jsonschema
import numpy as np
import polars as pl
import pytest

import lapwing as lw
from conftest import EXAMPLES
from helpers import canary
from helpers.command import lapwing
from helpers.evaluations import METRICS, table
from helpers.natural_rules import TABLES, fields_of, schema_of
from helpers.plain_rules import broken_rows
from helpers.saved import small_saved
from lapwing.errors import DataError, SchemaError
from lapwing.extras.evaluate.internal.schemas import FieldFit, check_declared, check_table, check_units, draft_schema
from lapwing.extras.evaluate.metrics.declared import compare_declared
from lapwing.extras.evaluate.report.compared import compared_sections
from lapwing.present.document import Table
from lapwing.release.marked import Internal
from lapwing.release.release import Release
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

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

    said = lw.evaluate(rows, rows, {"fields": fields}).summary(details=True)

    assert "a�[2J�b" in said
    assert "\x1b" not in said
    assert "\u202e" not in said


def small_release():
    saved = small_saved()
    return Release.of_one(saved)


@pytest.fixture(scope="module")
def adult():
    schema = lw.Schema.load(EXAMPLES / "adult.schema.json").select(["age", "sex", "capital_gain", "education"])
    return lw.synthesize(EXAMPLES / "adult.parquet", schema, epsilon=1, mechanism=lw.Independent())


def test_a_report_is_the_same_from_memory_from_the_file_in_another_process_and_from_the_command(tmp_path):
    release = small_release()
    release.to_html(tmp_path / "memory.html")
    release.save(tmp_path / "m.lapwing")
    lw.load(tmp_path / "m.lapwing").to_html(tmp_path / "file.html")
    code = "import sys, lapwing; lapwing.load(sys.argv[1]).to_html(sys.argv[2])"
    command = [sys.executable, "-c", code, "m.lapwing", "process.html"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = lapwing("report", tmp_path / "m.lapwing", "-o", tmp_path / "command.html")

    files = {name: (tmp_path / f"{name}.html").read_bytes() for name in ("memory", "file", "process", "command")}

    assert (said.status, said.out) == (0, "")
    assert said.err == f"lapwing: report: {tmp_path / 'command.html'}\n"
    assert len(set(files.values())) == 1
    assert files["memory"].count(b"<svg") >= 4


def test_the_command_writes_the_whole_file_or_nothing(tmp_path):
    small_release().save(tmp_path / "m.lapwing")
    (tmp_path / "other.lapwing").write_text("no model")

    assert "not" in lapwing("report", tmp_path / "other.lapwing", "-o", tmp_path / "r.html").error
    assert "m.lapwing" in lapwing("report", tmp_path / "m.lapwing", "-o", tmp_path / "m.lapwing").error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.lapwing", "other.lapwing"]


def test_a_report_refers_to_no_file_of_the_handbook(adult, tmp_path):
    adult.to_html(tmp_path / "r.html")

    assert re.search(r"docs/|\.md\b", (tmp_path / "r.html").read_text()) is None


AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}}
JOB = {"name": "job", "type": "string", "categories": ["none", "part", "full"]}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
RULES = [
    {"when": {"age": {"maximum": 14}}, "then": {"job": None, "sex": ["f", "m"]}},
    {"never": {"job": "full", "sex": "m"}, "provenance": "assumed"},
]
TOTALS = [
    {"columns": ["sex"], "cells": [["f", 3], ["m", 1]], "source": "a register", "provenance": "public", "hold": "exact"}
]
DECLARED_SCHEMA = {"fields": [AGE, JOB, SEX], "rules": RULES, "publicTables": TOTALS}
KEPT = pl.DataFrame({"age": [3, 40, 50, 60], "job": [None, "full", "part", None], "sex": ["f", "f", "m", "f"]})
BROKEN = pl.DataFrame({"age": [3, 4, 50, 60], "job": ["full", None, "full", "none"], "sex": ["m", "m", "m", "f"]})


def evaluated(real=KEPT, synthetic=BROKEN, schema=DECLARED_SCHEMA):
    return lw.evaluate(real, synthetic, schema)


def test_rows_that_break_a_rule_are_counted_in_both_tables():
    found = evaluated().to_dict()["declared"]

    assert [fit["broken"]["real"] for fit in found["rules"]] == [0, 0]
    assert [fit["broken"]["synthetic"] for fit in found["rules"]] == [1, 2]
    assert [fit["provenance"] for fit in found["rules"]] == ["public", "assumed"]
    assert found["broken"]["synthetic"] == 2  # one row breaks both


def test_the_gap_to_a_public_table_is_the_share_of_rows_that_would_have_to_change():
    (fit,) = evaluated().to_dict()["declared"]["totals"]

    assert fit["gaps"]["real"] == 0
    assert fit["gaps"]["synthetic"] == pytest.approx(0.5)
    assert fit["source"] == "a register"


def test_cells_that_do_not_fit_the_schema_break_no_rule_and_lie_in_no_cell_of_a_total():
    odd = KEPT.with_columns(age=pl.Series([3, 40, 50, 60]), sex=pl.Series(["f", "f", "alien", "f"]))
    odd = odd.with_columns(job=pl.Series([None, "full", "full", None]))

    found = evaluated(synthetic=odd).to_dict()["declared"]

    assert found["broken"]["synthetic"] == 0
    assert found["totals"][0]["gaps"]["synthetic"] == pytest.approx(0.25)


def test_a_schema_that_declares_nothing_has_no_such_figures():
    found = evaluated(schema={"fields": [AGE, JOB, SEX]})

    assert found.to_dict()["declared"] is None
    assert "break" not in found.summary(details=True)
    assert "rules" not in sections({"fields": [AGE, JOB, SEX]})


def test_the_page_lists_every_rule_and_marks_the_broken_ones():
    section = sections()["rules"]
    rules, totals = [part for part in section.parts if isinstance(part, Table)]

    assert [line[1:3] for line in rules.lines] == [("0 %", "50.00 %"), ("0", "2"), ("0", "1")]
    assert rules.marked == (1, 2)
    assert totals.lines[0][:3] == ("sex", "0 %", "50.00 %")


def sections(schema=DECLARED_SCHEMA):
    checked = Schema.from_dict(schema)
    return {each.key: each for each in compared_sections(evaluated(schema=schema).findings, checked)}


def test_a_check_of_a_schema_with_data_counts_the_rows_that_break_each_rule(tmp_path):
    said = checked(tmp_path, BROKEN)

    assert "internal - do not publish" in said.out
    assert "2 of 4 rows break a rule" in said.out
    counted = said.out.split("break a rule")[1]
    assert line(counted, "never job is full and sex is m").endswith(" 2")
    assert line(counted, "when age is at most 14").endswith(" 1")
    assert counted.splitlines()[-2].split() == ["sex", "4", "4", "50.00%", "exact"]
    # Numbers end below the end of their head.
    head, *numbers = counted.splitlines()[1:4]
    assert {len(each) for each in numbers} == {len(head)}


def test_all_rows_of_a_unit_are_counted():
    people = {"name": "person", "type": "integer", "role": "identifier"}
    schema = DECLARED_SCHEMA | {"fields": [AGE, JOB, SEX, people], "privacyUnit": {"field": "person", "maxRows": 1}}

    found = check_declared(BROKEN.with_columns(person=pl.lit(1)), Schema.from_dict(schema)).value

    assert [fit.broken["real"] for fit in found.rules] == [1, 2]


def test_a_check_of_a_schema_alone_lists_values_that_no_row_can_have(tmp_path):
    rules = [{"never": {"job": "full"}}, {"when": {"sex": "m"}, "then": {"age": {"maximum": 14}}}]
    rules += [{"when": {"sex": "m"}, "then": {"age": {"minimum": 15}}}]

    said = checked(tmp_path, schema={"fields": [AGE, JOB, SEX], "rules": rules})

    assert "job: full" in said.out
    assert "sex: m" in said.out
    assert "job: none" not in said.out


def checked(tmp_path, data=None, schema=DECLARED_SCHEMA):
    (tmp_path / "s.json").write_text(json.dumps(schema))
    if data is None:
        return lapwing("schema", "check", tmp_path / "s.json")
    data.write_parquet(tmp_path / "rows.parquet")
    return lapwing("schema", "check", tmp_path / "s.json", tmp_path / "rows.parquet")


def line(text, part):
    return next(each.rstrip() for each in text.splitlines() if part in each)


@pytest.mark.parametrize("name", TABLES)
def test_counts_of_rows_that_break_a_rule_are_those_of_the_plain_checker(name, shared_data):
    mapping = schema_of(shared_data, name)
    table = pl.read_parquet(shared_data / name / "data.parquet").head(4000)
    rng = np.random.default_rng(5)
    shuffled = table.select(table[column].shuffle(seed=int(rng.integers(2**31))) for column in table.columns)

    for rows in (table, shuffled):
        found = check_declared(rows, Schema.from_dict(mapping)).value

        plain = [broken_rows(rows, rule, fields_of(shared_data, name)) for rule in mapping["rules"]]
        assert [fit.broken["real"] for fit in found.rules] == plain
    assert any(plain)


def test_a_table_without_rows_breaks_nothing():
    codes = {name: np.zeros(0, dtype=np.int64) for name in ("age", "job", "sex")}

    found = compare_declared({"real": codes}, Schema.from_dict(DECLARED_SCHEMA))

    assert found.broken == {"real": 0}


FIELDS = {
    "age": {"type": "integer", "constraints": {"minimum": 0, "maximum": 120}, "special": [999]},
    "height": {"type": "number", "constraints": {"minimum": 0.5, "maximum": 2.5}},
    "sex": {"type": "string", "categories": ["f", "m"]},
    "born": {"type": "date", "constraints": {"minimum": "1900-01-01", "maximum": "2020-12-31"}},
    "seen": {"type": "datetime", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    "pay": {"type": "integer", "constraints": {"minimum": -50, "maximum": 1020}, "resolution": 100},
    "month": {"type": "date", "constraints": {"minimum": "2020-01-10", "maximum": "2020-03-10"}, "resolution": "month"},
    "year": {
        "type": "datetime",
        "constraints": {"minimum": "2019-01-10", "maximum": "2020-03-10"},
        "resolution": "year",
    },
    "week": {"type": "date", "constraints": {"minimum": "2020-01-10", "maximum": "2020-03-10"}, "resolution": "week"},
}


def fit(name, cells, *, required=False):
    field = {"name": name, **FIELDS[name]}
    field["constraints"] = {**field.get("constraints", {}), "required": required}
    (found,) = check_table(pl.DataFrame({name: cells}), Schema.from_dict({"fields": [field]})).value
    return found


def counts(found):
    return found.cells, found.missing, found.clamped, found.misfit


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("age", [0, 120, 999, None], (4, 1, 0, 0)),
        ("age", [-1, 121, 37], (3, 0, 2, 0)),
        ("age", [0.5, float("nan"), float("inf"), 200.0], (4, 1, 1, 2)),
        ("age", ["37", "121", "999", "", "N/A", None], (6, 2, 1, 1)),
        ("height", [0.5, 2.5, 0.4999999, 2.5000001, None], (5, 1, 2, 0)),
        ("height", ["1.7", "-inf", "9", "tall"], (4, 0, 1, 2)),
        ("sex", ["f", "m", "x", "", None], (5, 2, 0, 1)),
        ("born", [dt.date(1899, 12, 31), dt.date(1900, 1, 1), dt.date(2020, 12, 31), None], (4, 1, 1, 0)),
        ("born", ["1900-01-01", "2021-01-01", "yesterday"], (3, 0, 1, 1)),
        ("seen", [dt.datetime(2020, 12, 31, 23, 59, 59), dt.datetime(2021, 1, 1), None], (3, 1, 1, 0)),
        ("pay", [-50, -51, 1020, 1021, 3, None], (6, 1, 2, 0)),
        ("month", ["2020-01-10", "2020-01-09", "2020-03-10", "2020-03-11", ""], (5, 1, 2, 0)),
        ("year", ["2019-01-10", "2019-01-09", "2020-03-10T23:59", "2020-03-11", ""], (5, 1, 2, 0)),
        ("week", ["2020-01-10", "2020-01-09", "2020-03-10", "2020-03-11", ""], (5, 1, 2, 0)),
        ("seen", ["2020-12-31T23:59:59.5", "2019-01-01 00:00", "noon"], (3, 0, 1, 1)),
    ],
)
def test_cells_are_counted_by_how_they_fit(name, cells, expected, required):
    assert counts(fit(name, cells, required=required)) == expected


def test_a_text_for_missing_is_missing():
    schema = Schema.from_dict({"missingValues": ["", "?"], "fields": [{"name": "sex", **FIELDS["sex"]}]})

    (found,) = check_table(pl.DataFrame({"sex": ["f", "?", "x"]}), schema).value

    assert found == FieldFit(name="sex", cells=3, missing=1, clamped=0, special=0, misfit=1)


def test_a_missing_column_is_refused_and_any_value_of_its_type_fits_what_a_draft_leaves_open():
    whole = Schema.from_dict({"fields": [{"name": "sex", **FIELDS["sex"]}]})
    draft = draft_schema(pl.DataFrame({"age": [1]})).value

    with pytest.raises(DataError, match='no column "sex"'):
        check_table(pl.DataFrame({"age": [1]}), whole)

    (fit,) = check_table(pl.DataFrame({"age": ["1", "62,8", "NA", None]}), draft).value
    assert (fit.cells, fit.missing, fit.misfit) == (4, 1, 2)
    assert fit.cure == 'write "type": "number", "decimalChar": "," in its field; list "NA" in missingValues'


UNITS_FIELDS = [{"name": "id", "type": "string", "role": "identifier"}, {"name": "flag", "type": "boolean"}]


def units_schema_of(max_rows):
    return Schema.from_dict({"fields": UNITS_FIELDS, "privacyUnit": {"field": "id", "maxRows": max_rows}})


def units_table(ids):
    return pl.DataFrame({"id": pl.Series(ids, dtype=pl.String), "flag": [True] * len(ids)})


IDS = ["a"] * 7 + ["b"] * 2 + ["7", "7.0", "07", "7"] + [None, "", None]


def test_units_are_counted_as_a_release_tells_them_apart():
    found = check_units(units_table(IDS), units_schema_of(2))

    assert isinstance(found, Internal)
    assert (found.value.rows, found.value.units, found.value.rows_without) == (16, 5, 3)
    assert (found.value.largest, found.value.mean) == (7, 16 / 5)


@pytest.mark.parametrize("max_rows", [1, 2, 3, 4, 100])
def test_what_each_max_rows_would_keep_is_what_a_release_keeps(max_rows):
    found = check_units(units_table(IDS), units_schema_of(max_rows)).value

    assert [limit for limit, _ in found.kept] == sorted({1, 2, 3, 5, 10, max_rows})
    for limit, kept in found.kept:
        assert code_table(units_table(IDS), units_schema_of(limit)).rows == kept
    assert found.dropped_share == 1 - dict(found.kept)[max_rows] / 16


def test_units_whose_rows_lie_in_several_files_are_one(tmp_path):
    paths = [tmp_path / name for name in ("1.parquet", "2.parquet")]
    for path in paths:
        units_table(IDS).write_parquet(path)

    found = check_units(paths, units_schema_of(2)).value

    assert (found.rows, found.units, found.largest) == (32, 5, 14)


def test_a_schema_without_unit_and_a_table_without_its_column_are_refused():
    with pytest.raises(SchemaError, match="the schema has no privacyUnit, so every row is a unit; name one"):
        check_units(units_table(IDS), Schema.from_dict({"fields": UNITS_FIELDS}))
    with pytest.raises(DataError, match='no column "id"'):
        check_units(units_table(IDS).drop("id"), units_schema_of(2))


PAID = {"name": "paid", "type": "number", "constraints": {"minimum": 0, "maximum": 500}}
WARNED_SCHEMA = {"fields": [AGE, PAID, SEX]}


def warnings_of(ages, paid, mechanism):
    rows = len(ages)
    table = pl.DataFrame({"age": ages, "paid": paid, "sex": ["f", "m"] * (rows // 2)}, schema_overrides={"age": str})
    return lw.synthesize(table, WARNED_SCHEMA, epsilon=5, mechanism=mechanism, misfits=1).certificate.warnings


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
