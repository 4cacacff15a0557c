"""How alike two tables are on the scale of SDMetrics' QualityReport: shapes of columns, trends of related pairs.

The shape of a number or date is compared by the distance of Kolmogorov and Smirnov, that of categories by total
variation. A pair counts where it is strongly related in the first table: two numbers by Pearson's correlation, others
by Cramér's V of their contingency table, in which a number has ten bins from its table's smallest value to its largest
(that and missing ones are a bin of their own, as there). What is missing has no shape. Special values count as missing.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from lapwing.maths.arrays import Cells, Codes, Floats, Ints
from lapwing.model.compared import PAIRS, choose_tables, compared_cells
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

STRONG_CORRELATION: Final = 0.5
STRONG_ASSOCIATION: Final = 0.3
_BINS: Final = 10
_MOST_CELLS: Final = 2**24  # of a table of two columns; larger ones are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedPair:
    """A pair of columns that is strongly related in the first of two tables.

    strength, other: r, or Cramér's V, in the first table and in the second, where the relation in other cells does not
    count; similarity: from 0 to 1.
    """

    columns: tuple[str, str]
    is_correlation: bool
    strength: float
    other: float
    similarity: float

    @property
    def error(self) -> float:
        """How far the strength in the second table is from that in the first: all of it where a column is constant."""
        return abs(self.strength - (0.0 if math.isnan(self.other) else self.other))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Say how alike two tables are.

    shapes: similarity of each column that has a value in both, 0 to 1; relations: the pairs strongly related in the
    first; share_error: by how much the share of the value of a typical row of the first is off, a mean over columns.
    """

    shapes: Mapping[str, float]
    share_error: float
    relations: tuple[RelatedPair, ...]

    @property
    def shape(self) -> float:
        """The mean over columns."""
        return mean_of(self.shapes.values())

    @property
    def trend(self) -> float | None:
        """The mean over related pairs; None without one."""
        return mean_of(each.similarity for each in self.relations) if self.relations else None

    @property
    def score(self) -> float:
        """The headline, from 0 to 1: the mean of both."""
        return headline(self.shape, self.trend)


def mean_of(values: Iterable[float]) -> float:
    """Return the mean; 0 of nothing."""
    found = [*values]
    return math.fsum(found) / max(1, len(found))


def headline(shape: float, trend: float | None) -> float:
    """Return the mean of column shapes and pair trends, where there are any."""
    return shape if trend is None else (shape + trend) / 2


def compare_quality(first: Codes, second: Codes, schema: Schema, *, rng: np.random.Generator) -> Quality:
    """Return how alike two tables are; the first is the one that the second stands for.

    rng: chooses 8192 pairs where there are more. Time ``O(d**2 n)``.
    """
    pairs = choose_tables(schema, ways=(2,), pairs=PAIRS, rng=rng)
    shapes = ((field.name, column_shape(first[field.name], second[field.name], field)) for field in schema.columns)
    return Quality(
        shapes={name: shape for name, shape in shapes if shape is not None},
        share_error=mean_of(_share_error(first[field.name], second[field.name], field) for field in schema.columns),
        relations=tuple(_relations(first, second, schema, pairs[0] if pairs else ())),
    )


def is_number(field: Field) -> bool:
    """Tell whether a column is compared as a number: dates are, categories and Booleans are not."""
    return field.domain.ordered and not field.is_categorical and field.type != "boolean"


def column_shape(first: Cells, second: Cells, field: Field) -> float | None:
    """Return how alike two columns are; None where one has no value."""
    size = field.domain.values if is_number(field) else field.domain.last
    used, codes = np.unique(np.concatenate([each[each < size] for each in (first, second)]), return_inverse=True)
    own = int((first < size).sum())
    if not 0 < own < codes.size:
        return None
    shares = [np.bincount(each, minlength=used.size) / each.size for each in (codes[:own], codes[own:])]
    return shape_of(shares[0], shares[1], is_ordered=is_number(field))


def _share_error(first: Cells, second: Cells, field: Field) -> float:
    """Return by how much the share of the value of a typical row is off, in the cells in which columns are compared."""
    cells = compared_cells(field.domain)
    shares = [np.bincount(cells.apply(each), minlength=cells.groups) / each.size for each in (first, second)]
    return float(shares[0] @ np.abs(shares[0] - shares[1]))


def shape_of(first: Floats, second: Floats, *, is_ordered: bool) -> float:
    """Return how alike two lists of shares are, of groups in their order."""
    away = first - second
    return 1 - float(np.abs(np.cumsum(away)).max() if is_ordered else np.abs(away).sum() / 2)


@dataclass(frozen=True, slots=True, eq=False)
class TrendColumn:
    """One column of one table as pairs are compared.

    cells: (n,) the cell of each row, of so many; values: (n,) float64, nan where there is none; None for categories.
    """

    cells: Ints
    values: Floats | None
    size: int


def trend_column(codes: Cells, field: Field) -> TrendColumn:
    """Return a column as pairs are compared."""
    if not is_number(field):
        return TrendColumn(codes.astype(np.int64), None, field.domain.size)
    values = np.where(codes < field.domain.values, codes, np.nan).astype(np.float64)
    return trend_within(TrendColumn(np.zeros(0, dtype=np.int64), values, _BINS + 2))


