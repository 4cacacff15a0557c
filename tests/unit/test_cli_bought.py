"""lapwing evaluate with a budget."""

import json

import polars as pl
import pytest

from helpers.command import lapwing

SCHEMA = {
    "fields": [
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "kind", "type": "string", "categories": ["a", "b"]},
    ]
}


@pytest.fixture
def files(tmp_path):
    """Return the command and its three files, in a folder of their own."""
    pl.DataFrame({"flag": [True, False] * 50, "kind": ["a"] * 100}).write_csv(tmp_path / "real.csv")
    pl.DataFrame({"flag": [True] * 40, "kind": ["a", "b"] * 20}).write_csv(tmp_path / "synthetic.csv")
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    return ["evaluate", tmp_path / "real.csv", tmp_path / "synthetic.csv", "--schema", tmp_path / "s.json"]


def test_the_figures_are_printed_and_written_as_releasable(files, tmp_path):
    said = lapwing(*files, "--epsilon", "1e6", "--json", tmp_path / "m.json")

    assert said.status == 0
    figures = json.loads((tmp_path / "m.json").read_text())
    assert said.out.splitlines()[0] == figures["notice"] == "releasable - differentially private"
    # flag: 50 of 100 against 40 of 40; kind: 100 of 100 against 20 of 40
    assert round(figures["total_variation"][0]["mean"], 3) == 0.5
    assert "1-way     2 of 2  0.5000  0.5000 to 0.5000" in said.out
    assert "No --ledger: this evaluation is recorded nowhere" in said.err
    assert len(said.err.splitlines()) == 2  # where the figures are, and that no ledger knows


def test_the_ledger_has_a_line_and_repeating_with_the_transcript_adds_none(files, tmp_path):
    book = ["--ledger", tmp_path / "budget.db"]
    terms = ["--unit", "pure", "--limit", "1", "--neighbours", "add-remove", "--privacy-unit", "row"]
    lapwing("ledger", "init", "d", *terms, *book)
    bought = [*files, "--epsilon", "0.5", *book, "--dataset", "d", "--transcript", tmp_path / "t.jsonl"]

    first, again = lapwing(*bought), lapwing(*bought)

    assert (first.status, first.err) == (0, "")
    assert again.out == first.out
    history = lapwing("ledger", "history", "d", *book).out
    assert history.count("evaluation") == 1
