"""Contingency tables and keys of coded rows, counted in one pass. Private."""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain, compress
from typing import Final, Protocol

import numpy as np
import polars as pl

from lapwing.rows.threads import each_done, in_order
from lapwing.schema.groupings.grouping import Grouping

Table = tuple[tuple[str, Grouping], ...]
"""One contingency table: columns, each with the map from its codes to groups; () is the number of rows."""

Codes = dict[str, np.ndarray]
"""The codes of one chunk of rows, by column."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyedColumn:
    """A column seen through a grouping, and what each group adds to a row's key: no two columns use the same bit."""

    name: str
    grouping: Grouping
    keys: np.ndarray  # uint64 (covered, words); a row with a later group has no key


class CodedSource(Protocol):
    """Rows of a private table as codes, after truncation to the privacy unit's rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The modelled columns, in the schema's order."""

    @property
    def rows(self) -> int:
        """Number of rows after truncation. Private."""

    @property
    def units(self) -> int:
        """Number of privacy units. Private."""

    @property
    def unmet(self) -> int:
        """Rows of linked tables that belong to no row of the first one, cut like the others; else 0. Private."""

    def chunks(self, *, apart: bool = False) -> Iterator[Codes]:
        """Yield the codes of all rows; `apart`: misfits have ``domain.misfit``, and are not taken for missing."""

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        """Return the contingency tables in C order, all counted in one pass; callers see that they fit in memory."""

    def count_keys(self, columns: Sequence[KeyedColumn]) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct keys of the rows and how many rows have each, as `lapwing.rows.counting.count_keys`."""

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of an opened string column by another pass, in the same order; null where there is none."""


class EngineSource(CodedSource, Protocol):
    """Codes that an engine keeps until they are closed."""

    def close(self) -> None:
        """Have the engine drop the codes."""


_COMPACT_ROWS: Final = 2**22  # keys that wait to be merged with those before
_COUNT_ROWS: Final = 2**16  # rows counted at a time: their groups stay in the processor's cache
_ROWS_OF_MANY: Final = 2**13  # the same where many tables are counted by compiled code
_MANY: Final = 32  # so many tables are worth loading that
_TOGETHER: Final = 256  # tables that one thread adds to at a time
LISTED: Final = 2**14  # codes whose groups are listed for a pass
_MOST_GROUPS: Final = 2**16  # cells of a table that is counted so, and groups along its axes
_GROUP: Final = np.min_scalar_type(_MOST_GROUPS - 1)


def count_tables(chunks: Iterable[Codes], tables: Sequence[Table]) -> list[np.ndarray]:
    """Return the contingency tables of coded rows; each grouping of a column is applied once per block of rows."""
    wanted = {_key(*axis): axis for table in tables for axis in table}
    coders = {key: (name, _coder(grouping)) for key, (name, grouping) in wanted.items()}
    is_small = [1 < len(t) <= 3 and math.prod([each.groups for _, each in t]) <= _MOST_GROUPS for t in tables]
    if sum(is_small) < _MANY:
        is_small = [False] * len(tables)
    many = list(compress(tables, is_small))
    places = {key: place for place, key in enumerate(dict.fromkeys(_key(*axis) for table in many for axis in table))}
    batches = [_Batch(many[at : at + _TOGETHER], places) for at in range(0, len(many), _TOGETHER)]
    totals = [_Total(table) for table, is_one in zip(tables, is_small, strict=True) if not is_one]

    def add(chunk: Codes) -> None:
        for block in _blocks(chunk, _ROWS_OF_MANY if many else _COUNT_ROWS):
            groups = {key: group(block[name]) for key, (name, group) in coders.items()}
            rows = np.array([groups[key] for key in places], dtype=_GROUP)
            for batch in batches:
                batch.add(rows)
            for total in totals:
                total.add(groups, height(block))

    each_done(add, chunks)
    found, others = chain.from_iterable(map(_Batch.tables, batches)), iter(totals)
    return [next(found) if is_one else next(others).counts for is_one in is_small]


def _coder(grouping: Grouping) -> Callable[[np.ndarray], np.ndarray]:
    """Return what gives the group of each code in few bytes, so that more rows stay in the processor's cache."""
    kind = np.min_scalar_type(-1 - grouping.groups)
    size = grouping.values + grouping.reserved
    if size > LISTED:
        return lambda codes: grouping.apply(codes).astype(kind)
    groups = grouping.apply(np.arange(size + 1)).astype(kind)  # one beyond, of a misfit, is in the last group
    return lambda codes: groups.take(codes, mode="clip")


class _Batch:
    """Small tables of two or three columns and their counts so far, to which several threads add by compiled code."""

    __slots__ = ("_counts", "_lock", "_offsets", "_sizes", "_slots")

    def __init__(self, tables: Sequence[Table], places: Mapping[tuple[object, ...], int]) -> None:
        self._slots = np.array([[places[_key(*axis)] for axis in table] + [-1] * (3 - len(table)) for table in tables])
        self._sizes = np.array([[axis[1].groups for axis in table] + [1] * (3 - len(table)) for table in tables])
        self._offsets = np.concatenate(([0], np.cumsum(self._sizes.prod(axis=1))))
        self._counts = np.zeros(self._offsets[-1], dtype=np.int64)
        self._lock = threading.Lock()

    def add(self, groups: np.ndarray) -> None:
        """Add a block of rows: (axes, rows), the group of each row by the place of an axis."""
        from lapwing.rows.compiled import add_cells  # noqa: PLC0415 - takes half a second

        with self._lock:
            add_cells(groups, self._slots, self._sizes, self._offsets, self._counts)

    def tables(self) -> list[np.ndarray]:
        """Return the tables, each for itself."""
        return [cells.copy() for cells in np.split(self._counts, self._offsets[1:-1])]


