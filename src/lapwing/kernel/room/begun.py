"""The runs that this command began to record, so that an interrupted one can say how to finish it.

Not in `transcript.py`: every command loads this, and must not wait for NumPy.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunRun:
    """Name a run whose transcript was made or taken up."""

    transcript: Path
    lock: Path
    ledger: str | None
    dataset: str | None
    release_id: str | None
    is_new: bool


_FOLLOWED: ContextVar[list[BegunRun] | None] = ContextVar("_FOLLOWED", default=None)


@contextmanager
def collect_runs() -> Iterator[list[BegunRun]]:
    """Collect the runs that begin inside; a block inside of another one adds to the same list.

    Returns in order; each is there before its transcript is made, and so before anything is paid.

    >>> with collect_runs() as begun:
    ...     len(begun)
    0
    """
    outer = _FOLLOWED.get()
    if outer is not None:
        yield outer
        return
    begun: list[BegunRun] = []
    token = _FOLLOWED.set(begun)
    try:
        yield begun
    finally:
        _FOLLOWED.reset(token)


def tell_begun(run: BegunRun) -> None:
    """Tell whoever follows that a run begins."""
    followed = _FOLLOWED.get()
    if followed is not None:
        followed.append(run)


# -- What finishes a run that ended before its time: a call of Python, unless a command knows a line.

Finish = Callable[[Path, bool], str]
"""From the transcript, and whether the schema has to be mended first, to a call, or to a command in backticks."""


def resume_hint(transcript: Path, is_mended: bool) -> str:
    """Say what finishes a release."""
    return f"lw.resume({str(transcript)!r}, data{', schema=schema' * is_mended})"


def repeat_hint(transcript: Path, _: bool) -> str:
    """Say what finishes a run that is no release."""
    return f"the same call with transcript={str(transcript)!r}"


_FINISH: ContextVar[Finish] = ContextVar("_FINISH", default=resume_hint)


@contextmanager
def finished_by(finish: Finish) -> Iterator[None]:
    """Let runs inside say, where they fail after they were paid, what finishes them."""
    token = _FINISH.set(finish)
    try:
        yield
    finally:
        _FINISH.reset(token)


def finish_of(transcript: Path, *, is_mended: bool = False) -> str:
    """Return what finishes the run of a transcript."""
    return _FINISH.get()(transcript, is_mended)
