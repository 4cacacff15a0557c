"""What metrics share: checked arrays, estimates and their errors, shares of successes, and reference rows.

What is said of a bad array quotes no value and no number of rows.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.words import say
from lapwing.maths.arrays import Cells, Codes, Floats
from lapwing.schema.scalars import quote

Interval = tuple[float, float]
S = TypeVar("S")

SYNTHETIC: Final = "synthetic"
BOOTSTRAP: Final = "bootstrap"
INDEPENDENT: Final = "independent"
REAL: Final = "real"

_Z: Final = NormalDist().inv_cdf(0.975)


def finite_array(name: str, values: npt.ArrayLike, axes: int) -> Floats:
    """Return values as float64, or refuse them under ``name``."""
    array = np.asarray(values)
    if array.ndim != axes or array.size == 0 or array.dtype.kind not in "biuf":
        raise ParameterError(
            f"{name} must be a non-empty array of numbers with {axes} axes, got {array.dtype} with {array.ndim} axes",
            code="LW802",
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ParameterError(f"{name} must be finite; leave out what is missing", code="LW802")
    return array


def same_space(points: npt.ArrayLike, others: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return two samples as arrays of shapes (n, d) and (m, d)."""
    left, right = finite_array("points", points, 2), finite_array("others", others, 2)
    if left.shape[1] != right.shape[1]:
        raise ParameterError(
            f"both samples need the same columns, got {left.shape[1]} and {right.shape[1]} columns", code="LW801"
        )
    return left, right


def shares(name: str, masses: npt.ArrayLike | None, count: int) -> Floats:
    """Return non-negative masses scaled to sum 1; equal ones for None."""
    array = np.ones(count) if masses is None else finite_array(name, masses, 1)
    if array.size != count:
        raise ParameterError(f"{name} must be one for each point or piece; check their number", code="LW802")
    if array.min() < 0 or array.max() == 0:
        raise ParameterError(f"{name} must be at least 0 and not all 0; check them", code="LW802")
    relative = array / array.max()  # so that the sum cannot overflow
    return np.asarray(relative / relative.sum())


# -- Estimates, and what a metric is.


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Hold a value from random draws and its standard error, in the same unit: 0 where it is exact."""

    value: float
    standard_error: float = 0.0


def with_each_left_out(sums: Floats) -> Floats:
    """Return the total over blocks (the first axis), and the total without each block where there are several.

    >>> with_each_left_out(np.array([1.0, 2.0, 4.0])).tolist()
    [7.0, 6.0, 5.0, 3.0]
    """
    total = sums.sum(axis=0, keepdims=True)
    return np.concatenate((total, total - sums)) if len(sums) > 1 else total


def jackknife_estimate(figures: Floats) -> Estimate:
    """Return a figure with its standard error, from the figure and those with each block left out.

    Quenouille's delete-a-group jackknife, as in Wolter, "Introduction to Variance Estimation" (2007), chapter 4.

    >>> jackknife_estimate(np.array([2.0, 1.5, 2.5, 2.0])).standard_error  # the mean of 2, with 3, 1 and 2 left out
    0.5773502691896257
    """
    without = figures[1:]
    error = float(np.sqrt((len(without) - 1) * np.var(without))) if len(without) else 0.0
    return Estimate(value=float(figures[0]), standard_error=error)


@dataclass(frozen=True, slots=True)
class Metric:
    """Say what a figure measures, in the words of its key; best: the figure of equal tables."""

    key: str
    best: float = 0.0

    @property
    def title(self) -> str:
        """What it is called."""
        return say(f"metric.{self.key}.title")

    @property
    def unit(self) -> str:
        """What it is measured in."""
        return say(f"metric.{self.key}.unit")

    @property
    def meaning(self) -> str:
        """One sentence for a reader who has never met it, with the figure's range."""
        return say(f"metric.{self.key}.meaning")

    @property
    def reference(self) -> str:
        """Where it was defined."""
        return say(f"metric.{self.key}.reference")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricResult:
    """Hold a metric of several tables, each against the real one.

    values: by the name of the table: ``synthetic``, ``bootstrap`` (a resample) and ``independent`` (columns
    shuffled by themselves); rows: rows of each table that were used, where not all were.
    """

    metric: Metric
    values: Mapping[str, Estimate]
    rows: int | None = None
    columns: int


