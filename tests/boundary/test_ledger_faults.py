"""The ledger on a disk that is full or fails, on network drives, read-only, copied, under a clock that goes back."""

import errno
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction
from functools import partial

import polars as pl
import pytest

import lapwing as lw
from helpers.sqlite_faults import failing_locks, failing_writes
from lapwing.errors import BudgetError, DataError, LapwingError
from lapwing.kernel.budget import ledger as ledger_module
from lapwing.kernel.budget import ledger_file
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.transcript import continue_transcript

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
RELEASE = TERMS | {"description": {}}
SCHEMA = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
DATA = pl.DataFrame({"flag": [True, False] * 20})
TENTH = Budget.pure("0.1")


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create_or_open(tmp_path / "budget.db")
    made.init("adult", unit="pure", limit=9, **TERMS)
    made.debit("adult", "first", TENTH, **RELEASE)
    return made


def refusal_of(work, *, after, number):
    """Return how ``work`` is refused where SQLite writes ``after`` times and then fails; None where it is done."""
    try:
        with failing_writes(after, number):
            work()
    except BudgetError as error:
        return error
    return None


def pay(ledger, name="second"):
    return ledger.debit("adult", name, TENTH, **RELEASE)


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "the disk is full; free some space"),
        (errno.EIO, "failed (SQLITE_IOERR_WRITE); check the disk"),
    ],
    ids=["full disk", "failing disk"],
)
def test_a_disk_that_fails_at_any_write_of_a_debit_leaves_all_of_it_or_nothing(ledger, number, says):
    failed = 0
    while (error := refusal_of(partial(pay, ledger, f"r{failed}"), after=failed, number=number)) is not None:
        assert says in str(error) or "cannot grow; check that the disk has space and works" in str(error)
        assert error.__context__ is None
        assert ledger.find("adult", f"r{failed}") is None
        assert ledger.balance().spent == Fraction(failed + 1, 10)
        pay(ledger, f"r{failed}")  # once there is space, the same debit is made
        failed += 1

    # The log's header, and the header and the page of each frame of the entry; a checkpoint that fails is made later.
    assert failed >= 4
    assert ledger.find("adult", f"r{failed}") is not None
    ledger.verify()


def test_a_release_on_a_full_disk_spends_nothing_and_leaves_no_file(ledger, tmp_path):
    with failing_writes(0, errno.ENOSPC), pytest.raises(LapwingError, match="disk has space"):
        lw.synthesize(DATA, SCHEMA, epsilon="0.1", ledger=ledger.path)

    # SQLite may leave its two side files, which its next use takes away.
    assert {path.name for path in tmp_path.iterdir()} <= {"budget.db", "budget.db-wal", "budget.db-shm"}
    assert ledger.balance().spent == Fraction(1, 10)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP], ids=["no lock service", "no locks"])
def test_a_file_system_that_cannot_lock_is_refused_and_local_disks_are_named(ledger, monkeypatch, number):
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.1)

    for use in (ledger.balance, ledger.verify, partial(pay, ledger)):
        with failing_locks(number), pytest.raises(BudgetError, match="keep it on a local disk") as refused:
            use()
        assert refused.value.__context__ is None

    assert ledger.verify() == 2


def test_a_ledger_is_not_made_where_nothing_can_be_locked(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.1)

    with failing_locks(), pytest.raises(BudgetError, match="local disk"):
        Ledger.create_or_open(tmp_path / "budget.db")

    assert Ledger.create_or_open(tmp_path / "budget.db").verify() == 0


def test_a_file_system_without_shared_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "budget.db"
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda address, **more: connect(address + "&vfs=unix-none", **more))

    with pytest.raises(BudgetError, match="cannot be kept safely on this file system; use a local disk"):
        Ledger.create_or_open(path)


@pytest.fixture
def nobody():
    """Give up the rights of root, to whom no file is read-only."""
    if not hasattr(os, "seteuid"):
        pytest.skip("users are those of POSIX")
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)


@pytest.fixture
def read_only(tmp_path, ledger):
    """Return the ledger in a folder that nobody may write to, and may be read by all."""
    folder = tmp_path.parent / f"{tmp_path.name}-locked"
    folder.mkdir()
    shutil.copy(ledger.path, folder / "budget.db")
    for place in (*tmp_path.parents, folder):
        if place.is_relative_to(os.path.realpath(os.environ.get("TMPDIR", "/tmp"))) and os.geteuid() == 0:
            place.chmod(stat.S_IMODE(place.stat().st_mode) | 0o055)
    (folder / "budget.db").chmod(0o444)
    folder.chmod(0o555)
    yield Ledger(folder / "budget.db")
    folder.chmod(0o755)


def test_a_read_only_folder_is_refused_with_what_to_do(read_only, nobody):
    for use in (partial(pay, read_only), read_only.balance):
        with pytest.raises(BudgetError, match="writ") as refused:
            use()
        assert "its folder" in str(refused.value)


