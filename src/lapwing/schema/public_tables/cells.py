"""Public tables on codes: which cell each combination of groups of codes belongs to."""

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

import numpy as np

from lapwing.errors import ParameterError, SchemaError
from lapwing.schema.conditions import Between, wanted_runs
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import MAX_ENTRIES, Grouping, cut, lookup
from lapwing.schema.public_tables.tables import Condition, PublicTable
from lapwing.schema.scalars import quote
from lapwing.schema.values import label

MOST_COMBINATIONS: Final = 2**22
"""Combinations of groups of one public table: 32 MB."""


class HasPublicTables(Protocol):
    """What is asked of a schema here, whose type lies above this file."""

    @property
    def columns(self) -> tuple[Field, ...]:
        """The modelled fields."""
        ...

    @property
    def public_tables(self) -> tuple[PublicTable, ...]:
        """The public tables."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """A public table on codes.

    groupings: per column of the table, the groups of codes that its cells tell apart; reserved codes are groups of
    their own; cell: intp, shaped by the groups, the cell of each combination; -1 where no row can be; counts: int64
    (k,), the count of each cell.
    """

    table: PublicTable
    groupings: tuple[Grouping, ...]
    cell: np.ndarray
    counts: np.ndarray

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table."""
        return self.table.columns


def coded_table(table: PublicTable, fields: Sequence[Field]) -> CodedTable:
    """Return a public table on codes."""
    known = {field.name: field for field in fields}
    for name in table.columns:
        if name not in known:
            raise SchemaError(
                f"{table.name}: {quote(name)} is no modelled column of the schema; name one that is", code="LW219"
            )
    own = [known[name] for name in table.columns]
    columns = [_grouped(table, field, [cell[at] for cell in table.cells]) for at, field in enumerate(own)]
    shape = tuple(grouping.groups for grouping, _ in columns)
    if np.prod(np.array(shape, dtype=np.float64)) > MOST_COMBINATIONS:
        raise SchemaError(
            f"{table.name} tells more than 2**22 combinations apart; use wider cells or fewer columns", code="LW242"
        )
    found = np.full(shape, -1, dtype=np.intp)
    for number, cell in enumerate(table.cells):
        where = np.ix_(*(groups[repr(each)] for (_, groups), each in zip(columns, cell[:-1], strict=True)))
        others = found[where]
        if others.max() >= 0:
            other = int(others.max())
            raise SchemaError(
                f"{table.name}: the cells {other + 1} and {number + 1} overlap; make them disjoint, or join them",
                code="LW242",
            )
        found[where] = number
    groupings = tuple(grouping for grouping, _ in columns)
    coded = CodedTable(table, groupings, found, np.array(table.counts, dtype=np.int64))
    if not table.complete:
        _check_covered(coded, own)
    return coded


def coded_tables(schema: HasPublicTables, hold: str = "exact") -> tuple[CodedTable, ...]:
    """Return the public tables of a schema that are held in one way, on codes; kept for the last few schemas."""
    return tuple(each for each in _coded_tables(schema) if each.table.hold == hold)


@functools.lru_cache(maxsize=8)
def _coded_tables(schema: HasPublicTables) -> tuple[CodedTable, ...]:
    return tuple(coded_table(table, schema.columns) for table in schema.public_tables)


def public_total(schema: HasPublicTables) -> int | None:
    """Return the number of rows that the exact public tables of a schema make public; None where there is none."""
    return next((table.total for table in schema.public_tables if table.hold == "exact"), None)


def public_columns(schema: HasPublicTables) -> tuple[str, ...]:
    """Return the columns of the exact public tables, each once, in the schema's order."""
    named = {name for table in schema.public_tables if table.hold == "exact" for name in table.columns}
    return tuple(field.name for field in schema.columns if field.name in named)


def check_public_tables(schema: HasPublicTables) -> None:
    """Refuse public tables that do not fit the schema or contradict each other.

    Two cells of two tables are linked where the shared columns let one row lie in both. Whoever lies in a linked set of
    cells of one table lies in that of the other, so its counts must sum to the same.
    """
    exact = coded_tables(schema)
    for one, two in itertools.combinations(exact, 2):
        _check_together(one, two)


