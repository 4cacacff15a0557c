"""The runs that this command began to record, so that an interrupted one can say how to finish it.

Not in `transcript.py`: every command loads this, and must not wait for NumPy.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Name a run whose transcript was made or taken up."""

    transcript: Path
    lock: Path
    ledger: str | None
    dataset: str | None
    release_id: str | None
    is_new: bool


_FOLLOWED: ContextVar[list[Begun] | None] = ContextVar("_FOLLOWED", default=None)


@contextmanager
def followed_runs() -> Iterator[list[Begun]]:
    """Collect the runs that begin inside; a block inside of another one adds to the same list.

    Returns in order; each is there before its transcript is made, and so before anything is paid.

    >>> with followed_runs() as begun:
    ...     len(begun)
    0
    """
    outer = _FOLLOWED.get()
    if outer is not None:
        yield outer
        return
    begun: list[Begun] = []
    token = _FOLLOWED.set(begun)
    try:
        yield begun
    finally:
        _FOLLOWED.reset(token)


def tell_begun(run: Begun) -> None:
    """Tell whoever follows that a run begins."""
    followed = _FOLLOWED.get()
    if followed is not None:
        followed.append(run)
