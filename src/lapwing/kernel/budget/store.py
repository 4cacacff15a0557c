"""Where ledgers are kept: in files of SQLite, or in a database, whose module is loaded when such a ledger is used.

What an entry says and is sealed with, what a debit may cost and how all is checked, is the same code for every store.
"""

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, cast

from lapwing.kernel.budget import ledger_file
from lapwing.on_demand import extra

T = TypeVar("T")

Place = Path | str
"""The file of a ledger, or the address of a database."""
Begin = Literal["BEGIN", "BEGIN IMMEDIATE"]
"""A transaction that reads, or one that writes and is alone in that."""


class Session(Protocol):
    """One transaction on a ledger."""

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run what all stores take alike, with a ``?`` for each value, and return its rows."""

    def clock(self) -> str | None:
        """Return the time by the clock of the store, UTC in ISO format to the second; None where it has none."""

    def misfit(self, *, whole: bool = False) -> str | None:
        """Name what is not as Lapwing made it: of the tables and their rules or, on the whole, of the pages too."""


class Store(Protocol):
    """Keeps ledgers; `ledger.proof.md` says what is assumed of each."""

    def exists(self, path: Place) -> bool:
        """Return whether a ledger is there."""

    def create_if_absent(self, path: Place) -> None:
        """Make an empty ledger unless one is there; several processes may do so at once."""

    def transact(self, path: Place, begin: Begin, work: Callable[[Session], T]) -> T:
        """Run ``work`` in one transaction; it is durable when this returns, and undone when this raises."""

    def transcripts_of(self, path: Place) -> Path:
        """Return the folder on this machine where the ledger's releases keep their transcripts and holds."""


def is_address(place: object) -> bool:
    """Return whether a ledger is kept in a database, by what its place begins with.

    >>> is_address("postgresql://host/budgets"), is_address("budget.db")
    (True, False)
    """
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def place_of(place: str | PathLike[str]) -> Place:
    """Return the address of a database as it is, and the path of a file."""
    return str(place) if is_address(place) else Path(fspath(place))


def store_of(place: str | PathLike[str]) -> Store:
    """Return what keeps the ledger of a place."""
    if not is_address(place):
        return cast("Store", ledger_file)
    return cast("Store", extra("ledgers in Postgres"))


def transact(place: Place, begin: Begin, work: Callable[[Session], T]) -> T:
    """Run ``work`` in one transaction of the store of a place."""
    return store_of(place).transact(place, begin, work)
