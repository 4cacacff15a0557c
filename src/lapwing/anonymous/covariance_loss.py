"""The covariance loss theorem: its partition, what averaging over blocks loses, and the bounds on that.

Numbers are those of Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain"; constants and changes are
explained in `lapwing.maths.covariance_bounds`.
"""

import math

import numpy as np

from lapwing.errors import ParameterError
from lapwing.maths.covariance_bounds import net_loss, tensorisation_bound
from lapwing.maths.lattice_net import NetChoice, anonymous_net, nearest_lattice_points, net_size_bound


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


_ROUNDING = 2.0**-22
"""What rounding rows and eigenvectors to 2^-24 adds to alpha, for each root of columns times dimensions: four of it."""


def theorem_1_2(cells: int, columns: int) -> float:
    """Return the bound on the covariance loss of the best partition into at most so many cells (Theorem 1.2).

    ``alpha^2 + 1 / (2 sqrt(t))``, at most 1, for the net of `anonymous_net`; the paper: ``C sqrt(log log k / log k)``,
    by ``4 alpha^2 + 1 / sqrt(t)``.

    >>> round(theorem_1_2(1000, 20), 3)
    0.818
    """
    return net_loss(anonymous_net(cells, columns), columns)


def anonymous_covariance_loss(blocks: int, columns: int) -> float:
    """Return how much covariance `theorem_partition` loses at most, its rounding included.

    ``alpha^2 + 1 / (2 sqrt(t)) + s / k``, at most 1, where the net for ``floor(sqrt(k))`` cells has s points at most.
    Theorem 1.2 ("moreover") and Theorem 4.1, d = 2: each of s cells leaves over at most a block, merging costs no more
    than the share of what is merged (Lemma 3.9), and cutting costs nothing (3.8).

    >>> round(anonymous_covariance_loss(10**6, 20), 3)
    0.818
    """
    if blocks < 1:
        raise ParameterError(f"a partition needs at least 1 block, got {blocks}", code="LW390")
    choice = anonymous_net(math.isqrt(blocks), columns)
    points = min(math.isqrt(blocks), math.floor(net_size_bound(choice.dimensions, choice.alpha)))
    rounded = NetChoice(choice.dimensions, choice.alpha + _ROUNDING * math.sqrt(columns * choice.dimensions))
    return min(1.0, net_loss(rounded, columns) + points / blocks)


def theorem_4_1(blocks: int, columns: int, degree: int) -> float:
    """Return how far the d-th moment of equal blocks' means is from that of the rows at most (Theorem 4.1).

    The paper: ``4^d sqrt(log log k / log k)``. k need not divide n. Theorem 4.4 is
    `lapwing.maths.covariance_bounds.with_drawn_rows` of this, Theorem 4.6 `marginal_error`.

    >>> round(theorem_4_1(10**6, 20, 2), 3)
    0.818
    """
    return tensorisation_bound(anonymous_covariance_loss(blocks, columns), degree)
