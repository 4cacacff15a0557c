"""From the noisy counts of cells to a released model."""

import math
from typing import Final, Literal, get_args

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.mechanisms.steps.tree_model import Placement
from lapwing.numerics.leaf_fit import TreeLevel, leaf_least_squares
from lapwing.release.cells import CellTree
from lapwing.release.certificate import Statement
from lapwing.release.laws import uniform_law
from lapwing.release.model import Indexed, ReleasedModel, Spans
from lapwing.release.sparse_counts import NoisyCells, SparseCounts
from lapwing.schema.domains import Domain
from lapwing.schema.hierarchies import Hierarchy
from lapwing.schema.scalars import is_among, told
from lapwing.schema.schemas import Schema

Fit = Literal["least_squares", "threshold"]

MAX_FITTED: Final = 2**20
"""Most cells of the first level for a fit that lists them all."""

MOST_UNIFORM: Final = 4
"""Up to so many columns rows are spread in their cell by default; in more, cells are mostly empty corners."""

LONG_EDGES: Final = 4
"""By default rows are spread along edges that are longer than their column divided by this: the cut says too little."""


def weighted_cells(
    schema: Schema, noisy: NoisyCells, weights: np.ndarray, rows: int, placement: Placement | None
) -> ReleasedModel:
    """Return one atom per cell with a positive weight; the uniform model where there is none.

    Parameters
    ----------
    schema : Schema
        Of the release.
    noisy : NoisyCells
        Gives the cells.
    weights : ndarray of float64, shape (k,)
        At least 0, one per cell.
    rows : int
        The released number of rows.
    placement : {"uniform", "centre"} or None
        Where in its cell a row lies. None: uniform up to four columns; beyond, in the middle of edges up to a
        quarter of their column, and uniform on others. Codes without order, missing and special ones are uniform.

    Returns
    -------
    ReleasedModel
        A cell that holds regular and reserved codes stands for the regular ones.
    """
    full = np.flatnonzero(weights > 0)
    if not full.size:
        laws = {
            column.name: Indexed(np.zeros(1, dtype=np.uint8), uniform_law(column.domain)) for column in schema.columns
        }
        return ReleasedModel(weights=np.ones(1), rows=rows, laws=laws)
    tree = noisy.question.tree
    levels, cells = (each[full] for each in noisy.leaves)
    spans = {}
    for place, (name, nested) in enumerate(zip(tree.columns, tree.hierarchies, strict=True)):
        depths = tree.depths_of(place)[levels]
        domain = schema.field(name).domain
        if placement is None:
            longest = domain.values // LONG_EDGES if len(schema.columns) > MOST_UNIFORM else 0
        else:
            longest = domain.values if placement == "centre" else 0
        spans[name] = _spans(nested, domain, depths, cells[:, place], longest)
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
    largest = int(stops.max())
    for dtype in (np.uint8, np.uint16, np.uint32):
        if largest <= np.iinfo(dtype).max:
            return Spans(starts.astype(dtype), stops.astype(dtype))
    return Spans(starts, stops)


def fitted_weights(noisy: NoisyCells, total: float, threshold: float) -> np.ndarray:
    """Return non-negative weights of all leaves, fitted to their noisy counts along the tree (`leaf_least_squares`).

    Parameters
    ----------
    noisy : NoisyCells
        Of a question without threshold; the tree's first level should have few enough cells to list.
    total : float
        Sum of the weights, at least 0.
    threshold : float
        Leaves with a smaller count hand their rows to their nearest relatives.

    Returns
    -------
    ndarray of float64, shape (k,)
        In the order of the answer.
    """
    tree = noisy.question.tree
    levels, cells = _upper_levels(tree)
    at = np.argsort(tree.ranks_of(cells), kind="stable")  # the place of each first cell, by rank
    goes_on = at[tree.ranks_of(tree.split_cells)]
    is_leaf = np.ones(tree.cells, dtype=bool)
    is_leaf[goes_on] = False
    levels[-1] = TreeLevel(levels[-1].parents, is_leaf)
    order = np.argsort(at[is_leaf[at]], kind="stable")  # answers go by rank, the tree's lists by parent
    levels += _listed_levels(tree, goes_on)

    firsts, listed = noisy.counts[: len(order)], noisy.counts[len(order) :]
    fitted = leaf_least_squares(levels, np.concatenate((firsts[order], listed)), total, threshold)
    fitted[order] = fitted[: len(order)].copy()
    return fitted


