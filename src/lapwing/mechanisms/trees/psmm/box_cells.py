"""The cells of a private signed measure: equal runs of up to three ordered columns, in layers, and their distances."""

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import CapacityError, ParameterError
from lapwing.mechanisms.shared.trees.flows import is_line
from lapwing.mechanisms.shared.trees.trees import along
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity
from lapwing.schema.schemas import Schema

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LARGEST: Final = 2**30  # no count above it enters a maximum flow, whose numbers have 32 bits


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The steps between neighbouring cells, each listed once and taken in both directions.

    tails, heads: int64 (steps,), the two cells; no pair twice; costs: int64 (steps,), of moving 1 from one to the
    other, at least 1.
    """

    tails: Integers
    heads: Integers
    costs: Integers


def cover_deficits(counts: Integers, steps: Steps, *, price: float, free: int = 0) -> Integers:
    """Move positive counts onto negative ones as cheaply as possible.

    counts: int64 (cells,), any signs; steps: between the cells. The cost of moving 1 is that of the cheapest path;
    price: a deficit that no path below this cost can reach is left as it is; free: stop as soon as all deficits
    together are at most this; at least 0. Returns int64 (cells,), same sum. Negative where a deficit is left.

    Primal-dual method (Ford and Fulkerson 1962): cells without a tight path to a deficit move away from it, one step
    at a time, and a maximum flow along tight steps then saves the cheapest paths first. So each deficit is covered at
    non-decreasing cost, and what is left in the end is what was dearest. Linear in the cells for each distinct cost of
    a path. Deficits of more than 2**29 together are moved in blocks, which is a little dearer than the cheapest way.

    >>> line = Steps(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([1, 1, 1]))
    >>> cover_deficits(np.array([5, 0, -2, 1]), line, price=9.0).tolist()
    [4, 0, 0, 0]
    """
    blocks = max(0, _deficit(counts).bit_length() - 29)
    rest = counts - (counts >> blocks << blocks)
    left = counts >> blocks
    flow = _Flow(steps)
    potentials = np.zeros(counts.size, dtype=np.int64)
    distance = 0
    while (wanted := _deficit(left) - (free >> blocks)) > 0:
        slack = flow.costs + potentials[flow.heads] - potentials[flow.tails]
        tight = np.flatnonzero(slack == 0)
        near = flow.reaching(tight, left < 0)
        if (near & (left > 0)).any():
            inside = tight[near[flow.tails[tight]] & near[flow.heads[tight]]]
            left = flow.send(inside, left, np.flatnonzero(near & (left > 0)), wanted)
            continue
        entering = slack[near[flow.heads] & ~near[flow.tails]]
        if not entering.size or distance + int(entering.min()) >= price:
            break
        distance += int(entering.min())
        potentials[~near] += entering.min()
    return (left << blocks) + rest


class _Flow:
    """A flow along steps in both directions; what flows one way is negative the other way."""

    def __init__(self, steps: Steps) -> None:
        self.tails = np.concatenate((steps.tails, steps.heads))
        self.heads = np.concatenate((steps.heads, steps.tails))
        self._prices = np.concatenate((steps.costs, steps.costs))
        self._moved = np.zeros(steps.tails.size, dtype=np.int64)
        self._update()

    def _update(self) -> None:
        """Set the cost and the room of every step: taking back what flows the other way comes first, and pays."""
        along = np.concatenate((self._moved, -self._moved))
        self.costs = np.where(along < 0, -self._prices, self._prices)
        self._room = np.where(along < 0, np.minimum(-along, LARGEST), LARGEST)

    def reaching(self, tight: npt.NDArray[np.intp], short: Flags) -> Flags:
        """Return which cells reach one that is short, along these steps."""
        from scipy.sparse import csr_array  # noqa: PLC0415
        from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415

        cells, ends = short.size, np.flatnonzero(short)
        rows = np.concatenate((self.heads[tight], np.full(ends.size, cells)))
        columns = np.concatenate((self.tails[tight], ends))
        graph = csr_array((np.ones(rows.size, dtype=np.int8), (rows, columns)), shape=(cells + 1, cells + 1))
        found = np.zeros(cells + 1, dtype=np.bool_)
        found[breadth_first_order(graph, cells, return_predecessors=False)] = True
        return found[:cells]

    def send(self, inside: npt.NDArray[np.intp], left: Integers, givers: npt.NDArray[np.intp], most: int) -> Integers:
        """Return what is left after as much as possible, but not more than ``most``, has moved along these steps."""
        from scipy.sparse import csr_array  # noqa: PLC0415
        from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415

        takers = np.flatnonzero(left < 0)
        source, limited, sink = left.size, left.size + 1, left.size + 2
        rows = np.concatenate((self.tails[inside], np.full(givers.size, limited), takers, [source]))
        columns = np.concatenate((self.heads[inside], givers, np.full(takers.size, sink), [limited]))
        room = np.concatenate((self._room[inside], np.minimum(left[givers], LARGEST), -left[takers], [most]))
        graph = csr_array((room.astype(np.int32), (rows, columns)), shape=(sink + 1, sink + 1))
        moved = maximum_flow(graph, source, sink).flow

        half, flows = self._moved.size, _entries(moved, self.tails[inside], self.heads[inside])
        is_forward = (flows > 0) & (inside < half)
        is_back = (flows > 0) & (inside >= half)
        self._moved[inside[is_forward]] += flows[is_forward]
        self._moved[inside[is_back] - half] -= flows[is_back]
        self._update()
        after = left.copy()
        after[givers] -= _entries(moved, np.full(givers.size, limited), givers)
        after[takers] += _entries(moved, takers, np.full(takers.size, sink))
        return after


def _entries(matrix: npt.NDArray[np.int32], rows: Integers, columns: Integers) -> Integers:
    """Return single entries of a sparse matrix."""
    return np.asarray(matrix[rows, columns]).reshape(-1).astype(np.int64)


def _deficit(counts: Integers) -> int:
    """Return what is below 0, in all."""
    return -int(np.minimum(counts, 0).sum())


# -- the cells.


MOST_AXES: Final = 3  # ordered columns that are cut: in more, cells few enough to count are too large to say anything
COUNTED: Final = 2**22
"""Most cells of the counted table, in which misfits of a column that may not be missing have a group as well."""

_SAME: Final = 1e-6
_PARTS: Final = 4


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoxCells:
    """The cells of a table and their distances.

    An *axis* is an ordered column of more than two values; its regular codes are cut in runs. Every other code of any
    column is a coordinate by itself: a category, a special value, missing. Cells that differ in runs only form a
    *layer*, a grid; cells of two layers lie at distance 1, and nothing lies further apart.

    In a layer one steps to any neighbour, also a diagonal one, at the price of the longest of the sides that are
    crossed; the distance is that of the cheapest path. It is the largest difference of a coordinate where all sides are
    equal. Elsewhere sides are rounded up to quarters of the smallest one, and distances are never below that largest
    difference.

    shape: coordinates of each column: its groups without the misfit code, which is the last one; sides: tuple of int64,
    per axis, from the centre of each run to the next, in units; unit: length of a unit where each column has length 1.
    """

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    sides: tuple[np.ndarray, ...]
    unit: float
    diameter: float
    is_exact: bool

    @property
    def cells(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    def within(self, counts: np.ndarray) -> np.ndarray:
        """Return the counts of the cells alone, without those of misfits."""
        return counts[tuple(slice(0, size) for size in self.shape)]

    def steps(self) -> Steps:
        """Return the steps between neighbours; cells are numbered in C order, costs are in units."""
        index = np.arange(self.cells, dtype=np.int64).reshape(self.shape)
        # Of each way and its opposite one.
        ways = [way for way in itertools.product((-1, 0, 1), repeat=len(self.axes)) if way > (0,) * len(self.axes)]
        parts = [self._along(index, way) for way in ways]
        none = np.zeros(0, dtype=np.int64)
        tails, heads, costs = (np.concatenate([none, *(part[i] for part in parts)]) for i in range(3))
        return Steps(tails, heads, costs)

    def _along(self, index: np.ndarray, way: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the steps of one way: runs change along its axes, and all other coordinates stay."""
        tails, heads = [slice(None)] * index.ndim, [slice(None)] * index.ndim
        costs = np.zeros((1,) * index.ndim, dtype=np.int64)
        for axis, sides, step in zip(self.axes, self.sides, way, strict=True):
            if step:
                lower, upper = slice(0, sides.size), slice(1, sides.size + 1)
                tails[axis], heads[axis] = (lower, upper) if step > 0 else (upper, lower)
                costs = np.maximum(costs, along(sides, axis, index.ndim))
        first, second = index[tuple(tails)], index[tuple(heads)]
        return first.reshape(-1), second.reshape(-1), np.broadcast_to(costs, first.shape).reshape(-1)

    def layers(self, table: np.ndarray) -> Iterator[tuple[np.ndarray, tuple[np.ndarray, ...]]]:
        """Yield the layers of a table, all those that have runs of the same axes together."""
        for are_runs in itertools.product((True, False), repeat=len(self.axes)):
            kept = [axis for axis, is_run in zip(self.axes, are_runs, strict=True) if is_run]
            chosen = [slice(None)] * (len(self.shape) + 1)
            for axis, is_run in zip(self.axes, are_runs, strict=True):
                runs = self.groupings[axis].regular
                chosen[axis + 1] = slice(0, runs) if is_run else slice(runs, None)
            grids = np.moveaxis(table[tuple(chosen)], [axis + 1 for axis in kept], range(-len(kept), 0))
            runs_of = grids.shape[grids.ndim - len(kept) :]
            layers = math.prod(grids.shape[1 : grids.ndim - len(kept)])
            if layers:
                sides = tuple(self.sides[self.axes.index(axis)] for axis in kept)
                yield grids.reshape((table.shape[0], layers, *runs_of)), sides


