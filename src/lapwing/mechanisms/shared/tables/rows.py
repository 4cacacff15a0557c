"""Whole rows that meet estimated tables as nearly as rows can: cells, weights, whole numbers, a model.

Columns that no table joins are in blocks of their own. A block's *cells* are all combinations of its finest groups or,
where these are too many, those of particles that the engine moved towards the tables. Weights start as independent
columns and are scaled table by table until the tables are met, where these contradict each other as far as their noise
lets them (iterative proportional fitting with slack). Then each cell gets a whole number of rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from lapwing.engine.particles import fit_particles, independent, pull_schedule, ridge_of
from lapwing.engine.tables import Axis, Factor
from lapwing.mechanisms.shared.one_way import uniform_model
from lapwing.mechanisms.shared.tables.estimates import Estimates, NestedGroups, without_misfits
from lapwing.model.laws import Laws, laws_of_groups, uniform_law
from lapwing.model.model import Indexed, ReleasedModel, narrow, whole_rows
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

MOST_CELLS = 2**20
"""Combinations of groups up to which a block has a weight for each: 8 MB for each table."""

_LEAST_PARTICLES, _MOST_PARTICLES = 20_000, 200_000
_MOST_PIECES = 2**19
_SWEEPS = 200
_SETTLED = 0.05  # rows: no cell of a table moves by more
_ALL_BUT_EXACT = 1e-4  # of the largest variance
_SLACK = 0.3  # of the noise: what weights give way to be nearer to independent columns
_NEW_CELL = 0.01  # rows, to grow from
_SELDOM = 0.01  # of the average cell: rounding adds no row to rarer ones
_PASSES, _WARMEST, _COLDEST = 40, 1.0, 0.05
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class _Target:
    """A table of a block: the level of each of its columns, by place in the block, and what its cells should hold."""

    levels: tuple[tuple[int, int], ...]
    counts: np.ndarray
    variance: float


def model_of_tables(
    schema: Schema, tables: Sequence[tuple[str, ...]], found: Estimates, rng: np.random.Generator
) -> ReleasedModel:
    """Return atoms with whole weights, in all as many as there are rows; what no table names is uniform.

    tables: the columns of each of the estimates.
    """
    rows = whole_rows(found.total)
    if rows == 0:
        return uniform_model(schema, 0)
    domains = {field.name: field.domain for field in schema.columns}
    axes = {name: without_misfits(axis, domains[name]) for name, axis in found.axes.items()}
    blocks = []
    for names in _blocks(tables):
        targets = [
            _target(names, axes, columns, found, place) for place, columns in enumerate(tables) if columns[0] in names
        ]
        blocks.append((names, *_whole_cells([axes[name] for name in names], targets, rows, rng)))
    pieces, weights = _joined([counts for _, _, counts in blocks], rng)
    laws = {}
    for (names, cells, _), own in zip(blocks, pieces, strict=True):
        for name, groups in zip(names, cells, strict=True):
            laws[name] = Indexed(narrow(groups[own]), _group_laws(domains[name], found.axes[name].groupings[-1]))
    unnamed = np.zeros(weights.size, dtype=np.uint8)
    return ReleasedModel(
        weights=weights.astype(np.float64),
        rows=rows,
        laws={name: laws.get(name) or Indexed(unnamed, uniform_law(domain)) for name, domain in domains.items()},
    )


def _blocks(tables: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the sets of columns that tables join, in the order of their first table."""
    found: list[dict[str, None]] = []
    for columns in tables:
        joined = [each for each in found if set(each) & set(columns)]
        merged = reduce(lambda one, two: one | two, [*joined, dict.fromkeys(columns)])
        found = [each for each in found if each not in joined] + [merged]
    return [tuple(each) for each in found]


def _target(
    names: tuple[str, ...], axes: Mapping[str, NestedGroups], columns: tuple[str, ...], found: Estimates, place: int
) -> _Target:
    """Return an estimated table on the groups of a block that rows can be in, axes in the block's order."""
    levels = dict(zip(found.axes, found.levels[place], strict=True))
    order = sorted(range(len(columns)), key=lambda at: names.index(columns[at]))
    kept = [(names.index(columns[at]), levels[columns[at]]) for at in order]
    shape = tuple(axes[names[column]].sizes[level] for column, level in kept)
    inside = tuple(slice(size) for size in shape)
    counts, variance = (each[place].transpose(order)[inside].reshape(-1) for each in (found.counts, found.variances))
    return _Target(tuple(kept), counts, float(variance.mean()))


