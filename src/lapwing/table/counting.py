"""Count coded rows into contingency tables, many tables in one pass."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from lapwing.schema.groupings import Grouping

Table = tuple[tuple[str, Grouping], ...]
"""One contingency table: columns, each with the map from its codes to groups; () is the number of rows."""

Codes = dict[str, np.ndarray]
"""The codes of one chunk of rows, by column."""

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
    keys = [[_key(name, grouping) for name, grouping in table] for table in tables]
    counts = [np.zeros(math.prod(grouping.groups for _, grouping in table), dtype=np.int64) for table in tables]
    for block in _blocks(chunks):
        groups = {key: grouping.apply(block[name]) for key, (name, grouping) in wanted.items()}
        height = len(next(iter(block.values())))
        for table, total, parts in zip(tables, counts, keys, strict=True):
            if table:
                cells = _joint(table, [groups[key] for key in parts])
                _add_counts(total, cells)
            else:
                np.add(total, height, out=total)
    return counts


def _key(name: str, grouping: Grouping) -> tuple[object, ...]:
    """Return what makes two maps of a column the same, faster than comparing them as text."""
    shape = (grouping.kind, grouping.values, grouping.reserved, grouping.shift)
    return (name, *shape, grouping.cuts.tobytes(), grouping.table.tobytes())


def _blocks(chunks: Iterable[Codes]) -> Iterator[Codes]:
    """Yield chunks in blocks small enough for the processor's cache."""
    for chunk in chunks:
        height = len(next(iter(chunk.values())))
        for start in range(0, height, _COUNT_ROWS):
            yield {name: codes[start : start + _COUNT_ROWS] for name, codes in chunk.items()}


def _joint(table: Table, groups: Sequence[np.ndarray]) -> np.ndarray:
    """Return the cell of each row in C order."""
    cells = groups[0]
    for (_, grouping), more in zip(table[1:], groups[1:], strict=True):
        cells = cells * grouping.groups + more
    return cells


def _add_counts(total: np.ndarray, cells: np.ndarray) -> None:
    if len(total) < len(cells):
        total += np.bincount(cells, minlength=len(total))
    else:
        np.add.at(total, cells, 1)
