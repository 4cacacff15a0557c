"""Large tables: contingency tables of all rows, counted where the rows are, beside a sample of rows to look at.

The references of a table that is counted are drawn cell by cell. What is computed from private rows is private.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.judge.metrics import BOOTSTRAP, INDEPENDENT, SYNTHETIC, Codes, Ints
from lapwing.judge.tables.variation import Variation, compare_with_each, compared_cells
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

MOST_CELLS: Final = 2**22  # cells up to which a table is counted over all rows; beyond, over those that were drawn
_AT_ONCE: Final = 2**24  # cells of the tables that are counted in one pass over the rows: 128 MiB

Count = Callable[[Sequence[tuple[tuple[str, Grouping], ...]]], list[np.ndarray]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableRows:
    """Hold a table as it is compared.

    rows: of the whole table; codes: of all its rows, or of some that a public hash of their place draws; keys: of all
    rows, as `lapwing.judge.disclosure.nearest_rows.row_keys`; count: counts contingency tables over all rows.
    """

    rows: int
    codes: Codes
    keys: npt.NDArray[np.uint64]
    count: Count


def compare_counted(
    real: TableRows,
    synthetic: TableRows,
    against: Mapping[str, Codes],
    schema: Schema,
    tables: Sequence[Sequence[tuple[str, ...]]],
    *,
    rng: np.random.Generator,
) -> dict[str, tuple[Variation, ...]]:
    """Return the total variation distances of chosen tables as `compare_with_each`, from the counts of all rows.

    against: rows of the tables that are compared, for tables of more than 2**22 cells. In place of rows drawn with
    replacement, and of shuffled columns, counts of as many rows are drawn: from the real shares, and from the products
    of those of single columns. Time 2 ns a row and table, memory 300 MiB.
    """
    cells = {column.name: compared_cells(column.domain) for column in schema.columns}
    found: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in against}
    for batch in _batches(tables, cells):
        wanted = [tuple((name, cells[name]) for name in table) for table in batch]
        for table, own, other in zip(batch, real.count(wanted), synthetic.count(wanted), strict=True):
            drawn, shuffled = _references(own, [cells[name].groups for name in table], real.rows, rng)
            found[SYNTHETIC][table] = _distance(own, other, real.rows, synthetic.rows)
            found[BOOTSTRAP][table] = _distance(own, drawn, real.rows, real.rows)
            found[INDEPENDENT][table] = _distance(own, shuffled, real.rows, real.rows)
    left = [[table for table in group if table not in found[SYNTHETIC]] for group in tables]
    looked_at = compare_with_each(real.codes, against, schema, [each for each in left if each]) if any(left) else {}
    for name, variations in looked_at.items():
        for each in variations:
            found[name].update(zip(each.tables, each.distances.tolist(), strict=True))
    return {
        name: tuple(
            Variation(
                ways=len(group[0]),
                possible=math.comb(len(schema.columns), len(group[0])),
                tables=tuple(group),
                distances=np.array([distances[table] for table in group]),
            )
            for group in tables
        )
        for name, distances in found.items()
    }


def uncounted_tables(schema: Schema, tables: Sequence[Sequence[tuple[str, ...]]]) -> tuple[str, ...]:
    """Return a sentence where some of the tables have too many cells to be counted over all rows."""
    cells = {column.name: compared_cells(column.domain) for column in schema.columns}
    count = sum(_size(table, cells) > MOST_CELLS for table in chain.from_iterable(tables))
    said = f"tables of columns with more than {MOST_CELLS:,} cells, here {count:,}, are those of the rows drawn"
    return (said,) if count else ()


def _batches(
    tables: Sequence[Sequence[tuple[str, ...]]], cells: Mapping[str, Grouping]
) -> Iterator[list[tuple[str, ...]]]:
    """Yield the tables that are counted, as many at a time as one pass counts."""
    batch: list[tuple[str, ...]] = []
    room = _AT_ONCE
    for table in chain.from_iterable(tables):
        size = _size(table, cells)
        if size <= MOST_CELLS:
            if batch and size > room:
                yield batch
                batch, room = [], _AT_ONCE
            batch.append(table)
            room -= size
    if batch:
        yield batch


def _size(table: Sequence[str], cells: Mapping[str, Grouping]) -> int:
    """Return the number of cells of a table."""
    return math.prod(cells[name].groups for name in table)


def _references(own: Ints, shape: Sequence[int], rows: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the counts of so many rows drawn from a table, and drawn with every column by itself."""
    drawn = rng.multinomial(rows, own / rows)
    if len(shape) == 1:
        return drawn, own
    whole = own.reshape(shape)
    axes = range(len(shape))
    alone = [whole.sum(axis=tuple(other for other in axes if other != axis)) / rows for axis in axes]
    return drawn, rng.multinomial(rows, reduce(np.multiply.outer, alone).ravel())


def _distance(own: Ints, other: Ints, rows: int, other_rows: int) -> float:
    """Return the total variation distance of two counted tables, compared in integers."""
    return int(np.abs(own * other_rows - other * rows).sum()) / (2 * rows * other_rows)
