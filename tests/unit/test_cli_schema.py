"""`lapwing schema`: draft, check, convert and learn, what they write and what they say."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.foreign_files import FOREIGN, ROOT
from lapwing.errors import DataError
from lapwing.extras.connect.metadata.reading import read_foreign, read_foreign_tables
from lapwing.model.certificate.certificate import Certificate
from lapwing.schema.schemas import Schema

COLUMNS = {"id": "id", "age": make.field("age", (0, 120), provenance="public"), "sex": ["f", "m"]}
SCHEMA = make.schema(COLUMNS, name="people", privacyUnit={"field": "id", "maxRows": 3})


@pytest.fixture
def data(place):
    pl.DataFrame({"id": [1, 2, 3], "age": [30, 130, None], "sex": ["f", "canary", "m"]}).write_parquet("people.parquet")
    return "people.parquet"


def test_check_of_a_long_schema_fits_one_screen(place):
    make.files(place, {"s.json": make.schema({f"column {number}": bool for number in range(300)})})

    out = lapwing("schema", "check", "s.json").out

    assert out.count("\n") < 52
    assert "and 260 more" in out
    assert "and 290 more" in out


def test_check_with_data_counts_misfits_and_says_that_this_is_internal(place, data):
    make.files(place, {"s.json": {"fields": SCHEMA["fields"]}})

    said = lapwing("schema", "check", "s.json", data)

    assert said.status == 0
    assert "internal" in said.err
    assert "\ninternal - do not publish\n" in said.out
    assert said.out.splitlines()[-2].split() == ["age", "3", "1", "0", "1", "0"]
    assert said.out.splitlines()[-1].split() == ["sex", "3", "0", "0", "0", "1"]
    assert "canary" not in said.out + said.err


def test_a_draft_is_blank_and_says_how_it_was_made(place, data):
    said = lapwing("schema", "draft", data, "-o", "draft.json")

    assert said.status == 0
    assert said.out.startswith("\ninternal - do not publish\n")
    assert "looking at the private table's column names and types" in said.err
    assert "if a person may own several rows, protect them together" in said.err
    drafted = json.loads(Path("draft.json").read_text())
    assert drafted["draft"] is True
    assert drafted["fields"][1]["constraints"] == {"minimum": None, "maximum": None}
    assert drafted["fields"][2]["categories"] is None


def test_a_draft_is_refused_until_its_owner_has_edited_it(place, data):
    def released(**changes):
        drafted.update(changes)
        make.files(place, {"draft.json": {key: value for key, value in drafted.items() if value is not None}})
        return lapwing("synthesize", data, "--epsilon", "1", "-o", "rows.csv", "--schema", "draft.json")

    lapwing("schema", "draft", data, "-o", "draft.json")
    drafted = json.loads(Path("draft.json").read_text())
    untouched = [{**field, "provenance": "drafted"} for field in SCHEMA["fields"]]

    assert 'draft.json" is a draft; still open: id (minimum, maximum, provenance), age (' in released().error
    assert "is a draft" in released(fields=SCHEMA["fields"]).error
    assert "its provenance is still drafted" in released(fields=untouched, draft=None).error
    assert released(fields=SCHEMA["fields"]).status == 0


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_texts_that_a_spreadsheet_takes_for_formulas_are_remarked(place, first):
    texts = [f"{first}cmd|' /C calc'!A1", f"{first}A1", "-1", "+1.5", "-2e3", "a=b", "1-2"]
    odd, plain = {"x": texts, f"{first}SUM(A1)": bool, "y": texts[2:]}, {"y": texts[2:]}
    make.files(place, {"odd.json": make.schema(odd), "plain.json": make.schema(plain)})

    said = lapwing("schema", "check", "odd.json")

    lines = said.out.partition("Formulas to Excel")[2].splitlines()[1:]
    assert said.status == 0
    assert [line[:4] for line in lines] == ["- x:", f"- {lines[1][2]}S"]
    assert lines[0].count(", ") == 1
    assert "-1" not in lines[0].split(": ")[1].split(", ")
    assert "Formulas" not in lapwing("schema", "check", "plain.json").out


# ------------------------------------------------------------------------------------------------------------- convert


def convert(source):
    return lapwing("schema", "convert", source, "-o", "new.json")


def test_the_schema_is_written_as_a_draft_where_anything_is_missing(place):
    said = convert(FOREIGN / "smartnoise-adult.yaml")

    assert said.status == 0
    written = json.loads((place / "new.json").read_text())
    assert written["draft"] is True
    (sex,) = [field for field in written["fields"] if field["name"] == "sex"]
    assert sex["categories"] is None
    assert Schema.load_draft("new.json") == read_foreign(FOREIGN / "smartnoise-adult.yaml").schema


def test_a_file_that_is_there_is_not_replaced(place):
    make.files(place, {"new.json": "edited"})

    assert "is there already and may have been edited" in convert(FOREIGN / "mbi-adult-domain.json").error
    assert (place / "new.json").read_text() == "edited"


def test_tables_that_keys_link_become_one_draft_with_a_question_for_all_that_the_file_leaves_open(place):
    said = convert(FOREIGN / "sdv2-visits.json")

    assert said.status == 0
    assert json.loads((place / "new.json").read_text()) == read_foreign_tables(FOREIGN / "sdv2-visits.json").to_dict()
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    for line in ("visits visit patient_id -> patients 7 of 11", "Table visits:", "ward categories"):
        assert line in lines
    assert "schema learn" not in said.out
    assert 'every field is "assumed"' in said.err


def test_tables_without_keys_between_them_are_refused_with_their_names_and_nothing_is_written(place):
    make.files(place, {"m.json": {"tables": {name: {"columns": {"a": {"sdtype": "boolean"}}} for name in "xy"}}})

    assert convert("m.json").error.endswith('choose one with table= or --table: "x", "y"')
    assert not (place / "new.json").exists()


def test_many_fields_and_odd_names_make_no_endless_or_dangerous_output(place):
    names = ["$(rm)\x1b[2J", *(f"c {number}" for number in reversed(range(500)))]
    make.files(place, {"m.json": {"columns": {name: {"sdtype": "categorical"} for name in names}}})

    said = convert("m.json")

    assert "and 461 more fields" in said.out
    assert "\x1b" not in said.out + said.err
    assert "--fields '$(rm)�[2J' 'c 499'" in said.out
    assert len(said.out.splitlines()) < 60


def test_the_page_shows_what_the_command_prints(place):
    page = (ROOT / "docs" / "foreign.md").read_text(encoding="utf-8")
    (written,) = re.findall(r"<< 'END'\n(.*?)^END$", page, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^It prints\n\n```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    make.files(place, {"people.yaml": written})

    said = lapwing("schema", "convert", "people.yaml", "-o", "people.schema.json")

    assert [line.rstrip() for line in said.out.splitlines()] == shown.splitlines()


# --------------------------------------------------------------------------------------------------------------- learn


TYPES = {"age": "integer", "pay, net": "number", "town": "string"}
DRAFT = {"draft": True, "fields": [*make.fields(TYPES, provenance="dp"), make.field("flag", bool, provenance="public")]}
ROWS = {"age": [20, 60] * 500, "pay, net": [0.5, 99.5] * 500, "town": ["Bern", "Uri"] * 500, "flag": [True] * 1000}
BUDGET = ["--epsilon", "1e6", "--delta", "1e-6"]


LEARN = ["schema", "learn", "d.csv", "--schema", "s.json", "-o", "s2.json"]


@pytest.fixture
def files(place):
    """Work in a folder with a table and a draft."""
    return make.files(place, {"d.csv": pl.DataFrame(ROWS), "s.json": DRAFT})


@pytest.mark.usefixtures("files")
def test_the_schema_is_written_and_what_was_learned_is_printed():
    said = lapwing(*LEARN, *BUDGET)

    assert said.status == 0, said.err
    assert Schema.load("s2.json").fields == lw.Schema.learn("d.csv", DRAFT, epsilon=10**6, delta="1e-6").fields
    lines = said.out.splitlines()
    assert lines[0] == "releasable - differentially private"
    assert re.search(r"^age +integer +20 to 60 +dp$", said.out, re.MULTILINE)
    assert re.search(r"^town +string +3 categories: Bern, Uri, \(other\) +dp$", said.out, re.MULTILINE)
    assert any(line.startswith("Cost: epsilon 1e+06 at delta 1e-06") for line in lines), lines
    assert lines[-1].startswith("Next: `lapwing synthesize d.csv --schema s2.json")
    assert said.err.count("No --ledger: what was learned is recorded nowhere but in the schema") == 1


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "names",
    [
        ["--fields", "age", "--fields", "town"],
        ["--fields", "age,town"],
        ["--fields", "age, town"],
        ["--fields", "age", "town"],
        ["--fields", "age,town", "age"],
    ],
)
def test_fields_are_named_in_several_ways(names):
    assert lapwing(*LEARN, *BUDGET, *names).status == 0

    found = Schema.load_draft("s2.json")
    assert found.purchases[-1].fields == ("age", "town")
    assert found.field("pay, net").blank


def test_the_certificate_goes_where_it_is_wanted_or_nowhere(files):
    usual = files / "s2.json.certificate.json"

    assert lapwing(*LEARN, *BUDGET, "--certificate", "c.json").status == 0
    assert Certificate.from_dict(json.loads((files / "c.json").read_text())).mechanism == "domain"
    (files / "s2.json").unlink()
    assert lapwing(*LEARN, *BUDGET, "--no-certificate").status == 0
    assert not usual.exists()
    (files / "s2.json").unlink()
    usual.write_text("{}")
    assert "would not describe" in lapwing(*LEARN, *BUDGET, "--no-certificate").error


def test_the_ledger_has_a_line_and_repeating_with_the_transcript_adds_none(files):
    make.ledger("budget.db", 1, unit="zcdp", selection_delta="1e-5")
    book = ["--ledger", "budget.db"]
    command = [*LEARN, "--epsilon", "1", "--delta", "1e-6", *book, "--transcript", "t.jsonl"]

    first = lapwing(*command)
    written = (files / "s2.json").read_text()
    assert "is there already" in lapwing(*command).error
    (files / "s2.json").unlink()
    again = lapwing(*command)

    assert (first.status, again.status) == (0, 0), first.err + again.err
    assert again.out == first.out
    assert (files / "s2.json").read_text() == written
    assert lapwing("ledger", "history", "people", *book).out.count("domain") == 1


def test_a_schema_that_cannot_be_written_is_told_with_the_transcript_that_has_the_answers(files, monkeypatch):
    def full(self, path):
        raise DataError("the disk is full")

    monkeypatch.setattr(Schema, "save", full)

    kept = lapwing(*LEARN, *BUDGET, "--transcript", "t.jsonl", "--quiet")
    lost = lapwing(*LEARN, *BUDGET, "--quiet")

    assert "--transcript t.jsonl --quiet` finishes free of charge" in kept.error
    assert "running again spends again" in lost.error
    assert not (files / "s2.json").exists()
