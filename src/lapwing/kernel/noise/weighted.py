"""Draws with integer weights, exactly: the noise of a release that sampling protects. See `weighted.proof.md`."""

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ParameterError
from lapwing.kernel.noise.bits import BitSource, checked_size
from lapwing.kernel.noise.selection import uniform_below

LARGEST_TOTAL = 1 << 62


def weighted_draws(weights: NDArray[np.int64], size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw independent indices i, each with probability weights[i] / sum(weights).

    weights: int64 (k,), at least 0, with a sum from 1 to 2^62; bits: secret bits: one word per draw; words are left
    out, and others drawn instead, with probability below sum(weights) / 2^64. Returns int64 (size,).

    Guarantee: the law is exact, not 2^-64-close. How private a draw is depends on how far one unit moves the weights:
    it is all the protection that there is. Time ``O(k + size log k)``.

    >>> from lapwing.kernel.noise.bits import SystemBits
    >>> weighted_draws(np.array([0, 7, 0]), 2, SystemBits()).tolist()
    [1, 1]
    """
    checked_size(size)
    if weights.dtype != np.int64 or weights.ndim != 1 or weights.size == 0 or weights.min() < 0:
        raise ParameterError(
            "weights must be a one-dimensional array of int64, none below 0; convert them", code="LW390"
        )
    # [total] whole numbers of any size: the sum is exact before it is compared.
    total = sum(weights.tolist())
    if not 1 <= total <= LARGEST_TOTAL:
        raise ParameterError("weights must sum to a number from 1 to 2**62; scale them", code="LW390")
    ends = np.cumsum(weights)

    offsets = np.empty(0, dtype=np.int64)
    while offsets.size < size:
        # [again] words that are left out are replaced, until there are enough.
        offsets = np.concatenate((offsets, uniform_below(total, size - offsets.size, bits)))
    # [interval] index i owns the weights[i] offsets from ends[i - 1] to ends[i] - 1.
    return np.searchsorted(ends, offsets, side="right").astype(np.int64)
