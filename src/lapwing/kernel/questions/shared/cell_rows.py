"""Where the rows of a table lie in a tree of cells: sorted paths, so that a cell's rows are a range."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.rows.counting import CodedSource, KeyedColumn

WORD = 64


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CellRows:
    """The paths of all rows that are in a tree, sorted, and how many rows each has. Private.

    Bit l of a path, counted from the top of the first word, tells which child on level l + 1 a row lies in. The rows of
    a cell are therefore a range of the sorted paths.

    paths: uint64 (words, k), distinct, increasing; totals: int64 (k + 1,), rows before each path, and all rows.
    """

    tree: CellTree
    paths: np.ndarray
    totals: np.ndarray

    @classmethod
    def of(cls, tree: CellTree, source: CodedSource) -> "CellRows":
        """Count the rows of each path in one pass."""
        columns = [
            KeyedColumn(name, nested.grouping, path_bits(tree, place))
            for place, (name, nested) in enumerate(zip(tree.columns, tree.hierarchies, strict=True))
        ]
        paths, counts = source.count_keys(columns)
        return cls(tree, paths, np.concatenate(([0], np.cumsum(counts))))

    def counts(self, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        """Return the rows in ranges of paths: ndarray of int64."""
        return np.asarray(self.totals[stops] - self.totals[starts])

    def first_cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the cells of the first level that hold rows, by rank increasing, with the ends of their ranges.

        Returns cells: int64 (k, d); starts, stops: int64 (k,).
        """
        size = self.paths.shape[1]
        is_new = np.zeros(size, dtype=bool)
        is_new[:1] = True
        for word, path in enumerate(self.paths[: -(-self.tree.first // WORD)]):
            unseen = max(0, WORD * (word + 1) - self.tree.first)
            is_new[1:] |= path[1:] >> np.uint64(unseen) != path[:-1] >> np.uint64(unseen)
        starts = np.flatnonzero(is_new)
        stops = np.append(starts[1:], size)[: len(starts)]

        cells = np.zeros((len(starts), len(self.tree.columns)), dtype=np.int64)
        for level in range(self.tree.first):
            axis, firsts, _ = self.tree.split_table(level)
            cells[:, axis] = firsts[cells[:, axis]] + self._bits(level, starts)
        order = np.argsort(self.tree.ranks_of(cells), kind="stable")
        return cells[order], starts[order], stops[order]

    def below(
        self, level: int, cells: np.ndarray, starts: np.ndarray, stops: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the children of cells of a level: cells, the ends of their ranges, and the places of their parents."""
        children, parents = self.tree.children(level, cells)
        middles = self._middles(level, starts, stops)
        is_second = np.zeros(len(children), dtype=bool)
        is_second[1:] = parents[1:] == parents[:-1]
        is_first_half = np.append(is_second[1:], False)
        starts_below = np.where(is_second, middles[parents], starts[parents])
        stops_below = np.where(is_first_half, middles[parents], stops[parents])
        return children, starts_below, stops_below, parents

    def leaf_counts(self, starts: np.ndarray, stops: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the exact counts of the listed leaves, level by level, from the ranges of the split first cells."""
        cells = self.tree.split_cells
        for level, listed in self.tree.levels():
            cells, starts, stops, _ = self.below(level - 1, cells, starts, stops)
            goes_on = self.tree.next_level(level, listed)
            if goes_on is None:
                yield self.counts(starts, stops)
                return
            yield self.counts(starts, stops)[~goes_on]
            cells, starts, stops = cells[goes_on], starts[goes_on], stops[goes_on]

    def _bits(self, level: int, places: np.ndarray) -> np.ndarray:
        """Return the bit of a level of some paths: ndarray of int64."""
        word, bit = divmod(level, WORD)
        bits = self.paths[word, places] >> np.uint64(WORD - 1 - bit) & np.uint64(1)
        return np.asarray(bits.astype(np.int64))

    def _middles(self, level: int, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        """Return where in each range of paths the bit of a level turns to 1, by binary search."""
        low, high = starts.copy(), stops.copy()
        while (is_open := low < high).any():
            middle = (low + high) >> 1
            is_one = np.zeros(len(low), dtype=bool)
            is_one[is_open] = self._bits(level, middle[is_open]) == 1
            high = np.where(is_one, middle, high)
            low = np.where(is_open & ~is_one, middle + 1, low)
        return low


def path_bits(tree: CellTree, place: int) -> np.ndarray:
    """Return what each group of a column's deepest grouping adds to a path: uint64, shape (covered, words)."""
    nested = tree.hierarchies[place]
    levels = [level for level, axis in enumerate(tree.schedule) if axis == place]
    runs = np.arange(nested.groups(nested.depth))
    bits = np.zeros((len(runs), max(1, -(-tree.depth // WORD))), dtype=np.uint64)
    for depth in range(nested.depth, 0, -1):
        parents = nested.parents(depth)
        firsts = np.flatnonzero(np.diff(parents, prepend=-1))
        word, bit = divmod(levels[depth - 1], WORD)
        bits[:, word] |= (runs - firsts[parents[runs]]).astype(np.uint64) << np.uint64(WORD - 1 - bit)
        runs = parents[runs]
    alone, covered = nested.alone(nested.depth)
    return bits[np.searchsorted(alone, np.arange(covered), side="right") - 1]


def complement(excluded: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return the numbers that are not excluded and have these ranks among themselves.

    excluded: int64 or Python integers, increasing, at least 0; ranks: int64 or Python integers (m,). Returns (m,).

    >>> complement(np.array([0, 3, 4]), np.array([0, 1, 2, 3])).tolist()
    [1, 2, 5, 6]
    """
    before = np.searchsorted(excluded - np.arange(len(excluded)), ranks, side="right")
    return np.asarray(ranks + before)
