"""Let a release that fails half-way say how it is finished."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lapwing.api.records import Records
from lapwing.api.settings import Settings
from lapwing.budget.ledger import Ledger
from lapwing.errors import BudgetError, DataError
from lapwing.schema.scalars import visible

T = TypeVar("T")


def resumable(transcript: Path | None, work: Callable[[], T]) -> T:
    """Do the work of a release, and add to a failure of disk or ledger that it can be resumed.

    Parameters
    ----------
    transcript : Path or None
        Where its answers are kept. A release that was refused before it was paid has removed the file.
    work : callable
        Called once, without arguments.

    Returns
    -------
    object
        What ``work`` returns.

    Raises
    ------
    BudgetError, DataError
        Like the one that ``work`` raised, without context.

    Examples
    --------
    >>> resumable(None, lambda: 3)
    3
    """
    try:
        return work()
    except (BudgetError, DataError) as error:
        failure = error
    if transcript is None or not transcript.exists():
        raise failure
    raise type(failure)(f"{failure}; `lapwing resume {transcript}` goes on from what is paid and answered")


def resumed_line(settings: Settings, records: Records, answers: int) -> str:
    """Say what resuming a transcript will finish, before anything is asked or debited.

    Parameters
    ----------
    settings : Settings
        That the transcript fixes; another hand may have chosen them.
    records : Records
        The ledger that it names, if any.
    answers : int
        Answers that it holds.

    Returns
    -------
    str
        One line, all of it public.

    Raises
    ------
    BudgetError, DataError
        If the ledger cannot be read.
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
