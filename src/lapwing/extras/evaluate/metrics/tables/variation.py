"""Total variation distance between the contingency tables of two coded tables: all 1-way, most 2-way, some 3-way.

It is half the sum of the absolute differences of the cells' shares: the largest difference in probability that any
event can have, 0 (same shares) to 1 (no cell in common). What is computed from private rows is private: no noise is
added.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.extras.evaluate.words import say
from lapwing.maths.arrays import Codes, Ints, read_only
from lapwing.model.compared import _size, compared_cells, count_distances, side_by_side
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Variation:
    """Hold the total variation distances of all compared tables with the same number of columns.

    possible: tables of so many columns that there are; not all of them need be compared.
    """

    ways: int
    possible: int
    tables: tuple[tuple[str, ...], ...]
    distances: np.ndarray

    def __post_init__(self) -> None:
        if len(self.tables) != len(self.distances) or not self.tables:
            raise ParameterError(
                "a variation needs one distance for each of its tables; check their number", code="LW802"
            )
        object.__setattr__(self, "distances", read_only(np.asarray(self.distances, dtype=np.float64)))

    @property
    def mean(self) -> float:
        """Mean distance over the compared tables."""
        return float(self.distances.mean())

    @property
    def maximum(self) -> float:
        """Largest distance of a compared table."""
        return float(self.distances.max())

    def worst(self, count: int = 10) -> tuple[tuple[tuple[str, ...], float], ...]:
        """Return the tables with the largest distances, the largest first, each with its distance."""
        order = np.argsort(-self.distances, kind="stable")[:count]
        return tuple((self.tables[position], float(self.distances[position])) for position in order)


def compare_tables(
    real_codes: Codes, other_codes: Codes, schema: Schema, tables: Sequence[Sequence[tuple[str, ...]]]
) -> tuple[Variation, ...]:
    """Return the total variation distances of chosen tables of two coded tables."""
    return compare_with_each(real_codes, {"other": other_codes}, schema, tables)["other"]


def compare_with_each(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, tables: Sequence[Sequence[tuple[str, ...]]]
) -> dict[str, tuple[Variation, ...]]:
    """Return the total variation distances of chosen tables of several coded tables from the real ones, by name.

    Each entry of ``tables`` holds tables of the same number of columns, as `choose_tables` returns them; the real rows
    are counted once for all. Shares are compared in integers: equal tables are at distance 0, those without a common
    cell at 1, exactly. A table of k cells takes time ``O(n + m + k)`` where k is at most ``4 (n + m)`` and ``O((n + m)
    log(n + m))`` beyond; memory ``O(d (n + m))`` bytes for the columns, and 40 bytes a row.
    """
    columns = {column.name: column for column in schema.columns}
    rows = [_rows("the real table", real_codes, columns)]
    rows += [_rows("the other table", codes, columns) for codes in others.values()]
    codes = [real_codes, *others.values()]
    parts = {
        name: side_by_side(compared_cells(columns[name].domain), [each[name] for each in codes])
        for name in {name for group in tables for table in group for name in table}
    }
    distances = [
        np.array([count_distances([parts[name] for name in table], rows) for table in group]).T for group in tables
    ]
    possible = [math.comb(len(columns), len(group[0])) for group in tables]
    return {
        name: tuple(
            Variation(ways=len(group[0]), possible=count, tables=tuple(group), distances=each[place])
            for group, count, each in zip(tables, possible, distances, strict=True)
        )
        for place, name in enumerate(others)
    }


def _rows(what: str, codes: Codes, columns: Mapping[str, Field]) -> int:
    """Return the number of rows, at least one and the same in every column."""
    for name in columns:
        if name not in codes:
            raise ParameterError(
                f"{what} has no codes of column {quote(name)}; give those of every modelled column", code="LW801"
            )
    lengths = {len(codes[name]) for name in columns}
    if lengths == {0}:
        raise ParameterError(
            f"{what} has no row; total variation compares shares, which need at least one", code="LW110"
        )
    if len(lengths) > 1:
        raise ParameterError(f"{what} has columns of different lengths; give one code for each row", code="LW801")
    return lengths.pop()


# -- Large tables: counted where the rows are; the references of a table are then drawn cell by cell.


MOST_CELLS: Final = 2**22  # cells up to which a table is counted over all rows; beyond, over those that were drawn
_AT_ONCE: Final = 2**24  # cells of the tables that are counted in one pass over the rows: 128 MiB

Count = Callable[[Sequence[tuple[tuple[str, Grouping], ...]]], list[np.ndarray]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableRows:
    """Hold a table as it is compared.

    rows: of the whole table; codes: of all its rows, or of some that a public hash of their place draws; keys: of all
    rows, as `lapwing.extras.evaluate.metrics.disclosure.nearest_rows.row_keys`; count: counts contingency tables over
    all rows.
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
    said = say("glance.uncounted", cells=MOST_CELLS, tables=count)
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
