"""What is proved about a tree of cells once it is released: the noise on its leaves is fresh."""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.mechanisms.shared.trees.cell_levels import TreeLevel, tree_levels
from lapwing.mechanisms.shared.trees.flows import CutColumn, Floats, Sides, is_line, metric_of
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.mechanisms.shared.trees.stated import CountedTree, stated_distance
from lapwing.mechanisms.shared.trees.trees import AxisSplit
from lapwing.mechanisms.trees.kd_tree.cells import MOST_UNIFORM
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.schema.schemas import Schema

MOST_LISTED: Final = 2**22
"""Cells of all levels together, beyond which no distance is stated: their list would take a gigabyte."""


def leaf_statements(
    noisy: NoisyCells,
    weights: Floats,
    model: ReleasedModel,
    schema: Schema,
    *,
    placement: Placement | None,
    rng: np.random.Generator,
) -> tuple[Statement, ...]:
    """State how far a released model is from the table, where all leaves were counted.

    weights: float64, of the leaves in the answer's order, from which the model was made.

    Which cells are split was decided before the leaves were counted, with noise of its own. Given the released tree,
    the noise on the leaves is fresh, so that what `stated_distance` states of a tree of public cells holds of this one.
    """
    columns = noisy.question.columns
    if np.count_nonzero(weights > 0) != model.atoms or not weights.any():
        return (Statement("distance_unknown", 1.0, {"columns": columns}),)
    counted = counted_leaves(noisy, schema)
    if counted is None:
        return ()
    tree, places = counted
    if placement is None:  # then some edges may hold their rows in the middle
        placement = "uniform" if len(schema.columns) <= MOST_UNIFORM else "centre"
    distance = stated_distance(tree, weights[places] / weights.sum(), placement, rng)
    return (Statement("distance", distance, {"columns": columns}),)


def counted_leaves(noisy: NoisyCells, schema: Schema) -> tuple[CountedTree, np.ndarray] | None:
    """Return a tree of cells with the noisy counts of all its leaves; None where its levels hold too many cells.

    Each level covers the table: a leaf goes on to the next one as it is. With it the place in the answer of each cell
    of the deepest level, int64 (k,).
    """
    tree = noisy.question.tree
    levels, runs, order = tree_levels(tree)
    domains = [schema.field(name).domain for name in tree.columns]
    columns = [CutColumn(*each, is_line(each[1])) for each in zip(tree.hierarchies, domains, strict=True)]
    # Of each cell: the level on which it was made, and its place among that level's cells.
    made, place, splits = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), []
    sides, listed = [_sides(tree, columns, runs, made, place)], 1
    for level, (above, below) in enumerate(itertools.pairwise(levels), start=1):
        parent, child = _next(above, below, np.where(made == level - 1, place, -1))
        is_new = child >= 0
        made, place = np.where(is_new, level, made[parent]), np.where(is_new, child, place[parent])
        listed += place.size
        if listed > MOST_LISTED:
            return None
        splits.append(AxisSplit(0, parent))
        sides.append(_sides(tree, columns, runs, made, place))
    leaves = _by_level([np.cumsum(each.is_leaf) - 1 for each in levels], made, place)
    answered = order[leaves + np.cumsum([0, *(int(each.is_leaf.sum()) for each in levels)])[made]]
    counted = CountedTree(
        levels=(*(None for _ in splits), noisy.counts[answered]),
        kind=noisy.noise.kind,
        parameters=(*(math.inf for _ in splits), float(noisy.noise.parameter)),
        metric=metric_of(columns, splits, tree.schedule, sides),
    )
    return counted, answered


def _next(above: TreeLevel, below: TreeLevel, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parent of each cell of the next level that covers the table, and its place there, -1 for old ones.

    place: of the cells above, on their level; -1 where they were leaves before.
    """
    by_parent = np.argsort(below.parents, kind="stable")
    children = np.bincount(below.parents, minlength=above.is_leaf.size)
    is_open = (place >= 0) & ~above.is_leaf[place]
    parent = np.repeat(np.arange(place.size), np.where(is_open, children[place], 1))
    nth = np.arange(parent.size) - np.searchsorted(parent, parent)
    firsts = np.cumsum(children) - children
    child = np.full(parent.size, -1)
    is_new = is_open[parent]
    child[is_new] = by_parent[(firsts[place[parent]] + nth)[is_new]]
    return parent, child


def _by_level(values: Sequence[np.ndarray], made: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return what stands at the place of each cell among the values of its level."""
    found = np.empty(place.size, dtype=values[0].dtype)
    for level in np.unique(made).tolist():
        here = made == level
        found[here] = values[level][place[here]]
    return found


def _sides(
    tree: CellTree, columns: Sequence[CutColumn], runs: Sequence[np.ndarray], made: np.ndarray, place: np.ndarray
) -> Sides:
    """Return each column's diameters and lengths of some cells."""
    sides = []
    for axis, column in enumerate(columns):
        depths, mine = tree.depths_of(axis)[made], _by_level([each[:, axis] for each in runs], made, place)
        lengths = [column.lengths(depth) for depth in range(int(depths.max()) + 1)]
        diameters, lines = ([each[kind] for each in lengths] for kind in (0, 1))
        sides.append((_by_level(diameters, depths, mine), _by_level(lines, depths, mine)))
    return sides
