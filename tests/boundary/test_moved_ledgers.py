"""Ledgers and transcripts that were moved or copied, and who may read a transcript before its release is finished."""

import json
import os
import shutil
import stat
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.transcripts import cut_after
from lapwing.errors import BudgetError, DataError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.transcript import continue_transcript
from lapwing.release.runs.records import AccountedSink

FLAG = {"name": "flag", "type": "boolean", "constraints": {"required": True}}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b"]}
SCHEMA = {"fields": [FLAG, KIND]}
ROWS = pl.DataFrame({"flag": [True, False] * 50, "kind": ["a", "b"] * 50})
DRAFT = {"draft": True, "fields": [{"name": "age", "type": "integer", "provenance": "dp"}]}
HOME = {"name": "home", "type": "integer", "role": "identifier"}
LINKED = {"key": "home", "maxChildren": 2, "parent": {"fields": [HOME, FLAG]}, "child": {"fields": [HOME, KIND]}}
HOMES = pl.DataFrame({"home": range(50), "flag": [True] * 50})
PEOPLE = pl.DataFrame({"home": range(50), "kind": ["a"] * 50})
CALLS = {
    "release": lambda **book: lw.synthesize(ROWS, SCHEMA, epsilon=1, **book),
    "learning": lambda **book: lw.Schema.learn(pl.DataFrame({"age": [20, 60] * 300}), DRAFT, epsilon=1, **book),
    "evaluation": lambda **book: lw.evaluate(ROWS, ROWS.clone(), SCHEMA, epsilon=1, **book),
    "linked": lambda **book: lw.synthesize((HOMES, PEOPLE), LINKED, epsilon=1, **book),
}


def opened(place: Path, unit: str = "row") -> Ledger:
    place.parent.mkdir(exist_ok=True)
    ledger = Ledger.create_or_open(place)
    ledger.init("d", unit="pure", limit=3, relation="add-remove", privacy_unit=unit)
    return ledger


@pytest.fixture
def unfinished(tmp_path, monkeypatch):
    """Return the transcript of a release that broke off after its debit, in the folder of its ledger."""
    opened(tmp_path / "old" / "budget.db")

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(AccountedSink, "begin", stop)
        with pytest.raises(KeyboardInterrupt):
            lw.synthesize(ROWS, SCHEMA, epsilon=1, mechanism="Independent", ledger=tmp_path / "old" / "budget.db")
    (transcript,) = (tmp_path / "old" / "budget.db.transcripts").glob("*.jsonl")
    return transcript


