"""What is said when a command that spends budget is interrupted, and what ends it."""

import signal
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lapwing.kernel.room.transcript import Begun, followed_runs

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
def interruptible(is_made: Callable[[], bool], way_out: Callable[[Path | None], str]) -> Iterator[list[Begun]]:
    """Let an interrupt say how the run that it ended is finished, or that nothing was spent.

    way_out: from the transcript, or None where nothing keeps the answers, to what to do.
    """
    line = None
    with followed_runs() as begun:
        try:
            yield begun
        except KeyboardInterrupt:
            line = _line(begun, is_made, way_out)
    if line is not None:
        raise Interrupted(line)


def _line(begun: list[Begun], is_made: Callable[[], bool], way_out: Callable[[Path | None], str]) -> str:
    """Return what is said; without a run that began nothing is recorded, and nothing was told before all is made."""
    if begun:
        try:
            from lapwing.runs.resumable import kept_transcript  # noqa: PLC0415

            transcript = kept_transcript(begun[-1])
        except KeyboardInterrupt:  # a second one does not wait for the ledger
            transcript = begun[-1].transcript
        return NOTHING_SPENT if transcript is None else f"interrupted; {way_out(transcript)}"
    return f"interrupted; {way_out(None)}" if is_made() else NOTHING_SPENT


def repeated_line(transcript: Path | None) -> str:
    """Say how a run goes on that the same command finishes."""
    if transcript is None:
        return "the budget is spent and the answers are recorded nowhere: running again spends again"
    return f"the answers are kept: the same command with --transcript {transcript} finishes free of charge"


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
