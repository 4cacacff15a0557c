"""Rows from the log-linear part of a released model: Gibbs sweeps that start at atoms.

Every column is seen in *groups*: the parts of its base law that all measured tables treat alike. The part's density
depends on groups only, so inside a group the base law decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.engine.particles import swept
from lapwing.engine.tables import Axis, Factor
from lapwing.errors import CapacityError
from lapwing.model.laws import Laws
from lapwing.model.model import ColumnLaw, Indexed, LogLinear, ReleasedModel, narrow
from lapwing.model.sampling.conditions import effective_atoms
from lapwing.model.sampling.draws import AtomRows, Histogram, cut_at, draw_column, draw_indexed, row_ends
from lapwing.model.sampling.fixed import point_spans
from lapwing.model.sampling.keeping import Component, taken_back
from lapwing.schema.groupings.grouping import Grouping

_WARM_ATOMS = 2**13
_WARM_SWEEPS = 40
"""After so many sweeps one-way laws hardly show any more where the rows started (measured on conditions that no atom of
Adult's model meets)."""

HOLD = 0.01
"""Rows that are moved keep the tables of the atoms where they start: theta of a cell falls by so much with each that
enters. Small enough that they still move (measured on the census of `bench/census1940.py`: 0.003 to 0.05 differ by 4 %
of its pairs' error)."""

LEAST_HELD = 10_000
"""Fewer effective atoms are no more than a sample of those that were fitted, or were moved away from them: the tables
of theta are nearer (measured on conditions that 600 to 4,000 atoms meet)."""

_MOST_GROUPS = 2**12
"""Most groups of one column: a sweep looks at all of them for every row."""


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


def grouped(part: LogLinear, names: tuple[str, ...]) -> GroupedPart:
    """Return a log-linear part in groups."""
    used: dict[str, list[Grouping]] = {name: [] for name in names}
    for columns, groupings in zip(part.tables, part.groupings, strict=True):
        for name, grouping in zip(columns, groupings, strict=True):
            if grouping not in used[name]:
                used[name].append(grouping)
    found, kept = {}, {}
    for name in names:
        found[name], kept[name] = _grouped_column(name, part.base[name], used[name])
    place = {name: at for at, name in enumerate(names)}
    factors = []
    for columns, groupings, theta in zip(part.tables, part.groupings, part.thetas, strict=True):
        if not columns:
            continue
        levels = [used[name].index(grouping) for name, grouping in zip(columns, groupings, strict=True)]
        seen = theta[np.ix_(*(kept[name][level] for name, level in zip(columns, levels, strict=True)))]
        order = sorted(range(len(columns)), key=lambda at: place[columns[at]])
        factors.append(
            Factor(
                table=tuple((place[columns[at]], 1 + levels[at]) for at in order),
                theta=np.transpose(seen, order).reshape(-1),
            )
        )
    return GroupedPart(found, tuple(factors))


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


@dataclass(frozen=True, slots=True, eq=False)
class SweptRows:
    """Rows of which the first of each atom stands for it, and the others are moved by a Gibbs sweep.

    Keeping the first rows keeps the law of the atoms closer than a sweep of all rows does (measured), and one sweep is
    enough to make the others differ. Theta alone would lead rows of many columns away from the tables that were
    measured, so these are held. Where a sweep breaks a rule, the row keeps what it had in the rule's columns.

    ends: int64 (k,), the run of row numbers of each atom, as `row_ends` gives it; tables, within: the indexed laws of
    the model, and the laws inside groups; known: mapping of str to intp (laws,), the group of each law, of columns
    whose code need not be known for a row to begin to move; hold: as `swept` takes it.
    """

    model: ReleasedModel
    part: GroupedPart
    ends: np.ndarray
    tables: Mapping[str, Histogram]
    within: Mapping[str, Histogram]
    known: Mapping[str, np.ndarray]
    kept: tuple[Component, ...]
    held: tuple[str, ...]
    hold: float

    @classmethod
    def of(
        cls,
        model: ReleasedModel,
        part: GroupedPart,
        ends: np.ndarray,
        tables: Mapping[str, Histogram],
        kept: tuple[Component, ...],
        *,
        held: tuple[str, ...] = (),
    ) -> "SweptRows":
        """Prepare the laws inside groups."""
        within = {name: Histogram.of(column.within) for name, column in part.columns.items() if name not in held}
        bound = {*held, *(name for component in kept for name in component.columns)}
        found = {name: part.columns[name].groups_of_laws(law) for name, law in model.laws.items() if name not in bound}
        known = {name: groups for name, groups in found.items() if groups is not None}
        hold = HOLD if effective_atoms(model.weights) >= LEAST_HELD else 0.0
        return cls(model, part, ends, tables, within, known, kept, held, hold)

    def codes(self, positions: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return the codes of the rows with these increasing numbers."""
        atoms = np.searchsorted(self.ends, positions, side="right")
        is_moved = positions > np.concatenate(([0], self.ends[:-1]))[atoms]
        drawn = self._of_atoms(atoms[~is_moved], tuple(self.model.laws), rng)
        if not is_moved.any():
            return drawn
        moved = self._moved(atoms[is_moved], rng)
        codes = {name: np.empty(atoms.size, dtype=np.int64) for name in drawn}
        for name, values in codes.items():
            values[~is_moved] = drawn[name]
            values[is_moved] = moved[name]
        return codes

    def _of_atoms(self, atoms: np.ndarray, names: tuple[str, ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw codes from the laws of atoms."""
        rows = AtomRows.of(atoms)
        laws = self.model.laws
        return {name: draw_column(laws[name], self.tables.get(name), rows, rng).astype(np.int64) for name in names}

    def _moved(self, atoms: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return codes of rows that were moved away from these atoms."""
        names = tuple(self.model.laws)
        start = self._of_atoms(atoms, tuple(name for name in names if name not in self.known), rng)
        groups = {}
        for name in names:
            law = self.model.laws[name]
            if name in self.known and isinstance(law, Indexed):
                groups[name] = self.known[name][law.index[atoms]]
            else:
                groups[name] = self.part.columns[name].started_at(start[name], rng)
        moved = _swept(self.part, groups, 1, rng, self.held, hold=self.hold)
        codes = dict(start) | {name: draw_indexed(law, moved[name], rng) for name, law in self.within.items()}
        _given_back(self.part, self.kept, codes, start, self.held)
        return codes


def warmed(
    model: ReleasedModel, part: GroupedPart, n: int, rng: np.random.Generator, kept: tuple[Component, ...] = ()
) -> ReleasedModel:
    """Replace the atoms of a model by more of them, which many Gibbs sweeps have moved away from where they started.

    n: rows that are to be drawn, at least 1. Returns of ``min(2 n, 8192)`` atoms of equal weight, each with the base
    laws inside its groups; with points that keep the rules in the columns that they name.
    """
    atoms = min(2 * n, _WARM_ATOMS)
    rows = AtomRows.of(np.searchsorted(row_ends(model.weights, atoms, rng), np.arange(atoms), side="right"))
    codes = {name: draw_column(law, None, rows, rng) for name, law in model.laws.items()}
    started = {name: part.columns[name].started_at(each, rng) for name, each in codes.items()}
    moved = _swept(part, started, _WARM_SWEEPS, rng)
    laws: dict[str, ColumnLaw] = {
        name: Indexed(narrow(groups), part.columns[name].within) for name, groups in moved.items()
    }
    bound = [name for component in kept for name in component.columns]
    inside = {name: draw_indexed(Histogram.of(part.columns[name].within), moved[name], rng) for name in bound}
    _given_back(part, kept, inside, codes)
    laws |= {name: point_spans(values) for name, values in inside.items()}
    return ReleasedModel(weights=np.ones(atoms), rows=model.rows, laws=laws, log_linear=model.log_linear)


def _given_back(
    part: GroupedPart,
    kept: tuple[Component, ...],
    codes: dict[str, np.ndarray],
    start: Mapping[str, np.ndarray],
    held: Sequence[str] = (),
) -> None:
    """Give rows their start back where they break a rule, or where a map leads out of the base laws; in place.

    Base laws are cut to the condition that rows are drawn under, of which the map of a dependency knows nothing.
    """
    taken_back(kept, codes, start, held)
    for component in kept:
        is_outside = ~np.logical_and.reduce([part.columns[name].holds(codes[name]) for name in component.columns])
        for name in component.columns:
            codes[name] = np.where(is_outside, start[name], codes[name])


def _swept(
    part: GroupedPart,
    started: Mapping[str, np.ndarray],
    sweeps: int,
    rng: np.random.Generator,
    held: Sequence[str] = (),
    *,
    hold: float = 0.0,
) -> dict[str, np.ndarray]:
    """Return the groups of rows after Gibbs sweeps; held columns stay."""
    axes, fixed = part.axes, [*part.fixed, *(place for place, name in enumerate(started) if name in held)]
    groups = np.stack([each.astype(part.dtype) for each in started.values()])
    for _ in range(sweeps):
        groups = swept(axes, groups, part.factors, rng, fixed=fixed, hold=hold)
    return dict(zip(started, groups, strict=True))
