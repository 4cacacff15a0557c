"""The covariance loss theorem: its partition, what averaging over blocks loses, and the bounds on that.

Constants and changes are explained in `lapwing.maths.covariance_bounds`.
"""

import math

import numpy as np

from lapwing.errors import ParameterError
from lapwing.maths.covariance_bounds import net_loss, tensorisation_bound
from lapwing.maths.lattice_net import NetChoice, anonymous_net, nearest_lattice_points, net_size_bound

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


# -- Cut a partition into blocks of equal size at little loss: the divide-and-merge of the covariance loss theorem.


def equipartition(labels: np.ndarray, blocks: int) -> np.ndarray:
    """Return blocks of equal size, each inside one cell but for a few that are pooled from leftovers.

    labels: int64 (n,), the cell F_j of each record. Returns int64 (n,), the block of each record: exactly ``blocks`` of
    them, numbered from 0, each of ``floor(n / blocks)`` or ``ceil(n / blocks)`` records. Records of one cell are taken
    in their order.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Section 3.6. What we changed: ``blocks``
    need not divide n. The first ``n % blocks`` blocks cut have a record more than the others. A cell still leaves over
    at most ``floor(n / blocks)`` records, so that the pool holds at most ``cells / blocks`` of all, as in the paper;
    and the pool is cut without a rest, because what remains are whole blocks.

    Deterministic. Time ``O(n log n)`` for a stable sort of the labels.

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
    """Return blocks of equal size with the covariance loss of the theorem.

    x: float64 (n, p), rows with a Euclidean norm of at most 1. Not modified. Returns int64 (n,), the block of each row,
    0 to ``blocks - 1``, each with ``floor(n / blocks)`` or ``ceil(n / blocks)`` rows.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Algorithm 1, steps 1-6, and Theorem 4.1.
    What we changed: ``blocks`` need not divide n (see `equipartition`), nearest points are found without a list of the
    net and decided on integers, and there are no more dimensions than columns.

    Not differential privacy: the blocks are anonymous, and hang on all rows. How much covariance the block means lose
    at most says `lapwing.maths.covariance_bounds.anonymous_covariance_loss`; below 100 blocks there is no net,
    blocks are cut in the order of the rows, and the bound is trivial. Time ``O(n p^2 + p^3 + n log n)``, memory that of
    the rows and ``3 * n`` more numbers for each dimension.

    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> labels = theorem_partition(x, 100)
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
    """Return the bound on the covariance loss of the best partition into at most so many cells.

    Returns ``alpha^2 + 1 / (2 sqrt(t))``, at most 1, for the net of `anonymous_net`.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Theorem 1.2: ``C sqrt(log log k / log k)``, by ``4 alpha^2 + 1 / sqrt(t)``.

    >>> round(theorem_1_2(1000, 20), 3)
    0.818
    """
    return net_loss(anonymous_net(cells, columns), columns)


def anonymous_covariance_loss(blocks: int, columns: int) -> float:
    """Return how much covariance the theorem's partition into blocks of equal size loses at most.

    Returns ``alpha^2 + 1 / (2 sqrt(t)) + s / k``, at most 1, where the net for ``floor(sqrt(k))`` cells has s points at
    most; for what `lapwing.anonymous.covariance_loss.theorem_partition` returns, its rounding included.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Theorem 1.2 ("moreover") and Theorem 4.1, d = 2. Each of s cells leaves over at
    most a block, merging costs no more than the share of what is merged (Lemma 3.9), and cutting costs nothing (3.8).

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
    """Return how far the d-th moment of equal blocks' means is from that of the rows at most.

    Returns bound on the norm of the tensor ``E X^(d) - E Y^(d)``, weights being the shares of the blocks.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Theorem 4.1: ``4^d sqrt(log log k / log k)``. What we changed: k need not divide
    n. Theorem 4.4 is `lapwing.maths.covariance_bounds.with_drawn_rows` of this, Theorem 4.6 `marginal_error`.

    >>> round(theorem_4_1(10**6, 20, 2), 3)
    0.818
    """
    return tensorisation_bound(anonymous_covariance_loss(blocks, columns), degree)
