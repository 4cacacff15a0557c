"""How far discrete Laplace and Gaussian noise, and sums of it, go with a given probability: never too little.

One value. Laplace, q = exp(-1/s): ``P(|Z| > k) = 2 q^(k+1) / (1 + q)``. Gaussian: the sum over the integers up to
sigma = 64; beyond, the normaliser is at least ``sigma sqrt(2 pi)`` (Poisson summation: all terms are positive) and a
convex term is at most its integral over the unit around it, so ``P(|Z| > k) <= erfc((k + 1/2) / (sigma sqrt 2))``
for ``k + 1/2 >= sigma``; where k is smaller, terms that fall are at most the integral over the unit before them.

Sum S of t values. Small scales (s <= 8, sigma < 4): convolved exactly, on a circle that S leaves with probability
below 1e-13, by Fourier transform; the rounding, below 1e-9, is charged to the failure. Larger ones:

- Laplace. With U uniform on (-1/2, 1/2), ``P(|Z + U| > k + x) = q^k (1 - 2 x h)``, h = tanh(1 / (2s)), |x| <= 1/2.
  As ``2 h <= 1 / s`` and ``1 - y <= exp(-y)``, that is at most ``exp(-2 h (k + x))``: the tail of a real Laplace
  variable L of scale ``1 / (2 h)``, larger than s by a factor below ``1 + 1 / (12 s^2)``. For integer k, ``P(|S| > k)``
  = ``P(|S + U| > k + 1/2)``. Adding an independent symmetric unimodal variable, or replacing one by a less peaked one,
  makes a sum less peaked (Anderson; Birnbaum): it is at most ``P(|sum of Z_i + U_i| > k + 1/2)``, and that at most
  ``P(|sum of L_i| > k + 1/2)``. The last law is a mixture: |sum of L_i| over their scale is Gamma(j + 1) with weight
  ``C(2t - 2 - j, t - 1) 2^(j - 2t + 2)``, j = 0..t-1 (Fourier inversion of ``(1 + u^2)^-t``), all positive.
- Gaussian. The transform of the law is ``A(u) / A(0)``, ``A(u) = sum over m of exp(-sigma^2 (u + 2 pi m)^2 / 2)``
  (Poisson). For sigma >= 4 and t >= 2 its t-th power is within 1e-16 of the one of a discrete Gaussian of variance
  t sigma^2: for |u| <= pi/2 the terms m != 0 are below 3 exp(-pi^2 sigma^2), a relative difference of t times that;
  for larger |u| both are below ``2.1^t exp(-t sigma^2 pi^2 / 8)`` < 1e-16. So the two laws differ by less than 1e-16
  on each integer, by less the larger t sigma^2 is, and by less than 1e-12 over 40 standard deviations.
- Failures below 1e-8: the same for Laplace at every scale; Gaussian by Chernoff, ``2 exp(-(k + 1)^2 / (2 t sigma^2))``.
"""

import math
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist
from typing import Final, Literal

import numpy as np

from lapwing.errors import ParameterError

Failure = Fraction | float

_DIGITS: Final = 60
_SLACK: Final = Decimal("1e-40")
_LEAST_FAILURE: Final = 1e-300
_LARGEST: Final = 2**120
_MOST_TERMS: Final = 2**30
_SUMMED_VARIANCE: Final = 64**2  # one Gaussian value: summed up to here
_REACH: Final = 40  # standard deviations; exp(-40^2 / 2) is below 1e-340
_FLAT: Final = 1000  # exp(-1000) is below 1e-340 too
_UP: Final = 1 + 1e-12  # more than the relative rounding of sums of positive floats and of special functions
_MIXTURE_UP: Final = 1 + 1e-9  # the same for running products of up to 2^20 factors
_STEP: Final = 1e-10
_EXPONENT: Final = 700.0  # the exponential of more is no float
_CONVOLVED_FROM: Final = 1e-8
_CONVOLVED_TERMS: Final = 2**17
_CONVOLVED_SCALE: Final = 8
_CONVOLVED_VARIANCE: Final = 4**2
_ROUNDING: Final = 1e-9  # absolute; a power of a transform of values rounded by 5e-16 errs by terms * 5e-16
_ELSEWHERE: Final = 1e-13
_GAUSSIAN_GAP: Final = 1e-12
_TRIED: Final = 200  # exponents of a weighted sum, of which the best is taken


