"""The ledger's SQLite file: its tables, its transactions, and its failures in our words.

Rules that must hold whatever a program does are written into the file: spent never exceeds the limit, entries are only
appended, terms never change, and an entry moves its account in the same statement.
"""

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from lapwing.errors import BudgetError, DataError, LapwingError

BUSY_SECONDS = 30.0
"""How long a process waits for the others' transactions, each of which takes milliseconds."""

APPLICATION_ID = 0x4C574C47
FORMAT = 1
STATEMENTS = (
    """CREATE TABLE accounts (
    dataset TEXT NOT NULL PRIMARY KEY,
    unit TEXT NOT NULL CHECK (unit IN ('pure', 'zcdp')),
    delta TEXT,
    relation TEXT NOT NULL CHECK (relation IN ('add-remove', 'replace-one')),
    privacy_unit TEXT NOT NULL,
    limit_units INTEGER NOT NULL CHECK (typeof(limit_units) = 'integer'),
    spent_units INTEGER NOT NULL DEFAULT 0 CHECK (typeof(spent_units) = 'integer' AND spent_units >= 0),
    CHECK (spent_units <= limit_units)
)""",
    """CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('init', 'debit', 'limit')),
    dataset TEXT NOT NULL,
    release_id TEXT CHECK ((release_id IS NOT NULL) = (kind = 'debit')),
    units INTEGER NOT NULL CHECK (typeof(units) = 'integer' AND units >= 0),
    details TEXT NOT NULL,
    hash TEXT NOT NULL,
    UNIQUE (dataset, release_id)
)""",
    # INSERT OR REPLACE deletes without asking the delete trigger, so this one refuses what it would replace.
    """CREATE TRIGGER entries_append BEFORE INSERT ON entries
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
  OR EXISTS (SELECT 1 FROM entries WHERE dataset = NEW.dataset AND release_id = NEW.release_id)
  OR NOT EXISTS (SELECT 1 FROM accounts WHERE dataset = NEW.dataset)
BEGIN SELECT RAISE(ABORT, 'entries are appended, one for each release'); END""",
    """CREATE TRIGGER entries_debit AFTER INSERT ON entries WHEN NEW.kind = 'debit'
BEGIN UPDATE accounts SET spent_units = spent_units + NEW.units WHERE dataset = NEW.dataset; END""",
    """CREATE TRIGGER entries_limit AFTER INSERT ON entries WHEN NEW.kind = 'limit'
BEGIN UPDATE accounts SET limit_units = NEW.units WHERE dataset = NEW.dataset; END""",
    """CREATE TRIGGER entries_stay BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END""",
    """CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END""",
    """CREATE TABLE answers (
    dataset TEXT NOT NULL,
    release_id TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (typeof(number) = 'integer'),
    digest TEXT NOT NULL,
    PRIMARY KEY (dataset, release_id, number),
    FOREIGN KEY (dataset, release_id) REFERENCES entries (dataset, release_id)
)""",
    """CREATE TRIGGER answers_append BEFORE INSERT ON answers
WHEN EXISTS (SELECT 1 FROM answers WHERE dataset = NEW.dataset AND release_id = NEW.release_id AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'an answer is noted once'); END""",
    """CREATE TRIGGER answers_stay BEFORE DELETE ON answers
BEGIN SELECT RAISE(ABORT, 'noted answers are never deleted'); END""",
    """CREATE TRIGGER answers_fixed BEFORE UPDATE ON answers
BEGIN SELECT RAISE(ABORT, 'noted answers are never changed'); END""",
    """CREATE TRIGGER accounts_stay BEFORE DELETE ON accounts
BEGIN SELECT RAISE(ABORT, 'accounts are never deleted'); END""",
    """CREATE TRIGGER accounts_fixed BEFORE UPDATE OF dataset, unit, delta, relation, privacy_unit ON accounts
BEGIN SELECT RAISE(ABORT, 'the terms of an account are never changed'); END""",
    """CREATE TRIGGER accounts_no_refund BEFORE UPDATE OF spent_units ON accounts
WHEN NEW.spent_units < OLD.spent_units
BEGIN SELECT RAISE(ABORT, 'budget is never refunded'); END""",
    """CREATE TABLE selections (
    dataset TEXT NOT NULL PRIMARY KEY REFERENCES accounts (dataset),
    limit_units INTEGER NOT NULL CHECK (typeof(limit_units) = 'integer' AND limit_units > 0),
    spent_units INTEGER NOT NULL DEFAULT 0 CHECK (typeof(spent_units) = 'integer' AND spent_units >= 0),
    CHECK (spent_units <= limit_units)
)""",
    # One statement moves both accounts or neither, because what breaks a rule here undoes the entry too.
    """CREATE TRIGGER entries_selection AFTER INSERT ON entries
WHEN NEW.kind = 'debit' AND json_extract(NEW.details, '$.selection_units') IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'this account allows no selections')
    WHERE NOT EXISTS (SELECT 1 FROM selections WHERE dataset = NEW.dataset);
    UPDATE selections SET spent_units = spent_units + json_extract(NEW.details, '$.selection_units')
    WHERE dataset = NEW.dataset;
END""",
    """CREATE TRIGGER selections_once BEFORE INSERT ON selections
WHEN NEW.spent_units IS NOT 0 OR EXISTS (SELECT 1 FROM selections WHERE dataset = NEW.dataset)
BEGIN SELECT RAISE(ABORT, 'selections are allowed once, when an account is opened'); END""",
    """CREATE TRIGGER selections_stay BEFORE DELETE ON selections
BEGIN SELECT RAISE(ABORT, 'what selections spent is never deleted'); END""",
    """CREATE TRIGGER selections_fixed BEFORE UPDATE OF dataset, limit_units ON selections
BEGIN SELECT RAISE(ABORT, 'what selections may spend is never changed'); END""",
    """CREATE TRIGGER selections_no_refund BEFORE UPDATE OF spent_units ON selections
WHEN NEW.spent_units < OLD.spent_units
BEGIN SELECT RAISE(ABORT, 'budget is never refunded'); END""",
)

