"""Integer counts for a tree: fair rounding of a real fit, and the paper's greedy consistency."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.numerics.trees import Floats, Ints, Split, check_levels


def fair_rounding(levels: Sequence[Floats], splits: Sequence[Split], rng: np.random.Generator) -> list[Ints]:
    """Round a consistent tree to integers, keeping all sums, without moving any expected count.

    Parameters
    ----------
    levels : sequence of ndarray of float64
        Consistent counts of the ``L + 1`` levels, all at least 0.
    splits : sequence of Split
        ``L`` of them, from the root downwards.
    rng : Generator
        Public randomness.

    Returns
    -------
    list of ndarray of int64
        Each count is the one above or below the given one and has it as its expectation; children sum to their parent.

    Notes
    -----
    The two children of a node and the node itself go up or down together such that, whatever integers the true counts
    are, the expected transport between children is that of the given counts: rounding costs nothing in expectation.
    The root is rounded fairly too, where spec 01 rounds it to the nearest.

    Examples
    --------
    >>> rounded = fair_rounding([np.array([3.0]), np.array([1.5, 1.5])], [Split(0, np.array([0, 0]))],
    ...                         np.random.default_rng(1))
    >>> [sorted(level.tolist()) for level in rounded]
    [[3], [1, 2]]
    """
    root = np.floor(levels[0])
    rounded = [(root + (rng.random(root.shape) < levels[0] - root)).astype(np.int64)]
    for split, real in zip(splits, levels[1:], strict=True):
        above = rounded[-1]
        below = np.empty(real.shape, dtype=np.int64)
        for family in split.families:
            whole = split.at(above, family.parents)
            if family.right is None:
                split.put(below, family.left, whole)
                continue
            left = _rounded_left(split.at(real, family.left), split.at(real, family.right), whole, rng)
            split.put(below, family.left, left)
            split.put(below, family.right, whole - left)
        rounded.append(below)
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


def consistent_counts(
    noisy_levels: Sequence[Ints], splits: Sequence[Split], how: Literal["uniform", "proportional"] = "uniform"
) -> list[Ints]:
    """Make a tree of noisy counts consistent as Algorithm 3 of the paper does: top-down, pair by pair.

    Parameters
    ----------
    noisy_levels : sequence of ndarray of int64
        Noisy counts of all ``L + 1`` levels; negative ones are read as 0 (step 2 of the algorithm).
    splits : sequence of Split
        ``L`` of them, from the root downwards.
    how : {"uniform", "proportional"}
        Which comparable pair with the right sum replaces ``(a, b)``: the nearest to it, or to the ray through it.

    Returns
    -------
    list of ndarray of int64
        Counts of each level, at least 0; children sum to their parent and are comparable with their noisy counts.

    Raises
    ------
    ParameterError
        If shapes disagree or ``how`` is unknown.

    References
    ----------
    He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data", Algorithm 3 and Lemma 4.7.
    The paper leaves ties open: here the odd unit goes left where the parent's count is odd.

    Examples
    --------
    >>> split = Split(0, np.array([0, 0]))
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
        below = np.empty(noisy.shape, dtype=np.int64)
        for family in split.families:
            whole = split.at(final[-1], family.parents)
            if family.right is None:
                split.put(below, family.left, whole)
                continue
            a = np.maximum(split.at(noisy, family.left), 0)
            b = np.maximum(split.at(noisy, family.right), 0)
            left = left_part(a, b, whole)
            split.put(below, family.left, left)
            split.put(below, family.right, whole - left)
        final.append(below)
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
