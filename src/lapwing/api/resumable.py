"""Let a release that fails half-way say how it is finished."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from lapwing.errors import BudgetError, DataError


@contextlib.contextmanager
def resumable(transcript: Path | None) -> Iterator[None]:
    """Add to a failure of disk or ledger that the release can be resumed.

    Parameters
    ----------
    transcript : Path or None
        Where its answers are kept. A release that was refused before it was paid has removed the file.

    Raises
    ------
    BudgetError, DataError
        What was raised inside.

    Examples
    --------
    >>> with resumable(None):
    ...     raise DataError("the disk is full")
    Traceback (most recent call last):
    lapwing.errors.DataError: the disk is full
    """
    try:
        yield
    except (BudgetError, DataError) as error:
        failure = error
    else:
        return
    if transcript is None or not transcript.exists():
        raise failure
    raise type(failure)(f"{failure}; `lapwing resume {transcript}` goes on from what is paid and answered")