if sys.platform == "darwin":
    import fcntl

_LOCKS = [f"IOERR_{each}" for each in ("LOCK", "RDLOCK", "UNLOCK", "CHECKRESERVEDLOCK", "SHMLOCK", "SHMMAP")]

T = TypeVar("T")

_CREATION = threading.Lock()
"""POSIX takes all of a process's locks from a file when any of its descriptors is closed, so none of ours may be closed
while another thread, which found the new file, uses it already."""


@dataclass(frozen=True, slots=True)
class FileSession:
    """One transaction on the file."""

    connection: sqlite3.Connection

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        return self.connection.execute(statement, values).fetchall()

    def clock(self) -> None:
        """Return that a file has no clock."""

    def misfit(self, *, whole: bool = False) -> str | None:
        """Compare the tables and triggers with ours; on the whole, let SQLite look at all pages too."""
        found = self.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        if sorted(map(repr, found)) != sorted(map(repr, map(_as_listed, STATEMENTS))):
            return "the list of its tables and triggers"
        is_sound = not whole or self.execute("PRAGMA integrity_check") == [("ok",)]
        return None if is_sound else "one of its pages"


def _as_listed(statement: str) -> tuple[str, str, str, str]:
    """Return how SQLite lists what a statement creates."""
    words = statement.split()
    kind, name = words[1].lower(), words[2]
    return kind, name, words[words.index("ON") + 1] if kind == "trigger" else name, statement


exists = os.path.isfile


def transcripts_of(path: str | os.PathLike[str]) -> Path:
    """Return the folder beside the file.

    It goes by the file's own name: under a symbolic link a release would have a second hold, and an older copy of the
    ledger that was put back would have no transcript beside it.
    """
    return Path(f"{os.path.realpath(path) if os.path.islink(path) else path}.transcripts")


def transact(path: Path, begin: Literal["BEGIN", "BEGIN IMMEDIATE"], work: Callable[[FileSession], T]) -> T:
    """Run ``work`` in one transaction; it is durable when this returns, and undone when this raises.

    Every call has a connection of its own: nothing is shared between threads or carried through a fork.
    """

    def guarded_work(connection: sqlite3.Connection) -> T:
        _check_format(path, connection)
        _use_write_ahead_log(path, connection)
        # The log is synced after the commit, so that processes wait for the disk side by side and not in a row.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(begin)
        result = work(FileSession(connection))
        connection.execute("COMMIT")
        if begin == "BEGIN IMMEDIATE":
            _sync_log(path)
        return result

    return _with_connection(path, guarded_work)


def _sync_log(path: Path) -> None:
    """Wait until the log is on the disk; what SQLite took out of the log into the file, it has synced there."""
    with open(f"{path.resolve()}-wal", "r+b") as file:
        if sys.platform == "darwin":
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
        else:
            os.fsync(file.fileno())


