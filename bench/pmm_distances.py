"""1-Wasserstein distances between a table on the unit cube and a released model; the largest coordinate counts."""

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import coo_matrix, hstack
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.mechanisms.shared.trees.accuracy import noise_tree
from lapwing.mechanisms.shared.trees.simulation import NoiseTree
from lapwing.mechanisms.shared.trees.trees import AxisSplit
from lapwing.model.sampling.marginals import marginal
from lapwing.release.release import Release
from lapwing.schema.groupings.grouping import prefix_grouping

BITS = 32
"""Codes of a real column on [0, 1] are its first 32 binary places."""


def depths(release: Release) -> list[int]:
    """Return how often each column of the tree is halved."""
    return [nested.depth for nested in tree_of(release).question.hierarchies]


def tree_of(release: Release) -> NoisyTree:
    """Return the noisy tree among the answers of a release."""
    return next(answer for answer in release.noisy if isinstance(answer, NoisyTree))


def noise_of(release: Release, *, is_root_exact: bool) -> NoiseTree:
    """Return the tree of a release and its noise, without the counts."""
    noisy = tree_of(release)
    return noise_tree(noisy.question, noisy.noises, release.schema, is_root_exact=is_root_exact)


def shares(release: Release, halvings: list[int]) -> np.ndarray:
    """Return the model's probabilities of the cells of a grid with ``2**halvings`` cells per column."""
    columns = [column.name for column in release.schema.columns]
    groupings = [
        prefix_grouping(release.schema.field(name).domain, BITS - times)
        for name, times in zip(columns, halvings, strict=True)
    ]
    cells = marginal(release.model, columns, groupings)
    regular = cells[tuple(slice(2**times) for times in halvings)]
    return regular / regular.sum()


def data_shares(points: np.ndarray, halvings: list[int]) -> np.ndarray:
    """Return the part of the rows in each cell of the same grid."""
    sides = [2**times for times in halvings]
    index = np.minimum((points * sides).astype(np.int64), np.array(sides) - 1)
    flat = np.ravel_multi_index(tuple(index.T), sides)
    return np.bincount(flat, minlength=int(np.prod(sides))).reshape(sides) / len(points)


def line_distance(points: np.ndarray, release: Release, parts: int = 8) -> float:
    """Return the distance in one dimension, a leaf as ``parts`` points: exact but for its length / (4 parts)."""
    leaves = shares(release, depths(release))
    full = np.flatnonzero(leaves)
    places = (full[:, None] + (np.arange(parts) + 0.5) / parts) / leaves.size
    return float(wasserstein_distance(points[:, 0], places.ravel(), None, np.repeat(leaves[full] / parts, parts)))


def grid_distance(points: np.ndarray, release: Release, halvings: int) -> float:
    """Return the distance in two dimensions after both are moved to the centres of a grid's cells.

    Exact for the grid (a minimal flow along the moves of a chess king); at most one cell's side off the true distance.
    """
    grid = [halvings, halvings]
    return king_flow(data_shares(points, grid) - shares(release, grid))


def king_flow(surplus: np.ndarray) -> float:
    """Return the cost of moving a surplus on a square grid of side 1 to where it is missing, by a linear program."""
    side = surplus.shape[0]
    cells = np.arange(side * side).reshape(side, side)
    pairs = [(cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])]
    pairs += [(cells[:-1, :-1], cells[1:, 1:]), (cells[:-1, 1:], cells[1:, :-1])]
    start = np.concatenate([first.ravel() for first, _ in pairs])
    stop = np.concatenate([second.ravel() for _, second in pairs])
    edges = np.arange(start.size)
    signs = np.repeat([1.0, -1.0], start.size)
    ends = (np.concatenate([start, stop]), np.concatenate([edges, edges]))
    flow = coo_matrix((signs, ends), shape=(cells.size, start.size)).tocsc()
    moves = np.full(2 * start.size, 1 / side)
    solved = linprog(moves, A_eq=hstack([flow, -flow]).tocsc(), b_eq=surplus.ravel(), method="highs-ipm")
    return float(solved.fun)


def assignment(first: np.ndarray, second: np.ndarray) -> float:
    """Return the distance between two sets of equally many points."""
    costs = cdist(first, second, "chebyshev")
    return float(costs[linear_sum_assignment(costs)].mean())


def tree_flow(points: np.ndarray, release: Release) -> float:
    """Return what moving along the tree costs: an upper bound of the distance, without the leaves' own diameter."""
    tree = noise_of(release, is_root_exact=False)
    leaves = depths(release)
    errors = data_shares(points, leaves) - shares(release, leaves)
    flow = 0.0
    for split, sizes in zip(reversed(tree.splits), reversed(tree.diameters[:-1]), strict=True):
        flow += _between_siblings(errors, split, float(sizes.max()))
        errors = np.add.reduceat(errors, np.arange(0, split.children, 2), axis=split.axis)
    return flow


def _between_siblings(errors: np.ndarray, split: AxisSplit, diameter: float) -> float:
    """Return what flows between the halves of all cells, times the cells' diameter."""
    left = np.take(errors, np.arange(0, split.children, 2), axis=split.axis)
    right = np.take(errors, np.arange(1, split.children, 2), axis=split.axis)
    return diameter * float(np.abs(left - right).sum()) / 2
