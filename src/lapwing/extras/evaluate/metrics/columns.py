"""How far the single columns of two coded tables are apart, and whether cells are missing together or in other places.

Figures are in real standard deviations or shares of rows, so that they are the same for codes as for values. What is
computed from private rows is private: no noise is added.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.extras.evaluate.metrics.metric import cells_of, height, some_columns
from lapwing.extras.evaluate.metrics.tables.variation import Variation
from lapwing.maths.arrays import Cells, Codes, Ints
from lapwing.schema.fields import Scalar
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import evenly
from lapwing.schema.schemas import Schema

_COUNTED: Final = 2**16  # codes of a column up to which counting is faster than sorting

PERCENTS: Final = (1, 5, 25, 50, 75, 95, 99)  # the quantiles of a numeric or date column that are compared, in percent


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberErrors:
    """Hold how far the regular values of a numeric or date column are from the real ones.

    mean: difference of means, in real standard deviations; deviation: relative difference of standard deviations;
    ranks: for each of `PERCENTS`, by how much the other table's quantile misses that percentage on the real
    distribution function (0 within its jump there, above 0 where the quantile is too large); kolmogorov: largest
    distance of the distribution functions; wasserstein: W1, in real standard deviations.

    Where one table alone has no regular value, ranks and distance are 1 and the others None; where both have none, all
    are 0. Where all real values are equal there is no unit: mean, deviation and W1 are 0 if the other values are that
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

    missing: rise of the share of missing cells, None where no cell may be missing; special: rise of the share of each
    special value; numbers: None where the column has categories or texts.
    """

    column: str
    missing: float | None
    special: tuple[tuple[Scalar, float], ...]
    numbers: NumberErrors | None


def compare_columns(real_codes: Codes, other_codes: Codes, schema: Schema) -> tuple[ColumnErrors, ...]:
    """Return how far every column of a coded table is from that of the real one, in the schema's order.

    A misfit of a column that may be missing has the code of missing and counts as such. Shares, ranks and distances are
    compared in integers: equal columns are at 0 exactly. Time ``O(d (n + m) log(n + m))``.
    """
    found = []
    for column in schema.columns:
        domain = column.domain
        real, other = (cells_of(codes, column.name) for codes in (real_codes, other_codes))
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
    """Return the sizes of all errors, by kind (``special``: the largest of a column) and column, where there is one."""
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


def _rise(real: Cells, other: Cells, code: int) -> float:
    """Return by how much the share of a code is larger in the other table."""
    counts = int(np.count_nonzero(real == code)), int(np.count_nonzero(other == code))
    return (counts[1] * len(real) - counts[0] * len(other)) / (len(real) * len(other))


def _law(codes: Cells, domain: Domain) -> _Law:
    if domain.size <= _COUNTED:
        found = np.bincount(codes, minlength=domain.size)[: domain.values]
        points = np.flatnonzero(found)
        counts = found[points]
    else:
        points, counts = np.unique(codes[codes < domain.values], return_counts=True)
        points = points.astype(np.int64)
    return _Law(points, counts, np.concatenate(([0], np.cumsum(counts))))


def _number_errors(real_codes: Cells, other_codes: Cells, domain: Domain) -> NumberErrors:
    """Return how far the regular codes of a column are from the real ones."""
    real, other = _law(real_codes, domain), _law(other_codes, domain)
    if not real.rows or not other.rows:
        if real.rows == other.rows:
            return NumberErrors(mean=0.0, deviation=0.0, ranks=(0.0,) * len(PERCENTS), kolmogorov=0.0, wasserstein=0.0)
        return NumberErrors(mean=None, deviation=None, ranks=(1.0,) * len(PERCENTS), kolmogorov=1.0, wasserstein=None)
    points = np.sort(np.concatenate((real.points, other.points)))  # one that both have is there twice: no width
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


Pairs = tuple[tuple[str, str], ...]

PAIRS: Final = 2000  # pairs of columns that are compared where there are more
GIVEN: Final = 16  # equal parts of the public domain in which the other column is taken


def pairs_together(schema: Schema, *, rng: np.random.Generator) -> Pairs:
    """Return the pairs of columns that may be missing or have special values: all, or a sample."""
    return tuple(some_columns(_pairs_together(schema), PAIRS, rng))


def pairs_given(schema: Schema, *, rng: np.random.Generator) -> Pairs:
    """Return the pairs of a column that may be missing and any other column: all, or a sample."""
    return tuple(some_columns(_pairs_given(schema), PAIRS, rng))


def _pairs_together(schema: Schema) -> Pairs:
    names = [each.name for each in schema.columns if each.domain.missing or each.special]
    return tuple(itertools.combinations(names, 2))


def _pairs_given(schema: Schema) -> Pairs:
    columns = schema.columns
    return tuple((a.name, b.name) for a in columns if a.domain.missing for b in columns if a.name != b.name)


def missing_together(real_codes: Codes, other_codes: Codes, schema: Schema, pairs: Pairs) -> Variation:
    """Return how far two tables are apart in which cells of a row are regular at the same time.

    Time is that of the cells that are not regular, for each pair.
    """
    counts = []
    for codes in (real_codes, other_codes):
        is_apart = {
            name: codes[name] >= schema.field(name).domain.values for name in {each for p in pairs for each in p}
        }
        where = {name: np.flatnonzero(each) for name, each in is_apart.items()}
        rows = height(codes)
        both = [(len(where[a]), len(where[b]), int(np.count_nonzero(is_apart[b][where[a]]))) for a, b in pairs]
        counts.append([np.array([one, a - one, b - one, rows - a - b + one]) for a, b, one in both])
    return _gap_variation(pairs, len(_pairs_together(schema)), counts, (height(real_codes), height(other_codes)))


def missing_given(real_codes: Codes, other_codes: Codes, schema: Schema, pairs: Pairs) -> Variation:
    """Return how far two tables are apart in where, on a second column, the cells of a first one are missing.

    The second column is taken in at most 16 equal parts of its public domain; each special value and missing stand
    apart. Time is that of the missing cells, for each pair.
    """
    groupings = {name: evenly(schema.field(name).domain, GIVEN) for _, name in pairs}
    counts = []
    for codes in (real_codes, other_codes):
        parts = {
            name: each.apply(codes[name]).astype(np.min_scalar_type(each.groups)) for name, each in groupings.items()
        }
        whole = {name: np.bincount(part, minlength=groupings[name].groups) for name, part in parts.items()}
        where = {name: np.flatnonzero(codes[name] == schema.field(name).domain.last) for name, _ in pairs}
        gaps = [np.bincount(parts[b][where[a]], minlength=groupings[b].groups) for a, b in pairs]
        counts.append([np.concatenate((gap, whole[b] - gap)) for gap, (_, b) in zip(gaps, pairs, strict=True)])
    return _gap_variation(pairs, len(_pairs_given(schema)), counts, (height(real_codes), height(other_codes)))


def _gap_variation(pairs: Pairs, possible: int, counts: Sequence[Sequence[Ints]], rows: tuple[int, int]) -> Variation:
    """Return the total variation distances between the shares of cells, compared in integers."""
    own, other = rows
    found = [int(np.abs(a * other - b * own).sum()) / (2 * own * other) for a, b in zip(*counts, strict=True)]
    return Variation(ways=2, possible=possible, tables=pairs, distances=np.array(found))
