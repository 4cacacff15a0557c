"""How strongly columns depend on each other: the information correlation of any two, and correlations of ordered ones.

Everything is computed from sums over blocks of rows, so that leaving a block out costs no second look at the rows.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.judge.metrics import Floats
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain

Codes = Mapping[str, npt.NDArray[np.integer]]

_CHANCE: Final = 0.001  # of tables of independent columns seem dependent
BLOCKS: Final = 8
"""Blocks of rows that a standard error is made from."""

_ROWS_A_CELL: Final = 5
_MOST_PARTS: Final = 16
_FLAT: Final = 1e-12  # variance, in units of the column's, below which only rounding is left


def parts_for(rows: int) -> int:
    """Return in how many parts a column is taken, so that a table of two has five rows a cell: 2 to 16.

    >>> parts_for(1), parts_for(100), parts_for(10**6)
    (2, 4, 16)
    """
    return int(np.clip(np.sqrt(rows / _ROWS_A_CELL), 2, _MOST_PARTS))


def dependence_cells(
    tables: Sequence[npt.NDArray[np.integer]], domain: Domain, parts: int
) -> tuple[npt.NDArray[np.uint8], ...]:
    """Return one column of several tables in few cells, chosen by the first of them.

    tables: sequence of integers (n,), codes of the column, the real ones first; parts: cells of regular codes, 2 to 16:
    runs with equal real counts where the column is ordered; else the most common real categories, and one cell more for
    all others. Special values share a cell, missing (or misfit) is one. Returns tuple of uint8 (n,), cells 0 to ``parts
    + 2``, one array for each table.

    >>> ages = np.array([20, 30, 40, 50, 121])
    >>> dependence_cells([ages], Domain(121, 0, True, True, False), 2)[0].tolist()
    [0, 0, 1, 1, 4]
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

    cells: sequence of uint8 (n,), of d columns, 0 to ``size - 1``; blocks: runs of rows; 1 for none to leave out.
    Returns float64 (1 + blocks, d, d), 0 to 1, symmetric, diagonal 1; nan where a column has one cell only.

    Time ``O(d**2 n)``, memory ``O(d**2 blocks size**2)``.

    >>> same = np.arange(60, dtype=np.uint8) % 3
    >>> information_correlations([same, same[::-1]], 3, 1).round(3).tolist()
    [[[1.0, 1.0], [1.0, 1.0]]]
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


def strength(counts: Floats) -> Floats:
    """Return the information correlation of two columns from their table.

    counts: float64 (..., a, b), rows of each cell. Returns float64 (...), ``sqrt((1 - exp(-2 I)) / (1 - exp(-2 H)))``
    with I the mutual information and H the smaller entropy: 0 to 1; nan where one of the columns has one cell only.

    References
    ----------
    Linfoot, "An informational measure of correlation", Information and Control 1 (1957): the numerator, which is the
    size of the correlation of two normal columns. The denominator is ours: the largest value for these two columns, so
    that a column told by the other has 1. Miller, "Note on the bias of information estimates" (1955): I is corrected
    for the number of cells that occur, and then put back into 0 to H. Ours too: an I that one in a thousand tables of
    independent columns passes (the likelihood ratio test) counts as 0.

    >>> strength(np.array([[[30.0, 0.0], [0.0, 10.0]], [[9.0, 3.0], [3.0, 1.0]]])).round(3).tolist()
    [1.0, 0.0]
    """
    from scipy.special import chdtri  # noqa: PLC0415

    total = counts.sum(axis=(-2, -1))
    sides = counts.sum(axis=-1), counts.sum(axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        left, right, both = (_entropy(each, total) for each in (*sides, counts.reshape(*counts.shape[:-2], -1)))
        used = [np.count_nonzero(each, axis=-1) for each in sides]
        bias = (np.count_nonzero(counts, axis=(-2, -1)) - used[0] - used[1] + 1) / (2 * total)
        smaller = np.minimum(left, right)
        shown = left + right - both
        # A column that is constant but for a row has next to no entropy: divided by it, chance would look strong.
        chance = chdtri((used[0] - 1) * (used[1] - 1), _CHANCE) / (2 * total)
        information = np.where(shown > chance, np.clip(shown - bias, 0, smaller), 0.0)
        most = np.where(np.minimum(*used) > 1, -np.expm1(-2 * smaller), np.nan)
        return np.asarray(np.sqrt(-np.expm1(-2 * information) / most))


def _entropy(counts: Floats, total: Floats) -> Floats:
    """Return the entropy of each table, in nats."""
    logs = np.log(np.where(counts > 0, counts, 1))
    return np.asarray(np.log(total) - (counts * logs).sum(axis=-1) / total)


def correlations(codes: Codes, columns: Sequence[Field], blocks: int, *, ranked: bool) -> Floats:
    """Return the correlation of every pair of ordered columns, over the rows in which both have a regular value.

    codes: mapping of str to integers (n,), codes of the columns; ranked: of the ranks (Spearman) instead of the codes
    (Pearson). A value's rank is that among all regular values of its column. Returns float64 (1 + blocks, d, d), -1 to
    1; nan where one of the columns has one value only.

    Time ``O(d**2 n)``, memory ``O(d n)``.
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


def _standardised(codes: npt.NDArray[np.integer], domain: Domain, *, ranked: bool) -> Floats:
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


def with_each_left_out(sums: npt.NDArray[np.float64]) -> Floats:
    """Return the total over blocks, and the total without each block where there are several.

    sums: float64 (blocks, ...). Returns float64 (1 + blocks, ...).

    >>> with_each_left_out(np.array([1.0, 2.0, 4.0])).tolist()
    [7.0, 6.0, 5.0, 3.0]
    """
    total = sums.sum(axis=0, keepdims=True)
    return np.concatenate((total, total - sums)) if len(sums) > 1 else total


def jackknife_error(figures: Floats) -> float:
    """Return the standard error of a figure from those with each block left out.

    figures: float64 (1 + blocks,), as they come from `with_each_left_out`.

    References
    ----------
    Quenouille's delete-a-group jackknife, as in Wolter, "Introduction to Variance Estimation" (2007), chapter 4.

    >>> round(jackknife_error(np.array([2.0, 1.5, 2.5, 2.0])), 6)  # the mean of 2, with 3, 1 and 2 left out in turn
    0.57735
    """
    without = figures[1:]
    if not len(without):
        return 0.0
    return float(np.sqrt((len(without) - 1) * np.var(without)))
