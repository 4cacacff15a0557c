"""The transcript: every question with its answer, durable before a mechanism sees the answer.

A JSON lines file. The first line is the header (public settings), each further line one answer. It holds released
numbers only, so it may be published; `lapwing resume` replays it free of charge.
"""

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from lapwing.errors import DataError, LapwingError
from lapwing.release.questions import Answer, answer_from_dict

FORMAT = 1


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

    Only one process at a time holds a transcript: two that resumed the same one would draw two noises for one debit.
    The hold is an exclusive SQLite transaction on ``PATH.lock``, which the operating system ends with the process.

    Parameters
    ----------
    path : Path
        The transcript.

    Raises
    ------
    DataError
        If another process holds it.
    """

    __slots__ = ("_hold", "_path")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hold = _hold(path)

    def record(self, answers: Sequence[Answer]) -> None:
        """Append one line per answer and wait for the disk."""
        _append(self._path, "".join(json.dumps(answer.to_dict()) + "\n" for answer in answers), "ab")

    def close(self) -> None:
        """Let go of the transcript, for another process to continue."""
        self._hold.close()

    def discard(self) -> None:
        """Remove the transcript of a release that was refused before any answer."""
        self.close()
        for each in (self._path, _lock_of(self._path)):
            each.unlink(missing_ok=True)


def create_transcript(path: Path, header: Mapping[str, Any]) -> TranscriptFile:
    """Start a transcript with its header.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    header : Mapping
        Public settings as plain JSON values.

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
    return TranscriptFile(path)


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
    answers : tuple of NoisyCounts or NoisyTree
        In the order in which they were given.

    Raises
    ------
    DataError
        If the file cannot be read, is held by another process, or is no transcript.
    """
    if not path.is_file():
        raise DataError(f"there is no transcript {path}; give the file that the release wrote")
    transcript = TranscriptFile(path)
    try:
        text = path.read_bytes()
        os.truncate(path, text.rfind(b"\n") + 1)
    except OSError as error:
        reason = error.strerror
    else:
        return _parsed(transcript, path, text[: text.rfind(b"\n") + 1])
    transcript.close()
    raise DataError(f"the transcript {path} cannot be read ({reason}); check the path")


def _parsed(
    transcript: TranscriptFile, path: Path, text: bytes
) -> tuple[TranscriptFile, dict[str, Any], tuple[Answer, ...]]:
    """Parse the text, or let go of the transcript again."""
    try:
        return transcript, *_parse(path, text)
    except DataError:
        transcript.close()
        raise


def _lock_of(path: Path) -> Path:
    """Return the file whose transaction holds a transcript."""
    return Path(f"{path}.lock")


def _hold(path: Path) -> sqlite3.Connection:
    """Open an exclusive transaction beside the transcript, for as long as the connection lives."""
    try:
        connection = sqlite3.connect(_lock_of(path), timeout=0, isolation_level=None)
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
    raise DataError(f"the transcript {path} is in use by another process, or its folder is read-only; wait for it")


def _parse(path: Path, text: bytes) -> tuple[dict[str, Any], tuple[Answer, ...]]:
    """Turn the complete lines of a transcript into header and answers."""
    try:
        lines = [json.loads(line) for line in text.splitlines()]
        header = dict(lines[0])
        answers = tuple(answer_from_dict(line) for line in lines[1:])
        known = header.get("format") == FORMAT
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, ArithmeticError, LapwingError):
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
    except OSError as error:
        reason = error.strerror
    else:
        return
    raise DataError(f"the transcript {path} cannot be written ({reason}); give a new file on a disk with space")
