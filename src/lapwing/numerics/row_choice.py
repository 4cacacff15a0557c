"""Choose rows whose two-way tables are close to given ones: a descent by swaps.

A systematic sample keeps what each candidate is worth, and nothing else: its tables are off by the chance of the draw.
Swapping a few chosen rows at a time for others, whenever that brings the tables closer, takes most of it away.
"""

from dataclasses import dataclass

import numpy as np

_MOST_LOOKS = 3e8
"""Most looks at cells of one descent: 2 to 5 s, more where tables do not fit into the cache."""

_LOOKS_PER_ROW = 50
"""Rows and candidates looked at for each row to choose; beyond that little is gained."""

_BATCH = 512
_FIRST_SHARE, _LAST_SHARE = 0.2, 0.01


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairTables:
    """Two-way tables of candidate rows, and the counts that are wanted in them.

    Parameters
    ----------
    cells : ndarray of uint8 or uint16, shape (d, c)
        The cell of each of c candidates in each column.
    sizes : tuple of int
        Cells of each column.
    pairs : tuple of (int, int)
        Columns of each table; at least one.
    targets : ndarray of float32, shape (k,)
        Wanted counts of all tables' cells, one table after another, each in C order.
    """

    cells: np.ndarray
    sizes: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    targets: np.ndarray

    @property
    def offsets(self) -> np.ndarray:
        """Where each table begins among the cells: ndarray of int64, shape (tables,)."""
        lengths = [self.sizes[one] * self.sizes[two] for one, two in self.pairs]
        return np.cumsum(lengths) - lengths

    def counts(self, chosen: np.ndarray) -> np.ndarray:
        """Return the counts of chosen candidates in all cells: ndarray of float32, shape (k,)."""
        rows = self.cells[:, chosen].astype(np.int32)
        found = [
            np.bincount(rows[one] * self.sizes[two] + rows[two], minlength=self.sizes[one] * self.sizes[two])
            for one, two in self.pairs
        ]
        return np.concatenate(found).astype(np.float32)


