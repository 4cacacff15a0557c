"""lapwing schema learn."""

import json
import re

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.errors import DataError
from lapwing.model.certificate.certificate import Certificate
from lapwing.schema.schemas import Schema

DRAFT = {
    "draft": True,
    "fields": [
        {"name": "age", "type": "integer", "provenance": "dp"},
        {"name": "pay, net", "type": "number", "provenance": "dp"},
        {"name": "town", "type": "string", "provenance": "dp"},
        {"name": "flag", "type": "boolean", "provenance": "public"},
    ],
}
ROWS = {"age": [20, 60] * 500, "pay, net": [0.5, 99.5] * 500, "town": ["Bern", "Uri"] * 500, "flag": [True] * 1000}
BUDGET = ["--epsilon", "1e6", "--delta", "1e-6"]


@pytest.fixture
def files(tmp_path):
    """Return the command with a table and a draft, in a folder of their own."""
    pl.DataFrame(ROWS).write_csv(tmp_path / "d.csv")
    (tmp_path / "s.json").write_text(json.dumps(DRAFT))
    return ["schema", "learn", tmp_path / "d.csv", "--schema", tmp_path / "s.json", "-o", tmp_path / "s2.json"]


def test_the_schema_is_written_and_what_was_learned_is_printed(files, tmp_path):
    said = lapwing(*files, *BUDGET)

    assert said.status == 0, said.err
    found = Schema.load(tmp_path / "s2.json")
    assert found.fields == lw.Schema.learn(tmp_path / "d.csv", DRAFT, epsilon=10**6, delta="1e-6").fields
    lines = said.out.splitlines()
    assert lines[0] == "releasable - differentially private"
    assert re.search(r"^age +integer +20 to 60 +dp$", said.out, re.MULTILINE)
    assert re.search(r"^town +string +3 categories: Bern, Uri, \(other\) +dp$", said.out, re.MULTILINE)
    assert any(line.startswith("Cost: epsilon 1e+06 at delta 1e-06") for line in lines), lines
    assert lines[-1].startswith(f"Next: `lapwing synthesize {tmp_path / 'd.csv'} --schema {tmp_path / 's2.json'}")


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
def test_fields_are_named_in_several_ways(files, tmp_path, names):
    assert lapwing(*files, *BUDGET, *names).status == 0

    found = Schema.load_draft(tmp_path / "s2.json")
    assert found.purchases[-1].fields == ("age", "town")
    assert found.field("pay, net").blank


def test_the_certificate_goes_where_it_is_wanted_or_nowhere(files, tmp_path):
    usual = tmp_path / "s2.json.certificate.json"

    assert lapwing(*files, *BUDGET, "--certificate", tmp_path / "c.json").status == 0
    assert Certificate.from_dict(json.loads((tmp_path / "c.json").read_text())).mechanism == "domain"
    (tmp_path / "s2.json").unlink()
    assert lapwing(*files, *BUDGET, "--no-certificate").status == 0
    assert not usual.exists()
    (tmp_path / "s2.json").unlink()
    usual.write_text("{}")
    assert "would not describe" in lapwing(*files, *BUDGET, "--no-certificate").error


def test_the_ledger_has_a_line_and_repeating_with_the_transcript_adds_none(files, tmp_path):
    book = ["--ledger", tmp_path / "budget.db"]
    terms = ["--unit", "zcdp", "--limit", "1", "--neighbours", "add-remove", "--privacy-unit", "row"]
    assert lapwing("ledger", "init", "d", *terms, "--selection-delta", "1e-5", *book).status == 0
    command = [*files, "--epsilon", "1", "--delta", "1e-6", *book, "--transcript", tmp_path / "t.jsonl"]

    first = lapwing(*command)
    written = (tmp_path / "s2.json").read_text()
    assert "is there already" in lapwing(*command).error
    (tmp_path / "s2.json").unlink()
    again = lapwing(*command)

    assert (first.status, again.status) == (0, 0), first.err + again.err
    assert again.out == first.out
    assert (tmp_path / "s2.json").read_text() == written
    assert lapwing("ledger", "history", "d", *book).out.count("domain") == 1


def test_a_schema_that_cannot_be_written_is_told_with_the_transcript_that_has_the_answers(files, tmp_path, monkeypatch):
    def full(self, path):
        raise DataError("the disk is full")

    monkeypatch.setattr(Schema, "save", full)

    kept = lapwing(*files, *BUDGET, "--transcript", tmp_path / "t.jsonl", "--quiet")
    lost = lapwing(*files, *BUDGET, "--quiet")

    assert f"--transcript {tmp_path / 't.jsonl'} --quiet` finishes free of charge" in kept.error
    assert "running again spends again" in lost.error
    assert not (tmp_path / "s2.json").exists()
