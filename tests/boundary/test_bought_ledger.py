"""A bought evaluation is paid once and drawn once, before anything is counted, however it is interrupted."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from fractions import Fraction

import polars as pl
import pytest

import lapwing as lw
from helpers.transcripts import cut_after
from lapwing.errors import BudgetError, DataError, ParameterError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room.room import Room

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


def test_an_evaluation_has_its_own_line_in_the_ledger_and_its_certificate_names_it(ledger):
    found = bought(ledger)

    entry = Ledger.open(ledger).history("d")[-1]
    assert entry.details["description"]["mechanism"] == "evaluation"
    assert (found.certificate.ledger.dataset, found.certificate.ledger.release_id) == ("d", entry.release_id)
    assert sum((line.cost.amount for line in found.certificate.lines), Fraction(0)) == spent(ledger) == 1


def test_the_entry_comes_before_the_secret_bits_and_before_any_counting(ledger, monkeypatch):
    seen = []
    ask = Room.ask
    monkeypatch.setattr(SystemBits, "__init__", lambda self: seen.append(("bits", spent(ledger))))
    monkeypatch.setattr(Room, "ask", lambda self, *asked: seen.append(("ask", spent(ledger))) or ask(self, *asked))

    bought(ledger)

    assert seen == [("bits", 1), ("ask", 1), ("ask", 1)]


def test_nothing_is_counted_where_the_ledger_refuses_and_no_file_is_left(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(Room, "ask", lambda self, *asked: pytest.fail("asked"))
    before = sorted(path.name for path in tmp_path.iterdir())

    for transcript in (None, tmp_path / "t.jsonl"):
        with pytest.raises(BudgetError, match="epsilon 3"):
            bought(ledger, transcript, epsilon=3)

    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert spent(ledger) == 0


def test_other_terms_than_the_ledger_s_are_refused(ledger):
    with pytest.raises(BudgetError, match="neighbour relation"):
        bought(ledger, neighbours="replace-one")
    with pytest.raises(BudgetError, match="zcdp"):
        bought(ledger, epsilon=None, rho=0.1)
    assert spent(ledger) == 0


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


def test_the_same_evaluation_with_its_transcript_is_given_again_without_a_debit_or_a_draw(ledger, tmp_path):
    first = bought(ledger, tmp_path / "t.jsonl")

    again = bought(ledger, tmp_path / "t.jsonl")
    without = bought(None, tmp_path / "t.jsonl")

    assert values(again) == values(without) == values(first)
    assert again.to_dict() == without.to_dict() == first.to_dict()
    assert again.summary() == first.summary()
    assert spent(ledger) == 1


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


def test_a_transcript_that_was_recorded_in_another_ledger_is_refused(ledger, tmp_path):
    bought(None, tmp_path / "t.jsonl")

    with pytest.raises(DataError, match="is of another run"):
        bought(ledger, tmp_path / "t.jsonl")
    assert spent(ledger) == 0


def test_a_transcript_of_a_release_is_refused_and_the_other_way_round(tmp_path):
    lw.synthesize(DATA, SCHEMA, epsilon=1, transcript=tmp_path / "release.jsonl")
    bought(None, tmp_path / "bought.jsonl")

    with pytest.raises(DataError, match="is of another run"):
        bought(None, tmp_path / "release.jsonl")
    with pytest.raises(DataError, match="repeat that, with the same transcript"):
        lw.resume(tmp_path / "bought.jsonl", DATA)


def test_an_older_copy_of_a_transcript_draws_no_fresh_noise(ledger, tmp_path):
    bought(ledger, tmp_path / "t.jsonl")
    lines = (tmp_path / "t.jsonl").read_text().splitlines(keepends=True)
    assert len(lines) == 4

    for kept in range(1, len(lines)):
        (tmp_path / f"copy{kept}.jsonl").write_text(cut_after(tmp_path / "t.jsonl", kept - 1))
        with pytest.raises(BudgetError, match="this transcript lacks some of them"):
            bought(ledger, tmp_path / f"copy{kept}.jsonl")


KILLED = """
    import os, signal, sys
    import polars as pl
    from lapwing import evaluate
    from lapwing.kernel.room.room import Room

    honest, asked = Room.ask, []

    def ask(self, *questions):
        if len(asked) == int(sys.argv[4]):
            os.kill(os.getpid(), signal.SIGKILL)
        asked.append(questions)
        return honest(self, *questions)

    Room.ask = ask
    rows, synthetic = (pl.read_parquet(path) for path in sys.argv[1].split(","))
    evaluate(rows, synthetic, {schema!r}, epsilon=1, ledger=sys.argv[2], transcript=sys.argv[3])
"""


@pytest.mark.parametrize("answered", [pytest.param(0, marks=pytest.mark.full), 1])
def test_an_evaluation_killed_between_answers_is_finished_without_a_second_debit(ledger, tmp_path, answered):
    tables = [tmp_path / "rows.parquet", tmp_path / "synthetic.parquet"]
    for frame, path in zip((DATA, SYNTHETIC), tables, strict=True):
        frame.write_parquet(path)
    script = textwrap.dedent(KILLED).format(schema=SCHEMA)
    arguments = [",".join(map(str, tables)), ledger, tmp_path / "t.jsonl", answered]

    killed = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], check=False, capture_output=True)
    recorded = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()[1:]]
    assert spent(ledger) == 1
    found = bought(ledger, tmp_path / "t.jsonl")

    assert killed.returncode == -signal.SIGKILL
    assert len(recorded) == answered
    assert [answer.to_dict() for answer in found.noisy[:answered]] == recorded
    assert len(found.noisy) == 3
    assert spent(ledger) == 1
    assert Ledger.open(ledger).verify() == 2


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
