"""A ledger in a Postgres database: its connections, its transactions, and its failures in our words.

Writers wait for one another at a lock that each takes before it looks, so that all see what was debited before. Each
commit is flushed after the lock was let go, for several writers at once, and before its debit is told. The address has
no password: it stands in transcripts and sentences. Postgres takes one from ``PGPASSWORD`` or ``~/.pgpass``.
"""

import atexit
import hashlib
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from lapwing.errors import BudgetError, DataError, LapwingError, ParameterError
from lapwing.stores.postgres_tables import LISTED, SCHEMA, STAMP, listed, statements
from lapwing.version import install_command

T = TypeVar("T")

BUSY_SECONDS: Final = 30
"""How long a process waits for the others' transactions, each of which takes milliseconds."""
TRIES: Final = 20
"""How often a transaction is begun that Postgres undoes for the sake of another one."""

_AGAIN: Final = ("40001", "40P01")
_BEGIN: Final = {
    "BEGIN": ["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"],
    # A lock is no look: what is read after it is as the writer before left it. The flush below waits for the disk.
    "BEGIN IMMEDIATE": [
        STAMP,  # not within the lock, for which others wait
        "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE",
        "SET LOCAL synchronous_commit = off",
        "LOCK TABLE entries IN EXCLUSIVE MODE",
    ],
}
_SETTINGS: Final = (
    "SET client_encoding TO 'UTF8'",
    f"SET search_path TO {SCHEMA}, pg_temp",
    f"SET lock_timeout TO '{BUSY_SECONDS}s'",
)
_FLUSH: Final = "SELECT pg_logical_emit_message(true, 'lapwing', '')"
"""Waits until all that was committed before is on the disk; at a server's own setting, on its standbys too."""
_TABLE: Final = f"schemaname = '{SCHEMA}' AND tablename = 'entries'"
_IS_THERE: Final = f"SELECT EXISTS (SELECT 1 FROM pg_tables WHERE {_TABLE})"  # noqa: S608 - constants
_NUMBER: Final = int.from_bytes(b"lapwing", "big")
"""Of the lock that whoever makes the tables takes."""


class PostgresSession:
    """A connection, with one transaction at a time; what it was asked since its last change is not asked again."""

    __slots__ = ("_compared", "_connection", "_cursors", "_seen", "_stamp")

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - ADBC's
        self._connection = connection
        self._cursors: dict[str, Any] = {}
        self._seen: dict[tuple[str, tuple[object, ...]], list[Any]] = {}
        self._stamp: list[Any] = []
        self._compared: list[Any] = []

    def begin(self, statements: Sequence[str]) -> None:
        """Run what begins a transaction."""
        self._stamp = []
        for statement in statements:
            rows = self.execute(statement)
            if statement is STAMP:
                self._stamp = rows

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement with a ``?`` for each value, and return its rows."""
        key = (statement, tuple(values))
        if key not in self._seen:
            rows = self._rows(statement, key[1])
            if not statement.startswith(("SELECT", "WITH")):
                self._seen.clear()
                return rows
            self._seen[key] = rows
        return list(self._seen[key])

    def has_selections(self) -> bool:
        """Return that there is a table of selections."""
        return True

    def add_selections(self) -> None:
        """Do nothing: the table was made with the others."""

    def misfit(self, *, whole: bool = False) -> str | None:  # noqa: ARG002 - Postgres looks after its pages
        """Compare tables, rules and functions with ours, unless this connection did and none was written since."""
        stamp = self._stamp or self.execute(STAMP)
        if stamp != self._compared and sorted(self.execute(LISTED)) != listed():
            return "the list of its tables and triggers"
        self._compared = stamp
        return None

    def close(self) -> None:
        """End the connection, and with it what was not committed."""
        for cursor in self._cursors.values():
            cursor.close()
        self._connection.close()

    def _rows(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        """Run a statement, which Postgres has prepared since this connection ran it first."""
        cursor = self._cursors.get(statement)
        if cursor is None:
            cursor = self._cursors[statement] = self._connection.cursor()
        first, *others = statement.split("?")
        numbered = first + "".join(f"${number}{part}" for number, part in enumerate(others, 1))
        cursor.execute(numbered, values or None)
        return list(cursor.fetchall()) if cursor.description else []


def exists(path: str) -> bool:
    """Return whether the database has the tables of a ledger."""
    return transact(path, "BEGIN", lambda session: bool(session.execute(_IS_THERE)[0][0]))


def create_if_absent(path: str) -> None:
    """Make the tables unless they are there; several processes may do so at once."""

    def work(session: PostgresSession) -> None:
        session.execute("SELECT pg_advisory_xact_lock(?)", (_NUMBER,))
        if not session.execute(_IS_THERE)[0][0]:
            for statement in statements():
                session.execute(statement)

    if not exists(path):
        _transacted(path, ["BEGIN"], work)


def transcripts_of(path: str) -> Path:
    """Return a folder of the user's own, the same wherever a command is run on this machine."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", path.partition("://")[2])[:80]
    return Path(state, "lapwing", "ledgers", f"{name}-{hashlib.sha256(path.encode()).hexdigest()[:16]}.transcripts")


def transact(path: str, begin: str, work: Callable[[PostgresSession], T]) -> T:
    """Run ``work`` in one transaction; it is durable when this returns, and undone when this raises.

    Where Postgres undoes it for the sake of another one, it is run anew.
    """
    return _transacted(path, _BEGIN[begin], work)


