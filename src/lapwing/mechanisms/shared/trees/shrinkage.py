"""Consistent counts of a tree that do not take noise for structure: each cell's halves lean as far as they are seen to.

Of each level it is estimated, from all its cells, in how many everything lies in one half, and how evenly, or how much
as in a prior, the others are divided; the halves of a cell get what is expected of them given their counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.mechanisms.shared.trees.trees import (
    AxisSplit,
    Family,
    along,
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
LARGEST: Final = 2.0**53
"""The most rows of a tree: its counts are rounded to whole numbers, which floats tell apart up to here."""
OF_PRIORS, UNLIKE = 0.5, 0.0002
"""What is thought of priors before the first level: the part of the cells that are divided as in one of them, and the
variance of their parts around it."""
MEMORY: Final = 0.5
"""What a cell of the levels above counts beside one of a level in what is thought of priors there."""


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """Cells that are divided in two.

    whole, left, variance: float64 (k,), counts, least-squares estimates of the left halves, and their variances;
    centres, spreads, heard: float64 (guesses, k), the part of the left half if the mass is even, and if it is as in
    each prior; how much that may be off because the prior has few rows there; and how much it counts for that reason.
    """

    whole: Floats
    left: Floats
    variance: Floats
    centres: Floats
    spreads: Floats
    heard: Floats


@dataclass(frozen=True, slots=True)
class LevelLaw:
    """How the cells of a level divide.

    one_sided: the part of them with one empty half; parts: of the others, how many divide around each guess;
    widths: the variance of their parts around it.
    """

    one_sided: float
    parts: tuple[float, ...]
    widths: tuple[float, ...]
    seen: float = 0.0

    @classmethod
    def before(cls, priors: int) -> "LevelLaw":
        """Return what is thought before the first level."""
        given = (1 - OF_PRIORS, *[OF_PRIORS / priors] * priors) if priors else (1.0,)
        return cls(ONE_SIDED, given, (UNEVEN, *[UNLIKE] * priors))


def initial_halves(share: Floats, priors: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats, Floats]:
    """Return the centres and spreads of `Halves`, and what they count."""
    centres = [share, *((left + share) / (whole + 1) for left, whole in priors)]
    spreads = [part * (1 - part) / (whole + 2) for part, (_, whole) in zip(centres[1:], priors, strict=True)]
    heard = [np.ones_like(share), *(whole / (whole + 1) for _, whole in priors)]
    return np.stack(centres), np.stack([np.zeros_like(share), *spreads]), np.stack(heard)


def shrunk_fit(
    levels: Sequence[npt.NDArray[Any] | None],
    splits: Sequence[AxisSplit],
    variances: Sequence[float],
    shares: Sequence[Floats],
    priors: Sequence[Sequence[Floats]] = (),
) -> list[Floats]:
    """Fit non-negative consistent counts to a tree of noisy counts.

    levels, splits, variances: as for `tree_least_squares`; shares: per split, float64 (parents,), which part of an even
    mass is in the left child; priors: of each, its rows in each cell, level by level. Returns float64, counts of each
    level, at least 0, children summing to their parent.

    Bottom-up, counts are pooled as in `tree_least_squares`. Top-down, its estimate of the left child has the standard
    deviation ``e = sqrt(s t / (s + t))``, where ``s`` and ``t`` are the children's pooled variances; it is replaced by
    its mean under a mixture of laws, all, nothing, around the even part, and around the part that each prior has there,
    whose weights and widths are those of the level by expectation-maximisation. It moves by ``e`` at most, so that what
    flows between siblings is expected to be at most twice what it is by least squares, whatever the priors are.
    """
    axes = check_levels(levels, splits, variances)
    spreads, weights = node_variances(splits, variances, axes)
    fit = pooled_estimates(levels, splits, weights)
    fit[0] = np.clip(fit[0], 0.0, LARGEST)
    law = LevelLaw.before(len(priors))
    for level, (split, share) in enumerate(zip(splits, shares, strict=True)):
        counts = [(each[level], each[level + 1]) for each in priors]
        pairs = []
        for family in split.dividing:
            estimated = _least_squares_halves(fit[level], fit[level + 1], spreads[level + 1], split, family)
            pairs.append(_halves(estimated, share, counts, split, family))
        left = np.zeros(0)
        if pairs:
            halves = Halves(*(np.concatenate(part, axis=-1) for part in zip(*pairs, strict=True)))
            law = fitted_law(halves, law)
            left = leaning(halves, law)
        wanted = np.split(left, np.cumsum([pair[0].size for pair in pairs]))
        shapes = [split.at(fit[level], family.parents).shape for family in split.dividing]
        lefts = [half.reshape(shape) for half, shape in zip(wanted, shapes, strict=False)]
        fit[level + 1] = split.divided(fit[level], lefts)
    return fit


def _halves(
    estimated: tuple[Floats, Floats, Floats],
    share: Floats,
    priors: Sequence[tuple[Floats, Floats]],
    split: AxisSplit,
    family: Family,
) -> tuple[Floats, ...]:
    """Return the parts of `Halves`, flat, for groups that divide alike."""
    shape = estimated[0].shape
    even = np.broadcast_to(along(share[family.parents], split.axis, len(shape)), shape).reshape(-1)
    told = [
        (split.at(below, family.left).reshape(-1), split.at(above, family.parents).reshape(-1))
        for above, below in priors
    ]
    return *(each.reshape(-1) for each in estimated), *initial_halves(even, told)


def _least_squares_halves(
    above: Floats, below: Floats, spreads: Floats, split: AxisSplit, family: Family
) -> tuple[Floats, Floats, Floats]:
    """Return the parents' counts, the least-squares estimates of their left children, and the variance of these."""
    whole, (left, right) = split.at(above, family.parents), split.halves(below, family)
    part = left_weight(spreads, split, family)
    if spreads.shape[split.axis] == 1:
        variance = spreads / 2
    else:
        variance = split.halves(spreads, family)[1] * part
    return whole, left + (whole - left - right) * part, np.broadcast_to(variance, whole.shape)


