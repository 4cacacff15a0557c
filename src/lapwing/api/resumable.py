"""Let a release that fails half-way say how it is finished."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lapwing.errors import BudgetError, DataError

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
