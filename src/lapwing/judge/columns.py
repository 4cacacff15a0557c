"""How far the single columns of two coded tables are apart: missing and special shares, moments, quantiles, tails.

Numbers and dates are compared by their regular codes. Every figure is in units of the real standard deviation or a
share of rows, so that it is the same for codes as for the values they stand for. What is computed from private rows is
private: nothing here adds noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.schema.fields import Scalar
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]
Ints = npt.NDArray[np.int64]

_COUNTED: Final = 2**16  # codes of a column up to which counting is faster than sorting

PERCENTS: Final = (1, 5, 25, 50, 75, 95, 99)
"""The quantiles of a numeric or date column that are compared, in percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberErrors:
    """Hold how far the regular values of a numeric or date column are from the real ones.

    mean: difference of the means, in real standard deviations; above 0 where the other mean is larger; deviation:
    relative difference of the standard deviations, at least -1; above 0 where the other one is larger; ranks: for each
    of `PERCENTS`, p: by how much the other table's p quantile misses p on the real distribution function, -1 to 1; 0
    where p lies within the function's jump at that quantile, above 0 where the quantile is too large; kolmogorov:
    largest distance of the distribution functions, 0 to 1; wasserstein: smallest mean distance by which the values have
    to be moved (W1), in real standard deviations.

    Where one of the tables has no regular value, ranks and distance are 1 and the others None; where neither has, all
    are 0. Where all real values are equal, there is no unit: mean, deviation and W1 are 0 if all other values are that
    value too, else None.
    """

    mean: float | None
    deviation: float | None
    ranks: tuple[float, ...]
    kolmogorov: float
    wasserstein: float | None

    @property
    def rank(self) -> float:
        """Mean absolute rank error of the quantiles."""
        return math.fsum(map(abs, self.ranks)) / len(self.ranks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnErrors:
    """Hold how far one column is from the real one.

    missing: difference of the shares of missing cells, -1 to 1, above 0 where the other table has more; None where a
    cell must not be missing; numbers: none where the column is not a numeric or date one, or has categories.
    """

    column: str
    missing: float | None
    special: tuple[tuple[Scalar, float], ...]
    numbers: NumberErrors | None


def compare_columns(real_codes: Codes, other_codes: Codes, schema: Schema) -> tuple[ColumnErrors, ...]:
    """Return how far every column of a coded table is from that of the real one.

    real_codes, other_codes: mapping of str to integers (n,) and (m,), codes of every modelled column of the schema, at
    least one row each. Returns in the schema's order. A misfit of a column that may be missing has the code of missing,
    and counts as such.

    Shares, ranks and distances are compared in integers: equal columns are at 0 exactly. Time
    ``O(d (n + m) log(n + m))``.

    >>> age = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "special": [-1]}
    >>> real, other = {"age": np.array([2, 4, 10, 11])}, {"age": np.array([4, 4, 4, 11])}
    >>> found = compare_columns(real, other, Schema.from_dict({"fields": [age]}))[0]
    >>> found.missing, found.special, found.numbers.mean, found.numbers.kolmogorov, found.numbers.ranks[0]
    (0.0, ((-1, -0.25),), 1.0, 0.5, 0.49)
    """
    found = []
    for column in schema.columns:
        domain = column.domain
        real, other = (_checked(codes, column.name) for codes in (real_codes, other_codes))
        reserved = [_rise(real, other, code) for code in range(domain.values, domain.size)]
        is_number = column.type != "string" and not column.is_categorical
        found.append(
            ColumnErrors(
                column=column.name,
                missing=reserved[-1] if domain.missing else None,
                special=tuple(zip(column.special, reserved, strict=False)),
                numbers=_number_errors(real, other, domain) if is_number else None,
            )
        )
    return tuple(found)


def error_sizes(columns: Sequence[ColumnErrors]) -> dict[str, dict[str, float]]:
    """Return the sizes of all errors, without their signs, by kind and column.

    Returns kinds ``missing``, ``special`` (the largest of a column), ``mean``, ``deviation``, ``rank`` (mean over the
    quantiles), ``kolmogorov`` and ``wasserstein``; for each, the columns that have the figure.

    >>> flag = ColumnErrors(column="flag", missing=-0.25, special=(), numbers=None)
    >>> error_sizes([flag])["missing"]
    {'flag': 0.25}
    """
    sizes: dict[str, dict[str, float]] = {
        "missing": {each.column: abs(each.missing) for each in columns if each.missing is not None},
        "special": {each.column: max(abs(error) for _, error in each.special) for each in columns if each.special},
    }
    for kind in ("mean", "deviation", "rank", "kolmogorov", "wasserstein"):
        values = {each.column: getattr(each.numbers, kind) for each in columns if each.numbers is not None}
        sizes[kind] = {name: abs(value) for name, value in values.items() if value is not None}
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """The regular codes that occur, increasing, how often each does, and how often those up to it do."""

    points: Ints
    counts: Ints
    below: Ints

    @property
    def rows(self) -> int:
        return int(self.below[-1])

    def up_to(self, points: Ints) -> Ints:
        """Return how many codes are at most each point."""
        return np.asarray(self.below[np.searchsorted(self.points, points, side="right")])

    def quantile(self, percent: int) -> int:
        """Return the smallest point that at least so many percent of the codes do not exceed."""
        wanted = -(-percent * self.rows // 100)
        return int(self.points[np.searchsorted(self.below, wanted) - 1])

    def moments(self, origin: int) -> tuple[float, float]:
        """Return the mean, counted from an origin, and the standard deviation."""
        offsets = (self.points - origin).astype(np.float64)
        mean = float((offsets * self.counts).sum()) / self.rows
        return mean, math.sqrt(float((np.square(offsets - mean) * self.counts).sum()) / self.rows)


def _checked(codes: Codes, name: str) -> npt.NDArray[np.integer]:
    """Return the codes of a column, at least one."""
    if name not in codes or not len(codes[name]):
        raise ParameterError(
            f"both tables need codes of column {quote(name)}, at least one row; give them", code="LW801"
        )
    return codes[name]


def _rise(real: npt.NDArray[np.integer], other: npt.NDArray[np.integer], code: int) -> float:
    """Return by how much the share of a code is larger in the other table."""
    counts = int(np.count_nonzero(real == code)), int(np.count_nonzero(other == code))
    return (counts[1] * len(real) - counts[0] * len(other)) / (len(real) * len(other))


def _law(codes: npt.NDArray[np.integer], domain: Domain) -> _Law:
    if domain.size <= _COUNTED:
        found = np.bincount(codes, minlength=domain.size)[: domain.values]
        points = np.flatnonzero(found)
        counts = found[points]
    else:
        points, counts = np.unique(codes[codes < domain.values], return_counts=True)
        points = points.astype(np.int64)
    return _Law(points, counts, np.concatenate(([0], np.cumsum(counts))))


def _merged(points: Ints, others: Ints) -> Ints:
    """Return the points of two increasing lists, increasing, each once; the sort sees that it merges two runs."""
    both = np.sort(np.concatenate((points, others)), kind="stable")
    return both[np.diff(both, prepend=both[0] - 1) > 0]


def _number_errors(
    real_codes: npt.NDArray[np.integer], other_codes: npt.NDArray[np.integer], domain: Domain
) -> NumberErrors:
    """Return how far the regular codes of a column are from the real ones."""
    real, other = _law(real_codes, domain), _law(other_codes, domain)
    if not real.rows or not other.rows:
        if real.rows == other.rows:
            return NumberErrors(mean=0.0, deviation=0.0, ranks=(0.0,) * len(PERCENTS), kolmogorov=0.0, wasserstein=0.0)
        return NumberErrors(mean=None, deviation=None, ranks=(1.0,) * len(PERCENTS), kolmogorov=1.0, wasserstein=None)
    points = _merged(real.points, other.points)
    # Whole numbers, divided once: n * m is below 2**63 for all tables that fit in memory.
    heights = np.abs(other.up_to(points) * real.rows - real.up_to(points) * other.rows)
    scale = real.rows * other.rows
    moved = float((heights[:-1] * np.diff(points).astype(np.float64)).sum()) / scale
    mean, deviation, wasserstein = _in_deviations(real, other, moved)
    return NumberErrors(
        mean=mean,
        deviation=deviation,
        ranks=tuple(_rank_error(real, other.quantile(percent), percent) for percent in PERCENTS),
        kolmogorov=int(heights.max()) / scale,
        wasserstein=wasserstein,
    )


def _in_deviations(real: _Law, other: _Law, moved: float) -> tuple[float | None, float | None, float | None]:
    """Return the errors of mean and standard deviation and W1 in units of the real standard deviation."""
    origin = int(real.points[0])
    (mean, deviation), (other_mean, other_deviation) = real.moments(origin), other.moments(origin)
    if len(real.points) == 1:
        same = np.array_equal(real.points, other.points)
        return (0.0, 0.0, 0.0) if same else (None, None, None)
    return (other_mean - mean) / deviation, other_deviation / deviation - 1, moved / deviation


def _rank_error(real: _Law, point: int, percent: int) -> float:
    """Return by how much a point misses a percentage on the real distribution function; 0 within its jump there."""
    wanted = percent * real.rows
    before, upto = (100 * int(count) for count in real.up_to(np.array([point - 1, point])))
    missed = before - wanted if before > wanted else min(upto - wanted, 0)
    return missed / (100 * real.rows)
