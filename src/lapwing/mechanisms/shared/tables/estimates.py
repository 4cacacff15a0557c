"""Consistent estimates of noisy tables that share columns, and the variance of each cell.

Each column has nested groupings, from one group of all codes to the finest. What a table says splits into parts: part
B, one grouping for each column, is what the table summed to B says beyond all coarser sums. All tables that are at
least as fine as B tell of it; their sums are averaged, each weighted by the inverse of its variance. A table is the sum
of the parts up to its own groupings, so tables agree wherever they overlap. Any weights give unbiased cells; these are
those of generalised least squares where the groups of a grouping have equally many groups of the next one, as always
where a column has one grouping only. In other hierarchies the weights are those of the average group.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import merge_groups

Part = tuple[int, ...]
"""For each column the number of a grouping, 0 for that of one group."""

_NEGLIGIBLE = 1e-12
LEAST_VARIANCE = 1e-6  # in records squared
_MOST_COLUMNS = 64  # axes of an array of NumPy


@dataclass(frozen=True, slots=True, eq=False)
class CountedTable:
    """A noisy table: counts, float64, of the shape of its groupings; variance: of the noise on each count, above 0."""

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    counts: np.ndarray
    variance: float


def counted_table(answer: NoisyCounts) -> CountedTable:
    """Return an answer as a noisy table; noise that is all but never there counts as a very small one."""
    question, variance = answer.question, max(answer.noise.sd**2, LEAST_VARIANCE)
    return CountedTable(question.columns, question.groupings, answer.counts.astype(np.float64), variance)


@dataclass(frozen=True, slots=True, eq=False)
class NestedGroups:
    """The nested groupings of one column, the coarsest first.

    members: for each level the group of each finest group; level 0 has one group; sizes: groups of each level.
    """

    groupings: tuple[Grouping, ...]
    members: tuple[np.ndarray, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each level."""
        return tuple(int(each.max()) + 1 for each in self.members)

    def merged(self, fine: int, coarse: int) -> np.ndarray:
        """Return the coarse group of each fine group: ndarray of intp."""
        found = np.zeros(self.sizes[fine], dtype=np.intp)
        found[self.members[fine]] = self.members[coarse]
        return found

    def shares(self, fine: int, coarse: int) -> np.ndarray:
        """Return the part of its coarse group that each fine group gets where nothing tells more."""
        finest = np.bincount(self.members[fine])
        return np.asarray(finest / np.bincount(self.members[coarse])[self.merged(fine, coarse)])


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Consistent tables: counts and variances, float64, in the shape of each noisy table; total: of all rows."""

    axes: Mapping[str, NestedGroups]
    levels: tuple[Part, ...]
    counts: tuple[np.ndarray, ...]
    variances: tuple[np.ndarray, ...]
    total: float


def nested_axes(tables: Sequence[tuple[tuple[str, ...], tuple[Grouping, ...]]]) -> dict[str, NestedGroups]:
    """Return each column's groupings from the coarsest on; refuse some that are not nested, and too many columns."""
    named: dict[str, dict[Grouping, None]] = {}
    for columns, groupings in tables:
        for name, grouping in zip(columns, groupings, strict=True):
            named.setdefault(name, {})[grouping] = None
    if len(named) > _MOST_COLUMNS:
        raise ParameterError(
            f"tables may name {_MOST_COLUMNS} different columns, got {len(named)}; leave some out, or make a release "
            "for each part of them",
            code="LW302",
        )
    return {name: _axis(name, sorted(found, key=lambda each: each.groups)) for name, found in named.items()}


def _axis(name: str, groupings: Sequence[Grouping]) -> NestedGroups:
    finest = groupings[-1]
    members = [np.zeros(finest.groups, dtype=np.intp)]
    for fine, coarse in zip((*groupings[1:], finest), groupings, strict=True):
        own = merge_groups(finest, coarse)
        if own is None or merge_groups(fine, coarse) is None:
            raise ParameterError(
                f"tables group column {name!r} in ways that are not nested: groups of one must be parts of groups of "
                "the other; name the groups by cuts that include those of coarser tables",
                code="LW316",
            )
        members.append(own)
    return NestedGroups(tuple(groupings), tuple(members))


