"""What it costs to move one measure on the cells of a tree onto another: a norm that is linear in nothing, but quick.

Mass flows along the tree. Where a run of ordered codes is halved, what is too much on one side flows evenly across the
middle; where other codes are told apart, it jumps at price 1. The flows of all levels are summed before their size is
taken, so that what a deep level takes back costs nothing: on one line this is the distance of the cumulative sums.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lapwing.mechanisms.shared.trees.trees import AxisSplit, Family, along, level_shapes
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import Hierarchy

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CellMetric:
    """Where the mass of a tree's cells lies.

    splits: how the cells of each level divide on the next; a level is a contingency table, or a list of cells; cut: the
    column that each of them cuts; lengths: per level and column, float64 that broadcasts against the level, the length
    of the run of codes; 0 where its codes do not lie on a line. A code of a column that is not continuous has the
    length of a step to the next; inner: per level, float64 of the level's shape, what a row of a cell moves at most, on
    average, to lie anywhere in the cell alike; blur: what moving a row within its code costs on average, where several
    columns are ordered and some are not continuous; is_euclidean: whether lengths add up by their squares, in place of
    the largest counting; sizes: where the diameters of cells alone are known, and all lengths are 0, these.
    """

    splits: tuple[AxisSplit, ...]
    cut: tuple[int, ...]
    lengths: tuple[tuple[Floats, ...], ...]
    inner: tuple[Floats, ...]
    blur: float
    is_euclidean: bool = False
    sizes: tuple[Floats, ...] | None = None

    def until(self, depth: int) -> "CellMetric":
        """Return that of the first levels."""
        first = slice(0, depth + 1)
        return replace(
            self,
            splits=self.splits[:depth],
            cut=self.cut[:depth],
            lengths=self.lengths[first],
            inner=self.inner[first],
            sizes=None if self.sizes is None else self.sizes[first],
        )

    @property
    def farthest(self) -> Floats:
        """What it costs at most, by level, to move one law on the cells onto another, float64 (levels,)."""
        if self.sizes is not None:
            return np.cumsum([0.0, *(float(each.max()) for each in self.sizes[:-1])])
        # The difference, of size 2 at most, crosses each parent along the axis that is cut; what jumps is at most 1.
        longest = [float(self.lengths[level][column].max()) for level, column in enumerate(self.cut)]
        return 1 + 2 * np.cumsum([0.0, *longest])


@dataclass(frozen=True, slots=True, eq=False)
class CutColumn:
    """A column of a tree: its hierarchy, whose codes are runs of codes of the domain, and where those begin and end.

    edges: int64 (runs + 1,), first codes of the runs of regular codes; None where each is one code; is_line: whether
    its regular codes lie on [0, 1], and not at distance 1 from each other.
    """

    nested: Hierarchy
    domain: Domain
    is_line: bool
    edges: npt.NDArray[np.int64] | None = None

    def lengths(self, depth: int) -> tuple[Floats, Floats]:
        """Return the diameter of each run of a level, and its length, float64 (groups,)."""
        first, last = self.nested.starts(depth), self.nested.stops(depth)
        is_run = (last <= self.nested.values) & self.is_line
        apart = (last - first > 1).astype(np.float64)
        if self.edges is not None:
            regular = len(self.edges) - 1
            first, last = (self.edges[np.minimum(ends, regular)] for ends in (first, last))
        step = 1 / self.domain.values if self.domain.continuous else 1 / max(1, self.domain.values - 1)
        codes = (last - first).astype(np.float64)
        inside = codes if self.domain.continuous else codes - 1
        return np.where(is_run, inside * step, apart), np.where(is_run, codes * step, 0.0)

    @property
    def step(self) -> float:
        """Length of a code that is not an interval; 0 where codes are, or lie on no line."""
        return 1 / (self.domain.values - 1) if self.is_line and not self.domain.continuous else 0.0


def is_line(domain: Domain) -> bool:
    """Tell whether a column has inner distances: two ordered values lie at distance 1, as any two categories do."""
    return domain.ordered and domain.values > (1 if domain.continuous else 2)


def nested_metric(splits: Sequence[AxisSplit], sizes: Sequence[Floats]) -> CellMetric:
    """Return where the mass of the cells lies in a metric of which their diameters alone are known."""
    shapes = level_shapes(splits, sizes[0].ndim)
    whole = tuple(np.broadcast_to(each, shape) for each, shape in zip(sizes, shapes, strict=True))
    axes = sizes[0].ndim
    lengths = tuple(tuple(along(np.zeros(groups), axis, axes) for axis, groups in enumerate(shape)) for shape in shapes)
    cut = tuple(split.axis for split in splits)
    return CellMetric(splits=tuple(splits), cut=cut, lengths=lengths, inner=whole, blur=0.0, sizes=whole)


def cell_metric(
    columns: Sequence[CutColumn], splits: Sequence[AxisSplit], spans: Sequence[float] | None = None
) -> CellMetric:
    """Return where the mass of the cells of a tree lies whose levels are contingency tables, an axis per column.

    spans: for Euclidean distances the length of each column; without, each has 1 and the largest difference counts.
    """
    depths, axes, sides = [0] * len(columns), len(columns), []
    for level in range(len(splits) + 1):
        if level:
            depths[splits[level - 1].axis] += 1
        runs = [column.lengths(depth) for column, depth in zip(columns, depths, strict=True)]
        if spans is not None:
            # What lies on no line is at distance 1, whatever the span.
            stretched = zip(runs, spans, strict=True)
            runs = [(np.where(long > 0, side * span, side), long * span) for (side, long), span in stretched]
        sides.append([(along(side, axis, axes), along(long, axis, axes)) for axis, (side, long) in enumerate(runs)])
    return metric_of(columns, splits, [split.axis for split in splits], sides, spans)


Sides = Sequence[tuple[Floats, Floats]]
"""Of one level: each column's diameters and lengths of the cells, as `CutColumn.lengths`, broadcasting against it."""


