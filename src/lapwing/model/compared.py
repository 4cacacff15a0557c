"""Which tables of one to three columns are compared, in which cells, and how far two of them are apart."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import CapacityError
from lapwing.maths.arrays import Cells, Floats, Ints
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity
from lapwing.schema.scalars import check_whole_number
from lapwing.schema.schemas import Schema

_MOST_CELLS: Final = 2**62
_DENSE: Final = 4  # cells for each row up to which counting is faster than sorting


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CellParts:
    """Hold the cells of one column in which the rows of several tables lie, numbered among those that occur.

    used: int64 (cells that occur,), the group of each.
    """

    tables: tuple[npt.NDArray[np.unsignedinteger], ...]
    used: Ints
    groups: int

    @property
    def size(self) -> int:
        """How many cells occur."""
        return self.used.size


def side_by_side(grouping: Grouping, tables: Sequence[Cells]) -> CellParts:
    """Return the cells of the codes of one column in several tables."""
    groups = [grouping.apply(codes) for codes in tables]
    is_used = np.zeros(grouping.groups, dtype=np.bool_)
    for each in groups:
        is_used[each] = True
    used = np.flatnonzero(is_used)
    short = (np.cumsum(is_used) - 1).astype(np.min_scalar_type(used.size))
    return CellParts(tables=tuple(short[each] for each in groups), used=used, groups=grouping.groups)


def count_distances(parts: Sequence[CellParts], rows: Sequence[int]) -> Floats:
    """Return the total variation distance of the first table from each of the others, in the cells of some columns.

    Shares are compared in integers: 0 exactly where all are equal, 1 where no cell is shared.
    """
    cells = math.prod(part.size for part in parts)
    if cells <= _DENSE * sum(rows):
        own, *others = (np.bincount(keys_of(parts, place), minlength=cells) for place in range(len(rows)))
        shared = [
            int(np.minimum(own * size, each * rows[0]).sum()) for each, size in zip(others, rows[1:], strict=True)
        ]
    else:
        found, *rest = (np.unique(keys_of(parts, place), return_counts=True) for place in range(len(rows)))
        shared = [_shared(found, each, rows[0], size) for each, size in zip(rest, rows[1:], strict=True)]
    wholes = [rows[0] * size for size in rows[1:]]
    return np.array([(whole - common) / whole for common, whole in zip(shared, wholes, strict=True)])


def keys_of(parts: Sequence[CellParts], place: int) -> Ints:
    """Return the cell of each row of one table, one number for all columns."""
    if math.prod(part.groups for part in parts) > _MOST_CELLS:
        raise CapacityError(
            "a table has more than 2**62 cells; compare fewer columns at a time or merge categories", code="LW506"
        )
    keys: Ints = parts[0].tables[place].astype(np.int64)
    for more in parts[1:]:
        keys *= more.size
        keys += more.tables[place]
    return keys


def _shared(own: tuple[Ints, Ints], other: tuple[Ints, Ints], rows: int, other_rows: int) -> int:
    """Return the sum over cells of the smaller of both shares, times the rows of both tables."""
    _, left, right = np.intersect1d(own[0], other[0], assume_unique=True, return_indices=True)
    return int(np.minimum(own[1][left] * other_rows, other[1][right] * rows).sum())


TYPICAL: Final = 0.09
"""Distance of a table of two columns from independent ones, where nothing is known: about the mean of public tables."""

VALUE_BY_VALUE: Final = 256  # ordered columns with at most so many regular codes are compared value by value
PARTS: Final = 64  # parts of the public domain in which a wider ordered column is compared
PAIRS: Final = 8192  # tables of two columns that are compared where there are more: all, up to 128 columns
TRIPLES: Final = 128  # tables of three (or more) columns that are compared where there are more


def compared_cells(domain: Domain) -> Grouping:
    """Return the cells in which a column is compared: a function of its public domain alone.

    Every value is a cell where the column is unordered or has at most 256 regular codes; else there are at most 64
    nearly equal parts. Special values and missing (or misfit) are cells of their own.
    """
    # Neighbouring codes of an unordered column have nothing in common that merging them would keep.
    if domain.values <= VALUE_BY_VALUE or not domain.ordered:
        return identity(domain)
    return evenly(domain, PARTS)


def choose_tables(
    schema: Schema,
    *,
    ways: Sequence[int] = (1, 2, 3),
    pairs: int = PAIRS,
    triples: int = TRIPLES,
    rng: np.random.Generator,
) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return which tables are compared: all of one column, up to ``pairs`` of two, and ``triples`` of those with more.

    For each of ``ways`` that is at most the number of columns, the tables, each as its columns in the schema's order.
    """
    for way in ways:
        check_whole_number("each of ways", way, 1, code="LW302")
    check_whole_number("triples", triples, 1, code="LW302")
    chosen, names = [], [column.name for column in schema.columns]
    for way in ways:
        possible = math.comb(len(names), way)
        most = {1: possible, 2: pairs}.get(way, triples)
        if possible and possible <= most:
            chosen.append(tuple(itertools.combinations(names, way)))
        elif possible:
            ranks = np.sort(rng.choice(possible, most, replace=False))
            chosen.append(tuple(_combination(names, way, int(rank)) for rank in ranks))
    return tuple(chosen)


def _combination(names: Sequence[str], size: int, rank: int) -> tuple[str, ...]:
    """Return the combination of a rank, in the order of `itertools.combinations`."""
    chosen: list[str] = []
    for position, name in enumerate(names):
        missing = size - len(chosen)
        # Combinations that go on with this name come before those that pass it over.
        here = math.comb(len(names) - position - 1, missing - 1) if missing else 0
        if rank < here:
            chosen.append(name)
        else:
            rank -= here
    return tuple(chosen)


def _size(table: Sequence[str], cells: Mapping[str, Grouping]) -> int:
    """Return the number of cells of a table."""
    return math.prod(cells[name].groups for name in table)
