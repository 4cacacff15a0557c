"""From the noisy counts of cells to a released model."""

from typing import get_args

import numpy as np

from lapwing.errors import ParameterError
from lapwing.mechanisms.steps.tree_model import Placement
from lapwing.release.laws import uniform_law
from lapwing.release.model import Indexed, ReleasedModel, Spans
from lapwing.release.sparse_counts import NoisyCells
from lapwing.schema.domains import Domain
from lapwing.schema.hierarchies import Hierarchy
from lapwing.schema.schemas import Schema


def weighted_cells(
    schema: Schema, noisy: NoisyCells, weights: np.ndarray, rows: int, placement: Placement
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
    placement : {"uniform", "centre"}
        Where in its cell a row lies.

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
        depths = np.array([tree.depths(level)[place] for level in range(tree.depth + 1)])[levels]
        spans[name] = _spans(nested, schema.field(name).domain, depths, cells[:, place], placement)
    return ReleasedModel(weights=weights[full].astype(np.float64), rows=rows, laws=spans)


def _spans(nested: Hierarchy, domain: Domain, depths: np.ndarray, runs: np.ndarray, placement: Placement) -> Spans:
    """Return the codes of one run per atom, each of its own level of the hierarchy."""
    starts, stops = np.empty(len(runs), dtype=np.int64), np.empty(len(runs), dtype=np.int64)
    for depth in np.unique(depths).tolist():
        at = depths == depth
        starts[at], stops[at] = nested.starts(depth)[runs[at]], nested.stops(depth)[runs[at]]
    stops = np.where(starts < domain.values, np.minimum(stops, domain.values), stops)
    if placement == "centre":
        starts = starts + (stops - starts) // 2
        stops = starts + 1
    largest = int(stops.max())
    for dtype in (np.uint8, np.uint16, np.uint32):
        if largest <= np.iinfo(dtype).max:
            return Spans(starts.astype(dtype), stops.astype(dtype))
    return Spans(starts, stops)


def released_rows(noisy: NoisyCells, public_rows: int | None) -> int:
    """Return the number of rows of a release: the public one, or the sum of the noisy counts, at least 0."""
    return max(0, int(noisy.counts.sum())) if public_rows is None else public_rows


def check_edge(name: str, edge: object) -> None:
    """Refuse an edge that is no number above 0 and up to 1."""
    if isinstance(edge, bool) or not isinstance(edge, float | int) or not 0 < edge <= 1:
        raise ParameterError(f"{name} must lie above 0 and up to 1, the length of a column, got {edge!r}")


def check_threshold(threshold: object) -> None:
    """Refuse a threshold that is no whole number from 1 to 2**60; None chooses one."""
    if threshold is None:
        return
    if isinstance(threshold, bool) or not isinstance(threshold, int) or not 1 <= threshold <= 2**60:
        raise ParameterError(
            f"threshold must be a whole number from 1 to 2**60, got {threshold!r}; leave it out to choose"
        )


def check_placement(placement: object) -> None:
    """Refuse a placement that is not one of the two."""
    if placement not in get_args(Placement):
        raise ParameterError(f"placement must be one of {', '.join(get_args(Placement))}, got {placement!r}")
