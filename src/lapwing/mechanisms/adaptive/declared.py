"""Rules of a schema as hard zeros of an adaptive mechanism's model: public, whatever the rows are."""

import math
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from lapwing.engine.hard_zeros import HardZeros, alive_cells, hard_factor
from lapwing.engine.tables import Cells, Factor, table_shape
from lapwing.mechanisms.adaptive.columns import ResolvedColumn
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import group_ends, told_apart
from lapwing.schema.public_tables.cells import CodedTable, coded_tables
from lapwing.schema.rules.codes import CombinationRule, ComparisonRule, DependencyRule, components
from lapwing.schema.schemas import Schema

MOST_CLASSES = 64
"""Most groups of regular values that the rules of one column may tell apart together; rules beyond are left to the
drawing of rows."""

MOST_TABLE = 2**18  # most cells of the table of a rule; larger ones are left to the drawing of rows


def modelled_rules(schema: Schema) -> tuple[CombinationRule | ComparisonRule, ...]:
    """Return the rules that groups can tell, few enough of them: a function of the schema alone."""
    found: list[CombinationRule | ComparisonRule] = []
    told: dict[str, list[Grouping]] = {}
    for rule in schema.coded_rules:
        # Within one column, drawing a value again until it keeps the rule gives the same law.
        if isinstance(rule, DependencyRule) or len(rule.columns) == 1:
            continue
        if isinstance(rule, CombinationRule):
            wider = {
                name: [*told.get(name, []), grouping]
                for name, grouping in zip(rule.columns, rule.groupings, strict=True)
            }
            if rule.alive.size > MOST_TABLE or any(_classes(each) > MOST_CLASSES for each in wider.values()):
                continue
            told |= wider
        found.append(rule)
    return tuple(found)


def class_groupings(schema: Schema) -> Mapping[str, tuple[Grouping, ...]]:
    """Return for each column that a rule or a public table names the maps which its groups must refine."""
    found: dict[str, dict[Grouping, None]] = {}
    for rule in modelled_rules(schema):
        if isinstance(rule, CombinationRule):
            for name, grouping in zip(rule.columns, rule.groupings, strict=True):
                found.setdefault(name, {})[grouping] = None
    for table in (*coded_tables(schema), *coded_tables(schema, "prior")):
        pairs = list(zip(table.columns, table.groupings, strict=True))
        if table.cell.size <= MOST_TABLE and all(
            _classes([*found.get(name, {}), grouping]) <= MOST_CLASSES for name, grouping in pairs
        ):
            for name, grouping in pairs:
                found.setdefault(name, {})[grouping] = None
    return {name: tuple(each) for name, each in found.items()}


def hard_zeros(schema: Schema, columns: Sequence[ResolvedColumn]) -> HardZeros | None:
    """Return the cells of a model's groups that rules leave empty; None where there are none.

    Returns pairs of columns at their finest groups, all rules on a pair in one table; wider rules at the classes that
    they tell apart. A comparison leaves a cell empty where no codes of its groups keep it.
    """
    rules = modelled_rules(schema)
    if not rules:
        return None
    places = {column.name: place for place, column in enumerate(columns)}
    axes = tuple(column.axis for column in columns)
    factors = [factor for rule in rules if (factor := _factor(rule, columns, places)) is not None]
    orders = tuple(tuple(places[name] for name in order) for order in components(rules))
    single = HardZeros(axes, tuple(factors), orders)
    merged: dict[Cells, Factor] = {}
    for factor in factors:
        table = tuple((column, 0) for column, _ in factor.table) if len(factor.table) == 2 else factor.table
        alive = alive_cells(single, table)
        if alive is not None:
            merged[table] = hard_factor(table, alive)
    return HardZeros(axes, tuple(merged.values()), orders) if merged else None


def _classes(groupings: Sequence[Grouping]) -> int:
    """Return how many groups of regular codes some maps tell apart together."""
    starts, kinds = told_apart(groupings)
    return int(np.unique(kinds[:, starts < groupings[0].values], axis=1).shape[1])


def _factor(
    rule: CombinationRule | ComparisonRule, columns: Sequence[ResolvedColumn], places: Mapping[str, int]
) -> Factor | None:
    """Return a rule on the groups of a model; None where its table would be too large."""
    order = sorted(range(len(rule.columns)), key=lambda at: places[rule.columns[at]])
    chosen = [columns[places[rule.columns[at]]] for at in order]
    if isinstance(rule, CombinationRule):
        levels = [column.level_of(rule.groupings[at]) for column, at in zip(chosen, order, strict=True)]
        alive = np.transpose(rule.alive, order)
    else:
        levels = [0] * len(order)
        if math.prod(column.axis.base.size for column in chosen) > MOST_TABLE:
            return None
        alive = _possible(rule, chosen)
    table = tuple((places[column.name], level) for column, level in zip(chosen, levels, strict=True))
    shape = table_shape([column.axis for column in columns], table)
    return hard_factor(table, alive[tuple(slice(size) for size in shape)])


def _possible(rule: ComparisonRule, columns: Sequence[ResolvedColumn]) -> np.ndarray:
    """Return for each combination of finest groups whether some of their codes keep a comparison."""
    shape = tuple(column.axis.base.size for column in columns)
    groups = np.unravel_index(np.arange(math.prod(shape)), shape)
    boxes = {}
    for column, group in zip(columns, groups, strict=True):
        low, high = group_ends(column.groupings[0])
        boxes[column.name] = (low[group], high[group])
    return np.asarray(rule.possible(boxes)).reshape(shape)


# -- Public tables as tables that an adaptive mechanism knows without asking.


def public_factors(columns: Sequence[ResolvedColumn], schema: Schema, total: float) -> list[Factor]:
    """Return the public tables of a schema whose cells the groups of the columns tell apart.

    total: number of records, positive; counts are scaled to it. Returns without noise, or with the standard deviation
    that a prior states. Combinations of groups that share a cell share its count as independent columns would.
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
    return [_public_factor(each, columns, places, total) for each in told]


def _public_factor(
    coded: CodedTable, columns: Sequence[ResolvedColumn], places: dict[str, int], total: float
) -> Factor:
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
        # Where no group of a cell has mass, the model has no row to pull there.
        target=np.divide(counts[cell + 1] * product, shared[cell + 1], out=np.zeros(product.size), where=product > 0),
        ridge=(coded.table.sd or 0.0) * scale,
        theta=np.zeros(math.prod(shape)),
    )
