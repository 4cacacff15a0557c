"""What a condition on rows asks of a release: cells of a table."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.question import Statistic
from lapwing.model.bounds import fitting_cells
from lapwing.model.evidence import AskedTable
from lapwing.model.statistics.expressions import Condition, condition_of
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, identity, interval_grouping
from lapwing.schema.groupings.hierarchies import group_ends
from lapwing.schema.schemas import Schema

_MOST_CELLS: Final = 2**20  # that a condition may divide its columns in


def asked_cells(where: Condition, schema: Schema) -> AskedTable:
    """Return the cells that satisfy a condition; it cuts no group, and none holds invalid values."""
    condition = condition_of(where, schema)
    groupings = tuple(_uncut(name, schema.field(name).domain, condition) for name in condition.columns)
    cells = math.prod(grouping.groups for grouping in groupings)
    if cells > _MOST_CELLS:
        raise ParameterError(
            f"where divides its columns in {cells} cells, more than {_MOST_CELLS}; name fewer columns", code="LW507"
        )
    axes = np.meshgrid(*(group_ends(grouping)[0] for grouping in groupings), indexing="ij")
    codes = {name: axis.ravel() for name, axis in zip(condition.columns, axes, strict=True)}
    inside = (condition.values(codes) > 0).reshape(axes[0].shape) & fitting_cells(schema, condition.columns, groupings)
    if not inside.any():
        raise ParameterError("where is true for no row that fits the schema; ask for a wider condition", code="LW322")
    return AskedTable(condition.columns, groupings, inside, len(groupings))


def meeting(asked: AskedTable, where: Condition, schema: Schema) -> AskedTable:
    """Return the table of those rows that meet a condition, whose groups end where the condition does."""
    cells = asked_cells(where, schema)
    shown = [_split(schema, *each, cells) for each in zip(asked.columns, asked.groupings, strict=True)]
    own = dict(zip(cells.columns, cells.groupings, strict=True))
    others = [name for name in cells.columns if name not in asked.columns]
    columns, groupings = (*asked.columns, *others), (*shown, *(own[name] for name in others))
    return AskedTable(columns, groupings, _inside(cells, columns, groupings), len(others))


def _uncut(name: str, domain: Domain, statistic: Statistic) -> Grouping:
    """Return groups of a column's codes that the steps of a program do not tell apart."""
    steps = [step for step in statistic.program if step[0] in ("in", "number", "lookup") and step[1] == name]
    if all(step[0] == "in" for step in steps):
        edges = np.array([end for step in steps for end in step[2]], dtype=np.int64)
        return interval_grouping(domain, np.unique(edges[(edges > 0) & (edges < domain.values)]))
    if domain.values > _MOST_CELLS:
        raise ParameterError(
            f"where computes with column {name!r}, which has {domain.values} values; compare it with constants instead",
            code="LW507",
        )
    return identity(domain)


def _split(schema: Schema, name: str, grouping: Grouping, cells: AskedTable) -> Grouping:
    """Return the groups of a shown column, which also end where the condition on it does."""
    field = schema.field(name)
    if name not in cells.columns or field.is_categorical or grouping.regular == field.domain.values:
        return grouping
    asked = cells.groupings[cells.columns.index(name)]
    starts = np.union1d(grouping.pieces()[0], asked.pieces()[0])
    return interval_grouping(field.domain, starts[(starts > 0) & (starts < field.domain.values)])


def _inside(cells: AskedTable, columns: Sequence[str], groupings: Sequence[Grouping]) -> np.ndarray:
    """Return where the condition is true in a table whose groups it does not cut: ndarray of bool, of its shape."""
    places = [columns.index(name) for name in cells.columns]
    met = [asked.apply(group_ends(groupings[place])[0]) for asked, place in zip(cells.groupings, places, strict=True)]
    inside = cells.cells[np.ix_(*met)].transpose(np.argsort(places))
    shape = [grouping.groups if axis in places else 1 for axis, grouping in enumerate(groupings)]
    return np.broadcast_to(inside.reshape(shape), tuple(grouping.groups for grouping in groupings))
