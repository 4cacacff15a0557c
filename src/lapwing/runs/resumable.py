"""Let a release that fails half-way say how it is finished."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from lapwing.errors import BudgetError, CapacityError, DataError, LapwingError, ReleaseMismatchError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.holds import transcripts_of
from lapwing.kernel.room.transcript import Begun, is_over
from lapwing.runs.records import Records
from lapwing.runs.settings import Settings
from lapwing.schema.scalars import visible

T = TypeVar("T")


def resumable(transcript: Path | None, work: Callable[[], T]) -> T:
    """Do the work of a release, and add to a failure of disk, ledger or size whether it can be resumed.

    transcript: where its answers are kept. A release that was refused before it was paid has removed the file.

    >>> resumable(None, lambda: 3)
    3
    """
    try:
        return work()
    except (BudgetError, CapacityError, DataError) as error:
        failure = error
    if transcript is None or not transcript.exists() or isinstance(failure, ReleaseMismatchError):
        raise failure
    way_out = "noise was drawn before that, so the budget of this release is spent, and a new one is debited anew"
    if not is_over(transcript):
        if isinstance(failure, CapacityError):
            raise failure
        way_out = f"`lapwing resume {transcript}` goes on from what is paid and answered"
    raise type(failure)(f"{failure}; {way_out}", code=failure.code)


def kept_transcript(begun: Begun) -> Path | None:
    """Say what finishes a run that was interrupted.

    Returns its transcript. None where it is new and nothing of it was paid or answered: then none is left.

    >>> place = Path("no such transcript.jsonl")
    >>> kept_transcript(Begun(transcript=place, lock=place, ledger=None, dataset=None, release_id=None, is_new=True))
    """
    path = begun.transcript
    if not begun.is_new or _is_paid(begun) or _is_answered(path):
        return path
    for each in (path, begun.lock):
        each.unlink(missing_ok=True)
    if begun.ledger is not None:
        with suppress(OSError):  # other releases keep their transcripts there
            transcripts_of(begun.ledger).rmdir()
    return None


def _is_paid(begun: Begun) -> bool:
    """Return whether the ledger has a debit of a run; one that does not tell may have it."""
    if begun.ledger is None or begun.release_id is None:
        return False
    try:
        return Ledger.open(begun.ledger).find(begun.dataset, begun.release_id) is not None
    except LapwingError:
        return True


def _is_answered(transcript: Path) -> bool:
    """Return whether a transcript has a whole line after its header; one that cannot be read may have."""
    try:
        return transcript.read_bytes().count(b"\n") > 1
    except FileNotFoundError:
        return False
    except OSError:
        return True


def resumed_line(settings: Settings, records: Records, answers: int) -> str:
    """Say what resuming a transcript will finish, before anything is asked or debited.

    settings: that the transcript fixes; another hand may have chosen them.
    """
    budget = settings.request.budget
    booked = "no ledger"
    if records.ledger is not None:
        is_paid = Ledger.open(records.ledger).find(records.dataset, records.release_id) is not None
        paid = "debited before" if is_paid else f"would now debit {budget}"
        booked = f"ledger {records.ledger}, data set {records.dataset}: {paid}"
    line = (
        f"finishing {settings.name} at {budget} for {settings.relation} neighbours and privacy unit "
        f"{settings.schema.unit_label}; answers recorded: {answers}; {booked}"
    )
    return visible(" ".join(line.splitlines()))