def trend_within(column: TrendColumn, ends: tuple[float, float] | None = None) -> TrendColumn:
    """Return a column whose bins lie between other ends, or its own; as it is where it has none."""
    if column.values is None:
        return column
    there = column.values[~np.isnan(column.values)]
    if not there.size:
        return replace(column, cells=np.full(column.values.shape, _BINS + 1))
    low, high = (float(there.min()), float(there.max())) if ends is None else ends
    # Counted from the lowest: beside large numbers bins of small ones would have no width.
    edges = np.histogram_bin_edges(there - low, _BINS, (0.0, high - low))
    return replace(column, cells=np.digitize(np.clip(column.values, low, high) - low, edges))


def ends_of(column: TrendColumn) -> tuple[float, float] | None:
    """Return the smallest and the largest number of a column; None where it has none."""
    there = None if column.values is None else column.values[~np.isnan(column.values)]
    return None if there is None or not there.size else (float(there.min()), float(there.max()))


def association(counts: Floats) -> float:
    """Return Cramér's V of a contingency table; nan where one side has one value only.

    >>> [round(association(np.array(each)), 3) for each in ([[5.0, 0.0], [0.0, 5.0]], [[5.0, 5.0], [5.0, 5.0]])]
    [1.0, 0.0]
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return math.nan
    total = counts.sum()
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    return math.sqrt(float((np.square(counts - expected) / expected).sum()) / total / (min(counts.shape) - 1))


def same_association(counts: Floats, others: Floats) -> float:
    """Return Cramér's V of a second contingency table, as far as the same cells are too full or too empty in it.

    >>> turned = np.array([[0.0, 5.0], [5.0, 0.0]])
    >>> [round(same_association(turned, each), 3) for each in (turned, turned[::-1], np.ones((2, 2)))]
    [1.0, -1.0, 0.0]
    """
    away = [_away(each) for each in (counts, others)]
    sides = min(np.count_nonzero(counts.sum(axis=axis)) for axis in (0, 1))
    size = float(np.square(away[0]).sum()) * (sides - 1)
    return float((away[0] * away[1]).sum()) / math.sqrt(size) if size > 0 else 0.0


def _shares(counts: Floats) -> Floats:
    """Return counts as shares of their sum; zeros where there is nothing."""
    total = counts.sum()
    return np.asarray(counts / total) if total > 0 else np.zeros(counts.shape)


def _away(counts: Floats) -> Floats:
    """Return how far each cell's share is from that of independent columns, in units of its root."""
    shares = _shares(counts)
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    return np.asarray(np.divide(shares - expected, np.sqrt(expected), out=np.zeros_like(shares), where=expected > 0))


def correlation(one: Floats, other: Floats, weights: Floats | None = None) -> float:
    """Return Pearson's correlation over the rows that have both values; nan where one of them is constant."""
    is_there = ~(np.isnan(one) | np.isnan(other))
    if not is_there.any():
        return math.nan
    shares = is_there.astype(np.float64) if weights is None else np.where(is_there, weights, 0.0)
    points = [np.nan_to_num(each[is_there] - each[is_there].min()) for each in (one, other)]
    shares = _shares(shares[is_there])
    left, right = (each - shares @ each for each in points)
    spread = float(shares @ np.square(left)) * float(shares @ np.square(right))
    return float(shares @ (left * right)) / math.sqrt(spread) if spread > 0 else math.nan


def pair_counts(one: TrendColumn, other: TrendColumn, weights: Floats | None = None) -> Floats:
    """Return the contingency table of two columns."""
    keys = one.cells * other.size + other.cells
    counts = np.bincount(keys, weights, minlength=one.size * other.size)
    return counts.astype(np.float64).reshape(one.size, other.size)


def are_numbers(one: TrendColumn, other: TrendColumn) -> bool:
    """Tell whether two columns are compared by their correlation."""
    return one.values is not None and other.values is not None


def strength_of(one: TrendColumn, other: TrendColumn, weights: Floats | None = None) -> float:
    """Return how strongly two columns are related; nan where that cannot be told."""
    if one.values is not None and other.values is not None:
        return correlation(one.values, other.values, weights)
    return math.nan if one.size * other.size > _MOST_CELLS else association(pair_counts(one, other, weights))


def is_strong(strength: float, *, is_correlation: bool) -> bool:
    """Tell whether a pair counts as strongly related."""
    return abs(strength) > (STRONG_CORRELATION if is_correlation else STRONG_ASSOCIATION)


def is_still_strong(found: RelatedPair) -> bool:
    """Tell whether a relation is strong in the second table as well, and in the same direction."""
    return is_strong(found.other, is_correlation=found.is_correlation) and found.strength * found.other > 0


def _relations(first: Codes, second: Codes, schema: Schema, pairs: Sequence[tuple[str, ...]]) -> Iterator[RelatedPair]:
    """Yield what becomes of each strongly related pair; one that the second table makes constant is left out."""
    columns = {
        field.name: tuple(trend_column(each[field.name], field) for each in (first, second)) for field in schema.columns
    }
    for left, right in pairs:
        (one, one_there), (other, other_there) = columns[left], columns[right]
        is_correlation = are_numbers(one, other)
        strength = strength_of(one, other)
        if not is_strong(strength, is_correlation=is_correlation):
            continue
        if is_correlation:
            there = strength_of(one_there, other_there)
            similarity = 1 - abs(strength - there) / 2
        else:
            counts, counts_there = pair_counts(one, other), pair_counts(one_there, other_there)
            similarity = float(np.minimum(_shares(counts), _shares(counts_there)).sum())
            same_bins = trend_within(one_there, ends_of(one)), trend_within(other_there, ends_of(other))
            there = same_association(counts, pair_counts(*same_bins))
        if not math.isnan(similarity):
            yield RelatedPair(
                columns=(left, right),
                is_correlation=is_correlation,
                strength=strength,
                other=there,
                similarity=similarity,
            )
