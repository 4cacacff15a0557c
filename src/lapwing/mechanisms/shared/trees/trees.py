"""Trees of noisy counts over nested contingency tables, and their weighted least squares.

A tree of depth ``L`` is a list of ``L + 1`` arrays. Level 0 has one cell; each `AxisSplit` says how the groups of one
axis divide on the next level, every group into two adjacent ones or not at all.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
N = TypeVar("N", np.float64, np.int64, np.bool_)
Selector = slice | Ints

MAX_RUNS: Final = 16
"""Runs of equally divided groups that are visited as slices; with more of them, index arrays are faster."""


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Groups along one axis that divide alike: positions of the parents, and of their children."""

    parents: Selector
    left: Selector
    right: Selector | None


@dataclass(frozen=True, eq=False)
class AxisSplit:
    """How one axis divides between two levels of a tree.

    axis: the axis that divides, at least 0; all others stay as they are; parent: int64 (children,), group above each
    child: starts at 0, grows by 0 or 1, and every group has one child or two.

    >>> split = AxisSplit(0, np.array([0, 0, 1]))
    >>> split.parents, split.children, split.is_binary
    (2, 3, False)
    """

    axis: int
    parent: Ints
    families: tuple[Family, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.axis < 0:
            raise ParameterError(f"the axis of a split must be at least 0, got {self.axis}", code="LW390")
        parent = np.array(self.parent, dtype=np.int64)
        well_formed = parent.ndim == 1 and parent.size > 0 and parent[0] == 0 and np.isin(np.diff(parent), (0, 1)).all()
        counts = np.bincount(parent) if well_formed else np.zeros(1, dtype=np.intp)
        if counts.min() < 1 or counts.max() > 2:
            raise ParameterError(
                "a split must give each group above one child or two, in order; renumber its parents", code="LW390"
            )
        parent.setflags(write=False)
        object.__setattr__(self, "parent", parent)
        object.__setattr__(self, "families", _families(counts))

    @cached_property
    def of_tables(self) -> "AxisSplit":
        """The same split behind a first axis of several tables."""
        return AxisSplit(self.axis + 1, self.parent)

    @property
    def parents(self) -> int:
        """Number of groups above."""
        return int(self.parent[-1]) + 1

    @property
    def children(self) -> int:
        """Number of groups below."""
        return len(self.parent)

    @property
    def is_binary(self) -> bool:
        """Whether every group has two children."""
        return self.children == 2 * self.parents

    def at(self, array: npt.NDArray[Any], places: Selector) -> npt.NDArray[Any]:
        """Return the cells at some positions along the axis; a view where ``places`` is a slice."""
        return array[(slice(None),) * self.axis + (places,)]

    def put(self, array: npt.NDArray[Any], places: Selector, values: npt.NDArray[Any]) -> None:
        """Write cells at some positions along the axis."""
        array[(slice(None),) * self.axis + (places,)] = values

    @property
    def dividing(self) -> tuple[Family, ...]:
        """The groups that divide in two."""
        return tuple(each for each in self.families if each.right is not None)

    def halves(self, array: npt.NDArray[Any], family: Family) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the cells of the left and of the right children of groups that divide in two."""
        assert family.right is not None
        return self.at(array, family.left), self.at(array, family.right)

    def divided(self, above: npt.NDArray[N], lefts: Sequence[npt.NDArray[N]]) -> npt.NDArray[N]:
        """Return the children's numbers: an only one has its parent's, a left one as given, a right one the rest."""
        below, given = np.empty(self.below(above.shape), dtype=above.dtype), iter(lefts)
        for family in self.families:
            whole = self.at(above, family.parents)
            left = whole if family.right is None else next(given)
            self.put(below, family.left, left)
            if family.right is not None:
                self.put(below, family.right, whole - left)
        return below

    def above(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the level above one of this shape."""
        return (*shape[: self.axis], self.parents, *shape[self.axis + 1 :])

    def below(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the level below one of this shape."""
        return (*shape[: self.axis], self.children, *shape[self.axis + 1 :])


def _families(counts: npt.NDArray[np.integer]) -> tuple[Family, ...]:
    starts = np.cumsum(counts) - counts
    edges = [0, *(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    if len(edges) - 1 > MAX_RUNS:
        two, one = np.flatnonzero(counts == 2), np.flatnonzero(counts == 1)
        return Family(two, starts[two], starts[two] + 1), Family(one, starts[one], None)
    return tuple(
        _run(slice(start, stop), int(starts[start]), int(counts[start])) for start, stop in itertools.pairwise(edges)
    )


def _run(parents: slice, first: int, arity: int) -> Family:
    size = parents.stop - parents.start
    if arity == 1:
        return Family(parents, slice(first, first + size), None)
    stop = first + 2 * size
    return Family(parents, slice(first, stop, 2), slice(first + 1, stop, 2))


def along(values: npt.NDArray[N], axis: int, axes: int) -> npt.NDArray[N]:
    """Return a vector as an array that varies along one axis."""
    return values.reshape((1,) * axis + (-1,) + (1,) * (axes - axis - 1))


def level_shapes(splits: Sequence[AxisSplit], axes: int) -> list[tuple[int, ...]]:
    """Return the shape of every level of a tree.

    >>> level_shapes([AxisSplit(0, np.array([0, 0])), AxisSplit(1, np.array([0, 0]))], 2)
    [(1, 1), (2, 1), (2, 2)]
    """
    shapes: list[tuple[int, ...]] = [(1,) * axes]
    for level, split in enumerate(splits, start=1):
        if split.axis >= axes or split.parents != shapes[-1][split.axis]:
            raise ParameterError(
                f"split {level} divides {split.parents} groups of axis {split.axis}, the table has shape {shapes[-1]}; "
                "give the splits from the root downwards",
                code="LW390",
            )
        shapes.append(split.below(shapes[-1]))
    return shapes


def pooled_variances(level_variances: Sequence[float]) -> list[float]:
    """Return the variance of the pooled estimate on each level of a tree in which every node has two children.

    level_variances: noise variance of each level, in squared records; inf on a level without noisy counts, 0 for an
    exact root. The last one must be finite. Returns ``s_j`` of ``1/s_j = 1/v_j + 1/(2 s_{j+1})``; an upper bound for
    each node where some have a single child.

    >>> pooled_variances([0.0, math.inf, 2.0])
    [0.0, 4.0, 2.0]
    """
    _check_variances(level_variances)
    pooled = [float(level_variances[-1])]
    for variance in reversed(level_variances[:-1]):
        pooled.append(_combined(variance, np.array(2 * pooled[-1]))[0].item())
    return pooled[::-1]


def _check_variances(variances: Sequence[float]) -> None:
    if not all(variance >= 0 for variance in variances):
        raise ParameterError(
            "the noise variance of a level must be at least 0; give inf for a level without counts", code="LW390"
        )
    if not variances or math.isinf(variances[-1]):
        raise ParameterError(
            "the deepest level must have noisy counts; end the tree on a level with budget", code="LW390"
        )


def _combined(variance: float, below: Floats) -> tuple[Floats, Floats]:
    """Pool a node's own count with the sum of its children: the variance, and the weight of its own count."""
    if math.isinf(variance):
        return below, np.zeros_like(below)
    total = variance + below
    # Two exact values agree, so their weights do not matter.
    own = np.divide(below, total, out=np.ones_like(total), where=total > 0)
    return variance * own, own


def node_variances(
    splits: Sequence[AxisSplit], variances: Sequence[float], axes: int
) -> tuple[list[Floats], list[Floats]]:
    """Return, for each level, the pooled variances of its cells and the weights of their own counts.

    Returns tuple of two lists of float64, arrays that broadcast against their level: an axis along which all cells
    agree has length 1.
    """
    _check_variances(variances)
    pooled, own = np.full((1,) * axes, float(variances[-1])), np.ones((1,) * axes)
    spreads, weights = [pooled], [own]
    for split, variance in zip(reversed(splits), reversed(variances[:-1]), strict=True):
        if split.is_binary and pooled.shape[split.axis] == 1:
            below = 2 * pooled
        else:
            below = _sums(np.broadcast_to(pooled, split.below(pooled.shape)), split)
        pooled, own = _combined(variance, below)
        spreads.append(pooled)
        weights.append(own)
    return spreads[::-1], weights[::-1]


def _sums(cells: Floats, split: AxisSplit) -> Floats:
    """Sum the children of each cell above."""
    sums = np.empty(split.above(cells.shape))
    for family in split.families:
        left = split.at(cells, family.left)
        split.put(sums, family.parents, left if family.right is None else left + split.at(cells, family.right))
    return sums


def left_weight(spreads: Floats, split: AxisSplit, family: Family) -> Floats | float:
    """Return which part of a parent's surplus the left children take: in proportion to the pooled variances."""
    if family.right is None or spreads.shape[split.axis] == 1:
        return 0.5
    left, right = split.halves(spreads, family)
    weight: Floats = np.divide(left, left + right, out=np.full(left.shape, 0.5), where=left + right > 0)
    return weight


def pooled_estimates(
    levels: Sequence[npt.NDArray[Any] | None], splits: Sequence[AxisSplit], weights: Sequence[Floats]
) -> list[Floats]:
    """Return the best linear estimate of each cell from the noisy counts of its own subtree, bottom-up."""
    leaf = levels[-1]
    assert leaf is not None  # checked with the variances
    estimates = [leaf.astype(np.float64)]
    for noisy, split, weight in zip(reversed(levels[:-1]), reversed(splits), reversed(weights[:-1]), strict=True):
        pooled = _sums(estimates[-1], split)
        if noisy is not None:
            pooled += weight * (noisy - pooled)
        estimates.append(pooled)
    return estimates[::-1]


def tree_least_squares(
    levels: Sequence[npt.NDArray[Any] | None], splits: Sequence[AxisSplit], variances: Sequence[float]
) -> list[Floats]:
    """Fit non-negative consistent counts to a tree of noisy counts.

    levels: sequence of int64 or None, raw noisy counts of the ``L + 1`` levels, never clipped; None where a level was
    not asked for; variances: noise variance of each level: inf where there are no counts, 0 for an exact root; the last
    one finite. Returns list of float64, counts of each level, all at least 0, children summing to their parent (to
    float accuracy).

    Bottom-up, each cell's own count and the sum of its children's estimates are pooled by inverse variance. Top-down,
    with ``h`` the final count of the parent (the root's is ``max(0, z)``), the children become ``(h ± clip(z_0 - z_1,
    -h, h)) / 2``; where single-child nodes make the pooled variances unequal, each child takes of the surplus
    ``h - z_0 - z_1`` in proportion to its variance, and a single child takes ``h``. Where nothing is clipped this is
    the generalised least-squares solution (Hay et al. 2010). Time and memory O(nodes).

    >>> fit = tree_least_squares([np.array([8]), np.array([9, 1])], [AxisSplit(0, np.array([0, 0]))], [1.0, 1.0])
    >>> [level.round(3).tolist() for level in fit]
    [[8.667], [8.333, 0.333]]
    """
    axes = check_levels(levels, splits, variances)
    spreads, weights = node_variances(splits, variances, axes)
    estimates = pooled_estimates(levels, splits, weights)
    estimates[0] = np.maximum(estimates[0], 0.0)
    for level, split in enumerate(splits):
        # The estimates of a level are not needed any more once its fit is known.
        estimates[level + 1] = _divided(estimates[level], estimates[level + 1], split, spreads[level + 1])
    return estimates


def linear_fit(
    levels: Sequence[npt.NDArray[Any] | None], splits: Sequence[AxisSplit], variances: Sequence[float], axes: int
) -> list[Floats]:
    """Return the generalised least-squares fit of a tree, counts below 0 and all: linear in the noisy counts."""
    spreads, weights = node_variances(splits, variances, axes)
    fit = pooled_estimates(levels, splits, weights)
    for level, split in enumerate(splits):
        fit[level + 1] = _divided(fit[level], fit[level + 1], split, spreads[level + 1], least=-np.inf)
    return fit


def _divided(above: Floats, estimates: Floats, split: AxisSplit, spreads: Floats, least: float = 0.0) -> Floats:
    """Divide final counts between children by their estimates; of two children none gets less than the least."""
    lefts = []
    for family in split.dividing:
        whole, (first, second) = split.at(above, family.parents), split.halves(estimates, family)
        part = whole - first
        part -= second
        part *= left_weight(spreads, split, family)
        part += first
        if least > -math.inf:
            np.maximum(part, least, out=part)
            np.minimum(part, whole - least, out=part)
        lefts.append(part)
    return split.divided(above, lefts)


def check_levels(
    levels: Sequence[npt.NDArray[Any] | None], splits: Sequence[AxisSplit], variances: Sequence[float]
) -> int:
    """Check that levels, splits and variances describe one tree, and return its number of axes."""
    if not len(levels) == len(splits) + 1 == len(variances):
        raise ParameterError(
            f"a tree of {len(splits)} splits needs {len(splits) + 1} levels and variances, "
            f"got {len(levels)} and {len(variances)}",
            code="LW390",
        )
    _check_variances(variances)
    for level, (counts, variance) in enumerate(zip(levels, variances, strict=True)):
        if (counts is None) != math.isinf(variance):
            raise ParameterError(
                f"level {level} must have either noisy counts and a finite variance, or neither", code="LW390"
            )
    leaf = levels[-1]
    assert leaf is not None
    for level, (counts, shape) in enumerate(zip(levels, level_shapes(splits, leaf.ndim), strict=True)):
        if counts is not None and counts.shape != shape:
            raise ParameterError(
                f"level {level} must have shape {shape}, got {counts.shape}; give one cell per group", code="LW390"
            )
    return leaf.ndim
