"""The ledger as a file: its own rules, tampering, failures of the disk, and other files in its place."""

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from helpers.make import TERMS
from lapwing.errors import BudgetError, DataError, LapwingError
from lapwing.kernel.budget import ledger_file
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger

RELEASE = TERMS | {"description": {}}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Return a ledger with a limit of epsilon 1, three debits of 0.1 and one change of the limit."""
    made = Ledger.create_or_open(tmp_path / "budget.db")
    made.init("adult", unit="pure", limit=1, **TERMS)
    for name in ("a", "b", "c"):
        made.debit("adult", name, Budget.pure("0.1"), **RELEASE)
    made.set_limit("adult", 2)
    return made


@contextmanager
def raw(ledger: Ledger) -> Iterator[sqlite3.Connection]:
    """Open the file behind Lapwing's back; every statement is committed at once."""
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        yield connection


def test_the_file_belongs_to_its_owner_only(ledger: Ledger) -> None:
    if os.name != "posix":
        pytest.skip("file permissions are those of POSIX")

    mode = stat.S_IMODE(ledger.path.stat().st_mode)

    assert mode == 0o600


def test_the_file_is_kept_with_a_write_ahead_log_whose_checkpoints_are_synced(ledger: Ledger) -> None:
    def read(connection: sqlite3.Connection) -> tuple[str, int, int]:
        names = ("journal_mode", "synchronous", "busy_timeout")
        return tuple(connection.execute(f"PRAGMA {name}")[0][0] for name in names)

    journal_mode, synchronous, busy_timeout = ledger_file.transact(ledger.path, "BEGIN", read)

    assert journal_mode == "wal"
    assert synchronous == 1, "NORMAL: the log is synced after the commit, see the proof"
    assert busy_timeout == 30_000


@pytest.mark.parametrize("name", ["a b?mode=ro#%20.db", "Büdget 'quoted'.db"])
def test_odd_file_names_work(tmp_path: Path, name: str) -> None:
    ledger = Ledger.create_or_open(tmp_path / name)
    ledger.init("adult", unit="pure", limit=1, **TERMS)

    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.fixture
def both(ledger: Ledger) -> Ledger:
    """Return it with another account, "letter", that paid for selections."""
    ledger.init("letter", unit="zcdp", limit=1, selection_delta=1e-6, **TERMS)
    ledger.debit("letter", "release", Budget.zcdp("0.1"), **RELEASE, delta=Fraction(1, 4 * 10**6))
    return ledger


NEXT = "INSERT INTO entries VALUES (8, 'now', 'debit',"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries WHERE number = 3",
        "UPDATE entries SET units = 1 WHERE number = 3",
        "INSERT OR REPLACE INTO entries VALUES (3, 'now', 'debit', 'adult', 'b', 1, '{}', '')",
        "INSERT OR REPLACE INTO entries VALUES (8, 'now', 'debit', 'adult', 'b', 1, '{}', '')",
        "INSERT INTO entries VALUES (11, 'now', 'debit', 'adult', 'd', 1, '{}', '')",
        "INSERT INTO entries VALUES (8, 'now', 'limit', 'adult', NULL, 299999999, '{}', '')",
        f"{NEXT} 'adult', 'd', 1700000001, '{{}}', '')",
        f"{NEXT} 'adult', 'd', -1, '{{}}', '')",
        f"{NEXT} 'adult', 'd', 0.5, '{{}}', '')",
        f"{NEXT} 'adult', 'd', 9223372036854775807, '{{}}', '')",
        f"{NEXT} 'adult', NULL, 1, '{{}}', '')",
        f"{NEXT} 'other', 'd', 1, '{{}}', '')",
        *(
            f"{NEXT} 'letter', 'd', 1, '{{\"selection_units\":{units}}}', '')"
            for units in ("750000000001", "-1", "0.5", "9223372036854775807")
        ),
        f"{NEXT} 'adult', 'd', 1, '{{\"selection_units\":1}}', '')",
        "DELETE FROM accounts",
        "UPDATE accounts SET spent_units = 0 WHERE dataset = 'adult'",
        "UPDATE accounts SET limit_units = 299999999 WHERE dataset = 'adult'",
        "UPDATE accounts SET unit = 'zcdp' WHERE dataset = 'adult'",
        "UPDATE accounts SET relation = 'replace-one' WHERE dataset = 'adult'",
        "UPDATE accounts SET spent_units = limit_units + 1 WHERE dataset = 'adult'",
        "DELETE FROM selections",
        "UPDATE selections SET spent_units = 0",
        "UPDATE selections SET limit_units = 2000000000000",
        "UPDATE selections SET dataset = 'other'",
        "UPDATE selections SET spent_units = limit_units + 1",
        "INSERT INTO selections VALUES ('letter', 9, 0)",
        "INSERT OR REPLACE INTO selections VALUES ('letter', 1000000000000, 0)",
        "INSERT INTO selections VALUES ('adult', 9, -9)",
    ],
)
def test_the_file_itself_refuses_what_breaks_its_rules(both: Ledger, statement: str) -> None:
    with raw(both) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)

    assert both.verify() == 7
    assert both.balance("adult").spent == Fraction("0.3")
    assert both.balance("letter").selection_spent == Fraction(1, 4 * 10**6)


