"""How far a released table is from the true one, from its noisy counts and the law of their noise.

Write M for the released counts, T for the true ones, N = T + Z for the noisy ones, m, n and ΣN for their sums. The
noise enters by three numbers, each of which is passed with a chance of its own: w, its largest absolute value over the
cells; a, the sum of its absolute values; and s = ΣZ, which is known to lie between two ends.

Counts. ``N - w <= T <= N + w`` and ``T >= 0`` in all cells at once.

Total variation. For any e > 0 put ``A = M e / m`` and ``B = T e / n``; the distance is ``sum of (A - B)+ / e``, and
also ``sum of (B - A)+ / e``. As B and T are multiples of each other, ``sum of (T - B)+`` is ``(n - e)+`` and
``sum of (B - T)+`` is ``(e - n)+``, and ``n = ΣN - s``. The positive parts of the noise add up to ``(a + s) / 2`` at
most, the negative ones to ``(a - s) / 2``. Hence e times the distance is at most each of

- ``sum over A > 0 of (A - N)+  + (a + s) / 2 + (ΣN - e - s)+``,
- ``sum over all cells of (N - A)+  + (a - s) / 2 + (e - ΣN + s)+``,
- ``sum over A > 0 of min(A, (A - N + w)+)  + (ΣN - e - s)+``.

All are convex in s, so largest at one end of its range. The first profits where a fit has pulled the counts down to 0
in empty cells: the noise of these is paid once, not twice. The third does not depend on the number of empty cells. All
hold for every e at once; m and ΣN are tried.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class TableNoise:
    """Hold what is known of the noise of a table, all at once but with some probability.

    Parameters
    ----------
    largest : ndarray of float64, shape (k,)
        Bounds of the absolute noise of each cell.
    absolute : float
        A bound of their sum; infinite where none is known.
    total : tuple of float
        Ends of a range that holds the sum of the noise.
    """

    largest: np.ndarray
    absolute: float
    total: tuple[float, float]


def count_errors(released: np.ndarray, noisy: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return bounds for the differences between released and true counts, of all cells at once.

    Parameters
    ----------
    released : ndarray of float64, shape (k,)
        At least 0.
    noisy : ndarray of int64, shape (k,)
    largest : ndarray of float64, shape (k,)
        Bounds of the absolute noise of each cell that hold together.

    Returns
    -------
    ndarray of float64, shape (k,)
        In rows.

    Examples
    --------
    >>> count_errors(np.array([8.0, 0.0]), np.array([10, -5]), np.array([4.0, 6.0])).tolist()
    [6.0, 1.0]
    """
    lower, upper = np.maximum(noisy - largest, 0.0), np.maximum(noisy + largest, 0.0)
    return np.asarray(np.maximum(released - lower, upper - released))


def variation_bound(released: np.ndarray, noisy: np.ndarray, noise: TableNoise) -> float:
    """Return a bound for the total variation distance between a released table and the true one.

    Parameters
    ----------
    released : ndarray of float64, shape (k,)
        At least 0; only its shares matter.
    noisy : ndarray of int64, shape (k,)
    noise : TableNoise
        Of the same cells.

    Returns
    -------
    float
        0 to 1. It holds where the true table has rows and the noise is as `noise` says.

    Notes
    -----
    Time and memory ``O(k)``. The derivation stands at the top of this module.

    Examples
    --------
    >>> quiet = TableNoise(largest=np.full(2, 5.0), absolute=8.0, total=(0.0, 0.0))
    >>> variation_bound(np.array([60.0, 40.0]), np.array([60, 40]), quiet)
    0.04
    """
    mass, total = float(released.sum()), float(noisy.sum())
    bounds = [1.0]
    for size in (mass, total):
        if mass <= 0 or size <= 0:
            continue
        scaled = released * (size / mass)
        bounds.append(_moved(scaled, noisy, noise, total - size) / size)
    return max(0.0, min(bounds))


def _moved(scaled: np.ndarray, noisy: np.ndarray, noise: TableNoise, gap: float) -> float:
    """Return the least of the three bounds of the module, in rows; `gap` is ΣN - e."""
    low, high = noise.total
    is_held = scaled > 0
    over = scaled[is_held] - noisy[is_held]
    reached = np.minimum(scaled[is_held], np.maximum(over + noise.largest[is_held], 0.0))
    third = float(reached.sum()) + max(gap - low, 0.0)
    if not np.isfinite(noise.absolute):
        return third
    above, below = float(np.maximum(over, 0.0).sum()), float(np.maximum(noisy - scaled, 0.0).sum())
    first = above + noise.absolute / 2 + max(s / 2 + max(gap - s, 0.0) for s in (low, high))
    second = below + noise.absolute / 2 + max(-s / 2 + max(s - gap, 0.0) for s in (low, high))
    return min(first, second, third)
