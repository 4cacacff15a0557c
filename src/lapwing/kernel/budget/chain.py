"""The entries of the ledger and the hash chain that ties them together."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.budget import Notion
from lapwing.kernel.budget.store import Session

UNITS = {"pure": 10**9, "zcdp": 10**12}
"""How many units of account make epsilon 1, and rho 1."""
SELECTION_UNITS = 10**18
"""How many units make delta 1."""

FIRST_HASH = hashlib.sha256(b"lapwing ledger 1").hexdigest()
"""What stands for the hash before the first entry."""

NONCE = "nonce"
"""A random part of an entry's details."""

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)

EntryKind = Literal["init", "debit", "limit"]
EntryRow = tuple[int, str, EntryKind, str, str | None, int, str, str]
NotedAnswer = tuple[str, str, int, str]
_TYPES = {(int, str, str, str, release_id, int, str, str) for release_id in (str, type(None))}
"""Those of an entry's values: SQLite holds any type in any column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger.

    at: UTC time in ISO format. It informs; the order of the entries is that of ``number``; kind: what happened: a data
    set was opened, a release was paid, or the limit was changed; release_id: the release that was paid; None unless
    ``kind`` is "debit"; amount: what was debited, or the new limit, in epsilon or rho as the data set counts; details:
    terms, the budget as it was asked for, and the caller's public description; with selections, also their delta as it
    was asked for ("selection_delta") and in units of 10^-18 ("selection_units"); "account" and "noted" are seals (see
    `append`); hash: SHA-256, in hexadecimal digits, of this entry and the hash of the entry before it.
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
        number, at, kind, dataset, release_id, units, text, digest = row
        amount, details = Fraction(units, UNITS[unit]), _read_details(number, text)
        details = {key: value for key, value in details.items() if key != NONCE}
        return cls(
            number=number,
            at=at,
            kind=kind,
            dataset=dataset,
            release_id=release_id,
            amount=amount,
            details=details,
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


_TERMS = ("unit", "delta", "relation", "privacy_unit")
_ENDS = """SELECT *, (SELECT hash FROM entries AS b WHERE b.number = e.number - 1) FROM entries AS e WHERE number IN (
    (SELECT max(number) FROM entries),
    (SELECT number FROM entries WHERE dataset || '' = ? ORDER BY number DESC LIMIT 1),
    (SELECT min(number) FROM entries WHERE dataset = ? AND release_id IS NULL),
    (SELECT number FROM entries WHERE dataset = ? AND release_id = ?)
) ORDER BY number"""
"""What is added to the name keeps stores from an index that would read all entries of the data set."""
_ACCOUNTS = """SELECT a.dataset, unit, delta, relation, privacy_unit, a.limit_units, a.spent_units,
coalesce(s.limit_units, 0), coalesce(s.spent_units, 0), (SELECT max(rowid) FROM answers)
FROM accounts AS a LEFT JOIN selections AS s ON s.dataset = a.dataset ORDER BY a.dataset"""


def canonical_json(value: object) -> str:
    """Return the one text that stands for ``value``; ValueError or TypeError where JSON cannot hold it."""
    return _CANONICAL.encode(value)


def append(
    connection: Session,
    *,
    at: str,
    kind: EntryKind,
    dataset: str,
    units: int,
    details: Mapping[str, object],
    release_id: str | None = None,
) -> EntryRow:
    """Append one entry, linked to the last one; the file's triggers move the account with it.

    Its details seal the account as the entry leaves it ("account"), and the answers that were noted so far ("noted"):
    their number, and the hash of those that the entry before has not sealed, after its own. A nonce keeps the hash from
    telling, by trial, what an entry says that an export leaves out.
    """
    account, noted = account_rows(connection)[dataset]
    last = ends(connection, dataset, release_id)[-1:]
    number, before = (last[0][0] + 1, last[0][-1]) if last else (1, FIRST_HASH)
    count, sealed = _seal(last[0][0], _read_details(last[0][0], last[0][6])) if last else (0, "")
    new = _noted_answers(connection, count) if noted > count else []
    seals: dict[str, object] = {"account": _moved(account, kind, units, _selection_units(number, details))}
    if count + len(new):
        seals["noted"] = [count + len(new), _chained(sealed, new)]
    text = canonical_json({**details, **seals, NONCE: os.urandom(16).hex()})
    digest = _digest(before, (number, at, kind, dataset, release_id, units, text))
    row = (number, at, kind, dataset, release_id, units, text, digest)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    return row


def account_rows(connection: Session) -> dict[str, tuple[list[Any], int]]:
    """Return of each account its terms, its limit and what is spent, and the two of its selections; all in units.

    Beside each: how many answers were noted in the whole ledger.
    """
    return {name: (row, noted or 0) for name, *row, noted in connection.execute(_ACCOUNTS)}


def ends(connection: Session, dataset: str, release_id: str | None) -> list[EntryRow]:
    """Return some entries in order, once each follows from the one before it.

    These are the last one of all and, of a data set, the first, the last, and the one that paid a release, if any did.
    """
    found = [(tuple(row), before) for *row, before in connection.execute(_ENDS, (*(dataset,) * 3, release_id or ""))]
    for row, before in found:
        _check_links([row], row[0], FIRST_HASH if row[0] == 1 else before and str(before))
    return [row for row, _ in found]


def check_end(connection: Session, dataset: str, release_id: str | None) -> list[Any]:
    """Return an account (see `account_rows`) after a check in a time that does not grow with the file.

    The last entry of all and that of the data set follow from the ones before them, and the account is as the latter
    sealed it.
    """
    account, noted = account_rows(connection)[dataset]
    found = ends(connection, dataset, release_id)
    own = [_read_details(row[0], row[6]) for row in found if row[3] == dataset]
    if not own or repr(own[-1].get("account")) != repr(account):
        raise tampering_error(f"the account of data set {dataset!r}")
    if _seal(found[-1][0], _read_details(found[-1][0], found[-1][6]))[0] > noted:
        raise tampering_error("the list of answers")
    return account


def verify(connection: Session) -> list[EntryRow]:
    """Check the whole file and return its entries in order; a BudgetError says what does not fit."""
    if misfit := connection.misfit(whole=True):
        raise tampering_error(misfit)
    entries: list[EntryRow] = connection.execute("SELECT * FROM entries ORDER BY number")
    _check_links(entries)
    replayed = _replay(entries)
    accounts = [(name, *row[:-2]) for name, (row, _) in account_rows(connection).items()]
    _compare("data set", accounts, {name: (name, *row[:-2]) for name, row in replayed.items()})
    selections = connection.execute("SELECT * FROM selections")
    allowed = {name: (name, *row[-2:]) for name, row in replayed.items() if row[-2]}
    _compare("selections of data set", selections, allowed)
    noted = _noted_answers(connection, 0)
    if len(noted) != (connection.execute("SELECT max(rowid) FROM answers")[0][0] or 0):
        raise tampering_error("the list of answers")
    _check_answers(noted, entries)
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


def export_entries(entries: Iterable[EntryRow], dataset: str | None) -> dict[str, object]:
    """Return entries as plain JSON values, those of other data sets as number and hash only."""
    names = ("number", "at", "kind", "dataset", "release_id", "units", "details", "hash")
    told = [dict(zip(names, row, strict=True)) for row in entries]
    if dataset is not None:
        told = [each if each["dataset"] == dataset else {key: each[key] for key in ("number", "hash")} for each in told]
    units = {"pure": UNITS["pure"], "zcdp": UNITS["zcdp"], "selections": SELECTION_UNITS}
    return {"format": "lapwing ledger 1", "units": units, "first": FIRST_HASH, "entries": told}


def _compare(what: str, found: Iterable[tuple[object, ...]], wanted: Mapping[str, tuple[object, ...]]) -> None:
    """Compare accounts with what the entries say; as text, because SQLite holds any type, and 1 equals 1.0."""
    rows = {repr(row[0]): repr(row) for row in found}
    replayed = {repr(dataset): repr(row) for dataset, row in wanted.items()}
    for dataset in sorted(rows.keys() | replayed.keys()):
        if rows.get(dataset) != replayed.get(dataset):
            raise tampering_error(f"the account of {what} {dataset}")


def _check_links(entries: Iterable[EntryRow], first: int = 1, before: str | None = FIRST_HASH) -> None:
    for expected, row in enumerate(entries, start=first):
        if tuple(map(type, row)) not in _TYPES or row[0] != expected or row[-1] != _digest(before, row[:-1]):
            raise tampering_error(f"entry {expected}")
        before = row[-1]


def _noted_answers(connection: Session, after: int) -> list[NotedAnswer]:
    """Return which answers were noted, in the order in which they were; rows are never deleted, so rowids count."""
    asked = "SELECT dataset, release_id, number, digest FROM answers WHERE rowid > ? ORDER BY rowid"
    return connection.execute(asked, (after,))


def _answer_lines(noted: Iterable[NotedAnswer]) -> bytes:
    """Return what stands for answers in a hash; names and digests have no line breaks."""
    return "".join(f"{part}\n" for answer in noted for part in answer).encode()


def _chained(before: str, noted: Iterable[NotedAnswer]) -> str:
    return hashlib.sha256(before.encode() + _answer_lines(noted)).hexdigest()


def _seal(number: int, details: Mapping[str, object]) -> tuple[int, str]:
    """Return how many answers an entry sealed, and their hash; 0 and nothing where it did not."""
    match details.get("noted", [0, ""]):
        case [int(count), str(sealed)]:
            return count, sealed
    raise tampering_error(f"the list of answers before entry {number}")


def _check_answers(noted: Sequence[NotedAnswer], entries: Iterable[EntryRow]) -> None:
    """Check that noted answers are of paid releases, without a gap, and that they are those that entries sealed."""
    counts = {(row[3], row[4]): 0 for row in entries if row[2] == "debit"}
    for dataset, release_id, number, digest in noted:
        if not isinstance(digest, str) or counts.get((dataset, release_id)) != number:
            raise tampering_error("the list of answers")
        counts[dataset, release_id] += 1
    start, before = 0, ""
    for row in entries:
        details = _read_details(row[0], row[6])
        end, sealed = _seal(row[0], details)
        fits = "noted" not in details or (start <= end <= len(noted) and sealed == _chained(before, noted[start:end]))
        if not fits:
            raise tampering_error(f"the list of answers before entry {row[0]}")
        start, before = end, sealed


def _replay(entries: Iterable[EntryRow]) -> dict[str, list[Any]]:
    """Return the accounts that the entries alone imply, as `account_rows` does."""
    accounts: dict[str, list[Any]] = {}
    for number, _, kind, dataset, _, units, text, _ in entries:
        details = _read_details(number, text)
        selected = _selection_units(number, details)
        if (kind == "init") == (dataset in accounts):
            raise tampering_error(f"entry {number}")
        if kind == "init":
            accounts[dataset] = [*map(details.get, _TERMS), units, 0, selected, 0]
        accounts[dataset] = _moved(accounts[dataset], kind, units, selected)
        *_, limit, spent, allowed, used = account = accounts[dataset]
        if spent > limit or used > allowed or repr(details.get("account")) != repr(account):
            raise tampering_error(f"entry {number}")
    return accounts


def _moved(account: Sequence[Any], kind: EntryKind, units: int, selected: int) -> list[Any]:
    """Return an account after an entry: a debit adds to what is spent, another one says the limit."""
    *terms, limit, spent, allowed, used = account
    if kind == "debit":
        return [*terms, limit, spent + units, allowed, used + selected]
    return [*terms, units, spent, allowed, used]


def _selection_units(number: int, details: Mapping[str, object]) -> int:
    units = details.get("selection_units", 0)
    if not isinstance(units, int) or units < 0:
        raise tampering_error(f"entry {number}")
    return units


def _read_details(number: int, text: str) -> Mapping[str, object]:
    try:
        details = json.loads(text)
    except (ValueError, RecursionError):
        details = None
    if not isinstance(details, dict):
        raise tampering_error(f"entry {number}")
    return details


def _digest(before: str | None, fields: tuple[object, ...]) -> str:
    return hashlib.sha256(canonical_json([before, *fields]).encode()).hexdigest()


def tampering_error(what: str) -> BudgetError:
    """Return the refusal of a file that was changed behind Lapwing's back."""
    return BudgetError(
        f"the ledger was changed by other means than Lapwing: {what} does not fit; put back its newest copy, check "
        "that with a hash you kept (`lapwing ledger verify --hash`), and lower its limit (`lapwing ledger limit`) by "
        "what was spent since, of which the copy knows nothing",
        code="LW404",
    )
