"""Rows of the census table of `census1940_columns`, drawn straight into Parquet: a file at a time, a block at a time.

A cell depends on the seed, its column, the number of its row and the cells that its column follows, on nothing else: a
smaller table is the beginning of a larger one, and files may be written in any order by any number of processes.
"""

import json
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from census1940_columns import BITS, CONTEXTS, Column, law, read_columns

FILE_ROWS = 2 * 10**6
BLOCK_ROWS = 250_000
SEED = 1940
_GOLDEN, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(64 - BITS)


@numba.njit
def _draw(out: np.ndarray, contexts: np.ndarray, picks: np.ndarray, begin: int) -> None:
    """Fill a column of a block: the pick of each row is made of SplitMix64's word of its number."""
    for row in range(out.size):
        word = np.uint64(begin + row) * _GOLDEN
        word = (word ^ (word >> _SHIFTS[0])) * _MIX_1
        word = (word ^ (word >> _SHIFTS[1])) * _MIX_2
        word = (word ^ (word >> _SHIFTS[2])) >> _SHIFTS[3]
        out[row] = picks[contexts[row], word]


@numba.njit
def _joint(out: np.ndarray, one: np.ndarray, classes: np.ndarray, two: np.ndarray, others: np.ndarray) -> None:
    """Fill the contexts of a block of rows with those that two earlier columns give."""
    width = others.max() + 1
    for row in range(out.size):
        out[row] = classes[one[row]] * width + others[two[row]]


@cache
def laws(seed: int) -> list[tuple[Column, list[int], list[np.ndarray], np.ndarray, int]]:
    """Return each column with the numbers of its parents, their classes, its picks, and where its words begin."""
    columns = read_columns()
    names = list(columns)
    found = []
    for number, column in enumerate(columns.values()):
        most = [CONTEXTS] if len(column.parents) == 1 else [CONTEXTS // 4, 4]
        classes = [columns[name].classes(limit) for name, limit in zip(column.parents, most, strict=False)]
        sizes = [*(int(each.max()) + 1 for each in classes), 1, 1]
        rng = np.random.default_rng([seed, number])
        picks = law(column, sizes[0] * sizes[1], sizes[1], rng)
        places = [names.index(name) for name in column.parents]
        found.append((column, places, classes, picks, int(rng.integers(2**62))))
    return found


def block_of(begin: int, rows: int, seed: int) -> np.ndarray:
    """Return the places of all cells of some rows: uint16 (columns, rows)."""
    cells = np.empty((len(laws(seed)), rows), dtype=np.uint16)
    nothing, alone, contexts = np.zeros(rows, np.uint16), np.zeros(1, np.uint16), np.empty(rows, np.uint16)
    for out, (_, parents, classes, picks, start) in zip(cells, laws(seed), strict=True):
        one, two, *_ = [*(cells[parent] for parent in parents), nothing, nothing]
        first, second, *_ = [*classes, alone, alone]
        _joint(contexts, one, first, two, second)
        _draw(out, contexts, picks, start + begin)
    return cells


def batch_of(cells: np.ndarray, seed: int) -> pa.RecordBatch:
    """Return a block as values, in the smallest integers that hold those of each column."""
    columns = [column for column, *_ in laws(seed)]
    arrays = [
        pa.array(np.asarray(column.values, dtype=column.dtype).take(places))
        for column, places in zip(columns, cells, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])


def write_file(folder: Path, number: int, rows: int, seed: int = SEED) -> Path:
    """Write one file, whole or not at all."""
    path, unfinished = folder / f"part-{number:03d}.parquet", folder / f"part-{number:03d}.unfinished"
    begin, end = number * FILE_ROWS, min((number + 1) * FILE_ROWS, rows)
    schema = batch_of(block_of(0, 1, seed), seed).schema
    with pq.ParquetWriter(unfinished, schema, compression="snappy", write_statistics=False) as writer:
        for start in range(begin, end, BLOCK_ROWS):
            batch = batch_of(block_of(start, min(BLOCK_ROWS, end - start), seed), seed)
            writer.write_batch(batch, row_group_size=BLOCK_ROWS)
    return unfinished.rename(path)


def write_schema(folder: Path) -> Path:
    """Write the schema file, all of it public."""
    path = folder / "schema.json"
    path.write_text(json.dumps({"fields": [column.field() for column in read_columns().values()]}))
    return path


def make(folder: Path, rows: int, processes: int, seed: int = SEED) -> None:
    """Write the files that are not there yet, and the schema last: where it is, the table is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = [
        number for number in range(-(-rows // FILE_ROWS)) if not (folder / f"part-{number:03d}.parquet").exists()
    ]
    if processes == 1:
        for number in numbers:
            write_file(folder, number, rows, seed)
    else:
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            for _ in pool.map(write_file, repeat(folder), numbers, repeat(rows), repeat(seed)):
                pass
    write_schema(folder)
