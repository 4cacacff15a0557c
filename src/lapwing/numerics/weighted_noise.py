"""How far weighted sums of discrete Laplace and Gaussian noise go with a given probability: never too little.

Chernoff: for independent Z_i and S = sum of a_i Z_i, ``P(S > t) <= exp(sum of K(u a_i) - u t)`` for every u > 0, with
K the logarithm of the moment generating function, and -S has the same law. Discrete Gaussian noise is sub-Gaussian
with its sigma: ``K(v) <= sigma^2 v^2 / 2``. Discrete Laplace noise, q = exp(-1/s): ``exp K(v) = (1 - q)^2 / ((1 - q
e^v) (1 - q e^-v))`` for |v| < 1/s. Each u gives a valid bound, so it may be looked for with rounding.
"""

import math
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.numerics.noise_tails import sum_tail

_UP: Final = 1 + 1e-9  # more than the relative rounding of these sums
_TRIED: Final = 200  # places of u, of which the best is taken


def weighted_sum_tail(
    kind: Literal["laplace", "gaussian"],
    parameter: Fraction,
    factors: np.ndarray,
    terms: np.ndarray,
    failure: Fraction | float,
) -> float:
    """Return a t with P(|S| > t) <= failure for S the sum of each factor times so many independent noise values.

    Parameters
    ----------
    kind : {"laplace", "gaussian"}
        Discrete Laplace or discrete Gaussian.
    parameter : Fraction
        The scale, or sigma squared; positive.
    factors : ndarray of float64, shape (k,)
        At least 0.
    terms : ndarray of int64, shape (k,)
        Noise values that each factor multiplies, at least 0.
    failure : Fraction or float
        Above 0, below 1.

    Returns
    -------
    float
        Never too small; at a failure of 0.05 about 1.4 (Gaussian) to 2 (Laplace) times the smallest one.

    Raises
    ------
    ParameterError
        If a value is outside its range.

    References
    ----------
    Canonne, Kamath, Steinke (2020), "The Discrete Gaussian for Differential Privacy", Corollary 17 (sub-Gaussian); the
    moment generating function of a two-sided geometric law is a sum of geometric series.

    Examples
    --------
    >>> round(weighted_sum_tail("gaussian", Fraction(25), np.array([1.0, 2.0]), np.array([4, 1]), 0.05), 2)
    38.41
    >>> round(weighted_sum_tail("laplace", Fraction(10), np.array([3.0]), np.array([1]), 0.05), 1)
    90.0
    """
    if parameter <= 0 or not 0 < failure < 1 or (factors < 0).any() or (terms < 0).any():
        raise ParameterError(
            "weighted noise needs a positive parameter, factors and terms from 0 up, 0 < failure < 1", code="LW390"
        )
    is_used = (factors > 0) & (terms > 0)
    used, count = factors[is_used], terms[is_used].astype(np.float64)
    if used.size <= 1:  # no weights to speak of: the tails of plain sums are sharper
        return float(used[0]) * sum_tail(kind, parameter, int(count[0]), failure) * _UP if used.size else 0.0
    budget = math.log(2 / failure)
    if kind == "gaussian":
        return math.sqrt(2 * float(parameter) * float((count * used**2).sum()) * budget) * _UP
    rate = 1 / float(parameter)
    tried = rate / used.max() * np.arange(1, _TRIED) / _TRIED
    placed = np.outer(tried, used)
    # log of (1 - q)^2 / ((1 - q e^v)(1 - q e^-v)), by expm1 so that small rates lose no digits
    logs = 2 * math.log(-math.expm1(-rate)) - np.log(-np.expm1(placed - rate)) - np.log(-np.expm1(-placed - rate))
    return float(((logs @ count + budget) / tried).min()) * _UP
