"""Errors of marginals and moments of coded tables, in mean square and in norm: those of the papers on microaggregation.

The d-marginal of d columns is the share of rows in which all are true: the mean of their product, of mixtures too. What
is computed from private rows is private: no noise is added.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.extras.evaluate.metrics.metric import (
    Metric,
    MetricResult,
    height,
    jackknife_estimate,
    shares,
    some_rows,
    with_each_left_out,
)
from lapwing.maths.arrays import Codes, Floats
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import evenly
from lapwing.schema.schemas import Schema

MOST_CATEGORIES: Final = 32
"""Coordinates of an unordered column: where it has more codes, neighbouring ones share a coordinate."""


def coded_rows(codes: Codes, columns: Sequence[Field]) -> Floats:
    """Return the rows of a table as vectors in [0, 1], as papers on Boolean tables and unit balls have them.

    A column with two values is 0 or 1; an ordered one its place from 0 for the first value to 1 for the last. An
    unordered column has a coordinate for each category; with more than 32 they stand for runs of nearly as many codes
    each. Where cells may be missing or special, one more coordinate is 1 for such a cell and the others of its column
    are 0. A misfit counts as missing; where cells must not be missing, all its coordinates are 0. So each column adds
    at most 1 to the squared length: divided by ``sqrt(columns)``, rows lie in the unit ball that theorems ask for.
    Memory ``8 n p`` bytes.
    """
    found = np.zeros((height(codes), sum(coordinates(column.domain) for column in columns)))
    start = 0
    for column in columns:
        domain, cells = column.domain, codes[column.name]
        stop = start + coordinates(domain)
        if _has_axis(domain):
            is_regular = cells < domain.values
            found[is_regular, start] = cells[is_regular] / (domain.values - 1)
        else:
            grouping = evenly(domain, MOST_CATEGORIES)
            groups = grouping.apply(cells)
            is_regular = groups < grouping.regular
            found[np.flatnonzero(is_regular), start + groups[is_regular]] = 1
        if domain.missing or domain.specials > 0:
            found[:, stop - 1] = ~is_regular
        start = stop
    return found


def coordinates(domain: Domain) -> int:
    """Return how many coordinates a column has."""
    regular = 1 if _has_axis(domain) else min(domain.values, MOST_CATEGORIES)
    return regular + (domain.missing or domain.specials > 0)


def _has_axis(domain: Domain) -> bool:
    """Return whether the regular codes lie on one axis. A single value has an indicator: it has no length."""
    return domain.values == 2 or (domain.ordered and domain.values > 1)


_BLOCK: Final = 8192  # rows that are floats at a time: 64 KiB a column


def marginal_moments(
    rows: npt.ArrayLike, *, ways: Sequence[int] = (1, 2, 3), weights: npt.ArrayLike | None = None
) -> tuple[Floats, ...]:
    """Return the d-marginals of all sets of d columns, for each d of ``ways``; sets in lexicographic order.

    rows: codes 0 and 1 of a table, or for each component of a mixture (which stands for endless rows drawn from it) the
    probability that each column is true; ways: 1, 2 or 3; weights: of the rows. Boedihardjo, Strohmer, Vershynin,
    "Covariance's Loss is Privacy's Gain", Section 1.1. Time ``O(n p**d)`` by matrix products, 0.4 CPU s for d = 3,
    8,000 rows and 112 columns. Without weights a table's counts are whole numbers and exact.
    """
    table = np.asarray(rows)
    masses = None if weights is None else shares("weights", weights, len(table))
    totals = [np.zeros(math.comb(table.shape[1], way)) for way in ways]
    for start in range(0, len(table), _BLOCK):
        block = table[start : start + _BLOCK].astype(np.float64)
        weighted = block if masses is None else block * masses[start : start + _BLOCK, None]
        totals = [total + _sums_of_products(weighted, block, way) for total, way in zip(totals, ways, strict=True)]
    return tuple(total / len(table) if masses is None else total for total in totals)


def _sums_of_products(weighted: Floats, block: Floats, way: int) -> Floats:
    """Return for every set of columns the sum over rows of their product; one of the factors is weighted."""
    columns = block.shape[1]
    if way == 1:
        return np.asarray(weighted.sum(axis=0))
    if way == 2:
        return (weighted.T @ block)[np.triu_indices(columns, 1)]
    parts = []
    for first in range(columns - 2):
        rest = block[:, first + 1 :]
        parts.append(((weighted[:, [first]] * rest).T @ rest)[np.triu_indices(rest.shape[1], 1)])
    return np.concatenate(parts)


MOST_ROWS: Final = 2**17  # rows of each table that are used; of more, so many are drawn
MOST_COORDINATES: Final = 256
"""Coordinates that are compared by ones and twos: of more, whole columns are chosen with no more in all."""

MOST_PRODUCTS: Final = 2**35
"""Rows of the largest table times the third power of the coordinates that are compared by threes."""

MOST_BY_THREES: Final = 128  # coordinates that are compared by threes, however few the rows
_BLOCKS: Final = 8


MARGINAL_ERROR: Final = {ways: Metric(f"marginal_error_{ways}") for ways in (1, 2, 3)}
COVARIANCE_LOSS: Final = Metric("covariance_loss")


MOMENT_LOSS: Final = {degree: Metric(f"moment_loss_{degree}") for degree in (2, 3)}
MOMENT_BOUND: Final = {degree: Metric(f"moment_bound_{degree}") for degree in (2, 3)}


def compare_moments(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> tuple[MetricResult, ...]:
    """Return how far marginals, covariance and moments of tables are from the real ones, over columns of any type.

    The root of formula (1.2) for one release, Theorem 3.10, and (2.1). Changed: coordinates are those of `coded_rows`,
    the paper's own for true-or-false columns; sets with two coordinates of one column, whose product is 0 in every row,
    count as any others.

    Columns are chosen so that figures with d = 1 and 2 have at most 256 coordinates, and those with d = 3 at most 64
    for 131,072 rows, 128 for 16,384 and fewer. Exact where no table has more than 131,072 rows; else the error is that
    of a jackknife over 8 blocks. It does not show that norms of noisy differences come out too large: the figure of the
    bootstrap does. Time ``O(rows coordinates**3)`` within these limits, memory 100 MB.
    """
    tables = {"": real_codes, **others}
    is_sampled = max(map(height, tables.values())) > MOST_ROWS
    twos = _fitting(schema.columns, MOST_COORDINATES, rng)
    most = (MOST_PRODUCTS / min(max(map(height, tables.values())), MOST_ROWS)) ** (1 / 3)
    threes = _fitting(twos, min(int(most), MOST_BY_THREES), rng)
    rows = {name: some_rows(codes, [each.name for each in twos], MOST_ROWS, rng) for name, codes in tables.items()}
    blocks = {name: _BLOCKS if height(codes) > MOST_ROWS else 1 for name, codes in tables.items()}
    small = {name: _moments(rows[name], threes, 3, blocks[name]) for name in tables}
    large = {name: _moments(rows[name], twos, 2, blocks[name]) for name in tables}

    def compared(metric: Metric, moments: Mapping[str, _Moments], figure: _Figure) -> MetricResult:
        figures = {name: figure(moments[""], moments[name]) for name in others}
        values = {name: jackknife_estimate(each) for name, each in figures.items()}
        return MetricResult(
            metric=metric, values=values, rows=MOST_ROWS if is_sampled else None, columns=moments[""].columns
        )

    used = {1: large, 2: large, 3: small}
    ways = [way for way, moments in used.items() if moments[""].columns >= way]
    return (
        *(compared(MARGINAL_ERROR[way], used[way], partial(_marginal_error_of, way)) for way in ways),
        compared(COVARIANCE_LOSS, large, _covariance_loss),
        compared(MOMENT_LOSS[2], large, _second_loss),
        compared(MOMENT_BOUND[2], large, partial(_bound, 2)),
        compared(MOMENT_LOSS[3], small, _third_loss),
        compared(MOMENT_BOUND[3], small, partial(_bound, 3)),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moments:
    """Hold moments of all rows of a table, and of all but each block of rows; one of them where all rows are used.

    Products of different coordinates stand in the lexicographic order of their sets.
    """

    columns: int
    ones: Floats  # (1 + blocks, p): means
    twos: Floats  # (1 + blocks, p (p - 1) / 2): mean products of two coordinates
    squares: Floats  # (1 + blocks, p): mean squares
    threes: Floats  # (1 + blocks, p (p - 1) (p - 2) / 6), for degree 3
    squares_by: Floats  # (1 + blocks, p, p): mean products of a square and a coordinate, for degree 3


_Figure = Callable[[_Moments, _Moments], Floats]


def _fitting(columns: Sequence[Field], most: int, rng: np.random.Generator) -> Sequence[Field]:
    """Return all columns, or some in their order that have no more coordinates in all."""
    sizes = [coordinates(column.domain) for column in columns]
    if sum(sizes) <= most:
        return columns
    chosen, room = [], most
    for place in rng.permutation(len(columns)).tolist():
        if sizes[place] <= room:
            chosen.append(place)
            room -= sizes[place]
    return [columns[place] for place in sorted(chosen)]


def _moments(codes: Codes, columns: Sequence[Field], degree: int, blocks: int) -> _Moments:
    """Return the moments of the rows up to a degree, 2 or 3."""
    sums = [_sums(codes, columns, degree, part) for part in np.array_split(np.arange(height(codes)), blocks)]
    rows, *totals = (with_each_left_out(np.array(each)) for each in zip(*sums, strict=True))
    means = [total / rows.reshape(-1, *[1] * (total.ndim - 1)) for total in totals]
    ones, twos, squares, threes, squares_by = means
    return _Moments(columns=len(columns), ones=ones, twos=twos, squares=squares, threes=threes, squares_by=squares_by)


def _sums(codes: Codes, columns: Sequence[Field], degree: int, part: npt.NDArray[np.intp]) -> list[Floats]:
    """Return the number of rows of a block, and their sums of products as `_Moments` has them."""
    total: list[Floats] = []
    for start in range(int(part[0]), int(part[-1]) + 1, _BLOCK):
        stop = min(start + _BLOCK, int(part[-1]) + 1)
        x = coded_rows({column.name: codes[column.name][start:stop] for column in columns}, columns)
        ways = range(1, min(degree, x.shape[1]) + 1)
        sums = [*(len(x) * each for each in marginal_moments(x, ways=ways)), *[np.zeros(0)] * (3 - len(ways))]
        square = x * x
        by = square.T @ x if degree == 3 else np.zeros((0, 0))
        added = [np.array(float(len(x))), *sums[:2], square.sum(axis=0), sums[2], by]
        total = [np.asarray(a + b) for a, b in zip(total, added, strict=True)] if total else added
    return total


def _marginal_error_of(way: int, real: _Moments, other: _Moments) -> Floats:
    """Return the root-mean-square difference of the means of products."""
    mine, theirs = ((each.ones, each.twos, each.threes)[way - 1] for each in (real, other))
    return np.asarray(np.sqrt(np.square(mine - theirs).mean(axis=1)))


def _covariance_loss(real: _Moments, other: _Moments) -> Floats:
    """Return the norm of the difference of the covariance matrices, of rows in the unit ball."""
    (off, diagonal), (other_off, other_diagonal) = _covariances(real), _covariances(other)
    return _norm((2, off - other_off), (1, diagonal - other_diagonal)) / float(real.columns)


def _covariances(moments: _Moments) -> tuple[Floats, Floats]:
    """Return the covariances of every two coordinates, and the variances."""
    first, second = np.triu_indices(moments.ones.shape[1], 1)
    off = moments.twos - moments.ones[:, first] * moments.ones[:, second]
    return off, moments.squares - np.square(moments.ones)


def _bound(degree: int, real: _Moments, other: _Moments) -> Floats:
    """Return what Theorem 3.10 allows the moment loss to be."""
    return np.asarray(4**degree * _covariance_loss(real, other))


def _second_loss(real: _Moments, other: _Moments) -> Floats:
    """Return the norm of the difference of the second moments, of rows in the unit ball."""
    return _norm((2, real.twos - other.twos), (1, real.squares - other.squares)) / float(real.columns)


def _third_loss(real: _Moments, other: _Moments) -> Floats:
    """Return the norm of the difference of the third moments, of rows in the unit ball."""
    by = real.squares_by - other.squares_by
    cubes = np.diagonal(by, axis1=1, axis2=2)
    # A set of three coordinates has six entries, a square and another coordinate three, a cube one.
    parts = (6, real.threes - other.threes), (3, by.reshape(len(by), -1)), (-2, cubes)
    return np.asarray(_norm(*parts) / real.columns**1.5)


def _norm(*parts: tuple[int, Floats]) -> Floats:
    """Return the root of the sum of squares in each row, each part counted so many times."""
    total = sum(times * np.square(part).sum(axis=1) for times, part in parts)
    return np.asarray(np.sqrt(np.maximum(total, 0)))
