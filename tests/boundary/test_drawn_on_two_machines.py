"""Copies of one transcript on two machines, with one ledger between them: one draw for one debit is on their disks."""

import json
import shutil
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import BudgetError, LapwingError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room import transcript as transcript_module
from lapwing.release.runs.records import AccountedSink

SCHEMA = {
    "fields": [
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "kind", "type": "string", "categories": ["a", "b"]},
        {"name": "size", "type": "string", "categories": ["x", "y", "z"]},
    ]
}
DATA = pl.DataFrame({"flag": [True] * 70 + [False] * 30, "kind": ["a", "b"] * 50, "size": ["x", "y", "z", "x"] * 25})


def interrupt():
    raise KeyboardInterrupt


@pytest.fixture
def copies(new_place, tmp_path, monkeypatch):
    """Return two copies of the transcript of a run that ended right after its debit, each with a hold of its own."""
    place = new_place()
    Ledger.create_or_open(place).init("d", unit="zcdp", limit=9, relation="add-remove", privacy_unit="row")
    settings = {"rho": 1, "mechanism": "Adaptive", "seed": 1, "ledger": place}
    with monkeypatch.context() as patch:
        patch.setattr(AccountedSink, "begin", lambda _: interrupt())
        with pytest.raises(KeyboardInterrupt):
            lw.synthesize(DATA, SCHEMA, transcript=tmp_path / "a.jsonl", **settings)
    shutil.copy(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    monkeypatch.setattr(transcript_module, "hold_of", lambda path, _: Path(path))
    return place, tmp_path / "a.jsonl", tmp_path / "b.jsonl"


@contextmanager
def meanwhile(step, other):
    """Do ``other`` at one step of what runs in the block: before or after a write, or between two words of noise."""
    seen, append, words = count(), transcript_module._append, SystemBits.words

    def passed():
        if next(seen) == step:
            other()

    def appended(*arguments):
        passed()
        append(*arguments)
        passed()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript_module, "_append", appended)
        patch.setattr(SystemBits, "words", lambda bits, number: (passed(), words(bits, number))[1])
        yield


def resumed(path, said):
    try:
        lw.resume(path, DATA)
    except LapwingError as error:
        said.append(error)
    else:
        said.append(None)


@pytest.mark.parametrize("step", [0, 1, 2, 5])
def test_what_two_machines_draw_for_one_debit_is_drawn_once(copies, step):
    place, first, second = copies
    said = []

    with meanwhile(step, lambda: resumed(first, said)):
        resumed(second, said)

    lines = [path.read_text().splitlines()[1:] for path in (first, second)]
    assert len(said) == 2
    assert said.count(None) <= 1, "both released"
    assert all(error is None or isinstance(error, BudgetError) for error in said)
    assert all(mine.strip() in ("", his.strip()) or not his.strip() for mine, his in zip(*lines, strict=False))
    assert not any("refused" in line for both in lines for line in both)
    assert Ledger.open(place).balance().spent == 1
    Ledger.open(place).verify()


def test_a_mark_that_was_cut_off_is_known_to_the_ledger(copies):
    _, first, second = copies
    with meanwhile(2, interrupt), pytest.raises(KeyboardInterrupt):
        lw.resume(first, DATA)
    assert first.read_bytes() == second.read_bytes() + b" "

    for path in (first, second):
        path.write_bytes(second.read_bytes())
        with pytest.raises(BudgetError, match="a draw after them"):
            lw.resume(path, DATA)

    assert len(first.read_text().splitlines()) == 1


def test_a_ledger_that_fails_before_a_draw_leaves_a_run_that_goes_on(copies, monkeypatch):
    place, first, _ = copies
    note, notes = Ledger.note_answers, []

    def failing(self, dataset, release_id, digests):
        notes.append(digests)
        if len(notes) == 2:
            raise BudgetError("the ledger is in use", code="LW405")
        note(self, dataset, release_id, digests)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "note_answers", failing)
        with pytest.raises(BudgetError, match=r"resume.* goes on"):
            lw.resume(first, DATA)

    assert lw.resume(first, DATA).certificate.total.amount == 1
    assert Ledger.open(place).balance().spent == 1
    assert [json.loads(line) for line in first.read_text().splitlines()]