def box_cells(schema: Schema, wanted: int, max_cells: int) -> BoxCells:
    """Cut the axes of a schema in equally many runs, as many as the wanted number of cells allows."""
    domains = [column.domain for column in schema.columns]
    axes = tuple(place for place, domain in enumerate(domains) if is_line(domain))
    if len(axes) > MOST_AXES:
        names = ", ".join(schema.columns[place].name for place in axes)
        raise ParameterError(
            f"PSMM takes at most {MOST_AXES} ordered columns, got {len(axes)} ({names}); leave columns out, make them "
            "categories, or use Adaptive",
            code="LW355",
        )

    def coordinates(runs: int) -> list[int]:
        return [
            min(runs, domain.values) + _extra(domain) if place in axes else domain.values + _extra(domain)
            for place, domain in enumerate(domains)
        ]

    least = math.prod(coordinates(1))
    counted = math.prod(size + (not domain.missing) for size, domain in zip(coordinates(1), domains, strict=True))
    if least > max_cells or counted > COUNTED:
        raise CapacityError(
            f"PSMM needs a cell for each combination of categories, special values and missing, here {least}, "
            f"above {max_cells}; leave columns out, or use Adaptive",
            code="LW502",
        )
    most = max([domains[place].values for place in axes], default=1)
    limit = min(wanted, max_cells)
    runs = max(1, bisect_right(range(1, most + 1), limit, key=lambda runs: math.prod(coordinates(runs))))
    groupings = (
        # As whole numbers, so that a continuous column may have any number of runs.
        evenly(replace(domain, continuous=False), runs) if place in axes else identity(domain)
        for place, domain in enumerate(domains)
    )
    return cells_of(schema, tuple(groupings))