def without_misfits(axis: NestedGroups, domain: Domain) -> NestedGroups:
    """Return the groups that rows can be in: the last one is of misfits where nothing may be missing."""
    if domain.missing or axis.members[-1].size < axis.groupings[-1].groups:
        return axis
    return NestedGroups(axis.groupings, tuple(each[:-1] for each in axis.members))


def consistent_estimates(
    tables: Sequence[CountedTable], rows: int | None = None, domains: Mapping[str, Domain] | None = None
) -> Estimates:
    """Return estimates of all tables that agree with each other.

    rows: their number, where it is public; domains: where no row is a misfit, so that tables have no counts of them.

    Time and memory: the cells of all tables times ``2**columns`` of each.
    """
    axes = nested_axes([(each.columns, each.groupings) for each in tables])
    if domains is not None:
        axes = {name: without_misfits(axis, domains[name]) for name, axis in axes.items()}
    names = tuple(axes)
    levels = [_level(axes, each.columns, each.groupings) for each in tables]
    parts = sorted({part for level in levels for part in _below(level)})
    sides = [axes[name] for name in names]
    measured = [(level, _as_cube(names, each), each.variance) for level, each in zip(levels, tables, strict=True)]
    pooled, weights = {}, {}
    for part in parts:
        pooled[part], weights[part] = _pooled(sides, part, measured, rows)
    counts, variances = [], []
    for each, level in zip(tables, levels, strict=True):
        shape = each.counts.shape
        order = [sorted(each.columns, key=names.index).index(name) for name in each.columns]
        flat = tuple(axis.sizes[at] for axis, at in zip(sides, level, strict=True) if at)
        found = [_table(sides, level, pooled), _variance(sides, level, levels, tables, weights)]
        one, two = (np.broadcast_to(cube, _shape(sides, level)).reshape(flat).transpose(order) for cube in found)
        assert one.shape == shape
        counts.append(one)
        variances.append(np.maximum(two, 0.0))
    return Estimates(axes, tuple(levels), tuple(counts), tuple(variances), float(pooled[(0,) * len(names)].sum()))


def _level(axes: Mapping[str, NestedGroups], columns: Sequence[str], groupings: Sequence[Grouping]) -> Part:
    own = dict(zip(columns, groupings, strict=True))
    return tuple(1 + axis.groupings.index(own[name]) if name in own else 0 for name, axis in axes.items())


def _below(level: Part) -> list[Part]:
    return list(itertools.product(*(range(at + 1) for at in level)))


def _shape(sides: Sequence[NestedGroups], level: Part) -> tuple[int, ...]:
    return tuple(axis.sizes[at] for axis, at in zip(sides, level, strict=True))


def _as_cube(names: tuple[str, ...], table: CountedTable) -> np.ndarray:
    """Return the counts with an axis for each column of any table, of length 1 for those that the table lacks."""
    order = sorted(range(len(table.columns)), key=lambda at: names.index(table.columns[at]))
    moved = iter(table.counts.transpose(order).shape)
    shape = tuple(next(moved) if name in table.columns else 1 for name in names)
    return np.asarray(table.counts.transpose(order).reshape(shape), dtype=np.float64)


def _along(cube: np.ndarray, axis: int, vector: np.ndarray) -> np.ndarray:
    """Return a vector in the shape that multiplies along one axis."""
    return vector.reshape([-1 if at == axis else 1 for at in range(cube.ndim)])


def summed(cube: np.ndarray, axis: int, groups: np.ndarray) -> np.ndarray:
    """Return sums along one axis; groups: the new place of each old one."""
    size = int(groups.max()) + 1
    if size == groups.size:
        return cube
    if size == 1:
        return np.asarray(cube.sum(axis=axis, keepdims=True))
    order = np.argsort(groups, kind="stable")
    firsts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.asarray(np.add.reduceat(np.take(cube, order, axis=axis), firsts, axis=axis))


