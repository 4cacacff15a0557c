"""Euclidean projection on a simplex: noisy counts become the nearest non-negative ones with a given total."""

import math

import numpy as np

from lapwing.errors import ParameterError


def project_to_simplex(values: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest non-negative array with a given sum.

    values: any integer or float dtype, any shape, at least one entry, finite numbers, such as noisy counts; not
    modified. Returns float64, shape of ``values``, the minimiser of the sum of squared differences to ``values`` among
    non-negative arrays with that sum. It sums to ``total`` up to rounding (a few units in the last place); all zeros
    when ``total`` is 0.

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra (2008), "Efficient projections onto the l1-ball", Figure 1. Changed: the
    values are shifted by their maximum first, so that large noisy counts do not cost digits.

    Time ``O(k log k)``, memory ``O(k)`` for k entries.

    >>> project_to_simplex(np.array([3, -2, 1]), 2.0)
    array([2., 0., 0.])
    """
    shape = np.shape(values)
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    if not math.isfinite(total) or total < 0:
        raise ParameterError(f"the total of a projection must be finite and at least 0, got {total}", code="LW390")
    if flat.size == 0 or not np.isfinite(flat).all():
        raise ParameterError(
            "only one or more finite values can be projected on a simplex; check the values", code="LW390"
        )
    if total == 0:
        return np.zeros(shape)

    shifted = flat - flat.max()
    largest_first = np.sort(shifted)[::-1]
    excess = np.cumsum(largest_first) - total
    ranks = np.arange(1, flat.size + 1)
    # The support is a prefix of the sorted values; its first entry always qualifies because total > 0.
    support = int(np.count_nonzero(largest_first * ranks > excess))
    projected = np.maximum(shifted - excess[support - 1] / support, 0.0)
    # The threshold is rounded; scaling moves the sum back to the total and keeps every zero.
    return np.asarray(projected * (total / projected.sum())).reshape(shape)
