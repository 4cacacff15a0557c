"""An interval from estimates on simulated samples: the combining rule of a parametric bootstrap."""

import math
from dataclasses import dataclass

import numpy as np

from lapwing.errors import ParameterError

LEAST_REPLICATES = (
    4  # from here on the rule is on the safe side whatever the error of drawing rows: see `combine_estimates`
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationEstimate:
    """An estimate of a number of the population, with what is known about its error.

    Parameters
    ----------
    estimate : float
        Corrected for bias.
    standard_error : float
        Of the estimate: noise, sampling and simulation together.
    lower, upper : float
        Ends of the interval.
    confidence : float
        Of the interval.
    """

    estimate: float
    standard_error: float
    lower: float
    upper: float
    confidence: float

    def __repr__(self) -> str:
        ends = f"{self.lower:.4g} to {self.upper:.4g} with {100 * self.confidence:g} %"
        return f"PopulationEstimate({self.estimate:.4g}, {ends}, standard error {self.standard_error:.2g})"


def combine_estimates(at_model: np.ndarray, simulated: np.ndarray, confidence: float) -> PopulationEstimate:
    """Combine estimates on rows of a released model and on rows of releases that were simulated from it.

    at_model: float64 (m,), the estimate on m independent draws of rows from the released model P'; simulated: float64
    (m,), the estimate on rows of each of m releases, each made from a fresh sample of P' with fresh noise; m of at
    least 4, and as many rows as in each draw of ``at_model``.

    Efron and Tibshirani (1993), "An introduction to the bootstrap", sections 6.5 (parametric bootstrap) and 10.6 (bias
    correction). Changed: the corrected estimate is read against Student's t with the factor ``1 + 1/m``, since m is
    small.

    Let t be the parameter of the population P, t' that of P', and T the estimate on rows of a release. The bootstrap's
    premise is that T errs around t' under P' as it does around t under P: ``E T = t + bias``, variance ``s^2 = v + e``,
    v from sampling and noise, e from drawing rows. Let A be the mean of ``at_model``: t' and an error of variance
    ``e / m``. Let B be the mean of ``simulated``: ``t' + bias`` and an error of variance ``(v + e) / m``.

    The corrected estimate ``A - (B - A) = 2 A - B`` has the error ``(t' - t - bias) - (B - t' - bias) + 2 (A - t')``,
    of mean 0 and, the three parts being uncorrelated, of variance ``v + (v + e) / m + 4 e / m``. That is at most
    ``(1 + 1/m) (v + e)`` for m of at least 4. The variance of ``simulated``, with m - 1 degrees of freedom, estimates
    ``v + e``; so the standard error is ``sqrt(1 + 1/m)`` times its root, and for normal errors the interval with
    Student's quantile holds its confidence, exactly where e is 0 and on the safe side elsewhere. Bias of a few rows
    (of a ratio or a coefficient) is the same in A and B but for P' and its refit.

    Resampling rows of one release instead shows e or, by the rows' number, the sampling part of v, and never the noise.

    >>> found = combine_estimates(np.full(4, 10.0), np.array([10.0, 11.0, 12.0, 11.0]), 0.95)
    >>> found.estimate, round(found.standard_error, 3), round(found.upper - found.estimate, 3)
    (9.0, 0.913, 2.905)
    """
    from scipy.special import stdtrit  # noqa: PLC0415

    count = simulated.size
    if count < LEAST_REPLICATES or at_model.shape != simulated.shape:
        raise ParameterError(
            f"an interval needs at least {LEAST_REPLICATES} estimates of either kind, got {count}", code="LW363"
        )
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be above 0 and below 1, got {confidence}; 0.95 is usual", code="LW301")
    unknown = int(np.count_nonzero(~np.isfinite(at_model)) + np.count_nonzero(~np.isfinite(simulated)))
    if unknown:
        raise ParameterError(
            f"the estimate is no finite number on {unknown} of {2 * count} samples; estimate something that every "
            "sample has, or draw more rows",
            code="LW363",
        )
    estimate = 2 * float(at_model.mean()) - float(simulated.mean())
    error = math.sqrt((1 + 1 / count) * float(simulated.var(ddof=1)))
    half = float(stdtrit(count - 1, 0.5 + confidence / 2)) * error
    return PopulationEstimate(
        estimate=estimate,
        standard_error=error,
        lower=estimate - half,
        upper=estimate + half,
        confidence=confidence,
    )
