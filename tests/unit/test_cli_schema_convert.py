"""`lapwing schema convert`: what it writes, and what it says."""

import json
import re

import pytest

from helpers.command import lapwing
from helpers.foreign_files import FOREIGN, ROOT
from lapwing.extras.connect.metadata.reading import read_foreign, read_foreign_tables
from lapwing.schema.schemas import Schema


@pytest.fixture
def output(tmp_path):
    return tmp_path / "new.schema.json"


def test_the_schema_is_written_as_a_draft_where_anything_is_missing(output):
    said = lapwing("schema", "convert", FOREIGN / "smartnoise-adult.yaml", "-o", output)

    assert said.status == 0
    written = json.loads(output.read_text())
    assert written["draft"] is True
    (sex,) = [field for field in written["fields"] if field["name"] == "sex"]
    assert sex["categories"] is None
    assert Schema.load_draft(output) == read_foreign(FOREIGN / "smartnoise-adult.yaml").schema


def test_a_file_that_is_there_is_not_replaced(output):
    output.write_text("edited")

    said = lapwing("schema", "convert", FOREIGN / "mbi-adult-domain.json", "-o", output)

    assert "is there already and may have been edited" in said.error
    assert output.read_text() == "edited"


def test_tables_that_keys_link_become_one_draft_with_a_question_for_all_that_the_file_leaves_open(output):
    said = lapwing("schema", "convert", FOREIGN / "sdv2-visits.json", "-o", output)

    written = json.loads(output.read_text())
    assert said.status == 0
    assert written == read_foreign_tables(FOREIGN / "sdv2-visits.json").to_dict()
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    for line in ("visits visit patient_id -> patients 7 of 11", "Table visits:", "ward categories"):
        assert line in lines
    assert "schema learn" not in said.out
    assert 'every field is "assumed"' in said.err


def test_tables_without_keys_between_them_are_refused_with_their_names_and_nothing_is_written(tmp_path, output):
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps({"tables": {name: {"columns": {"a": {"sdtype": "boolean"}}} for name in "xy"}}))

    said = lapwing("schema", "convert", path, "-o", output)

    assert said.error.endswith('choose one with table= or --table: "x", "y"')
    assert not output.exists()


def test_many_fields_and_odd_names_make_no_endless_or_dangerous_output(tmp_path, output):
    columns = {f"c {i}": {"sdtype": "categorical"} for i in range(500)} | {"$(rm)\x1b[2J": {"sdtype": "categorical"}}
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"columns": dict(reversed(columns.items()))}))

    said = lapwing("schema", "convert", path, "-o", output)

    assert "and 461 more fields" in said.out
    assert "\x1b" not in said.out + said.err
    assert "--fields '$(rm)�[2J' 'c 499'" in said.out
    assert len(said.out.splitlines()) < 60


def test_the_page_shows_what_the_command_prints(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "foreign.md").read_text(encoding="utf-8")
    (written,) = re.findall(r"<< 'END'\n(.*?)^END$", page, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^It prints\n\n```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.yaml").write_text(written)

    said = lapwing("schema", "convert", "people.yaml", "-o", "people.schema.json")

    assert [line.rstrip() for line in said.out.splitlines()] == shown.splitlines()