def test_an_entry_moves_its_account_whoever_writes_it(ledger: Ledger) -> None:
    with raw(ledger) as connection:
        connection.execute("INSERT INTO entries VALUES (6, 'now', 'debit', 'adult', 'd', 100000000, '{}', '')")

        spent = connection.execute("SELECT spent_units FROM accounts").fetchone()[0]

    assert spent == 400_000_000
    for refused in (ledger.verify, ledger.balance, ledger.history):
        with pytest.raises(BudgetError, match="changed by other means than Lapwing: entry 6 does not fit"):
            refused()


ACCOUNT, SELECTIONS = "account of data set 'adult'", "the account of selections of data set 'letter'"
OF_ADULT = " WHERE dataset = 'adult'"
TAMPERING = {
    "an entry is changed": ("entries_fixed", "UPDATE entries SET units = 1 WHERE number = 3", "entry 3"),
    "an entry is deleted": ("entries_stay", "DELETE FROM entries WHERE number = 3", "entry 3"),
    "the first entry is deleted": ("entries_stay", "DELETE FROM entries WHERE number = 1", "entry 1"),
    "the last entry is deleted": ("entries_stay", "DELETE FROM entries WHERE number = 7", "data set 'letter'"),
    "a time is changed": ("entries_fixed", "UPDATE entries SET at = '2020' WHERE number = 2", "entry 2"),
    "a description is changed": ("entries_fixed", "UPDATE entries SET details = '{}' WHERE number = 2", "entry 2"),
    "a value gets another type": ("entries_fixed", "UPDATE entries SET details = x'00' WHERE number = 2", "entry 2"),
    "budget is refunded": ("accounts_no_refund", f"UPDATE accounts SET spent_units = 0{OF_ADULT}", ACCOUNT),
    "terms are changed": ("accounts_fixed", f"UPDATE accounts SET relation = 'replace-one'{OF_ADULT}", ACCOUNT),
    "an account is deleted": ("accounts_stay", "DELETE FROM accounts", ACCOUNT),
    "the limit is raised": (None, f"UPDATE accounts SET limit_units = 5000000000{OF_ADULT}", ACCOUNT),
    "an account is added": (
        None,
        "INSERT INTO accounts VALUES ('new', 'pure', NULL, 'add-remove', 'row', 5, 0)",
        "account of data set 'new'",
    ),
    "a selection is refunded": ("selections_no_refund", "UPDATE selections SET spent_units = 0", SELECTIONS),
    "more selections": ("selections_fixed", "UPDATE selections SET limit_units = 2000000000000", SELECTIONS),
    "no limit of selections": ("selections_stay", "DELETE FROM selections", SELECTIONS),
    "another delta in an entry": (
        "entries_fixed",
        "UPDATE entries SET details = replace(details, '250000000000', '1') WHERE number = 7",
        "entry 7",
    ),
    "a forgotten table": (None, "DROP TABLE selections", "the list of its tables and triggers"),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_evident_also_when_the_trigger_is_put_back(both: Ledger, name: str) -> None:
    trigger, statement, culprit = TAMPERING[name]

    with raw(both) as connection:
        if trigger is not None:
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(statement)
        for wanted in ledger_file.STATEMENTS:
            if trigger is not None and f"TRIGGER {trigger} " in wanted:
                connection.execute(wanted)

    with pytest.raises(BudgetError, match=f"changed by other means than Lapwing: .*{culprit} does not fit"):
        both.verify()


def test_a_dropped_trigger_is_evident(ledger: Ledger) -> None:
    with raw(ledger) as connection:
        connection.execute("DROP TRIGGER entries_stay")

    with pytest.raises(BudgetError, match="the list of its tables and triggers does not fit"):
        ledger.verify()


def test_another_kind_of_file_is_not_a_ledger_and_stays_as_it_is(tmp_path: Path) -> None:
    text, other = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("not a database, but longer than the header of one\n" * 40, encoding="utf-8")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE unrelated (x)")
    before = {path: path.read_bytes() for path in (text, other)}

    for path in (text, other):
        for opening in (Ledger.open, Ledger.create_or_open):
            with pytest.raises(DataError, match="not a Lapwing ledger"):
                opening(path)

    assert {path: path.read_bytes() for path in (text, other)} == before
    assert sorted(tmp_path.iterdir()) == [text, other]


def test_a_later_format_is_refused(ledger: Ledger) -> None:
    with raw(ledger) as connection:
        connection.execute("PRAGMA user_version = 3")

    with pytest.raises(DataError, match="has format 3, this version reads 1;"):
        Ledger.open(ledger.path)


def test_an_interrupted_creation_is_completed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    path.touch()

    with pytest.raises(DataError, match="is not a Lapwing ledger"):
        Ledger.open(path)
    ledger = Ledger.create_or_open(path)

    assert ledger.verify() == 0


def test_a_folder_or_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no ledger"):
        Ledger.open(tmp_path)
    with pytest.raises(LapwingError, match="cannot be"):
        Ledger.create_or_open(tmp_path)
    with pytest.raises(BudgetError, match="cannot be made"):
        Ledger.create_or_open(tmp_path / "missing" / "budget.db")


def test_a_ledger_that_another_process_holds_is_reported_after_the_wait(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.1)

    with raw(ledger) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(BudgetError) as caught:
            ledger.debit("adult", "d", Budget.pure("0.1"), **RELEASE)
        readable = ledger.balance().spent

    assert "is in use by another process for more than 0.1 s" in str(caught.value)
    assert caught.value.__context__ is None
    assert readable == Fraction("0.3")


def test_a_full_disk_debits_nothing_and_says_so(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    # SQLite reports the same code for a full disk and for a file at its largest allowed size.
    check = ledger_file._check_format

    def on_a_full_disk(path: Path, connection: sqlite3.Connection) -> None:
        check(path, connection)
        connection.execute("PRAGMA max_page_count = 1")

    monkeypatch.setattr(ledger_file, "_check_format", on_a_full_disk)
    with pytest.raises(BudgetError, match="cannot grow because the disk is full") as caught:
        ledger.debit("adult", "d", Budget.pure("0.1"), **(RELEASE | {"description": {"long": "x" * 20_000}}))
    monkeypatch.undo()

    assert caught.value.__context__ is None
    assert ledger.balance().spent == Fraction("0.3")
    assert ledger.verify() == 5


def test_a_read_only_connection_is_reported(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    check = ledger_file._check_format

    def read_only(path: Path, connection: sqlite3.Connection) -> None:
        check(path, connection)
        connection.execute("PRAGMA query_only = ON")

    monkeypatch.setattr(ledger_file, "_check_format", read_only)

    with pytest.raises(BudgetError, match="is read-only"):
        ledger.debit("adult", "d", Budget.pure("0.1"), **RELEASE)


def test_a_damaged_file_is_reported(ledger: Ledger) -> None:
    size = ledger.path.stat().st_size
    with ledger.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))

    with pytest.raises(DataError, match="is damaged or not a Lapwing ledger"):
        ledger.balance()


def test_a_ledger_that_goes_away_is_not_replaced_by_an_empty_one(ledger: Ledger) -> None:
    ledger.path.unlink()

    with pytest.raises(BudgetError, match="cannot be opened"):
        ledger.debit("adult", "d", Budget.pure("0.1"), **RELEASE)

    assert not ledger.path.exists()


def test_one_ledger_object_serves_many_threads(ledger: Ledger) -> None:
    def spend(worker: int) -> None:
        for number in range(5):
            ledger.debit("adult", f"{worker}-{number}", Budget.pure("0.01"), **RELEASE)

    threads = [threading.Thread(target=spend, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ledger.balance().spent == Fraction("0.5")
    assert ledger.verify() == 25