def descended(
    tables: PairTables,
    chosen: np.ndarray,
    free: np.ndarray,
    rng: np.random.Generator,
    kinds: np.ndarray | None = None,
) -> np.ndarray:
    """Swap chosen rows for others so that the tables come closer to what is wanted, in L1.

    Parameters
    ----------
    tables : PairTables
        Of c candidates.
    chosen : ndarray of bool, shape (c,)
        Where to start; not modified.
    free : ndarray of bool, shape (c,)
        Which candidates may be swapped; the others stay as they are.
    rng : numpy.random.Generator
        Public randomness.
    kinds : ndarray of integers, shape (c,), optional
        Candidates change places with those of the same kind only.

    Returns
    -------
    ndarray of bool, shape (c,)
        As many chosen as before; the sum over all cells of ``|count - target|`` is no larger than before.

    Notes
    -----
    Post-processing of released numbers. In each step at most 512 chosen and 512 other free candidates are looked at.
    The best of them, 20 % at first and 1 % at the end, are paired off and change places where a pair gains. At most 50
    looks for each chosen row, and 3e8 looks at cells in all, 2 to 5 s. Memory: 20 bytes a cell, 25 kB a table, 2 d
    bytes a candidate.

    Examples
    --------
    >>> cells = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    >>> wanted = np.array([1, 0, 0, 1], dtype=np.float32)
    >>> tables = PairTables(cells=cells, sizes=(2, 2), pairs=((0, 1),), targets=wanted)
    >>> start = np.array([True, True, False, False])
    >>> descended(tables, start, np.ones(4, dtype=bool), np.random.default_rng(0)).tolist()
    [True, False, False, True]
    """
    inside, outside = np.flatnonzero(chosen & free), np.flatnonzero(~chosen & free)
    # Of few candidates only an eighth at a time: swaps of one step do not know of each other.
    batch = min(_BATCH, -(-inside.size // 8), -(-outside.size // 8))
    if batch == 0:
        return chosen.copy()
    cells_of = _CellFinder.of(tables)
    rest = tables.counts(chosen) - tables.targets
    before = float(np.abs(rest).sum(dtype=np.float64))
    gains = _gains(rest)
    steps = int(np.ceil(min(_LOOKS_PER_ROW * inside.size, _MOST_LOOKS / len(tables.pairs)) / (2 * batch)))
    for step in range(steps):
        # Candidates stand in random order, anew whenever the shorter list has been gone through.
        place = step % (min(inside.size, outside.size) // batch) * batch
        if place == 0:
            inside, outside = rng.permutation(inside), rng.permutation(outside)
        at = slice(place, place + batch)
        out, into = cells_of(inside[at]), cells_of(outside[at])
        most = max(1, int(batch * (_FIRST_SHARE * (1 - step / steps) + _LAST_SHARE)))
        leaving, entering = _summed(gains[0], out), _summed(gains[1], into)
        if kinds is None:
            leaves, enters = _paired(leaving, entering, most)
        else:
            leaves, enters = _paired_alike((leaving, entering), (kinds[inside[at]], kinds[outside[at]]), most)
        touched = np.concatenate((out[:, leaves].reshape(-1), into[:, enters].reshape(-1)))
        np.add.at(rest, touched, np.repeat(np.array([-1, 1], dtype=np.float32), touched.size // 2))
        gains[0][touched], gains[1][touched] = _gains(rest[touched])
        inside[at][leaves], outside[at][enters] = outside[at][enters], inside[at][leaves]

    found = chosen & ~free
    found[inside] = True
    return found if float(np.abs(rest).sum(dtype=np.float64)) <= before else chosen.copy()


@dataclass(frozen=True, slots=True, eq=False)
class _CellFinder:
    """What it takes to number the cells of some candidates in all tables: candidates as rows, tables as vectors."""

    rows: np.ndarray
    left: np.ndarray
    right: np.ndarray
    stride: np.ndarray
    offset: np.ndarray

    @classmethod
    def of(cls, tables: PairTables) -> "_CellFinder":
        left, right = np.array(tables.pairs).T
        stride = np.array(tables.sizes, dtype=np.int32)[right][:, None]
        return cls(np.ascontiguousarray(tables.cells.T), left, right, stride, tables.offsets.astype(np.int32)[:, None])

    def __call__(self, candidates: np.ndarray) -> np.ndarray:
        """Return the cell of each candidate in each table: ndarray of int32, shape (tables, candidates)."""
        columns = self.rows[candidates].T.astype(np.int32)
        cells: np.ndarray = columns[self.left]
        cells *= self.stride
        cells += columns[self.right]
        cells += self.offset
        return cells


def _summed(gains: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return the sum over tables of the gain of each candidate."""
    # Clipping, which never happens, is several times faster than a check of bounds.
    return np.asarray(np.take(gains, cells, mode="clip").sum(axis=0))


def _gains(rest: np.ndarray) -> np.ndarray:
    """Return by how much ``|rest|`` falls when one is taken away, and when one is added: shape (2, k)."""
    doubled = 2 * rest
    gains: np.ndarray = np.clip(np.stack((doubled - 1, -doubled - 1)), -1, 1)
    return gains


def _paired(leaving: np.ndarray, entering: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the best to leave and to enter, best with best, as far as the two together gain."""
    leaves = np.argpartition(leaving, -most)[-most:]
    enters = np.argpartition(entering, -most)[-most:]
    leaves = leaves[np.argsort(-leaving[leaves], kind="stable")]
    enters = enters[np.argsort(-entering[enters], kind="stable")]
    count = int(np.count_nonzero(leaving[leaves] + entering[enters] > 0))
    return leaves[:count], enters[:count]


def _paired_alike(
    gains: tuple[np.ndarray, np.ndarray], kinds: tuple[np.ndarray, np.ndarray], most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the best to leave and to enter, best with best of each kind, as far as pairs gain."""
    numbers = []
    for gain, kind in zip(gains, kinds, strict=True):
        order = np.lexsort((-gain, kind))
        ordered = kind[order]
        rank = np.arange(kind.size) - np.searchsorted(ordered, ordered, side="left")
        number = np.empty(kind.size, dtype=np.int64)
        number[order] = ordered.astype(np.int64) * kind.size + rank
        numbers.append(number)
    _, leaves, enters = np.intersect1d(numbers[0], numbers[1], assume_unique=True, return_indices=True)
    both = gains[0][leaves] + gains[1][enters]
    best = np.argsort(-both, kind="stable")[: min(most, int(np.count_nonzero(both > 0)))]
    return leaves[best], enters[best]
