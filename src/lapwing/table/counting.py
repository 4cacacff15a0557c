"""Count coded rows into contingency tables, many tables in one pass."""

import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.schema.groupings import Grouping
from lapwing.table.threads import each_done, in_order

Table = tuple[tuple[str, Grouping], ...]
"""One contingency table: columns, each with the map from its codes to groups; () is the number of rows."""

Codes = dict[str, np.ndarray]
"""The codes of one chunk of rows, by column."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyedColumn:
    """A column seen through a grouping, and what each of its groups adds to the key of a row.

    Parameters
    ----------
    name : str
    grouping : Grouping
    keys : ndarray of uint64, shape (covered, words)
        Of the first `covered` groups; a row with a later one has no key. No two columns use the same bit.
    """

    name: str
    grouping: Grouping
    keys: np.ndarray


_COMPACT_ROWS: Final = 2**22  # keys that wait to be merged with those before
_COUNT_ROWS: Final = 2**16  # rows counted at a time: their groups stay in the processor's cache


def count_tables(chunks: Iterable[Codes], tables: Sequence[Table]) -> list[np.ndarray]:
    """Return the contingency tables of coded rows; each grouping of a column is applied once per block of rows.

    Parameters
    ----------
    chunks : iterable of dict of str to ndarray
        The rows.
    tables : sequence of tuple of (str, Grouping)
        As for `CodedSource.count`.

    Returns
    -------
    list of ndarray of int64, shape (cells,)
    """
    wanted: dict[tuple[object, ...], tuple[str, Grouping]] = {}
    for table in tables:
        wanted.update({_key(name, grouping): (name, grouping) for name, grouping in table})
    totals = [_Total(table) for table in tables]

    def add(chunk: Codes) -> None:
        for block in _blocks(chunk):
            groups = {key: _narrow(grouping, block[name]) for key, (name, grouping) in wanted.items()}
            height = len(next(iter(block.values())))
            for total in totals:
                total.add(groups, height)

    each_done(add, chunks)
    return [total.counts for total in totals]


class _Total:
    """One table and its counts so far, to which several threads add."""

    __slots__ = ("_keys", "_lock", "_table", "counts")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._keys = [_key(name, grouping) for name, grouping in table]
        self._lock = threading.Lock()
        self.counts = np.zeros(math.prod(grouping.groups for _, grouping in table), dtype=np.int64)

    def add(self, groups: Mapping[tuple[object, ...], np.ndarray], height: int) -> None:
        """Add a block of rows, given as the group of each row by column and grouping."""
        if not self._table:
            with self._lock:
                self.counts += height
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
    """Return the distinct keys of coded rows, and how many rows have each.

    Parameters
    ----------
    chunks : iterable of dict of str to ndarray
        The rows.
    columns : sequence of KeyedColumn
        At least one; all with the same number of words.

    Returns
    -------
    keys : ndarray of uint64, shape (words, k)
        Distinct, increasing; the first word counts most.
    counts : ndarray of int64, shape (k,)

    Notes
    -----
    Time ``O(n d)`` and a sort; memory 8 bytes per distinct key and word, and the same for four million more.
    """
    words = columns[0].keys.shape[1]
    keys, counts = np.empty((words, 0), dtype=np.uint64), np.empty(0, dtype=np.int64)
    waiting: list[np.ndarray] = []
    for found in in_order(lambda chunk: [_row_keys(block, columns) for block in _blocks(chunk)], chunks):
        waiting.extend(found)
        if sum(part.shape[1] for part in waiting) > _COMPACT_ROWS + counts.size:
            keys, counts = _merged(keys, counts, waiting)
            waiting = []
    return _merged(keys, counts, waiting)


def _row_keys(block: Codes, columns: Sequence[KeyedColumn]) -> np.ndarray:
    """Return the keys of the rows that have one: ndarray of uint64, shape (words, rows)."""
    groups = [column.grouping.apply(block[column.name]) for column in columns]
    is_inside = np.ones(len(groups[0]), dtype=bool)
    for column, each in zip(columns, groups, strict=True):
        is_inside &= each < len(column.keys)
    if not is_inside.all():
        groups = [each[is_inside] for each in groups]
    keys = np.zeros((columns[0].keys.shape[1], len(groups[0])), dtype=np.uint64)
    for column, each in zip(columns, groups, strict=True):
        for word in range(len(keys)):
            keys[word] |= column.keys[:, word][each]
    return keys


def _merged(keys: np.ndarray, counts: np.ndarray, waiting: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct keys with their counts, and keys of single rows, as distinct keys with their counts."""
    rows = np.concatenate(waiting, axis=1) if waiting else keys[:, :0]
    if len(rows) == 1 and not counts.size:
        every = np.sort(rows)
        totals = np.arange(1, every.shape[1] + 1)
    else:
        every = np.concatenate((keys, rows), axis=1)
        order = np.lexsort(every[::-1])
        every = every[:, order]
        totals = np.cumsum(np.concatenate((counts, np.ones(rows.shape[1], dtype=np.int64)))[order])
    is_last = np.ones(every.shape[1], dtype=bool)
    is_last[:-1] = (every[:, 1:] != every[:, :-1]).any(axis=0)
    return every[:, is_last], np.diff(totals[is_last], prepend=0)


def _key(name: str, grouping: Grouping) -> tuple[object, ...]:
    """Return what makes two maps of a column the same, faster than comparing them as text."""
    shape = (grouping.kind, grouping.values, grouping.reserved, grouping.shift)
    return (name, *shape, grouping.cuts.tobytes(), grouping.table.tobytes())


def _blocks(chunk: Codes) -> Iterator[Codes]:
    """Yield a chunk in blocks small enough for the processor's cache."""
    height = len(next(iter(chunk.values())))
    for start in range(0, height, _COUNT_ROWS):
        yield {name: codes[start : start + _COUNT_ROWS] for name, codes in chunk.items()}


def _narrow(grouping: Grouping, codes: np.ndarray) -> np.ndarray:
    """Return the group of each code in few bytes, so that more rows stay in the processor's cache."""
    return grouping.apply(codes).astype(np.min_scalar_type(-1 - grouping.groups))


def _joint(table: Table, groups: Sequence[np.ndarray]) -> np.ndarray:
    """Return the cell of each row in C order."""
    kind = np.min_scalar_type(-1 - math.prod(grouping.groups for _, grouping in table))
    cells = groups[0].astype(kind, copy=False)
    for (_, grouping), more in zip(table[1:], groups[1:], strict=True):
        cells = cells * kind.type(grouping.groups) + more
    return cells