def _check_together(one: CodedTable, two: CodedTable) -> None:
    """Refuse two tables whose totals or shared margins differ."""
    names = f"{one.table.name} and {two.table.name}"
    if one.table.total != two.table.total:
        raise SchemaError(
            f"{names} have the totals {one.table.total} and {two.table.total}, but both are exact counts of one table; "
            'correct one, or set "hold": "prior" for what is of another population',
            code="LW243",
        )
    shared = tuple(name for name in one.columns if name in two.columns)
    if not shared:
        return
    left, right = (_reached(table, shared) for table in (one, two))
    places = _common(one, two, shared)
    links = np.concatenate([_links(left, places[0]), _links(right, places[1]) + np.array([[0, one.counts.size]])])
    sets = _connected(links, int(places[0].size), one.counts.size + two.counts.size)
    sums = [
        np.bincount(part, table.counts.astype(np.float64), int(sets.max()) + 1)
        for part, table in ((sets[: one.counts.size], one), (sets[one.counts.size :], two))
    ]
    wrong = np.flatnonzero(sums[0] != sums[1])
    if wrong.size:
        at = int(wrong[0])
        raise SchemaError(
            f"{names} disagree about {', '.join(map(quote, shared))}: cells that mean the same rows count "
            f'{int(sums[0][at])} and {int(sums[1][at])}; correct one, or set "hold": "prior" for one of them',
            code="LW243",
        )


def _reached(coded: CodedTable, shared: Sequence[str]) -> np.ndarray:
    """Return which cells each combination of the shared groups can lie in: ndarray of bool, (combinations, k)."""
    axes = [coded.columns.index(name) for name in shared]
    moved = np.moveaxis(coded.cell, axes, range(len(axes)))
    flat = moved.reshape(int(np.prod(moved.shape[: len(axes)])), -1)
    pairs = np.unique(np.stack([np.repeat(np.arange(len(flat)), flat.shape[1]), flat.reshape(-1)]), axis=1)
    return np.asarray(pairs[:, pairs[1] >= 0])


def _common(one: CodedTable, two: CodedTable, shared: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the combination of each table's groups for every combination of their common refinement."""
    found = [np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)]
    for name in shared:
        groupings = [table.groupings[table.columns.index(name)] for table in (one, two)]
        pieces = [grouping.pieces() for grouping in groupings]
        starts = np.unique(np.concatenate([piece[0] for piece in pieces]))
        groups = np.stack([piece[2][np.searchsorted(piece[0], starts, side="right") - 1] for piece in pieces])
        groups = np.unique(groups, axis=1)
        found = [
            (each[:, None] * grouping.groups + own[None, :]).reshape(-1)
            for each, grouping, own in zip(found, groupings, groups, strict=True)
        ]
    return found[0], found[1]


