"""Whether public tables and rules go together: no cell with a count may be one that rules leave empty.

A table that holds all columns of a functional dependency tells which value goes with which determinant.
"""

from collections.abc import Mapping
from typing import Final, Protocol

import numpy as np

from lapwing.errors import SchemaError
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.public_tables.cells import CodedTable, HasPublicTables, coded_tables
from lapwing.schema.rules.codes import DependencyRule, RuledSchema, components
from lapwing.schema.rules.search import is_impossible
from lapwing.schema.scalars import quote
from lapwing.schema.values import label

_MOST_CHECKED: Final = 2_000
"""Cells of one table that are looked at when a schema is read: each is a search."""


class _Schema(HasPublicTables, RuledSchema, Protocol):
    """A schema with public tables and rules."""


def cell_runs(coded: CodedTable, cell: int) -> dict[str, np.ndarray]:
    """Return the codes that one cell of a public table holds.

    Returns dict of str to int64 (runs, 2), per column the runs of codes from start to stop - 1, increasing.
    """
    places = np.argwhere(coded.cell == cell)
    return {
        name: _runs_of(grouping, np.unique(own))
        for name, grouping, own in zip(coded.columns, coded.groupings, places.T, strict=True)
    }


def check_public_rules(schema: _Schema) -> None:
    """Refuse a public table that counts rows where the rules of the schema leave none.

    schema: complete. Of a table with more than 2000 cells the first ones are looked at.
    """
    if not schema.public_tables or not schema.coded_rules:
        return
    tied = components(schema.coded_rules)
    for coded in (*coded_tables(schema), *coded_tables(schema, "prior")):
        own = [component for component in tied if set(component) & set(coded.columns)]
        for cell in np.flatnonzero(coded.counts)[: _MOST_CHECKED if own else 0].tolist():
            _check_cell(schema, coded, cell, cell_runs(coded, cell), own)
    for coded in coded_tables(schema):
        for rule in schema.coded_rules:
            if isinstance(rule, DependencyRule) and set(rule.columns) <= set(coded.columns):
                _check_dependency(schema, coded, rule)


def values_left(coded: CodedTable, rule: DependencyRule) -> np.ndarray:
    """Return which values of a determined column a public table leaves each determinant.

    Returns bool, shaped by the groups of the columns of the rule, groups of values with a count. What the table says of
    one determinant alone must hold for its one value: that lies in every such cell with a count. False throughout where
    there is nobody, or no such value.
    """
    shape, reached = _reached(coded, rule)
    values = shape[-1]
    found = np.zeros(shape, dtype=bool)
    found.reshape(-1)[reached[:, 1]] = True
    cell, pair = reached[_is_alone(coded, rule, reached, values)].T
    owner = pair // values
    holding = np.bincount(pair, minlength=found.size).reshape(-1, values)
    needed = np.bincount(np.unique(np.stack([cell, owner]), axis=1)[1], minlength=found.size // values)
    return np.asarray(found & (holding == needed[:, None]).reshape(shape))


def _reached(coded: CodedTable, rule: DependencyRule) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the numbers of groups of a dependency's columns, and each cell with a count with what it reaches of them.

    The second part is an ndarray of int64, shape (k, 2): a cell, and the place in an array of the first part's shape.
    """
    shape = tuple(coded.groupings[coded.columns.index(name)].groups for name in rule.columns)
    is_counted = (coded.cell >= 0) & (coded.counts[coded.cell] > 0)
    where = dict(zip(coded.columns, np.nonzero(is_counted), strict=True))
    pair = np.ravel_multi_index([where[name] for name in rule.columns], shape)
    size = int(np.prod(shape))
    keys = np.unique(coded.cell[is_counted].astype(np.int64) * size + pair)
    return shape, np.stack(np.divmod(keys, size), axis=1)


def _is_alone(coded: CodedTable, rule: DependencyRule, reached: np.ndarray, values: int) -> np.ndarray:
    """Return which of the cells reached hold one determinant only, and not several that the table takes together."""
    shape = tuple(coded.groupings[coded.columns.index(name)].groups for name in rule.of)
    owner = np.unravel_index(reached[:, 1] // values, shape)
    found = np.ones(len(reached), dtype=bool)
    for name, own in zip(rule.of, owner, strict=True):
        starts, stops, group = coded.groupings[coded.columns.index(name)].pieces()
        found &= np.bincount(group, stops - starts)[own] == 1
    pairs = np.unique(np.stack([reached[:, 0], reached[:, 1] // values]), axis=1)
    return np.asarray(found & (np.bincount(pairs[0], minlength=coded.counts.size)[reached[:, 0]] == 1))


def _check_dependency(schema: _Schema, coded: CodedTable, rule: DependencyRule) -> None:
    """Refuse a table that counts one determinant where it would need two values."""
    left = values_left(coded, rule)
    _, reached = _reached(coded, rule)
    owner = reached[:, 1] // left.shape[-1]
    lost = np.flatnonzero(~left.any(axis=-1).reshape(-1)[owner])
    if not lost.size:
        return
    place = np.unravel_index(owner[lost[0]], left.shape[:-1])
    named = ", ".join(
        f"{name} {quote(label(coded.groupings[coded.columns.index(name)], schema.field(name), int(group)))}"
        for name, group in zip(rule.of, place, strict=True)
    )
    raise SchemaError(
        f"{coded.table.name}: cells with counts give {named} two values of {rule.column}, but rule "
        f"{rule.rule.text!r} leaves one; correct the counts, or the rule",
        code="LW243",
    )


def _check_cell(
    schema: _Schema, coded: CodedTable, cell: int, runs: Mapping[str, np.ndarray], tied: list[tuple[str, ...]]
) -> None:
    """Refuse a cell with a count that no row can lie in."""
    for component in tied:
        fixed = {name: each for name, each in runs.items() if name in component}
        if is_impossible(schema, fixed, component):
            raise SchemaError(
                f"{coded.table.name}: cell {cell + 1} counts {int(coded.counts[cell])} rows where the rules on "
                f"{', '.join(component)} leave none; correct the count, or the rules",
                code="LW243",
            )


def _runs_of(grouping: Grouping, groups: np.ndarray) -> np.ndarray:
    """Return the runs of codes of some groups."""
    starts, stops, own = grouping.pieces()
    kept = np.isin(own, groups)
    return np.stack([starts[kept], stops[kept]], axis=1)
