"""Sums divided by damped counts, rounded down to multiples of a power of two: whole numbers, exact."""

import numpy as np


def damped_means(sums: np.ndarray, counts: np.ndarray, *, damping: int, unit: int, bits: int) -> np.ndarray:
    """Return ``floor(sums * 2**bits / (max(counts, damping) * unit))``.

    Parameters
    ----------
    sums : ndarray of int64, shape (s, p)
        Row i has absolute values up to ``counts[i] * unit``.
    counts : ndarray of int64, shape (s,)
        At least 0.
    damping : int, at least 1
    unit : int, at least 1
    bits : int, at least 0 and even
        ``max(counts, damping) * unit * 2**(bits // 2)`` is below ``2**63``.

    Returns
    -------
    ndarray of int64, shape (s, p)

    Notes
    -----
    Half of the bits are divided at a time. Shifted by all of them at once, sums of ``2**31`` rows of ``2**12`` would
    leave int64 at 20 bits, and one row could then turn the sign of a mean.

    Examples
    --------
    >>> damped_means(np.array([[3], [-3]]), np.array([1, 4]), damping=2, unit=3, bits=4).tolist()
    [[8], [-4]]
    """
    half = bits // 2
    divisors = (np.maximum(counts, damping) * unit)[:, None]
    whole, rest = np.divmod(sums << half, divisors)
    means: np.ndarray = (whole << half) + (rest << half) // divisors
    return means
