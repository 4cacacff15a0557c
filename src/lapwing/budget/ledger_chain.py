"""The entries of the ledger and the hash chain that ties them together."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

from lapwing.budget.budget import Notion
from lapwing.budget.ledger_file import SELECTION_STATEMENTS, STATEMENTS, has_selections
from lapwing.errors import BudgetError

UNITS = {"pure": 10**9, "zcdp": 10**12}
"""How many units of account make epsilon 1, and rho 1."""
SELECTION_UNITS = 10**18
"""How many units make delta 1."""

_FIRST_HASH = hashlib.sha256(b"lapwing ledger 1").hexdigest()

EntryKind = Literal["init", "debit", "limit"]
EntryRow = tuple[int, str, EntryKind, str, str | None, int, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger.

    Parameters
    ----------
    number : int
        1, 2, 3, ... over the whole file.
    at : str
        UTC time in ISO format. It informs; the order of the entries is that of ``number``.
    kind : {"init", "debit", "limit"}
        What happened: a data set was opened, a release was paid, or the limit was changed.
    dataset : str
        Name of the data set.
    release_id : str or None
        The release that was paid; None unless ``kind`` is "debit".
    amount : Fraction
        What was debited, or the new limit, in epsilon or rho as the data set counts.
    details : Mapping
        Terms, the budget as it was asked for, and the caller's public description; with selections, also their delta
        as it was asked for ("selection_delta") and in units of 10^-18 ("selection_units").
    hash : str
        SHA-256, in hexadecimal digits, of this entry and the hash of the entry before it.
    """

    number: int
    at: str
    kind: EntryKind
    dataset: str
    release_id: str | None
    amount: Fraction
    details: Mapping[str, object]
    hash: str

    @classmethod
    def from_row(cls, row: EntryRow, unit: Notion) -> Self:
        """Read a row of the table ``entries``."""
        number, at, kind, dataset, release_id, units, details, digest = row
        return cls(
            number=number,
            at=at,
            kind=kind,
            dataset=dataset,
            release_id=release_id,
            amount=Fraction(units, UNITS[unit]),
            details=_read_details(number, details),
            hash=digest,
        )

    @property
    def selection_delta(self) -> Fraction:
        """The delta that was debited for selections or, in an "init", that all selections may spend; 0 without."""
        return Fraction(_selection_units(self.number, self.details), SELECTION_UNITS)


def canonical_json(value: object) -> str:
    """Return the one text that stands for ``value``; ValueError or TypeError where JSON cannot hold it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def append(
    connection: sqlite3.Connection,
    *,
    at: str,
    kind: EntryKind,
    dataset: str,
    units: int,
    details: Mapping[str, object],
    release_id: str | None = None,
) -> EntryRow:
    """Append one entry, linked to the last one; the file's triggers move the account with it."""
    last = connection.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
    number, before = (last[0] + 1, last[1]) if last else (1, _FIRST_HASH)
    text = canonical_json(details)
    digest = _digest(before, (number, at, kind, dataset, release_id, units, text))
    row = (number, at, kind, dataset, release_id, units, text, digest)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    return row


def verify(connection: sqlite3.Connection) -> int:
    """Check the whole file and return the number of its entries; a BudgetError says what does not fit."""
    statements = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if statements != {*STATEMENTS, *(SELECTION_STATEMENTS if has_selections(connection) else ())}:
        raise _tampered("its tables or triggers")
    if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        raise _tampered("its pages")
    entries: list[EntryRow] = connection.execute("SELECT * FROM entries ORDER BY number").fetchall()
    _check_links(entries)
    accounts = {
        row[0]: row
        for row in connection.execute(
            "SELECT dataset, unit, delta, relation, privacy_unit, limit_units, spent_units FROM accounts"
        )
    }
    replayed = _replay(entries)
    for dataset in sorted(accounts.keys() | replayed.keys()):
        if accounts.get(dataset) != replayed.get(dataset):
            raise _tampered(f"the account of data set {dataset!r}")
    selections = connection.execute("SELECT * FROM selections").fetchall() if has_selections(connection) else []
    if {row[0]: row for row in selections} != _replay_selections(entries):
        raise _tampered("the account of selections")
    return len(entries)


def _check_links(entries: Iterable[EntryRow]) -> None:
    before = _FIRST_HASH
    for expected, row in enumerate(entries, start=1):
        # SQLite stores any type in any column: bytes that were put in by hand have no JSON to hash.
        is_plain = not any(isinstance(value, bytes) for value in row)
        if row[0] != expected or not is_plain or row[-1] != _digest(before, row[:-1]):
            raise _tampered(f"entry {expected}")
        before = row[-1]


def _replay(entries: Iterable[EntryRow]) -> dict[str, tuple[object, ...]]:
    """Return the accounts that the entries alone imply."""
    terms: dict[str, tuple[object, ...]] = {}
    limits: dict[str, int] = {}
    spent: dict[str, int] = {}
    for number, _, kind, dataset, _, units, text, _ in entries:
        if (kind == "init") == (dataset in terms):
            raise _tampered(f"entry {number}")
        if kind == "init":
            details = _read_details(number, text)
            terms[dataset] = tuple(details.get(name) for name in ("unit", "delta", "relation", "privacy_unit"))
        if kind == "debit":
            spent[dataset] = spent.get(dataset, 0) + units
        else:
            limits[dataset] = units
        if spent.get(dataset, 0) > limits[dataset]:
            raise _tampered(f"entry {number}")
    return {dataset: (dataset, *terms[dataset], limits[dataset], spent.get(dataset, 0)) for dataset in terms}


def _replay_selections(entries: Iterable[EntryRow]) -> dict[str, tuple[str, int, int]]:
    """Return what the entries alone say about selections: data set, limit and spent, where they are allowed."""
    limits: dict[str, int] = {}
    spent: dict[str, int] = {}
    for number, _, kind, dataset, _, _, text, _ in entries:
        units = _selection_units(number, _read_details(number, text))
        if units and kind == "init":
            limits[dataset] = units
        elif units:
            spent[dataset] = spent.get(dataset, 0) + units
        if spent.get(dataset, 0) > limits.get(dataset, 0):
            raise _tampered(f"entry {number}")
    return {dataset: (dataset, limits[dataset], spent.get(dataset, 0)) for dataset in limits}


def _selection_units(number: int, details: Mapping[str, object]) -> int:
    units = details.get("selection_units", 0)
    if not isinstance(units, int) or units < 0:
        raise _tampered(f"entry {number}")
    return units


def _read_details(number: int, text: str) -> Mapping[str, object]:
    try:
        details = json.loads(text)
    except ValueError:
        details = None
    if not isinstance(details, dict):
        raise _tampered(f"entry {number}")
    return details


def _digest(before: str, fields: tuple[object, ...]) -> str:
    return hashlib.sha256(canonical_json([before, *fields]).encode()).hexdigest()


def _tampered(what: str) -> BudgetError:
    return BudgetError(f"the ledger was changed by other means than Lapwing: {what} does not fit; restore a copy of it")
