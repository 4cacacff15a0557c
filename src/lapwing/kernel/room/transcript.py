"""The transcript: every question with its answer, durable before a mechanism sees the answer.

JSON lines: a header with public settings, then an answer in each line. It holds released numbers only; until the
release is finished it is its owner's only. `lapwing resume` replays it free of charge.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from lapwing.atomic import flush_folder
from lapwing.errors import DataError, LapwingError
from lapwing.kernel.plain import check_format
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.registered import answer_from_dict
from lapwing.kernel.room.begun import BegunRun, tell_begun
from lapwing.kernel.room.container import MALFORMED
from lapwing.kernel.room.holds import OWNER_ONLY, at_home, connect, hold_of, lock_of

FORMAT = 1
_REFUSED = re.compile(rb' \{"refused": "(LW[0-9]{3})"\}')
_MENDED = "mended"
"""Key of a line with the schema of all answers behind it: those before it were given under another, and are paid."""

_PART = "part"
"""Key of an answer's line: the table of several that it is about."""

_MARK = " "
"""Begins a line of answers before their noise is drawn, and ends each line of them but the last (see `_draw_left`)."""


class AnswerSink(Protocol):
    """Where the room records answers before it returns them."""

    def begin(self) -> None:
        """Make durable that noise is about to be drawn; what comes next is `record` or `refuse`, or the run is over."""
        ...

    def record(self, answers: Sequence[Answer], part: str = "") -> None:
        """Make the answers durable; part: of a run about several tables, the one that they are about."""
        ...

    def refuse(self, code: str) -> None:
        """Make durable that the answers were refused after their noise was drawn, and by which rule."""
        ...


class NoTranscript:
    """Record nothing: a release without ledger or transcript cannot be resumed."""

    def begin(self) -> None:
        """Keep nothing."""

    def record(self, answers: Sequence[Answer], part: str = "") -> None:
        """Keep nothing."""

    def refuse(self, code: str) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Hold nothing."""

    def discard(self) -> None:
        """Remove nothing."""

    def unmark(self) -> None:
        """Cut nothing."""


class WatchedSink:
    """Pass everything on, answers with the part that they are of, and show these to somebody once they are durable."""

    __slots__ = ("_part", "_sink", "_watch")

    def __init__(self, sink: AnswerSink, watch: Callable[[Sequence[Answer]], None], part: str = "") -> None:
        self._sink = sink
        self._watch = watch
        self._part = part

    def begin(self) -> None:
        """Make durable that noise is about to be drawn."""
        self._sink.begin()

    def record(self, answers: Sequence[Answer], part: str = "") -> None:
        """Make the answers durable, then show them."""
        self._sink.record(answers, part or self._part)
        self._watch(answers)

    def refuse(self, code: str) -> None:
        """Make a refusal durable."""
        self._sink.refuse(code)


class TranscriptFile:
    """Append answers to a transcript file; each batch is flushed to the disk before `record` returns.

    Only one process at a time holds a release: two that resumed the same one would draw two noises for one debit.
    The hold is an exclusive SQLite transaction on ``HOLD.lock``, which the operating system ends with the process.

    hold: what is held: the transcript itself, or, with a ledger, a name that all copies of a transcript share.
    """

    __slots__ = ("_connection", "_hold", "_path")

    def __init__(self, path: Path, hold: Path) -> None:
        self._path = path
        self._hold = hold
        self._connection = connect(hold)

    def begin(self) -> None:
        """Begin a line and wait for the disk."""
        _append(self._path, _MARK, "ab")

    def unmark(self) -> None:
        """Take back what `begin` wrote, before any word was drawn; where that fails the run is over."""
        with suppress(OSError):
            os.truncate(self._path, self._path.stat().st_size - len(_MARK))

    def record(self, answers: Sequence[Answer], part: str = "") -> None:
        """Append one line per answer and wait for the disk."""
        _append(self._path, f"{_MARK}\n".join(json.dumps(answer_line(each, part)) for each in answers) + "\n", "ab")

    def refuse(self, code: str) -> None:
        """Write the refusal in the place of answers and wait for the disk."""
        _append(self._path, json.dumps({"refused": code}) + "\n", "ab")

    def mend(self, schema: Mapping[str, Any]) -> None:
        """Append the schema with which a release goes on, and wait for the disk."""
        _append(self._path, json.dumps({_MENDED: schema}) + "\n", "ab")

    def close(self) -> None:
        """Let go of the transcript, for another process to continue."""
        self._connection.close()

    def discard(self) -> None:
        """Remove the transcript of a release that was refused before any answer."""
        self._path.unlink(missing_ok=True)  # while it is held: nobody goes on from a file that is about to go
        self.close()
        lock_of(self._hold).unlink(missing_ok=True)


def answer_line(answer: Answer, part: str) -> dict[str, Any]:
    """Return what a line of a transcript says of an answer."""
    return {_PART: part, **answer.to_dict()} if part else answer.to_dict()


def create_transcript(path: Path, header: Mapping[str, Any]) -> TranscriptFile:
    """Start a transcript with its header.

    header: public settings as plain JSON values; ``records``, where given, names the ledger and the release.
    """
    hold = hold_of(path, header)
    tell_begun(_begun(path, hold, header, is_new=True))
    own = TranscriptFile(path, hold) if "hold" in header else None  # a lock of this release alone: before the file
    try:
        _append(path, json.dumps({"format": FORMAT, **header}) + "\n", "xb")
    except DataError:
        if own is not None:
            own.close()
            lock_of(hold).unlink(missing_ok=True)
        raise
    return own or TranscriptFile(path, hold)


def continue_transcript(path: Path) -> tuple[TranscriptFile, dict[str, Any], tuple[Answer, ...]]:
    """Take hold of a transcript, read it, and cut off a last line that a crash left incomplete.

    Returns header: the public settings of the release; where the ledger's folder was moved, with its ledger's new
    place; ``mended``: the last schema that was mended, or None; ``earlier``: the answers before it; ``parts``: the
    table of several that each answer is about, or "", of these first.
    """
    if not os.path.isfile(path):
        raise DataError(f"there is no transcript {path}; give the file that the release wrote", code="LW610")
    length, lines = _whole_lines(path)
    if length == 0 and path.stat().st_size == 0:
        raise DataError(
            f"the transcript {path} is empty: the run was killed before anything was paid or answered; remove the file "
            "and repeat the call that made it",
            code="LW610",
        )
    header = at_home(path, _parse(path, lines)[0])
    hold = hold_of(path, header)
    transcript = TranscriptFile(path, hold)
    tell_begun(_begun(path, hold, header, is_new=False))
    left = None
    try:
        left = _draw_left(_read(path))
        length, lines = _whole_lines(path)
        header, answers = _parse(path, lines)  # what was read before it was held may be older
        header = at_home(path, header)
        if left is None and hold_of(path, header) == hold:
            os.truncate(path, length)
            return transcript, header, answers
    except (OSError, LapwingError):
        left = None
    transcript.close()
    if left is not None:
        raise _is_over(path, left)
    raise DataError(f"the transcript {path} changed or cannot be cut to whole lines; check its folder", code="LW613")


def _whole_lines(path: Path) -> tuple[int, bytes]:
    """Read a file up to its last line end; what follows was torn by a crash."""
    text = _read(path)
    length = text.rfind(b"\n") + 1
    return length, text[:length]


def _read(path: Path) -> bytes:
    """Read a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror
    raise DataError(f"the transcript {path} cannot be read ({reason}); check the path", code="LW610")


