"""How strongly pairs of columns depend on each other, and how far a table's dependences are from the real ones.

One measure serves columns of every type, so that figures can be compared across a matrix: the information correlation
(`strength`). All is computed from sums over blocks of rows, so that leaving a block out
(for standard errors) costs no second pass. What is
computed from private rows is private.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.extras.evaluate.metrics.metric import (
    REAL,
    Estimate,
    Metric,
    MetricResult,
    height,
    jackknife_estimate,
    some_columns,
    some_rows,
    with_each_left_out,
)
from lapwing.maths.arrays import Cells, Codes, Floats
from lapwing.maths.associations import strength
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.schemas import Schema

BLOCKS: Final = 8  # blocks of rows that a standard error is made from
_ROWS_A_CELL: Final = 5
_MOST_PARTS: Final = 16
_FLAT: Final = 1e-12  # variance, in units of the column's, below which only rounding is left


def parts_for(rows: int) -> int:
    """Return in how many parts a column is taken, so that a table of two has five rows a cell: 2 to 16."""
    return int(np.clip(np.sqrt(rows / _ROWS_A_CELL), 2, _MOST_PARTS))


def dependence_cells(tables: Sequence[Cells], domain: Domain, parts: int) -> tuple[npt.NDArray[np.uint8], ...]:
    """Return one column of several tables in few cells, chosen by the first of them, the real one.

    ``parts`` cells of regular codes: runs with equal real counts where the column is ordered; else the most common real
    categories, and one cell more for all others. Special values share a cell, missing (or misfit) is one: 0 to ``parts
    + 2``.
    """
    real = tables[0][tables[0] < domain.values]
    if domain.ordered:
        ranked = np.sort(real)
        cuts = np.unique(ranked[np.arange(1, parts) * len(ranked) // parts]) if len(ranked) else ranked
        regular = [np.searchsorted(cuts, codes, side="right") for codes in tables]
    else:
        counts = np.bincount(real.astype(np.int64), minlength=domain.values)
        cell = np.full(domain.size, parts)
        common = np.argsort(-counts, kind="stable")[:parts]
        cell[common] = np.arange(len(common))
        regular = [cell[codes] for codes in tables]
    found = []
    for codes, cells in zip(tables, regular, strict=True):
        apart = np.where(codes == domain.last, parts + 2, parts + 1)
        found.append(np.where(codes < domain.values, cells, apart).astype(np.uint8))
    return tuple(found)


def information_correlations(cells: Sequence[npt.NDArray[np.uint8]], size: int, blocks: int) -> Floats:
    """Return the information correlation of every pair of columns, of all rows and with each block left out.

    Shape (1 + blocks, d, d), or (1, d, d) for one block: 0 to 1, nan where a column has one cell only. Time ``O(d**2
    n)``, memory ``O(d**2 blocks size**2)``.
    """
    columns, rows = len(cells), len(cells[0])
    block = np.arange(rows) * blocks // max(rows, 1)
    pairs = np.triu_indices(columns, 1)
    counts = np.empty((len(pairs[0]), blocks, size, size))
    number = 0
    for left in range(columns - 1):
        row = (block * size + cells[left]) * size
        for right in range(left + 1, columns):
            counts[number] = np.bincount(row + cells[right], minlength=blocks * size**2).reshape(blocks, size, size)
            number += 1
    found = np.ones((1 + blocks if blocks > 1 else 1, columns, columns))
    strengths = strength(with_each_left_out(np.moveaxis(counts, 1, 0)))
    found[:, pairs[0], pairs[1]] = found[:, pairs[1], pairs[0]] = strengths
    return found


def correlations(codes: Codes, columns: Sequence[Field], blocks: int, *, ranked: bool) -> Floats:
    """Return the correlation of every pair of ordered columns, over the rows in which both have a regular value.

    ranked: Spearman's instead of Pearson's; a value's rank is that among all regular values of its column. Shape (1 +
    blocks, d, d); nan where one of the columns has one value only. Time ``O(d**2 n)``, memory ``O(d n)``.
    """
    points = [_standardised(codes[column.name], column.domain, ranked=ranked) for column in columns]
    values = np.array([np.nan_to_num(each) for each in points])
    is_there = np.array([np.isfinite(each) for each in points], dtype=np.float64)
    sums = []
    for part, there in zip(np.array_split(values, blocks, 1), np.array_split(is_there, blocks, 1), strict=True):
        sums.append((there @ there.T, part @ there.T, np.square(part) @ there.T, part @ part.T))
    rows, first, square, product = (with_each_left_out(np.array(each)) for each in zip(*sums, strict=True))
    second, other_square = np.swapaxes(first, 1, 2), np.swapaxes(square, 1, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread, other_spread = square / rows - np.square(first / rows), other_square / rows - np.square(second / rows)
        found = (product / rows - first * second / np.square(rows)) / np.sqrt(spread * other_spread)
    is_flat = (rows < 2) | ~(spread > _FLAT) | ~(other_spread > _FLAT)
    return np.where(is_flat, np.nan, np.clip(found, -1, 1))


def _standardised(codes: Cells, domain: Domain, *, ranked: bool) -> Floats:
    """Return the regular codes or their ranks at mean 0 and variance 1, nan elsewhere; 0 where all are equal."""
    is_regular = codes < domain.values
    found = np.full(len(codes), np.nan)
    values, number, counts = np.unique(codes[is_regular], return_inverse=True, return_counts=True)
    if not len(values):
        return found
    # Codes are counted from the first one, so that no digit of a number of 2**53 is lost.
    points = np.cumsum(counts) - counts / 2 if ranked else (values - values[0]).astype(np.float64)
    centred = points - np.average(points, weights=counts)
    spread = np.sqrt(np.average(np.square(centred), weights=counts))
    found[is_regular] = (centred / spread if len(values) > 1 else np.zeros(1))[number]
    return found


MOST_COLUMNS: Final = 60  # columns that are compared with each other; of more, so many are drawn
MOST_ROWS: Final = 2**17  # rows of a table that are compared; of more, so many are drawn
PEARSON: Final = Metric("correlation_difference")
SPEARMAN: Final = Metric("rank_correlation_difference")
ASSOCIATION: Final = Metric("association_difference")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Associations:
    """Hold how strongly the columns of several tables depend on each other.

    matrices: by the name of the table, ``real`` among them: symmetric, 0 (independent) to 1 (one column tells the
    other); nan where a column has one value only.
    """

    columns: tuple[str, ...]
    matrices: Mapping[str, np.ndarray]


def compare_associations(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> Associations | None:
    """Return how strongly every pair of columns depends on each other, in the real table and in others.

    Of more than 60 columns so many are drawn, of more than 2**17 rows as well; None for one column. A column is taken
    in 2 to 16 parts, so that a table of two columns has five rows a cell: a dependence within parts is not seen. Time
    ``O(d**2 n)`` for each table, memory ``O(d n)``.
    """
    columns = some_columns(schema.columns, MOST_COLUMNS, rng)
    if len(columns) < 2:
        return None
    tables, _ = _some_of_each(real_codes, others, columns, rng)
    found = _strengths(tables, columns, blocks=1)
    return Associations(
        columns=tuple(column.name for column in columns), matrices={name: each[0] for name, each in found.items()}
    )


def compare_correlations(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> tuple[MetricResult, ...]:
    """Return how far correlations of ordered columns and strengths of dependence of all are from the real ones.

    Means over the pairs of which one of the tables has a figure; where the other has none, because a column has one
    value only, it counts as 0: nothing depends on a constant. Chance alone makes all of them larger than 0: compare
    with the bootstrap. Exact where all rows and columns are used; else the error is that of a jackknife over 8 blocks.
    """
    found = []
    ordered = some_columns([each for each in schema.columns if each.domain.ordered], MOST_COLUMNS, rng)
    if len(ordered) > 1:
        tables, rows = _some_of_each(real_codes, others, ordered, rng)
        blocks = 1 if rows is None else BLOCKS
        for metric in (PEARSON, SPEARMAN):
            figures = {
                name: correlations(codes, ordered, blocks, ranked=metric is SPEARMAN) for name, codes in tables.items()
            }
            found.append(_compared(metric, figures, rows, len(ordered)))
    columns = some_columns(schema.columns, MOST_COLUMNS, rng)
    if len(columns) > 1:
        tables, rows = _some_of_each(real_codes, others, columns, rng)
        strengths = _strengths(tables, columns, blocks=1 if rows is None else BLOCKS)
        found.append(_compared(ASSOCIATION, strengths, rows, len(columns)))
    return tuple(found)


def _some_of_each(
    real_codes: Codes, others: Mapping[str, Codes], columns: Sequence[Field], rng: np.random.Generator
) -> tuple[dict[str, Codes], int | None]:
    """Return rows of every table, the real one first, and how many of each where not all are used."""
    tables = {REAL: real_codes, **others}
    names = [column.name for column in columns]
    is_all = max(map(height, tables.values())) <= MOST_ROWS
    some: dict[str, Codes] = {name: some_rows(codes, names, MOST_ROWS, rng) for name, codes in tables.items()}
    return some, None if is_all else MOST_ROWS


def _strengths(tables: Mapping[str, Codes], columns: Sequence[Field], *, blocks: int) -> dict[str, Floats]:
    """Return the information correlations of each table, as `information_correlations` does."""
    parts = parts_for(min(map(height, tables.values())))
    by_column = [
        dependence_cells([codes[column.name] for codes in tables.values()], column.domain, parts) for column in columns
    ]
    return {
        name: information_correlations(cells, parts + 3, blocks)
        for name, cells in zip(tables, zip(*by_column, strict=True), strict=True)
    }


def _compared(metric: Metric, figures: Mapping[str, Floats], rows: int | None, columns: int) -> MetricResult:
    """Return how far the figures of each table are from the real ones: the mean over pairs, and its error."""
    return MetricResult(
        metric=metric,
        values={name: _distance(figures[REAL], each) for name, each in figures.items() if name != REAL},
        rows=rows,
        columns=columns,
    )


def _distance(real: Floats, other: Floats) -> Estimate:
    """Return the mean size of the differences over the pairs that have a figure in one of the tables."""
    places = np.triu_indices(real.shape[1], 1)
    pairs, other_pairs = (each[:, places[0], places[1]] for each in (real, other))
    is_counted = ~(np.isnan(pairs) & np.isnan(other_pairs))
    sizes = np.abs(np.nan_to_num(pairs) - np.nan_to_num(other_pairs))
    return jackknife_estimate((sizes * is_counted).sum(axis=1) / np.maximum(is_counted.sum(axis=1), 1))
