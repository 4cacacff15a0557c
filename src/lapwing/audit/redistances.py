"""Distances of tables from public ones, found the slow way: row by row, cell by cell, in Python's own integers."""

from collections import Counter

import numpy as np

from lapwing.audit.held import Rows
from lapwing.release.table_distances import TableDistances


def remeasured(question: TableDistances, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise.

    Parameters
    ----------
    question : TableDistances
        With cells and expected counts.
    source : Rows
        The private rows.

    Returns
    -------
    ndarray of int64, shape (1,)
    """
    assert question.cells is not None
    assert question.expected is not None
    rows = [
        row
        for chunk in source.chunks()
        for row in zip(
            *(g.apply(chunk[name]).tolist() for name, g in zip(question.columns, question.groupings, strict=True)),
            strict=True,
        )
    ]
    distance = 0
    for table, listed, counts in zip(question.tables, question.cells, question.expected, strict=True):
        sizes = [question.groupings[place].groups for place in table]
        pairs = zip(listed.tolist(), counts.tolist(), strict=True)
        gaps = Counter({_cell(number, sizes): -count for number, count in pairs})
        for row in rows:
            gaps[tuple(row[place] for place in table)] += 2**question.bits
        distance += sum(map(abs, gaps.values()))
    return np.array([distance], dtype=np.int64)


def _cell(number: int, sizes: list[int]) -> tuple[int, ...]:
    """Return the group of each column in a cell."""
    groups: list[int] = []
    for size in reversed(sizes):
        number, group = divmod(number, size)
        groups.insert(0, group)
    return tuple(groups)
