"""Exact marginals of a released model on any groupings: model -> expected contingency table.

Each column is collapsed to few *rows*: the distributions over groups that its laws give. The first rows are certain of
one group, since most laws lie inside one. Atoms with the same rows in every column are merged; what is left is a sum of
outer products, done by matrix products where rows are spread out and by counting where they are not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.maths.runs import distinct_pairs, ranks
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans
from lapwing.schema.fields import Field, weights_at
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.scalars import quote

_MAX_CELLS = 4_000_000
"""Most cells of a table: 32 MB."""

_MAX_ENTRIES = 2**25
"""Most probabilities that the rows of one column may hold: 512 MiB."""

_MAX_WORK = 2**42
"""Most multiplications of one marginal: about a minute."""

_BLOCK = 2**22
"""Numbers that a block of work keeps in memory."""

_TERM_COST = 16
"""What one counted term costs, in multiplications of a matrix product."""


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One collapsed column: the row of each atom, and the rows as lists of (group, probability)."""

    index: np.ndarray
    offsets: np.ndarray
    groups: np.ndarray
    probabilities: np.ndarray
    cells: int

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def at(self, atoms: np.ndarray) -> "_Column":
        """Return the column for a selection of atoms."""
        return _Column(self.index[atoms], self.offsets, self.groups, self.probabilities, self.cells)


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """Weighted cells, each belonging to one merged atom."""

    atom: np.ndarray
    cell: np.ndarray
    value: np.ndarray


def marginal(model: ReleasedModel, columns: Sequence[str], groupings: Sequence[Grouping]) -> np.ndarray:
    """Return the expected contingency table of a released model.

    columns: distinct columns of the model; none gives the number of rows. Returns float64 (groups of the first
    grouping, groups of the second, ...), expected counts under the mixture; they sum to ``model.rows``. Exact up to
    rounding, nothing is sampled.

    Post-processing of released numbers: costs no budget. Time ``O(k d + k log k)`` where laws lie inside single groups.
    """
    _check_request(model, columns, groupings)
    shape = tuple(grouping.groups for grouping in groupings)
    scale = model.rows / model.weights.sum()
    if not columns:
        return np.asarray(model.weights.sum() * scale)
    if model.rows == 0:
        return np.zeros(shape)

    parts = [collapse_laws(name, model.laws[name], grouping) for name, grouping in zip(columns, groupings, strict=True)]
    kept, masses = _merge(parts, model.weights * scale)
    merged = [part.at(kept) for part in parts]
    terms = np.ones(kept.size)
    for part in merged:
        terms *= part.lengths[part.index]
    products = kept.size * math.prod(shape)
    if min(_TERM_COST * float(terms.sum()), products) > _MAX_WORK:
        raise CapacityError(
            f"the marginal over {', '.join(columns)} needs more than {_MAX_WORK} multiplications; coarsen it",
            code="LW507",
        )
    if _TERM_COST * float(terms.sum()) <= products:
        return _counted(merged, masses, terms, math.prod(shape)).reshape(shape)
    return _multiplied(merged, masses).reshape(shape)


def _check_request(model: ReleasedModel, columns: Sequence[str], groupings: Sequence[Grouping]) -> None:
    """Refuse unknown or repeated columns, and tables that are too large."""
    if len(columns) != len(groupings) or len(set(columns)) != len(columns):
        raise ParameterError(
            f"a marginal needs distinct columns with one grouping each, got columns {tuple(columns)}", code="LW330"
        )
    unknown = [name for name in columns if name not in model.laws]
    if unknown:
        raise ParameterError(
            f"the model has no column {unknown[0]!r}; choose from {', '.join(model.laws)}", code="LW330"
        )
    cells = math.prod(grouping.groups for grouping in groupings)
    if cells > _MAX_CELLS:
        raise CapacityError(
            f"the marginal over {', '.join(columns)} has {cells} cells, more than max_cells={_MAX_CELLS}; "
            "use fewer columns or coarser groupings",
            code="LW507",
        )


def collapse_laws(name: str, law: ColumnLaw, grouping: Grouping) -> _Column:
    """Turn the laws of one column into rows over groups, and point each atom at its row."""
    starts, stops, group = grouping.pieces()
    runs = _Runs(name, np.asarray(starts), np.asarray(stops), np.asarray(group), grouping.groups)
    match law:
        case Indexed():
            table = law.laws
            rows, inside, masses = runs.cut(table.starts, table.stops, table.probabilities)
            return _gathered(law.index.astype(np.intp), table.law_of_piece[rows], inside, masses, grouping.groups)
        case Spans():
            return _collapse_spans(law, runs)
        case Bernoulli():
            distinct, index = np.unique(law.p.astype(np.float64), return_inverse=True)
            pair = runs.groups_of(np.array([0, 1] if distinct[-1] > 0 else [0, 0]))
            rows = np.repeat(np.arange(distinct.size), 2)
            masses = np.stack((1.0 - distinct, distinct), axis=1).ravel()
            return _gathered(index, rows, np.tile(pair, distinct.size), masses, grouping.groups)