def sum_tail(kind: Literal["laplace", "gaussian"], parameter: Fraction, terms: int, failure: Failure) -> int:
    """Return a k with P(|Z_1 + ... + Z_terms| > k) <= failure for independent noise of one law.

    parameter: the scale, ``P[Z = z]`` being proportional to ``exp(-|z| / scale)``, or sigma squared; positive, at most
    2**120. Returns never too small. Of one term it is the smallest one, or for sigma beyond 64 perhaps 1 or one part in
    10**12 more; of several, from a failure of 1e-8 on, that or larger by 2 and by a part in 700 at most, except for
    small scales with so many terms that the exact convolution would not fit 2**22 numbers.

    Anderson (1955), "The integral of a symmetric unimodal function"; Birnbaum (1948), "On random variables with
    comparable peakedness". The derivation stands at the top of this module.

    Time: below 0.5 s; below 10 ms for up to 1,000 terms.

    >>> [sum_tail("laplace", Fraction(1), terms, Fraction(1, 20)) for terms in (1, 4)]
    [3, 5]
    >>> [sum_tail("gaussian", Fraction(25), terms, 0.05) for terms in (1, 4)]
    [10, 20]
    """
    if not 1 <= terms <= _MOST_TERMS:
        raise ParameterError(
            f"a sum of noise has from 1 to 2**30 terms, got {terms}; count the noisy numbers", code="LW390"
        )
    parameter, failure = _checked(parameter, failure)
    one = _laplace_tail if kind == "laplace" else _gaussian_tail
    # Each term beyond its own tail with probability failure / terms at most: better than the rest where noise is rare.
    apart = terms * one(parameter, failure / terms)
    return apart if apart == 0 or terms == 1 else min(apart, _joint_tail(kind, parameter, terms, float(failure)))


def _joint_tail(kind: str, parameter: Fraction, terms: int, failure: float) -> int:
    """Return a k for a sum of 2 terms or more."""
    rough = _mixture_tail if kind == "laplace" else _chernoff_tail
    limit = _CONVOLVED_SCALE if kind == "laplace" else _CONVOLVED_VARIANCE
    if failure >= _CONVOLVED_FROM and parameter < limit and terms <= _CONVOLVED_TERMS:
        masses = (_laplace_masses if kind == "laplace" else _gaussian_masses)(parameter)
        # The sum leaves the circle with probability below 1e-13.
        size = max(2 * rough(parameter, terms, _ELSEWHERE), 2 * masses.size)
        return _convolved_tail(masses, terms, failure, 1 << size.bit_length())
    if kind == "gaussian" and failure >= _CONVOLVED_FROM and parameter >= _CONVOLVED_VARIANCE:
        return _gaussian_tail(parameter * terms, Fraction(failure - _GAUSSIAN_GAP))
    return rough(parameter, terms, failure)


def _laplace_tail(scale: Fraction, failure: Fraction) -> int:
    """Return the smallest k for one discrete Laplace value, computed with 60 digits more than it has."""
    with localcontext(Context(prec=_DIGITS + len(str(int(scale))))):
        exact = Decimal(scale.numerator) / Decimal(scale.denominator)
        q = (-1 / exact).exp()
        allowed = Decimal(failure.numerator) / Decimal(failure.denominator)
        # 2 q^(k+1) / (1 + q) <= failure, solved for k + 1.
        least = exact * (2 / ((1 + q) * allowed)).ln() * (1 + _SLACK)
        return max(int(least.to_integral_value(ROUND_CEILING)) - 1, 0)


def _gaussian_tail(sigma_squared: Fraction, failure: Fraction) -> int:
    """Return a k for one discrete Gaussian value."""
    allowed = float(failure)
    if sigma_squared > _SUMMED_VARIANCE:
        return _wide_gaussian_tail(math.sqrt(sigma_squared), allowed)
    masses = _gaussian_masses(sigma_squared)
    beyond = 2 * np.cumsum(masses[:0:-1])[::-1] * _UP
    return int(np.count_nonzero(beyond > allowed))


def _wide_gaussian_tail(sigma: float, failure: float) -> int:
    """Return a k from the tail of a real Gaussian."""
    reach = sigma * -NormalDist().inv_cdf(failure / 2) * _UP
    # Half a unit is gained only where the density is convex.
    return math.ceil(reach - 0.5 if reach >= sigma * _UP else reach)


def _mixture_tail(scale: Fraction, terms: int, failure: float) -> int:
    """Return a k from the sum of real Laplace variables that is less peaked than the sum of the noise."""
    # The weights left out are below failure * exp(-50) in sum: weight j is at most exp(-j (j - 1) / (4 terms)) of the
    # first.
    count = min(terms - 1, 1 + math.ceil(2 * math.sqrt(terms * (50 - math.log(failure)))))
    place = np.arange(count)
    weights = np.cumprod(np.append(1.0, 2.0 * (terms - 1 - place) / (2.0 * terms - 2 - place)))
    weights /= weights.sum()
    shapes = np.arange(1.0, count + 2)

    def is_rare(reach: float) -> bool:
        return float((weights * gamma_tails(shapes, reach)).sum()) * _MIXTURE_UP <= failure

    high = 1.0
    while not is_rare(high):
        high *= 2
    low = 0.0 if high == 1.0 else high / 2
    while high - low > _STEP * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_rare(middle) else (middle, high)
    wider = 0.5 / math.tanh(float(min(1 / (2 * scale), Fraction(_FLAT))))
    return max(math.ceil(high * wider * _UP - 0.5), 0)


