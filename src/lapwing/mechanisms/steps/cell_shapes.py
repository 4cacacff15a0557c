"""How a schema's columns are cut into a tree of cells, and what its questions cost; from public numbers only."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from lapwing.budget.budget import Budget
from lapwing.errors import CapacityError
from lapwing.mechanisms.steps.tree_shapes import longest_edges
from lapwing.release.cells import MAX_DEPTH, CellTree
from lapwing.schema.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

MAX_RUN_LEVELS: Final = 20
"""A column is cut into about 2**20 runs at most: its cuts are listed one by one."""


def halved_cells(schema: Schema, fine: float, coarse: float) -> CellTree:
    """Return the tree that halves the columns in turn until no edge is longer than `fine`.

    Parameters
    ----------
    schema : Schema
        With at least one modelled column.
    fine : float
        Above 0: a column is cut while its longest run is longer, each column having length 1.
    coarse : float
        At least `fine`: all cells exist down to the first level on which no edge is longer.

    Returns
    -------
    CellTree
        Without split cells. On each level the column that was cut least often, of those that are still too long.

    Raises
    ------
    CapacityError
        If a column would be cut into more than ``2**20`` runs.

    Notes
    -----
    Algorithm 2 of Kreačić et al. cuts axis (depth mod d); so does this while all columns are cut equally often. Boxes
    that are no cubes: the longest edge of each depth is public. Missing and special values are the first cut of their
    column; cells of a column without order have edge 1 until each category is alone.

    Examples
    --------
    >>> schema = Schema.from_dict({"fields": [
    ...     {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}},
    ...     {"name": "kind", "type": "string", "categories": ["a", "b"], "constraints": {"required": True}}]})
    >>> tree = halved_cells(schema, 0.2, 0.5)
    >>> tree.schedule, tree.first, tree.cells
    ((0, 1, 0, 0), 2, 4)
    """
    edges = [longest_edges(column.domain) for column in schema.columns]
    depths = [_needed(each, fine) for each in edges]
    for column, depth in zip(schema.columns, depths, strict=True):
        if depth > MAX_RUN_LEVELS:
            raise CapacityError(
                f"column {column.name!r} would be cut {depth} times to reach an edge of {fine:g}, above "
                f"{MAX_RUN_LEVELS}; use a longer edge",
                code="LW503",
            )
    if sum(depths) > MAX_DEPTH:
        raise CapacityError(
            f"a tree over {len(depths)} columns would have {sum(depths)} levels, above {MAX_DEPTH}; use a longer edge",
            code="LW503",
        )
    turns = sorted((turn, place) for place, depth in enumerate(depths) for turn in range(depth))
    schedule = [place for _, place in turns]
    return CellTree(
        columns=tuple(column.name for column in schema.columns),
        hierarchies=tuple(
            hierarchy(column.domain, depth) for column, depth in zip(schema.columns, depths, strict=True)
        ),
        schedule=tuple(schedule),
        first=_first(edges, schedule, coarse),
    )


def _needed(edges: Sequence[float], longest: float) -> int:
    """Return how many levels of a column's hierarchy bring its runs down to a length, or all that it has."""
    return next((depth for depth, edge in enumerate(edges) if edge <= longest), len(edges) - 1)


def _first(edges: Sequence[Sequence[float]], schedule: Sequence[int], coarse: float) -> int:
    """Return the first level on which no edge is longer than `coarse`, or the last one."""
    depths = [0] * len(edges)
    for level, place in enumerate((*schedule, None)):
        if place is None or all(each[depth] <= coarse for each, depth in zip(edges, depths, strict=True)):
            return level
        depths[place] += 1
    raise AssertionError("the last level always ends the search")


def epsilon_of(budget: Budget) -> Fraction:
    """Return the pure ε that a budget buys: itself, or ``sqrt(2 ρ)`` rounded down to six digits.

    Examples
    --------
    >>> epsilon_of(Budget.zcdp("0.125")), epsilon_of(Budget.zcdp("0.5") * Fraction(49, 50))
    (Fraction(1, 2), Fraction(989949, 1000000))
    """
    if budget.notion == "pure":
        return budget.epsilon
    digits = 6 - math.ceil(math.log10(2 * budget.rho) / 2)
    scaled = 2 * budget.rho * Fraction(100) ** digits
    return Fraction(math.isqrt(math.floor(scaled)), 1) / Fraction(10) ** digits
