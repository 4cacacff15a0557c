"""Signed masses at points: what two weighted samples leave of each other."""

import numpy as np

from lapwing.evaluate.checks import Floats


def merged(points: Floats, masses: Floats) -> tuple[Floats, Floats]:
    """Return the distinct points among several, and the sum of the signed masses of each.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        At least one.
    masses : ndarray of float64, shape (n,)
        Of any sign.

    Returns
    -------
    points : ndarray of float64, shape (k, d)
        Sorted.
    masses : ndarray of float64, shape (k,)

    Examples
    --------
    >>> merged(np.array([[2.0], [1.0], [2.0]]), np.array([0.5, 1.0, -0.5]))
    (array([[1.],
           [2.]]), array([1., 0.]))
    """
    spots, numbers = np.unique(points, axis=0, return_inverse=True)
    # Each side is summed by itself, so that equal samples cancel exactly.
    sides = [np.bincount(numbers.ravel(), np.maximum(sign * masses, 0), len(spots)) for sign in (1, -1)]
    return np.asarray(spots), np.asarray(sides[0] - sides[1], dtype=np.float64)