def weighted_sum_tail(
    kind: Literal["laplace", "gaussian"],
    parameter: Fraction,
    factors: np.ndarray,
    terms: np.ndarray,
    failure: Failure,
) -> float:
    """Return a t with P(|S| > t) <= failure for S the sum of each factor times so many independent noise values.

    factors: float64 (k,), at least 0; terms: int64 (k,), noise values that each factor multiplies, at least 0. Returns
    never too small; at a failure of 0.05 about 1.4 (Gaussian) to 2 (Laplace) times the smallest one.

    References
    ----------
    Canonne, Kamath, Steinke (2020), "The Discrete Gaussian for Differential Privacy", Corollary 17 (sub-Gaussian); the
    moment generating function of a two-sided geometric law is a sum of geometric series.

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
        return float(used[0]) * sum_tail(kind, parameter, int(count[0]), failure) * _MIXTURE_UP if used.size else 0.0
    budget = math.log(2 / failure)
    if kind == "gaussian":
        return math.sqrt(2 * float(parameter) * float((count * used**2).sum()) * budget) * _MIXTURE_UP
    rate = 1 / float(parameter)
    tried = rate / used.max() * np.arange(1, _TRIED) / _TRIED
    placed = np.outer(tried, used)
    # log of (1 - q)^2 / ((1 - q e^v)(1 - q e^-v)), by expm1 so that small rates lose no digits
    logs = 2 * math.log(-math.expm1(-rate)) - np.log(-np.expm1(placed - rate)) - np.log(-np.expm1(-placed - rate))
    return float(((logs @ count + budget) / tried).min()) * _MIXTURE_UP


def gamma_tails(shapes: np.ndarray, reach: float) -> np.ndarray:
    """Return the probabilities that gamma variables of the shapes 1, 2, 3, ... are above a number."""
    if reach <= _EXPONENT:
        return math.exp(-reach) * np.cumsum(np.cumprod(np.append(1.0, reach / shapes[:-1])))
    from scipy.special import gammaincc  # noqa: PLC0415 - it takes a tenth of a second to import

    return np.asarray(gammaincc(shapes, reach))


def _chernoff_tail(sigma_squared: Fraction, terms: int, failure: float) -> int:
    """Return a k from Chernoff's bound: discrete Gaussian noise is sub-Gaussian with its sigma."""
    return math.ceil(math.sqrt(2 * terms * sigma_squared * math.log(2 / failure)) * _UP) - 1


def _convolved_tail(masses: np.ndarray, terms: int, failure: float, size: int) -> int:
    """Return a k from the law of the sum, convolved on a circle of `size` integers."""
    circle = np.zeros(size)
    circle[: masses.size] = masses
    circle[-masses.size + 1 :] = masses[:0:-1]
    transform = np.fft.rfft(circle).real
    law = np.fft.irfft((transform / transform[0]) ** terms, size)
    beyond = 2 * np.cumsum(law[size // 2 : 0 : -1])[::-1] + _ROUNDING
    return int(np.count_nonzero(beyond > failure))


def _laplace_masses(scale: Fraction) -> np.ndarray:
    """Return P(Z = z) for z = 0, 1, ... as far as they are above 1e-300."""
    rate = float(min(1 / scale, Fraction(_FLAT)))
    masses = np.exp(-rate * np.arange(math.ceil(_FLAT / rate) + 2))
    return np.asarray(masses / (2 * masses[:0:-1].sum() + masses[0]))


def _gaussian_masses(sigma_squared: Fraction) -> np.ndarray:
    """Return P(Z = z) for z = 0, 1, ... as far as they are above 1e-300."""
    variance = float(max(sigma_squared, Fraction(1, 2 * _FLAT)))
    masses = np.exp(-(np.arange(math.ceil(_REACH * math.sqrt(variance)) + 2.0) ** 2) / (2 * variance))
    return np.asarray(masses / (2 * masses[:0:-1].sum() + masses[0]))


def _checked(parameter: Fraction, failure: Failure) -> tuple[Fraction, Fraction]:
    """Return both as exact numbers; a ParameterError outside their ranges."""
    if not 0 < parameter <= _LARGEST:
        raise ParameterError(f"a noise parameter must be above 0 and at most 2**120, got {parameter}", code="LW390")
    if not _LEAST_FAILURE <= failure < 1:
        raise ParameterError(
            f"a failure probability must be from 1e-300 to below 1, got {failure}; lower confidence", code="LW390"
        )
    return Fraction(parameter), Fraction(failure)
