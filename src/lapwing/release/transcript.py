"""The transcript: every question with its answer, durable before a mechanism sees the answer.

A JSON lines file. The first line is the header (public settings), each further line one answer. It holds released
numbers only, so it may be published; `lapwing resume` replays it free of charge.
"""

import json
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from lapwing.errors import DataError
from lapwing.release.container import MALFORMED
from lapwing.release.questions import Answer, answer_from_dict

FORMAT = 1
_RELEASE_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)


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
    _append(path, json.dumps({"format": FORMAT, **header}) + "\n", "xb")
    return TranscriptFile(path, _hold_of(path, header))


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
        The public settings of the release.
    answers : tuple of answers
        In the order in which they were given.

    Raises
    ------
    DataError
        If the file cannot be read, is held by another process, or is no transcript.
    """
    if not path.is_file():
        raise DataError(f"there is no transcript {path}; give the file that the release wrote")
    length, lines = _whole_lines(path)
    if length == 0 and path.stat().st_size == 0:
        raise DataError(
            f"the transcript {path} is empty: the run was killed before anything was paid or answered; remove the file "
            "and repeat the call that made it"
        )
    header, _ = _parse(path, lines)
    transcript = TranscriptFile(path, _hold_of(path, header))
    try:
        length, lines = _whole_lines(path)
        os.truncate(path, length)
        return transcript, *_parse(path, lines)
    except (OSError, DataError):
        transcript.close()
    raise DataError(f"the transcript {path} changed or cannot be cut to whole lines; check its folder")


def _whole_lines(path: Path) -> tuple[int, bytes]:
    """Read a file up to its last line end; what follows was torn by a crash."""
    try:
        text = path.read_bytes()
    except OSError as error:
        reason = error.strerror
    else:
        length = text.rfind(b"\n") + 1
        return length, text[:length]
    raise DataError(f"the transcript {path} cannot be read ({reason}); check the path")


def _hold_of(path: Path, header: Mapping[str, Any]) -> Path:
    """Return what is held: the transcript itself, or with a ledger the name beside it that all copies share.

    A stranger may have written the header. What it says is held is therefore worked out from the release that it names,
    and never taken as a path: a lock file is made nowhere but beside the transcript, or where Lapwing keeps its own.
    """
    records = header.get("records")
    ledger = records.get("ledger") if isinstance(records, dict) else None
    name = records.get("release_id") if isinstance(records, dict) else None
    if ledger is None and "hold" not in header:
        return path
    if isinstance(ledger, str) and isinstance(name, str) and os.path.isabs(ledger) and _RELEASE_ID.fullmatch(name):
        hold = transcripts_of(ledger) / f"{name}.jsonl"
        if header.get("hold") == f"{ledger}.transcripts/{name}.jsonl":
            return hold
    raise DataError(f"the header of the transcript {path} is damaged; give the file that the release wrote")


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
    return Path(f"{path.resolve() if path.is_symlink() else path}.transcripts")


def _lock_of(path: Path) -> Path:
    """Return the file whose transaction is the hold."""
    return Path(f"{path}.lock")


def _connect(hold: Path) -> sqlite3.Connection:
    """Open an exclusive transaction on the lock file, for as long as the connection lives."""
    try:
        connection = sqlite3.connect(_lock_of(hold), timeout=0, isolation_level=None)
    except sqlite3.Error:
        pass
    else:
        try:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            connection.close()
        else:
            return connection
    raise DataError(f"the release {hold} is in use by another process, or its folder is read-only; wait for it")


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
        raise DataError(f"{path} is not a Lapwing transcript of format {FORMAT}; give the file that the release wrote")
    return header, answers


def _append(path: Path, text: str, mode: str) -> None:
    """Write text to the end of a file and wait until it is on the disk."""
    try:
        with open(path, mode) as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if mode == "xb":
            _sync_folder(path.parent)
    except OSError as error:
        reason = error.strerror
    else:
        return
    raise DataError(f"the transcript {path} cannot be written ({reason}); give a new file on a disk with space")


def _sync_folder(folder: Path) -> None:
    """Wait until a new file's name is on the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
