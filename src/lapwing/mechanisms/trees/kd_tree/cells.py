"""Trees of halved cells: how a schema's columns are cut, leaves fitted to noisy counts, and made a model."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.shared.cells import MAX_DEPTH, CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.mechanisms.shared.one_way import uniform_model
from lapwing.mechanisms.shared.settings import check_choice, check_whole
from lapwing.mechanisms.shared.trees.cell_levels import TreeLevel, tree_levels
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.mechanisms.shared.trees.shapes import longest_edges
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel, Spans, whole_rows
from lapwing.model.sampling.fixed import narrow_spans
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import Hierarchy, hierarchy
from lapwing.schema.scalars import safe_repr
from lapwing.schema.schemas import Schema


def leaf_least_squares(levels: Sequence[TreeLevel], counts: np.ndarray, total: float, threshold: float) -> np.ndarray:
    """Return non-negative masses of the leaves, near their noisy counts, with a given sum.

    counts: int64 or float64 (leaves,), unbiased noisy counts of one variance, never clipped: level by level, in order;
    threshold: leaves with a smaller count get nothing, and their mass goes to their nearest relatives; without effect
    where no leaf reaches it. Returns float64 (leaves,).

    With leaves alone measured, the least-squares estimate z of a node is the sum of its leaves' counts. Top-down, a
    parent of mass h gives its children ``(h + z0 - z1) / 2``, clipped to 0..h, and the rest, as `tree_least_squares`
    does where all levels are measured; a child without any leaf that reaches the threshold gets nothing. Time
    ``O(nodes)``.

    >>> top = TreeLevel(np.zeros(1, dtype=np.int64), np.array([False]))
    >>> below = TreeLevel(np.zeros(2, dtype=np.int64), np.array([True, True]))
    >>> leaf_least_squares([top, below], np.array([7, -2]), 5.0, 1.0)
    array([5., 0.])
    """
    if sum(int(level.is_leaf.sum()) for level in levels) != counts.size or not total >= 0:
        raise ParameterError(
            "a fit of leaves needs one count per leaf and a total of at least 0; check them", code="LW390"
        )
    estimates, reaches = full_sums(levels, counts.astype(np.float64), counts >= threshold)
    masses = np.array([total])
    found = [masses[levels[0].is_leaf]]
    for level, estimate, reached in zip(levels[1:], estimates[1:], reaches[1:], strict=True):
        masses = shared_mass(masses[level.parents], level.parents, estimate, reached)
        found.append(masses[level.is_leaf])
    return np.concatenate(found)


def full_sums(
    levels: Sequence[TreeLevel], counts: np.ndarray, is_full: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return, level by level, the sum of each node's leaves, and whether any of them is full; all where none is."""
    sizes = [level.is_leaf.size for level in levels]
    sums, full = [np.zeros(size) for size in sizes], [np.zeros(size, dtype=bool) for size in sizes]
    stop = counts.size
    for place in range(len(levels) - 1, -1, -1):
        level = levels[place]
        start = stop - int(level.is_leaf.sum())
        sums[place][level.is_leaf], full[place][level.is_leaf] = counts[start:stop], is_full[start:stop]
        if place:
            sums[place - 1] += np.bincount(level.parents, sums[place], sizes[place - 1])
            full[place - 1] |= np.bincount(level.parents, full[place], sizes[place - 1]) > 0
        stop = start
    return sums, full if full[0].any() else [np.ones(size, dtype=bool) for size in sizes]


