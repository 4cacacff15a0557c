"""The entries of the ledger and the hash chain that ties them together."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.budget import Notion
from lapwing.kernel.budget.ledger_file import SELECTION_STATEMENTS, STATEMENTS, has_selections

UNITS = {"pure": 10**9, "zcdp": 10**12}
"""How many units of account make epsilon 1, and rho 1."""
SELECTION_UNITS = 10**18
"""How many units make delta 1."""

FIRST_HASH = hashlib.sha256(b"lapwing ledger 1").hexdigest()
"""What stands for the hash before the first entry."""

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)

EntryKind = Literal["init", "debit", "limit"]
EntryRow = tuple[int, str, EntryKind, str, str | None, int, str, str]
_TYPES = {(int, str, str, str, release_id, int, str, str) for release_id in (str, type(None))}
"""Those of an entry's values: SQLite holds any type in any column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger.

    at: UTC time in ISO format. It informs; the order of the entries is that of ``number``; kind: what happened: a data
    set was opened, a release was paid, or the limit was changed; release_id: the release that was paid; None unless
    ``kind`` is "debit"; amount: what was debited, or the new limit, in epsilon or rho as the data set counts; details:
    terms, the budget as it was asked for, and the caller's public description; with selections, also their delta as it
    was asked for ("selection_delta") and in units of 10^-18 ("selection_units"). "answers" is how many answers of
    releases had been noted when the entry was made, and the hash of that list; hash: SHA-256, in hexadecimal digits, of
    this entry and the hash of the entry before it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where the chain of hashes ends.

    hash: SHA-256 of the last entry, 64 hexadecimal digits. It covers all entries, and all answers that had been noted
    when the last one was made. Kept elsewhere, it shows later that none of them was changed or cut off; kept: the
    number of the entry whose hash was given; 0 where that is the one before the first entry.
    """

    entries: int
    hash: str
    kept: int | None


def canonical_json(value: object) -> str:
    """Return the one text that stands for ``value``; ValueError or TypeError where JSON cannot hold it."""
    return _CANONICAL.encode(value)


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
    """Append one entry, linked to the last one; the file's triggers move the account with it.

    Answers that were noted so far are sealed with it: their number and hash are among its details.
    """
    last = connection.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
    number, before = (last[0] + 1, last[1]) if last else (1, FIRST_HASH)
    noted = _noted_answers(connection)
    text = canonical_json({**details, "answers": [len(noted), _answer_hashes(noted)[-1]]} if noted else details)
    digest = _digest(before, (number, at, kind, dataset, release_id, units, text))
    row = (number, at, kind, dataset, release_id, units, text, digest)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    return row


def verify(connection: sqlite3.Connection) -> list[EntryRow]:
    """Check the whole file and return its entries in order; a BudgetError says what does not fit."""
    is_selective = has_selections(connection)
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    statements = (*STATEMENTS, *(SELECTION_STATEMENTS if is_selective else ()))
    if sorted(map(repr, found)) != sorted(map(repr, map(_as_listed, statements))):
        raise tampered("the list of its tables and triggers")
    if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        raise tampered("one of its pages")
    entries: list[EntryRow] = connection.execute("SELECT * FROM entries ORDER BY number").fetchall()
    _check_links(entries)
    accounts = connection.execute(
        "SELECT dataset, unit, delta, relation, privacy_unit, limit_units, spent_units FROM accounts"
    ).fetchall()
    _compare("data set", accounts, _replay(entries))
    selections = connection.execute("SELECT * FROM selections").fetchall() if is_selective else []
    _compare("selections of data set", selections, _replay_selections(entries))
    _check_answers(_noted_answers(connection), entries)
    return entries


def head(entries: Sequence[EntryRow], kept: str | None) -> Head:
    """Return the end of a chain, once the hash that was ``kept`` is found in it."""
    hashes = [FIRST_HASH, *(row[-1] for row in entries)]
    if kept is not None and kept not in hashes:
        raise BudgetError(
            f"no entry of this ledger has the hash {kept}: entries were rewritten or cut off, or an older copy was put "
            "back; look for the newest copy",
            code="LW416",
        )
    return Head(entries=len(entries), hash=hashes[-1], kept=None if kept is None else hashes.index(kept))


def read_hash(text: str) -> str:
    """Return a hash as entries have it, or refuse what is none."""
    if re.fullmatch(r"[0-9a-f]{64}", text.strip().lower()) is None:
        raise ParameterError(
            f"a kept hash must be 64 hexadecimal digits, got {text[:80]!r}; give one that `lapwing ledger verify` said",
            code="LW416",
        )
    return text.strip().lower()


def exported(entries: Iterable[EntryRow], dataset: str | None) -> dict[str, object]:
    """Return entries as plain JSON values, those of other data sets as number and hash only."""
    names = ("number", "at", "kind", "dataset", "release_id", "units", "details", "hash")
    told = [dict(zip(names, row, strict=True)) for row in entries]
    if dataset is not None:
        told = [each if each["dataset"] == dataset else {key: each[key] for key in ("number", "hash")} for each in told]
    units = {"pure": UNITS["pure"], "zcdp": UNITS["zcdp"], "selections": SELECTION_UNITS}
    return {"format": "lapwing ledger 1", "units": units, "first": FIRST_HASH, "entries": told}


def _as_listed(statement: str) -> tuple[str, str, str, str]:
    """Return how SQLite lists what a statement creates."""
    words = statement.split()
    kind, name = words[1].lower(), words[2]
    return kind, name, words[words.index("ON") + 1] if kind == "trigger" else name, statement


def _compare(what: str, found: Iterable[tuple[object, ...]], wanted: Mapping[str, tuple[object, ...]]) -> None:
    """Compare accounts with what the entries say; as text, because SQLite holds any type, and 1 equals 1.0."""
    rows = {repr(row[0]): repr(row) for row in found}
    replayed = {repr(dataset): repr(row) for dataset, row in wanted.items()}
    for dataset in sorted(rows.keys() | replayed.keys()):
        if rows.get(dataset) != replayed.get(dataset):
            raise tampered(f"the account of {what} {dataset}")


def _check_links(entries: Iterable[EntryRow]) -> None:
    before = FIRST_HASH
    for expected, row in enumerate(entries, start=1):
        if tuple(map(type, row)) not in _TYPES or row[0] != expected or row[-1] != _digest(before, row[:-1]):
            raise tampered(f"entry {expected}")
        before = row[-1]


def _noted_answers(connection: sqlite3.Connection) -> list[tuple[str, str, int, str]]:
    """Return which answers were noted, in the order in which they were."""
    return connection.execute("SELECT dataset, release_id, number, digest FROM answers ORDER BY rowid").fetchall()


def _answer_hashes(noted: Iterable[tuple[str, str, int, str]]) -> list[str]:
    """Return the hash of the first 0, 1, 2, ... answers; names and digests have no line breaks."""
    running = hashlib.sha256()
    hashes = [running.hexdigest()]
    for dataset, release_id, number, digest in noted:
        running.update(f"{dataset}\n{release_id}\n{number}\n{digest}\n".encode())
        hashes.append(running.hexdigest())
    return hashes


def _check_answers(noted: Sequence[tuple[str, str, int, str]], entries: Iterable[EntryRow]) -> None:
    """Check that noted answers are of paid releases, without a gap, and that they are those that entries sealed."""
    counts = {(row[3], row[4]): 0 for row in entries if row[2] == "debit"}
    for dataset, release_id, number, digest in noted:
        if not isinstance(digest, str) or counts.get((dataset, release_id)) != number:
            raise tampered("the list of answers")
        counts[dataset, release_id] += 1
    hashes = _answer_hashes(noted)
    for row in entries:
        match _read_details(row[0], row[6]).get("answers"):
            case None:
                is_sealed = True
            case [int(count), str(sealed)]:
                is_sealed = 0 < count < len(hashes) and hashes[count] == sealed
            case _:
                is_sealed = False
        if not is_sealed:
            raise tampered(f"the list of answers before entry {row[0]}")


def _replay(entries: Iterable[EntryRow]) -> dict[str, tuple[object, ...]]:
    """Return the accounts that the entries alone imply."""
    terms: dict[str, tuple[object, ...]] = {}
    limits: dict[str, int] = {}
    spent: dict[str, int] = {}
    for number, _, kind, dataset, _, units, text, _ in entries:
        if (kind == "init") == (dataset in terms):
            raise tampered(f"entry {number}")
        if kind == "init":
            details = _read_details(number, text)
            terms[dataset] = tuple(details.get(name) for name in ("unit", "delta", "relation", "privacy_unit"))
        if kind == "debit":
            spent[dataset] = spent.get(dataset, 0) + units
        else:
            limits[dataset] = units
        if spent.get(dataset, 0) > limits[dataset]:
            raise tampered(f"entry {number}")
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
            raise tampered(f"entry {number}")
    return {dataset: (dataset, limits[dataset], spent.get(dataset, 0)) for dataset in limits}


def _selection_units(number: int, details: Mapping[str, object]) -> int:
    units = details.get("selection_units", 0)
    if not isinstance(units, int) or units < 0:
        raise tampered(f"entry {number}")
    return units


def _read_details(number: int, text: str) -> Mapping[str, object]:
    try:
        details = json.loads(text)
    except (ValueError, RecursionError):
        details = None
    if not isinstance(details, dict):
        raise tampered(f"entry {number}")
    return details


def _digest(before: str, fields: tuple[object, ...]) -> str:
    return hashlib.sha256(canonical_json([before, *fields]).encode()).hexdigest()


def tampered(what: str) -> BudgetError:
    """Return the refusal of a file that was changed behind Lapwing's back."""
    return BudgetError(
        f"the ledger was changed by other means than Lapwing: {what} does not fit; put back its newest copy, check "
        "that with a hash you kept (`lapwing ledger verify --hash`), and lower its limit (`lapwing ledger limit`) by "
        "what was spent since, of which the copy knows nothing",
        code="LW404",
    )
