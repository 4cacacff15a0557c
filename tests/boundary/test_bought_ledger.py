"""A bought evaluation is paid once and drawn once, before anything is counted, however it is interrupted."""

import json
import os

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.ledger import Ledger

SCHEMA = {
    "fields": [
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "kind", "type": "string", "categories": ["a", "b"]},
    ]
}
DATA = pl.DataFrame({"flag": [True] * 70 + [False] * 30, "kind": ["a", "b"] * 50})
SYNTHETIC = pl.DataFrame({"flag": [True, False] * 40, "kind": ["a", "b", "b", None] * 20})


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "budget.db"
    Ledger.create_or_open(path).init("d", unit="pure", limit=2, relation="add-remove", privacy_unit="row")
    return path


def bought(ledger=None, transcript=None, data=DATA, synthetic=SYNTHETIC, **settings):
    settings = {"epsilon": 1} | settings
    return lw.evaluate(data, synthetic, SCHEMA, ledger=ledger, transcript=transcript, **settings)


def spent(ledger):
    return Ledger.open(ledger).balance("d").spent


def values(found):
    return [table.counts.tolist() for answer in found.noisy for table in answer.tables]


def test_what_cannot_be_asked_is_refused_before_the_debit(ledger, monkeypatch):
    with pytest.raises(DataError, match="the synthetic table has no row"):
        bought(ledger, synthetic=SYNTHETIC.head(0))
    with pytest.raises(ParameterError, match="from 1 to 2"):
        bought(ledger, expected_rows=2**41)
    with pytest.raises(DataError, match="the real table has no row"):
        lw.evaluate(DATA.head(0), SYNTHETIC, SCHEMA, epsilon=1, neighbours="replace-one")
    monkeypatch.setattr("lapwing.kernel.noise_law.MAX_SD", 0.5)
    with pytest.raises(ParameterError, match="give a larger budget"):
        bought(ledger)
    assert spent(ledger) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 0.5},
        {"seed": 3},
        {"expected_rows": 100},
        {"synthetic": SYNTHETIC.head(79)},
        {"dataset": "other"},
        {"neighbours": "replace-one"},
    ],
)
def test_a_transcript_of_another_evaluation_is_refused(ledger, tmp_path, changes):
    bought(ledger, tmp_path / "t.jsonl")
    given = {key: value for key, value in changes.items() if key != "dataset"}
    book = {"dataset": changes["dataset"], "ledger": ledger} if "dataset" in changes else {}

    with pytest.raises(DataError, match="is of another run"):
        bought(**{"transcript": tmp_path / "t.jsonl"} | given | book)
    assert spent(ledger) == 1


def test_a_transcript_of_a_release_is_refused_and_the_other_way_round(tmp_path):
    lw.synthesize(DATA, SCHEMA, epsilon=1, transcript=tmp_path / "release.jsonl")
    bought(None, tmp_path / "bought.jsonl")

    with pytest.raises(DataError, match="is of another run"):
        bought(None, tmp_path / "release.jsonl")
    with pytest.raises(DataError, match="repeat that, with the same transcript"):
        lw.resume(tmp_path / "bought.jsonl", DATA)


def test_a_transcript_holds_neither_rows_nor_the_tables_of_the_synthetic_ones(tmp_path):
    bought(None, tmp_path / "t.jsonl")

    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [line["question"]["kind"] for line in lines[1:]] == ["MarginalCounts", "TableDistances", "TableDistances"]
    assert {key for line in lines[2:] for key in line["question"]} == {
        "kind",
        "columns",
        "groupings",
        "tables",
        "bits",
        "digest",
        "cost",
    }
    assert os.path.getsize(tmp_path / "t.jsonl") < 10_000


@pytest.mark.parametrize("answers", [0, None], ids=["its header alone", "whole"])
def test_a_transcript_of_another_public_number_of_rows_is_not_taken_up(tmp_path, answers):
    path = tmp_path / "t.jsonl"
    bought(None, path, neighbours="replace-one")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[: None if answers is None else answers + 1]))

    with pytest.raises(lw.DataError, match="is of another run"):
        bought(None, path, data=DATA.head(70), neighbours="replace-one")