def test_a_second_name_of_the_file_is_refused_as_its_log_would_miss_debits(ledger, tmp_path):
    other = Ledger(tmp_path / "other.db")
    os.link(ledger.path, other.path)

    for book in (ledger, other):
        with pytest.raises(BudgetError, match="has several names"):
            pay(book)
    other.path.unlink()

    assert pay(ledger).number == 3


def test_a_symbolic_link_is_the_same_ledger(ledger, tmp_path):
    (tmp_path / "link.db").symlink_to(ledger.path)

    pay(Ledger.open(tmp_path / "link.db"))

    assert ledger.balance().spent == Fraction(1, 5)
    assert not list(tmp_path.glob("link.db-*"))


def test_releases_under_a_symbolic_link_keep_their_transcripts_beside_the_ledger_itself(ledger, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(ledger.path)
    shutil.copy(ledger.path, tmp_path / "backup.db")

    lw.synthesize(DATA, SCHEMA, epsilon="0.1", ledger=link)
    shutil.copy(tmp_path / "backup.db", ledger.path)

    assert [path.name for path in link.parent.iterdir()] == ["link.db"]
    for name in (ledger.path, link):
        with pytest.raises(BudgetError, match="an older copy of the ledger was put back"):
            lw.synthesize(DATA, SCHEMA, epsilon="0.1", ledger=name)


def test_a_release_is_held_once_whatever_link_its_transcript_names(ledger, tmp_path):
    (tmp_path / "link.db").symlink_to(ledger.path)
    (tmp_path / "link.db.transcripts").mkdir()
    transcript = tmp_path / "t.jsonl"
    lw.synthesize(DATA, SCHEMA, epsilon="0.1", ledger=ledger.path, transcript=transcript)
    other = tmp_path / "other.jsonl"
    other.write_text(transcript.read_text(encoding="utf-8").replace(str(ledger.path), str(tmp_path / "link.db")))

    held, _, _ = continue_transcript(transcript)

    with closing(held), pytest.raises(DataError, match="in use by another process"):
        continue_transcript(other)


def test_entries_stay_in_order_when_the_clock_goes_back(ledger, monkeypatch):
    for name, at in (("second", "1999-12-31T23:59:59+00:00"), ("third", "1970-01-01T00:00:00+00:00")):
        monkeypatch.setattr(ledger_module, "_now", lambda at=at: at)
        pay(ledger, name)

    assert [entry.release_id for entry in ledger.history()] == [None, "first", "second", "third"]
    assert [entry.number for entry in ledger.history()] == [1, 2, 3, 4]
    assert ledger.verify() == 4


def test_an_older_copy_that_was_put_back_is_evident_to_a_kept_hash(ledger, tmp_path):
    shutil.copy(ledger.path, tmp_path / "backup.db")
    pay(ledger)
    kept = ledger.head().hash
    assert ledger.head(kept).kept == 3

    shutil.copy(tmp_path / "backup.db", ledger.path)

    assert ledger.verify() == 2, "by itself the copy is a ledger like any other"
    with pytest.raises(BudgetError, match=r"no entry of this ledger has the hash .* an older copy was put back"):
        ledger.head(kept)


def test_an_older_copy_that_was_put_back_is_evident_from_the_transcripts_beside_it(ledger, tmp_path):
    shutil.copy(ledger.path, tmp_path / "backup.db")
    release = lw.synthesize(DATA, SCHEMA, epsilon="0.1", ledger=ledger.path)
    name = release.certificate.ledger.release_id
    transcript = tmp_path / "budget.db.transcripts" / f"{name}.jsonl"
    shutil.copy(tmp_path / "backup.db", ledger.path)

    with pytest.raises(BudgetError, match="an older copy of the ledger was put back") as refused:
        lw.synthesize(DATA, SCHEMA, epsilon="0.1", ledger=ledger.path)
    assert str(transcript) in str(refused.value)

    # The way out that it names: the debit is entered again.
    lw.resume(transcript, DATA)
    assert ledger.find("adult", name) is not None
    lw.synthesize(DATA, SCHEMA, epsilon="0.1", ledger=ledger.path)
    assert ledger.balance().spent == Fraction(3, 10)


def test_a_copy_taken_while_the_log_holds_debits_never_passes_for_more_than_it_is(ledger, tmp_path):
    with closing(sqlite3.connect(ledger.path)) as reader:  # an open reader keeps the log from being emptied
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entries").fetchone()
        pay(ledger)
        kept = ledger.head().hash
        shutil.copy(ledger.path, tmp_path / "without-log.db")
        both = tmp_path / "with-log.db"
        shutil.copy(ledger.path, both)
        shutil.copy(f"{ledger.path}-wal", f"{both}-wal")

    assert Ledger(both).head(kept).entries == 3
    with pytest.raises(BudgetError, match="older copy"):
        Ledger(tmp_path / "without-log.db").head(kept)
