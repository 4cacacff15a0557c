"""Public tables on codes: which cell each combination of groups of codes belongs to."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from lapwing.errors import SchemaError
from lapwing.maths.runs import merge_runs
from lapwing.schema.conditions import Asker, Between, item_reader, reader
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import common_refinement
from lapwing.schema.public_tables.tables import Condition, PublicTable
from lapwing.schema.rules.codes import DependencyRule, RuledSchema, components
from lapwing.schema.rules.coding import parts_of
from lapwing.schema.rules.search import is_impossible
from lapwing.schema.scalars import quote
from lapwing.schema.values import label

MOST_COMBINATIONS: Final = 2**22
"""Combinations of groups of one public table: 32 MB."""


class HasPublicTables(RuledSchema, Protocol):
    """What is asked of a schema here, whose type lies above this file."""

    @property
    def columns(self) -> tuple[Field, ...]:
        """The modelled fields."""

    @property
    def public_tables(self) -> tuple[PublicTable, ...]:
        """The public tables."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """A public table on codes."""

    table: PublicTable
    groupings: tuple[Grouping, ...]  # per column; reserved codes are groups of their own
    cell: np.ndarray  # intp, shaped by the groups; -1 where no row can be
    counts: np.ndarray  # int64 (k,), of each cell

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table."""
        return self.table.columns

    def grouping_of(self, name: str) -> Grouping:
        """Return the groups of codes of one column."""
        return self.groupings[self.columns.index(name)]


def coded_table(table: PublicTable, fields: Sequence[Field]) -> CodedTable:
    """Return a public table on codes."""
    known = {field.name: field for field in fields}
    for name in table.columns:
        if name not in known:
            said = f"{quote(name)} is no modelled column of the schema; name one that is"
            raise SchemaError(f"{table.name}: {said}", code="LW219")
    own = [known[name] for name in table.columns]
    # By their text: 1 and True are equal, and ask for different things.
    asked = [{repr(cell[at]): cell[at] for cell in table.cells} for at in range(len(own))]
    parts = [
        parts_of(field, list(map(_reader(table, field), conditions.values())), joins=True)
        for field, conditions in zip(own, asked, strict=True)
    ]
    shape = tuple(part.grouping.groups for part in parts)
    if np.prod(np.array(shape, dtype=np.float64)) > MOST_COMBINATIONS:
        said = f"{table.name} tells more than 2**22 combinations apart; use wider cells or fewer columns"
        raise SchemaError(said, code="LW242")
    found = np.full(shape, -1, dtype=np.intp)
    groups = [dict(zip(conditions, part.groups, strict=True)) for conditions, part in zip(asked, parts, strict=True)]
    for number, cell in enumerate(table.cells):
        where = np.ix_(*(own_groups[repr(each)] for own_groups, each in zip(groups, cell[:-1], strict=True)))
        other = int(found[where].max())
        if other >= 0:
            said = f"the cells {other + 1} and {number + 1} overlap; make them disjoint, or join them"
            raise SchemaError(f"{table.name}: {said}", code="LW242")
        found[where] = number
    coded = CodedTable(table, tuple(part.grouping for part in parts), found, np.array(table.counts, dtype=np.int64))
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

    Cells of two tables are linked where one row can lie in both: counts of linked sets must sum to the same.
    """
    for one, two in itertools.combinations(coded_tables(schema), 2):
        _check_together(one, two)
    if schema.public_tables and schema.coded_rules:
        _check_rules(schema)


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
        groupings = [table.grouping_of(name) for table in (one, two)]
        groups = np.unique(common_refinement(groupings)[1], axis=1)
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


def _reader(table: PublicTable, field: Field) -> Callable[[Condition], np.ndarray]:
    """Return what turns a condition on a column into runs of codes; a text may mean a number or a range."""
    read, item_of = reader(field, Asker(f"{table.name}: a cell", SchemaError, "LW242"), "half open"), item_reader(field)
    first = (field.categories or (False,))[0] if field.is_categorical else field.minimum

    def of_item(item: object) -> np.ndarray:
        item = item_of(item) if isinstance(item, str) and item else item
        return read([Between(first, None) if item == Between(None, None) else item])

    def runs(condition: Condition) -> np.ndarray:
        found = np.concatenate(list(map(of_item, condition if isinstance(condition, tuple) else (condition,))))
        found = found[np.argsort(found[:, 0], kind="stable")]
        if (found[1:, 0] < found[:-1, 1]).any():
            said = f"a list of values of column {quote(field.name)} names some of them twice"
            raise SchemaError(f"{table.name}: {said}", code="LW242")
        return merge_runs(found.tolist())

    return runs


def _check_covered(coded: CodedTable, fields: Sequence[Field]) -> None:
    """Refuse cells that leave something out; a misfit is nothing that a synthetic row can be."""
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


# -- Whether public tables and rules go together: no cell with a count may be one that rules leave empty. A table that
# holds all columns of a functional dependency tells which value goes with which determinant.


_MOST_CHECKED: Final = 2_000
"""Cells of one table that are looked at when a schema is read: each is a search."""


def cell_runs(coded: CodedTable, cell: int) -> dict[str, np.ndarray]:
    """Return the runs of codes, from start to stop - 1, of each column that one cell of a public table holds."""
    found = {}
    for name, grouping, own in zip(coded.columns, coded.groupings, np.argwhere(coded.cell == cell).T, strict=True):
        starts, stops, groups = grouping.pieces()
        is_held = np.isin(groups, own)
        found[name] = np.stack([starts[is_held], stops[is_held]], axis=1)
    return found


def _check_rules(schema: HasPublicTables) -> None:
    """Refuse a public table that counts rows where the rules leave none; of many cells the first are looked at."""
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
    """Return which values of a determined column a public table leaves each determinant: bool, by groups of columns.

    A determinant's one value lies in every cell with a count that is of it alone.
    """
    shape, reached = _reached_pairs(coded, rule)
    values = shape[-1]
    found = np.zeros(shape, dtype=bool)
    found.reshape(-1)[reached[:, 1]] = True
    cell, pair = reached[_is_alone(coded, rule, reached, values)].T
    owner = pair // values
    holding = np.bincount(pair, minlength=found.size).reshape(-1, values)
    needed = np.bincount(np.unique(np.stack([cell, owner]), axis=1)[1], minlength=found.size // values)
    return np.asarray(found & (holding == needed[:, None]).reshape(shape))


def _reached_pairs(coded: CodedTable, rule: DependencyRule) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the groups of a dependency's columns, and each cell with a count with the places it reaches among them."""
    shape = tuple(coded.grouping_of(name).groups for name in rule.columns)
    is_counted = (coded.cell >= 0) & (coded.counts[coded.cell] > 0)
    where = dict(zip(coded.columns, np.nonzero(is_counted), strict=True))
    pair = np.ravel_multi_index([where[name] for name in rule.columns], shape)
    size = int(np.prod(shape))
    keys = np.unique(coded.cell[is_counted].astype(np.int64) * size + pair)
    return shape, np.stack(np.divmod(keys, size), axis=1)


