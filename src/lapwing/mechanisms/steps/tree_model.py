"""From the noisy counts of a tree to a released model."""

import math
from typing import Literal

import numpy as np

from lapwing.numerics.tree_rounding import consistent_counts, fair_rounding
from lapwing.numerics.trees import Split, tree_least_squares
from lapwing.release.laws import Laws, uniform_law
from lapwing.release.model import Indexed, ReleasedModel, narrow
from lapwing.release.tree_counts import NoisyTree, TreeCounts
from lapwing.schema.domains import Domain
from lapwing.schema.hierarchies import Hierarchy
from lapwing.schema.schemas import Schema

Placement = Literal["uniform", "centre"]
Consistency = Literal["uniform", "proportional"]


def tree_splits(question: TreeCounts) -> tuple[Split, ...]:
    """Return how each level divides the one above."""
    return tuple(Split(*question.parents(level)) for level in range(1, len(question.costs)))


def fitted_leaves(noisy: NoisyTree, rows: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return the counts of the deepest level by weighted least squares and fair rounding.

    Parameters
    ----------
    noisy : NoisyTree
        Raw counts, never clipped.
    rows : int or None
        The public number of rows.
    rng : numpy.random.Generator
        Rounds.

    Returns
    -------
    ndarray of int64
        At least 0.
    """
    levels = list(noisy.levels)
    variances = [math.inf if law is None else law.sd**2 for law in noisy.noises]
    if rows is not None and has_exact_root(noisy.question):
        levels[0], variances[0] = np.full(noisy.question.shapes[0], rows), 0.0
    splits = tree_splits(noisy.question)
    return fair_rounding(tree_least_squares(levels, splits, variances), splits, rng)[-1]


def has_exact_root(question: TreeCounts) -> bool:
    """Tell whether the root is left to a public number of rows, and no row can be outside the tree."""
    covers_all = all(nested.covered == nested.values + nested.reserved for nested in question.hierarchies)
    return question.costs[0] is None and covers_all


def greedy_leaves(noisy: NoisyTree, rows: int | None, how: Consistency) -> np.ndarray:
    """Return the counts of the deepest level by the paper's greedy consistency.

    Parameters
    ----------
    noisy : NoisyTree
        With counts on every level, but perhaps the root.
    rows : int or None
        The public number of rows, for a root without counts.
    how : {"uniform", "proportional"}
        The paper's two choices.

    Returns
    -------
    ndarray of int64
        At least 0.
    """
    root = noisy.levels[0]
    first = np.full(noisy.question.shapes[0], rows) if root is None else root
    levels = [first, *(level for level in noisy.levels[1:] if level is not None)]
    return consistent_counts(levels, tree_splits(noisy.question), how)[-1]


def cells_as_model(
    schema: Schema, question: TreeCounts, leaves: np.ndarray, rows: int | None, placement: Placement
) -> ReleasedModel:
    """Return one atom per cell with a positive count; the uniform model where there is none.

    Parameters
    ----------
    schema : Schema
        Of the release.
    question : TreeCounts
        Gives the cells.
    leaves : ndarray of int64
        Counts of the deepest level.
    rows : int or None
        The public number of rows; by default the sum of the counts.
    placement : {"uniform", "centre"}
        Where in its cell a row lies.

    Returns
    -------
    ReleasedModel
        Columns that are not in the tree are uniform.
    """
    full = np.flatnonzero(leaves)
    places = np.unravel_index(full, leaves.shape) if full.size else ()
    index = {name: narrow(place) for name, place in zip(question.columns, places, strict=False)}
    nested = dict(zip(question.columns, question.hierarchies, strict=True))
    atoms = max(1, full.size)
    laws = {}
    for column in schema.columns:
        if column.name in index:
            laws[column.name] = Indexed(index[column.name], run_laws(nested[column.name], column.domain, placement))
        else:
            laws[column.name] = Indexed(np.zeros(atoms, dtype=np.uint8), uniform_law(column.domain))
    return ReleasedModel(
        weights=leaves.reshape(-1)[full].astype(np.float64) if full.size else np.ones(1),
        rows=int(leaves.sum()) if rows is None else rows,
        laws=laws,
    )


def run_laws(nested: Hierarchy, domain: Domain, placement: Placement) -> Laws:
    """Return one law per run of the deepest level: uniform on its codes, or certain of the one in the middle.

    A run that holds regular and reserved codes was not cut far enough to tell them apart; it stands for the regular
    ones.
    """
    starts, stops = nested.starts(nested.depth), nested.stops(nested.depth)
    stops = np.where(starts < domain.values, np.minimum(stops, domain.values), stops)
    if placement == "centre":
        starts = starts + (stops - starts) // 2
        stops = starts + 1
    return Laws(np.arange(starts.size + 1), starts, stops, np.ones(starts.size))
