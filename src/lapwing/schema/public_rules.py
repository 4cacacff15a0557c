"""Whether public tables and rules go together: no cell with a count may be one that rules leave empty."""

from collections.abc import Mapping
from typing import Final, Protocol

import numpy as np

from lapwing.errors import SchemaError
from lapwing.schema.groupings import Grouping
from lapwing.schema.public_cells import CodedTable, HasPublicTables, coded_tables
from lapwing.schema.rule_codes import RuledSchema, components
from lapwing.schema.rule_search import is_impossible

_MOST_CHECKED: Final = 2_000
"""Cells of one table that are looked at when a schema is read: each is a search."""


class _Schema(HasPublicTables, RuledSchema, Protocol):
    """A schema with public tables and rules."""


def cell_runs(coded: CodedTable, cell: int) -> dict[str, np.ndarray]:
    """Return the codes that one cell of a public table holds.

    Parameters
    ----------
    coded : CodedTable
    cell : int
        Its number; some combination lies in it.

    Returns
    -------
    dict of str to ndarray of int64, shape (runs, 2)
        Per column the runs of codes from start to stop - 1, increasing.
    """
    places = np.argwhere(coded.cell == cell)
    return {
        name: _runs_of(grouping, np.unique(own))
        for name, grouping, own in zip(coded.columns, coded.groupings, places.T, strict=True)
    }


def check_public_rules(schema: _Schema) -> None:
    """Refuse a public table that counts rows where the rules of the schema leave none.

    Parameters
    ----------
    schema : Schema
        Complete. Of a table with more than 2000 cells the first ones are looked at.

    Raises
    ------
    SchemaError
        Naming the table, the cell and the columns that the rules tie together.
    """
    if not schema.public_tables or not schema.coded_rules:
        return
    tied = components(schema.coded_rules)
    for coded in (*coded_tables(schema), *coded_tables(schema, "prior")):
        own = [component for component in tied if set(component) & set(coded.columns)]
        for cell in np.flatnonzero(coded.counts)[: _MOST_CHECKED if own else 0].tolist():
            _check_cell(schema, coded, cell, cell_runs(coded, cell), own)


def _check_cell(
    schema: _Schema, coded: CodedTable, cell: int, runs: Mapping[str, np.ndarray], tied: list[tuple[str, ...]]
) -> None:
    """Refuse a cell with a count that no row can lie in."""
    for component in tied:
        fixed = {name: each for name, each in runs.items() if name in component}
        if is_impossible(schema, fixed, component):
            raise SchemaError(
                f"{coded.table.name}: cell {cell + 1} counts {int(coded.counts[cell])} rows where the rules on "
                f"{', '.join(component)} leave none; correct the count, or the rules"
            )


def _runs_of(grouping: Grouping, groups: np.ndarray) -> np.ndarray:
    """Return the runs of codes of some groups."""
    starts, stops, own = grouping.pieces()
    kept = np.isin(own, groups)
    return np.stack([starts[kept], stops[kept]], axis=1)
