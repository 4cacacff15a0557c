"""Draws of codes from the laws of a column, for many rows at once, with as little sampling error as they can have.

The rows that share a law take its pieces systematically and lie in strata inside each piece, in an order that is random
and independent from column to column.
"""

from dataclasses import dataclass

import numpy as np

from lapwing.maths.runs import ranks
from lapwing.model.laws import Laws
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, Spans

_BYTE_GROUPS = 2**8
_RADIX_GROUPS = 2**16
"""Up to so many groups NumPy sorts 16-bit labels by counting, which is several times faster."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """A table of laws with the running sum of each law's probabilities, exactly 1 at its last piece.

    ``is_points`` where no piece has more than one code, ``is_certain`` where besides each law has one piece.
    """

    laws: Laws
    reached: np.ndarray
    law_of_piece: np.ndarray
    is_points: bool
    is_certain: bool

    @classmethod
    def of(cls, laws: Laws) -> "Histogram":
        """Prepare a table of laws for systematic draws."""
        law_of_piece = laws.law_of_piece
        running = np.cumsum(laws.probabilities)
        before = np.concatenate(([0.0], running))[laws.offsets[:-1]]
        reached = np.clip(running - before[law_of_piece], 0.0, 1.0)
        is_points = bool((laws.stops - laws.starts == 1).all())
        return cls(laws, reached, law_of_piece, is_points, is_points and laws.starts.size == laws.count)


@dataclass(frozen=True, slots=True, eq=False)
class AtomRows:
    """Rows, sorted by atom: for each row its atom, the first row of that atom and how many it has.

    ``crowded`` are the rows of atoms with more than one, numbered ``natural`` within and ``labels`` across atoms.
    """

    atoms: np.ndarray
    firsts: np.ndarray
    sizes: np.ndarray
    crowded: np.ndarray
    natural: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, atoms: np.ndarray) -> "AtomRows":
        """Find the runs of equal atoms in a sorted list of atoms, one per row."""
        is_first = np.ones(atoms.size, dtype=bool)
        is_first[1:] = atoms[1:] != atoms[:-1]
        starts = np.flatnonzero(is_first)
        lengths = np.diff(starts, append=atoms.size)
        firsts, sizes = np.repeat(starts, lengths), np.repeat(lengths, lengths)
        crowded = np.flatnonzero(sizes > 1)
        natural = (np.arange(atoms.size) - firsts)[crowded]
        return cls(atoms, firsts, sizes, crowded, natural, np.cumsum(natural == 0) - 1)

    def random_ranks(self, rng: np.random.Generator) -> np.ndarray:
        """Return the rank of each row among those of its atom, in a fresh random order."""
        ranks = np.zeros(self.atoms.size, dtype=np.intp)
        if self.crowded.size:
            order = _random_order(self.labels, int(self.labels[-1]) + 1, rng)
            # The order keeps atoms where they are, so the j-th crowded row and the row in its place share an atom.
            ranks[self.crowded[order]] = self.natural
        return ranks


def row_ends(weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Give every atom a run of row numbers by systematic sampling.

    weights: float64 (k,), non-negative, not all 0. Returns int64 (k,), atom a owns the rows from ``ends[a - 1]`` (0 for
    the first) to ``ends[a] - 1``: floor or ceil of ``n * weights[a] / sum(weights)`` rows, with that expectation up to
    a rounding of 1e-7 rows (n up to 10**7).
    """
    # Fixed point, so that sums are exact: a row has `whole` parts. 50 bits in all leave a float's own rounding below
    # one part, so that a mass of a whole number of rows stays one.
    bits = min(32, 50 - n.bit_length())
    whole = 1 << bits
    parts = np.rint(weights / weights.sum() * n * whole).astype(np.int64)
    rest = n * whole - int(parts.sum())
    if rest:
        # One part each to the atoms farthest from a whole number of rows: nobody passes one. What is left over after
        # that is rounding of the sum of weights and goes to the heaviest atom.
        below = parts & (whole - 1)
        room = np.minimum(below, whole - below)
        takers = min(abs(rest), int(np.count_nonzero(room)))
        sign = 1 if rest > 0 else -1
        parts[np.argpartition(room, -takers)[-takers:] if takers else []] += sign
        parts[np.argmax(parts)] += rest - sign * takers
    offset = int(rng.integers(whole))
    return (np.cumsum(parts) - offset + whole - 1) >> bits


