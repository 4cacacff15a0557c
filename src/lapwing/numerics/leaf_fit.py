"""Least squares on a binary tree of which only the leaves were measured: non-negative, and mass stays where it was."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class TreeLevel:
    """One level of a binary tree.

    Parameters
    ----------
    parents : ndarray of int64, shape (k,)
        The place of each node's parent on the level above; siblings, at most two, are neighbours. The top level is one
        node, with parent 0.
    is_leaf : ndarray of bool, shape (k,)
        The others have one child or two on the next level.
    """

    parents: np.ndarray
    is_leaf: np.ndarray


def leaf_least_squares(levels: Sequence[TreeLevel], counts: np.ndarray, total: float, threshold: float) -> np.ndarray:
    """Return non-negative masses of the leaves, near their noisy counts, with a given sum.

    Parameters
    ----------
    levels : sequence of TreeLevel
        From the top level down.
    counts : ndarray of int64 or float64, shape (leaves,)
        Unbiased noisy counts of one variance, never clipped: level by level, in order.
    total : float
        The mass of all, at least 0.
    threshold : float
        Leaves with a smaller count get nothing, and their mass goes to their nearest relatives; without effect where no
        leaf reaches it.

    Returns
    -------
    ndarray of float64, shape (leaves,)

    Raises
    ------
    ParameterError
        If the counts are not one per leaf, or the total is negative.

    Notes
    -----
    With leaves alone measured, the least-squares estimate z of a node is the sum of its leaves' counts. Top-down, a
    parent of mass h gives its children ``(h + z0 - z1) / 2``, clipped to 0..h, and the rest, as `tree_least_squares`
    does where all levels are measured; a child without any leaf that reaches the threshold gets nothing. Time
    ``O(nodes)``.

    Examples
    --------
    >>> top = TreeLevel(np.zeros(1, dtype=np.int64), np.array([False]))
    >>> below = TreeLevel(np.zeros(2, dtype=np.int64), np.array([True, True]))
    >>> leaf_least_squares([top, below], np.array([7, -2]), 5.0, 1.0)
    array([5., 0.])
    """
    if sum(int(level.is_leaf.sum()) for level in levels) != counts.size or not total >= 0:
        raise ParameterError(
            "a fit of leaves needs one count per leaf and a total of at least 0; check them", code="LW390"
        )
    estimates, reaches = _sums(levels, counts.astype(np.float64), counts >= threshold)
    if not reaches[0].any():
        reaches = [np.ones(each.size, dtype=bool) for each in reaches]
    masses = np.array([total])
    found = [masses[levels[0].is_leaf]]
    for level, estimate, reached in zip(levels[1:], estimates[1:], reaches[1:], strict=True):
        masses = _shared(masses[level.parents], level.parents, estimate, reached)
        found.append(masses[level.is_leaf])
    return np.concatenate(found)


def _sums(
    levels: Sequence[TreeLevel], counts: np.ndarray, is_full: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return, level by level, the sum of each node's leaves, and whether any of them is full."""
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
    return sums, full


def _shared(mass: np.ndarray, parents: np.ndarray, estimate: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Return what each node gets of its parent's mass."""
    sibling = np.arange(parents.size)
    pairs = np.flatnonzero(parents[1:] == parents[:-1])
    sibling[pairs], sibling[pairs + 1] = pairs + 1, pairs
    half = np.clip((mass + estimate - estimate[sibling]) / 2, 0.0, mass)
    half[sibling == np.arange(parents.size)] = mass[sibling == np.arange(parents.size)]
    other = reached[sibling]
    return np.where(reached == other, half, np.where(reached, mass, 0.0))
