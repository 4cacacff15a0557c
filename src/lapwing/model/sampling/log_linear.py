"""Rows from the log-linear part of a released model: Gibbs sweeps that start at atoms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.engine.particles import sweep_particles
from lapwing.model.model import ColumnLaw, Indexed, ReleasedModel, narrow
from lapwing.model.sampling.conditions import effective_atoms
from lapwing.model.sampling.draws import AtomRows, Histogram, draw_column, draw_indexed, row_ends
from lapwing.model.sampling.fixed import point_spans
from lapwing.model.sampling.grouped import GroupedPart
from lapwing.model.sampling.keeping import Component, restore_rows

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


@dataclass(frozen=True, slots=True, eq=False)
class SweptRows:
    """Rows of which the first of each atom stands for it, and the others are moved by a Gibbs sweep.

    Keeping the first rows keeps the law of the atoms closer than a sweep of all rows does (measured), and one sweep is
    enough to make the others differ. Theta alone would lead rows of many columns away from the tables that were
    measured, so these are held. Where a sweep breaks a rule, the row keeps what it had in the rule's columns.

    ends: int64 (k,), the run of row numbers of each atom, as `row_ends` gives it; tables, within: the indexed laws of
    the model, and the laws inside groups; known: mapping of str to intp (laws,), the group of each law, of columns
    whose code need not be known for a row to begin to move; hold: as `sweep_particles` takes it.
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


def warm_up(
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
    restore_rows(kept, codes, start, held)
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
        groups = sweep_particles(axes, groups, part.factors, rng, fixed=fixed, hold=hold)
    return dict(zip(started, groups, strict=True))