def metric_of(
    columns: Sequence[CutColumn],
    splits: Sequence[AxisSplit],
    cut: Sequence[int],
    sides: Sequence[Sides],
    spans: Sequence[float] | None = None,
) -> CellMetric:
    """Return where the mass of the cells of a tree lies; sides: of each level; spans: as for `cell_metric`."""
    lines = [column for column in columns if column.is_line]
    lengths = zip(columns, spans or (1.0,) * len(columns), strict=True)
    steps = [column.step * span for column, span in lengths if column.step]
    # Two of k points on [-1/2, 1/2]: the mean of the largest of their sizes is k / (2 (k + 1)).
    blur = max(steps) * len(steps) / (2 * (len(steps) + 1)) if steps and len(lines) > 1 else 0.0
    if blur and spans is not None:
        blur = math.hypot(*steps) / math.sqrt(12)
    inner = _inner if spans is None else _inner_euclidean
    return CellMetric(
        splits=tuple(splits),
        cut=tuple(cut),
        lengths=tuple(tuple(long for _, long in level) for level in sides),
        inner=tuple(inner(level, is_continuous=not steps) for level in sides),
        blur=blur,
        is_euclidean=spans is not None,
    )


def _inner(sides: Sides, *, is_continuous: bool) -> Floats:
    """Return what a row moves at most, on average, to lie anywhere in its cell alike.

    From the corner of a cube of p sides of length s the mean of the largest coordinate is ``s p / (p + 1)``; steps are
    at most as scattered as the two ends of a side alone, whose mean is ``s (1 - 2**-p)``; elsewhere no more than 1.
    """
    shape = np.broadcast_shapes(*(side.shape for side, _ in sides))
    largest, wide, is_apart = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    for side, length in sides:
        largest = np.maximum(largest, side)
        wide = wide + (side > 0)
        is_apart |= (side > 0) & (length == 0)
    part = wide / (wide + 1) if is_continuous else 1 - 0.5**wide
    return np.where(is_apart, largest, largest * part)


