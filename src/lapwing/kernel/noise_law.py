"""Noise laws: which integer noise an answer carries, exactly."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import read_rational
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

    def to_dict(self) -> dict[str, str]:
        """Return the law as plain JSON values."""
        return {"kind": self.kind, "parameter": str(self.parameter)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "NoiseLaw":
        """Read back what `to_dict` wrote."""
        return cls(values["kind"], read_rational(values["parameter"]))


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """One noisy table of an answer; an answer has one or more.

    counts: int64, exact count plus noise, cell by cell; noise: the law of the noise, independent from cell to cell;
    level: of a tree of tables; None for a table on its own; scale: so much of a number stands for one record; more than
    1 for sums of fractions.
    """

    counts: np.ndarray
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


def calibrated(sensitivity: Sensitivity, cost: Budget) -> NoiseLaw:
    """Return the noise law under which integers of this sensitivity cost exactly ``cost``.

    cost: pure ε gives discrete Laplace noise, zCDP ρ discrete Gaussian noise. Returns laplace of scale ``l1 / ε``, or
    Gaussian with ``sigma**2 = l2**2 / (2 ρ)``; rational, so nothing is rounded.

    >>> calibrated(Sensitivity(2, 2), Budget.pure("0.5")).parameter
    Fraction(4, 1)
    """
    if cost.notion == "pure":
        law = NoiseLaw("laplace", Fraction(sensitivity.l1) / cost.epsilon)
    else:
        law = NoiseLaw("gaussian", Fraction(sensitivity.l2_squared) / (2 * cost.rho))
    if law.sd > MAX_SD:
        raise ParameterError(f"a cost of {cost.amount} gives noise above 2**50; give a larger budget", code="LW508")
    return law