def _begun(path: Path, hold: Path, header: Mapping[str, Any], *, is_new: bool) -> "BegunRun":
    """Return what is told of a run."""
    records = header.get("records")
    known = records if isinstance(records, dict) else {}
    ledger, dataset, name = (known.get(key) for key in ("ledger", "dataset", "release_id"))
    return BegunRun(transcript=path, lock=lock_of(hold), ledger=ledger, dataset=dataset, release_id=name, is_new=is_new)


def _parse(path: Path, text: bytes) -> tuple[dict[str, Any], tuple[Answer, ...]]:
    """Turn the complete lines of a transcript into header and answers."""
    try:
        lines = [json.loads(line) for line in text.splitlines() if _REFUSED.fullmatch(line) is None]
        check_format(lines[0], FORMAT, "the transcript")
        mended = [place for place, line in enumerate(lines) if place and _MENDED in line]
        said = [line for line in lines[1:] if _MENDED not in line]
        parts = tuple(str(line.pop(_PART, "")) for line in said)
        given = [answer_from_dict(line) for line in said]
        before = mended[-1] - len(mended) if mended else 0
        schema = lines[mended[-1]][_MENDED] if mended else None
        header = {**lines[0], "mended": schema, "earlier": tuple(given[:before]), "parts": parts}
        answers = tuple(given[before:])
    except MALFORMED as error:
        code = "LW604" if isinstance(error, LapwingError) and error.code == "LW604" else "LW610"
        why = f": {error}" if code == "LW604" else " is not a Lapwing transcript; give the file that the release wrote"
    else:
        return header, answers
    raise DataError(f"{path}{why}", code=code)


def is_over(path: Path) -> bool:
    """Return whether noise was drawn whose answers a transcript does not have, so that nothing goes on from it.

    path: the transcript; one that cannot be read says nothing.
    """
    try:
        return _draw_left(_read(path)) is not None
    except DataError:
        return False


def _draw_left(text: bytes) -> bytes | None:
    """Return the last draw of which a transcript does not have all answers, if there is one: a refusal, or less.

    A line of answers is begun before their noise is drawn, and each line of several but the last ends with a space; a
    line that is neither was torn by a crash before noise was drawn.
    """
    whole, _, begun = text.rpartition(b"\n")
    last = whole[whole.rfind(b"\n") + 1 :]
    if begun.startswith(b" ") or last.endswith(b" "):
        return begun
    return last if _REFUSED.fullmatch(last) else None


def _is_over(path: Path, left: bytes) -> DataError:
    """Return the refusal to go on from a transcript."""
    refused = _REFUSED.fullmatch(left)
    code = None if refused is None else refused[1].decode()
    how = "ended" if code is None else f"was refused by the rule {code} (see `lapwing explain {code}`)"
    return DataError(
        f"the release of the transcript {path} {how} after noise was drawn and before it was recorded, and no "
        "other noise is drawn for the same budget; make a new release, which is debited anew",
        code="LW615",
    )


def _append(path: Path, text: str, mode: str) -> None:
    """Write text to the end of a file and wait until it is on the disk; one made for it goes where that fails."""
    made = False
    try:
        with open(path, mode, opener=_owned) as file:
            made = mode == "xb"
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if mode == "xb":
            flush_folder(path.parent)
    except OSError as error:
        reason = error.strerror
    else:
        return
    if made:
        with suppress(OSError):
            path.unlink()
    raise DataError(
        f"the transcript {path} cannot be written ({reason}); give a new file on a disk with space", code="LW613"
    )


def _owned(path: str, flags: int) -> int:
    """Open a file that is there, or make one that only its owner may read: it may hold half of a release."""
    return os.open(path, flags if flags & os.O_EXCL else flags & ~os.O_CREAT, OWNER_ONLY)
