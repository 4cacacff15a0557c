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
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from lapwing.errors import BudgetError, DataError, LapwingError, ParameterError
from lapwing.extras.office.stores.postgres_tables import LISTED, SCHEMA, STAMP, list_objects, statements
from lapwing.version import install_command

T = TypeVar("T")

BUSY_SECONDS: Final = 30
"""How long a process waits for the others' transactions, each of which takes milliseconds."""
FRESH_SECONDS: Final = 1.0
"""For how long a writer takes it that the rules are as its connection found them: asking costs a third of a debit."""
TRIES: Final = 20
"""How often a transaction is begun that Postgres undoes for the sake of another one."""

_AGAIN: Final = ("40001", "40P01")
_WRITES: Final = "BEGIN IMMEDIATE"
_MAKES: Final = "CREATE"
_PATH: Final = f"search_path TO {SCHEMA}, pg_temp"
_BEGIN: Final = {  # with the path anew: a pooler may have reset the connection, and other schemas have such names too
    "BEGIN": ["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", f"SET LOCAL {_PATH}"],
    # A lock is no look: what is read after it is as the writer before left it. The flush below waits for the disk.
    _WRITES: [
        "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE",
        f"SET LOCAL {_PATH}",
        "SET LOCAL synchronous_commit = off",
        "LOCK TABLE entries IN EXCLUSIVE MODE",
    ],
    _MAKES: ["BEGIN", f"SET LOCAL {_PATH}", f"SELECT pg_advisory_xact_lock({int.from_bytes(b'lapwing', 'big')})"],
}
_SETTINGS: Final = (
    "SET client_encoding TO 'UTF8'",
    f"SET {_PATH}",
    f"SET lock_timeout TO '{BUSY_SECONDS}s'",
    "SET standard_conforming_strings TO on",
)
_FLUSH: Final = (
    "BEGIN",
    "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'",
    "SELECT pg_logical_emit_message(true, 'lapwing', '')",
    "COMMIT",
)
"""Waits until all that was committed before is on the disk; at a server's own setting, on its standbys too."""
_CLOCK: Final = """SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')"""
_TABLE: Final = f"schemaname = '{SCHEMA}' AND tablename = 'entries'"
_IS_THERE: Final = f"SELECT EXISTS (SELECT 1 FROM pg_tables WHERE {_TABLE})"  # noqa: S608 - constants


