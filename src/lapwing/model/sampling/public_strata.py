"""Public totals: in which cells of public tables atoms lie, and rows that meet the tables' counts.

Atoms that lie in the same cell of every table are a *stratum*. Each stratum gets a whole number of rows such that all
tables come out with their counts, and its rows are a systematic sample of its atoms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import numpy as np

from lapwing.errors import LapwingWarning, warn
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.public_tables.cells import CodedTable, coded_tables
from lapwing.schema.schemas import Schema

# -- Whole counts of a two-way table whose margins are given: the rounding of a table that keeps both of its margins.


_TOLERANCE: Final = 1e-6
_LARGEST: Final = 2**30
_SWEEPS: Final = 500


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The entries of a two-way table that may be above 0.

    left, right: intp (e,), the two ends of each link; no pair twice; masses: float64 (e,), non-negative.
    """

    left: np.ndarray
    right: np.ndarray
    masses: np.ndarray


def rounded(masses: np.ndarray, total: int) -> np.ndarray:
    """Round counts to whole ones with a given sum, by largest remainders.

    >>> rounded(np.array([1.0, 1.0, 2.0]), 6).tolist()
    [2, 1, 3]
    """
    wanted = masses * (total / masses.sum())
    whole = np.floor(wanted + _TOLERANCE).astype(np.int64)
    rest = wanted - whole
    left = total - int(whole.sum())
    step = 1 if left > 0 else -1
    for _ in range(abs(left) // masses.size + 1):  # once, but for rounding of huge totals
        most = min(abs(left), masses.size)
        whole[np.argsort(-step * rest, kind="stable")[:most]] += step
        left -= step * most
    return np.asarray(whole)


def whole_counts(
    links: Links, lefts: np.ndarray, rights: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Round a two-way table so that both margins are kept.

    lefts: int64 (a,), what the left margin must be; rights: float64 (b,), what the right margin should be: its floor or
    ceiling, with the same sum as the left one. Returns counts: int64 (e,), with the left margin exactly, if each left
    end with a count has a link; gap: by how much the right margin is off, in all: 0 where the links allow it.

    >>> square = Links(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.full(4, 0.5))
    >>> counts, gap = whole_counts(square, np.array([1, 1]), np.array([1.0, 1.0]), np.random.default_rng(0))
    >>> counts.reshape(2, 2).sum(axis=0).tolist(), gap
    ([1, 1], 0)
    """
    low, high = (each.astype(np.int64) for each in (np.floor(rights + _TOLERANCE), np.ceil(rights - _TOLERANCE)))
    masses = _within(links, lefts.astype(np.float64), rights)
    counts = np.floor(masses + _TOLERANCE).astype(np.int64)
    _cut_down(counts, links.left, lefts)
    _cut_down(counts, links.right, high)
    most = np.maximum(np.ceil(masses - _TOLERANCE).astype(np.int64), counts)
    # First entries between floor and ceiling; then any, where the masses have not the margins that are asked for.
    for bound, is_near in ((low, True), (low, False), (high, True), (high, False)):
        short = lefts - _sums(links.left, counts, lefts.size)
        free = np.maximum(bound - _sums(links.right, counts, rights.size), 0)
        if short.any() and free.any():
            room = most - counts if is_near else np.full(counts.size, _LARGEST)
            back = np.zeros_like(counts) if is_near else counts
            counts = counts + _flow(links, (np.maximum(room, 0), back), (short, free), rng)
    short = lefts - _sums(links.left, counts, lefts.size)
    for end in np.flatnonzero(short).tolist():
        counts[np.argmax(np.where(links.left == end, masses, -1.0))] += short[end]
    sums = _sums(links.right, counts, rights.size)
    return counts, int(np.maximum(sums - high, 0).sum() + np.maximum(low - sums, 0).sum())


def _sums(ends: np.ndarray, counts: np.ndarray, size: int) -> np.ndarray:
    """Return the sum of the counts of the links of each end: ndarray of int64, shape (size,)."""
    return np.bincount(ends, counts, size).astype(np.int64)  # exact: below 2^53


def _within(links: Links, lefts: np.ndarray, rights: np.ndarray) -> np.ndarray:
    """Return the masses, fitted to both margins in turn until they have them, in the end above neither."""
    masses = np.array(links.masses, dtype=np.float64)
    for _ in range(_SWEEPS):
        for ends, wanted in ((links.left, lefts), (links.right, rights)):
            sums = np.bincount(ends, masses, wanted.size)
            masses *= np.divide(wanted, sums, out=np.zeros(wanted.size), where=sums > 0)[ends]
        sums = np.bincount(links.left, masses, lefts.size)
        if np.abs(sums - lefts).max() <= _TOLERANCE / 10:
            break
    return np.asarray(
        masses * np.minimum(np.divide(lefts, sums, out=np.zeros(lefts.size), where=sums > 0), 1.0)[links.left]
    )


def _cut_down(counts: np.ndarray, ends: np.ndarray, most: np.ndarray) -> None:
    """Take from the largest counts of ends that have more than they may, which rounding of huge counts can cause."""
    over = _sums(ends, counts, most.size) - most
    for end in np.flatnonzero(over > 0).tolist():
        own = np.flatnonzero(ends == end)
        counts[own[np.argmax(counts[own])]] -= over[end]


def _flow(
    links: Links,
    room: tuple[np.ndarray, np.ndarray],
    margins: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray:
    """Return a largest flow along links, from left ends that are short to right ends that are free."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - it takes a tenth of a second to import
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415

    short, free = margins
    places = rng.permutation(short.size), short.size + rng.permutation(free.size)
    left, right = places[0][links.left], places[1][links.right]
    source, sink = short.size + free.size, short.size + free.size + 1
    lefts, rights = np.full(short.size, source), np.full(free.size, sink)
    tails, heads = (left, right, lefts, places[1]), (right, left, places[0], rights)
    rooms = np.minimum(np.concatenate((*room, short, free)), _LARGEST).astype(np.int32)
    kept = rooms > 0
    ends = np.concatenate(tails)[kept], np.concatenate(heads)[kept]
    moved = maximum_flow(csr_array((rooms[kept], ends), shape=(sink + 1, sink + 1)), source, sink).flow
    return np.asarray(moved[left, right]).reshape(-1).astype(np.int64)


MIXED = -2
"""In the place of the cell of an atom that lies in more than one."""

_TRIES = 8
_NEAR = 1e-3
"""Raking that stopped early leaves less than this share of the rows in other cells."""


@dataclass(frozen=True, slots=True, eq=False)
class PublicTotals:
    """The exact public tables of a schema, and a partition of a model's atoms into strata that no table tells apart."""

    tables: tuple[CodedTable, ...]
    own: np.ndarray  # intp (k,), the stratum of each atom
    cells: np.ndarray  # intp (tables, strata), the cell of each stratum in each table, as `atom_cells` gives it

    @classmethod
    def of(cls, model: ReleasedModel, tables: Sequence[CodedTable]) -> "PublicTotals":
        """Return the strata of a model's atoms, the same for whatever weights."""
        cells, own = np.unique(np.stack([atom_cells(model, each) for each in tables]), axis=1, return_inverse=True)
        return cls(tuple(tables), own.reshape(-1), cells)

    @property
    def targets(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each table, the cell of each stratum, and the share of all rows that each cell should have."""
        return [(own, table.counts / table.table.total) for own, table in zip(self.cells, self.tables, strict=True)]

    def masses(self, weights: np.ndarray) -> np.ndarray:
        """Return the weight of each stratum: ndarray of float64, shape (strata,)."""
        return np.asarray(np.bincount(self.own, weights, self.cells.shape[1]))

    def gaps(self, masses: np.ndarray, strata: np.ndarray | slice = slice(None)) -> list[float]:
        """Return, for each table, the share of these masses that is not where the table has it, from 0 to 1.

        strata: in which stratum each mass lies; by default there is one mass for each.
        """
        gaps = []
        for own, shares in self.targets:  # nobody should be in cell -1
            found = np.bincount(own[strata] + 1, masses, shares.size + 1) / masses.sum()
            gaps.append(min(1.0, float(np.abs(found - np.append(0.0, shares)).sum() / 2)))  # rounding can pass 1
        return gaps


def atom_cells(model: ReleasedModel, table: CodedTable) -> np.ndarray:
    """Return the cell of each atom in a public table.

    Returns intp (k,), -1 where nobody can be, `MIXED` where the atom lies in more than one group of a column.
    """
    groups = [atom_groups(model.laws[name], each) for name, each in zip(table.columns, table.groupings, strict=True)]
    found = table.cell[tuple(np.maximum(each, 0) for each in groups)]
    is_mixed = np.logical_or.reduce([each < 0 for each in groups])
    return np.where(is_mixed, MIXED, found)


def atom_groups(law: ColumnLaw, grouping: Grouping) -> np.ndarray:
    """Return the group of each atom in one column: ndarray of intp, shape (k,); `MIXED` where it has several."""
    match law:
        case Indexed():
            laws = law.laws
            of_piece = _run_groups(laws.starts, laws.stops, grouping)
            first = laws.offsets[:-1]
            is_one = np.minimum.reduceat(of_piece, first) == np.maximum.reduceat(of_piece, first)
            return np.asarray(np.where(is_one, of_piece[first], MIXED)[law.index])
        case Spans():
            return _run_groups(law.starts.astype(np.int64), law.stops.astype(np.int64), grouping)
        case Bernoulli():
            groups = grouping.apply(np.array([0, 1]))
            alone = np.where(law.p > 0, groups[1], groups[0])
            is_one = (law.p == 0) | (law.p == 1) | (groups[0] == groups[1])
            return np.asarray(np.where(is_one, alone, MIXED))


def _run_groups(starts: np.ndarray, stops: np.ndarray, grouping: Grouping) -> np.ndarray:
    """Return the group of each run of codes, `MIXED` where it has several (neighbouring pieces differ)."""
    edges, _, group = grouping.pieces()
    first, last = (np.searchsorted(edges, codes, side="right") - 1 for codes in (starts, stops - 1))
    return np.asarray(np.where(first == last, group[first], MIXED))


def public_totals(model: ReleasedModel, schema: Schema) -> PublicTotals | None:
    """Return the public totals that a model was raked to.

    Returns none where the schema has no exact public table, or the model was not raked to them: an atom with weight
    lies in more than one cell, or where nobody is.
    """
    tables = coded_tables(schema)
    totals = PublicTotals.of(model, tables) if tables else None
    return None if totals is None or (totals.cells[:, totals.own[model.weights > 0]] < 0).any() else totals


def stratum_rows(totals: PublicTotals, weights: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return how many rows each stratum gets.

    weights: float64 (k,), non-negative, not all 0. Returns rows: int64 (strata,), they sum to ``n``. The margin of each
    table is its own where the masses have that but for what raking left, and theirs where the model was given a
    condition since, or tables contradict each other; rounded, and exactly that where it is whole: always for one table
    and for two, for nested ones, and for more where they can be kept one by one; gap: by how many rows the margins are
    off in all: 0 but where three tables or more overlap too much.

    Table by table: the parts that the tables before tell apart, each with its whole number of rows, are divided over
    the cells of the next table so that its counts come out (`whole_counts`).
    """
    masses = totals.masses(weights)
    masses *= n / masses.sum()
    tables = [(own, _wanted(own, shares, masses) * n) for own, shares in totals.targets]
    tables.sort(key=lambda each: -np.unique(each[0]).size)  # the finest first
    best = _stratum_rows(masses, tables, n, rng)
    for _ in range(_TRIES - 1):
        if best[1] == 0:
            break
        best = min(best, _stratum_rows(masses, tables, n, rng), key=itemgetter(1))
    return best


def _wanted(own: np.ndarray, shares: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return the share of the rows that each cell of a table should have."""
    found = np.bincount(own, masses / masses.sum(), shares.size)
    is_near = np.abs(found - shares).sum() / 2 <= _NEAR and ((found > 0) == (shares > 0)).all()
    return shares if is_near else found


def _stratum_rows(
    masses: np.ndarray, tables: Sequence[tuple[np.ndarray, np.ndarray]], n: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Divide the rows over the strata once; of each table their cells and the rows wanted in each cell."""
    parts = np.zeros(masses.size, dtype=np.intp)
    rows, gap = np.array([n], dtype=np.int64), 0
    for own, wanted in tables:
        pairs, joint_parts = np.unique(np.stack([parts, own]), axis=1, return_inverse=True)
        parts = joint_parts.reshape(-1)
        if pairs.shape[1] == rows.size:  # the table tells nothing apart that was not before
            continue
        if rows.size == 1:
            rows = rounded(wanted[pairs[1]], n)
            continue
        known, right = np.unique(pairs[1], return_inverse=True)
        links = Links(pairs[0], right.reshape(-1), np.bincount(parts, masses, pairs.shape[1]))
        rows, missed = whole_counts(links, rows, wanted[known], rng)
        gap += missed
    return rows[parts], gap


def stratum_ends(totals: PublicTotals, rows: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give every atom a run of row numbers, by a systematic sample inside each stratum.

    rows: int64 (strata,), rows of each stratum; 0 where its atoms have no weight; weights: float64 (k,), non-negative.
    Returns int64 (k,), as `row_ends` gives it: atom a owns the rows from ``ends[a - 1]`` (0 for the first) to ``ends[a]
    - 1``.
    """
    order = np.argsort(totals.own, kind="stable")
    own = totals.own[order]
    lasts = np.cumsum(np.bincount(own, minlength=rows.size)) - 1
    reached = np.cumsum(weights[order])
    before = np.concatenate(([0.0], reached[lasts[:-1]]))
    within = np.maximum(reached - before[own], 0.0)
    share = within / np.maximum(within[lasts][own], np.finfo(np.float64).tiny)
    # The last atom of a stratum has share 1 exactly, and an offset below 1 leaves it all that is left.
    ends = np.ceil(rows[own] * share - rng.random(rows.size)[own]).astype(np.int64)
    ends = np.maximum(ends, 0) + (np.cumsum(rows) - rows)[own]
    copies = np.empty_like(ends)
    copies[order] = np.diff(ends, prepend=0)
    return np.cumsum(copies)


def public_ends(totals: PublicTotals, weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Give every atom a run of row numbers such that public tables come out with their counts."""
    rows, gap = stratum_rows(totals, weights, n, rng)
    if gap:
        said = (
            f"public tables that overlap cannot all be met by whole rows: the counts of {n} rows are off by {gap} in "
            "all; the model holds them exactly, and fewer tables come out exactly"
        )
        warn(LapwingWarning(said, code="LW243"))
    return stratum_ends(totals, rows, weights, rng)
