"""The transcript: every question with its answer, durable before a mechanism sees the answer.

A JSON lines file. The first line is the header (public settings), each further line one answer. It holds released
numbers only, so it may be published; `lapwing resume` replays it free of charge.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from lapwing.errors import DataError
from lapwing.release.questions import NoisyCounts, answer_from_dict

FORMAT = 1


class AnswerSink(Protocol):
    """Where the room records answers before it returns them."""

    def record(self, answers: Sequence[NoisyCounts]) -> None:
        """Make the answers durable."""
        ...


class NoTranscript:
    """Record nothing: a release without ledger or transcript cannot be resumed."""

    def record(self, answers: Sequence[NoisyCounts]) -> None:
        """Keep nothing."""


class TranscriptFile:
    """Append answers to a transcript file; each batch is flushed to the disk before `record` returns.

    Parameters
    ----------
    path : Path
        The transcript, made by `create_transcript` or read by `read_transcript`.
    """

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def record(self, answers: Sequence[NoisyCounts]) -> None:
        """Append one line per answer and wait for the disk."""
        _append(self._path, "".join(json.dumps(answer.to_dict()) + "\n" for answer in answers), "ab")


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


def read_transcript(path: Path) -> tuple[dict[str, Any], tuple[NoisyCounts, ...]]:
    """Read header and answers, and cut off a last line that a crash left incomplete.

    Parameters
    ----------
    path : Path
        The transcript.

    Returns
    -------
    header : dict
        The public settings of the release.
    answers : tuple of NoisyCounts
        In the order in which they were given.

    Raises
    ------
    DataError
        If the file cannot be read or is no transcript.
    """
    try:
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            os.truncate(path, len(whole))
    except OSError as error:
        reason = error.strerror
    else:
        return _parse(path, whole)
    raise DataError(f"the transcript {path} cannot be read ({reason}); check the path") from None


def _parse(path: Path, text: bytes) -> tuple[dict[str, Any], tuple[NoisyCounts, ...]]:
    """Turn the complete lines of a transcript into header and answers."""
    try:
        lines = [json.loads(line) for line in text.splitlines()]
        header = dict(lines[0])
        answers = tuple(answer_from_dict(line) for line in lines[1:])
        known = header.get("format") == FORMAT
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, ArithmeticError):
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
    raise DataError(f"the transcript {path} cannot be written ({reason}); give a new file on a disk with space") from None