def draw_column(law: ColumnLaw, table: Histogram | None, rows: AtomRows, rng: np.random.Generator) -> np.ndarray:
    """Draw one code per row from the law of its atom."""
    match law:
        case Indexed():
            return draw_indexed(table or Histogram.of(law.laws), law.index[rows.atoms], rng)
        case Spans():
            starts = law.starts[rows.atoms]
            steps = _strata(rows.random_ranks(rng), rows.sizes, law.stops[rows.atoms] - starts, rng)
            return np.asarray(starts + steps.astype(starts.dtype))
        case Bernoulli():
            # Code 1 for floor or ceil of p times the rows of each atom.
            offsets = rng.random(rows.atoms.size)[rows.firsts]
            ones = rows.random_ranks(rng) + offsets < rows.sizes * law.p[rows.atoms].astype(np.float64)
            return np.asarray(ones).astype(np.uint8)


def draw_indexed(table: Histogram, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one code per row from the law that the row points at."""
    laws = table.laws
    if table.is_certain:
        return np.asarray(laws.starts[index])
    order = _random_order(index, laws.count, rng)
    counts = _rows_of_pieces(table, index, rng)
    drawn = np.repeat(laws.starts, counts)
    if not table.is_points:
        drawn += _strata(ranks(counts), np.repeat(counts, counts), np.repeat(laws.stops - laws.starts, counts), rng)
    codes = np.empty_like(drawn)
    codes[order] = drawn
    return codes


def _rows_of_pieces(table: Histogram, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return how many of the rows that point at laws take each piece: systematic samples, int64 (pieces,)."""
    laws, law = table.laws, table.law_of_piece
    rows = np.bincount(index, minlength=laws.count)
    # Each law has an offset of its own: with a common one, laws of one row each would all take the same piece.
    ends = np.ceil(rows[law] * table.reached - rng.random(laws.count)[law]).astype(np.int64)
    ends[laws.offsets[1:] - 1] = rows
    ends += (np.cumsum(rows) - rows)[law]
    return np.asarray(np.diff(ends, prepend=0))


def even_out(table: Histogram, index: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return codes of which each piece of each law has its share: as few rows as possible change, inside their law.

    index: integers (n,), the law of each row; codes: integers (n,), each in a piece of that law; not modified.

    >>> halves = Histogram.of(Laws(np.array([0, 2]), np.array([0, 1]), np.array([1, 2]), np.array([0.5, 0.5])))
    >>> sorted(even_out(halves, np.zeros(4, int), np.array([0, 0, 1, 0]), np.random.default_rng(1)).tolist())
    [0, 0, 1, 1]
    """
    laws, law = table.laws, table.law_of_piece
    if table.is_certain:
        return codes
    # Pieces are numbered by law, then by start, so that one search finds the piece of each row.
    starts, rank = np.unique(laws.starts, return_inverse=True)
    key = law * starts.size + rank.reshape(-1)
    order = np.argsort(key)
    own = index.astype(np.int64) * starts.size + np.searchsorted(starts, codes, side="right") - 1
    piece = order[np.searchsorted(key[order], own, side="right") - 1]
    counts = np.bincount(piece, minlength=law.size)
    extra = counts - _rows_of_pieces(table, index, rng)
    by_piece = _random_order(piece, law.size, rng)
    leaving = by_piece[ranks(counts) < np.maximum(extra, 0)[piece[by_piece]]]
    into = np.repeat(np.arange(law.size), np.maximum(-extra, 0))  # as many of each law as leave, and in its order
    found = codes.copy()
    found[leaving] = uniform_codes(laws.starts[into], laws.stops[into], rng)
    return found


def uniform_codes(starts: np.ndarray, stops: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one code per row uniformly from its run of codes."""
    steps = (rng.random(starts.size) * (stops - starts)).astype(np.int64)
    return np.asarray(starts + np.minimum(steps, stops - starts - 1))


def _strata(rank: np.ndarray, size: np.ndarray, lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a step of 0 .. length-1 for each row: uniform in the stratum of its rank among ``size`` equal strata."""
    steps = rng.random(rank.size)
    steps += rank
    steps /= size
    steps *= lengths
    return np.minimum(steps.astype(np.int64), lengths.astype(np.int64) - 1)


def _random_order(labels: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return an order of rows that sorts labels 0 .. count-1, random among equal labels."""
    order = rng.permutation(labels.size)
    if count == 1:
        return order
    shuffled = labels[order]
    if count <= _RADIX_GROUPS:
        narrow = shuffled.astype(np.uint8 if count <= _BYTE_GROUPS else np.uint16)
        return order[np.argsort(narrow, kind="stable")]
    shuffled = shuffled.astype(np.int64)  # the first few of many labels may be bytes
    low = np.argsort((shuffled & (_RADIX_GROUPS - 1)).astype(np.uint16), kind="stable")
    high = np.argsort((shuffled[low] >> 16).astype(np.uint16), kind="stable")
    return order[low[high]]