def _is_alone(coded: CodedTable, rule: DependencyRule, reached: np.ndarray, values: int) -> np.ndarray:
    """Return which of the cells reached hold one determinant only, and not several that the table takes together."""
    shape = tuple(coded.grouping_of(name).groups for name in rule.of)
    owner = np.unravel_index(reached[:, 1] // values, shape)
    found = np.ones(len(reached), dtype=bool)
    for name, own in zip(rule.of, owner, strict=True):
        starts, stops, group = coded.grouping_of(name).pieces()
        found &= np.bincount(group, stops - starts)[own] == 1
    pairs = np.unique(np.stack([reached[:, 0], reached[:, 1] // values]), axis=1)
    return np.asarray(found & (np.bincount(pairs[0], minlength=coded.counts.size)[reached[:, 0]] == 1))


def _check_dependency(schema: HasPublicTables, coded: CodedTable, rule: DependencyRule) -> None:
    """Refuse a table that counts one determinant where it would need two values."""
    left = values_left(coded, rule)
    _, reached = _reached_pairs(coded, rule)
    owner = reached[:, 1] // left.shape[-1]
    lost = np.flatnonzero(~left.any(axis=-1).reshape(-1)[owner])
    if not lost.size:
        return
    place = np.unravel_index(owner[lost[0]], left.shape[:-1])
    named = ", ".join(
        f"{name} {quote(label(coded.grouping_of(name), schema.field(name), int(group)))}"
        for name, group in zip(rule.of, place, strict=True)
    )
    raise SchemaError(
        f"{coded.table.name}: cells with counts give {named} two values of {rule.column}, but rule "
        f"{rule.rule.text!r} leaves one; correct the counts, or the rule",
        code="LW243",
    )


def _check_cell(
    schema: HasPublicTables, coded: CodedTable, cell: int, runs: Mapping[str, np.ndarray], tied: list[tuple[str, ...]]
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
