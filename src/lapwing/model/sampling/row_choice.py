"""Choose rows whose one-way and two-way tables are close to given ones: a descent by swaps.

A systematic sample keeps what each candidate is worth, and nothing else: its tables are off by the chance of the draw.
Swapping a few chosen rows at a time for others, whenever that brings the tables closer, takes most of it away. What is
left inside each law goes when rows change places inside the law of their atom, which no other column knows of.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.maths.runs import cut_at, ranks
from lapwing.model.model import ColumnLaw, Indexed, ReleasedModel
from lapwing.model.sampling.descent import PairTables, swap_downhill
from lapwing.model.sampling.draws import AtomRows, Histogram, draw_column, even_out, row_ends

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
    chosen = swap_downhill(wanted, rank < copies[rows.atoms], rank >= least[rows.atoms], rng, kinds)
    found = {name: codes[chosen] for name, codes in drawn.items()}
    for name, law in model.laws.items():
        if isinstance(law, Indexed):
            found[name] = even_out(tables[name], law.index[rows.atoms[chosen]], found[name], rng)
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
