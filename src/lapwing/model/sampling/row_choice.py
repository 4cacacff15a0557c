"""Choose rows whose one-way and two-way tables are close to given ones: a descent by swaps.

A systematic sample keeps what each candidate is worth, and nothing else: its tables are off by the chance of the draw.
Swapping a few chosen rows at a time for others, whenever that brings the tables closer, takes most of it away. What is
left inside each law goes when rows change places inside the law of their atom, which no other column knows of.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.model.model import ColumnLaw, Indexed, ReleasedModel
from lapwing.model.sampling.draws import AtomRows, Histogram, cut_at, draw_column, evened, ranks, row_ends

_MOST_LOOKS = 3e8
"""Most looks at cells of one descent: 2 to 5 s, more where tables do not fit into the cache."""

_LOOKS_PER_ROW = 50
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


def descended(
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
    The best of them, 20 % at first and 1 % at the end, are paired off and change places where a pair gains. At most 50
    looks for each chosen row, and 3e8 looks at cells in all, 2 to 5 s. Memory: 20 bytes a cell, 25 kB a table, 2 d
    bytes a candidate.
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


# -- Rows of a released model, chosen so that one-way and two-way tables come close to the model's.


_MOST_ENTRIES = 2**25
"""Most codes of candidates that are held at once: 300 MB with their cells and laws."""

_MOST_PAIRS = 2000
_MOST_COUNTED = 1e8
"""Beyond so many tables, or candidates times tables (1 s), only measured tables are looked at."""

_MOST_CELLS = 2**20
"""Most cells of all tables: 20 MB. Looks at many more miss the processor's caches."""

_FINEST = 256
_LEAST_ROWS = 1000
"""With fewer rows most cells of pairs expect none, and a descent would prefer common rows to rare ones: single columns
alone are looked at, whose wanted counts are whole."""

_MOST_LAWS = 2**16
"""Laws of a column beyond so many are looked at in neighbouring ones at once."""

