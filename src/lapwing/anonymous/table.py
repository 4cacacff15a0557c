"""From private rows to an anonymous table: of each column a draw from the law of its group, or the group's mean.

All that is drawn is a function of what a column's cells are in each group together, of the settings and of the seed.
Which unit has which cell, and the order of rows in the file, make no difference.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.anonymous.covariance_loss import block_means, covariance_loss, theorem_partition
from lapwing.anonymous.microaggregation import (
    improve_partition,
    information_loss,
    mdav,
    mdav_in_blocks,
    practical_partition,
)
from lapwing.anonymous.settings import AnonymousSettings
from lapwing.anonymous.vectors import KeptRows, Vectors, check_coordinates, read_rows, unit_vectors
from lapwing.errors import ParameterError
from lapwing.model.sampling.draws import row_ends
from lapwing.on_demand import Displayable
from lapwing.rows.out.decode import decode
from lapwing.rows.out.writers import to_frame_kind
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema
from lapwing.schema.values import special_numbers
from lapwing.version import VERSION

NOTICE: Final = "not differentially private; homogeneous groups can reveal shared values"
"""What every output says of itself, after its k."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class AnonymousTable(Displayable):
    """Hold rows that are k-anonymous and not differentially private.

    Parameters
    ----------
    data : frame
        The rows, in the frame kind of the input, with the schema's columns and types.
    information_loss : float
        Sum of squared distances of units from the means of their groups, in percent of that from the overall mean, 0 to
        100, with three digits: columns standardised, categories as `lapwing.anonymous.vectors` lays them out.
    covariance_loss : float
        Frobenius norm of the difference between the covariance of units and that of the means of their groups, all
        scaled into the unit ball by public bounds; three digits.
    settings : AnonymousSettings
        How the table was made.
    groups : int
        Number of groups.
    unit : str
        What the groups count: ``row``, or the field of the privacy unit and its most rows.
    schema : str
        Fingerprint of the schema.
    seed : int
        That the rows were drawn from.
    """

    data: Any
    information_loss: float
    covariance_loss: float
    settings: AnonymousSettings
    groups: int
    unit: str
    schema: str
    seed: int

    def __repr__(self) -> str:
        return f"AnonymousTable({self.notice})"

    @property
    def notice(self) -> str:
        """What the table is, and what it is not; outputs carry it."""
        return f"k-anonymous with k = {self.settings.min_group_size}, {NOTICE}"

    def to_dict(self) -> Mapping[str, Any]:
        """Return everything but the rows as plain JSON values."""
        return {
            "notice": self.notice,
            "k": int(self.settings.min_group_size),
            "unit": self.unit,
            "groups": self.groups,
            "rows": len(self.data),
            "information_loss_percent": self.information_loss,
            "covariance_loss": self.covariance_loss,
            "settings": asdict(self.settings),
            "seed": self.seed,
            "schema": self.schema,
            "version": VERSION,
        }


def anonymous_table(
    data: object, schema: Schema, settings: AnonymousSettings, rng: np.random.Generator, *, seed: int
) -> AnonymousTable:
    """Group the units of a table, and make rows from what each group has in common."""
    check_coordinates(schema)
    unit = schema.privacy_unit
    if unit is not None and not schema.field(unit.field).identifier:
        raise ParameterError(
            f'the privacyUnit field "{unit.field}" must have the role identifier, or rows would show whose they are; '
            "set it in the schema",
            code="LW217",
        )
    rows = read_rows(data, schema)
    if rows.count < settings.min_group_size:
        units = "rows" if unit is None else f"values of {unit.field}"
        raise ParameterError(
            f"min_group_size is {settings.min_group_size}, more than the table has {units}; "
            "there is no group to make: use a smaller size or a larger table",
            code="LW302",
        )
    vectors = unit_vectors(rows, schema, settings.min_group_size, rng)
    standardised = vectors.standardised
    labels = _by_content(_partition(vectors, standardised, settings), vectors.raw)
    codes = draw_codes(Grouped(rows, labels), schema, settings, rng)
    return AnonymousTable(
        data=to_frame_kind(decode(codes, schema), rows.kind),
        information_loss=_rounded(information_loss(standardised, labels)),
        covariance_loss=_rounded(covariance_loss(vectors.raw, labels) / vectors.bound),
        settings=settings,
        groups=int(labels.max()) + 1,
        unit=schema.unit_label,
        schema=schema.fingerprint,
        seed=seed,
    )


def _rounded(loss: float) -> float:
    """Return a loss with three digits: more would tell single cells apart."""
    return float(f"{loss:.3g}")


