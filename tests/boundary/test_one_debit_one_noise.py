"""A release is paid once and drawn once, however it is interrupted, resumed, copied or edited."""

import json
import os

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import BudgetError, DataError, LapwingError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.transcript import TranscriptFile

SCHEMA = {
    "fields": [
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "kind", "type": "string", "categories": ["a", "b"]},
    ]
}
DATA = pl.DataFrame({"flag": [True] * 70 + [False] * 30, "kind": ["a", "b"] * 50})


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "budget.db"
    Ledger.create_or_open(path).init("d", unit="pure", limit=2, relation="add-remove", privacy_unit="row")
    return path


def released(ledger, transcript, **settings):
    return lw.synthesize(DATA, SCHEMA, epsilon=1, ledger=ledger, dataset="d", transcript=transcript, **settings)


def spent(ledger):
    return Ledger.open(ledger).balance("d").spent


def counts(release):
    return [table.counts.tolist() for answer in release.noisy for table in answer.tables]


def test_a_finished_release_is_given_again_without_a_debit_or_a_draw(ledger, tmp_path):
    first = released(ledger, tmp_path / "t.jsonl", seed=4)

    again = lw.resume(tmp_path / "t.jsonl", DATA)

    assert counts(again) == counts(first)
    assert again.sample(30).equals(first.sample(30))
    assert again.certificate == first.certificate
    assert spent(ledger) == 1


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [("settings", "seed", 99), ("settings", "relation", "replace-one"), ("settings", "expected_rows", 7)],
)
def test_a_transcript_with_an_edited_header_is_refused(ledger, tmp_path, part, key, value):
    released(ledger, tmp_path / "t.jsonl", seed=4)
    lines = (tmp_path / "t.jsonl").read_text().splitlines(keepends=True)
    header = json.loads(lines[0])
    header[part][key] = value
    (tmp_path / "edited.jsonl").write_text("".join([json.dumps(header) + "\n", *lines[1:]]))

    with pytest.raises(LapwingError):
        lw.resume(tmp_path / "edited.jsonl", DATA)
    assert spent(ledger) == 1


def test_copies_of_a_transcript_share_one_hold(ledger, tmp_path):
    released(ledger, tmp_path / "t.jsonl")
    header = json.loads((tmp_path / "t.jsonl").read_text().splitlines()[0])
    (tmp_path / "copy.jsonl").write_bytes((tmp_path / "t.jsonl").read_bytes())
    from pathlib import Path

    held = TranscriptFile(tmp_path / "t.jsonl", Path(header["hold"]))

    with pytest.raises(DataError, match="in use by another process"):
        lw.resume(tmp_path / "copy.jsonl", DATA)
    held.close()


def test_a_dataset_without_a_ledger_is_refused():
    with pytest.raises(lw.ParameterError, match="give the ledger too"):
        lw.synthesize(DATA, SCHEMA, epsilon=1, dataset="d")


def test_resuming_with_another_public_number_of_rows_is_refused(tmp_path):
    lw.synthesize(DATA, SCHEMA, epsilon=1, neighbours="replace-one", transcript=tmp_path / "t.jsonl")

    with pytest.raises(DataError, match="of other tables, settings"):
        lw.resume(tmp_path / "t.jsonl", DATA.head(99))


def test_the_noted_answers_cannot_be_changed_by_other_means(ledger):
    import sqlite3

    release_id = released(ledger, None).certificate.ledger.release_id
    connection = sqlite3.connect(ledger)

    for statement in ("DELETE FROM answers", "UPDATE answers SET digest = 'x'"):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)
    connection.close()
    with pytest.raises(BudgetError, match="lacks some of them"):
        Ledger.open(ledger).note_answers("d", release_id, [])
    with pytest.raises(BudgetError, match="was not debited"):
        Ledger.open(ledger).note_answers("d", "unpaid", [])


def test_a_fit_spends_again_each_time(ledger):
    synth = lw.Synthesizer(SCHEMA, epsilon=1, ledger=ledger)

    rows = synth.fit_sample(DATA, 12)
    synth.fit(DATA)

    assert rows.height == 12
    assert spent(ledger) == 2
    with pytest.raises(BudgetError):
        synth.fit(DATA)


def test_a_synthesizer_without_a_fit_has_no_rows():
    with pytest.raises(lw.ParameterError, match="call fit"):
        lw.Synthesizer(SCHEMA, epsilon=1).sample(3)


def test_nothing_but_the_owner_may_read_the_ledger(ledger):
    assert os.stat(ledger).st_mode & 0o077 == 0
