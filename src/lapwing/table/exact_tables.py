"""Exact contingency tables of one private table, each counted once and then kept within a limit. Private."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, Protocol

import numpy as np

from lapwing.errors import ParameterError
from lapwing.schema.grouping_overlaps import merged_groups
from lapwing.schema.groupings import Grouping
from lapwing.table.counting import Table

CACHE_CELLS: Final = 2**25
"""Most cells that are kept of exact tables: 256 MiB."""

_Key = tuple[int, ...]
_Levels = Sequence[Sequence[Grouping]]
_Candidate = tuple[tuple[int, int], ...]


class Counted(Protocol):
    """Where exact tables come from: a `lapwing.table.source.CodedSource`, or tables kept of one."""

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        """Return contingency tables, as `lapwing.table.source.CodedSource.count`."""
        ...


class ExactTables:
    """Count tables of one source, and keep those of candidates, so that none is counted twice.

    Parameters
    ----------
    source : Counted
        The private rows.
    most_cells : int, optional
        Most cells that are kept between calls, 8 bytes each; by default `CACHE_CELLS`. Changes no count.

    Examples
    --------
    >>> from lapwing.schema.domains import Domain
    >>> from lapwing.schema.groupings import identity
    >>> class Rows:
    ...     def count(self, tables):
    ...         print("a pass over the rows")
    ...         return [np.array([2, 1]) for _ in tables]
    >>> flag = identity(Domain(1, 0, True, False, False))
    >>> tables = ExactTables(Rows())
    >>> (cells,) = tables.cells([(("flag",), ((flag,),), (((0, 0),),))])
    a pass over the rows
    >>> cells.tolist(), tables.count([(("flag", flag),)])[0].tolist()
    ([2, 1], [2, 1])
    """

    __slots__ = ("_most_cells", "_numbers", "_source", "_tables")

    def __init__(self, source: Counted, most_cells: int | None = None) -> None:
        self._source = source
        self._most_cells = CACHE_CELLS if most_cells is None else most_cells
        self._numbers: dict[tuple[str, Grouping], int] = {}
        self._tables: dict[_Key, np.ndarray] = {}

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        """Return contingency tables: those that are kept, and one pass over the rows for the others.

        Parameters
        ----------
        tables : sequence of tuple of (str, Grouping)
            Columns with their groupings.

        Returns
        -------
        list of ndarray of int64, shape (cells,)
            In C order; read-only where it is kept.
        """
        keys = [tuple([self._numbers.get(axis, -1) for axis in table]) for table in tables]
        missing = [place for place, key in enumerate(keys) if key not in self._tables]  # [known]
        counted = self._source.count([tables[place] for place in missing]) if missing else []
        new = dict(zip(missing, counted, strict=True))
        return [new[place] if place in new else self._tables[key] for place, key in enumerate(keys)]

    def cells(self, asked: Sequence[tuple[Sequence[str], _Levels, Sequence[_Candidate]]]) -> list[np.ndarray]:
        """Return the exact counts of all candidates' cells, and keep them; at most one pass over the rows.

        Parameters
        ----------
        asked : sequence of (columns, levels, candidates)
            Each as for `lapwing.release.select_worst.SelectWorst`.

        Returns
        -------
        list of ndarray of int64, shape (k,)
            One for each: one candidate after another, each in C order.
        """
        keys = [self._keys(*each) for each in asked]
        missing: dict[_Key, tuple[int, int]] = {}
        for number, each in enumerate(keys):
            for place, key in enumerate(each):
                if key not in self._tables:
                    missing.setdefault(key, (number, place))
        tables = self._tables
        if missing:
            counted = _counted([_Asked(*each) for each in asked], list(missing.values()), self._source)
            tables = tables | dict(zip(missing, counted, strict=True))
            self._keep(tables, {key: tables[key] for each in keys for key in each})
        return [np.concatenate([tables[key] for key in each]) for each in keys]

    def _keys(self, columns: Sequence[str], levels: _Levels, candidates: Sequence[_Candidate]) -> list[_Key]:
        """Return what identifies each candidate's table: a number per column and grouping."""
        numbers = [
            [self._numbers.setdefault((name, grouping), len(self._numbers)) for grouping in resolutions]
            for name, resolutions in zip(columns, levels, strict=True)
        ]
        return [tuple([numbers[place][level] for place, level in candidate]) for candidate in candidates]

    def _keep(self, *choices: dict[_Key, np.ndarray]) -> None:
        """Keep the first of these sets of tables that is within the limit, or none."""
        fitting = (tables for tables in choices if sum(map(len, tables.values())) <= self._most_cells)  # [keep]
        self._tables = next(fitting, {})

    def __repr__(self) -> str:
        """Show no data."""
        return "ExactTables(private)"

    def __reduce__(self) -> NoReturn:
        """Refuse pickling and copying: exact counts stay where they are."""
        raise ParameterError(
            "exact tables can be neither pickled nor copied; count them where the rows are", code="LW706"
        )


