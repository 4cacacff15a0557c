"""Rows out: of each column a draw from the law of its group, or the group's mean.

All that is drawn is a function of what a column's cells are in each group together, of the settings and of the seed.
Which unit has which cell, and the order of rows in the file, make no difference.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.anonymous.settings import Settings
from lapwing.anonymous.vectors import UnitRows
from lapwing.model.sampling.draws import row_ends
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema
from lapwing.schema.values import bounds, special_numbers, step

# -- Which groups share a figure, so that every figure is a mean over enough privacy units.


NO_POOL = -1
"""The pool of a group where fewer units than wanted have a value in the whole table."""


def pooled_groups(known: np.ndarray, wanted: np.ndarray, size: int, order: np.ndarray) -> np.ndarray:
    """Return pools of groups with at least `size` units that have a value; a group with enough has a pool of its own.

    known: int64 (g,), units with a value, of each group; wanted: bool (g,), groups that need a figure; true wherever
    any unit has a value; size: units that a figure is taken over at least; order: float64 (g,), groups that come next
    to each other in it are pooled together. Returns int64 (g,), the pool of each group; of a group that needs none its
    own number, and `NO_POOL` where there are fewer than `size` units with a value.

    Pools do not overlap: from two figures over sets of units one of which contains the other, a third over their
    difference would follow.

    The second and the fourth group are too small, and become one; what then is too small joins the nearest:

    >>> known = np.array([5, 2, 6, 3, 1])
    >>> pooled_groups(known, known > 0, 5, np.array([0.1, 0.2, 0.3, 0.4, 0.5])).tolist()
    [0, 1, 2, 1, 1]
    """
    pools = np.arange(known.size)
    is_short = wanted & (known < size)
    if not is_short.any():
        return pools
    short = np.flatnonzero(is_short)
    short = short[np.argsort(order[short], kind="stable")]
    waiting: list[int] = []
    units, last = 0, NO_POOL
    for group in short.tolist():
        waiting.append(group)
        units += int(known[group])
        if units >= size:
            last = waiting[0]
            pools[waiting] = last
            waiting, units = [], 0
    if waiting and last == NO_POOL:
        last = _nearest_full(known >= size, order, float(order[waiting[-1]]))
    pools[waiting] = last
    return pools


def _nearest_full(is_full: np.ndarray, order: np.ndarray, place: float) -> int:
    """Return the group with enough units that is nearest in the order, or none."""
    full = np.flatnonzero(is_full)
    return int(full[np.abs(order[full] - place).argmin()]) if full.size else NO_POOL


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Grouped:
    """The kept rows with their groups. Private.

    labels: int64 (units,), the group of each unit, from 0 up without gaps.
    """

    rows: UnitRows
    labels: np.ndarray

    @property
    def groups(self) -> np.ndarray:
        """The group of each row: ndarray of int64, shape (n,)."""
        return np.asarray(self.labels[self.rows.units])

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.labels.max()) + 1


def draw_codes(grouped: Grouped, schema: Schema, settings: Settings, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the codes of rows out, in random order.

    Returns dict of str to integers (m,), for every modelled column; never the misfit code.
    """
    out = _groups_of_rows_out(grouped, settings, rng)
    place = rng.permutation(out.size)
    return {
        field.name: _drawn(field, grouped, out, settings, rng)[place].astype(field.domain.dtype)
        for field in schema.columns
    }


def _groups_of_rows_out(grouped: Grouped, settings: Settings, rng: np.random.Generator) -> np.ndarray:
    """Return the group that each row out is drawn from, in increasing order."""
    sizes = np.bincount(grouped.groups)
    rows = grouped.rows.rows if settings.rows is None else settings.rows
    if settings.output == "iid":
        return np.sort(rng.choice(sizes.size, rows, p=sizes / sizes.sum()))
    ends = row_ends(sizes.astype(np.float64), rows, rng) if rows != grouped.rows.rows else np.cumsum(sizes)
    return np.repeat(np.arange(sizes.size), np.diff(ends, prepend=0))


def _drawn(field: Field, grouped: Grouped, out: np.ndarray, settings: Settings, rng: np.random.Generator) -> np.ndarray:
    """Return the codes of one column."""
    codes, size = grouped.rows.codes[field.name].astype(np.int64), settings.min_group_size
    if field.is_categorical:
        drawn = _drawn_cells(field, grouped, codes, out, settings=settings, rng=rng)
        return rng.integers(field.domain.values, size=out.size) if drawn is None else drawn
    # Of a number only that it is one is drawn, and then the mean is shown.
    codes = np.where(codes < field.domain.values, 0, codes)
    drawn = np.zeros(out.size, dtype=np.int64)
    if codes.any():
        found = _drawn_cells(field, grouped, codes, out, settings=settings, rng=rng)
        drawn = drawn if found is None else found
    return _with_means(field, grouped, out, drawn, size=size, rng=rng)


def _drawn_cells(
    field: Field,
    grouped: Grouped,
    codes: np.ndarray,
    out: np.ndarray,
    *,
    settings: Settings,
    rng: np.random.Generator,
) -> np.ndarray | None:
    """Return drawn cells; None where fewer units of the table than a figure needs have one that may be shown."""
    domain = field.domain
    shown = np.ones(codes.size, dtype=bool) if domain.missing else codes != domain.last
    pools = np.arange(grouped.count)
    if not shown.all():
        known = _known_units(shown, grouped)
        pools = pooled_groups(known, np.ones(known.size, dtype=bool), settings.min_group_size, np.zeros(known.size))
    if pools[0] == NO_POOL:
        return None
    cells = _Cells.of(codes, shown, pools, grouped)
    if settings.categories == "mode" and field.is_categorical and field.type != "boolean":
        return np.asarray(cells.modes()[pools[out]])
    return cells.permuted(rng) if settings.output == "shuffle" and shown.all() else cells.draws(pools[out], rng)


