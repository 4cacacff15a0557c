import json

import polars as pl
import pytest

from helpers.command import lapwing

SCHEMA = {
    "name": "people",
    "privacyUnit": {"field": "id", "maxRows": 3},
    "fields": [
        {"name": "id", "type": "integer", "role": "identifier"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}, "provenance": "public"},
        {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}},
    ],
}


@pytest.fixture
def schema_file(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return path


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.parquet"
    pl.DataFrame({"id": [1, 2, 3], "age": [30, 130, None], "sex": ["f", "canary", "m"]}).write_parquet(path)
    return path


def test_check_of_a_long_schema_fits_one_screen(tmp_path):
    fields = [{"name": f"column {number}", "type": "boolean"} for number in range(300)]
    (tmp_path / "s.json").write_text(json.dumps({"fields": fields}))

    out = lapwing("schema", "check", tmp_path / "s.json").out

    assert out.count("\n") < 52
    assert "and 260 more" in out
    assert "and 290 more" in out


def without_unit(schema_file):
    schema_file.write_text(json.dumps({key: value for key, value in SCHEMA.items() if key != "privacyUnit"}))


def test_check_with_data_counts_misfits_and_says_that_this_is_internal(schema_file, data):
    without_unit(schema_file)

    said = lapwing("schema", "check", schema_file, data)

    assert said.status == 0
    assert "internal" in said.err
    assert "\ninternal - do not publish\n" in said.out
    assert said.out.splitlines()[-2].split() == ["age", "3", "1", "0", "1", "0"]
    assert said.out.splitlines()[-1].split() == ["sex", "3", "0", "0", "0", "1"]
    assert "canary" not in said.out + said.err


def test_a_draft_is_blank_and_says_how_it_was_made(tmp_path, data):
    said = lapwing("schema", "draft", data, "-o", tmp_path / "draft.json")

    assert said.status == 0
    assert said.out.startswith("\ninternal - do not publish\n")
    assert "looking at the private table's column names and types" in said.err
    assert "if a person may own several rows, protect them together" in said.err
    drafted = json.loads((tmp_path / "draft.json").read_text())
    assert drafted["draft"] is True
    assert drafted["fields"][1]["constraints"] == {"minimum": None, "maximum": None}
    assert drafted["fields"][2]["categories"] is None


def test_a_draft_is_refused_until_its_owner_has_edited_it(tmp_path, data):
    path = tmp_path / "draft.json"
    lapwing("schema", "draft", data, "-o", path)
    release = ("synthesize", data, "--epsilon", "1", "-o", tmp_path / "rows.csv", "--schema", path)

    blank = lapwing(*release)
    drafted = json.loads(path.read_text())
    drafted["fields"] = SCHEMA["fields"]
    path.write_text(json.dumps(drafted))
    filled = lapwing(*release)
    drafted["fields"] = [{**field, "provenance": "drafted"} for field in SCHEMA["fields"]]
    del drafted["draft"]
    path.write_text(json.dumps(drafted))
    untouched = lapwing(*release)
    drafted["fields"] = SCHEMA["fields"]
    path.write_text(json.dumps(drafted))
    edited = lapwing(*release)

    assert 'draft.json" is a draft; still open: id (minimum, maximum, provenance), age (' in blank.error
    assert "is a draft" in filled.error
    assert "its provenance is still drafted" in untouched.error
    assert edited.status == 0, edited.err


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_texts_that_a_spreadsheet_takes_for_formulas_are_remarked(tmp_path, first):
    texts = [f"{first}cmd|' /C calc'!A1", f"{first}A1", "-1", "+1.5", "-2e3", "a=b", "1-2"]
    field = {"name": "x", "type": "string", "categories": texts}
    named = {"name": f"{first}SUM(A1)", "type": "boolean"}
    plain = {"name": "y", "type": "string", "categories": texts[2:]}
    (tmp_path / "s.json").write_text(json.dumps({"fields": [field, named, plain]}))

    said = lapwing("schema", "check", tmp_path / "s.json")

    lines = said.out.partition("Formulas to Excel")[2].splitlines()[1:]
    assert said.status == 0
    assert [line[:4] for line in lines] == ["- x:", f"- {lines[1][2]}S"]
    assert lines[0].count(", ") == 1
    assert "-1" not in lines[0].split(": ")[1].split(", ")
    (tmp_path / "s.json").write_text(json.dumps({"fields": [plain]}))
    assert "Formulas" not in lapwing("schema", "check", tmp_path / "s.json").out
