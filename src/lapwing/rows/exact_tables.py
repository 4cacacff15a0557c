"""Exact contingency tables of one private table, each counted once and then kept within a limit. Private."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final, NoReturn, Protocol

import numpy as np

from lapwing.errors import ParameterError
from lapwing.rows.counting import LISTED, Table
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import merge_groups

CACHE_CELLS: Final = 2**25
"""Most cells that are kept of exact tables: 256 MiB."""

PASS_CELLS: Final = 2**26
"""About the most cells that one pass over the rows counts for selections: 512 MiB."""

_Key = tuple[int, ...]


class Counted(Protocol):
    """Where exact tables come from: a `lapwing.rows.source.CodedSource`, or tables kept of one."""

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        """Return contingency tables, as `lapwing.rows.source.CodedSource.count`."""


class ExactTables:
    """Count tables of one source, and keep those of candidates, up to so many cells: none is counted twice."""

    __slots__ = ("_codes", "_most_cells", "_numbers", "_source", "_sums", "_tables")

    def __init__(self, source: Counted, most_cells: int | None = None) -> None:
        self._source = source
        self._most_cells = CACHE_CELLS if most_cells is None else most_cells
        self._numbers: dict[tuple[str, Grouping], int] = {}
        self._tables: dict[_Key, np.ndarray] = {}
        self._codes: dict[tuple[str, Grouping], np.ndarray] = {}
        self._sums: dict[tuple[object, ...], tuple[Any, np.ndarray]] = {}

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        """Return contingency tables, one pass for those not kept; columns of few codes are counted by code."""
        keys = [tuple([self._numbers.get(axis, -1) for axis in table]) for table in tables]
        fine = self._fine([table[0] for table in tables if len(table) == 1])
        finest = [_finest(*table[0]) if len(table) == 1 else None for table in tables]
        is_sum = [axis in self._codes or axis in fine for axis in finest]
        missing = [place for place, key in enumerate(keys) if not is_sum[place] and key not in self._tables]  # [known]
        asked = [*((axis,) for axis in fine), *(tables[place] for place in missing)]
        counted = self._source.count(asked) if asked else []
        self._codes.update(zip(fine, counted, strict=False))
        new = dict(zip(missing, counted[len(fine) :], strict=True))
        found = []
        for place, (key, table, axis) in enumerate(zip(keys, tables, finest, strict=True)):
            if axis is not None and is_sum[place]:
                found.append(_of_codes(self._codes[axis], table[0][1]))  # [codes]
            else:
                found.append(new[place] if place in new else self._tables[key])
        return found

    def _fine(self, axes: Iterable[tuple[str, Grouping]]) -> list[tuple[str, Grouping]]:
        """Return which columns are to be counted code by code, within the limit of what is kept."""
        found: list[tuple[str, Grouping]] = []
        room = self._room()
        for axis in dict.fromkeys(_finest(*axis) for axis in axes):
            if axis not in self._codes and axis[1].groups <= min(LISTED, room):
                found.append(axis)
                room -= axis[1].groups
        return found

    def sums(self, asked: Sequence[Any], summed: Callable[[Any, np.ndarray], np.ndarray]) -> list[np.ndarray]:
        """Return what ``summed`` makes of the exact counts that selections ask for; kept until others are asked.

        asked: with columns, levels, candidates and estimates that cannot change, as `SelectWorst` has them.
        """
        names = [(each.columns, id(each.levels), id(each.candidates), id(each.estimates)) for each in asked]
        if not self._sums.keys() >= set(names):
            passes = np.cumsum([each.offsets[-1] for each in asked]) // PASS_CELLS  # [passes]
            found = []
            for _, part in groupby(zip(passes.tolist(), asked, strict=True), key=itemgetter(0)):
                together = [each for _, each in part]
                counts = self._cells([self._keys(each.columns, each.levels, each.candidates) for each in together])
                found += [summed(each, cells) for each, cells in zip(together, counts, strict=True)]
            # With what was asked, so that nothing else has its identity.
            self._sums = dict(zip(names, zip(asked, found, strict=True), strict=True))  # [kept]
        return [self._sums[name][1] for name in names]

    def _cells(self, keys: Sequence[Sequence[_Key]]) -> Iterator[np.ndarray]:
        """Look up or count the cells of some lists of tables, one list after another."""
        missing = [key for key in dict.fromkeys(chain.from_iterable(keys)) if key not in self._tables]
        tables = self._tables
        if missing:
            tables = tables | _counted(missing, tuple(self._numbers), self._source)
            self._keep(tables, {key: tables[key] for each in keys for key in each})
        for each in keys:
            yield np.concatenate([tables[key] for key in each])

    def _keys(self, columns: Sequence[str], levels: Sequence[Sequence[Grouping]], candidates: np.ndarray) -> list[_Key]:
        """Return what identifies each candidate's table: a number per column and grouping."""
        axes = [(name, each) for name, one in zip(columns, levels, strict=True) for each in one]
        numbers = np.array([self._numbers.setdefault(axis, len(self._numbers)) for axis in axes])
        starts = np.cumsum([0, *map(len, levels)])
        keys = numbers[starts[candidates[:, :, 0]] + candidates[:, :, 1]].tolist()
        lengths = np.count_nonzero(candidates[:, :, 0] >= 0, axis=1).tolist()
        return [tuple(key[:length]) for key, length in zip(keys, lengths, strict=True)]

    def _keep(self, *choices: dict[_Key, np.ndarray]) -> None:
        """Keep the first of these sets of tables that is within the limit, or none."""
        room = self._room()
        self._tables = next((tables for tables in choices if sum(map(len, tables.values())) <= room), {})  # [keep]

    def _room(self) -> int:
        """Return how many cells may be kept beside the codes of columns."""
        return self._most_cells - sum(map(len, self._codes.values()))

    def __repr__(self) -> str:
        """Show no data."""
        return "ExactTables(private)"

    def __reduce__(self) -> NoReturn:
        """Refuse pickling and copying: exact counts stay where they are."""
        raise ParameterError(
            "exact tables can be neither pickled nor copied; count them where the rows are", code="LW706"
        )