def _transacted(path: str, begin: Sequence[str], work: Callable[[PostgresSession], T]) -> T:
    dbapi = _driver()
    state = None
    for again in range(TRIES):
        try:
            return _once(dbapi, path, begin, work)
        except dbapi.Error as error:
            state = error.sqlstate
        if state not in _AGAIN:
            break
        time.sleep(0.01 * again)
    # Raised here and not in the except block, so that Postgres's own message does not ride along as the context.
    raise _in_our_words(path, state)


def _once(dbapi: ModuleType, path: str, begin: Sequence[str], work: Callable[[PostgresSession], T]) -> T:
    """Run ``work`` once; the connection is kept for the next one unless Postgres failed or somebody interrupts."""
    refused: LapwingError | None = None
    with ExitStack() as unless_kept:
        session = _begun(dbapi, path, begin)
        unless_kept.callback(session.close)
        try:
            result = work(session)
        except LapwingError as error:
            refused = error
        session.execute("COMMIT" if refused is None else "ROLLBACK")
        if refused is None and begin is not _BEGIN["BEGIN"]:
            session.execute(_FLUSH)
        unless_kept.pop_all()
    _IDLE.setdefault(path, []).append(session)
    if refused is not None:
        raise refused
    return result


# -- Connections. One takes longer to open than several debits take, so that each is kept until it is used again.


_IDLE: Final[dict[str, list[PostgresSession]]] = {}


def _begun(dbapi: ModuleType, path: str, begin: Sequence[str]) -> PostgresSession:
    """Return a connection with a transaction; one that has ended while it was idle is replaced."""
    with suppress(IndexError):  # when none is idle
        while True:
            session = _IDLE.get(path, []).pop()
            if _is_begun(dbapi, session, begin):
                return session
    return _connected(dbapi, path, begin)


def _is_begun(dbapi: ModuleType, session: PostgresSession, begin: Sequence[str]) -> bool:
    """Begin a transaction, or return that the connection has ended while it was idle."""
    with ExitStack() as unless_begun:
        unless_begun.callback(session.close)
        try:
            session.begin(begin)
        except dbapi.Error as error:
            if error.sqlstate is not None and not error.sqlstate.startswith("57P"):
                raise
            return False
        unless_begun.pop_all()
    return True


def _close_idle() -> None:
    """Close what nobody uses: two processes after a fork must not share a connection."""
    for sessions in _IDLE.values():
        while sessions:
            sessions.pop().close()


atexit.register(_close_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_idle)


def _driver() -> ModuleType:
    try:
        import pyarrow  # noqa: F401, PLC0415 - what ADBC hands rows over in
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - the user's own
    except ImportError:
        pass
    else:
        return dbapi  # type: ignore[no-any-return]
    raise DataError(
        f"a ledger in Postgres is kept by ADBC and PyArrow, which is not installed; run {install_command('databases')}",
        code="LW701",
    )


def _connected(dbapi: ModuleType, path: str, begin: Sequence[str]) -> PostgresSession:
    _check_address(path)
    with ExitStack() as unless_kept:
        session = PostgresSession(dbapi.connect(path, autocommit=True))
        unless_kept.callback(session.close)
        for statement in _SETTINGS:
            session.execute(statement)
        asked = "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting(?)"
        *kept, commit = session.execute(asked, ("synchronous_commit",))[0]
        if "off" in kept:
            raise BudgetError(
                f"the ledger {path} is on a server that may lose debits (fsync or full_page_writes is off); turn both "
                "on, or use another server",
                code="LW407",
            )
        if commit == "off":
            session.execute("SET synchronous_commit TO on")
        session.begin(begin)
        unless_kept.pop_all()
    return session


def _check_address(path: str) -> None:
    """Refuse a password, which would stand in transcripts, and what would not stand on one line."""
    told = path.partition("://")[2]
    has_password = ":" in told.partition("/")[0].rpartition("@")[0] or "password=" in unquote(told).lower()
    if has_password or not path.isprintable():
        raise ParameterError(
            "the address of a ledger must have no password and no control character, and is not shown here; write "
            "postgresql://USER@HOST/NAME, and give the password in PGPASSWORD or ~/.pgpass",
            code="LW407",
        )


def _in_our_words(path: str, state: str | None) -> LapwingError:
    """Return one sentence for a failure of Postgres, by its code: its own text may quote what was asked."""
    if state in ("42P01", "3F000", "42883"):
        return DataError(
            f"the ledger {path} has not all of its tables; put back its newest copy, and lower its limit by what was "
            "spent since",
            code="LW403",
        )
    if state is not None and (state.startswith("23") or state in ("P0001", "22003")):
        return BudgetError(
            f"the ledger {path} refused an entry that breaks its rules; nothing was recorded", code="LW419"
        )
    sentences = {
        ("55P03", *_AGAIN): (f"is in use by others for more than {BUSY_SECONDS} s; try later", "LW405"),
        ("42501", "25006"): (
            "may not be written by this user, or at this server; name another user, or the server that takes changes",
            "LW406",
        ),
        ("53",): ("cannot grow or take a connection; check the server's disk, memory and connections", "LW406"),
    }
    for starts, (sentence, code) in sentences.items():
        if state is not None and state.startswith(starts):
            return BudgetError(f"the ledger {path} {sentence}", code=code)
    reason = "no connection" if state is None else f"SQLSTATE {state}"
    return BudgetError(
        f"the ledger {path} cannot be reached, or failed ({reason}); check its address, user, password (PGPASSWORD or "
        "~/.pgpass) and server, and repeat the command: what is paid is not paid again",
        code="LW406",
    )