def _inner_euclidean(sides: Sides, *, is_continuous: bool) -> Floats:
    """Return the same for Euclidean distances.

    From the corner of a box the mean square of the distance is a third of that of the diagonal, or, where the ends of a
    side have all weight, half; elsewhere no more than 1.
    """
    shape = np.broadcast_shapes(*(side.shape for side, _ in sides))
    squares, is_apart = np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    for side, length in sides:
        squares = squares + side**2
        is_apart |= (side > 0) & (length == 0)
    return np.where(is_apart, 1.0, np.minimum(1.0, np.sqrt(squares / (3 if is_continuous else 2))))


def flow_costs(levels: Sequence[Floats], metric: CellMetric) -> Floats:
    """Return what it costs at most to move the positive part of a signed measure onto its negative part.

    levels: sums of the cells of each level, shape ``(tables, *shape)``, of as many levels as are there, from the root
    on. Mass is even in the cells of the last one; if it does not sum to 0, an even mass is taken off. Returns float64
    (levels, tables): for each level as the last one.

    A vector field and jumps, whose divergence is the measure. Inside a cell, the field's component along an axis goes
    straight from its value on the one face to that on the other. So it costs, in the distance of the largest
    coordinate, the integral of the largest component, which is convex along each axis: at most its mean over the
    corners of the cell. Steps lie in the middle of their cells, which costs `blur`, or go along one axis after the
    other, if that is cheaper. What the field leaves over jumps at price 1.
    """
    if metric.sizes is not None:
        return _nested_costs(levels, metric.splits, metric.sizes)
    jumps = not all(each.all() for each in metric.lengths[0])
    faces = [(np.zeros_like(levels[0]), np.zeros_like(levels[0])) for _ in metric.lengths[0]]
    even = np.ones_like(levels[0][:1])
    costs = []
    for level, mass in enumerate(levels):
        if level:
            batched, parts = _parts(metric, level)
            above = levels[level - 1]
            faces = _through(above, mass, faces, batched, parts, cut=metric.cut[level - 1])
            even = _even_mass(even, batched, parts)
        cost = _crossing_cost(mass, faces, metric, level)
        if jumps:
            left = mass - sum(high - low for low, high in faces) - levels[0] * even
            cost = cost + _sums(np.abs(left)) / 2
        costs.append(cost)
    return np.array(costs)


def _nested_costs(levels: Sequence[Floats], splits: Sequence[AxisSplit], sizes: Sequence[Floats]) -> Floats:
    """Return what it costs where half of the difference of siblings moves across their parent, level by level.

    Mass is even, by halves, in the cells of the last level. What a parent's halves would have evenly is made right by
    moving half of their difference from one to the other, no farther than the parent's diameter.
    """
    costs = [np.zeros(levels[0].shape[0])]
    for split, size, below in zip(splits, sizes, levels[1:], strict=False):
        batched, moved = split.of_tables, costs[-1]
        for family in batched.dividing:
            left, right = batched.halves(below, family)
            moved = moved + _sums(np.abs(left - right) / 2 * batched.at(size[None], family.parents))
        costs.append(moved)
    return np.array(costs)


Faces = list[tuple[Floats, Floats]]
Parts = list[tuple[Family, Floats, Floats]]


def _sums(array: Floats) -> Floats:
    """Return the sum of each table."""
    sums: Floats = array.reshape(array.shape[0], -1).sum(axis=1)
    return sums