def _known_units(cells: np.ndarray, grouped: Grouped) -> np.ndarray:
    """Return how many units of each group have one of these cells."""
    has = np.bincount(grouped.rows.units[cells], minlength=grouped.rows.count) > 0
    return np.bincount(grouped.labels[has], minlength=grouped.count)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Cells:
    """The cells of one column that may be shown, ordered by pool and then by code.

    A unit has weight 1 in each column, its cells equal parts of it.
    """

    codes: np.ndarray
    pools: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, shown: np.ndarray, pools: np.ndarray, grouped: Grouped) -> "_Cells":
        units, inside = grouped.rows.units[shown], codes[shown]
        per_unit = np.bincount(units, minlength=grouped.rows.count)
        pool = pools[grouped.labels[units]]
        weights = 1 / per_unit[units]
        # Equal codes of one pool are ordered by weight, so that nothing follows the order of rows.
        order = np.lexsort((weights, inside, pool))
        return cls(inside[order], pool[order], weights[order])

    def draws(self, pools: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return a cell of each of these pools."""
        reached = np.cumsum(self.weights)
        starts, stops = (np.searchsorted(self.pools, pools, side=side) for side in ("left", "right"))
        before = reached[starts] - self.weights[starts]
        wanted = before + rng.random(pools.size) * (reached[stops - 1] - before)
        return np.asarray(self.codes[np.clip(np.searchsorted(reached, wanted, side="right"), starts, stops - 1)])

    def permuted(self, rng: np.random.Generator) -> np.ndarray:
        """Return all cells, in random order inside each pool."""
        return np.asarray(self.codes[np.lexsort((rng.random(self.codes.size), self.pools))])

    def modes(self) -> np.ndarray:
        """Return the heaviest code of each pool, of several the lowest; 0 for numbers that are no pool."""
        is_first = np.ones(self.codes.size, dtype=bool)
        is_first[1:] = (np.diff(self.codes) != 0) | (np.diff(self.pools) != 0)
        starts = np.flatnonzero(is_first)
        totals = np.add.reduceat(self.weights, starts)
        found = np.zeros(int(self.pools[-1]) + 1, dtype=np.int64)
        lightest = np.lexsort((-self.codes[starts], np.round(totals, 9)))
        found[self.pools[starts[lightest]]] = self.codes[starts[lightest]]
        return found


# ------------------------------------------------------------------------------------------------ means of numbers


def _with_means(
    field: Field, grouped: Grouped, out: np.ndarray, drawn: np.ndarray, *, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Return drawn codes of a number or date, with means over at least `size` units in place of regular codes."""
    domain = field.domain
    is_number = drawn < domain.values
    wanted = np.bincount(out[is_number], minlength=grouped.count) > 0
    means = _group_means(field, grouped, wanted, size)
    if means is not None:
        return np.where(is_number, _rounded(field, means)[out], drawn)
    instead = np.full(out.size, domain.last) if domain.missing else rng.integers(domain.values, size=out.size)
    return np.where(is_number, instead, drawn)


def _group_means(field: Field, grouped: Grouped, wanted: np.ndarray, size: int) -> np.ndarray | None:
    """Return the mean code that each group shows; None where fewer than `size` units of the table have a number."""
    rows = grouped.rows
    codes = rows.codes[field.name]
    is_regular = codes < field.domain.values
    cells = np.bincount(rows.units[is_regular], minlength=rows.count)
    has = cells > 0
    of_units = np.bincount(rows.units[is_regular], codes[is_regular], minlength=rows.count)[has] / cells[has]
    known = np.bincount(grouped.labels[has], minlength=grouped.count)
    sums = np.bincount(grouped.labels[has], of_units, minlength=grouped.count)
    # Pools follow the numbers of groups: by their means, the pool of a group would tell the numbers of its few units.
    pools = pooled_groups(known, wanted | (known > 0), size, np.arange(grouped.count, dtype=np.float64))
    if NO_POOL in pools:
        return None
    pool_sums = np.bincount(pools, sums, minlength=grouped.count)
    pool_known = np.bincount(pools, known, minlength=grouped.count)
    return np.asarray((pool_sums / np.maximum(pool_known, 1))[pools])


def _rounded(field: Field, means: np.ndarray) -> np.ndarray:
    """Return the code nearest to each mean, but none whose value the schema declares special."""
    values = field.domain.values
    codes: np.ndarray = np.clip(np.rint(means).astype(np.int64), 0, values - 1)
    special = _special_places(field)
    for code in special:
        below, above = code - 1, code + 1
        while below in special:
            below -= 1
        while above in special:
            above += 1
        if below >= 0 or above < values:
            is_lower = ((means < code) | (above >= values)) & (below >= 0)
            codes = np.where(codes == code, np.where(is_lower, below, above), codes)
    return codes


def _special_places(field: Field) -> set[int]:
    """Return the regular codes that would be read back as a special value."""
    grid = step(field)
    if grid is None:
        return set()
    low = Fraction(str(bounds(field)[0]))
    places = ((Fraction(str(number)) - low) / grid for number in special_numbers(field))
    return {int(place) for place in places if place.denominator == 1 and 0 <= place < field.domain.values}