def _finest(name: str, grouping: Grouping) -> tuple[str, Grouping]:
    """Return a column with a group for each code of the domain; misfits may have one of their own in that, or not."""
    return name, Grouping(grouping.values, grouping.reserved, "shift")


def _of_codes(codes: np.ndarray, grouping: Grouping) -> np.ndarray:
    """Sum the counts of a column's codes by groups."""
    found = np.zeros(grouping.groups, dtype=np.int64)
    np.add.at(found, grouping.apply(np.arange(codes.size)), codes)
    return found


_Merge = tuple[np.ndarray, np.ndarray]
"""Fine groups by the coarse ones that they lie in, and where each of these begins."""


def _counted(keys: Sequence[_Key], axes: Table, source: Counted) -> dict[_Key, np.ndarray]:
    """Count tables, flat, in one pass; those over the same columns are sums of one, where that has fewer cells."""

    @cache
    def merged(fine: int, coarse: int) -> _Merge | None:
        groups = merge_groups(axes[fine][1], axes[coarse][1])
        if fine == coarse or groups is None:
            return None
        order = np.argsort(groups, kind="stable")
        return order, np.flatnonzero(np.diff(groups[order], prepend=-1))

    by_columns: dict[tuple[str, ...], list[_Key]] = {}
    for key in keys:
        by_columns.setdefault(tuple([axes[place][0] for place in key]), []).append(key)
    plans: list[tuple[_Key, list[_Key]]] = []
    sizes = [grouping.groups for _, grouping in axes]
    for members in by_columns.values():
        finest = tuple(map(min, zip(*members, strict=True)))
        is_sum = all(one == it or merged(one, it) for key in members for one, it in zip(finest, key, strict=True))
        cells = [math.prod([sizes[place] for place in key]) for key in (finest, *members)]
        plans += [(finest, members)] if is_sum and 2 * cells[0] <= sum(cells) else [(key, [key]) for key in members]
    exact = source.count([tuple([axes[place] for place in fine]) for fine, _ in plans])  # [count]
    found = {}
    for (fine, members), counts in zip(plans, exact, strict=True):
        cells_of_fine = counts.reshape([sizes[place] for place in fine])
        for key in members:
            found[key] = _summed(cells_of_fine, [merged(*each) for each in zip(fine, key, strict=True)])
    return found


def _summed(cells: np.ndarray, merges: Sequence[_Merge | None]) -> np.ndarray:
    """Sum fine cells into coarse ones along some axes: ndarray of int64, flat and read-only."""
    for axis, merge in enumerate(merges):  # [sum]
        if merge is not None:
            cells = np.add.reduceat(cells.take(merge[0], axis), merge[1], axis=axis)
    found = cells.reshape(-1)
    found.flags.writeable = False
    return found