class _Total:
    """One table and its counts so far, to which several threads add."""

    __slots__ = ("_keys", "_lock", "_table", "counts")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._keys = [_key(name, grouping) for name, grouping in table]
        self._lock = threading.Lock()
        self.counts = np.zeros(math.prod(grouping.groups for _, grouping in table), dtype=np.int64)

    def add(self, groups: Mapping[tuple[object, ...], np.ndarray], rows: int) -> None:
        """Add a block of rows, given as the group of each row by column and grouping."""
        if not self._table:
            with self._lock:
                self.counts += rows
            return
        cells = _joint(self._table, [groups[key] for key in self._keys])
        if len(self.counts) < len(cells):
            found = np.bincount(cells, minlength=len(self.counts))
            with self._lock:
                self.counts += found
        else:
            with self._lock:
                np.add.at(self.counts, cells, 1)


def count_keys(chunks: Iterable[Codes], columns: Sequence[KeyedColumn]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys of coded rows, uint64 (words, k), increasing, and how many rows have each.

    Memory: 8 bytes per distinct key and word, and the same for four million more.
    """
    words = columns[0].keys.shape[1]
    coders = [_coder(column.grouping) for column in columns]
    keys, counts = np.empty((words, 0), dtype=np.uint64), np.empty(0, dtype=np.int64)
    waiting: list[np.ndarray] = []
    for found in in_order(lambda chunk: [_row_keys(block, columns, coders) for block in _blocks(chunk)], chunks):
        waiting.extend(found)
        if sum(part.shape[1] for part in waiting) > _COMPACT_ROWS + counts.size:
            keys, counts = _merged(keys, counts, waiting)
            waiting = []
    return _merged(keys, counts, waiting)


def _row_keys(
    block: Codes, columns: Sequence[KeyedColumn], coders: Sequence[Callable[[np.ndarray], np.ndarray]]
) -> np.ndarray:
    """Return the keys of the rows that have one: ndarray of uint64, shape (words, rows)."""
    groups = [group(block[column.name]) for column, group in zip(columns, coders, strict=True)]
    is_inside = np.ones(len(groups[0]), dtype=bool)
    for column, each in zip(columns, groups, strict=True):
        is_inside &= each < len(column.keys)
    if not is_inside.all():
        groups = [each[is_inside] for each in groups]
    keys = np.zeros((columns[0].keys.shape[1], len(groups[0])), dtype=np.uint64)
    for column, each in zip(columns, groups, strict=True):
        for word in np.flatnonzero(column.keys.any(axis=0)):
            keys[word] |= column.keys[:, word][each]
    return keys


def _merged(keys: np.ndarray, counts: np.ndarray, waiting: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct keys with their counts, and keys of single rows, as distinct keys with their counts."""
    rows = np.concatenate(waiting, axis=1) if waiting else keys[:, :0]
    if len(rows) == 1 and not counts.size:
        found, totals = np.unique(rows[0], return_counts=True)
        return found[None, :], totals
    return keys_of_parts([(keys, counts), (rows, np.ones(rows.shape[1], dtype=np.int64))], len(keys))


def keys_of_parts(parts: Iterable[tuple[np.ndarray, np.ndarray]], words: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys of all parts and how many rows have each, as `count_keys`; parts in any order."""
    found = [(np.zeros((words, 0), np.uint64), np.zeros(0, np.int64)), *parts]
    keys = np.concatenate([part for part, _ in found], axis=1)
    counts = np.concatenate([part for _, part in found])
    order = np.lexsort(keys[::-1])
    keys, totals = keys[:, order], np.cumsum(counts[order])
    is_last = np.ones(len(totals), dtype=bool)
    is_last[:-1] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    return keys[:, is_last], np.diff(totals[is_last], prepend=0)


def _key(name: str, grouping: Grouping) -> tuple[object, ...]:
    """Return what makes two maps of a column the same, faster than comparing them as text."""
    shape = (grouping.kind, grouping.values, grouping.reserved, grouping.shift)
    return (name, *shape, grouping.cuts.tobytes(), grouping.table.tobytes())


def height(columns: Mapping[str, Sized]) -> int:
    """Return the number of rows of some columns, at least one."""
    return len(next(iter(columns.values())))


def _blocks(chunk: Codes, rows: int = _COUNT_ROWS) -> Iterator[Codes]:
    """Yield a chunk in blocks small enough for the processor's cache."""
    for start in range(0, height(chunk), rows):
        yield {name: codes[start : start + rows] for name, codes in chunk.items()}


def _joint(table: Table, groups: Sequence[np.ndarray]) -> np.ndarray:
    """Return the cell of each row in C order."""
    kind = np.min_scalar_type(-1 - math.prod(grouping.groups for _, grouping in table))
    cells = groups[0].astype(kind, copy=False)
    for (_, grouping), more in zip(table[1:], groups[1:], strict=True):
        cells = cells * kind.type(grouping.groups) + more
    return cells
