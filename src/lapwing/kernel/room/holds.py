"""A lock on each release: one process at a time may work on it, by whichever copy of its transcript."""

import os
import re
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lapwing.errors import DataError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.budget.store import is_address, place_of, store_of

OWNER_ONLY: Final = 0o600
_RELEASE_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_CREATION = threading.Lock()
"""As that of the ledger's file: closing any descriptor of a file gives up all of the process's locks on it."""


def hold_of(path: Path, header: Mapping[str, Any]) -> Path:
    """Return what is held: the transcript itself, or with a ledger the name beside it that all copies share.

    A stranger may have written the header. What it says is held is therefore worked out from the release that it names,
    and never taken as a path: a lock file is made nowhere but beside the transcript, or where Lapwing keeps its own.
    """
    records = header.get("records")
    ledger: Any = records.get("ledger") if isinstance(records, dict) else None
    name = records.get("release_id") if isinstance(records, dict) else None
    if ledger is None and "hold" not in header:
        return Path(os.path.realpath(path))  # under a symbolic link it would have a second hold
    if isinstance(ledger, str) and isinstance(name, str) and _RELEASE_ID.fullmatch(name):
        hold = transcripts_of(ledger) / f"{name}.jsonl"
        if (is_address(ledger) or os.path.isabs(ledger)) and header.get("hold") == f"{ledger}.transcripts/{name}.jsonl":
            return hold
    raise DataError(
        f"the header of the transcript {path} is damaged; give the file that the release wrote", code="LW610"
    )


def at_home(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    """Return the header with the place where its ledger is now; a folder may have been moved with both in it."""
    hold_of(path, header)
    records: Any = header.get("records")
    ledger = records.get("ledger") if isinstance(records, dict) else None
    if ledger is None or is_address(ledger) or os.path.lexists(ledger):
        return header
    place = os.path.abspath(path.parent).removesuffix(".transcripts")
    if transcripts_of(place) == Path(os.path.abspath(path.parent)) and _has_debit(place, records):
        moved = {**records, "ledger": place}
        return {**header, "records": moved, "hold": f"{place}.transcripts/{records['release_id']}.jsonl"}
    raise DataError(
        f"the ledger {records['ledger']} of the transcript {path} is not there, and no ledger beside the transcript "
        "has its debit; put it back, or put the transcript into the folder LEDGER.transcripts where that ledger is now",
        code="LW614",
    )


def _has_debit(ledger: str, records: Mapping[str, Any]) -> bool:
    """Return whether a file is a ledger that has the debit of a release."""
    if not os.path.isfile(ledger):
        return False
    book, dataset = Ledger.open(ledger), records.get("dataset")
    return dataset in book.datasets() and book.find(dataset, records["release_id"]) is not None


def transcripts_of(ledger: str | os.PathLike[str]) -> Path:
    """Return the folder on this machine where a ledger's releases keep their transcripts and holds.

    >>> transcripts_of("budget.db").name
    'budget.db.transcripts'
    """
    return store_of(ledger).transcripts_of(place_of(ledger))


def lock_of(path: Path) -> Path:
    """Return the file whose transaction is the hold."""
    return Path(f"{path}.lock")


def connect(hold: Path) -> sqlite3.Connection:
    """Open an exclusive transaction on the lock file, for as long as the connection lives."""
    lock = lock_of(hold)
    _make_lock(lock)
    code = "SQLITE_CANTOPEN"
    try:
        connection = sqlite3.connect(lock, timeout=0, isolation_level=None)
    except sqlite3.Error:
        pass
    else:
        try:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            connection.close()
            code = error.sqlite_errorname
        else:
            return connection
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        raise DataError(f"the release {hold} is in use by another process; wait for it", code="LW612")
    raise DataError(f"{lock} cannot be locked ({code}); make it and its folder writable, on a local disk", code="LW612")


def _make_lock(lock: Path) -> None:
    """Make a lock file, readable by its owner only, unless it is there; that is never opened here, see `_CREATION`."""
    try:
        with _CREATION:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ONLY))
    except FileExistsError:
        return
    except OSError as error:
        reason = error.strerror
    else:
        return
    raise DataError(
        f"{lock} cannot be made ({reason}); make sure that its folder is there and writable, with space", code="LW612"
    )
