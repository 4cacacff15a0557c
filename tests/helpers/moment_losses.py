"""Losses of moments, and rows that lose covariance with every partition: what the paper's theorems are held to."""

import math

import numpy as np

from lapwing.anonymous.covariance_loss import block_means

_MOST_ENTRIES = 2**22  # of a tensor that is written out: 32 MB
_NUMBERS_AT_ONCE = 2**22


def moment_loss(x: np.ndarray, labels: np.ndarray, degree: int) -> float:
    """Return the norm of ``E x^(d) - E y^(d)``, y being the means of blocks: what Theorem 3.10 bounds."""
    weights, means = block_means(x, labels)
    return moment_distance(x, means, weights, degree)


def moment_distance(x: np.ndarray, points: np.ndarray, weights: np.ndarray, degree: int) -> float:
    """Return the distance of the d-th moment of rows from that of weighted points: of (2.1) and Theorem 5.5.

    The squared norm of a tensor that is not written out is the sum of ``a_i a_j <u_i, u_j>^d`` over all pairs of rows
    and points, with weights ``a``; digits cancel there, and distances below 1e-8 of the moments mean nothing.
    """
    atoms = np.concatenate((x, points))
    signed = np.concatenate((np.full(len(x), 1 / len(x)), -weights))
    p, total = x.shape[1], 0.0
    if p**degree <= _MOST_ENTRIES:
        # As a matrix of p^ceil(d/2) rows.
        tensor = np.zeros((p ** (degree - degree // 2), p ** (degree // 2)))
        step = max(1, _NUMBERS_AT_ONCE // max(1, len(tensor)))
        for start in range(0, len(atoms), step):
            part = atoms[start : start + step]
            half = np.ones((len(part), 1))
            for _ in range(degree // 2):
                half = _product(half, part)
            longer = _product(half, part) if degree % 2 else half
            tensor += longer.T @ (half * signed[start : start + step, None])
        return float(np.linalg.norm(tensor))
    step = max(1, _NUMBERS_AT_ONCE // len(atoms))
    for start in range(0, len(atoms), step):
        powers = (atoms[start : start + step] @ atoms.T) ** degree
        total += float(((powers * signed).sum(axis=1) * signed[start : start + step]).sum())
    return math.sqrt(max(0.0, total))


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return each row's tensor product, written as a row."""
    product: np.ndarray = left[:, :, None] * right[:, None, :]
    return product.reshape(len(left), left.shape[1] * right.shape[1])


def separated_rows(blocks: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows that lose more than `proposition_3_14` with every partition into so many blocks.

    Proposition 3.14 and Lemma 3.15: ``2 * blocks`` rows of the unit ball, any two farther apart than 1/2, in at least
    ``16 * log(2 * blocks)`` columns, of which the first ``25 * log(2 * blocks)`` are used. A draw is separated with a
    probability of at least 1/2, and is repeated until it is.
    """
    assert columns >= 16 * math.log(2 * blocks)
    used = min(columns, math.floor(25 * math.log(2 * blocks)))
    while True:
        bits = rng.integers(0, 2, (2 * blocks, used)).astype(np.float64)
        ones = bits.sum(axis=1)
        apart = ones[:, None] + ones - 2 * (bits @ bits.T)
        if 4 * apart[~np.eye(2 * blocks, dtype=bool)].min() > used:
            return np.pad(bits / math.sqrt(used), ((0, 0), (0, columns - used)))
