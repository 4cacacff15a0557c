"""How large the noise of a whole table is with a given probability: its largest value and its absolute sum.

The noise S_c of cell c is a sum of t_c independent values of one law, and cells are independent.

Largest value. ``P(|S_c| <= k_c for all c)`` is the product of the cells' probabilities, so that tails of
``1 - (1 - failure)^(1/cells)`` in each cell give exactly the failure (Šidák's rule; an equality here, not a bound).

Absolute sum. |S_c| is rounded up to multiples of a step h, which only makes the sum larger, and cut at a reach that
any cell passes with a chance of a millionth of the failure, which is charged to it. For few cells the law of the sum of
levels is convolved by Fourier transform on a circle that it leaves with probability below 1e-13 (rounding, below 1e-9,
is charged too). For many cells Chernoff's bound is taken with the best exponent of a list; that is larger than the
exact figure by about ``0.8 / sqrt(cells)`` of it. The tail of one |S_c|, at all multiples of h, is bounded in the ways
of `noise_tails`, except that the law of sums is convolved wherever a million numbers hold it, and that for sums of more
than 8192 wide Laplace values the random variance of the mixture is replaced by one that it passes with probability
1e-15. Cells with different t_c: a sum of more values is less peaked, so that each may be taken as one of
more values; this keeps the number of laws small.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from lapwing.maths.noise_tails import sum_tail

Kind = Literal["laplace", "gaussian"]
Sums = tuple[tuple[int, int], ...]

_LEVELS: Final = 1024
_MOST_LAWS: Final = 8
_CUT: Final = 1e-6
_ROUNDING: Final = 1e-9
_ELSEWHERE: Final = 1e-13
_GAUSSIAN_GAP: Final = 1e-12
_CONVOLVED: Final = 2**18
_CONVOLVED_FROM: Final = 1e-6
_EXACT_VARIANCE: Final = 4**2
_SUMMED_VARIANCE: Final = 64**2
_MOST_EXACT: Final = 2**20
_MOST_MIXED: Final = 2**13
_SPREAD: Final = 1e-15
_FLAT: Final = 1000.0
_UP: Final = 1 + 1e-9
_EXPONENTS: Final = np.geomspace(1e-8, 50.0, 300)


def largest_noise(kind: Kind, parameter: Fraction, sums: Mapping[int, int], failure: Fraction) -> dict[int, int]:
    """Return how far the noise of all cells goes at once, but with the failure probability.

    sums: terms of a cell's noise, at least 1, to the number of such cells, at least 1. Returns for each number of terms
    a k: with probability at least ``1 - failure`` no cell's noise is larger than its k.

    Šidák (1967), "Rectangular confidence regions for the means of multivariate normal distributions"; for independent
    cells it is one line.

    >>> largest_noise("laplace", Fraction(1), {1: 1}, Fraction(1, 20)), largest_noise(
    ...     "laplace", Fraction(1), {1: 100}, Fraction(1, 20)
    ... )
    ({1: 3}, {1: 7})
    """
    cells = sum(sums.values())
    each = -math.expm1(math.log1p(-float(failure)) / cells) * (1 - 1e-12)
    return {terms: sum_tail(kind, parameter, terms, each) for terms in sums}


def absolute_noise(kind: Kind, parameter: Fraction, sums: Mapping[int, int], failure: Fraction) -> float:
    """Return a k that the absolute values of the noise of all cells add up to more than with the failure probability.

    Returns never too small. Larger than the least one by about one percent, and by ``0.8 / sqrt(cells)`` of it for many
    cells.

    Time: about 20 ms for a law, 1 s for sums of many millions.

    >>> absolute_noise("laplace", Fraction(1), {1: 4}, Fraction(1, 20))
    7.0
    """
    return _absolute_noise(kind, Fraction(parameter), tuple(sorted(sums.items())), float(failure))


@lru_cache(maxsize=512)
def _absolute_noise(kind: Kind, parameter: Fraction, sums: Sums, failure: float) -> float:
    """Return the k of `absolute_noise`."""
    sums = _fewer_laws(sums)
    cells = sum(count for _, count in sums)
    reach = max(sum_tail(kind, parameter, terms, failure * _CUT / cells) for terms, _ in sums)
    if reach == 0:
        return 0.0
    levels = min(reach, _LEVELS)
    step = -(-reach // levels)
    # Beyond 2**53 floats are no whole numbers, and far more exact than needed.
    reaches = np.arange(levels) * (step if reach < 2**53 else float(step))
    laws = [_level_law(kind, parameter, terms, reaches) for terms, _ in sums]
    left = failure * (1 - _CUT)
    counts = [count for _, count in sums]
    largest = cells * levels
    most = _chernoff(laws, counts, _ELSEWHERE)
    size = 1 << int(min(most, largest) + levels + 1).bit_length()
    if failure < _CONVOLVED_FROM or size > _CONVOLVED:
        return float(step * min(_chernoff(laws, counts, left), largest))
    return float(step * min(_convolved(laws, counts, left, size), largest))


def _fewer_laws(sums: Sums) -> Sums:
    """Return sums of at most a few different numbers of terms, none smaller than before."""
    if len(sums) <= _MOST_LAWS:
        return sums
    terms = np.array([each for each, _ in sums], dtype=np.float64)
    rank = np.ceil(np.log(terms / terms[0]) / math.log(terms[-1] / terms[0]) * (_MOST_LAWS - 1) - 1e-9)
    found: dict[int, int] = {}
    for place in np.unique(rank):
        inside = np.flatnonzero(rank == place)
        found[sums[inside[-1]][0]] = sum(sums[each][1] for each in inside.tolist())
    return tuple(sorted(found.items()))


def _level_law(kind: Kind, parameter: Fraction, terms: int, reaches: np.ndarray) -> np.ndarray:
    """Return the law of the level of one cell: 0, and j where its noise is above the reach j - 1 and not above j."""
    beyond = np.minimum(_survival(kind, parameter, terms, reaches) * _UP, 1.0)
    # Bounds of a tail fall as it does, but for rounding.
    beyond = np.maximum.accumulate(beyond[::-1])[::-1]
    return np.asarray(np.append(1.0, beyond) - np.append(beyond, 0.0))


def _survival(kind: Kind, parameter: Fraction, terms: int, reaches: np.ndarray) -> np.ndarray:
    """Return upper bounds of P(|S| > k) for a sum of so many values at increasing whole numbers k, the first 0."""
    if kind == "laplace":
        if terms == 1:
            rate = float(min(1 / parameter, Fraction(10**300)))
            return np.asarray(2 * np.exp(-rate * (reaches + 1.0)) / (1 + math.exp(-rate)))
        if terms <= _MOST_EXACT and _circle(kind, parameter, terms) <= _MOST_EXACT:
            return _exact_survival(kind, parameter, terms, reaches)
        return _mixture_survival(parameter, terms, reaches)
    if terms > 1 and parameter < _EXACT_VARIANCE:
        if _circle(kind, parameter, terms) <= _MOST_EXACT:
            return _exact_survival(kind, parameter, terms, reaches)
        return np.asarray(2 * np.exp(-((reaches + 1.0) ** 2) / (2 * terms * float(parameter))))
    gap = _GAUSSIAN_GAP if terms > 1 else 0.0
    return np.asarray(_gaussian_survival(parameter * terms, reaches) + gap)


def _gaussian_survival(variance: Fraction, reaches: np.ndarray) -> np.ndarray:
    """Return upper bounds of P(|Z| > k) for one discrete Gaussian value."""
    from scipy.special import erfc  # noqa: PLC0415

    if variance <= _SUMMED_VARIANCE:
        masses = _masses("gaussian", variance)
        beyond = np.append(2 * np.cumsum(masses[:0:-1])[::-1], 0.0)
        return np.asarray(beyond[np.minimum(reaches, beyond.size - 1)])
    sigma = math.sqrt(variance)
    # Half a unit is gained only where the density is convex.
    shifted = np.where(reaches + 0.5 >= sigma * _UP, reaches + 0.5, reaches)
    return np.asarray(erfc(shifted / (sigma * math.sqrt(2.0))))


def _exact_survival(kind: Kind, parameter: Fraction, terms: int, reaches: np.ndarray) -> np.ndarray:
    """Return P(|S| > k) by convolution, rounding added."""
    size = _circle(kind, parameter, terms)
    masses = _masses(kind, parameter)
    circle = np.zeros(size)
    circle[: masses.size] = masses
    circle[-masses.size + 1 :] = masses[:0:-1]
    law = np.fft.irfft(np.fft.rfft(circle).real ** terms, size)
    beyond = np.append(2 * np.cumsum(law[size // 2 : 0 : -1])[::-1], 0.0)
    return np.asarray(np.maximum(beyond[np.minimum(reaches, beyond.size - 1)], 0.0) + _ROUNDING)


def _circle(kind: Kind, parameter: Fraction, terms: int) -> int:
    """Return so many integers that a sum leaves a circle of them with probability below 1e-13."""
    one = 2 * (sum_tail(kind, parameter, 1, 1e-300) + 1)
    return 1 << max(one, 2 * sum_tail(kind, parameter, terms, _ELSEWHERE)).bit_length()


def _mixture_survival(scale: Fraction, terms: int, reaches: np.ndarray) -> np.ndarray:
    """Return upper bounds of P(|S| > k) from the real Laplace variables of `noise_tails`."""
    from scipy.special import erfc, gammaincc, gammainccinv  # noqa: PLC0415

    wider = 0.5 / math.tanh(float(min(1 / (2 * scale), Fraction(_FLAT))))
    if terms > _MOST_MIXED:
        # One Laplace variable is a normal one whose variance is twice an exponential one, so the sum's is Gamma(terms).
        spread = float(gammainccinv(terms, _SPREAD))
        return np.asarray(erfc((reaches + 0.5) / (2 * wider * math.sqrt(spread))) + 2 * _SPREAD)
    # The weights left out are below exp(-60) in sum.
    count = min(terms - 1, 1 + math.ceil(2 * math.sqrt(60.0 * terms)))
    place = np.arange(count)
    weights = np.cumprod(np.append(1.0, 2.0 * (terms - 1 - place) / (2.0 * terms - 2 - place)))
    weights /= weights.sum()
    shapes = np.arange(1.0, weights.size + 1)
    found = [float(weights @ gammaincc(shapes, each)) for each in ((reaches + 0.5) / wider).tolist()]
    return np.array(found) + 1e-25


def _masses(kind: Kind, parameter: Fraction) -> np.ndarray:
    """Return P(Z = z) for z = 0, 1, ... as far as they are above 1e-300."""
    values = np.arange(sum_tail(kind, parameter, 1, 1e-300) + 2.0)
    rate = float(min(1 / parameter, Fraction(2 * 10**3)))
    masses = np.exp(-rate * values if kind == "laplace" else -rate * values**2 / 2)
    return np.asarray(masses / (2 * masses[:0:-1].sum() + masses[0]))


def _chernoff(laws: list[np.ndarray], counts: list[int], failure: float) -> int:
    """Return a number of levels that cells add up to more than with the failure probability, by Chernoff's bound."""
    from scipy.special import logsumexp  # noqa: PLC0415

    total = np.full(_EXPONENTS.size, -math.log(failure))
    for law, count in zip(laws, counts, strict=True):
        places = np.flatnonzero(law)
        total += count * logsumexp(np.multiply.outer(_EXPONENTS, places), axis=1, b=law[places])
    return int(np.ceil((total / _EXPONENTS).min() * _UP))


def _convolved(laws: list[np.ndarray], counts: list[int], failure: float, size: int) -> int:
    """Return the smallest number of levels of the convolved law that is passed with the failure probability."""
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    for law, count in zip(laws, counts, strict=True):
        transform *= np.fft.rfft(law, size) ** count
    law = np.fft.irfft(transform, size)
    beyond = np.cumsum(law[:0:-1])[::-1] + _ROUNDING
    return int(np.count_nonzero(beyond > failure))