class PostgresSession:
    """A connection, with one transaction at a time, that goes to the server seldom, as others wait meanwhile.

    What it was asked since its last change is not asked again; what is inserted is sent with the commit, or before the
    next question.
    """

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - ADBC's
        self._connection = connection
        self._cursors: dict[str, Any] = {}
        self._seen: dict[tuple[str, tuple[object, ...]], list[Any]] = {}
        self._pending: list[str] = []
        self._stamp: list[Any] = []
        self._stamped = -FRESH_SECONDS
        self._is_writer = False
        self._compared: list[Any] = []

    def begin(self, how: str) -> None:
        """Begin a transaction; a writer asks how the rules are before the lock, for which others wait."""
        self._seen.clear()
        self._is_writer = how == _WRITES
        if self._is_writer and time.monotonic() > self._stamped + FRESH_SECONDS:
            self._ask_stamp()
        self.script(_BEGIN[how])

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement with a ``?`` for each value, and return its rows."""
        key = (statement, tuple(values))
        if any(isinstance(value, str) and "\0" in value for value in values):
            raise BudgetError("a zero character cannot be kept in Postgres; nothing was recorded", code="LW419")
        if not statement.startswith(("SELECT", "WITH")):
            self._seen.clear()
            self._pending.append(_written_out(statement, key[1]))
        elif key not in self._seen:
            if self._pending:
                self.script([])
            self._seen[key] = self._rows(statement, key[1])
        return list(self._seen.get(key, ()))

    def script(self, statements: Sequence[str]) -> None:
        """Send what waits and further statements without rows in one message."""
        text = "; ".join((*self._pending, *statements))
        self._pending.clear()
        with closing(self._connection.cursor()) as cursor:
            cursor.adbc_statement.set_sql_query(text)
            cursor.adbc_statement.execute_update()

    def end(self, *, is_kept: bool) -> None:
        """Commit, or undo all that was begun; what a writer wrote is on the disk when this returns."""
        if not is_kept:
            self._pending.clear()
        # The lock is let go at the commit, and others go on while the second one waits for the disk.
        self.script(("COMMIT", *(_FLUSH if self._is_writer else ())) if is_kept else ("ROLLBACK",))

    def clock(self) -> str:
        """Return the server's time, at which the transaction began."""
        return str(self.execute(_CLOCK)[0][0])

    def misfit(self, *, whole: bool = False) -> str | None:
        """Compare tables, rules and functions with ours, unless this connection did and none was written since."""
        if whole or not self._is_writer:
            self._ask_stamp()
        if self._stamp != self._compared and sorted(self.execute(LISTED)) != list_objects():
            return "the list of its tables and triggers"
        self._compared = self._stamp
        return None

    def close(self) -> None:
        """End the connection, and with it what was not committed."""
        for cursor in self._cursors.values():
            cursor.close()
        self._connection.close()

    def _ask_stamp(self) -> None:
        self._stamp, self._stamped = self._rows(STAMP, ()), time.monotonic()

    def _rows(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        """Run a statement, which Postgres has prepared since this connection ran it first."""
        cursor = self._cursors.get(statement)
        if cursor is None:
            cursor = self._cursors[statement] = self._connection.cursor()
        first, *others = statement.split("?")
        numbered = first + "".join(f"${number}{part}" for number, part in enumerate(others, 1))
        cursor.execute(numbered, values or None)
        return list(cursor.fetchall()) if cursor.description else []


def _written_out(statement: str, values: Sequence[object]) -> str:
    """Return a statement with its values: whole numbers, None, and texts, in which only a quote means anything."""
    first, *others = statement.split("?")
    texts = ("NULL" if each is None else str(each) if isinstance(each, int) else _quoted(each) for each in values)
    return first + "".join(f"{text}{part}" for text, part in zip(texts, others, strict=True))


def _quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def exists(path: str) -> bool:
    """Return whether the database has the tables of a ledger."""
    return transact(path, "BEGIN", lambda session: bool(session.execute(_IS_THERE)[0][0]))


def create_if_absent(path: str) -> None:
    """Make the tables unless they are there; several processes may do so at once."""

    def work(session: PostgresSession) -> None:
        if not session.execute(_IS_THERE)[0][0]:
            session.script(statements())

    if not exists(path):
        transact(path, _MAKES, work)


def transcripts_of(path: str) -> Path:
    """Return a folder of the user's own, the same wherever a command is run on this machine."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", path.partition("://")[2])[:80]
    return Path(state, "lapwing", "ledgers", f"{name}-{hashlib.sha256(path.encode()).hexdigest()[:16]}.transcripts")


def transact(path: str, begin: str, work: Callable[[PostgresSession], T]) -> T:
    """Run ``work`` in one transaction; it is durable when this returns, and undone when this raises.

    Where Postgres undoes it for the sake of another one, it is run anew.
    """
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


def _once(dbapi: ModuleType, path: str, begin: str, work: Callable[[PostgresSession], T]) -> T:
    """Run ``work`` once; the connection is kept for the next one unless Postgres failed or somebody interrupts."""
    outcome: T | LapwingError
    with ExitStack() as unless_kept:
        session = _begun(dbapi, path, begin)
        unless_kept.callback(session.close)
        try:
            outcome = work(session)
        except LapwingError as error:
            outcome = error
        session.end(is_kept=not isinstance(outcome, LapwingError))
        unless_kept.pop_all()
    _IDLE.setdefault(path, []).append(session)
    if isinstance(outcome, LapwingError):
        raise outcome
    return outcome


# -- Connections. One takes longer to open than several debits take, so that each is kept until it is used again.


_IDLE: Final[dict[str, list[PostgresSession]]] = {}


def _begun(dbapi: ModuleType, path: str, begin: str) -> PostgresSession:
    """Return a connection with a transaction; one that has ended while it was idle is replaced."""
    with suppress(IndexError):  # when none is idle
        while True:
            session = _IDLE.get(path, []).pop()
            if _is_begun(dbapi, session, begin):
                return session
    return _connected(dbapi, path, begin)


def _is_begun(dbapi: ModuleType, session: PostgresSession, begin: str) -> bool:
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
        f"a ledger in Postgres is kept by ADBC and PyArrow, which is not installed; run {install_command('office')}",
        code="LW701",
    )


def _connected(dbapi: ModuleType, path: str, begin: str) -> PostgresSession:
    _check_address(path)
    with ExitStack() as unless_kept:
        session = PostgresSession(dbapi.connect(path, autocommit=True))
        unless_kept.callback(session.close)
        session.script(_SETTINGS)
        if "off" in session.execute("SELECT current_setting('fsync'), current_setting('full_page_writes')")[0]:
            raise BudgetError(
                f"the ledger {path} is on a server that may lose debits (fsync or full_page_writes is off); turn both "
                "on, or use another server",
                code="LW407",
            )
        session.begin(begin)
        unless_kept.pop_all()
    return session


def _check_address(path: str) -> None:
    """Refuse a password, which would stand in transcripts, and what would not stand on one line."""
    told = path.partition("://")[2]
    # Of all before the last @: a password in which a / or ? was left as it is ends no earlier.
    has_password = ":" in told.rpartition("@")[0] or "password=" in unquote(told).lower()
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