_Merges = tuple[tuple[int, np.ndarray], ...]
"""Axes to merge groups along, each with the coarse group of each fine one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Candidate tables over levels of columns."""

    columns: Sequence[str]
    levels: _Levels
    candidates: Sequence[_Candidate]

    def table(self, columns: tuple[int, ...], depths: tuple[int, ...]) -> Table:
        """Return the table over these columns at these levels."""
        return tuple((self.columns[c], self.levels[c][depth]) for c, depth in zip(columns, depths, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """One table to count, and the candidates that are sums of it."""

    table: Table
    members: tuple[tuple[int, _Merges], ...]


def _counted(asked: Sequence[_Asked], places: Sequence[tuple[int, int]], source: Counted) -> list[np.ndarray]:
    """Count candidates in one pass over the rows: list of ndarray of int64, each with its candidate's cells."""
    by_columns: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for number, place in places:
        columns = tuple([position for position, _ in asked[number].candidates[place]])
        by_columns.setdefault((number, columns), []).append(place)
    plans = [
        (number, plan)
        for (number, columns), members in by_columns.items()
        for plan in _plans(asked[number], columns, members)
    ]
    exact = source.count([plan.table for _, plan in plans]) if plans else []  # [count]
    found = {
        (number, place): _summed(counts.reshape([grouping.groups for _, grouping in plan.table]), merges)
        for (number, plan), counts in zip(plans, exact, strict=True)
        for place, merges in plan.members
    }
    for cells in found.values():
        cells.flags.writeable = False
    return [found[place] for place in places]


def _plans(asked: _Asked, columns: tuple[int, ...], places: Sequence[int]) -> Iterator[_Plan]:
    """Plan one table at the finest levels for all candidates over the same columns, or one for each if that is less."""
    depths = [tuple(level for _, level in asked.candidates[place]) for place in places]
    finest = asked.table(columns, tuple(map(min, zip(*depths, strict=True))))
    tables = [asked.table(columns, each) for each in depths]
    merges = [found for table in tables if (found := _merges(finest, table)) is not None]
    if len(merges) == len(tables) and _cells(finest) <= sum(map(_cells, tables)):
        yield _Plan(finest, tuple(zip(places, merges, strict=True)))
    else:
        yield from (_Plan(table, ((place, ()),)) for table, place in zip(tables, places, strict=True))


def _cells(table: Table) -> int:
    """Return the number of cells."""
    return math.prod(grouping.groups for _, grouping in table)


def _merges(fine: Table, coarse: Table) -> _Merges | None:
    """Return how to sum a fine table into a coarse one; None where it cannot be."""
    axes = [axis for axis, (one, other) in enumerate(zip(fine, coarse, strict=True)) if one[1] is not other[1]]
    merged = [(axis, merged_groups(fine[axis][1], coarse[axis][1])) for axis in axes]
    found = tuple((axis, groups) for axis, groups in merged if groups is not None)
    return found if len(found) == len(axes) else None


def _summed(cells: np.ndarray, merges: _Merges) -> np.ndarray:
    """Sum fine cells into coarse ones along some axes: ndarray of int64, shape (cells,)."""
    for axis, groups in merges:  # [sum]
        order = np.argsort(groups, kind="stable")
        firsts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        cells = np.add.reduceat(cells.take(order, axis), firsts, axis=axis)
    return cells.reshape(-1)
