"""Public tables as tables that an adaptive mechanism knows without asking."""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from lapwing.engine.tables import Factor
from lapwing.mechanisms.steps.resolved_columns import ResolvedColumn
from lapwing.schema.public_cells import CodedTable, coded_tables
from lapwing.schema.schemas import Schema


def public_factors(columns: Sequence[ResolvedColumn], schema: Schema, total: float) -> list[Factor]:
    """Return the public tables of a schema whose cells the groups of the columns tell apart.

    Parameters
    ----------
    columns : sequence of ResolvedColumn
        All columns, refined by `lapwing.mechanisms.steps.hard_zeros.class_groupings`.
    schema : Schema
        Of the release.
    total : float
        Number of records, positive; counts are scaled to it.

    Returns
    -------
    list of Factor
        Without noise, or with the standard deviation that a prior states. Combinations of groups that share a cell
        share its count as independent columns would.
    """
    places = {column.name: place for place, column in enumerate(columns)}
    tables = (*coded_tables(schema), *coded_tables(schema, "prior"))
    told = [
        each
        for each in tables
        if all(
            grouping in columns[places[name]].classes
            for name, grouping in zip(each.columns, each.groupings, strict=True)
        )
    ]
    return [_factor(each, columns, places, total) for each in told]


def _factor(coded: CodedTable, columns: Sequence[ResolvedColumn], places: dict[str, int], total: float) -> Factor:
    """Return one public table as a factor."""
    order = sorted(range(len(coded.columns)), key=lambda at: places[coded.columns[at]])
    chosen = [columns[places[coded.columns[at]]] for at in order]
    levels = [column.level_of(coded.groupings[at]) for column, at in zip(chosen, order, strict=True)]
    shape = tuple(column.axis.sizes[level] for column, level in zip(chosen, levels, strict=True))
    cell = np.transpose(coded.cell, order)[tuple(slice(size) for size in shape)].reshape(-1)
    masses = [
        np.bincount(column.axis.levels[level], column.axis.base, size)
        for column, level, size in zip(chosen, levels, shape, strict=True)
    ]
    product = reduce(np.multiply.outer, masses).reshape(-1)
    shared = np.bincount(cell + 1, product, coded.counts.size + 1)  # 0: where no row can be
    scale = total / max(1, int(coded.counts.sum()))
    counts = np.concatenate(([0], coded.counts)) * scale
    return Factor(
        table=tuple((places[column.name], level) for column, level in zip(chosen, levels, strict=True)),
        target=counts[cell + 1] * product / shared[cell + 1],
        ridge=(coded.table.sd or 0.0) * scale,
        theta=np.zeros(math.prod(shape)),
    )
