"""Checks of the arrays that metrics are computed from. What they say quotes no value and no number of rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError

Floats = npt.NDArray[np.float64]


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


# -- Metrics that are estimated from random draws.


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Hold an estimate from repeated draws and how far it may be from its expectation.

    standard_error: of the value, in the same unit: 0 where it is exact.
    """

    value: float
    standard_error: float


# -- The two kinds of result: what may be published, and what must not leave the house.


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Internal(Generic[T]):
    """Hold a result that was made by looking at private rows without noise; it must not leave the house.

    value: the result. It is left out of ``repr``, so that it does not reach a log by accident.

    >>> Internal({"misfits": 3})
    Internal()
    """

    value: T = field(repr=False)


@dataclass(frozen=True, slots=True)
class Releasable(Generic[T]):
    """Hold a result that was made from released numbers, or bought with budget; it may be published.

    >>> Releasable({"rows": 3})
    Releasable(value={'rows': 3})
    """

    value: T


# -- What a metric is, and how one table's figure stands among those of the tables it is read against.


SYNTHETIC = "synthetic"
BOOTSTRAP = "bootstrap"
INDEPENDENT = "independent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Say what a figure measures.

    meaning: one sentence for a reader who has never met it, with the figure's range.
    """

    key: str
    title: str
    unit: str
    meaning: str
    best: float
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Hold a metric of several tables, each against the real one.

    values: by the name of the table: ``synthetic``, ``bootstrap`` (the sampling floor) and ``independent`` (columns
    shuffled by themselves, the lazy baseline). An estimate has standard error 0 where it is exact; rows: rows of each
    table that were used, where not all were.
    """

    metric: Metric
    values: Mapping[str, Estimate]
    rows: int | None
    columns: int


# -- Some rows of a coded table, for metrics that cannot afford all.


Codes = Mapping[str, npt.NDArray[np.integer]]


def some_rows(codes: Codes, columns: Iterable[str], most: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return at most so many rows of some columns: all in their order, or a sample without replacement in random order.

    codes: mapping of str to (n,), the columns, at least one. Returns dict of str to (min(n, most).

    Any run of a sample's rows is a sample too, which is what blocks for standard errors need.

    >>> some_rows({"a": np.array([5, 6, 7]), "b": np.zeros(3)}, ["a"], 3, np.random.default_rng(0))
    {'a': array([5, 6, 7])}
    """
    rows = height(codes)
    if rows <= most:
        return {name: codes[name] for name in columns}
    drawn = rng.choice(rows, most, replace=False)
    return {name: codes[name][drawn] for name in columns}


def height(codes: Codes) -> int:
    """Return the number of rows of a table with at least one column."""
    return len(next(iter(codes.values())))