def _upper_levels(tree: CellTree) -> tuple[list[TreeLevel], np.ndarray]:
    """Return the levels from the root to the first one, all of whose cells exist, and the cells of the last of them."""
    cells = np.zeros((1, len(tree.columns)), dtype=np.int64)
    levels = [TreeLevel(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=bool))]
    for level in range(tree.first):
        cells, parents = tree.children(level, cells)
        levels.append(TreeLevel(parents, np.zeros(len(cells), dtype=bool)))
    return levels, cells


def _listed_levels(tree: CellTree, goes_on: np.ndarray) -> list[TreeLevel]:
    """Return the levels below the first one; `goes_on` are the places there of the split cells, in their order."""
    levels, above = [], tree.split_cells
    for level, cells in tree.levels():
        _, parents = tree.children(level - 1, above)
        kept = tree.next_level(level, cells)
        is_leaf = np.ones(len(cells), dtype=bool) if kept is None else ~kept
        levels.append(TreeLevel(goes_on[parents], is_leaf))
        goes_on = np.flatnonzero(~is_leaf)
        above = cells[goes_on]
    return levels


def cells_statement(counts: SparseCounts) -> Statement:
    """Say over which cells a release counts: what settings that were left out came to."""
    tree = counts.tree
    below = tree.depth - tree.first
    text = f"so many cells exist without any test, after {tree.first} halvings; {below} more can follow"
    if tree.first == tree.depth:
        text = f"so many cells has the grid, after {tree.depth} halvings"
    if counts.threshold is not None:
        text += f"; a cell is kept from the noisy count {counts.threshold} on"
    return Statement(kind="cells", text=text, value=float(min(tree.cells, 10**200)))


def released_rows(noisy: NoisyCells, public_rows: int | None) -> int:
    """Return the number of rows of a release: the public one, or the sum of the noisy counts, at least 0."""
    return max(0, int(noisy.counts.sum())) if public_rows is None else public_rows


def check_edge(name: str, edge: object) -> None:
    """Refuse an edge that is no number above 0 and up to 1."""
    if isinstance(edge, bool) or not isinstance(edge, float | int) or not 0 < edge <= 1:
        raise ParameterError(
            f"{name} must lie above 0 and up to 1, the length of a column, got {told(edge)}", code="LW301"
        )


def check_listable(tree: CellTree) -> None:
    """Refuse a tree whose first level has too many cells for a fit that lists them all."""
    if tree.cells > MAX_FITTED:
        raise CapacityError(
            f"fit='least_squares' lists all 2**{math.log2(tree.cells):.1f} cells that exist without any split, above "
            f"{MAX_FITTED}; use fit='threshold' or longer edges",
            code="LW502",
        )


def check_threshold(threshold: object) -> None:
    """Refuse a threshold that is no whole number from 1 to 2**60; None chooses one."""
    if threshold is None:
        return
    if isinstance(threshold, bool) or not isinstance(threshold, int) or not 1 <= threshold <= 2**60:
        raise ParameterError(
            f"threshold must be a whole number from 1 to 2**60, got {told(threshold)}; leave it out to choose",
            code="LW302",
        )


def check_fit(fit: object) -> None:
    """Refuse a fit that is not one of the two."""
    if not is_among(fit, get_args(Fit)):
        raise ParameterError(f"fit must be one of {', '.join(get_args(Fit))}, got {told(fit)}", code="LW303")


def check_placement(placement: object) -> None:
    """Refuse a placement that is not one of the two; None chooses one."""
    if placement is not None and not is_among(placement, get_args(Placement)):
        raise ParameterError(
            f"placement must be one of {', '.join(get_args(Placement))}, got {told(placement)}", code="LW303"
        )
