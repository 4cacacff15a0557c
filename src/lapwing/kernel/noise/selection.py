"""The exponential mechanism on integer scores, exactly. See `selection.proof.md`."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ParameterError
from lapwing.kernel.noise.bernoulli import bernoulli_exp_multiples
from lapwing.kernel.noise.bits import WORD_BITS, BitSource, checked_rational

FIRST_BATCH = 64
LARGEST_BATCH = 1 << 14


def exponential_mechanism(scores: NDArray[np.int64], epsilon: Fraction, sensitivity: int, bits: BitSource) -> int:
    """Choose a candidate i with probability proportional to exp(epsilon scores[i] / (2 sensitivity)).

    scores: int64 (k,), any values, the higher the better; k is public and at least 1; sensitivity: at least 1: the most
    that one privacy unit changes any score; bits: secret bits: about 2 words per attempt; at most k attempts are needed
    on average. Their number depends on the scores, so the time a selection takes is not part of the guarantee.

    Guarantee: epsilon-DP, and epsilon-bounded range, so (epsilon^2 / 8)-zCDP, for the neighbour relation of the
    sensitivity; the law is exact.

    >>> from lapwing.kernel.noise.bits import SystemBits
    >>> exponential_mechanism(np.array([3, 10**6, 5]), Fraction(1), 1, SystemBits())
    1
    """
    if scores.dtype != np.int64 or scores.ndim != 1 or scores.size == 0:
        raise ParameterError(
            "scores must be a one-dimensional array of int64 with at least one candidate; convert them",
            code="LW390",
        )
    if sensitivity < 1:
        raise ParameterError(f"sensitivity must be at least 1, got {sensitivity}", code="LW390")
    unit = checked_rational("epsilon", epsilon) * Fraction(1, 2 * int(sensitivity))

    best = int(scores.argmax())
    # [gap] modulo 2^64 the difference of two int64 is its true value, from 0 to 2^64 - 1.
    unsigned = scores.view(np.uint64)
    attempts = FIRST_BATCH
    while True:
        # [turn] the best candidate plus a uniform offset, modulo k, is uniform.
        candidates = (uniform_below(scores.size, attempts, bits) + best) % scores.size
        accepted = bernoulli_exp_multiples(unsigned[best] - unsigned[candidates], unit, bits)
        hits = np.flatnonzero(accepted)
        if hits.size:
            # [first] the first accepted attempt decides; later ones were never needed.
            return int(candidates[hits[0]])
        attempts = min(2 * attempts, LARGEST_BATCH)


def uniform_below(bound: int, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw at most `size` independent uniform numbers from 0..bound-1; few are missing, and at random.

    Returns int64 (at most size,), a word is left out with probability below bound / 2^64.

    Guarantee: the numbers returned are exactly uniform and independent.
    """
    words = bits.words(size)
    surplus = (1 << WORD_BITS) % bound
    if surplus:
        # [even] the words left fall into `bound` classes of equal size.
        words = words[words < np.uint64((1 << WORD_BITS) - surplus)]
    return (words % np.uint64(bound)).astype(np.int64)