def _parts(metric: CellMetric, level: int) -> tuple[AxisSplit, Parts]:
    """Return how many tables divide above a level, and the part of an even mass in the left children of each family.

    With it goes 1 where mass slides, else 0.
    """
    split, column = metric.splits[level - 1], metric.cut[level - 1]
    batched, parts = split.of_tables, []
    before, after = (metric.lengths[each][column][None] for each in (level - 1, level))
    for family in batched.families:
        whole = batched.at(before, family.parents)
        slides = whole > 0
        share = np.divide(batched.at(after, family.left), whole, out=np.full(whole.shape, 0.5), where=slides)
        parts.append((family, share, slides.astype(np.float64)))
    return batched, parts


def _through(above: Floats, below: Floats, faces: Faces, split: AxisSplit, parts: Parts, *, cut: int) -> Faces:
    """Return what flows through the faces of the children of a level; cut: the column that is cut."""
    new = [(np.empty_like(below), np.empty_like(below)) for _ in faces]
    for family, share, slides in parts:
        pairs = [(split.at(low, family.parents), split.at(high, family.parents)) for low, high in faces]
        if family.right is None:
            for (low, high), (to_low, to_high) in zip(pairs, new, strict=True):
                split.put(to_low, family.left, low)
                split.put(to_high, family.left, high)
            continue
        surplus = split.at(below, family.left) - share * split.at(above, family.parents)
        for column, ((low, high), (to_low, to_high)) in enumerate(zip(pairs, new, strict=True)):
            is_own = column == cut
            middle = (low + surplus + share * (high - low)) * slides if is_own else low
            split.put(to_low, family.left, low if is_own else share * low)
            split.put(to_high, family.left, middle if is_own else share * high)
            split.put(to_low, family.right, middle if is_own else (1.0 - share) * low)
            split.put(to_high, family.right, high if is_own else (1.0 - share) * high)
    return new


def _even_mass(above: Floats, split: AxisSplit, parts: Parts) -> Floats:
    """Return the mass of the children where that of each cell is even."""
    below = np.empty(split.below(above.shape))
    for family, share, _ in parts:
        whole = split.at(above, family.parents)
        split.put(below, family.left, whole if family.right is None else share * whole)
        if family.right is not None:
            split.put(below, family.right, (1.0 - share) * whole)
    return below


def _crossing_cost(mass: Floats, faces: Faces, metric: CellMetric, level: int) -> Floats:
    """Return the cost of what flows through the cells of a level, as they are."""
    sizes = [
        (np.abs(low) * long, np.abs(high) * long)
        for (low, high), long in zip(faces, metric.lengths[level], strict=True)
        if long.any()
    ]
    total, together = np.zeros(mass.shape[0]), np.hypot if metric.is_euclidean else np.maximum
    for corner in itertools.product((0, 1), repeat=len(sizes)) if sizes else ():
        total += _sums(functools.reduce(together, (pair[side] for pair, side in zip(sizes, corner, strict=True))))
    total /= 2 ** len(sizes)
    if not metric.blur:
        return total
    one_by_one = sum((_sums(low) + _sums(high) for low, high in sizes), np.zeros(mass.shape[0])) / 2
    return np.minimum(total + metric.blur * _sums(np.abs(mass)), one_by_one)


def spread_out(levels: Sequence[Floats], metric: CellMetric) -> list[Floats]:
    """Return a whole tree: below the levels that are given, the cells hold an even mass."""
    kept = list(levels)
    for level in range(len(levels), len(metric.splits) + 1):
        batched, parts = _parts(metric, level)
        kept.append(_even_mass(kept[-1], batched, parts))
    return kept


def level_sums(leaves: Floats, splits: Sequence[AxisSplit]) -> list[Floats]:
    """Return the sums of all levels of trees, shape ``(tables, *shape)`` each, from those of their deepest level."""
    levels = [leaves]
    for split in reversed(splits):
        starts = np.flatnonzero(np.diff(split.parent, prepend=-1))
        levels.append(np.add.reduceat(levels[-1], starts, axis=split.axis + 1))
    return levels[::-1]