def create_if_absent(path: Path) -> None:
    """Make an empty ledger at ``path`` unless something is there; several processes may do so at once."""
    failure = None
    try:
        # SQLite gives its side files the permissions of the main file, so this is the only place that sets them.
        with _CREATION, suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        failure = BudgetError(
            f"the ledger {path} cannot be made ({error.strerror}); choose a place you may write to", code="LW406"
        )
    if failure is not None:
        raise failure
    _with_connection(path, _create_tables)


def _create_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        for statement in STATEMENTS:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _with_connection(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    try:
        # mode=rw: a file that has gone away is an error, and never a fresh empty ledger.
        address = _only_name(path).as_uri() + "?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            # A commit returns after the write-ahead log has reached the disk, on macOS too (fullfsync).
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
            return work(connection)
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:  # damaged text that is no text, a failed sync
        failure = _in_our_words(path, error)
    # Raised here and not in the except block, so that SQLite's own message does not ride along as the context.
    raise failure


def _only_name(path: Path) -> Path:
    """Return the path without symbolic links; a file of two names would have two write-ahead logs, and lose debits."""
    real = path.resolve()
    if real.is_file() and real.stat().st_nlink > 1:
        raise BudgetError(
            f"the ledger {path} has several names (hard links), under which it would lose debits; remove the others",
            code="LW407",
        )
    return real


def _check_format(path: Path, connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise DataError(
            f"{path} is not a Lapwing ledger; name one, or make it with `lapwing ledger init`", code="LW403"
        )
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found != FORMAT:
        raise DataError(
            f"the ledger {path} has format {found}, this version reads {FORMAT}; use a matching version", code="LW403"
        )
    # A view or trigger of a stranger could run without end, so that no table is asked anything before this.
    statements = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if not statements <= set(STATEMENTS):
        raise BudgetError(
            f"the ledger {path} was changed by other means than Lapwing: its tables or triggers do not fit; put back "
            "its newest copy, and lower its limit by what was spent since",
            code="LW404",
        )


def _use_write_ahead_log(path: Path, connection: sqlite3.Connection) -> None:
    """Switch the file to its write-ahead log once; it needs a moment alone with the file, without SQLite's waiting."""
    deadline = time.monotonic() + BUSY_SECONDS
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    while mode != "wal":
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            if mode != "wal":
                raise BudgetError(
                    f"the ledger {path} cannot be kept safely on this file system; use a local disk", code="LW407"
                )


def _in_our_words(path: Path, error: sqlite3.Error | UnicodeDecodeError | OSError) -> LapwingError:
    """Return one sentence for a failure of SQLite, by its error code: its own text may quote what we asked."""
    name = "SQLITE_IOERR_FSYNC" if isinstance(error, OSError) else getattr(error, "sqlite_errorname", "SQLITE_CORRUPT")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return DataError(
            f"{path} is damaged or not a Lapwing ledger; name another file, or put back its newest copy and lower "
            "its limit by what was spent since",
            code="LW403",
        )
    if name.startswith("SQLITE_CONSTRAINT"):
        return BudgetError(
            f"the ledger {path} refused an entry that breaks its rules; nothing was recorded", code="LW419"
        )
    sentences = {
        ("SQLITE_BUSY", "SQLITE_LOCKED"): (
            f"is in use by another process for more than {BUSY_SECONDS:g} s, or on a file system that cannot lock; "
            "try later, or keep it on a local disk",
            "LW405",
        ),
        ("SQLITE_IOERR_SHMSIZE",): ("cannot grow; check that the disk has space and works, and try again", "LW406"),
        ("SQLITE_FULL",): ("cannot grow because the disk is full; free some space and try again", "LW406"),
        ("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"): (
            "is read-only; make it and its folder writable, or, to look only, copy the file (and its -wal file, where "
            "there is one) to where you may write",
            "LW406",
        ),
        ("SQLITE_CANTOPEN",): ("cannot be opened; check that it is there, and writable with its folder", "LW406"),
        tuple(f"SQLITE_{each}" for each in (*_LOCKS, "PROTOCOL", "NOLFS")): (
            "cannot be locked on this file system, as happens on network drives; keep it on a local disk",
            "LW407",
        ),
    }
    for names, (sentence, code) in sentences.items():
        if name.startswith(names):
            return BudgetError(f"the ledger {path} {sentence}", code=code)
    return BudgetError(f"the ledger {path} failed ({name}); check the disk, and that it is a local one", code="LW406")
