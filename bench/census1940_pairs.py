"""Exact counts of all pairs of columns of the census table, and the distance of synthetic rows from them.

Columns of at most 64 values are counted value by value, others in 64 equal parts of their public range or code list.
Columns are joined to bundles of at most 256 cells, and pairs of bundles are counted: about 2,500 tables instead of
9,045, each in the processor's cache.
"""

from collections.abc import Iterator
from itertools import combinations
from math import prod
from pathlib import Path

import numba
import numpy as np
import pyarrow.parquet as pq
from census1940_columns import Column, read_columns

MOST_BINS = 64
BUNDLE_CELLS = 256
BLOCK_ROWS = 2**16
Pairs = dict[tuple[int, int], np.ndarray]


def bins_of(column: Column) -> int:
    """Return in how many bins a column is counted."""
    return min(MOST_BINS, len(column.values))


def bundles_of(sizes: list[int]) -> list[list[int]]:
    """Join columns, the largest first, each to the fullest bundle that it fits into."""
    bundles: list[list[int]] = []
    for column in sorted(range(len(sizes)), key=lambda column: -sizes[column]):
        fitting = [each for each in bundles if sizes[column] * prod(sizes[other] for other in each) <= BUNDLE_CELLS]
        if fitting:
            max(fitting, key=lambda each: prod(sizes[other] for other in each)).append(column)
        else:
            bundles.append([column])
    return bundles


@numba.njit
def _count(keys: np.ndarray, tables: np.ndarray) -> None:
    """Add a block of rows to the table of each pair of bundles."""
    number = 0
    for one in range(len(keys)):
        for two in range(one + 1, len(keys)):
            table = tables[number]
            for row in range(keys.shape[1]):
                table[keys[one, row] * np.uint32(BUNDLE_CELLS) + keys[two, row]] += np.uint32(1)
            number += 1


def blocks_of(path: Path, columns: list[Column]) -> Iterator[np.ndarray]:
    """Yield the bins of the rows of a file, or of all files of a folder: uint8 (columns, rows)."""
    for file in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        for batch in pq.ParquetFile(file).iter_batches(BLOCK_ROWS, columns=[column.name for column in columns]):
            bins = np.empty((len(columns), batch.num_rows), dtype=np.uint8)
            for out, column, values in zip(bins, columns, batch.columns, strict=True):
                lookup = np.zeros(column.values[-1] + 1, dtype=np.uint8)
                lookup[list(column.values)] = np.arange(len(column.values)) * bins_of(column) // len(column.values)
                lookup.take(values.to_numpy(), out=out, mode="clip")
            yield bins


def count_pairs(path: Path) -> Pairs:
    """Return the table of each pair of columns, and so of no pair twice; at most 2**32 - 1 rows.

    Memory: 256 KiB for each pair of bundles.
    """
    columns = list(read_columns().values())
    sizes = [bins_of(column) for column in columns]
    bundles = bundles_of(sizes)
    couples = list(combinations(range(len(bundles)), 2))
    tables = np.zeros((len(couples), BUNDLE_CELLS**2), dtype=np.uint32)
    for block in blocks_of(path, columns):
        keys = np.zeros((len(bundles), block.shape[1]), dtype=np.uint8)
        for number, bundle in enumerate(bundles):
            for column in bundle:
                keys[number] = keys[number] * np.uint8(sizes[column]) + block[column]
        _count(keys, tables)
    return _unbundled(tables, bundles, sizes)


def _unbundled(tables: np.ndarray, bundles: list[list[int]], sizes: list[int]) -> Pairs:
    """Return the pairs of columns; those within a bundle stand in its table with any other."""
    home = {column: number for number, bundle in enumerate(bundles) for column in bundle}
    number_of = {couple: number for number, couple in enumerate(combinations(range(len(bundles)), 2))}
    found = {}
    for one, two in combinations(range(len(sizes)), 2):
        low, high = sorted((home[one], home[two]))
        if low == high:
            low, high = (low, high + 1) if high + 1 < len(bundles) else (low - 1, high)
        axes = [*bundles[low], *bundles[high]]
        cells = [prod(sizes[column] for column in bundles[number]) for number in (low, high)]
        table = tables[number_of[low, high]].reshape(BUNDLE_CELLS, BUNDLE_CELLS)[: cells[0], : cells[1]]
        others = tuple(place for place, axis in enumerate(axes) if axis not in (one, two))
        counts = table.reshape([sizes[axis] for axis in axes]).sum(axis=others, dtype=np.int64)
        found[one, two] = counts if axes.index(one) < axes.index(two) else counts.T
    return found


def save(path: Path, pairs: Pairs) -> None:
    """Keep the tables of all pairs, one after another, in the order of the columns."""
    np.savez(path, counts=np.concatenate([table.ravel() for table in pairs.values()]))


def load(path: Path) -> Pairs:
    """Return the tables that `save` has kept."""
    sizes = [bins_of(column) for column in read_columns().values()]
    couples = list(combinations(range(len(sizes)), 2))
    shapes = [(sizes[one], sizes[two]) for one, two in couples]
    counts = np.load(path)["counts"]
    parts = np.split(counts, np.cumsum([one * two for one, two in shapes])[:-1])
    return {couple: part.reshape(shape) for couple, part, shape in zip(couples, parts, shapes, strict=True)}


def sampled(pairs: Pairs, rows: int, seed: int) -> Pairs:
    """Return each table as so many rows would show it that are drawn from it with replacement."""
    rng = np.random.default_rng(seed)
    return {
        couple: rng.multinomial(rows, counts.ravel() / counts.sum()).reshape(counts.shape)
        for couple, counts in pairs.items()
    }


def distances(ours: Pairs, others: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Return the total variation distance of each pair of columns, and of each column."""
    of_pairs = np.array([_distance(ours[couple], others[couple]) for couple in ours])
    last = max(two for _, two in ours)
    margins = [(ours[0, two].sum(axis=0), others[0, two].sum(axis=0)) for two in range(1, last + 1)]
    margins.insert(0, (ours[0, 1].sum(axis=1), others[0, 1].sum(axis=1)))
    return of_pairs, np.array([_distance(*each) for each in margins])


def _distance(ours: np.ndarray, others: np.ndarray) -> float:
    """Return the total variation distance of two tables of counts."""
    return float(np.abs(ours / ours.sum() - others / others.sum()).sum() / 2)
