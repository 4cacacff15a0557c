"""What is lost when rows are averaged over the blocks of a partition: covariance, and higher moments."""

import math

import numpy as np

from lapwing.errors import ParameterError

_MOST_ENTRIES = 2**22
"""Entries of a tensor that is written out: 32 MB."""

_NUMBERS_AT_ONCE = 2**22


def block_means(x: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and the means of the blocks of a partition.

    x: float64 (n, p), at least one row. Not modified; labels: int64 (n,), the block of each row, any numbers. Returns
    weights: float64 (k,), share of the rows in each block, in the order of the labels; they sum to 1; means: float64
    (k, p), mean of each block.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", (4.1).

    >>> weights, means = block_means(np.array([[1.0], [3.0], [5.0], [0.0]]), np.array([7, 7, 7, 2]))
    >>> weights.tolist(), means.tolist()
    ([0.25, 0.75], [[0.0], [3.0]])
    """
    _, blocks, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    sums = np.column_stack([np.bincount(blocks, column) for column in x.T]) if x.shape[1] else np.zeros((sizes.size, 0))
    return sizes / len(x), sums / sizes[:, None]


def covariance_loss(x: np.ndarray, labels: np.ndarray) -> float:
    """Return how much covariance is lost by averaging over blocks.

    x: float64 (n, p), at least one row. Not modified; labels: int64 (n,), the block of each row, any numbers. Returns
    the Frobenius norm of the covariance matrix of the rows minus that of the block means, in the squared unit of ``x``;
    at most 1 for rows in the unit ball.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Lemma 3.1: it is the norm of the mean of ``(x - y)(x - y)^T``, which is what we
    compute, because no digits cancel.

    Time ``O(n p^2)``, memory that of the rows.

    >>> covariance_loss(np.array([[1.0], [-1.0], [0.5], [0.5]]), np.array([0, 0, 1, 1]))
    0.5
    """
    _, means = block_means(x, labels)
    rest = x - means[np.unique(labels, return_inverse=True)[1]]
    return float(np.linalg.norm(rest.T @ rest)) / len(x)


def moment_loss(x: np.ndarray, labels: np.ndarray, degree: int) -> float:
    """Return how much of the d-th moment is lost by averaging over blocks.

    x: float64 (n, p), at least one row. Not modified; labels: int64 (n,), the block of each row, any numbers. Returns
    the Euclidean norm of the tensor ``E x^(d) - E y^(d)`` with ``p**d`` entries, y being the block means.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Theorem 3.10.

    See `moment_distance`.

    >>> moment_loss(np.array([[1.0], [0.0]]), np.array([0, 0]), degree=3)
    0.375
    """
    weights, means = block_means(x, labels)
    return moment_distance(x, means, weights, degree)


def moment_distance(x: np.ndarray, points: np.ndarray, weights: np.ndarray, degree: int) -> float:
    """Return the distance of the d-th moment of rows from that of weighted points.

    x: float64 (n, p), at least one row, all of the same weight. Not modified; points: float64 (k, p), not modified;
    weights: float64 (k,), of the points. Returns the Euclidean norm of the difference of two tensors with ``p**d``
    entries.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, (2.1) and Theorem 5.5.

    Up to 4 million entries the tensor is written out: time ``O((n + k) p^d)``. A larger one is not. Its squared norm is
    the sum of ``a_i a_j <u_i, u_j>^d`` over all pairs of rows and points, with weights ``a``: time ``O((n + k)^2 p)``;
    digits cancel there, and distances below 1e-8 of the moments mean nothing. Memory 64 MB beside the rows.

    >>> moment_distance(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.5, 0.5]]), np.array([1.0]), degree=2)
    0.5
    """
    if degree < 1:
        raise ParameterError(f"the degree of a moment must be at least 1, got {degree}", code="LW390")
    atoms = np.concatenate((x, points))
    signed = np.concatenate((np.full(len(x), 1 / len(x)), -weights))
    if x.shape[1] ** degree <= _MOST_ENTRIES:
        return float(np.linalg.norm(_tensor(atoms, signed, degree)))
    return math.sqrt(max(0.0, _squared_norm(atoms, signed, degree)))


def _tensor(atoms: np.ndarray, signed: np.ndarray, degree: int) -> np.ndarray:
    """Return the weighted sum of the atoms' d-th tensor powers as a matrix of p^ceil(d/2) rows."""
    p = atoms.shape[1]
    total = np.zeros((p ** (degree - degree // 2), p ** (degree // 2)))
    step = max(1, _NUMBERS_AT_ONCE // max(1, len(total)))
    for start in range(0, len(atoms), step):
        part = slice(start, start + step)
        half = _power(atoms[part], degree // 2)
        longer = _product(half, atoms[part]) if degree % 2 else half
        total += longer.T @ (half * signed[part, None])
    return total


def _power(atoms: np.ndarray, degree: int) -> np.ndarray:
    """Return each row's tensor power, written as a row."""
    found = np.ones((len(atoms), 1))
    for _ in range(degree):
        found = _product(found, atoms)
    return found


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return each row's tensor product, written as a row."""
    product: np.ndarray = left[:, :, None] * right[:, None, :]
    return product.reshape(len(left), left.shape[1] * right.shape[1])


def _squared_norm(atoms: np.ndarray, signed: np.ndarray, degree: int) -> float:
    """Return the sum of ``a_i a_j <u_i, u_j>^d`` over all pairs of atoms."""
    step = max(1, _NUMBERS_AT_ONCE // len(atoms))
    total = 0.0
    for start in range(0, len(atoms), step):
        part = slice(start, start + step)
        powers = (atoms[part] @ atoms.T) ** degree
        total += float(((powers * signed).sum(axis=1) * signed[part]).sum())
    return total


def separated_rows(blocks: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows that lose covariance with every partition into so many blocks.

    columns: p, at least ``16 * log(2 * blocks)``; only the first ``25 * log(2 * blocks)`` are used, the others are 0.
    Returns float64 (2 * blocks, columns), rows of the unit ball with entries 0 and one other value, any two farther
    apart than 1/2. With every partition into at most ``blocks`` blocks they lose more covariance than
    `least_covariance_loss`.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Proposition 3.14 and Lemma 3.15.

    A draw is separated with a probability of at least 1/2, and is repeated until it is. Time ``O(k^2 log k)``.

    >>> x = separated_rows(4, 40, np.random.default_rng(0))
    >>> loss = covariance_loss(x, np.arange(8) // 2)
    >>> loss > least_covariance_loss(4)
    True
    """
    if blocks < 1 or columns < 16 * math.log(2 * blocks):
        raise ParameterError(
            f"separated rows need at least 1 block and 16 * log(2 * blocks) columns, got {blocks} and {columns}; "
            "use more columns",
            code="LW804",
        )
    used = min(columns, math.floor(25 * math.log(2 * blocks)))
    while True:
        bits = rng.integers(0, 2, (2 * blocks, used)).astype(np.float64)
        ones = bits.sum(axis=1)
        apart = ones[:, None] + ones - 2 * (bits @ bits.T)
        if 4 * apart[~np.eye(2 * blocks, dtype=bool)].min() > used:
            return np.pad(bits / math.sqrt(used), ((0, 0), (0, columns - used)))


def least_covariance_loss(blocks: int) -> float:
    """Return what `separated_rows` lose at least with any partition into so many blocks.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Proposition 3.14.

    >>> round(least_covariance_loss(1000), 5)
    0.00453
    """
    if blocks < 1:
        raise ParameterError(f"a partition needs at least 1 block, got {blocks}", code="LW390")
    return 1 / (80 * math.sqrt(math.log(2 * blocks)))
