"""Tables of a public table of rows, as the public side of a question about private ones.

A synthetic table that has been released may be looked at freely. Here its contingency tables are chosen and counted,
scaled to another number of rows in whole numbers, and compared with what chance alone would make of them.
"""

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import DataError
from lapwing.judge.tables.variation import choose_tables, compared_cells
from lapwing.kernel.questions.table_distances.question import LARGEST_CELL, MOST_TABLES
from lapwing.maths.arrays import read_only
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]

MOST_LISTED: Final = 2**24
"""Cells of all tables of one size together; where there would be more, fewer tables are compared."""

_FULL: Final = 4  # a table is listed whole where so many of its cells, for each one that occurs, are all it has
_SMALL: Final = 1024  # or where it has at most so many
_COUNTED: Final = 4  # cells for each row up to which counting is faster than sorting


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PublicTables:
    """Hold the contingency tables of a public table of rows with some number of columns each.

    tables: the tables, each the positions of its columns, increasing; cells: tuple of int64, for each table the numbers
    of its listed cells in C order, increasing: all that occur, and perhaps empty ones; counts: tuple of int64, the rows
    in each of them.
    """

    ways: int
    possible: int
    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    tables: tuple[tuple[int, ...], ...]
    cells: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...]
    rows: int

    @property
    def digest(self) -> str:
        """SHA-256 of which tables these are, and of their cells and counts."""
        head = repr((self.ways, self.columns, [each.to_dict() for each in self.groupings], self.tables, self.rows))
        digest = hashlib.sha256(head.encode())
        for each in (*self.cells, *self.counts):
            digest.update(np.ascontiguousarray(each, dtype="<i8").data)
        return digest.hexdigest()

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table."""
        return tuple(tuple(self.columns[place] for place in table) for table in self.tables)

    def expected(self, rows: int, bits: int) -> tuple[np.ndarray, ...]:
        """Return what each listed cell would hold of so many rows.

        rows: at least 1; ``rows * 2**bits`` at most ``2**46``. Returns tuple of int64, share of the cell times ``rows *
        2**bits``, rounded to the nearest whole number, exactly.
        """
        # Count * units / rows, divided in two steps so that nothing leaves int64.
        whole, rest = divmod(rows << bits, self.rows)
        return tuple(counts * whole + (counts * rest + self.rows // 2) // self.rows for counts in self.counts)

    def rounding(self, rows: int, bits: int) -> float:
        """Bound how far rounding of `expected` moves the mean total variation: half a unit in each occurring cell."""
        occurring = sum(int(np.count_nonzero(counts)) for counts in self.counts)
        return occurring / (4 * len(self.tables) * (rows << bits))

    def floor(self, rows: int) -> float:
        """Return the expected mean total variation between these shares and so many rows drawn from them.

        Returns the sampling floor: of each cell half the mean absolute deviation of a binomial number, over the rows.
        """
        values, times = np.unique(np.concatenate(self.counts), return_counts=True)
        return float(times @ _deviations(values / self.rows, rows)) / (2 * rows * len(self.tables))


def public_tables(
    codes: Codes, schema: Schema, *, ways: Sequence[int] = (1, 2, 3), rng: np.random.Generator
) -> tuple[PublicTables, ...]:
    """Return tables of a public table of rows: all of one and two columns, and a sample of those with three.

    codes: mapping of str to integers (m,), codes of every modelled column, fewer than ``2**31`` rows and at least one;
    rng: chooses the tables: first as `choose_tables` does, then some of them where they are too many. Returns one for
    each of ``ways`` of which there are tables. Each has at most 4096 tables that list at most ``2**24`` cells together;
    a first table is always kept. Tables with more than ``2**62`` cells are left out.

    Time ``O(m + k)`` for each table of k cells where k is at most 4 m, ``O(m log m)`` beyond; memory 16 bytes for each
    listed cell.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> codes = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 0, 1, 1])}
    >>> one, two = public_tables(codes, schema, rng=np.random.default_rng(0))
    >>> two.names, two.counts[0].tolist(), two.expected(6, 1)[0].tolist()
    ((('a', 'b'),), [2, 0, 0, 0, 2, 0, 0, 0, 0], [6, 0, 0, 0, 6, 0, 0, 0, 0])
    """
    columns = tuple(column.name for column in schema.columns)
    if not len(codes[columns[0]]):
        raise DataError("the synthetic table has no row; there is nothing to compare", code="LW110")
    groupings = tuple(compared_cells(column.domain) for column in schema.columns)
    groups = [grouping.apply(codes[name]) for name, grouping in zip(columns, groupings, strict=True)]
    place_of = {name: place for place, name in enumerate(columns)}
    found = []
    for chosen in choose_tables(schema, ways=ways, rng=rng):
        tables = [tuple(place_of[name] for name in table) for table in chosen]
        counted = _counted(tables, groups, groupings, rng)
        if counted:
            places, cells, counts = zip(*counted, strict=True)
            found.append(
                PublicTables(
                    ways=len(places[0]),
                    possible=math.comb(len(columns), len(places[0])),
                    columns=columns,
                    groupings=groupings,
                    tables=places,
                    cells=cells,
                    counts=counts,
                    rows=len(groups[0]),
                )
            )
    return tuple(found)


_Counted = tuple[tuple[int, ...], np.ndarray, np.ndarray]


def _counted(
    tables: Sequence[tuple[int, ...]],
    groups: Sequence[np.ndarray],
    groupings: Sequence[Grouping],
    rng: np.random.Generator,
) -> list[_Counted]:
    """Count tables in a random order, as long as they list few enough cells; return them in their own order."""
    sizes = {table: math.prod(groupings[place].groups for place in table) for table in tables}
    order = [tables[number] for number in rng.permutation(len(tables)).tolist()]
    order = [table for table in order if sizes[table] <= LARGEST_CELL]
    found: list[_Counted] = []
    listed = 0
    for table in itertools.islice(order, MOST_TABLES):
        cells, counts = _listed(table, groups, groupings, sizes[table])
        listed += len(cells)
        if found and listed > MOST_LISTED:
            break
        found.append((table, cells, counts))
    return sorted(found, key=lambda each: each[0])


def _listed(
    table: tuple[int, ...], groups: Sequence[np.ndarray], groupings: Sequence[Grouping], size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the listed cells of one table, and their rows."""
    numbers = groups[table[0]]
    for place in table[1:]:
        numbers = numbers * groupings[place].groups + groups[place]
    if size > _COUNTED * len(numbers) + _SMALL:
        cells, counts = np.unique(numbers, return_counts=True)
    else:
        every = np.bincount(numbers, minlength=size)
        cells = np.flatnonzero(every)
        if size <= _SMALL or size <= _FULL * len(cells):
            cells = np.arange(size)
        counts = every[cells]
    return read_only(cells, np.int64), read_only(counts, np.int64)


def _deviations(shares: np.ndarray, rows: int) -> np.ndarray:
    """Return the mean absolute deviation of binomial numbers, by de Moivre's formula: ``2 v (1 - p) P[X = v]``.

    There v is the least whole number above the mean; P[X = v] is 0 where v is above the number of rows.
    """
    from scipy.special import gammaln, xlog1py, xlogy  # noqa: PLC0415

    above = np.minimum(np.floor(rows * shares) + 1, rows)
    logarithm = gammaln(rows + 1) - gammaln(above + 1) - gammaln(rows - above + 1)
    logarithm += xlogy(above, shares) + xlog1py(rows - above, -shares)
    return np.asarray(2 * above * (1 - shares) * np.exp(logarithm))
