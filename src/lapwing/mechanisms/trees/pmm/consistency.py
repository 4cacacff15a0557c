"""The paper's greedy consistency, Algorithm 3: noisy counts of a tree become consistent, from top to bottom."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.mechanisms.shared.trees.model import tree_splits
from lapwing.mechanisms.shared.trees.trees import AxisSplit, Ints, check_levels


def consistent_counts(
    noisy_levels: Sequence[Ints], splits: Sequence[AxisSplit], how: Literal["uniform", "proportional"] = "uniform"
) -> list[Ints]:
    """Make a tree of noisy counts consistent as Algorithm 3 of the paper does: top-down, pair by pair.

    noisy_levels: sequence of int64, noisy counts of all ``L + 1`` levels; negative ones are read as 0 (step 2 of the
    algorithm); how: which comparable pair with the right sum replaces ``(a, b)``: the nearest to it, or to the ray
    through it. Returns list of int64, counts of each level, at least 0; children sum to their parent and are comparable
    with their noisy counts.

    He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data", Algorithm 3 and Lemma 4.7.
    The paper leaves ties open: here the odd unit goes left where the parent's count is odd.

    >>> split = AxisSplit(0, np.array([0, 0]))
    >>> [level.tolist() for level in consistent_counts([np.array([8]), np.array([9, 3])], [split])]
    [[8], [7, 1]]
    >>> [level.tolist() for level in consistent_counts([np.array([8]), np.array([9, 3])], [split], "proportional")]
    [[8], [6, 2]]
    """
    if how not in ("uniform", "proportional"):
        raise ParameterError(f"how must be uniform or proportional, got {how!r}", code="LW390")
    check_levels(noisy_levels, splits, [0.0] * len(noisy_levels))
    left_part = _uniform_left if how == "uniform" else _proportional_left
    final = [np.maximum(noisy_levels[0], 0)]
    for split, noisy in zip(splits, noisy_levels[1:], strict=True):
        above, counts = final[-1], np.maximum(noisy, 0)
        lefts = [left_part(*split.halves(counts, each), split.at(above, each.parents)) for each in split.dividing]
        final.append(split.divided(above, lefts))
    return final


def _uniform_left(a: Ints, b: Ints, whole: Ints) -> Ints:
    # Half the surplus or deficit each. Where the deficit empties one child, the other keeps all: still comparable.
    half = (whole - a - b + (whole & 1)) >> 1
    return np.minimum(np.maximum(a + half, 0), whole)


def _proportional_left(a: Ints, b: Ints, whole: Ints) -> Ints:
    total = a + b
    # Where both are 0 there is no ray, and the uniform choice is as near as any.
    # One division of whole numbers, so that ties are seen exactly up to products of 2^53.
    exact = np.divide(whole.astype(np.float64) * a, total, out=0.5 * whole, where=total > 0)
    odd = (whole & 1).astype(bool)
    nearest = np.where(odd, np.floor(exact + 0.5), np.ceil(exact - 0.5)).astype(np.int64)
    # Beyond 2^53 floats can miss the nearest, and must not miss comparability.
    low, high = np.minimum(a, np.maximum(whole - b, 0)), np.maximum(np.minimum(a, whole), whole - b)
    bounded: Ints = np.minimum(np.maximum(nearest, low), high)
    return bounded


Consistency = Literal["uniform", "proportional"]


def greedy_leaves(noisy: NoisyTree, rows: int | None, how: Consistency) -> np.ndarray:
    """Return the counts of the deepest level by the paper's greedy consistency."""
    root = noisy.levels[0]
    first = np.full(noisy.question.shapes[0], rows) if root is None else root
    levels = [first, *(level for level in noisy.levels[1:] if level is not None)]
    return consistent_counts(levels, tree_splits(noisy.question), how)[-1]
