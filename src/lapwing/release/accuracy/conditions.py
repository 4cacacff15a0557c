"""A condition on rows as cells of a table whose groups it does not cut."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.question import Statistic
from lapwing.model.statistics.expressions import Stat, compiled
from lapwing.schema.conditions import wanted_runs
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, cut, identity
from lapwing.schema.schemas import Schema

Condition = Mapping[str, object] | Stat | str

MOST_CELLS: Final = 2**20
"""Most cells that a condition may divide its columns in."""


@dataclass(frozen=True, slots=True, eq=False)
class AskedCells:
    """Hold the cells of a table that a condition is true in.

    groupings: one per column; no group is cut by the condition; asked: bool, of the table's shape, never cells of
    misfits, which the model does not have.
    """

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    asked: np.ndarray


def asked_cells(where: Condition, schema: Schema) -> AskedCells:
    """Return the cells that a condition is true in.

    >>> from lapwing.schema.fields import Field
    >>> schema = Schema(fields=(Field(name="age", type="integer", minimum=0, maximum=120),))
    >>> asked_cells("age >= 65", schema).asked.tolist()
    [False, True, False]
    """
    found = _of_mapping(where, schema) if isinstance(where, Mapping) else _of_expression(where, schema)
    for axis, name in enumerate(found.columns):
        if not schema.field(name).domain.missing:
            np.moveaxis(found.asked, axis, 0)[-1] = False
    if not found.asked.any():
        raise ParameterError("where is true for no row that fits the schema; ask for a wider condition", code="LW322")
    return found


def _of_mapping(where: Mapping[str, object], schema: Schema) -> AskedCells:
    """Return the cells where each column is in its runs of codes."""
    modelled = {field.name: field for field in schema.columns}
    unknown = [name for name in where if name not in modelled]
    if unknown or not where:
        raise ParameterError(
            f"where must name one or more modelled columns, got {unknown or 'none'}; choose from {', '.join(modelled)}",
            code="LW330",
        )
    runs = {name: wanted_runs(modelled[name], value) for name, value in where.items()}
    groupings = tuple(_at_edges(modelled[name].domain, each.ravel()) for name, each in runs.items())
    _check_cells(groupings)
    asked = np.ones((), dtype=np.bool_)
    for grouping, each in zip(groupings, runs.values(), strict=True):
        inside = np.searchsorted(each.ravel(), _first_codes(grouping), side="right") % 2 == 1
        asked = np.logical_and.outer(asked, inside)
    return AskedCells(tuple(where), groupings, asked)


def _of_expression(where: Stat | str, schema: Schema) -> AskedCells:
    """Return the cells where a compiled condition is true."""
    statistic = compiled(where, schema)
    if not isinstance(statistic, Statistic) or statistic.bits:
        raise ParameterError(
            f"where must be a condition that is true or false, got {where!r}; compare it with a constant",
            code="LW320",
        )
    groupings = tuple(_uncut(name, schema.field(name).domain, statistic) for name in statistic.columns)
    _check_cells(groupings)
    axes = np.meshgrid(*(_first_codes(grouping) for grouping in groupings), indexing="ij")
    codes = {name: axis.ravel() for name, axis in zip(statistic.columns, axes, strict=True)}
    return AskedCells(statistic.columns, groupings, (statistic.values(codes) > 0).reshape(axes[0].shape))


def _uncut(name: str, domain: Domain, statistic: Statistic) -> Grouping:
    """Return groups of a column's codes that the steps of a program do not tell apart."""
    steps = [step for step in statistic.program if step[0] in ("in", "number", "lookup") and step[1] == name]
    if all(step[0] == "in" for step in steps):
        return _at_edges(domain, np.array([end for step in steps for end in step[2]], dtype=np.int64))
    if domain.values > MOST_CELLS:
        raise ParameterError(
            f"where computes with column {name!r}, which has {domain.values} values; compare it with constants instead",
            code="LW507",
        )
    return identity(domain)


def _at_edges(domain: Domain, edges: np.ndarray) -> Grouping:
    """Return the grouping of regular codes with groups that begin at the edges."""
    return cut(domain, np.unique(edges[(edges > 0) & (edges < domain.values)]))


def _first_codes(grouping: Grouping) -> np.ndarray:
    """Return a code of each group: ndarray of int64."""
    starts, _, group = grouping.pieces()
    _, first = np.unique(group, return_index=True)
    return np.asarray(starts[first], dtype=np.int64)


def _check_cells(groupings: tuple[Grouping, ...]) -> None:
    """Refuse conditions on too many cells."""
    cells = math.prod(grouping.groups for grouping in groupings)
    if cells > MOST_CELLS:
        raise ParameterError(
            f"where divides its columns in {cells} cells, more than {MOST_CELLS}; name fewer columns", code="LW507"
        )