_TOLERANCE = 1e-6
_FEW_LAWS = 256


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRows:
    """Rows that are chosen already: the codes of each column, row by row."""

    drawn: Mapping[str, np.ndarray]

    def codes(self, positions: np.ndarray, _rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return the codes of the rows with these numbers."""
        return {name: codes[positions] for name, codes in self.drawn.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One column of the candidates.

    cells: uint8 (c,), of each candidate; labels: integers (c,), what is known of each candidate before its code is
    drawn: its law, or only its cell; shares: float64 (labels, size), the probability of each cell given the label; None
    where the labels are the cells.
    """

    cells: np.ndarray
    size: int
    labels: np.ndarray
    shares: np.ndarray | None

    @property
    def kinds(self) -> int:
        """Number of labels."""
        return self.size if self.shares is None else len(self.shares)


def chosen_rows(
    model: ReleasedModel,
    ends: np.ndarray,
    tables: Mapping[str, Histogram],
    rng: np.random.Generator,
    strata: np.ndarray | None = None,
) -> ChosenRows | None:
    """Choose rows whose one-way and two-way tables are close to the model's.

    model: with a log-linear part, which says which tables were measured; ends: int64 (k,), where to start: the run of
    row numbers of each atom, as `row_ends` gives it; strata: integers (k,), strata of atoms, each of which keeps its
    number of rows. Returns sorted by atom; each atom has floor or ceil of its expected number of rows, and inside each
    law each piece floor or ceil of its share of that law's rows. None where there is too much to choose from: more than
    2**25 codes of candidates.
    """
    copies = np.diff(ends, prepend=0)
    expected = model.weights / model.weights.sum() * int(ends[-1])
    least = np.minimum(np.floor(expected + _TOLERANCE).astype(np.int64), copies)
    most = np.maximum(np.ceil(expected - _TOLERANCE).astype(np.int64), copies)
    if int(most.sum()) * len(model.laws) > _MOST_ENTRIES:
        return None
    pairs = _pairs(model, int(most.sum())) if ends[-1] >= _LEAST_ROWS else []
    rows = AtomRows.of(np.repeat(np.arange(model.atoms), most))
    drawn = {name: draw_column(law, tables.get(name), rows, rng) for name, law in model.laws.items()}
    drawn = {name: codes.astype(np.min_scalar_type(int(codes.max()))) for name, codes in drawn.items()}
    columns = _columns(model, drawn, rows.atoms, pairs)
    rank = ranks(most)
    worth = (expected / np.maximum(most, 1))[rows.atoms]
    targets = [_target(columns[one], columns[two], worth) for one, two in pairs]
    own = [_own_laws(law, drawn[name], rows.atoms) for name, law in model.laws.items()]
    counts = [_whole(np.bincount(each, worth), int(ends[-1]), rng) for each in own]
    # A single column is the pair of its laws with a column of one cell, which stands behind the others.
    beside = len(columns)
    wanted = PairTables(
        cells=np.stack([*(column.cells for column in columns), np.zeros_like(columns[0].cells), *own]),
        sizes=(*(column.size for column in columns), 1, *(each.size for each in counts)),
        pairs=(*pairs, *((beside + 1 + place, beside) for place in range(beside))),
        targets=np.concatenate([*targets, *counts]),
    )
    kinds = None if strata is None else strata[rows.atoms]
    chosen = descended(wanted, rank < copies[rows.atoms], rank >= least[rows.atoms], rng, kinds)
    found = {name: codes[chosen] for name, codes in drawn.items()}
    for name, law in model.laws.items():
        if isinstance(law, Indexed):
            found[name] = evened(tables[name], law.index[rows.atoms[chosen]], found[name], rng)
    return ChosenRows(found)


def _own_laws(law: ColumnLaw, codes: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Return the law of each candidate, or its code where each atom has a law of its own: uint8 or uint16 (c,)."""
    found = law.index[atoms] if isinstance(law, Indexed) else np.unique(codes, return_inverse=True)[1].reshape(-1)
    most = int(found.max()) + 1
    if most > _MOST_LAWS:
        found = found.astype(np.int64) * _MOST_LAWS // most
    return found.astype(np.uint8 if most <= 2**8 else np.uint16)


def _whole(expected: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return whole numbers that sum to n, each floor or ceil of what is expected: float32 (laws,)."""
    return np.diff(row_ends(expected, n, rng), prepend=0).astype(np.float32)


def _pairs(model: ReleasedModel, candidates: int) -> list[tuple[int, int]]:
    """Return the pairs of columns to look at: all, or where these are too many those measured."""
    most = int(min(_MOST_PAIRS, _MOST_COUNTED / candidates))
    every = list(itertools.combinations(range(len(model.laws)), 2))
    if len(every) <= most or model.log_linear is None:
        return every[:most]
    place = {name: at for at, name in enumerate(model.laws)}
    measured = {
        pair
        for table in model.log_linear.tables
        for pair in itertools.combinations(sorted(place[name] for name in table), 2)
    }
    return sorted(measured)[:most]


def _columns(
    model: ReleasedModel, drawn: Mapping[str, np.ndarray], atoms: np.ndarray, pairs: Sequence[tuple[int, int]]
) -> list[_Column]:
    """Return the columns in cells, as fine as all tables together allow."""
    # A cell may begin where a piece of the laws does, or at a code drawn from them.
    ends = [law.laws.starts if isinstance(law, Indexed) else drawn[name] for name, law in model.laws.items()]
    edges = [np.unique(each).astype(np.int64) for each in ends]
    finest = _FINEST
    while sum(min(edges[one].size, finest) * min(edges[two].size, finest) for one, two in pairs) > _MOST_CELLS:
        finest //= 2
    return [
        _column(law, codes, atoms, each if each.size <= finest else each[np.arange(finest) * each.size // finest])
        for law, codes, each in zip(model.laws.values(), drawn.values(), edges, strict=True)
    ]


def _column(law: ColumnLaw, codes: np.ndarray, atoms: np.ndarray, edges: np.ndarray) -> _Column:
    """Return the cells of one column, and what is known of candidates before their codes are drawn."""
    cells = (np.searchsorted(edges, codes, side="right") - 1).astype(np.uint8)
    if not isinstance(law, Indexed) or law.laws.count > _FEW_LAWS:
        return _Column(cells, edges.size, cells, None)
    laws = law.laws
    piece, cell, begin, end = cut_at(laws.starts, laws.stops, edges)
    masses = laws.probabilities[piece] * ((end - begin) / (laws.stops - laws.starts)[piece])
    shares = np.bincount(laws.law_of_piece[piece] * edges.size + cell, masses, laws.count * edges.size)
    return _Column(cells, edges.size, law.index[atoms], shares.reshape(laws.count, edges.size))


def _target(one: _Column, two: _Column, worth: np.ndarray) -> np.ndarray:
    """Return the model's counts in the table of two columns; ``worth`` is the expected number of each candidate."""
    pair = one.labels.astype(np.intp) * two.kinds + two.labels
    table = np.bincount(pair, worth, one.kinds * two.kinds).reshape(one.kinds, two.kinds)
    if one.shares is not None:
        table = one.shares.T @ table
    if two.shares is not None:
        table = table @ two.shares
    return table.reshape(-1).astype(np.float32)
