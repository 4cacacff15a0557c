"""How far the mean of many noisy numbers of one quantity is from it; earlier noise may have chosen the later ones.

Let ``Y_i = n + S_i``, where S_i is the sum of t_i values of a noise law that is fixed, like the weight w_i, before S_i
is drawn, but perhaps with a look at S_1, ..., S_(i-1). Write ``L_i(x) = log E exp(x S_i)``. For every x,
``exp(x sum of w_i S_i - sum of L_i(x w_i))`` is a non-negative supermartingale that starts at 1, also where L_i is
replaced by something larger. So is its mean over x and -x and over a list of x with fixed shares p; by Ville's
inequality it never reaches ``1 / failure`` but with probability ``failure``, however many numbers follow and whatever
ends them. So ``|sum of w_i S_i| < m`` where ``sum over x of p_x cosh(x m) exp(-sum of L_i(x w_i)) = 1 / failure``.
As ``sum of w_i Y_i = n sum of w_i + sum of w_i S_i``, the weighted mean is within ``m / sum of w_i`` of n.

Weights are one over the variances, in units of the first: what is known grows with every number, and the best x falls
with it. The list of x has the shares of a normal law (Robbins), so that the bound is near the best for any number of
answers: about 3.3 standard deviations of the pooled mean at a failure of .025, where 2.2 would do had all been fixed in
advance.

- Discrete Laplace of scale s: ``L(x) = t log(sinh(1/(2s))^2 / (sinh((1/s - x)/2) sinh((1/s + x)/2)))`` for
  ``|x| < 1/s``; infinite, which adds nothing to the sum, from there on.
- Discrete Gaussian: ``L(x) <= t sigma^2 x^2 / 2`` (Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential
  Privacy", 2020, Fact 18).

Ville, "Étude critique de la notion de collectif", 1939; Robbins, "Statistical methods related to the law of the
iterated logarithm", 1970.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

_LARGEST_X: Final = 6.0  # in units of one over the first standard deviation
_DOUBLINGS: Final = 4
_XS: Final = _LARGEST_X * 2.0 ** (-np.arange(96) / _DOUBLINGS)
_SPREAD: Final = 1.4  # of the normal law of x: best where all numbers together are worth about four of the first
_LOG_SHARES: Final = np.log(_XS / (_XS * np.exp(-((_XS / _SPREAD) ** 2) / 2)).sum()) - (_XS / _SPREAD) ** 2 / 2
_LEAST_VARIANCE: Final = 1e-9
_LARGEST_RATE: Final = 700.0
_STEPS: Final = 60
_UP: Final = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class NoisyNumber:
    """Hold a noisy number: `value` carries the sum of `terms` independent values of one noise law."""

    value: float
    kind: Literal["laplace", "gaussian"]
    parameter: Fraction
    terms: int
    sd: float

    @property
    def variance(self) -> float:
        """The variance of its noise, or a little more."""
        return max(self.terms * self.sd**2, _LEAST_VARIANCE)


def pooled_number(numbers: Sequence[NoisyNumber], failure: Fraction) -> tuple[float, float]:
    """Return the weighted mean of noisy numbers of one quantity, and how far it is from that.

    numbers: in the order in which they were drawn, at least one. Returns mean, reach: the mean is further from the
    quantity than the reach with probability ``failure`` at most; infinite where nothing is known.

    >>> one = NoisyNumber(100.0, "gaussian", Fraction(400), 1, 20.0)
    >>> [round(pooled_number([one] * many, Fraction(1, 20))[1], 1) for many in (1, 4, 16, 64)]
    [65.4, 30.4, 15.6, 8.3]
    """
    variances = np.array([each.variance for each in numbers])
    weights = variances[0] / variances
    unit = math.sqrt(variances[0])
    steps = np.stack([_log_growth(each, _XS * weight / unit) for each, weight in zip(numbers, weights, strict=True)])
    logs = _LOG_SHARES - steps.sum(axis=0)
    whole, most = float(weights.sum()), math.log(1 / failure)
    mean = float(weights @ np.array([each.value for each in numbers])) / whole
    if not np.isfinite(logs).any():  # of Laplace noise that is a million times smaller than the first
        return mean, math.inf

    def log_mean(reach: float) -> float:
        return float(np.logaddexp.reduce(logs + np.logaddexp(_XS * reach, -_XS * reach) - math.log(2.0)))

    low, high = 0.0, 1.0
    while log_mean(high) < most:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_mean(middle) < most else (low, middle)
    return mean, high * _UP * unit / whole


def _log_growth(number: NoisyNumber, x: np.ndarray) -> np.ndarray:
    """Return log E exp(x S), or more: float64, the shape of x; infinite where it has no end."""
    if number.kind == "gaussian":
        return np.asarray(number.terms * float(number.parameter) * x**2 / 2)
    rate = min(1 / float(number.parameter), _LARGEST_RATE)  # wider noise than rare one has more
    found = np.full(x.shape, np.inf)
    inside = x[x < rate]
    found[x < rate] = number.terms * (
        2 * _log_sinh(np.array(rate)) - _log_sinh(rate - inside) - _log_sinh(rate + inside)
    )
    return found


def _log_sinh(x: np.ndarray) -> np.ndarray:
    """Return log(2 sinh(x / 2))."""
    return np.asarray(x / 2 + np.log(-np.expm1(-x)))
