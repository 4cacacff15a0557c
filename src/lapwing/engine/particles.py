"""Particles that move under the residuals of all tables at once."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lapwing.engine.tables import DEAD, Axis, Cells, Factor, is_coarser, table_shape

if TYPE_CHECKING:
    from lapwing.engine.kernel import Layout


HEAT = 7
"""Sweeps in which the pull of the tables grows from a thousandth to all of it, where particles start from nothing."""

REST = 2  # sweeps at full pull, at the end
EXCHANGES = 2  # times that a particle meets another one in each sweep, for each set of columns that are bound
ASCENT = 100  # steps up the pseudo-likelihood, in one look at all particles
MANY_TABLES = 16
"""With more tables of one column than that the steps, a part of each table's own one, keep some of their speed, and all
particles are looked at twice."""
LEAST_EFFECT = 0.1  # A table says of its cells at least so much beyond its margins: typical effects on their logarithms
_COLDEST = 1e-3
_MOST_LOOKED = 150_000  # particles, to explain them
_LEAST_CURVATURE = 2.0  # in particles: no cell has so few that its effect is unbounded
_NEARLY_ONE = np.float32(1 - 2**-20)


def independent(axes: Sequence[Axis], size: int, rng: np.random.Generator) -> np.ndarray:
    """Return particles whose columns are drawn one by one, each in proportion to its masses.

    Returns uint16 (d, size), the finest group of each particle in each column.
    """
    return np.stack([draw_even(axis.base, size, rng) for axis in axes]).astype(np.uint16)


def pull_schedule(sweeps: int = HEAT, rest: int = REST, *, start: float = _COLDEST) -> tuple[float, ...]:
    """Return shares of the full pull that grow geometrically from ``start`` to 1, and stay there.

    >>> pull_schedule(3, 2, start=0.01)
    (0.01, 0.1, 1.0, 1.0, 1.0)
    """
    shares = [start ** (1 - step / (sweeps - 1)) for step in range(sweeps)] if sweeps > 1 else []
    return (*shares, *[1.0] * rest)


def ridge_of(axes: Sequence[Axis], table: Cells, counts: np.ndarray, sd: float) -> float:
    """Return the ridge that the noise and the signal of a table of two columns or more ask for.

    counts: float64 (cells,), noisy counts.

    Effects on the logarithms of cells with mean square ``t`` move a cell of N records by about ``t**0.5 N``; where they
    are normal, the likeliest ones have theta = (t N / sd**2) (target - count). One ridge for all cells has the mean of
    N over records; so it is ``sd**2`` records over the sum of squares that noise does not explain.
    """
    margins = [np.bincount(axes[at].levels[level], axes[at].base, axes[at].sizes[level]) for at, level in table]
    records = float(margins[0].sum())
    expected = reduce(np.multiply.outer, margins).reshape(-1) / records ** (len(margins) - 1)
    signal = float(np.square(counts - expected).sum()) - counts.size * sd**2
    return sd**2 * records / max(signal, LEAST_EFFECT**2 * float(np.square(expected).sum()))


def fit_particles(
    axes: Sequence[Axis],
    groups: np.ndarray,
    factors: Sequence[Factor],
    total: float,
    rng: np.random.Generator,
    *,
    pulls: Sequence[float],
    bound: Sequence[Sequence[int]] = (),
) -> tuple[np.ndarray, tuple[Factor, ...]]:
    """Move particles until their tables are the targets, and return them with the theta at which they rest.

    groups: uint16 (d, m), where the particles start; not modified; total: records, positive; each particle stands for
    ``total / m`` of them; pulls: one sweep each: the share of its full pull that each table has, by `pull_schedule`;
    bound: sets of columns that single draws do not move freely, which particles exchange, too. Returns groups:
    uint16 (d, m); factors: in the same order; those with a target with a new theta, of its full pull.

    A table pulls with theta = beta (target - count), where beta is one over its ridge, or over half a particle where
    that is more. Every single draw follows its conditional density given all other particles, and is felt by the
    next one; `particles.proof.md` says which density that is. Time per sweep ``O(m (groups + tables))`` for the groups
    that tables tell apart and the axes of all tables; memory of the particles at the levels that tables use.
    """
    step = total / groups.shape[1]
    gains = np.array([0.0 if each.target is None else 1 / max(each.ridge, step / 2) for each in factors])
    sweeper = _Sweeper(axes, groups, [factor.table for factor in factors])

    def thetas() -> list[np.ndarray]:
        return [
            each.theta if each.target is None else gain * (each.target - counts)
            for each, gain, counts in zip(factors, gains, sweeper.counts(step), strict=True)
        ]

    if pulls:
        views = sweeper.views(thetas())
        is_pulled = sweeper.cells_of_views(gains > 0)
        for before, pull in pairwise((1.0, *pulls)):
            views[is_pulled] *= np.float32(pull / before)
            slopes = (gains * pull * step).astype(np.float32)
            sweeper.sweep(views, slopes, rng)
            for columns in bound:
                sweeper.exchange(views, slopes, rng, columns)
    moved = sweeper.finest(axes, groups, rng)
    return moved, tuple(replace(each, theta=theta) for each, theta in zip(factors, thetas(), strict=True))


def sweep_particles(
    axes: Sequence[Axis],
    groups: np.ndarray,
    factors: Sequence[Factor],
    rng: np.random.Generator,
    *,
    sweeps: int = 1,
    fixed: Sequence[int] = (),
    hold: float = 0.0,
) -> np.ndarray:
    """Draw every column of every particle anew from its density given the others, a number of times, as so many calls.

    hold: by how much theta of a cell falls with each particle that enters it, and rises with each that leaves, so that
    a sweep leaves all tables nearly as they were. Returns uint16 (d, m).
    """
    sweeper = _Sweeper(axes, groups, [factor.table for factor in factors])
    views = sweeper.views([factor.theta for factor in factors])
    slopes = np.full(len(factors), hold, dtype=np.float32)
    for _ in range(sweeps):
        sweeper.sweep(views, slopes, rng, fixed)
        groups = sweeper.finest(axes, groups, rng, fixed)
    return groups


def explaining_theta(
    axes: Sequence[Axis], groups: np.ndarray, factors: Sequence[Factor], is_free: Sequence[bool]
) -> list[np.ndarray]:
    """Return the theta of each factor that explains where particles are: for fresh draws, which no residual corrects.

    is_free: of each factor; theta of the others stays as it is. Returns float64 (k,) each, in the same order.

    Theta of a few particles jumps with each move of one. This one goes up the pseudo-likelihood of the particles, the
    product of the densities of each column given the others (Besag 1975, *The Statistician* 24, 179-195): one diagonal
    Newton step for each part of the particles, divided by the tables that a column has; the mean of the second half.
    Where these are many, so small steps would not arrive: they gather speed (Polyak 1964, *USSR Computational
    Mathematics* 4(5), 1-17).
    """
    groups = groups[:, :: -(-groups.shape[1] // _MOST_LOOKED)]
    sweeper = _Sweeper(axes, groups, [factor.table for factor in factors])
    tables_of = np.bincount([column for factor in factors for column, _ in factor.table], minlength=len(axes))
    most = [max(tables_of[column] for column, _ in factor.table) for factor in factors]
    rates = [1 / tables for tables in most]
    speeds = [max(0.0, 1 - MANY_TABLES / tables) for tables in most]
    curvatures = [
        len(factor.table) * counts + _LEAST_CURVATURE
        for factor, counts in zip(factors, sweeper.counts(1 / ASCENT), strict=True)
    ]
    thetas = [factor.theta for factor in factors]
    means, steps = ([np.zeros_like(theta) for theta in thetas] for _ in range(2))
    parts = [*pairwise(np.linspace(0, groups.shape[1], ASCENT + 1).astype(np.int64))] * (2 if any(speeds) else 1)
    for turn, (start, stop) in enumerate(parts):
        gradients = sweeper.unexpected(thetas, int(start), int(stop))
        steps = [
            speed * step + rate * gradient / curvature
            for speed, step, rate, gradient, curvature in zip(speeds, steps, rates, gradients, curvatures, strict=True)
        ]
        thetas = [theta + step if free else theta for theta, free, step in zip(thetas, is_free, steps, strict=True)]
        if turn >= len(parts) // 2:
            means = [mean + theta / (len(parts) - len(parts) // 2) for mean, theta in zip(means, thetas, strict=True)]
    return [mean if free else theta for theta, free, mean in zip(thetas, is_free, means, strict=True)]


class _Sweeper:
    """Particles at the levels that tables use, laid out for the compiled loop."""

    def __init__(self, axes: Sequence[Axis], groups: np.ndarray, tables: Sequence[Cells]) -> None:
        named = {pair for table in tables for pair in table}
        used = [sorted(level for at, level in named if at == column) for column in range(len(axes))]
        self._levels = [
            levels if all(is_coarser(axis, levels[0], level) for level in levels[1:]) else [0, *levels]
            for axis, levels in zip(axes, used, strict=True)
        ]
        self._slot = {
            pair: slot
            for slot, pair in enumerate(
                (column, level) for column, levels in enumerate(self._levels) for level in levels
            )
        }
        self._tables = list(tables)
        self._shapes = [table_shape(axes, table) for table in tables]
        self._cells = _cells_of_views(self._shapes)
        self.layout = _layout(axes, self._levels, self._slot, self._tables)
        self.particles = np.empty((groups.shape[1], len(self._slot)), dtype=np.uint16)
        for (column, level), slot in self._slot.items():
            self.particles[:, slot] = np.take(axes[column].levels[level], groups[column])

    def views(self, thetas: Sequence[np.ndarray]) -> np.ndarray:
        """Return theta of all tables in the view of each axis: ndarray of float32, flat."""
        return np.asarray(np.concatenate([*thetas, [0.0]]).astype(np.float32)[self._cells])

    def cells_of_views(self, chosen: np.ndarray) -> np.ndarray:
        """Return which entries of the flat views belong to chosen tables: ndarray of bool."""
        sizes = [sum(math.prod(shape) // size * _padded_groups(size) for size in shape) for shape in self._shapes]
        return np.repeat(chosen, sizes)

    def sweep(self, views: np.ndarray, slopes: np.ndarray, rng: np.random.Generator, fixed: Sequence[int] = ()) -> None:
        """Draw all columns that a table has, but the fixed ones, once, in a random order."""
        from lapwing.engine.kernel import sweep  # noqa: PLC0415 - numba takes long to import

        order = np.array(
            [column for column in rng.permutation(len(self._levels)) if self._levels[column] and column not in fixed],
            dtype=np.int64,
        )
        uniforms = rng.random((order.size, len(self.particles)), dtype=np.float32)
        uniforms *= _NEARLY_ONE
        sweep(self.layout, self.particles, order, uniforms, views, slopes)

    def exchange(self, views: np.ndarray, slopes: np.ndarray, rng: np.random.Generator, columns: Sequence[int]) -> None:
        """Pair all particles at random, some times, and let pairs exchange their groups in some columns."""
        from lapwing.engine.kernel import exchange  # noqa: PLC0415 - numba takes long to import

        is_bound = np.array([column in columns for column, _ in self._slot], dtype=bool)
        is_axis = self.layout.axes >= 0
        inside = is_bound[self.layout.axes] & is_axis
        tables = np.flatnonzero(inside.any(axis=1) & (is_axis & ~inside).any(axis=1))
        pairs = len(self.particles) // 2
        for _ in range(EXCHANGES if tables.size else 0):
            drawn_pairs = rng.permutation(len(self.particles))[: 2 * pairs].reshape(pairs, 2)
            uniforms = rng.random(pairs, dtype=np.float32)
            exchange(self.layout, self.particles, is_bound, tables, drawn_pairs, uniforms, views, slopes)

    def unexpected(self, thetas: Sequence[np.ndarray], start: int, stop: int) -> list[np.ndarray]:
        """Return for each table how many of some particles are in each cell beyond what theta says, over all axes."""
        from lapwing.engine.kernel import add_residuals  # noqa: PLC0415 - numba takes long to import

        views = self.views(thetas)
        found = np.zeros_like(views)
        add_residuals(self.layout, self.particles, start, stop, views, found)
        sizes = [theta.size for theta in thetas]
        return np.split(np.bincount(self._cells, found, sum(sizes) + 1)[:-1], np.cumsum(sizes)[:-1])

    def counts(self, step: float) -> list[np.ndarray]:
        """Return the records in each cell of each table: float64, flat, in C order."""
        from lapwing.engine.kernel import count_cells  # noqa: PLC0415 - numba takes long to import

        sizes = np.ones_like(self.layout.axes)
        for at, shape in enumerate(self._shapes):
            sizes[at, : len(shape)] = shape
        ends = np.cumsum(sizes.prod(axis=1))
        apart, merges = np.full(len(sizes), -1), np.zeros((1, 1), dtype=np.int64)
        groups = np.ascontiguousarray(self.particles.T)
        found = count_cells(groups, self.layout.axes, sizes, np.append(0, ends), apart, sizes, merges)
        return np.split(found * step, ends[:-1])

    def finest(
        self, axes: Sequence[Axis], groups: np.ndarray, rng: np.random.Generator, fixed: Sequence[int] = ()
    ) -> np.ndarray:
        """Return the finest groups, drawn anew by mass where a particle left its group at the finest level used."""
        moved = groups.copy()
        for column, levels in enumerate(self._levels):
            if not levels or column in fixed:
                continue
            level = axes[column].levels[levels[0]]
            now = self.particles[:, self._slot[column, levels[0]]]
            left = np.flatnonzero(level[groups[column]] != now)
            moved[column, left] = draw_inside(axes[column].base, level, now[left], rng)
        return moved


def _layout(
    axes: Sequence[Axis], levels: Sequence[Sequence[int]], slot: dict[tuple[int, int], int], tables: Sequence[Cells]
) -> "Layout":
    """Return where everything stands, for the compiled loop."""
    from lapwing.engine.kernel import Layout  # noqa: PLC0415 - numba takes long to import

    width = _padded_groups(max((axes[column].sizes[level] for column, level in slot), default=1))
    coarse = np.zeros((len(slot), width), dtype=np.int64)
    log_base = np.full((len(axes), width), DEAD, dtype=np.float32)
    for column, used in enumerate(levels):
        axis = axes[column]
        for level in used:
            finest = axis.levels[used[0]]
            coarse[slot[column, level], finest] = axis.levels[level]
        if used:
            masses = np.bincount(axis.levels[used[0]], axis.base)
            log_base[column, : masses.size] = np.log(
                masses / masses.sum(), where=masses > 0, out=np.full(masses.size, DEAD)
            )
    most = max((len(table) for table in tables), default=1)
    of_axis = np.full((len(tables), most), -1, dtype=np.int64)
    views = np.zeros((len(tables), most), dtype=np.int64)
    strides = np.zeros((len(tables), most, most), dtype=np.int64)
    begin = 0
    for at, table in enumerate(tables):
        shape = table_shape(axes, table)
        for place, pair in enumerate(table):
            of_axis[at, place], views[at, place], strides[at, place, place] = slot[pair], begin, 1
            length = _padded_groups(shape[place])
            for other in reversed([axis for axis in range(len(table)) if axis != place]):
                strides[at, place, other] = length
                length *= shape[other]
            begin += length
    found = sorted((of_axis[at, place], at, place) for at, table in enumerate(tables) for place in range(len(table)))
    by_slot, table_of, place_of = np.array(found, dtype=np.int64).reshape(-1, 3).T
    others = np.zeros((len(found), most - 1), dtype=np.int64)
    reaches = np.zeros((len(found), most - 1), dtype=np.int64)
    for entry, (_, at, place) in enumerate(found):
        rest = [other for other in range(len(tables[at])) if other != place]
        others[entry, : len(rest)] = of_axis[at, rest]
        reaches[entry, : len(rest)] = strides[at, place, rest]
    return Layout(
        slots=np.concatenate(([0], np.cumsum([len(used) for used in levels]))),
        coarse=coarse,
        log_base=log_base,
        groups=np.array([axes[column].sizes[level] for column, level in slot], dtype=np.int64),
        entries=np.searchsorted(by_slot, np.arange(len(slot) + 1)),
        tables=np.ascontiguousarray(table_of),
        places=np.ascontiguousarray(place_of),
        begins=views[table_of, place_of],
        sides=np.count_nonzero(reaches, axis=1),
        others=others,
        reaches=reaches,
        axes=of_axis,
        views=views,
        strides=strides,
    )


def _cells_of_views(shapes: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return the cell of each entry of the views of all tables one after another; what only pads is one more cell."""
    beyond = sum(math.prod(shape) for shape in shapes)
    found, begin = [np.empty(0, dtype=np.intp)], 0
    for shape in shapes:
        cells = np.arange(begin, begin + math.prod(shape)).reshape(shape)
        begin += cells.size
        for axis, size in enumerate(shape):
            padding = [(0, 0)] * (len(shape) - 1) + [(0, _padded_groups(size) - size)]
            found.append(np.pad(np.moveaxis(cells, axis, -1), padding, constant_values=beyond).reshape(-1))
    return np.concatenate(found)


def draw_even(masses: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw indices in proportion to masses, in numbers that are as even as can be."""
    reached = np.cumsum(masses) / masses.sum()
    places = (np.arange(size) + rng.random()) / size
    return rng.permutation(np.minimum(np.searchsorted(reached, places, side="right"), masses.size - 1))


def draw_inside(masses: np.ndarray, level: np.ndarray, coarse: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a finest group inside each coarse one, in proportion to masses."""
    order = np.argsort(level, kind="stable")
    reached = np.cumsum(masses[order])
    stop = np.searchsorted(level[order], coarse, side="right") - 1
    start = np.searchsorted(level[order], coarse, side="left")
    below = np.where(start > 0, reached[start - 1], 0.0)
    drawn = np.searchsorted(reached, below + rng.random(coarse.size) * (reached[stop] - below), side="right")
    return np.asarray(order[np.clip(drawn, start, stop)])


def _padded_groups(size: int) -> int:
    """Return the next multiple of the number of groups that the compiled loop looks at together."""
    return -(-size // 8) * 8