def shared_mass(mass: np.ndarray, parents: np.ndarray, estimate: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Return what each node gets of its parent's mass."""
    sibling = np.arange(parents.size)
    pairs = np.flatnonzero(parents[1:] == parents[:-1])
    sibling[pairs], sibling[pairs + 1] = pairs + 1, pairs
    half = np.clip((mass + estimate - estimate[sibling]) / 2, 0.0, mass)
    half[sibling == np.arange(parents.size)] = mass[sibling == np.arange(parents.size)]
    other = reached[sibling]
    return np.where(reached == other, half, np.where(reached, mass, 0.0))


Cells = tuple[np.ndarray, np.ndarray]
"""Cells of a tree, as `NoisyCells.leaves`: their levels, int64 (k,), and runs of each column, int64 (k, d)."""
MAX_FITTED: Final = 2**20  # most cells of the first level for a fit that lists them all
MOST_UNIFORM: Final = 4
"""Up to so many columns rows are spread in their cell by default; in more, cells are mostly empty corners."""
LONG_EDGES: Final = 4
"""By default rows are spread along edges that are longer than their column divided by this: the cut says too little."""


def weighted_cells(
    schema: Schema,
    tree: CellTree,
    cells: Cells,
    weights: np.ndarray,
    rows: int,
    *,
    placement: Placement | None,
) -> ReleasedModel:
    """Return one atom per cell with a positive weight; the uniform model where there is none.

    weights: float64 (k,), at least 0, one per cell; placement: where in its cell a row lies. None: uniform up to four
    columns; beyond, in the middle of edges up to a quarter of their column, and uniform on others. Codes without order,
    missing and special ones are uniform. Returns a cell that holds regular and reserved codes stands for the regular
    ones.
    """
    full = np.flatnonzero(weights > 0)
    if not full.size:
        return uniform_model(schema, rows)
    levels, runs = (each[full] for each in cells)
    spans = {}
    for place, (name, nested) in enumerate(zip(tree.columns, tree.hierarchies, strict=True)):
        depths = tree.depths_of(place)[levels]
        domain = schema.field(name).domain
        if placement is None:
            longest = domain.values // LONG_EDGES if len(schema.columns) > MOST_UNIFORM else 0
        else:
            longest = domain.values if placement == "centre" else 0
        spans[name] = _spans(nested, domain, depths, runs[:, place], longest)
    return ReleasedModel(weights=weights[full].astype(np.float64), rows=rows, laws=spans)


def _spans(nested: Hierarchy, domain: Domain, depths: np.ndarray, runs: np.ndarray, longest: int) -> Spans:
    """Return the codes of one run per atom, each of its own level; of runs up to `longest`, the code in the middle."""
    starts, stops = np.empty(len(runs), dtype=np.int64), np.empty(len(runs), dtype=np.int64)
    for depth in np.unique(depths).tolist():
        at = depths == depth
        starts[at], stops[at] = nested.starts(depth)[runs[at]], nested.stops(depth)[runs[at]]
    stops = np.where(starts < domain.values, np.minimum(stops, domain.values), stops)
    if domain.ordered:
        is_centred = (starts < domain.values) & (stops - starts <= longest)
        starts = np.where(is_centred, starts + (stops - starts) // 2, starts)
        stops = np.where(is_centred, starts + 1, stops)
    return narrow_spans(starts, stops)


def fitted_weights(noisy: NoisyCells, total: float, threshold: float) -> np.ndarray:
    """Return non-negative weights of all leaves, fitted to their noisy counts along the tree (`leaf_least_squares`)."""
    levels, _, order = tree_levels(noisy.question.tree)
    fitted = leaf_least_squares(levels, noisy.counts[order], total, threshold)
    weights = np.empty_like(fitted)
    weights[order] = fitted
    return weights


def cells_statement(counts: SparseCounts) -> Statement:
    """Say over which cells a release counts: what settings that were left out came to."""
    tree = counts.tree
    fields = {"halvings": tree.first}
    if is_tree := tree.first < tree.depth:
        fields["more"] = tree.depth - tree.first
    if counts.threshold is None:
        code = "cells_of_tree" if is_tree else "cells_of_grid"
    else:
        fields["threshold"] = counts.threshold
        code = "cells_of_kept_tree" if is_tree else "cells_of_kept_grid"
    return Statement(code, float(min(tree.cells, 10**200)), fields)


def noise_scale(noise: NoiseLaw) -> float:
    """Return the scale of the Laplace noise that has the variance of a noise law."""
    return float(noise.parameter) if noise.kind == "laplace" else noise.sd / math.sqrt(2)


def released_rows(noisy: NoisyCells, public_rows: int | None) -> int:
    """Return the number of rows of a release: the public one, or the sum of the noisy counts, from 0 to 2**40."""
    return whole_rows(int(noisy.counts.sum())) if public_rows is None else public_rows


def check_edge(name: str, edge: object) -> None:
    """Refuse an edge that is no number above 0 and up to 1."""
    if isinstance(edge, bool) or not isinstance(edge, float | int) or not 0 < edge <= 1:
        raise ParameterError(
            f"{name} must lie above 0 and up to 1, the length of a column, got {safe_repr(edge)}", code="LW301"
        )


def check_listable(tree: CellTree) -> None:
    """Refuse a tree whose first level has too many cells for a fit that lists them all."""
    if tree.cells > MAX_FITTED:
        raise CapacityError(
            f"variant='default' lists all 2**{math.log2(tree.cells):.1f} cells that exist without any split, above "
            f"{MAX_FITTED}; use variant='paper' or longer edges",
            code="LW502",
        )


def check_cell_settings(settings: object) -> None:
    """Refuse a threshold or a placement that is none; those that are None are chosen."""
    check_whole(settings, "threshold", 1, 2**60, "; leave it out to choose", optional=True, limit="2**60")
    if getattr(settings, "placement", None) is not None:
        check_choice(settings, "placement", Placement)


MAX_RUN_LEVELS: Final = 20  # A column is cut into about 2**20 runs at most: its cuts are listed one by one


def halving_tree(schema: Schema, fine: float, coarse: float) -> CellTree:
    """Return the tree that halves the columns in turn until no edge is longer than `fine`.

    fine: above 0: a column is cut while its longest run is longer, each column having length 1; coarse: at least
    `fine`: all cells exist down to the first level on which no edge is longer. Returns without split cells. On each
    level the column that was cut least often, of those that are still too long.

    Algorithm 2 of Kreačić et al. cuts axis (depth mod d); so does this while all columns are cut equally often. Boxes
    that are no cubes: the longest edge of each depth is public. Missing and special values are the first cut of their
    column; cells of a column without order have edge 1 until each category is alone.

    >>> schema = Schema.from_dict({"fields": [
    ...     {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}},
    ...     {"name": "kind", "type": "string", "categories": ["a", "b"], "constraints": {"required": True}}]})
    >>> tree = halving_tree(schema, 0.2, 0.5)
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