def _likelihoods(halves: Halves, law: LevelLaw) -> Floats:
    """Return how likely each law is: around each guess, nothing, all; float64 (guesses + 2, k), summing to 1."""
    whole, left = halves.whole, halves.left
    near = halves.variance + (NEARLY * whole) ** 2 + 1e-12
    logs = []
    guesses = zip(law.parts, law.widths, halves.centres, halves.spreads, halves.heard, strict=True)
    for part, width, centre, spread, heard in guesses:
        wide = halves.variance + (width + spread) * whole**2 + 1e-12
        chance = np.log1p(-law.one_sided) + np.log(np.maximum(part * heard, 1e-300))
        logs.append(chance - (left - centre * whole) ** 2 / (2 * wide) - np.log(wide) / 2)
    logs.append(np.log(law.one_sided / 2) - left**2 / (2 * near) - np.log(near) / 2)
    logs.append(np.log(law.one_sided / 2) - (left - whole) ** 2 / (2 * near) - np.log(near) / 2)
    chances: Floats = np.stack(logs)
    chances = np.exp(chances - chances.max(axis=0))
    chances /= chances.sum(axis=0)
    return chances


def fitted_law(halves: Halves, above: LevelLaw) -> LevelLaw:
    """Return how the cells of a level divide, by expectation-maximisation; above: the law of the level above."""
    step = -(-halves.whole.size // LOOKED_AT)
    seen = Halves(*(each[..., ::step] for each in (getattr(halves, name) for name in Halves.__slots__)))
    square, law = seen.whole**2, above
    # Cells whose counts are noise tell nothing.
    told = np.divide(square, square + 4 * seen.variance, out=np.zeros_like(square), where=square > 0)
    memory = 1 + MEMORY * above.seen
    for _ in range(ROUNDS):
        around = _likelihoods(seen, law)[:-2]
        sizes = [float((told * each).sum()) for each in around]
        widths = []
        for place, (width, chances) in enumerate(zip(law.widths, around, strict=True)):
            off = _squares(seen, place, width)
            guess, cells = (above.widths[place], memory / 5) if place else (UNEVEN, 0.2)
            found = (float((told * chances * off).sum()) + guess * cells) / (sizes[place] + cells)
            widths.append(min(max(found, 1e-7), MOST_UNEVEN))
        parts = [size + part * memory for size, part in zip(sizes, above.parts, strict=True)]
        law = LevelLaw(
            one_sided=float((told * (1 - around.sum(axis=0))).sum() + ONE_SIDED) / (float(told.sum()) + 1),
            parts=tuple(part / sum(parts) for part in parts),
            widths=tuple(widths),
            seen=above.seen + float(told.sum()),
        )
    return law


def _squares(halves: Halves, place: int, width: float) -> Floats:
    """Return what is expected of the squared distance of each part from a guess, beyond noise and spread."""
    square = halves.whole**2
    noise = halves.variance + halves.spreads[place] * square
    kept = np.divide(width * square, width * square + noise, out=np.ones_like(square), where=square > 0)
    found = (kept * (halves.left - halves.centres[place] * halves.whole)) ** 2 + (1 - kept) * width * square
    squares: Floats = np.divide(found, square, out=np.zeros_like(square), where=square > 0)
    return squares


def leaning(halves: Halves, law: LevelLaw, own: Floats | None = None) -> Floats:
    """Return what is expected of the left halves, at most one standard deviation from least squares.

    own: float64 (k,), another fit, which stands where mass does not lie as in a prior, however far it is.
    """
    whole, left, variance = halves.whole, halves.left, halves.variance
    even, *as_priors, none, every = _likelihoods(halves, law)
    clipped, far = np.clip(left, 0.0, whole), np.sqrt(variance)
    if own is None:
        near = (NEARLY * whole) ** 2
        nearly = np.divide(near, near + variance, out=np.ones_like(near), where=near + variance > 0)
        one_sided = none * nearly * left + every * (whole + nearly * (left - whole))
        expected = even * _mean(halves, 0, law.widths[0]) + one_sided
        own = clipped
    else:
        expected = (even + none + every) * own
    for place, chances in enumerate(as_priors, start=1):
        expected += chances * _mean(halves, place, law.widths[place])
    low, high = np.minimum(own, clipped - far), np.maximum(own, clipped + far)
    leaned: Floats = np.clip(np.clip(expected, low, high), 0.0, whole)
    return leaned


def _mean(halves: Halves, place: int, width: float) -> Floats:
    """Return what is expected of the left halves that lie around a guess."""
    wide = (width + halves.spreads[place]) * halves.whole**2
    kept = np.divide(wide, wide + halves.variance, out=np.ones_like(wide), where=wide + halves.variance > 0)
    middle: Floats = halves.centres[place] * halves.whole
    middle += kept * (halves.left - middle)
    return middle