def count(transcript: Path) -> int:
    taken, _, answers = continue_transcript(transcript)
    taken.close()
    return len(answers)


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("call", CALLS)
def test_transcripts_and_their_folder_are_their_owners_only_from_the_first_byte(call, is_named, tmp_path, monkeypatch):
    opened(tmp_path / "in" / "budget.db", "home:2" if call == "linked" else "row")
    place = tmp_path / "in" / "t.jsonl"
    seen: dict[str, set[int]] = {}
    fsync = os.fsync

    def look(descriptor):
        for each in tmp_path.rglob("*.jsonl*"):
            seen.setdefault(each.name[-5:], set()).add(stat.S_IMODE(each.stat().st_mode))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    before = os.umask(0)
    try:
        CALLS[call](ledger=tmp_path / "in" / "budget.db", transcript=place if is_named else None)
    finally:
        os.umask(before)

    assert seen == {"jsonl": {0o600}, ".lock": {0o600}}
    assert stat.S_IMODE((tmp_path / "in" / "budget.db.transcripts").stat().st_mode) == 0o700


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
def test_a_transcript_without_a_ledger_is_its_owners_only_and_so_is_its_lock(tmp_path):
    before = os.umask(0)
    try:
        lw.synthesize(ROWS, SCHEMA, epsilon=1, transcript=tmp_path / "t.jsonl")
    finally:
        os.umask(before)

    assert {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {
        "t.jsonl": 0o600,
        "t.jsonl.lock": 0o600,
    }


def test_in_a_folder_that_was_moved_the_ledger_beside_the_transcript_is_used(unfinished, tmp_path):
    before = count(unfinished)
    (tmp_path / "old").rename(tmp_path / "new")
    moved = tmp_path / "new" / "budget.db.transcripts" / unfinished.name

    release = lw.resume(moved, ROWS)

    book = Ledger.open(tmp_path / "new" / "budget.db")
    assert release.certificate.ledger is not None
    assert (release.certificate.ledger.release_id, book.balance().spent) == (unfinished.stem, 1)
    assert not (tmp_path / "old").exists()
    assert count(moved) > before
    stale = moved.with_name("stale.jsonl")
    stale.write_text(cut_after(moved, before))
    with pytest.raises(BudgetError, match="lacks some of them"):
        lw.resume(stale, ROWS)  # the answers were noted in the ledger at its new place


def test_a_moved_learning_goes_on_by_the_same_call_with_the_new_paths(tmp_path):
    opened(tmp_path / "old" / "budget.db")
    found = CALLS["learning"](ledger=tmp_path / "old" / "budget.db")
    (tmp_path / "old").rename(tmp_path / "new")
    (moved,) = (tmp_path / "new" / "budget.db.transcripts").glob("*.jsonl")

    again = CALLS["learning"](ledger=tmp_path / "new" / "budget.db", transcript=moved)

    assert again.field("age") == found.field("age")
    assert Ledger.open(tmp_path / "new" / "budget.db").balance().spent == 1


def test_where_the_old_folder_is_still_there_a_copy_spends_nothing_of_its_own_and_says_which_ledger_it_uses(
    unfinished, tmp_path
):
    shutil.copytree(tmp_path / "old", tmp_path / "copy")
    ROWS.write_csv(tmp_path / "rows.csv")
    copied = tmp_path / "copy" / "budget.db.transcripts" / unfinished.name

    said = lapwing("resume", copied, tmp_path / "rows.csv", "-o", tmp_path / "out.csv")

    assert (said.status, f"ledger {tmp_path / 'old' / 'budget.db'}" in said.err) == (0, True)
    with pytest.raises(BudgetError, match="lacks some of them"):
        lw.resume(unfinished, ROWS)  # its copy was finished, with other answers


@pytest.mark.parametrize("left", ["nothing", "another ledger", "another data set", "no ledger"])
def test_a_transcript_without_its_ledger_is_refused_with_the_true_reason(left, unfinished, tmp_path):
    (tmp_path / "old").rename(tmp_path / "new")
    ledger = tmp_path / "new" / "budget.db"
    moved = tmp_path / "new" / "budget.db.transcripts" / unfinished.name
    if left == "another data set":
        head, *more = moved.read_text().splitlines(keepends=True)
        values = json.loads(head)
        values["records"]["dataset"] = "e"
        moved.write_text(json.dumps(values) + "\n" + "".join(more))
    else:
        ledger.unlink()
    if left == "another ledger":
        opened(ledger)
    if left == "no ledger":
        ledger.write_text("not one")

    with pytest.raises(DataError, match="is not a Lapwing ledger|damaged" if left == "no ledger" else "is not there"):
        lw.resume(moved, ROWS)

    assert "in use" not in lapwing("resume", moved, "rows.csv", "-o", tmp_path / "out.csv").error


def test_a_lock_that_cannot_be_made_is_not_said_to_be_held_by_another_process(unfinished):
    copied = unfinished.parents[1] / "t.jsonl"
    shutil.copy(unfinished, copied)
    shutil.rmtree(unfinished.parent)

    with pytest.raises(DataError, match=r"\.lock cannot be made \(No such file or directory\)"):
        lw.resume(copied, ROWS)


def test_a_transcript_that_is_too_old_is_not_said_to_go_on(unfinished):
    old = unfinished.with_name("old.jsonl")
    shutil.copy(unfinished, old)
    lw.resume(unfinished, ROWS)

    with pytest.raises(BudgetError, match=r"(?m)or make a new release$"):
        lw.resume(old, ROWS)


@pytest.mark.parametrize("named", [None, "own.jsonl", "budget.db.transcripts/own.jsonl"])
@pytest.mark.parametrize("call", CALLS)
def test_nothing_is_paid_from_an_older_ledger_that_was_put_back(call, named, tmp_path):
    book = opened(tmp_path / "budget.db", "home:2" if call == "linked" else "row")
    if call == "linked":
        book.init("rows", unit="pure", limit=3, relation="add-remove", privacy_unit="row")
    old = book.path.read_bytes()
    CALLS["release"](ledger=book.path, dataset="rows" if call == "linked" else "d")
    for each in tmp_path.glob("budget.db*"):
        if each.is_file():
            each.unlink()
    book.path.write_bytes(old)
    before, (kept,) = book.export(), tmp_path.rglob("*.jsonl")

    with pytest.raises(BudgetError, match="an older copy of the ledger was put back") as refused:
        CALLS[call](ledger=book.path, dataset="d", transcript=None if named is None else tmp_path / named)

    assert refused.value.code == "LW415"
    assert (book.export(), list(tmp_path.rglob("*.jsonl"))) == (before, [kept])
