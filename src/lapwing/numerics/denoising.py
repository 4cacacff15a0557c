"""Wavelet shrinkage: noise of known size taken out of the counts of an ordered column."""

import math

import numpy as np

THRESHOLD = 2.5
"""Detail below so many standard deviations of its noise is taken for noise."""

_LEAST_VALUES = 8  # shorter tables are left alone


def denoised(counts: np.ndarray, sd: float) -> np.ndarray:
    """Return noisy counts of neighbouring cells with the detail that noise explains taken out.

    Parameters
    ----------
    counts : ndarray of integer or float dtype, shape (k,)
        Noisy counts, in the order of the cells; not modified.
    sd : float
        Standard deviation of the noise on each count, at least 0.

    Returns
    -------
    ndarray of float64, shape (k,)
        Smooth where the counts differ by less than noise does; peaks above the noise stay. The counts as they are
        when there are fewer than 8.

    References
    ----------
    Coifman, Donoho (1995), "Translation-invariant de-noising": Haar wavelets with hard thresholds, averaged over all
    shifts. Changed: the counts are reflected at their ends, so that the first and last cells are not neighbours, and
    the threshold is 2.5 standard deviations at every scale.

    Notes
    -----
    Post-processing of noisy counts. Time and memory ``O(k log k)``.

    Examples
    --------
    >>> bool(denoised(np.array([101, 99, 100, 102, 98, 100, 900, 100]), 5.0)[6] > 800)
    True
    """
    values = np.asarray(counts, dtype=np.float64)
    if values.size < _LEAST_VALUES or sd == 0.0:
        return values.copy()
    coarse = np.concatenate((values, values[::-1]))
    details = []
    for scale in range(math.ceil(math.log2(values.size))):
        ahead = np.roll(coarse, -(1 << scale))
        detail, coarse = (coarse - ahead) / 2, (coarse + ahead) / 2
        noise = sd * 2.0 ** (-(scale + 1) / 2)
        details.append(np.where(np.abs(detail) > THRESHOLD * noise, detail, 0.0))
    for scale, detail in reversed(list(enumerate(details))):
        # Each value is an end of two differences; both say what it is, and the mean of the two is taken.
        coarse = (coarse + detail + np.roll(coarse - detail, 1 << scale)) / 2
    return coarse[: values.size]