def _links(reached: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return (combination of the refinement, cell) for all that a row can be: ndarray of int64, shape (links, 2)."""
    order = np.argsort(places, kind="stable")
    first = np.searchsorted(places[order], reached[0], side="left")
    behind = np.searchsorted(places[order], reached[0], side="right")
    counts = behind - first
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.stack([order[np.repeat(first, counts) + within], np.repeat(reached[1], counts)], axis=1)


def _connected(links: np.ndarray, lefts: int, rights: int) -> np.ndarray:
    """Return the connected set of each right end of links between two sides: ndarray of intp, shape (rights,)."""
    sets = np.arange(rights)
    while True:
        lowest = np.full(lefts, rights)
        np.minimum.at(lowest, links[:, 0], sets[links[:, 1]])
        found = sets.copy()
        np.minimum.at(found, links[:, 1], lowest[links[:, 0]])
        found = found[found]
        if np.array_equal(found, sets):
            return sets
        sets = found


# ------------------------------------------------------------------------------------------------ one column


def _grouped(
    table: PublicTable, field: Field, conditions: Iterable[Condition]
) -> tuple[Grouping, dict[str, np.ndarray]]:
    """Return the groups of one column's codes, and those that each condition, by its text, asks for."""
    domain = field.domain
    distinct = {repr(condition): condition for condition in conditions}  # 1 and True are equal, their texts are not
    runs = {key: _runs(table, field, condition) for key, condition in distinct.items()}
    starts = np.unique(
        np.concatenate([[0], np.arange(domain.values, domain.size), *(r.reshape(-1) for r in runs.values())])
    )
    starts = starts[starts < domain.size]
    inside = {key: _inside(starts, each) for key, each in runs.items()}
    regular = int(np.searchsorted(starts, domain.values))
    group = _alike(inside.values(), regular)
    if (np.diff(group) < 0).any() and domain.values <= MAX_ENTRIES:
        grouping = lookup(domain, np.repeat(group, np.diff(starts[: regular + 1])))
    else:
        group = np.cumsum(np.diff(group, prepend=0) != 0)
        grouping = cut(domain, starts[np.flatnonzero(np.diff(group)) + 1])
    whole = np.concatenate([group, int(group.max()) + 1 + np.arange(starts.size - regular)])
    return grouping, {key: np.unique(whole[each]) for key, each in inside.items()}


def _inside(starts: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Return the numbers of the runs of codes, given by their starts, that a condition asks for."""
    first, behind = np.searchsorted(starts, runs[:, 0]), np.searchsorted(starts, runs[:, 1])
    return np.concatenate([np.arange(*ends) for ends in zip(first, behind, strict=True)])


def _alike(inside: Iterable[np.ndarray], regular: int) -> np.ndarray:
    """Give the runs of regular codes that the same conditions ask for one number, in the order of first sight."""
    askers: list[list[int]] = [[] for _ in range(regular)]
    for number, pieces in enumerate(inside):
        for piece in pieces[pieces < regular].tolist():
            askers[piece].append(number)
    numbers: dict[tuple[int, ...], int] = {}
    return np.array([numbers.setdefault(tuple(asked), len(numbers)) for asked in askers], dtype=np.intp)


def _runs(table: PublicTable, field: Field, condition: Condition) -> np.ndarray:
    """Return the runs of codes that one condition asks for."""
    listed = condition if isinstance(condition, tuple) else (condition,)
    try:
        runs = np.concatenate([_item_runs(f"{table.name}: a cell", field, item) for item in listed])
    except ParameterError as error:
        message = str(error)
    else:
        order = np.argsort(runs[:, 0], kind="stable")
        return _disjoint(table, field, runs[order])
    raise SchemaError(message, code="LW242")


def _disjoint(table: PublicTable, field: Field, runs: np.ndarray) -> np.ndarray:
    """Return sorted runs, or refuse a list whose entries overlap."""
    if (runs[1:, 0] < runs[:-1, 1]).any():
        raise SchemaError(
            f"{table.name}: a list of values of column {quote(field.name)} names some of them twice", code="LW242"
        )
    return runs


def _item_runs(asker: str, field: Field, item: object) -> np.ndarray:
    """Return the runs of codes of a value, a range or a text that means one."""
    asked = f"{asker} asks column {quote(field.name)} for"
    if isinstance(item, str) and not field.is_categorical:
        item = _read(field, item)
    elif isinstance(item, str) and field.ordered and ".." in item and item not in (field.categories or ()):
        item = _range(item)
    if isinstance(item, bool) and not field.is_categorical:
        raise ParameterError(f"{asked} {quote(item)}; name a value of its type", code="LW242")
    if not isinstance(item, Between):
        return wanted_runs(field, item, asker)
    if not field.domain.ordered:
        raise ParameterError(f"{asked} a range, but it has no order; list values", code="LW242")
    categories = field.categories
    ends = (field.minimum, field.maximum) if categories is None else (categories[0], categories[-1])
    low, high = (end if given is None else given for given, end in zip((item.low, item.high), ends, strict=True))
    if not field.domain.continuous:
        return wanted_runs(field, Between(low, high), asker)
    # A real number lies in one cell only where ranges are half open; the last one is closed.
    start, stop = (int(wanted_runs(field, end, asker)[0, 0]) for end in (low, high))
    stop = field.domain.values if high == field.maximum else stop
    if start >= stop:
        raise ParameterError(f"{asked} a range without any value; write the lower end first", code="LW242")
    return np.array([[start, stop]], dtype=np.int64)


def _range(text: str) -> Between:
    """Return the range that a text means, such as 0..17, 65.. or ..17."""
    low, _, high = text.partition("..")
    return Between(low.strip() or None, high.strip() or None)


def _read(field: Field, text: str) -> object:
    """Return what a text asks of a column of numbers or dates: a value or a range."""
    if ".." in text:
        found = _range(text)
        return Between(*(None if end is None else _value(field, cast("str", end)) for end in (found.low, found.high)))
    return _value(field, text)


def _value(field: Field, text: str) -> object:
    """Return a text as a number, where the column holds numbers."""
    if field.type not in ("integer", "number"):
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _check_covered(coded: CodedTable, fields: Sequence[Field]) -> None:
    """Refuse cells that leave something out; a misfit is nothing that a row out can be."""
    real = np.ix_(
        *(
            np.arange(grouping.groups - (not field.domain.missing))
            for grouping, field in zip(coded.groupings, fields, strict=True)
        )
    )
    left_out = np.argwhere(coded.cell[real] < 0)
    if left_out.size:
        example = ", ".join(
            f"{quote(field.name)} {quote(label(grouping, field, int(group)))}"
            for field, grouping, group in zip(fields, coded.groupings, left_out[0], strict=True)
        )
        raise SchemaError(
            f'{coded.table.name}: no cell holds {example}; list it, or set "complete": true if nobody is outside the '
            "listed cells",
            code="LW242",
        )