def _collapse_spans(law: Spans, runs: "_Runs") -> _Column:
    """Collapse spans: those inside one run are certain of its group, only the distinct others are cut."""
    first = runs.positions(law.starts)
    last = runs.positions(law.stops - 1)
    wide = np.flatnonzero(first != last)
    index = runs.group[first].astype(np.intp)
    points = np.arange(runs.cells)
    if wide.size == 0:
        return _Column(index, np.arange(runs.cells + 1), points, np.ones(runs.cells), runs.cells)
    starts, stops, which = distinct_pairs(law.starts[wide].astype(np.int64), law.stops[wide].astype(np.int64))
    rows, inside, masses = runs.cut(starts, stops, np.ones(starts.size))
    index[wide] = runs.cells + which
    rows = np.concatenate((points, runs.cells + rows))
    return _gathered(
        index, rows, np.concatenate((points, inside)), np.concatenate((np.ones(runs.cells), masses)), runs.cells
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """The runs of codes of a grouping, in order of their codes, and the group of each."""

    name: str
    starts: np.ndarray
    stops: np.ndarray
    group: np.ndarray
    cells: int

    def positions(self, codes: np.ndarray) -> np.ndarray:
        """Return the run of each code."""
        if int(codes.max()) >= self.stops[-1]:
            raise ParameterError(
                f"column {self.name!r} has codes beyond its grouping; take a grouping of its own domain",
                code="LW640",
            )
        return np.searchsorted(self.starts, codes.astype(np.int64), side="right") - 1

    def groups_of(self, codes: np.ndarray) -> np.ndarray:
        """Return the group of each code."""
        return np.asarray(self.group[self.positions(codes)])

    def cut(
        self, starts: np.ndarray, stops: np.ndarray, masses: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cut pieces at the runs; return for each part its piece, its group and its mass."""
        first = self.positions(starts)
        counts = self.positions(stops - 1) - first + 1
        if int(counts.sum()) > _MAX_ENTRIES:
            raise CapacityError(
                f"the laws of column {self.name!r} spread over {int(counts.sum())} groups in all, more than "
                f"{_MAX_ENTRIES}; use a coarser grouping",
                code="LW507",
            )
        piece = np.repeat(np.arange(starts.size), counts)
        run = first[piece] + ranks(counts)
        overlap = np.minimum(stops[piece], self.stops[run]) - np.maximum(starts[piece], self.starts[run])
        return piece, self.group[run], masses[piece] * (overlap / (stops - starts)[piece])


def _gathered(index: np.ndarray, rows: np.ndarray, groups: np.ndarray, masses: np.ndarray, cells: int) -> _Column:
    """Sum masses by (row, group); rows that are certain of one group become that group's row."""
    keys, which = np.unique(rows * cells + groups, return_inverse=True)
    summed = np.bincount(which, masses, minlength=keys.size)
    keys, summed = keys[summed > 0], summed[summed > 0]
    row, group = np.divmod(keys, cells)
    count = int(row[-1]) + 1
    lengths = np.bincount(row, minlength=count)
    # Rows 0 .. cells-1 of the result are the certain ones; the spread rows follow, in their order.
    is_spread = lengths > 1
    target = cells - 1 + np.cumsum(is_spread)
    single = ~is_spread[row]
    target[row[single]] = group[single]
    spread = ~single
    offsets = np.concatenate((np.arange(cells + 1), cells + np.cumsum(lengths[is_spread])))
    return _Column(
        target[index],
        offsets,
        np.concatenate((np.arange(cells), group[spread])),
        np.concatenate((np.ones(cells), summed[spread])),
        cells,
    )


def _merge(parts: Sequence[_Column], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge atoms that have the same row in every column; return one atom of each kind, and their masses."""
    key, size = parts[0].index, parts[0].offsets.size - 1
    for part in parts[1:]:
        if size * (part.offsets.size - 1) > 2**62:
            distinct, key = np.unique(key, return_inverse=True)
            size = distinct.size
        key = key * (part.offsets.size - 1) + part.index
        size *= part.offsets.size - 1
    if size > _BLOCK:
        distinct, key = np.unique(key, return_inverse=True)
        size = distinct.size
    masses = np.bincount(key, weights, minlength=size)
    example = np.zeros(size, dtype=np.intp)
    example[key] = np.arange(key.size)  # any atom of a kind will do
    present = np.flatnonzero(masses)
    return example[present], masses[present]


def _counted(parts: Sequence[_Column], masses: np.ndarray, sizes: np.ndarray, cells: int) -> np.ndarray:
    """Write out every term and count; ``sizes`` are the terms of each merged atom."""
    total = np.zeros(cells)
    ends = np.cumsum(sizes)
    edges = np.searchsorted(ends, np.arange(_BLOCK, ends[-1], _BLOCK), side="right")
    for block in np.split(np.arange(masses.size), np.unique(edges)):
        terms = _Terms(np.arange(block.size), np.zeros(block.size, dtype=np.intp), masses[block])
        for part in parts:
            terms = _times(terms, part.at(block))
        total += np.bincount(terms.cell, terms.value, minlength=cells)
    return total


def _multiplied(parts: Sequence[_Column], masses: np.ndarray) -> np.ndarray:
    """Split the columns in two halves and add up the products of their matrices (atoms x cells), block by block."""
    cells = [part.cells for part in parts]
    halves = [(math.prod(cells[:cut]), math.prod(cells[cut:])) for cut in range(len(parts) + 1)]
    cut = min(range(len(halves)), key=lambda at: sum(halves[at]))
    total: np.ndarray = np.zeros(halves[cut])
    step = max(1, _BLOCK // sum(halves[cut]))
    for first in range(0, masses.size, step):
        block = np.arange(first, min(first + step, masses.size))
        left = _matrix(parts[:cut], block, masses[block])
        right = _matrix(parts[cut:], block, np.ones(block.size))
        total += left.T @ right
    return total


def _matrix(parts: Sequence[_Column], block: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the joint distribution of some columns for each atom of a block, times its value."""
    terms = _Terms(np.arange(block.size), np.zeros(block.size, dtype=np.intp), values)
    for part in parts:
        terms = _times(terms, part.at(block))
    matrix = np.zeros((block.size, math.prod(part.cells for part in parts)))
    matrix[terms.atom, terms.cell] = terms.value
    return matrix


def _times(terms: _Terms, part: _Column) -> _Terms:
    """Multiply terms by the rows of one more column."""
    row = part.index[terms.atom]
    lengths = part.lengths[row]
    source = np.repeat(np.arange(row.size), lengths)
    at = part.offsets[row][source] + ranks(lengths)
    return _Terms(
        terms.atom[source],
        terms.cell[source] * part.cells + part.groups[at],
        terms.value[source] * part.probabilities[at],
    )


# -- Weighted totals of a released model: model -> how much weight each cell of a table holds.


def weighted_marginal(
    model: ReleasedModel, weight: Field, columns: Sequence[str], groupings: Sequence[Grouping]
) -> np.ndarray:
    """Return the expected weighted contingency table of a released model.

    columns: distinct columns of the model; none gives the total weight. Returns float64 (groups of the first grouping,
    groups of the second, ...), expected weighted totals under the mixture, for as many rows as the model stands for.
    Exact up to rounding: in an atom the weight is independent of the other columns, so that its mean there is all that
    counts.

    Post-processing of released numbers: costs no budget. Time ``O(k d + k log k)``.
    """
    if weight.name in columns:
        raise ParameterError(
            f"{quote(weight.name)} is the weight itself; ask for weighted totals of other columns", code="LW332"
        )
    means = mean_weights(model.laws[weight.name], weight)
    shares = model.weights / model.weights.sum()
    total = model.rows * float(shares @ means)
    if total <= 0:
        return np.zeros(tuple(grouping.groups for grouping in groupings))
    tilted = shares * means
    return marginal(replace(model, weights=tilted / tilted.max()), columns, groupings) * (total / model.rows)


def mean_weights(law: ColumnLaw, weight: Field) -> np.ndarray:
    """Return the mean weight of each atom: ndarray of float64, shape (k,)."""
    match law:
        case Indexed():
            pieces = law.laws.probabilities * _run_means(weight, law.laws.starts, law.laws.stops)
            return np.asarray(np.add.reduceat(pieces, law.laws.offsets[:-1])[law.index])
        case Spans():
            return _run_means(weight, law.starts, law.stops)
        case Bernoulli():
            low, high = weights_at(weight, [0, 1])
            return np.asarray(low + (high - low) * law.p.astype(np.float64))


def _run_means(weight: Field, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the mean weight of a code drawn from each run; special and missing codes count 0."""
    first, last = starts.astype(np.int64), stops.astype(np.int64)
    inside = np.minimum(last, weight.domain.values)
    regular = np.maximum(inside - first, 0)
    # Weights are a straight line in the codes: their mean over a run is that of its middle.
    middle = np.where(regular > 0, (first + inside - 1) / 2, first)
    return np.asarray(weights_at(weight, middle) * regular / (last - first))
