"""Noise laws: which integer noise an answer carries, exactly."""

import math
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import ClassVar, Final, Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.codec import packed_array
from lapwing.kernel.terms import Relation

MAX_SD = 2.0**50
"""Noise beyond this standard deviation could leave int64, and says nothing about any table."""
_LARGEST = 2**120  # beyond every law that is drawn from, and well inside the range of floats


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Bound how far a vector of integers moves between neighbours."""

    l1: int
    l2_squared: int


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """Name an integer noise law and its exact parameter.

    kind: discrete Laplace, ``P[Z = z]`` proportional to ``exp(-|z| / scale)``, or discrete Gaussian, ``P[Z = z]``
    proportional to ``exp(-z**2 / (2 sigma_squared))``; parameter: the scale (Laplace) or sigma squared (Gaussian);
    positive, at most 2**120.

    >>> NoiseLaw("laplace", Fraction(2)).loss(np.array([1, -1]))
    Fraction(1, 1)
    """

    kind: Literal["laplace", "gaussian"]
    parameter: Fraction

    def __post_init__(self) -> None:
        if self.kind not in ("laplace", "gaussian"):
            raise ParameterError(
                f"noise kind must be laplace or gaussian, got {self.kind!r}; use one of the two", code="LW641"
            )
        if self.parameter <= 0:
            raise ParameterError(
                f"the noise parameter must be positive, got {self.parameter}; give a positive cost", code="LW641"
            )
        if self.parameter > _LARGEST:
            raise ParameterError("the noise parameter must be at most 2**120; give a larger cost", code="LW641")

    @property
    def sd(self) -> float:
        """Standard deviation of one noise value, in records; for Gaussian noise sigma, which is never less."""
        if self.kind == "gaussian":
            return math.sqrt(self.parameter)
        # 2q / (1-q)^2 with q = exp(-1/scale), written so that it neither overflows nor cancels.
        return (
            1.0 / (math.sqrt(2.0) * math.sinh(0.5 / float(self.parameter)))
            if self.parameter > Fraction(1, 700)
            else 0.0
        )

    @property
    def mean_absolute(self) -> float:
        """Expected absolute value of one noise value, in records; for Gaussian noise a bound (that of the real one)."""
        if self.kind == "gaussian":
            return self.sd * math.sqrt(2 / math.pi)
        return 1.0 / math.sinh(1.0 / float(self.parameter)) if self.sd else 0.0

    def loss(self, change: np.ndarray) -> Fraction:
        """Return the exact privacy loss of a noisy vector whose exact value changes by ``change``.

        change: int64, difference of the exact vectors on two tables. Returns an ε for Laplace noise, ``sum|change| /
        scale``; a ρ for Gaussian noise, ``sum change**2 / (2 sigma**2)``.
        """
        changed = np.asarray(change)[np.asarray(change) != 0].tolist()  # squares of sums of products can leave int64
        if self.kind == "laplace":
            return Fraction(sum(map(abs, changed))) / self.parameter
        return Fraction(sum(each**2 for each in changed)) / (2 * self.parameter)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """One noisy table of an answer; an answer has one or more.

    counts: int64, exact count plus noise, cell by cell; noise: the law of the noise, independent from cell to cell;
    level: of a tree of tables; None for a table on its own; scale: so much of a number stands for one record; more than
    1 for sums of fractions.
    """

    document: ClassVar = ("counts", "noise")

    counts: np.ndarray = field(metadata=packed_array(lambda _: None))
    noise: NoiseLaw
    cost: Budget
    level: int | None = None
    scale: int = 1

    @property
    def sd(self) -> float:
        """Standard deviation of the noise on each number, in records."""
        return self.noise.sd / self.scale


def row_sensitivity(relation: Relation, max_rows: int) -> Sensitivity:
    """Return how far a table moves between neighbours when each row counts in at most one of its cells.

    >>> row_sensitivity("replace-one", 3)
    Sensitivity(l1=6, l2_squared=18)
    """
    if relation == "add-remove":
        return Sensitivity(max_rows, max_rows**2)
    return Sensitivity(2 * max_rows, 2 * max_rows**2)


def calibrate_noise(sensitivity: Sensitivity, cost: Budget) -> NoiseLaw:
    """Return the noise law under which integers of this sensitivity cost exactly ``cost``.

    cost: pure ε gives discrete Laplace noise, zCDP ρ discrete Gaussian noise. Returns laplace of scale ``l1 / ε``, or
    Gaussian with ``sigma**2 = l2**2 / (2 ρ)``; rational, so nothing is rounded.

    >>> calibrate_noise(Sensitivity(2, 2), Budget.pure("0.5")).parameter
    Fraction(4, 1)
    """
    if cost.notion == "pure":
        law = NoiseLaw("laplace", Fraction(sensitivity.l1) / cost.epsilon)
    else:
        law = NoiseLaw("gaussian", Fraction(sensitivity.l2_squared) / (2 * cost.rho))
    if law.sd > MAX_SD:
        raise ParameterError(f"a cost of {cost.amount} gives noise above 2**50; give a larger budget", code="LW508")
    return law


# -- Exact log-likelihood ratios of what discrete Laplace noise can show: a value, or only on which side of a threshold.
# With q = exp(-1 / scale): P[Z = z] = (1 - q) / (1 + q) q^|z|, and P[Z >= x] = q^x / (1 + q) for x >= 0,
# 1 - q^(1 - x) / (1 + q) for x <= 0.


_DIGITS: Final = 60
_SLACK: Final = Fraction(1, 10**40)
"""Added to what is rounded: more than the error of `_DIGITS` digits, and less than any mistake that matters."""


def value_ratio(scale: Fraction, shown: int, count: int, other: int) -> Fraction:
    """Return ``ln P[count + Z = shown] / P[other + Z = shown]``, exactly.

    shown, count, other: the noisy value, and the exact counts on two tables.

    >>> value_ratio(Fraction(2), 10, 9, 6)
    Fraction(3, 2)
    """
    return Fraction(abs(shown - other) - abs(shown - count)) / scale


def tail_ratio(scale: Fraction, threshold: int, other: int) -> Fraction:
    """Return ``ln P[Z >= threshold] / P[Z >= other]``: exactly where it is rational, else rounded away from zero.

    threshold, other: of the events on two tables. The event below a threshold x has the probability of ``Z >= 1 - x``.
    Returns at most 10**-39 further from zero than the true value.

    >>> tail_ratio(Fraction(2), 3, 5), float(round(tail_ratio(Fraction(2), -2, 5), 6))
    (Fraction(1, 1), 2.824545)
    """
    if threshold == other:
        return Fraction(0)
    if min(threshold, other) >= 0:
        return Fraction(other - threshold) / scale
    largest = int(max(abs(threshold), abs(other)) / scale)
    with localcontext(Context(prec=_DIGITS + len(str(largest)))):
        ratio = Fraction(_log_tail(scale, threshold) - _log_tail(scale, other))
    return ratio + _SLACK if threshold < other else ratio - _SLACK


def log_tail(scale: Fraction, threshold: int) -> float:
    """Return ``ln P[Z >= threshold]`` in floating point, for plans and capacity.

    >>> round(log_tail(Fraction(1), 800), 2), round(log_tail(Fraction(1), 0), 4)
    (-800.31, -0.3133)
    """
    rate = float(min(1 / scale, Fraction(2**1000)))
    whole = math.log1p(math.exp(-rate))
    if threshold >= 1:
        return -rate * threshold - whole
    return math.log1p(-math.exp(-rate * (1 - threshold) - whole))


def _log_tail(scale: Fraction, threshold: int) -> Decimal:
    """Return ln P[Z >= threshold] in the precision of the context."""
    rate = Decimal(scale.denominator) / Decimal(scale.numerator)
    whole = 1 + (-rate).exp()
    if threshold >= 0:
        return -rate * threshold - whole.ln()
    return (1 - (-rate * (1 - threshold)).exp() / whole).ln()
