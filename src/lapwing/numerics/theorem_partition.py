"""The partition of the covariance loss theorem: net cells in the space of a few eigenvectors, cut into equal blocks."""

import math

import numpy as np

from lapwing.errors import ParameterError
from lapwing.numerics.equipartition import equipartition
from lapwing.numerics.lattice_net import nearest_lattice_points
from lapwing.numerics.net_choice import NetChoice, anonymous_net

_UNIT = 2**24
"""Rows and eigenvectors are rounded to multiples of 1 / _UNIT, so that products of both stay below 2^53."""

_ROWS_AT_ONCE = 2**16


def theorem_partition(x: np.ndarray, blocks: int) -> np.ndarray:
    """Return blocks of equal size with the covariance loss of the theorem.

    Parameters
    ----------
    x : ndarray of float64, shape (n, p)
        Rows with a Euclidean norm of at most 1. Not modified.
    blocks : int
        Between 1 and n.

    Returns
    -------
    ndarray of int64, shape (n,)
        The block of each row, 0 to ``blocks - 1``, each with ``floor(n / blocks)`` or ``ceil(n / blocks)`` rows.

    Raises
    ------
    ParameterError
        If ``blocks`` is out of its range, or a row longer than 1.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Algorithm 1, steps 1-6, and Theorem 4.1.
    What we changed: ``blocks`` need not divide n (see `equipartition`), nearest points are found without a list of the
    net and decided on integers, and there are no more dimensions than columns.

    Notes
    -----
    Not differential privacy: the blocks are anonymous, and hang on all rows. How much covariance the block means lose
    at most says `lapwing.numerics.covariance_bounds.anonymous_covariance_loss`; below 100 blocks there is no net,
    blocks are cut in the order of the rows, and the bound is trivial. Time ``O(n p^2 + p^3 + n log n)``, memory that of
    the rows and ``3 * n`` more numbers for each dimension.

    Examples
    --------
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
