"""Consistent counts of a tree that do not take noise for structure: each cell's halves lean as far as they are seen to.

Of each level it is estimated, from all its cells, in how many everything lies in one half, and how evenly the others
are divided; the halves of a cell get what is expected of them given their counts.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.mechanisms.shared.trees.trees import (
    Family,
    Split,
    check_levels,
    left_weight,
    node_variances,
    pooled_estimates,
)

Floats = npt.NDArray[np.float64]

LOOKED_AT: Final = 2**14
"""Most cells of a level from which its law is estimated."""
ROUNDS: Final = 15
ONE_SIDED, UNEVEN = 0.3, 0.025
"""What is thought of the first level: the part of its cells with one empty half, and the variance of others' parts."""
NEARLY: Final = 0.075
"""How far from all, as a part of the cell, one half may be in a cell that counts as one-sided."""
MOST_UNEVEN: Final = 1 / 12
"""The variance of a part that may be anything."""


def shrunk_fit(
    levels: Sequence[npt.NDArray[Any] | None],
    splits: Sequence[Split],
    variances: Sequence[float],
    shares: Sequence[Floats],
) -> list[Floats]:
    """Fit non-negative consistent counts to a tree of noisy counts.

    levels, splits, variances: as for `tree_least_squares`; shares: per split, float64 (parents,), which part of an even
    mass is in the left child. Returns float64, counts of each level, at least 0, children summing to their parent.

    Bottom-up, counts are pooled as in `tree_least_squares`. Top-down, its estimate of the left child has the standard
    deviation ``e = sqrt(s t / (s + t))``, where ``s`` and ``t`` are the children's pooled variances; it is replaced by
    its mean under a mixture of three laws, all, nothing, and around the even part, whose weights and width are those of
    the level by expectation-maximisation. It moves by ``e`` at most, so that what flows between siblings is expected to
    be at most twice what it is by least squares.
    """
    axes = check_levels(levels, splits, variances)
    spreads, weights = node_variances(splits, variances, axes)
    fit = pooled_estimates(levels, splits, weights)
    fit[0] = np.maximum(fit[0], 0.0)
    law = (ONE_SIDED, UNEVEN)
    for level, (split, share) in enumerate(zip(splits, shares, strict=True)):
        along = (-1,) + (1,) * (axes - split.axis - 1)
        below = np.empty(fit[level + 1].shape)
        pairs = []
        for family in split.families:
            if family.right is not None:
                whole, left, variance = _estimated(fit[level], fit[level + 1], spreads[level + 1], split, family)
                even = np.broadcast_to(share[family.parents].reshape(along), whole.shape)
                pairs.append((whole, left, variance, even))
        if pairs:
            whole, left, variance, even = (
                np.concatenate([each.reshape(-1) for each in part]) for part in zip(*pairs, strict=True)
            )
            law = _fitted(whole, left, variance, even, law)
        wanted = iter(pairs)
        for family in split.families:
            whole = split.at(fit[level], family.parents)
            if family.right is None:
                split.put(below, family.left, whole)
                continue
            left = _leaning(*next(wanted), law)
            split.put(below, family.left, left)
            split.put(below, family.right, whole - left)
        fit[level + 1] = below
    return fit


def _estimated(
    above: Floats, below: Floats, spreads: Floats, split: Split, family: Family
) -> tuple[Floats, Floats, Floats]:
    """Return the parents' counts, the least-squares estimates of their left children, and the variance of these."""
    assert family.right is not None
    whole, left, right = (
        split.at(above, family.parents),
        split.at(below, family.left),
        split.at(below, family.right),
    )
    part = left_weight(spreads, split, family)
    if spreads.shape[split.axis] == 1:
        variance = spreads / 2
    else:
        variance = split.at(spreads, family.right) * part
    return whole, left + (whole - left - right) * part, np.broadcast_to(variance, whole.shape)


def _likelihoods(
    whole: Floats, left: Floats, variance: Floats, share: Floats, law: tuple[float, float]
) -> tuple[Floats, Floats, Floats]:
    """Return how likely each of the three laws is: around the even part, nothing, all; they sum to 1."""
    one_sided, uneven = law
    near = variance + (NEARLY * whole) ** 2 + 1e-12
    wide = variance + uneven * whole**2 + 1e-12
    logs = np.stack(
        [
            np.log1p(-one_sided) - (left - share * whole) ** 2 / (2 * wide) - np.log(wide) / 2,
            np.log(one_sided / 2) - left**2 / (2 * near) - np.log(near) / 2,
            np.log(one_sided / 2) - (left - whole) ** 2 / (2 * near) - np.log(near) / 2,
        ]
    )
    chances = np.exp(logs - logs.max(axis=0))
    chances /= chances.sum(axis=0)
    return chances[0], chances[1], chances[2]


def _fitted(
    whole: Floats, left: Floats, variance: Floats, share: Floats, law: tuple[float, float]
) -> tuple[float, float]:
    """Return the part of a level's cells that are one-sided, and the variance of the others' parts."""
    step = -(-whole.size // LOOKED_AT)
    whole, left, variance, share = whole[::step], left[::step], variance[::step], share[::step]
    one_sided, uneven = law
    square = whole**2
    # Cells whose counts are noise tell nothing. A cell's worth of the first guess keeps the estimates inside.
    told = np.divide(square, square + 4 * variance, out=np.zeros_like(square), where=square > 0)
    for _ in range(ROUNDS):
        even, _, _ = _likelihoods(whole, left, variance, share, (one_sided, uneven))
        kept = np.divide(uneven * square, uneven * square + variance, out=np.ones_like(square), where=square > 0)
        found = (kept * (left - share * whole)) ** 2 + (1 - kept) * uneven * square
        parts = np.divide(found, square, out=np.zeros_like(square), where=square > 0)
        one_sided = float((told * (1 - even)).sum() + ONE_SIDED) / (float(told.sum()) + 1)
        uneven = (float((told * even * parts).sum()) + UNEVEN / 5) / (float((told * even).sum()) + 0.2)
        uneven = min(max(uneven, 1e-7), MOST_UNEVEN)
    return one_sided, uneven


def _leaning(whole: Floats, left: Floats, variance: Floats, share: Floats, law: tuple[float, float]) -> Floats:
    """Return what is expected of the left children, at most one standard deviation from least squares."""
    even, none, every = _likelihoods(whole, left, variance, share, law)
    near, wide = (NEARLY * whole) ** 2, law[1] * whole**2
    nearly = np.divide(near, near + variance, out=np.ones_like(near), where=near + variance > 0)
    kept = np.divide(wide, wide + variance, out=np.ones_like(wide), where=wide + variance > 0)
    middle = share * whole
    expected = (
        even * (middle + kept * (left - middle)) + none * nearly * left + every * (whole + nearly * (left - whole))
    )
    clipped = np.clip(left, 0.0, whole)
    far = np.sqrt(variance)
    return np.clip(np.clip(expected, clipped - far, clipped + far), 0.0, whole)