def cells_of(schema: Schema, groupings: tuple[Grouping, ...]) -> BoxCells:
    """Return the cells that these groupings of all columns of a schema make, as `box_cells` chose them."""
    domains = [column.domain for column in schema.columns]
    axes = tuple(place for place, domain in enumerate(domains) if is_line(domain))
    lengths = [_lengths(domains[place], groupings[place]) for place in axes]
    between = [sides for _, sides in lengths]
    together = np.concatenate([np.zeros(0), *between])
    longest, shortest = float(together.max(initial=0.0)), float(together.min(initial=np.inf))
    is_exact = longest <= shortest * (1 + _SAME)
    # A little more than a quarter, so that whole multiples of the smallest side are not rounded up further.
    unit = (longest or 1.0) if is_exact else shortest / _PARTS * (1 + _SAME)
    whole = tuple(np.ceil(sides / unit).astype(np.int64) for sides in between)
    return BoxCells(
        columns=tuple(column.name for column in schema.columns),
        groupings=groupings,
        shape=tuple(
            grouping.groups - (not domain.missing) for grouping, domain in zip(groupings, domains, strict=True)
        ),
        axes=axes,
        sides=whole,
        unit=unit,
        diameter=max([float(own.max()) for own, _ in lengths], default=0.0),
        is_exact=is_exact,
    )


def _extra(domain: Domain) -> int:
    """Return how many codes lie at distance 1 from everything: special values, and missing where it may occur."""
    return domain.specials + domain.missing


def _lengths(domain: Domain, grouping: Grouping) -> tuple[np.ndarray, np.ndarray]:
    """Return the length of each run of an axis, and of each way from one centre to the next."""
    starts, stops, _ = grouping.pieces()
    starts, stops = starts[: grouping.regular], stops[: grouping.regular]
    last = 0 if domain.continuous else 1
    whole = domain.values - last
    return (stops - starts - last) / whole, np.diff((starts + stops) / 2) / whole
