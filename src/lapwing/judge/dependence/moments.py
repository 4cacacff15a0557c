"""Marginals and moments of coded tables, as the papers on microaggregation judge by: in the mean square, and in norm.

Rows are vectors as `lapwing.judge.dependence.marginal_moments` makes them, all columns together. What is computed from
private rows
is private: nothing here adds noise.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.judge.dependence.dependence import jackknife_error, with_each_left_out
from lapwing.judge.dependence.marginal_moments import coded_rows, coordinates, marginal_moments
from lapwing.judge.metrics import Compared, Estimate, Floats, Metric, height, some_rows
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]

MOST_ROWS: Final = 2**17
"""Rows of each table that are used; of more, so many are drawn."""

MOST_COORDINATES: Final = 256
"""Coordinates that are compared by ones and twos: of more, whole columns are chosen with no more in all."""

MOST_PRODUCTS: Final = 2**35
"""Rows of the largest table times the third power of the coordinates that are compared by threes."""

MOST_BY_THREES: Final = 128
"""Coordinates that are compared by threes, however few the rows."""

_BLOCKS: Final = 8
_ROWS_AT_ONCE: Final = 8192
_PAPER: Final = "Boedihardjo, Strohmer, Vershynin, Covariance's Loss is Privacy's Gain"


def _marginal_error(ways: int) -> Metric:
    """Return the metric of sets of so many coordinates."""
    return Metric(
        key=f"marginal_error_{ways}",
        title=f"{ways}-way marginals, root mean square",
        unit="share of rows",
        meaning=(
            f"Root-mean-square difference of the mean product of {ways} coordinates (of true-or-false columns: the "
            f"share of rows in which {'all are' if ways > 1 else 'it is'} true), over all sets of {ways}; from 0 to 1."
        ),
        best=0.0,
        reference=f"{_PAPER}, formula (1.2)",
    )


MARGINAL_ERROR: Final = {ways: _marginal_error(ways) for ways in (1, 2, 3)}
"""The metrics by the number of coordinates in a set, d."""

COVARIANCE_LOSS: Final = Metric(
    key="covariance_loss",
    title="covariance loss",
    unit="squared length, rows at most 1 long",
    meaning=(
        "Frobenius norm of the difference of the covariance matrices, rows being scaled to length at most 1; from 0 "
        "to 1.42."
    ),
    best=0.0,
    reference=f"{_PAPER}, Lemma 3.1",
)


def _moment_loss(degree: int) -> Metric:
    return Metric(
        key=f"moment_loss_{degree}",
        title=f"moment loss of degree {degree}",
        unit=f"length to the power of {degree}, rows at most 1 long",
        meaning=(
            f"Norm of the difference of the mean tensors of all products of {degree} coordinates, rows being scaled to "
            "length at most 1; from 0 to 1.42."
        ),
        best=0.0,
        reference=f"{_PAPER}, (2.1)",
    )


def _moment_bound(degree: int) -> Metric:
    return Metric(
        key=f"moment_bound_{degree}",
        title=f"bound of the moment loss of degree {degree}",
        unit=f"length to the power of {degree}, rows at most 1 long",
        meaning=(
            f"What the moment loss of degree {degree} is at most where rows are averages of groups of real rows: "
            f"{4**degree} times the covariance loss of the same coordinates. Other tables may pass it."
        ),
        best=0.0,
        reference=f"{_PAPER}, Theorem 3.10",
    )


MOMENT_LOSS: Final = {degree: _moment_loss(degree) for degree in (2, 3)}
"""The metrics by degree."""

MOMENT_BOUND: Final = {degree: _moment_bound(degree) for degree in (2, 3)}
"""What the losses are read against, by degree."""


def compare_moments(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> tuple[Compared, ...]:
    """Return how far marginals, covariance and moments of tables are from the real ones, over columns of any type.

    real_codes: mapping of str to integers (n,), codes of every modelled column of the schema, at least one row; rng:
    draws rows of tables with more than 131,072, and columns where all have too many coordinates. Returns
    `MARGINAL_ERROR` for d = 1, 2, 3 (at most the number of columns), `COVARIANCE_LOSS`, then `MOMENT_LOSS` and
    `MOMENT_BOUND` of degree 2 and of degree 3.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain": the root of formula (1.2) for one release,
    Theorem 3.10, and (2.1). Changed: coordinates are those of `coded_rows`, the paper's own for true-or-false columns;
    sets with two coordinates of one column, whose product is 0 in every row, count as any others.

    Columns are chosen so that figures with d = 1 and 2 have at most 256 coordinates, and those with d = 3 at most 64
    for 131,072 rows, 128 for 16,384 and fewer. On these columns they are exact where no table has more than 131,072
    rows; else the standard error is that of a jackknife over 8 blocks. It does not show that norms of noisy differences
    come out too large: the figure of the bootstrap does. Time ``O(rows coordinates**3)`` within these limits, memory
    100 MB.
    """
    tables = {"": real_codes, **others}
    is_sampled = max(map(height, tables.values())) > MOST_ROWS
    twos, threes = _chosen_columns(tables.values(), schema, rng)
    rows = {name: some_rows(codes, [each.name for each in twos], MOST_ROWS, rng) for name, codes in tables.items()}
    blocks = {name: _BLOCKS if height(codes) > MOST_ROWS else 1 for name, codes in tables.items()}
    small = {name: _moments(rows[name], threes, 3, blocks[name]) for name in tables}
    large = {name: _moments(rows[name], twos, 2, blocks[name]) for name in tables}

    def compared(metric: Metric, moments: Mapping[str, _Moments], figure: _Figure) -> Compared:
        figures = {name: figure(moments[""], moments[name]) for name in others}
        values = {
            name: Estimate(value=float(each[0]), standard_error=jackknife_error(each)) for name, each in figures.items()
        }
        return Compared(
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


def _chosen_columns(
    tables: Iterable[Codes], schema: Schema, rng: np.random.Generator
) -> tuple[Sequence[Field], Sequence[Field]]:
    """Return the columns that are compared by ones and twos, and those among them that are compared by threes."""
    twos = _fitting(schema.columns, MOST_COORDINATES, rng)
    rows = min(max(map(height, tables)), MOST_ROWS)
    most = min(int((MOST_PRODUCTS / rows) ** (1 / 3)), MOST_BY_THREES)
    return twos, _fitting(twos, most, rng)


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
    for start in range(int(part[0]), int(part[-1]) + 1, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, int(part[-1]) + 1)
        x = coded_rows({column.name: codes[column.name][start:stop] for column in columns}, columns)
        means = [_mean_products(x, way) if way <= degree else np.zeros(0) for way in (1, 2, 3)]
        square = x * x
        by = square.T @ x if degree == 3 else np.zeros((0, 0))
        added = [
            np.array(float(len(x))),
            *(mean * len(x) for mean in means[:2]),
            square.sum(axis=0),
            means[2] * len(x),
            by,
        ]
        total = [np.asarray(a + b) for a, b in zip(total, added, strict=True)] if total else added
    return total


def _mean_products(x: Floats, way: int) -> Floats:
    """Return the mean product of every set of so many coordinates; none where there are fewer coordinates."""
    return marginal_moments(x, ways=(way,))[0] if way <= x.shape[1] else np.zeros(0)


def _marginal_error_of(way: int, real: _Moments, other: _Moments) -> Floats:
    """Return the root-mean-square difference of the means of products."""
    name = {1: "ones", 2: "twos", 3: "threes"}[way]
    differences: Floats = getattr(real, name) - getattr(other, name)
    return np.asarray(np.sqrt(np.square(differences).mean(axis=1)))


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
