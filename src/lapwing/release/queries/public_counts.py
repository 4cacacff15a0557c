"""Counts of a queried table that the public tables of the schema determine."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import told_apart
from lapwing.schema.public_tables.cells import CodedTable, coded_tables
from lapwing.schema.schemas import Schema

_MOST_COMBINATIONS: Final = 2**22


def public_counts(
    schema: Schema, columns: Sequence[str], groupings: Sequence[Grouping]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of a table that follow from exact public tables.

    schema: with its public tables; priors are of another population and are not looked at. Returns counts: int64, of
    the table's shape, in rows of the public tables; 0 where none determines them; known: bool, of the table's shape,
    where one public table has all columns, and each of its cells that counts anybody and meets the cell lies inside it.
    Tables that tell more than 2**22 combinations apart are passed over.
    """
    shape = tuple(grouping.groups for grouping in groupings)
    counts, known = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
    for table in coded_tables(schema):
        pairs = None if not set(columns) <= set(table.columns) else _met(table, columns, groupings)
        if pairs is None:
            continue
        asked, cell = pairs
        is_cut = np.bincount(cell, minlength=table.counts.size) > 1
        spoiled = np.bincount(asked[is_cut[cell]], minlength=counts.size) > 0
        sums = np.zeros(counts.size, dtype=np.int64)
        np.add.at(sums, asked, table.counts[cell])
        new = ~spoiled.reshape(shape) & ~known
        counts[new] = sums.reshape(shape)[new]
        known |= new
    return counts, known


def _met(
    table: CodedTable, columns: Sequence[str], groupings: Sequence[Grouping]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return which asked cell meets which cell with a count, each pair once; None where there are too many to see."""
    wanted = dict(zip(columns, groupings, strict=True))
    asked_shape = tuple(grouping.groups for grouping in groupings)
    axes = [_axis(own, wanted.get(name)) for name, own in zip(table.columns, table.groupings, strict=True)]
    if np.prod([float(axis.shape[1]) for axis in axes]) > _MOST_COMBINATIONS:
        return None
    grids = np.meshgrid(*(np.arange(axis.shape[1]) for axis in axes), indexing="ij")
    cell = table.cell[tuple(axis[0][grid] for axis, grid in zip(axes, grids, strict=True))]
    by_name = {name: axis[1][grid] for name, axis, grid in zip(table.columns, axes, grids, strict=True)}
    asked = np.ravel_multi_index(tuple(by_name[name] for name in columns), asked_shape)
    counts_any = (cell >= 0) & (table.counts[np.maximum(cell, 0)] > 0)
    pairs = np.unique(np.stack([asked[counts_any], cell[counts_any]]), axis=1)
    return pairs[0], pairs[1]


def _axis(own: Grouping, asked: Grouping | None) -> np.ndarray:
    """Return which groups of a table's column meet which asked groups: (2, pairs); one group 0 where none is asked."""
    if asked is None:
        return np.stack([np.arange(own.groups), np.zeros(own.groups, dtype=np.int64)])
    return np.asarray(np.unique(told_apart([own, asked])[1], axis=1))
