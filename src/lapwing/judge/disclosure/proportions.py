"""Shares of successes with Wilson intervals, and how much one share exceeds another."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from lapwing.errors import ParameterError

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """Hold a share of successes and its interval.

    successes, trials: whole numbers, unless trials weigh differently or ties count half.
    """

    successes: float
    trials: float
    rate: float
    lower: float
    upper: float

    @property
    def interval(self) -> Interval:
        """Both ends."""
        return self.lower, self.upper


def wilson(successes: float, trials: float, *, confidence: float = 0.95) -> Proportion:
    """Return a share of successes with Wilson's score interval.

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212. The
    interval holds the shares p with ``abs(rate - p) <= z * sqrt(p * (1 - p) / trials)``. Unlike rate plus or minus z
    standard errors, it never collapses to a point and never leaves 0 to 1.

    >>> found = wilson(0, 10)
    >>> found.rate, found.lower, round(found.upper, 4)
    (0.0, 0.0, 0.2775)
    """
    if not trials > 0 or not 0 <= successes <= trials:
        raise ParameterError("successes must be from 0 to trials, and trials above 0; check them", code="LW301")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be above 0 and below 1, got {confidence}; 0.95 is usual", code="LW301")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = successes / trials
    middle = (successes + z * z / 2) / (trials + z * z)
    half = z * math.sqrt(successes * (trials - successes) / trials + z * z / 4) / (trials + z * z)
    # At the ends the formula gives 0 and 1 but for rounding.
    lower = 0.0 if successes == 0 else max(middle - half, 0.0)
    upper = 1.0 if successes == trials else min(middle + half, 1.0)
    return Proportion(successes=successes, trials=trials, rate=rate, lower=lower, upper=upper)


def excess(attack: Proportion, control: Proportion) -> tuple[float, Interval] | None:
    """Return how much of what the control left undone the attack does.

    attack, control: of independent trials, with intervals at the same confidence. Returns ``(attack.rate -
    control.rate) / (1 - control.rate)``, at most 1 and below 0 where the control has the larger rate; and its interval
    at the same confidence. None where every control succeeded: nothing was left.

    References
    ----------
    The figure: M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi, "A unified framework for quantifying privacy risk in
    synthetic data", PoPETs 2023 (2), 312-328, where it is cut off at 0. It is 1 minus the ratio of the two shares of
    failures, so the interval is that of a ratio, recovered from the two Wilson intervals: R. G. Newcombe, "MOVER-R
    confidence intervals for ratios and products of two independently estimated quantities", Stat. Methods Med. Res. 25
    (2016), 1774-1778. Unlike one of propagated errors, it is not symmetric, and stays at most 1.

    >>> value, (lower, upper) = excess(wilson(60, 100), wilson(20, 100))
    >>> round(value, 3), round(lower, 3), round(upper, 3)
    (0.5, 0.358, 0.618)
    """
    if control.rate == 1:
        return None
    failed, left = 1 - attack.rate, 1 - control.rate
    product = failed * left
    # Both ends of both shares of failures, and what is left to twice the share.
    top = (1 - attack.upper, 1 - attack.lower)
    bottom = (1 - control.upper, 1 - control.lower)
    low_top, high_top = top[0] * (2 * failed - top[0]), top[1] * (2 * failed - top[1])
    low_bottom, high_bottom = bottom[0] * (2 * left - bottom[0]), bottom[1] * (2 * left - bottom[1])
    # The smaller root is divided the other way round: high_bottom may be 0 or below.
    divisor = product + math.sqrt(max(product * product - low_top * high_bottom, 0.0))
    smallest = low_top / divisor if divisor > 0 else 0.0
    largest = (product + math.sqrt(max(product * product - high_top * low_bottom, 0.0))) / low_bottom
    return 1 - failed / left, (1 - largest, 1 - smallest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Hold how often an attack succeeded, beside what it is to be read against.

    attack: on rows that the synthetic table was made from; baseline: of a guess that does without the relations between
    the synthetic columns; control: of the same attack on as many holdout rows.
    """

    attack: Proportion
    baseline: Proportion | None = None
    control: Proportion | None = None
