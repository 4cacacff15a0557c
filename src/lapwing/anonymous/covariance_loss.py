"""The covariance loss theorem: its partition, and what averaging over blocks loses; the bounds: `lapwing.theorems`.

Numbers are those of Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain"; constants and changes are
explained in `lapwing.theorems.covariance_loss`.
"""

import math

import numpy as np

from lapwing.errors import ParameterError
from lapwing.maths.lattice_net import NetChoice, anonymous_net, nearest_lattice_points


def block_means(x: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and means of the blocks of a partition (4.1), in the order of the labels.

    >>> weights, means = block_means(np.array([[1.0], [3.0], [5.0], [0.0]]), np.array([7, 7, 7, 2]))
    >>> weights.tolist(), means.tolist()
    ([0.25, 0.75], [[0.0], [3.0]])
    """
    _, blocks, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    sums = np.column_stack([np.bincount(blocks, column) for column in x.T]) if x.shape[1] else np.zeros((sizes.size, 0))
    return sizes / len(x), sums / sizes[:, None]


def covariance_loss(x: np.ndarray, labels: np.ndarray) -> float:
    """Return the Frobenius norm of the covariance of the rows minus that of the means of their blocks.

    Lemma 3.1: the norm of the mean of ``(x - y)(x - y)^T``, which is what we compute, because no digits cancel.

    >>> covariance_loss(np.array([[1.0], [-1.0], [0.5], [0.5]]), np.array([0, 0, 1, 1]))
    0.5
    """
    _, means = block_means(x, labels)
    rest = x - means[np.unique(labels, return_inverse=True)[1]]
    return float(np.linalg.norm(rest.T @ rest)) / len(x)


def equipartition(labels: np.ndarray, blocks: int) -> np.ndarray:
    """Return blocks of equal size, each inside one cell but for a few that are pooled from leftovers.

    Exactly ``blocks`` of them, each of ``floor(n / blocks)`` or ``ceil(n / blocks)`` records; records of one cell are
    taken in their order. Section 3.6. What we changed: ``blocks`` need not divide n. The first ``n % blocks`` blocks
    cut have a record more than the others. A cell still leaves over at most ``floor(n / blocks)`` records, so that the
    pool holds at most ``cells / blocks`` of all, as in the paper; and what remains of it are whole blocks.

    Seven records of three cells in three blocks; the second block is pooled from what the cells leave over:

    >>> equipartition(np.array([0, 0, 0, 0, 1, 2, 2]), 3).tolist()
    [0, 0, 0, 2, 2, 1, 1]
    """
    if not 1 <= blocks <= labels.size:
        raise ParameterError(
            f"blocks must be between 1 and the number of records, got {blocks}; use fewer blocks", code="LW390"
        )
    order = np.argsort(labels, kind="stable")
    cells = np.unique(labels, return_counts=True)[1]
    size, larger = divmod(labels.size, blocks)

    taken = np.empty_like(cells)
    still_larger = larger
    for j, records in enumerate(cells):
        with_one_more = min(still_larger, int(records) // (size + 1))
        still_larger -= with_one_more
        rest = int(records) - with_one_more * (size + 1)
        # While larger blocks are still due, what is too small for one of them goes to the pool.
        taken[j] = records - (rest if still_larger else rest % size)

    place_in_cell = np.arange(labels.size) - np.repeat(np.cumsum(cells) - cells, cells)
    pooled = place_in_cell >= np.repeat(taken, cells)
    sizes = np.full(blocks, size)
    sizes[:larger] += 1
    found = np.empty(labels.size, dtype=np.int64)
    found[np.concatenate((order[~pooled], order[pooled]))] = np.repeat(np.arange(blocks), sizes)
    return found


_UNIT = 2**24
"""Rows and eigenvectors are rounded to multiples of 1 / _UNIT, so that products of both stay below 2^53."""

_ROWS_AT_ONCE = 2**16


def theorem_partition(x: np.ndarray, blocks: int) -> np.ndarray:
    """Return blocks of equal size with the covariance loss of the theorem, of rows of norm at most 1.

    Algorithm 1, steps 1-6, and Theorem 4.1. What we changed: ``blocks`` need not divide n (see `equipartition`),
    nearest points are found without a list of the net and decided on integers, and there are no more dimensions than
    columns. Not differential privacy: the blocks are anonymous, and hang on all rows. Below 100 blocks there is no net,
    blocks are cut in the order of the rows, and the bound is trivial. Time ``O(n p^2 + p^3 + n log n)``.

    >>> labels = theorem_partition(np.linspace(-1, 1, 200)[:, None], 100)
    >>> bool((np.bincount(labels) == 2).all())
    True
    """
    if float((x * x).sum(axis=1).max(initial=0.0)) > 1 + 1e-9:
        raise ParameterError(
            "rows of the theorem's partition must have a norm of at most 1; scale them first", code="LW390"
        )
    choice = anonymous_net(max(1, math.isqrt(max(blocks, 0))), x.shape[1])
    return equipartition(_net_cells(x, choice), blocks)


def _net_cells(x: np.ndarray, choice: NetChoice) -> np.ndarray:
    """Return the cell F_j of each row: equal numbers for equal nearest points of the net."""
    if choice.dimensions == 0 or len(x) == 0:
        return np.zeros(len(x), dtype=np.int64)
    # eigh sorts ascending. Dividing by n would not change the vectors.
    leading = np.linalg.eigh(x.T @ x)[1][:, : -choice.dimensions - 1 : -1]
    whole_vectors = np.rint(leading * _UNIT)
    spacing, budget = choice.spacing(_UNIT**2), choice.budget(_UNIT**2)
    points = np.empty((len(x), choice.dimensions), dtype=np.int64)
    for start in range(0, len(x), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        projected = np.rint(x[part] * _UNIT) @ whole_vectors
        points[part] = nearest_lattice_points(projected.astype(np.int64), spacing, budget)
    return np.unique(points, axis=0, return_inverse=True)[1].reshape(-1)
