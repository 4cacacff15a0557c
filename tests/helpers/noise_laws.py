"""Reference laws in floating point, and tests of integer draws against them."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-9
BINS = 24
TAILS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True, slots=True)
class Law:
    """A symmetric law on the integers, by P[Z < z], and inner bin edges of about equal probability."""

    below: Callable[[int], float]
    edges: tuple[int, ...]


def laplace_law(scale: float) -> Law:
    """Return the discrete Laplace law."""
    q = math.exp(-1 / scale)

    def below(z: int) -> float:
        return q ** (1 - z) / (1 + q) if z <= 0 else 1 - math.exp(-z / scale) / (1 + q)

    upper = [math.ceil(-scale * math.log(2 * (1 - part / BINS))) for part in range(BINS // 2, BINS)]
    return Law(below, _symmetric(upper))


def gaussian_law(sigma: float) -> Law:
    """Return the discrete Gaussian law: by summation, or its continuous limit where the two agree to 1e-12."""
    upper = [round(sigma * stats.norm.ppf(part / BINS)) for part in range(BINS // 2, BINS)]
    if sigma > 1e6:
        return Law(lambda z: float(stats.norm.cdf((z - 0.5) / sigma)), _symmetric(upper))

    reach = math.ceil(40 * sigma) + 1
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    total = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    return Law(lambda z: float(total[min(max(z + reach, 0), 2 * reach + 1)]), _symmetric(upper))


def _symmetric(upper: Iterable[int]) -> tuple[int, ...]:
    edges = {max(edge, 1) for edge in upper}
    return tuple(sorted(edges | {1 - edge for edge in edges}))


def alarm(draws: NDArray[np.int64], law: Law) -> float:
    """Return a p-value against the law: the least of a chi-square and of two-sided tails, times their number."""
    inner = [law.below(edge) for edge in law.edges]
    probabilities = np.diff([0.0, *inner, 1.0])
    observed = np.bincount(np.searchsorted(law.edges, draws, side="right"), minlength=probabilities.size)
    p_values = [chi_square(observed, probabilities)]

    magnitudes = np.abs(draws)
    for tail in TAILS:
        reach = 1 + next(edge for edge in _magnitudes(law) if 2 * law.below(-edge) <= tail)
        p_values.append(binomial(int((magnitudes >= reach).sum()), draws.size, 2 * law.below(1 - reach)))
    return min(p_values) * len(p_values)


def _magnitudes(law: Law) -> Iterable[int]:
    """Go up from 0 in steps of a thousandth of the law's width."""
    step = max(1, law.edges[-1] // 1000)
    z = 0
    while True:
        yield z
        z += step


def chi_square(observed: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Return the chi-square p-value, with bins of fewer than 30 expected draws pooled."""
    expected = probabilities * observed.sum()
    rare = expected < 30
    pooled_observed = np.append(observed[~rare], observed[rare].sum())
    pooled_expected = np.append(expected[~rare], expected[rare].sum())
    if pooled_expected[-1] < 30:
        # One pooled bin, too small for chi-square: an exact test of its own.
        p_rare = binomial(int(pooled_observed[-1]), int(observed.sum()), float(probabilities[rare].sum()))
        pooled_observed, pooled_expected = pooled_observed[:-1], pooled_expected[:-1]
        pooled_expected = pooled_expected * pooled_observed.sum() / pooled_expected.sum()
    else:
        p_rare = 1.0
    statistic = float(((pooled_observed - pooled_expected) ** 2 / pooled_expected).sum())
    return min(float(stats.chi2.sf(statistic, max(pooled_expected.size - 1, 1))), p_rare)


def binomial(successes: int, trials: int, probability: float) -> float:
    """Return twice the smaller tail of a binomial count."""
    law = stats.binom(trials, min(max(probability, 0.0), 1.0))
    return min(1.0, 2 * min(float(law.cdf(successes)), float(law.sf(successes - 1))))
