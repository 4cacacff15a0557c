"""What commands say on stderr, also when they are interrupted: settings, schema, released numbers, all public."""

import contextlib
import shlex
import signal
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO

import typer

from lapwing.errors import visible
from lapwing.kernel.room.begun import BegunRun, collect_runs, finish_of

Say = Callable[[str], None]


class PlainStream:
    """A stream of text on which nothing is hidden: what a stranger wrote into a file cannot command a terminal.

    bare: the stream itself, for bars; what is written to ``buffer`` is data, and stays as it is.
    """

    def __init__(self, stream: TextIO) -> None:
        self.bare = stream

    def write(self, text: str) -> int:
        """Write what is visible of a text."""
        return self.bare.write(visible(text))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the stream has it
        return getattr(self.bare, name)


def note(text: str) -> None:
    """Print one line on stderr."""
    print(f"lapwing: {text}".replace("\n", " "), file=sys.stderr)


def first_lines(lines: Sequence[str], most: int, before: str = "") -> list[str]:
    """Return the first lines, and how many there are more."""
    left_out = [f"{before}and {len(lines) - most} more"] if len(lines) > most else []
    return [*lines[:most], *left_out]


def is_quiet(context: typer.Context, quiet: bool) -> bool:
    """Return whether the command was told to be quiet, before or after its name."""
    return quiet or bool(context.find_root().obj)


def speaker(context: typer.Context, quiet: bool) -> Say:
    """Return what prints the command's notes: `note`, or nothing when it was told to be quiet."""
    return (lambda _: None) if is_quiet(context, quiet) else note


def echo(context: typer.Context, quiet: bool) -> Say:
    """Return what shows a command line as one types it, or nothing when the command was told to be quiet."""
    return (lambda _: None) if is_quiet(context, quiet) else (lambda line: print(f"$ {line}", file=sys.stderr))


@contextlib.contextmanager
def busy(what: str, *, quiet: bool) -> Iterator[None]:
    """Show on a terminal that something is being done; its length says nothing that a clock would not."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from lapwing.release.runs.watching import terminal  # noqa: PLC0415

    with terminal().status(visible(what)):
        yield


# -- How far a long command is, on a terminal: its step, the share that is done, elapsed and expected time.


@contextlib.contextmanager
def console_progress(
    *, quiet: bool, first: str = "reading and counting", of: str = "of the budget spent"
) -> Iterator[None]:
    """Show on a terminal how far the work that is done inside is; elsewhere, or when quiet, show nothing."""
    from lapwing.release.runs.watching import show_progress  # noqa: PLC0415

    with show_progress(not quiet and sys.stderr.isatty(), first=first, of=of):
        yield


INTERRUPT_STATUS = 130
TERMINATED_STATUS = 143
NOTHING_SPENT = "interrupted; nothing was spent"
NOTHING_SPENT_CODE, SPENT_CODE = "LW904", "LW905"


class Interrupted(Exception):
    """A command was interrupted; the text says how to go on."""

    @property
    def code(self) -> str:
        """What `lapwing explain` tells more of."""
        return NOTHING_SPENT_CODE if str(self) == NOTHING_SPENT else SPENT_CODE


@contextmanager
def interruptible(is_made: Callable[[], bool]) -> Iterator[list[BegunRun]]:
    """Let an interrupt say how the run that it ended is finished, or that nothing was spent."""
    line = None
    with collect_runs() as begun:
        try:
            yield begun
        except KeyboardInterrupt:
            line = _line(begun, is_made)
    if line is not None:
        raise Interrupted(line)


def _line(begun: list[BegunRun], is_made: Callable[[], bool]) -> str:
    """Return what is said; without a run that began nothing is recorded, and nothing was told before all is made."""
    if begun:
        try:
            from lapwing.release.runs.records import kept_transcript  # noqa: PLC0415

            transcript = kept_transcript(begun[-1])
        except KeyboardInterrupt:  # a second one does not wait for the ledger
            transcript = begun[-1].transcript
        return NOTHING_SPENT if transcript is None else f"interrupted; {way_out(transcript)}"
    return f"interrupted; {way_out(None)}" if is_made() else NOTHING_SPENT


def way_out(transcript: Path | None) -> str:
    """Say how a run that is paid for goes on; None where nothing keeps its answers."""
    if transcript is None:
        return "the budget is spent and the answers are recorded nowhere: running again spends again"
    return f"the answers are kept: {finish_of(transcript)} finishes free of charge"


# What this process was asked for: such a run is finished by the same command.
ASKED: ContextVar[Sequence[str]] = ContextVar("ASKED", default=())


def repeating(transcript: Path, _: bool) -> str:
    """Say that the same command finishes a run; words that may hold a password are not shown."""
    words = ["URL" if "://" in word else word for word in ASKED.get()]
    if not any(word.partition("=")[0] == "--transcript" for word in words):
        words += ["--transcript", str(transcript)]
    return f"`{shlex.join(['lapwing', *words])}`"


def interrupt_at_termination() -> list[int]:
    """Let the signal that ends services and containers do what Ctrl-C does, so that no hidden file is left.

    Returns gets the number of each such signal. (Windows knows it and never sends it.).
    """
    received: list[int] = []

    def interrupt(number: int, _: types.FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    return received
