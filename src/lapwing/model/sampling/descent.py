"""Swaps of chosen rows for others, whenever that brings contingency tables closer to wanted ones."""

from dataclasses import dataclass

import numpy as np

_MOST_LOOKS = 1.5e8
"""Most looks at cells of one descent: about a second, more where tables do not fit into the cache."""

_LOOKS_PER_ROW = 25
"""Rows and candidates looked at for each row to choose; beyond that little is gained."""

_BATCH = 512
_FIRST_SHARE, _LAST_SHARE = 0.2, 0.01


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairTables:
    """Two-way tables of candidate rows, and the counts that are wanted in them.

    cells: uint8 or uint16 (d, c), the cell of each of c candidates in each column; targets: float32 (k,), wanted counts
    of all tables' cells, one table after another, each in C order.
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


def swap_downhill(
    tables: PairTables,
    chosen: np.ndarray,
    free: np.ndarray,
    rng: np.random.Generator,
    kinds: np.ndarray | None = None,
) -> np.ndarray:
    """Swap chosen rows for others so that the tables come closer to what is wanted, in L1.

    chosen: bool (c,), where to start; not modified; free: bool (c,), which candidates may be swapped; the others stay
    as they are; kinds: integers (c,), candidates change places with those of the same kind only. Returns bool (c,), as
    many chosen as before; the sum over all cells of ``|count - target|`` is no larger than before.

    Post-processing of released numbers. In each step at most 512 chosen and 512 other free candidates are looked at.
    The best of them, 20 % at first and 1 % at the end, are paired off and change places where a pair gains. At most 25
    looks for each chosen row, and 1.5e8 looks at cells in all, 1 s. Memory: 20 bytes a cell, 25 kB a table, 2 d
    bytes a candidate.
    """
    inside, outside = np.flatnonzero(chosen & free), np.flatnonzero(~chosen & free)
    # Of few candidates only an eighth at a time: swaps of one step do not know of each other.
    batch = min(_BATCH, -(-inside.size // 8), -(-outside.size // 8))
    if batch == 0:
        return chosen.copy()
    from lapwing.model.sampling.compiled import swap_gains, swap_rows  # noqa: PLC0415 - numba takes long to import

    rest = tables.counts(chosen) - tables.targets
    before = float(np.abs(rest).sum(dtype=np.float64))
    rows = np.ascontiguousarray(tables.cells.T)
    places = np.array([(one, two, tables.sizes[two]) for one, two in tables.pairs], dtype=np.int64)
    places = np.column_stack((places, tables.offsets))
    steps = int(np.ceil(min(_LOOKS_PER_ROW * inside.size, _MOST_LOOKS / len(tables.pairs)) / (2 * batch)))
    for step in range(steps):
        # Candidates stand in random order, anew whenever the shorter list has been gone through.
        place = step % (min(inside.size, outside.size) // batch) * batch
        if place == 0:
            inside, outside = rng.permutation(inside), rng.permutation(outside)
        at = slice(place, place + batch)
        out, into = rows[inside[at]].T.astype(np.int32), rows[outside[at]].T.astype(np.int32)
        most = max(1, int(batch * (_FIRST_SHARE * (1 - step / steps) + _LAST_SHARE)))
        leaving, entering = swap_gains(places, out, rest, np.float32(-1)), swap_gains(places, into, rest, np.float32(1))
        if kinds is None:
            leaves, enters = _paired(leaving, entering, most)
        else:
            leaves, enters = _paired_alike((leaving, entering), (kinds[inside[at]], kinds[outside[at]]), most)
        swap_rows(places, out[:, leaves], into[:, enters], rest)
        inside[at][leaves], outside[at][enters] = outside[at][enters], inside[at][leaves]

    found = chosen & ~free
    found[inside] = True
    return found if float(np.abs(rest).sum(dtype=np.float64)) <= before else chosen.copy()


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
