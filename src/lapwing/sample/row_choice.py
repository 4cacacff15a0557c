"""Rows of a released model, chosen so that two-way tables come close to the model's.

Each atom offers floor or ceil of its expected number of rows, with codes drawn from its laws. A systematic sample says
which; then rows that are free to stay out change places with others as long as the tables gain.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.numerics.row_choice import PairTables, descended
from lapwing.release.model import ColumnLaw, Indexed, ReleasedModel
from lapwing.sample.draws import AtomRows, Histogram, draw_column
from lapwing.sample.ragged import cut_at, ranks

_MOST_ENTRIES = 2**25
"""Most codes of candidates that are held at once: 200 MB with their cells."""

_MOST_PAIRS = 2000
_MOST_COUNTED = 1e8
"""Beyond so many tables, or candidates times tables (1 s), only measured tables are looked at."""

_MOST_CELLS = 2**20
"""Most cells of all tables: 20 MB. Looks at many more miss the processor's caches."""

_FINEST = 256
_LEAST_ROWS = 1000
"""With fewer rows most cells expect none, and a descent would prefer common rows to rare ones."""

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

    Parameters
    ----------
    cells : ndarray of uint8, shape (c,)
        Of each candidate.
    size : int
        Number of cells.
    labels : ndarray of integers, shape (c,)
        What is known of each candidate before its code is drawn: its law, or only its cell.
    shares : ndarray of float64, shape (labels, size), or None
        The probability of each cell given the label; None where the labels are the cells.
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
    """Choose rows whose two-way tables are close to the model's.

    Parameters
    ----------
    model : ReleasedModel
        With a log-linear part, which says which tables were measured.
    ends : ndarray of int64, shape (k,)
        Where to start: the run of row numbers of each atom, as `row_ends` gives it.
    tables : mapping of str to Histogram
        The tables of indexed laws.
    rng : numpy.random.Generator
        Public randomness.
    strata : ndarray of integers, shape (k,), optional
        Strata of atoms, each of which keeps its number of rows.

    Returns
    -------
    ChosenRows or None
        Sorted by atom; each atom has floor or ceil of its expected number of rows. None where there is nothing to
        choose or too much: fewer than 1000 rows, fewer than 2 columns, or more than 2**25 codes of candidates.
    """
    copies = np.diff(ends, prepend=0)
    expected = model.weights / model.weights.sum() * int(ends[-1])
    least = np.minimum(np.floor(expected + _TOLERANCE).astype(np.int64), copies)
    most = np.maximum(np.ceil(expected - _TOLERANCE).astype(np.int64), copies)
    pairs = _pairs(model, int(most.sum()))
    if ends[-1] < _LEAST_ROWS or not pairs or int(most.sum()) * len(model.laws) > _MOST_ENTRIES:
        return None
    rows = AtomRows.of(np.repeat(np.arange(model.atoms), most))
    drawn = {name: _narrow(draw_column(law, tables.get(name), rows, rng)) for name, law in model.laws.items()}
    columns = _columns(model, drawn, rows.atoms, pairs)
    rank = ranks(most)
    worth = (expected / np.maximum(most, 1))[rows.atoms]
    wanted = PairTables(
        cells=np.stack([column.cells for column in columns]),
        sizes=tuple(column.size for column in columns),
        pairs=tuple(pairs),
        targets=np.concatenate([_target(columns[one], columns[two], worth) for one, two in pairs]),
    )
    kinds = None if strata is None else strata[rows.atoms]
    chosen = descended(wanted, rank < copies[rows.atoms], rank >= least[rows.atoms], rng, kinds)
    return ChosenRows({name: codes[chosen] for name, codes in drawn.items()})


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
    edges = [_edges(law, codes) for law, codes in zip(model.laws.values(), drawn.values(), strict=True)]
    finest = _FINEST
    while sum(min(edges[one].size, finest) * min(edges[two].size, finest) for one, two in pairs) > _MOST_CELLS:
        finest //= 2
    return [
        _column(law, codes, atoms, _thinned(each, finest))
        for law, codes, each in zip(model.laws.values(), drawn.values(), edges, strict=True)
    ]


def _edges(law: ColumnLaw, codes: np.ndarray) -> np.ndarray:
    """Return where the cells of a column may begin: the pieces of its laws, or the codes drawn from them."""
    return np.unique(law.laws.starts if isinstance(law, Indexed) else codes).astype(np.int64)


def _thinned(edges: np.ndarray, most: int) -> np.ndarray:
    """Return at most so many edges, evenly, the first among them."""
    return edges if edges.size <= most else edges[np.arange(most) * edges.size // most]


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


def _narrow(codes: np.ndarray) -> np.ndarray:
    """Return codes in the smallest dtype that holds them."""
    return codes.astype(np.min_scalar_type(int(codes.max())))