# -- Shares of successes with Wilson intervals, and how much one share exceeds another.


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """Hold a share of successes and its interval; trials may weigh differently, and ties count half."""

    successes: float
    trials: float
    rate: float
    lower: float
    upper: float

    @property
    def interval(self) -> Interval:
        """Both ends."""
        return self.lower, self.upper


def wilson(successes: float, trials: float) -> Proportion:
    """Return a share of successes with Wilson's score interval at 95 %.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927): the shares p
    with ``abs(rate - p) <= z * sqrt(p * (1 - p) / trials)``. It never collapses to a point and never leaves 0 to 1.
    SciPy's ``proportion_ci`` takes whole numbers only.

    >>> found = wilson(0, 10)
    >>> found.rate, found.lower, round(found.upper, 4)
    (0.0, 0.0, 0.2775)
    """
    if not trials > 0 or not 0 <= successes <= trials:
        raise ParameterError("successes must be from 0 to trials, and trials above 0; check them", code="LW301")
    middle = (successes + _Z * _Z / 2) / (trials + _Z * _Z)
    half = _Z * math.sqrt(successes * (trials - successes) / trials + _Z * _Z / 4) / (trials + _Z * _Z)
    # At the ends the formula gives 0 and 1 but for rounding.
    lower = 0.0 if successes == 0 else max(middle - half, 0.0)
    upper = 1.0 if successes == trials else min(middle + half, 1.0)
    return Proportion(successes=successes, trials=trials, rate=successes / trials, lower=lower, upper=upper)


def excess(attack: Proportion, control: Proportion) -> tuple[float, Interval] | None:
    """Return how much of what the control left undone the attack does, with its interval; None where nothing was left.

    ``(attack.rate - control.rate) / (1 - control.rate)`` as in Giomi et al., "A unified framework for quantifying
    privacy risk in synthetic data", PoPETs 2023 (2), where it is cut off at 0. It is 1 minus the ratio of the two
    shares of failures, so the interval is that of a ratio, recovered from the two Wilson intervals: R. G. Newcombe,
    "MOVER-R confidence intervals for ratios and products of two independently estimated quantities", Stat. Methods
    Med. Res. 25 (2016). Unlike one of propagated errors, it is not symmetric, and stays at most 1.

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

    baseline: of a guess that does without the relations between the synthetic columns; control: of the same attack on
    as many holdout rows.
    """

    attack: Proportion
    baseline: Proportion | None = None
    control: Proportion | None = None


# -- Rows of a coded table: some of them, and the two references that a synthetic table is read against.


def height(codes: Codes) -> int:
    """Return the number of rows of a table with at least one column."""
    return len(next(iter(codes.values())))


def cells_of(codes: Codes, name: str, what: str = "both tables need") -> Cells:
    """Return the codes of a column, at least one."""
    if name not in codes or not len(codes[name]):
        raise ParameterError(f"{what} codes of column {quote(name)}, at least one row; give them", code="LW801")
    return codes[name]


def some_rows(codes: Codes, columns: Iterable[str], most: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return at most so many rows of some columns: all in their order, or a sample without replacement in random order.

    Any run of a sample's rows is a sample too, which is what blocks for standard errors need.
    """
    rows = height(codes)
    if rows <= most:
        return {name: codes[name] for name in columns}
    drawn = rng.choice(rows, most, replace=False)
    return {name: codes[name][drawn] for name in columns}


def some_columns(columns: Sequence[S], most: int, rng: np.random.Generator) -> list[S]:
    """Return all columns, or a sample of so many in their order."""
    if len(columns) <= most:
        return list(columns)
    return [columns[place] for place in np.sort(rng.choice(len(columns), most, replace=False)).tolist()]


def bootstrap_rows(codes: Codes, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return as many rows, drawn with replacement: how far a table is from itself by chance."""
    rows = height(codes)
    drawn = rng.integers(rows, size=rows)
    return {name: column[drawn] for name, column in codes.items()}


def independent_columns(codes: Codes, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the rows with each column shuffled by itself: the same columns, and no dependence but by chance."""
    return {name: rng.permutation(column) for name, column in codes.items()}
