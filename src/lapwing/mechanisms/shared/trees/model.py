"""Integer counts for a tree: fair rounding of a real fit, and the paper's greedy consistency."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.mechanisms.shared.one_way import uniform_model
from lapwing.mechanisms.shared.trees.shrinkage import shrunk_fit
from lapwing.mechanisms.shared.trees.trees import AxisSplit, Floats, Ints
from lapwing.model.laws import Laws, uniform_law
from lapwing.model.model import Indexed, ReleasedModel, narrow, whole_rows
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import Hierarchy
from lapwing.schema.schemas import Schema


def fair_rounding(levels: Sequence[Floats], splits: Sequence[AxisSplit], rng: np.random.Generator) -> list[Ints]:
    """Round a consistent tree to integers, keeping all sums, without moving any expected count.

    The two children of a node and the node itself go up or down together such that, whatever integers the true counts
    are, the expected transport between children is that of the given counts: rounding costs nothing in expectation.
    The root is rounded fairly too, and not to the nearest.

    >>> rounded = fair_rounding([np.array([3.0]), np.array([1.5, 1.5])], [AxisSplit(0, np.array([0, 0]))],
    ...                         np.random.default_rng(1))
    >>> [sorted(level.tolist()) for level in rounded]
    [[3], [1, 2]]
    """
    root = np.floor(levels[0])
    rounded = [(root + (rng.random(root.shape) < levels[0] - root)).astype(np.int64)]
    for split, real in zip(splits, levels[1:], strict=True):
        above = rounded[-1]
        lefts = [
            _rounded_left(*split.halves(real, each), split.at(above, each.parents), rng) for each in split.dividing
        ]
        rounded.append(split.divided(above, lefts))
    return rounded


def _rounded_left(left: Floats, right: Floats, whole: Ints, rng: np.random.Generator) -> Ints:
    low, low_right = np.floor(left), np.floor(right)
    up, up_right = left - low, right - low_right
    extra = whole - low
    extra -= low_right  # 0, 1 or 2 units to hand out on top of the floors
    # One unit: with fractions f and g the left child gets it with chance f/(f+g), or (1-g)/(2-f-g) when f+g >= 1:
    # then two units were the other outcome for the parent, and each child's total chance comes out as its fraction.
    over = up + up_right >= 1.0
    chance_left = np.where(over, 1.0 - up_right, up)
    chance_right = np.where(over, 1.0 - up, up_right)
    coin = rng.random(low.shape) * (chance_left + chance_right) < chance_left
    low += (extra >= 2.0) | ((extra == 1.0) & coin)
    # Float noise in the sums can ask for a unit too many or too few.
    return np.minimum(np.maximum(low.astype(np.int64), 0), whole)


# -- From the noisy counts of a tree to a released model.


Placement = Literal["uniform", "centre"]
KnownRoot = tuple[float, float]
"""A number of rows and its variance."""


def tree_splits(question: TreeCounts) -> tuple[AxisSplit, ...]:
    """Return how each level divides the one above."""
    return tuple(AxisSplit(*question.parents(level)) for level in range(1, len(question.costs)))


def fit_leaves(
    noisy: NoisyTree, root: KnownRoot | None, rng: np.random.Generator, priors: Sequence[Sequence[Floats]] = ()
) -> np.ndarray:
    """Return the counts of the deepest level by a fit that shrinks what noise explains, and fair rounding."""
    levels: list[np.ndarray | None] = list(noisy.levels)
    variances = [math.inf if law is None else law.sd**2 for law in noisy.noises]
    if root is not None:
        own, spread = levels[0], variances[0]
        count, variance = root
        # Both by inverse variance; an exact number counts alone.
        part = 0.0 if own is None or variance == 0 else variance / (variance + spread)
        pooled = float(count) if own is None else part * float(own.sum()) + (1 - part) * count
        levels[0], variances[0] = np.full(noisy.question.shapes[0], pooled), (1 - part) * variance
    splits = tree_splits(noisy.question)
    return fair_rounding(shrunk_fit(levels, splits, variances, _even_parts(noisy.question), priors), splits, rng)[-1]


def known_root(question: TreeCounts, rows: int | None, bought: NoisyCounts | None) -> KnownRoot | None:
    """Return the number of rows that is known beside the tree, and its variance; none where rows may be outside."""
    if rows is not None and has_exact_root(question):
        return float(rows), 0.0
    if bought is None or not _covers_all(question):
        return None
    return float(bought.counts), bought.noise.sd**2


def _even_parts(question: TreeCounts) -> list[np.ndarray]:
    """Return, for each split, which part of the codes of each group above is in its first group below."""
    parts = []
    for level in range(1, len(question.costs)):
        axis = question.schedule[level - 1]
        nested, depth = question.hierarchies[axis], question.depths(level)[axis]
        above, below = (nested.stops(each) - nested.starts(each) for each in (depth - 1, depth))
        first = np.flatnonzero(np.diff(nested.parents(depth), prepend=-1))
        parts.append(np.where(nested.stops(depth - 1) <= nested.values, below[first] / above, 0.5))
    return parts


def has_exact_root(question: TreeCounts) -> bool:
    """Tell whether the root is left to a public number of rows, and no row can be outside the tree."""
    return question.costs[0] is None and _covers_all(question)


def _covers_all(question: TreeCounts) -> bool:
    return all(nested.covered == nested.values + nested.reserved for nested in question.hierarchies)


def cells_as_model(
    schema: Schema, question: TreeCounts, leaves: np.ndarray, rows: int | None, placement: Placement
) -> ReleasedModel:
    """Return one atom per cell with a positive count; the uniform model where there is none."""
    full = np.flatnonzero(leaves)
    stands_for = whole_rows(int(leaves.sum())) if rows is None else rows
    if not full.size:
        return uniform_model(schema, stands_for)
    index = dict(zip(question.columns, np.unravel_index(full, leaves.shape), strict=True))
    nested = dict(zip(question.columns, question.hierarchies, strict=True))
    laws = {}
    for column in schema.columns:
        if column.name in index:
            law = run_laws(nested[column.name], column.domain, placement)
            laws[column.name] = Indexed(narrow(index[column.name]), law)
        else:
            laws[column.name] = Indexed(np.zeros(full.size, dtype=np.uint8), uniform_law(column.domain))
    return ReleasedModel(weights=leaves.reshape(-1)[full].astype(np.float64), rows=stands_for, laws=laws)


def leaf_shares(model: ReleasedModel, question: TreeCounts) -> Floats | None:
    """Return the probabilities of the cells that `cells_as_model` made a model of; None where there were no counts."""
    laws = [model.laws[name] for name in question.columns]
    shape = question.shapes[-1]
    is_made = all(isinstance(law, Indexed) and law.laws.count == size for law, size in zip(laws, shape, strict=True))
    if not is_made:
        return None
    shares = np.zeros(shape)
    shares[tuple(law.index for law in laws if isinstance(law, Indexed))] = model.weights / model.weights.sum()
    return shares


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