def _pooled(
    sides: Sequence[NestedGroups], part: Part, measured: Sequence[tuple[Part, np.ndarray, float]], rows: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return part B, and the weight of each table in it: float64 (tables,), 0 for those that do not tell of it.

    measured: of each table its level, its counts as a cube, and the variance of each.
    """
    weights = np.zeros(len(measured))
    if not any(part) and rows is not None:
        return np.full((1,) * len(sides), float(rows)), weights
    mean: np.ndarray | float = 0.0
    for place, (level, _, variance) in enumerate(measured):
        if all(at <= own for at, own in zip(part, level, strict=True)):
            cells = math.prod(_shape(sides, level)) / math.prod(_shape(sides, part))
            weights[place] = 1 / (variance * cells)
    weights /= weights.sum()
    for place in np.flatnonzero(weights).tolist():
        level, cube, _ = measured[place]
        for axis, (side, at, own) in enumerate(zip(sides, part, level, strict=True)):
            cube = summed(cube, axis, side.merged(own, at)) if at < own else cube
        mean = mean + weights[place] * cube
    found = np.asarray(mean)
    for axis, (side, at) in enumerate(zip(sides, part, strict=True)):
        if at:  # beyond the coarser sums along this column
            found = found - _spread(summed(found, axis, side.merged(at, at - 1)), axis, side, at - 1, at)
    return found, weights


def _spread(cube: np.ndarray, axis: int, side: NestedGroups, coarse: int, fine: int) -> np.ndarray:
    """Return sums along one axis divided over finer groups."""
    if coarse == fine:
        return cube
    return np.asarray(
        np.take(cube, side.merged(fine, coarse), axis=axis) * _along(cube, axis, side.shares(fine, coarse))
    )


def _table(sides: Sequence[NestedGroups], level: Part, parts: Mapping[Part, np.ndarray]) -> np.ndarray:
    """Return the sum of the parts of a table, column by column."""
    found = {part: parts[part] for part in _below(level)}
    for axis, (side, at) in enumerate(zip(sides, level, strict=True)):
        sums: dict[Part, np.ndarray] = {}
        for part, cube in found.items():
            key = (*part[:axis], at, *part[axis + 1 :])
            spread = _spread(cube, axis, side, part[axis], at)
            sums[key] = sums[key] + spread if key in sums else spread
        found = sums
    return found[level]


def _variance(
    sides: Sequence[NestedGroups],
    level: Part,
    levels: Sequence[Part],
    tables: Sequence[CountedTable],
    weights: Mapping[Part, np.ndarray],
) -> np.ndarray:
    """Return the variance of each cell of a table: what all noise together adds, part by part and across parts."""
    found: np.ndarray = np.zeros((1,) * len(sides))
    for place, (table, own) in enumerate(zip(tables, levels, strict=True)):
        both = tuple(map(min, level, own))
        told = [part for part in _below(both) if weights[part][place]]
        products = [_products(*each) for each in zip(sides, level, own, both, strict=True)]
        for one, two in itertools.product(told, told):
            vectors = [known[pair] for known, pair in zip(products, zip(one, two, strict=True), strict=True)]
            if any(each is None for each in vectors):
                continue
            factor = table.variance * weights[one][place] * weights[two][place]
            found = found + factor * reduce(
                np.multiply, [_along(found, axis, each) for axis, each in enumerate(vectors) if each is not None]
            )
    return found


def _products(side: NestedGroups, at: int, own: int, most: int) -> dict[tuple[int, int], np.ndarray | None]:
    """Return for each two parts of one column how their noise from one table goes together in each group.

    at: the level of the groups; own: of the table whose noise it is. The sum of a table to a level, spread to the
    groups, gives group t the noise of share(t) of its group's cells; two such sums share the cells of the finer one.
    Returns vectors, of length 1 where all are equal; None where all are 0.
    """
    finest = np.bincount(side.members[at]).astype(np.float64)

    def of_sums(one: int, two: int) -> np.ndarray:
        if min(one, two) < 0:
            return np.zeros(finest.size)
        wide = [np.bincount(side.members[each])[side.merged(at, each)] for each in (one, two)]
        cells = np.bincount(side.merged(own, max(one, two)))[side.merged(at, max(one, two))]
        return np.asarray(finest**2 * cells / (wide[0] * wide[1]))

    found: dict[tuple[int, int], np.ndarray | None] = {}
    for one, two in itertools.product(range(most + 1), repeat=2):
        each = of_sums(one, two) - of_sums(one - 1, two) - of_sums(one, two - 1) + of_sums(one - 1, two - 1)
        found[one, two] = None if np.abs(each).max() < _NEGLIGIBLE else each[:1] if np.ptp(each) == 0 else each
    return found
