"""How an ordered column is cut into nested runs where its one-way table has rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.mechanisms.adaptive.columns import OneWayTable, no_states
from lapwing.schema.fields import Field
from lapwing.schema.groupings.hierarchies import Hierarchy

MOST_RUNS: Final = 2**16
MOST_LEVELS: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A column: its one-way table, its nested runs, and all cells of the table with their masses, in order of codes.

    ends: int64 (k + 1,); masses: float64 (k,), 0 where noise explains a missing or special state.
    """

    field: Field
    table: OneWayTable
    nested: Hierarchy
    ends: np.ndarray
    masses: np.ndarray

    def masses_of(self, level: int) -> np.ndarray:
        """Return the mass of each run of a level."""
        codes = np.append(self.nested.starts(level), self.ends[-1])
        return np.asarray(np.diff(_mass_below(codes, self.ends, self.masses)))


def side_of(table: OneWayTable, field: Field, least: float) -> Side:
    """Cut a column while a run holds more than some rows.

    First where reserved codes begin, then around what is empty, then at ends of the cells that were counted, the first
    ones first, and below those in the middle.
    """
    domain = field.domain
    covered = domain.size if domain.missing else domain.last
    starts, _, _ = table.grouping.pieces()
    ends = np.concatenate((starts[: table.grouping.regular], np.arange(domain.values, covered + 1)))
    assert table.masses is not None
    masses = table.masses.copy()
    masses[table.grouping.regular :][no_states(table, domain)] = 0.0
    tiers = [*(stage.starts for stage in table.stages), ends]
    least = max(least, float(masses.sum()) / MOST_RUNS)
    low, high = np.zeros(1, dtype=np.int64), np.full(1, covered, dtype=np.int64)
    cuts, born = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for level in range(1, MOST_LEVELS + 1):
        held = np.diff(_mass_below(np.stack((low, high), axis=1), ends, masses))[:, 0]
        is_open = (high - low > 1) & (held > least)
        low, high = low[is_open], high[is_open]
        if not low.size:
            break
        at = _cut_places(low, high, tiers, np.flatnonzero(masses > 0))
        at = np.where((low < domain.values) & (domain.values < high), domain.values, at)
        cuts, born = np.append(cuts, at), np.append(born, np.full(at.size, level))
        low, high = np.append(low, at), np.append(at, high)
    order = np.argsort(cuts, kind="stable")
    nested = Hierarchy(domain.values, domain.reserved, covered, cuts[order], born[order])
    return Side(field, table, nested, ends, masses)


def _mass_below(codes: np.ndarray, ends: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return the mass below some codes, that of a cell spread evenly."""
    return np.asarray(np.interp(codes.astype(np.float64), ends.astype(np.float64), np.append(0.0, np.cumsum(masses))))


def _cut_places(low: np.ndarray, high: np.ndarray, tiers: Sequence[np.ndarray], full: np.ndarray) -> np.ndarray:
    """Return where runs with rows are cut; full: the cells of the last tier that have rows."""
    ends, middle = tiers[-1], low + (high - low) // 2
    found, is_open = middle, np.ones(low.size, dtype=bool)
    for tier in tiers:
        after = np.searchsorted(tier, middle)
        below, above = tier[np.maximum(after - 1, 0)], tier[np.minimum(after, tier.size - 1)]
        has_below, has_above = (below > low) & (below < high), (above > low) & (above < high)
        nearer = np.where(has_below & ~(has_above & (above - middle < middle - below)), below, above)
        found = np.where(is_open & (has_below | has_above), nearer, found)
        is_open &= ~(has_below | has_above)
    first_cell, last_cell = np.searchsorted(ends, low, "right") - 1, np.searchsorted(ends, high) - 1
    first = np.maximum(low, ends[full[np.minimum(np.searchsorted(full, first_cell), full.size - 1)]])
    last = np.minimum(high, ends[full[np.searchsorted(full, last_cell, "right") - 1] + 1])
    is_right = (2 * (high - last) >= high - low) & (last > low)
    is_left = (2 * (first - low) >= high - low) & (first < high)
    return np.asarray(np.where(is_right, last, np.where(is_left, first, found)))
