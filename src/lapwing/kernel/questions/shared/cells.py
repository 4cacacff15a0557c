"""A public tree of cells, of which a huge part is never written out: what grids and KD-trees count over.

All cells of one level exist. Below that level only the children of cells that were split do, and these are listed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.codec import Seen, packed_array
from lapwing.kernel.plain import MAX_CELLS
from lapwing.maths.arrays import read_only
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import Hierarchy

MAX_DEPTH: Final = 4096
"""Most levels of a tree below its root."""


def _shape_of_splits(seen: Seen) -> tuple[int, int]:
    """Return the shape of the split cells of a tree, or of an answer to a question about one."""
    asked = seen.get("question")
    return seen["split"], len(seen["columns"] if asked is None else asked.columns)


def _sizes_of_decisions(seen: Seen) -> list[tuple[int]]:
    """Return how many cells decide on each level; a CapacityError where they are too many."""
    check_listed(sum(map(abs, seen["sizes"])) + seen["chosen"].size)
    return [(size,) for size in seen["sizes"]]


@dataclass(frozen=True, slots=True, eq=False)
class CellSplits:
    """Say which cells of a tree are split.

    chosen: int64 (k, d), the cells of the tree's first level that are split, by rank (`CellTree.ranks_of`) increasing;
    decisions: tuple of bool, for each level after it, which of its cells that can be divided are split, in the order of
    `CellTree.levels`.
    """

    document: ClassVar = ("split", "chosen", "sizes", "decisions")

    chosen: np.ndarray = field(metadata=packed_array(_shape_of_splits))
    decisions: tuple[np.ndarray, ...] = field(metadata=packed_array(_sizes_of_decisions))

    def __post_init__(self) -> None:
        object.__setattr__(self, "chosen", read_only(self.chosen))
        object.__setattr__(self, "decisions", tuple(read_only(each, np.dtype(np.bool_)) for each in self.decisions))

    @property
    def split(self) -> int:
        """Number of split cells of the first level."""
        return len(self.chosen)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of decisions on each level."""
        return tuple(each.size for each in self.decisions)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CellTree:
    """Nested cells of a table: on each level one column is seen one level deeper than on the level above.

    A cell is named by its level and, for each column, the number of its run on that level. Rows with a code that a
    hierarchy does not cover are in no cell.

    columns: distinct modelled columns, at least one; d in the following; schedule: for each level from 1 on, the
    position of the column that it divides; each column occurs as often as its hierarchy has levels; first: the level on
    which all cells exist, 0 to ``len(schedule)``: `cells` of them, which may be more than ``2**63``; splits: none by
    default.

    A cell of a level after `first` that its column's hierarchy does not divide there goes on to the next level as it
    is, without a decision. The leaves are the cells that are not split; they are disjoint and cover the table.
    """

    columns: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    schedule: tuple[int, ...]
    first: int
    splits: CellSplits = field(default_factory=lambda: CellSplits(np.empty((0, 0), dtype=np.int64), ()))
    # Derived once: how deep each level sees each column.
    _depths: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.first <= len(self.schedule) <= MAX_DEPTH:
            raise ParameterError(
                f"the first level of a tree of cells must lie from 0 to its {len(self.schedule)} levels, at most "
                f"{MAX_DEPTH}, got {self.first}; use fewer levels",
                code="LW641",
            )
        self._check_columns()
        cuts = np.zeros((len(self.schedule) + 1, len(self.columns)), dtype=np.int64)
        cuts[np.arange(1, len(cuts)), np.array(self.schedule, dtype=np.int64)] = 1
        object.__setattr__(self, "_depths", read_only(np.cumsum(cuts, axis=0)))
        if not len(self.split_cells):
            none = np.empty((0, len(self.columns)), dtype=np.int64)
            object.__setattr__(self, "splits", CellSplits(none, self.decisions))
        chosen = self.split_cells
        if chosen.dtype != np.int64 or chosen.ndim != 2 or chosen.shape[1] != len(self.columns):
            raise ParameterError(
                f"split cells must be int64 with {len(self.columns)} columns, got {chosen.dtype}", code="LW641"
            )
        if self.first == len(self.schedule) and chosen.size:
            raise ParameterError("a tree of cells has no level below the split ones; use more levels", code="LW641")
        self._check_cells(chosen)
        self._check_decisions()

    def _check_columns(self) -> None:
        """Refuse columns, hierarchies and schedules that do not go together."""
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                f"a tree of cells needs distinct columns, got {self.columns}; name each column once", code="LW641"
            )
        if len(self.columns) != len(self.hierarchies):
            raise ParameterError(
                f"a tree of cells has {len(self.columns)} columns and {len(self.hierarchies)} hierarchies; "
                "give one each",
                code="LW641",
            )
        if not all(0 <= place < len(self.columns) for place in self.schedule):
            raise ParameterError(
                f"a schedule holds positions of the {len(self.columns)} columns, got another number", code="LW641"
            )
        for place, (name, nested) in enumerate(zip(self.columns, self.hierarchies, strict=True)):
            if self.schedule.count(place) != nested.depth:
                raise ParameterError(
                    f"the schedule divides {name!r} {self.schedule.count(place)} times, its hierarchy has "
                    f"{nested.depth} levels; schedule each level once",
                    code="LW641",
                )

    def _check_cells(self, cells: np.ndarray) -> None:
        """Refuse cells of the first level that do not exist, repeat or are out of order."""
        check_listed(cells.size)
        if len(cells) and ((cells < 0) | (cells >= np.array(self.shape))).any():
            raise ParameterError("a split cell lies outside its level; the record is damaged", code="LW643")
        ranks = self.ranks_of(cells)
        if not (ranks[1:] > ranks[:-1]).all():
            raise ParameterError(
                "split cells must be distinct and in the order of their ranks; sort them", code="LW641"
            )

    def _check_decisions(self) -> None:
        """Refuse decisions that are not one per cell that can be divided."""
        levels = self.levels()
        wanted = [int(np.count_nonzero(self.divisible(*each))) for each in levels if each[0] < self.depth]
        given = [each.size for each in self.decisions]
        if given != wanted:
            raise ParameterError(
                f"a tree of cells needs {sum(wanted)} decisions on {len(wanted)} levels, one per cell that can be "
                f"divided, got {sum(given)} on {len(given)}; the record is damaged",
                code="LW643",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Runs of each column on the first level."""
        return self._runs(self.first)

    @property
    def cells(self) -> int:
        """Number of cells of the first level, of any size."""
        return math.prod(self.shape)

    @property
    def depth(self) -> int:
        """Levels below the root."""
        return len(self.schedule)

    @property
    def split_cells(self) -> np.ndarray:
        """The cells of the first level that are split."""
        return self.splits.chosen

    @property
    def decisions(self) -> tuple[np.ndarray, ...]:
        """Which cells are split of each level after the first."""
        return self.splits.decisions

    @property
    def is_split(self) -> bool:
        """Whether any cell is split."""
        return len(self.split_cells) > 0

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """The deepest runs of each column, with each reserved code alone."""
        return tuple(nested.grouping for nested in self.hierarchies)

    def depths(self, level: int) -> tuple[int, ...]:
        """Return the level of each column's hierarchy that a level of the tree shows."""
        return tuple(self._depths[level].tolist())

    def depths_of(self, place: int) -> np.ndarray:
        """Return how deep each level of the tree sees one column: ndarray of int64, shape (levels + 1,)."""
        return np.asarray(self._depths[:, place])

    def _runs(self, level: int) -> tuple[int, ...]:
        """Return the runs of each column on a level."""
        depths = self.depths(level)
        return tuple(nested.groups(depth) for nested, depth in zip(self.hierarchies, depths, strict=True))

    def ranks_of(self, cells: np.ndarray) -> np.ndarray:
        """Return the number of each cell of the first level in C order: int64, or Python integers from 2**62 on."""
        dtype: Any = np.int64 if self.cells < 2**62 else np.object_
        ranks = np.zeros(len(cells), dtype=dtype)
        for column, runs in enumerate(self.shape):
            ranks = ranks * runs + cells[:, column].astype(dtype)
        return ranks

    def cells_of(self, ranks: np.ndarray) -> np.ndarray:
        """Return the cells of the first level with these ranks: ndarray of int64, shape (k, d)."""
        cells, shape = np.empty((len(ranks), len(self.columns)), dtype=np.int64), self.shape
        for column in range(len(shape) - 1, -1, -1):
            cells[:, column] = (ranks % shape[column]).astype(np.int64)
            ranks = ranks // shape[column]
        return cells

    def split_table(self, level: int) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the column that a level divides, and each run's first run below and how many there are."""
        axis = self.schedule[level]
        parents = self.hierarchies[axis].parents(int(self._depths[level + 1, axis]))
        firsts = np.flatnonzero(np.diff(parents, prepend=-1))
        return axis, firsts, np.diff(np.append(firsts, parents.size))

    def divisible(self, level: int, cells: np.ndarray) -> np.ndarray:
        """Return which cells of a level have two children on the next one: ndarray of bool, all false on the last."""
        if level == self.depth:
            return np.zeros(len(cells), dtype=bool)
        axis, _, counts = self.split_table(level)
        return np.asarray(counts[cells[:, axis]] == 2)

    def children(self, level: int, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cells below some cells of a level, in order, and the place of each one's parent."""
        axis, firsts, counts = self.split_table(level)
        many = counts[cells[:, axis]]
        parents = np.repeat(np.arange(len(cells)), many)
        below = cells[parents]
        starts = np.cumsum(many) - many
        below[:, axis] = firsts[below[:, axis]] + np.arange(len(parents)) - starts[parents]
        return below, parents

    def next_level(self, level: int, cells: np.ndarray) -> np.ndarray | None:
        """Return which cells of a level after the first go on to the next one: the split ones, and those not divided.

        Returns bool or None, none on the last level, or where the decisions do not fit the cells.
        """
        place = level - self.first - 1
        if not 0 <= place < len(self.decisions):
            return None
        is_open, split = self.divisible(level, cells), self.decisions[place]
        if np.count_nonzero(is_open) != split.size:
            return None
        goes_on = ~is_open
        goes_on[is_open] = split
        return goes_on

    def levels(self) -> Sequence[tuple[int, np.ndarray]]:
        """Return the listed cells of each level after the first: pairs of level and ndarray of int64, shape (k, d)."""
        found: list[tuple[int, np.ndarray]] = []
        if not self.is_split:
            return found
        cells, _ = self.children(self.first, self.split_cells)
        level = self.first + 1
        found.append((level, cells))
        while (goes_on := self.next_level(level, cells)) is not None and goes_on.any():
            cells, _ = self.children(level, cells[goes_on])
            level += 1
            found.append((level, cells))
            check_listed(sum(each.size for _, each in found))
        return found

    def leaves(self) -> list[tuple[int, np.ndarray]]:
        """Return the listed leaves of each level after the first, in order; all others are on the first level."""
        found = []
        for level, cells in self.levels():
            goes_on = self.next_level(level, cells)
            found.append((level, cells if goes_on is None else cells[~goes_on]))
        return found

    def grown(self, chosen: np.ndarray, decisions: Sequence[np.ndarray]) -> "CellTree":
        """Return the tree with these cells split."""
        return replace(self, splits=CellSplits(chosen, tuple(decisions)))


def check_listed(numbers: int) -> None:
    """Refuse lists of cells that hold more than ``2**26`` numbers: 512 MiB."""
    if numbers > MAX_CELLS:
        raise CapacityError(
            f"a tree of cells lists more than {MAX_CELLS} numbers, one per cell and column; use fewer levels, a larger "
            "threshold or fewer columns",
            code="LW503",
        )