def _partition(vectors: Vectors, standardised: np.ndarray, settings: AnonymousSettings) -> np.ndarray:
    """Return the group of each unit."""
    size = settings.min_group_size
    if settings.variant == "paper":
        return theorem_partition(vectors.raw / np.sqrt(vectors.bound), len(standardised) // size)
    if settings.partition == "practical" and settings.improve:
        return practical_partition(standardised, size)
    start = mdav_in_blocks if settings.partition == "practical" else mdav
    labels = start(standardised, size)
    return improve_partition(standardised, labels, size) if settings.improve else labels


def _by_content(labels: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Sort the groups by their means, so that their order tells nothing of the order of rows in the file."""
    sizes = np.bincount(labels)
    means = block_means(points, labels)[1].T
    ranks = np.empty(sizes.size, dtype=np.int64)
    ranks[np.lexsort([sizes, *means])] = np.arange(sizes.size)
    return np.asarray(ranks[labels])


NO_POOL = -1
"""The pool of a group where fewer units than wanted have a value in the whole table."""


def pooled_groups(known: np.ndarray, wanted: np.ndarray, size: int, order: np.ndarray) -> np.ndarray:
    """Return pools of groups with at least `size` units that have a value; a group with enough has a pool of its own.

    Groups that want a figure are pooled next to each other in `order`; `NO_POOL` where fewer than `size` units have a
    value at all. Pools do not overlap: from two figures over sets of units one of which contains the other, a third
    over their difference would follow.

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
        full = np.flatnonzero(known >= size)
        last = int(full[np.abs(order[full] - order[waiting[-1]]).argmin()]) if full.size else NO_POOL
    pools[waiting] = last
    return pools


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Grouped:
    """The kept rows, and the group of each unit, from 0 up without gaps. Private."""

    rows: KeptRows
    labels: np.ndarray

    @property
    def groups(self) -> np.ndarray:
        """The group of each row: ndarray of int64, shape (n,)."""
        return np.asarray(self.labels[self.rows.units])

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.labels.max()) + 1


def draw_codes(
    grouped: Grouped, schema: Schema, settings: AnonymousSettings, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return the codes of synthetic rows, in random order, for every modelled column; never the misfit code."""
    out = _groups_of_rows_out(grouped, settings, rng)
    place = rng.permutation(out.size)
    return {
        field.name: _drawn(field, grouped, out, settings, rng)[place].astype(field.domain.dtype)
        for field in schema.columns
    }


def _groups_of_rows_out(grouped: Grouped, settings: AnonymousSettings, rng: np.random.Generator) -> np.ndarray:
    """Return the group that each synthetic row is drawn from, in increasing order."""
    sizes = np.bincount(grouped.groups)
    rows = grouped.rows.rows if settings.rows is None else settings.rows
    if settings.variant == "paper":
        return np.sort(rng.choice(sizes.size, rows, p=sizes / sizes.sum()))
    ends = row_ends(sizes.astype(np.float64), rows, rng) if rows != grouped.rows.rows else np.cumsum(sizes)
    return np.repeat(np.arange(sizes.size), np.diff(ends, prepend=0))


def _drawn(
    field: Field, grouped: Grouped, out: np.ndarray, settings: AnonymousSettings, rng: np.random.Generator
) -> np.ndarray:
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
    settings: AnonymousSettings,
    rng: np.random.Generator,
) -> np.ndarray | None:
    """Return drawn cells; None where fewer units of the table than a figure needs have one that may be shown."""
    domain = field.domain
    shown = np.ones(codes.size, dtype=bool) if domain.missing else codes != domain.last
    pools = np.arange(grouped.count)
    if not shown.all():
        has = np.bincount(grouped.rows.units[shown], minlength=grouped.rows.count) > 0
        known = np.bincount(grouped.labels[has], minlength=grouped.count)
        pools = pooled_groups(known, np.ones(known.size, dtype=bool), settings.min_group_size, np.zeros(known.size))
    if pools[0] == NO_POOL:
        return None
    cells = _Cells.of(codes, shown, pools, grouped)
    if settings.categories == "mode" and field.is_categorical and field.type != "boolean":
        return np.asarray(cells.modes()[pools[out]])
    return cells.permuted(rng) if settings.output == "shuffle" and shown.all() else cells.draws(pools[out], rng)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Cells:
    """The cells of one column that may be shown, ordered by pool and then by code; a unit's share its weight of 1."""

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


def _with_means(
    field: Field, grouped: Grouped, out: np.ndarray, drawn: np.ndarray, *, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Return drawn codes of a number or date, with means over at least `size` units in place of regular codes."""
    domain = field.domain
    is_number = drawn < domain.values
    wanted = np.bincount(out[is_number], minlength=grouped.count) > 0
    means = _group_means(field, grouped, wanted, size)
    if means is not None:
        return np.where(is_number, _nearest_codes(field, means)[out], drawn)
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


def _nearest_codes(field: Field, means: np.ndarray) -> np.ndarray:
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
    grid = field.range.step
    if grid is None:
        return set()
    low = Fraction(str(field.range.lo))
    places = ((Fraction(str(number)) - low) / grid for number in special_numbers(field))
    return {int(place) for place in places if place.denominator == 1 and 0 <= place < field.domain.values}
