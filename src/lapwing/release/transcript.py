"""The transcript: every question with its answer, durable before a mechanism sees the answer.

A JSON lines file. The first line is the header (public settings), each further line one answer. It holds released
numbers only, so that it may be published once the release is finished; before, it is its owner's only, and so is the
file. `lapwing resume` replays it free of charge.
"""

import json
import os
import re
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from lapwing.budget.ledger import Ledger
from lapwing.errors import DataError
from lapwing.release.begun import Begun, tell_begun
from lapwing.release.container import MALFORMED
from lapwing.release.questions import Answer, answer_from_dict
from lapwing.table.outputs import flush_folder

FORMAT = 1
_RELEASE_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_OWNER_ONLY = 0o600
_CREATION = threading.Lock()
"""As that of the ledger's file: closing any descriptor of a file gives up all of the process's locks on it."""


class AnswerSink(Protocol):
    """Where the room records answers before it returns them."""

    def record(self, answers: Sequence[Answer]) -> None:
        """Make the answers durable."""
        ...


class NoTranscript:
    """Record nothing: a release without ledger or transcript cannot be resumed."""

    def record(self, answers: Sequence[Answer]) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Hold nothing."""

    def discard(self) -> None:
        """Remove nothing."""


class TranscriptFile:
    """Append answers to a transcript file; each batch is flushed to the disk before `record` returns.

    Only one process at a time holds a release: two that resumed the same one would draw two noises for one debit.
    The hold is an exclusive SQLite transaction on ``HOLD.lock``, which the operating system ends with the process.

    Parameters
    ----------
    path : Path
        The transcript.
    hold : Path
        What is held: the transcript itself, or, with a ledger, a name that all copies of a transcript share.

    Raises
    ------
    DataError
        If another process holds it.
    """

    __slots__ = ("_connection", "_hold", "_path")

    def __init__(self, path: Path, hold: Path) -> None:
        self._path = path
        self._hold = hold
        self._connection = _connect(hold)

    def record(self, answers: Sequence[Answer]) -> None:
        """Append one line per answer and wait for the disk."""
        _append(self._path, "".join(json.dumps(answer.to_dict()) + "\n" for answer in answers), "ab")

    def close(self) -> None:
        """Let go of the transcript, for another process to continue."""
        self._connection.close()

    def discard(self) -> None:
        """Remove the transcript of a release that was refused before any answer."""
        self.close()
        for each in (self._path, _lock_of(self._hold)):
            each.unlink(missing_ok=True)


def create_transcript(path: Path, header: Mapping[str, Any]) -> TranscriptFile:
    """Start a transcript with its header.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    header : Mapping
        Public settings as plain JSON values; ``records``, where given, names the ledger and the release.

    Returns
    -------
    TranscriptFile
        The open end of the transcript.

    Raises
    ------
    DataError
        If the file exists or cannot be written.
    """
    hold = _hold_of(path, header)
    tell_begun(_begun(path, hold, header, is_new=True))
    _append(path, json.dumps({"format": FORMAT, **header}) + "\n", "xb")
    return TranscriptFile(path, hold)


def continue_transcript(path: Path) -> tuple[TranscriptFile, dict[str, Any], tuple[Answer, ...]]:
    """Take hold of a transcript, read it, and cut off a last line that a crash left incomplete.

    Parameters
    ----------
    path : Path
        The transcript.

    Returns
    -------
    transcript : TranscriptFile
        Its open end.
    header : dict
        The public settings of the release; where the ledger's folder was moved, with its ledger's new place.
    answers : tuple of answers
        In the order in which they were given.

    Raises
    ------
    DataError
        If the file cannot be read, is held by another process, or is no transcript.
    """
    if not path.is_file():
        raise DataError(f"there is no transcript {path}; give the file that the release wrote", code="LW610")
    length, lines = _whole_lines(path)
    if length == 0 and path.stat().st_size == 0:
        raise DataError(
            f"the transcript {path} is empty: the run was killed before anything was paid or answered; remove the file "
            "and repeat the call that made it",
            code="LW610",
        )
    header = _at_home(path, _parse(path, lines)[0])
    hold = _hold_of(path, header)
    transcript = TranscriptFile(path, hold)
    tell_begun(_begun(path, hold, header, is_new=False))
    try:
        length, lines = _whole_lines(path)
        os.truncate(path, length)
        return transcript, header, _parse(path, lines)[1]
    except (OSError, DataError):
        transcript.close()
    raise DataError(f"the transcript {path} changed or cannot be cut to whole lines; check its folder", code="LW613")


def _whole_lines(path: Path) -> tuple[int, bytes]:
    """Read a file up to its last line end; what follows was torn by a crash."""
    try:
        text = path.read_bytes()
    except OSError as error:
        reason = error.strerror
    else:
        length = text.rfind(b"\n") + 1
        return length, text[:length]
    raise DataError(f"the transcript {path} cannot be read ({reason}); check the path", code="LW610")


def _hold_of(path: Path, header: Mapping[str, Any]) -> Path:
    """Return what is held: the transcript itself, or with a ledger the name beside it that all copies share.

    A stranger may have written the header. What it says is held is therefore worked out from the release that it names,
    and never taken as a path: a lock file is made nowhere but beside the transcript, or where Lapwing keeps its own.
    """
    records = header.get("records")
    ledger = records.get("ledger") if isinstance(records, dict) else None
    name = records.get("release_id") if isinstance(records, dict) else None
    if ledger is None and "hold" not in header:
        return Path(os.path.realpath(path))  # under a symbolic link it would have a second hold
    if isinstance(ledger, str) and isinstance(name, str) and os.path.isabs(ledger) and _RELEASE_ID.fullmatch(name):
        hold = transcripts_of(ledger) / f"{name}.jsonl"
        if header.get("hold") == f"{ledger}.transcripts/{name}.jsonl":
            return hold
    raise DataError(
        f"the header of the transcript {path} is damaged; give the file that the release wrote", code="LW610"
    )


def _begun(path: Path, hold: Path, header: Mapping[str, Any], *, is_new: bool) -> Begun:
    """Return what is told of a run."""
    records = header.get("records")
    known = records if isinstance(records, dict) else {}
    ledger, dataset, name = (known.get(key) for key in ("ledger", "dataset", "release_id"))
    return Begun(transcript=path, lock=_lock_of(hold), ledger=ledger, dataset=dataset, release_id=name, is_new=is_new)


def _at_home(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    """Return the header with the place where its ledger is now; a folder may have been moved with both in it."""
    _hold_of(path, header)
    records = header.get("records")
    if not isinstance(records, dict) or records.get("ledger") is None or os.path.lexists(records["ledger"]):
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
    """Return the folder beside a ledger where its releases keep their transcripts and holds.

    It goes by the file's own name: under a symbolic link a release would have a second hold, and an older copy of the
    ledger that was put back would have no transcript beside it.

    Parameters
    ----------
    ledger : path
        The ledger, or a symbolic link to it.

    Returns
    -------
    Path
        It need not exist.

    Examples
    --------
    >>> transcripts_of("budget.db").name
    'budget.db.transcripts'
    """
    path = Path(ledger)
    return Path(f"{os.path.realpath(path) if path.is_symlink() else path}.transcripts")


def _lock_of(path: Path) -> Path:
    """Return the file whose transaction is the hold."""
    return Path(f"{path}.lock")


def _connect(hold: Path) -> sqlite3.Connection:
    """Open an exclusive transaction on the lock file, for as long as the connection lives."""
    lock = _lock_of(hold)
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
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_RDWR, _OWNER_ONLY))
    except FileExistsError:
        return
    except OSError as error:
        reason = error.strerror
    else:
        return
    raise DataError(
        f"{lock} cannot be made ({reason}); make sure that its folder is there and writable, with space", code="LW612"
    )


def _parse(path: Path, text: bytes) -> tuple[dict[str, Any], tuple[Answer, ...]]:
    """Turn the complete lines of a transcript into header and answers."""
    header: dict[str, Any] = {}
    answers: tuple[Answer, ...] = ()
    try:
        lines = [json.loads(line) for line in text.splitlines()]
        header = dict(lines[0])
        answers = tuple(answer_from_dict(line) for line in lines[1:])
        known = header.get("format") == FORMAT
    except MALFORMED:
        known = False
    if not known:
        raise DataError(
            f"{path} is not a Lapwing transcript of format {FORMAT}; give the file that the release wrote", code="LW610"
        )
    return header, answers


def _append(path: Path, text: str, mode: str) -> None:
    """Write text to the end of a file and wait until it is on the disk."""
    try:
        with open(path, mode, opener=_owned) as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if mode == "xb":
            flush_folder(path.parent)
    except OSError as error:
        reason = error.strerror
    else:
        return
    raise DataError(
        f"the transcript {path} cannot be written ({reason}); give a new file on a disk with space", code="LW613"
    )


def _owned(path: str, flags: int) -> int:
    """Open a file that only its owner may read, if it is made here: it may hold half of a release."""
    return os.open(path, flags, _OWNER_ONLY)