def _whole_cells(
    axes: Sequence[NestedGroups], targets: Sequence[_Target], rows: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of a block, intp (columns, k), and the rows in each, int64 (k,), of which none is 0."""
    sizes = [axis.sizes[-1] for axis in axes]
    if np.prod(np.array(sizes, dtype=np.float64)) <= MOST_CELLS:
        cells = np.indices(sizes).reshape(len(sizes), -1)
        weights = reduce(np.multiply.outer, [_margin(axes, targets, column) for column in range(len(axes))]).reshape(-1)
    else:
        cells, weights = _cells_of_particles(axes, targets, rows, rng)
    own = [_cells_in(axes, cells, each) for each in targets]
    weights = _scaled(weights * (rows / weights.sum()), targets, own, rows)
    counts = _rounded(weights, targets, own, rows, rng)
    return cells[:, counts > 0], counts[counts > 0]


def _rounded(
    weights: np.ndarray, targets: Sequence[_Target], own: Sequence[np.ndarray], rows: int, rng: np.random.Generator
) -> np.ndarray:
    """Return whole counts, in all so many rows, whose tables are those of the weights but for a row or so in a cell.

    A systematic sample, then single rows are added and taken where tables are off.
    """
    from lapwing.engine.rounding import settle_counts  # noqa: PLC0415 - numba takes long to import

    reached = np.cumsum(weights)
    ends = np.floor(reached * (rows / reached[-1]) + rng.random()).astype(np.int64)
    counts = np.diff(np.append(ends[:-1], rows), prepend=0)
    sizes = [each.counts.size for each in targets]
    offsets = np.cumsum([0, *sizes])
    cells = np.stack(
        [*(cell + first for cell, first in zip(own, offsets, strict=False)), np.full(weights.size, offsets[-1])]
    )
    wanted = [np.bincount(cell, weights, size) for cell, size in zip(own, sizes, strict=True)]
    gaps = np.concatenate([*wanted, [float(rows)]])
    gaps = sum(np.bincount(each, counts, gaps.size) for each in cells) - gaps
    is_open = weights >= _SELDOM * rows / weights.size
    order = np.flatnonzero(is_open)
    for warmth in (*np.geomspace(_WARMEST, _COLDEST, _PASSES), *[0.0] * _PASSES):
        chances = warmth * rng.standard_exponential(order.size) - _ROUNDING
        if settle_counts(counts, cells, gaps, rng.permutation(order), chances) == 0:
            break
    while left := rows - int(counts.sum()):
        step = 1 if left > 0 else -1
        may = is_open if left > 0 else counts > 0
        at = np.flatnonzero(may)[np.argmin(step * gaps[cells[:, may]].sum(axis=0))]
        counts[at] += step
        gaps[cells[:, at]] += step
    return counts


def _margin(axes: Sequence[NestedGroups], targets: Sequence[_Target], column: int) -> np.ndarray:
    """Return the share of each finest group of a column, from the finest table of it that varies least."""
    told = [each for each in targets if (column, len(axes[column].groupings)) in each.levels]
    best = min(told, key=lambda each: each.variance * each.counts.size)
    at = [place for place, _ in best.levels].index(column)
    cube = best.counts.reshape([axes[place].sizes[level] for place, level in best.levels])
    sums = cube.sum(axis=tuple(axis for axis in range(cube.ndim) if axis != at))
    return np.asarray(np.maximum(sums, _NEW_CELL) / np.maximum(sums, _NEW_CELL).sum())


def _cells_in(axes: Sequence[NestedGroups], cells: np.ndarray, target: _Target) -> np.ndarray:
    """Return the cell of a table in which each cell of the block lies: ndarray of intp."""
    found = np.zeros(cells.shape[1], dtype=np.intp)
    for column, level in target.levels:
        found = found * axes[column].sizes[level] + axes[column].members[level][cells[column]]
    return found


def _scaled(weights: np.ndarray, targets: Sequence[_Target], own: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Return the weights, in all so many rows, of least relative entropy plus squares of what the tables are off by.

    The squares are divided by the variances of the tables, times `_SLACK`. One table at a time is solved exactly: its
    sum c of a cell becomes u with ``u + s log(u / c) = target - s theta``, a Wright omega function.
    """
    from scipy.special import wrightomega  # noqa: PLC0415 - it takes a tenth of a second to import

    variances = [each.variance for each in targets]
    # Tables that are all but exact take no part in it: they would leave the others none of their own.
    least = min(each for each in variances if each >= _ALL_BUT_EXACT * max(variances)) ** 0.5
    slacks = [max(_SLACK * each / least, 1e-6) for each in variances]
    thetas = [np.zeros(each.counts.size) for each in targets]
    for _ in range(_SWEEPS):
        moved = 0.0
        for theta, each, cell, slack in zip(thetas, targets, own, slacks, strict=True):
            sums = np.bincount(cell, weights, each.counts.size)
            is_held = sums > 0
            before = sums[is_held]
            after = slack * wrightomega((each.counts - slack * theta)[is_held] / slack + np.log(before / slack))
            ratio = np.zeros(sums.size)
            ratio[is_held] = after / before
            theta[is_held] += np.log(np.maximum(ratio[is_held], 1e-300))
            weights = weights * ratio[cell]
            moved = max(moved, float(np.abs(after - before).max(initial=0.0)))
        weights = weights * (rows / weights.sum())
        if moved < _SETTLED:
            break
    return weights


def _cells_of_particles(
    axes: Sequence[NestedGroups], targets: Sequence[_Target], rows: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells where particles are that were moved towards the tables, and those that a table misses there."""
    size = min(max(rows, _LEAST_PARTICLES), _MOST_PARTICLES)
    sides = [
        Axis(_margin(axes, targets, column) * rows, tuple(axis.members[:0:-1])) for column, axis in enumerate(axes)
    ]
    factors = []
    for each in targets:
        table = tuple((column, len(axes[column].groupings) - level) for column, level in each.levels)
        ridge = ridge_of(sides, table, each.counts, each.variance**0.5) if len(table) > 1 else 0.3 * each.variance**0.5
        factors.append(Factor(table=table, theta=np.zeros(each.counts.size), target=each.counts, ridge=ridge))
    groups = independent(sides, size, rng)
    moved, _ = fit_particles(sides, groups, factors, float(rows), rng, pulls=pull_schedule())
    cells, copies = np.unique(moved.astype(np.intp), axis=1, return_counts=True)
    more = [_missing_cells(axes, cells, each, rng) for each in targets]
    cells, first = np.unique(np.concatenate((cells, *more), axis=1), axis=1, return_index=True)
    weights = np.full(first.size, _NEW_CELL)
    weights[first < copies.size] = copies[first[first < copies.size]] * (rows / size)
    return cells, weights


def _missing_cells(
    axes: Sequence[NestedGroups], cells: np.ndarray, target: _Target, rng: np.random.Generator
) -> np.ndarray:
    """Return cells like random others, in each cell of a table that should have rows and has no cell of the block."""
    is_there = np.bincount(_cells_in(axes, cells, target), minlength=target.counts.size) > 0
    missing = np.flatnonzero(~is_there & (target.counts >= 0.5))
    found = cells[:, rng.integers(cells.shape[1], size=missing.size)]
    shape = tuple(axes[column].sizes[level] for column, level in target.levels)
    for (column, level), group in zip(target.levels, np.unravel_index(missing, shape), strict=True):
        first = np.unique(axes[column].members[level], return_index=True)[1]
        found[column] = first[group]
    return found


def _joined(counts: Sequence[np.ndarray], rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Pair the rows of blocks at random: the cell of each block in each atom, and the rows of each atom.

    Each block's rows are in random order, one by one or, of very many, in pieces of some; an atom ends where a piece of
    any block ends.
    """
    if len(counts) == 1:
        return [np.arange(counts[0].size)], counts[0]
    piece = max(1, int(counts[0].sum()) // _MOST_PIECES)
    owners, ends = [], []
    for each in counts:
        whole, rest = np.divmod(each, piece)
        owner = np.repeat(np.arange(each.size), whole + (rest > 0))
        length = np.full(owner.size, piece, dtype=np.int64)
        lasts = np.cumsum(whole + (rest > 0)) - 1
        length[lasts[rest > 0]] = rest[rest > 0]
        order = rng.permutation(owner.size)
        owners.append(owner[order])
        ends.append(np.cumsum(length[order]))
    every = np.unique(np.concatenate(ends))
    found = [owner[np.searchsorted(end, every, side="left")] for owner, end in zip(owners, ends, strict=True)]
    return found, np.diff(every, prepend=0)


def _group_laws(domain: Domain, grouping: Grouping) -> Laws:
    """Return the law of each group of a column: uniform on its codes, without the one of misfits."""
    starts, stops, group = grouping.pieces()
    kept = np.ones(group.size, dtype=np.bool_) if domain.missing else group < grouping.groups - 1
    return laws_of_groups(group[kept], starts[kept], stops[kept], (stops - starts)[kept].astype(np.float64))
