"""A log-linear part of a released model in groups, ready for sweeps.

Every column is seen in *groups*: the parts of its base law that all measured tables treat alike. The part's density
depends on groups only, so inside a group the base law decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lapwing.engine.particles import explaining_theta
from lapwing.engine.tables import Axis, Cells, Factor
from lapwing.errors import CapacityError
from lapwing.maths.runs import cut_at
from lapwing.model.laws import Laws
from lapwing.model.model import ColumnLaw, Indexed, LogLinear
from lapwing.schema.groupings.grouping import Grouping

_MOST_GROUPS = 2**12
"""Most groups of one column: a sweep looks at all of them for every row."""

_SETTLED: WeakKeyDictionary[LogLinear, LogLinear] = WeakKeyDictionary()  # what `settle_theta` found, while they live


@dataclass(frozen=True, slots=True, eq=False)
class GroupedColumn:
    """One column of a log-linear part in groups.

    axis: base masses of the groups, and a level for the groups themselves and for each grouping. Groups without base
    mass are left out, so that none can be drawn; starts: int64 (runs,), the first code of each run of codes that all
    groupings treat alike, increasing from 0; groups: intp (runs,), the group of each run; -1 where the base law has no
    mass.
    """

    axis: Axis
    starts: np.ndarray
    groups: np.ndarray
    within: Laws

    def groups_of(self, codes: np.ndarray) -> np.ndarray:
        """Return the group of each code, -1 for none: ndarray of intp, shape (n,)."""
        return np.asarray(self.groups[np.searchsorted(self.starts, codes, side="right") - 1])

    def started(self, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return groups to start a sweep at: where the base law has no mass, any group that it has."""
        nowhere, reached = np.flatnonzero(groups < 0), np.cumsum(self.axis.base)
        drawn = np.searchsorted(reached, rng.random(nowhere.size) * reached[-1], side="right")
        groups[nowhere] = np.minimum(drawn, reached.size - 1)
        return groups

    def started_at(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the groups that a sweep of rows with these codes starts at."""
        return self.started(self.groups_of(codes), rng)

    def groups_of_laws(self, law: ColumnLaw) -> np.ndarray | None:
        """Return the group that each law of a table lies in, shape (laws,); None where one lies in none or several."""
        if not isinstance(law, Indexed):
            return None
        laws = law.laws
        first, last = (np.searchsorted(self.starts, ends, side="right") - 1 for ends in (laws.starts, laws.stops - 1))
        groups = self.groups[first]
        own = groups[laws.offsets[:-1]]
        is_one = (first == last) & (groups >= 0) & (groups == own[laws.law_of_piece])
        return own if is_one.all() else None

    def groups_of_atoms(self, law: Indexed) -> np.ndarray:
        """Return the group in which the law of each atom begins, -1 for none: ndarray of intp, shape (atoms,)."""
        return np.asarray(self.groups_of(law.laws.starts[law.laws.offsets[:-1]])[law.index])

    def holds(self, codes: np.ndarray) -> np.ndarray:
        """Return whether the base law has mass at each code, in a group that may have some elsewhere: bool, (n,)."""
        order = np.argsort(self.within.starts)
        piece = order[np.maximum(np.searchsorted(self.within.starts[order], codes, side="right") - 1, 0)]
        return np.asarray((self.within.starts[piece] <= codes) & (codes < self.within.stops[piece]))


@dataclass(frozen=True, slots=True, eq=False)
class GroupedPart:
    """A log-linear part in groups, ready for sweeps.

    factors: one per table; target and sd are not used.
    """

    columns: Mapping[str, GroupedColumn]
    factors: tuple[Factor, ...]

    @property
    def axes(self) -> list[Axis]:
        """The axis of each column."""
        return [column.axis for column in self.columns.values()]

    @property
    def dtype(self) -> type[np.unsignedinteger]:
        """The smallest dtype that holds the groups of all columns."""
        return np.uint8 if max(axis.base.size for axis in self.axes) <= 2**8 else np.uint16

    @property
    def fixed(self) -> list[int]:
        """Positions of the columns with one group, which no sweep can change."""
        return [place for place, axis in enumerate(self.axes) if axis.base.size == 1]


class _View(NamedTuple):
    """A table of a log-linear part, as its columns in groups see it.

    place: among the part's tables; cells: those of groups with base mass, as `numpy.ix_` gives them; order: of the
    axes, so that columns increase.
    """

    place: int
    cells: tuple[np.ndarray, ...]
    order: tuple[int, ...]
    table: Cells

    def seen(self, theta: np.ndarray) -> np.ndarray:
        """Return theta of the cells, in the order of the view."""
        return np.transpose(theta[self.cells], self.order)

    def changed(self, theta: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return theta with these cells, a flat array in the order of the view, and the others as they were."""
        found = theta.copy()
        found[self.cells] = np.transpose(seen.reshape(self.seen(theta).shape), np.argsort(self.order))
        return found


def group_part(part: LogLinear, names: tuple[str, ...]) -> GroupedPart:
    """Return a log-linear part in groups, its theta `settle_theta`."""
    return _in_groups(settle_theta(part), names)[0]


def settle_theta(part: LogLinear) -> LogLinear:
    """Return a log-linear part whose theta explains where all its atoms are: fitted once, and kept as long as the part.

    A function of the part. Takes what `explaining_theta` does, some seconds; a part without free tables is returned
    as it is.
    """
    if not part.free:
        return part
    if part not in _SETTLED:
        rough, views = _in_groups(part, tuple(part.base))
        groups = np.stack([column.groups_of_atoms(part.atoms[name]) for name, column in rough.columns.items()])
        groups = groups[:, (groups >= 0).all(axis=0)].astype(np.uint16)
        is_free = [view.place in part.free for view in views]
        thetas = list(part.thetas)
        found = explaining_theta(rough.axes, groups, rough.factors, is_free) if groups.size else []
        for view, theta in zip(views, found, strict=bool(found)):
            thetas[view.place] = view.changed(thetas[view.place], theta)
        _SETTLED[part] = replace(part, thetas=tuple(thetas), free=(), atoms={})
    return _SETTLED[part]


def _in_groups(part: LogLinear, names: tuple[str, ...]) -> tuple[GroupedPart, list[_View]]:
    """Return a log-linear part in groups, its theta as it is, and how its tables are seen there."""
    used: dict[str, list[Grouping]] = {name: [] for name in names}
    for columns, groupings in zip(part.tables, part.groupings, strict=True):
        for name, grouping in zip(columns, groupings, strict=True):
            if grouping not in used[name]:
                used[name].append(grouping)
    found, kept = {}, {}
    for name in names:
        found[name], kept[name] = _grouped_column(name, part.base[name], used[name])
    place = {name: at for at, name in enumerate(names)}
    views = []
    for at, (columns, groupings) in enumerate(zip(part.tables, part.groupings, strict=True)):
        if not columns:
            continue
        levels = [used[name].index(grouping) for name, grouping in zip(columns, groupings, strict=True)]
        cells = np.ix_(*(kept[name][level] for name, level in zip(columns, levels, strict=True)))
        order = tuple(sorted(range(len(columns)), key=lambda axis: place[columns[axis]]))
        views.append(_View(at, cells, order, tuple((place[columns[axis]], 1 + levels[axis]) for axis in order)))
    factors = [Factor(table=view.table, theta=view.seen(part.thetas[view.place]).reshape(-1)) for view in views]
    return GroupedPart(found, tuple(factors)), views


def _grouped_column(name: str, base: Laws, groupings: list[Grouping]) -> tuple[GroupedColumn, list[np.ndarray]]:
    """Return one column in groups, and for each grouping which of its groups have base mass."""
    pieces = [grouping.pieces() for grouping in groupings]
    starts = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *(piece[0] for piece in pieces)]))
    kinds = np.zeros((starts.size, len(pieces)), dtype=np.int64)
    for at, (first, _, group) in enumerate(pieces):
        kinds[:, at] = group[np.searchsorted(first, starts, side="right") - 1]
    piece, run, begin, end = cut_at(base.starts, base.stops, starts)
    masses = base.probabilities[piece] * ((end - begin) / (base.stops - base.starts)[piece])
    alive = masses > 0
    begin, end, masses, run = begin[alive], end[alive], masses[alive], run[alive]

    present = np.unique(run)
    distinct, which = np.unique(kinds[present], axis=0, return_inverse=True)
    if len(distinct) > _MOST_GROUPS:
        raise CapacityError(
            f"the tables of the log-linear part tell {len(distinct)} groups of column {name!r} apart, more than "
            f"{_MOST_GROUPS}; sample fewer rows than the model has atoms, without where",
            code="LW507",
        )
    groups = np.full(starts.size, -1, dtype=np.intp)
    groups[present] = which.reshape(-1)
    levels, kept = [np.arange(len(distinct))], []
    for column in distinct.T:
        seen, level = np.unique(column, return_inverse=True)
        kept.append(seen)
        levels.append(level.reshape(-1))
    mass = np.bincount(groups[run], masses, minlength=len(distinct))
    order = np.argsort(groups[run], kind="stable")
    owner = groups[run][order]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(distinct)))))
    within = Laws(offsets, begin[order], end[order], masses[order] / mass[owner])
    return GroupedColumn(Axis(mass, tuple(levels)), starts, groups, within), kept
