"""Rows of one person in their order, and siblings: transitions, trajectories, gaps, numbers of rows, agreement.

A panel is a coded table whose rows belong to units, such as persons or homes. Its figures compare what rows of one unit
have to do with each other, which no figure of single rows sees. Cells are parts of the public domains; none is taken
from rows. What is computed from private rows is private: no noise is added.

Rosenblatt, Liu, McKenna, Ponomareva, "Privately Fine-Tuned LLMs Preserve Temporal Dynamics in Tabular Data" (2026),
arXiv 2602.02766, report errors of state transitions and a distance to real trajectories. The definitions here, in
`METRICS`, are our own: figures are not to be held against theirs.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.distances import FEATURES, GAMMA
from lapwing.extras.evaluate.metrics.metric import REAL, Estimate, Metric, MetricResult, cells_of
from lapwing.extras.evaluate.metrics.samples import Complexes, mmd_from_features, random_frequencies, wasserstein_line
from lapwing.maths.arrays import Codes, Floats, Ints
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity
from lapwing.schema.schemas import Schema

PARTS: Final = 16  # equal parts of an ordered column in which single rows and pairs are compared
TRIPLE_PARTS: Final = 8  # and in which runs of three are
POSITIONS: Final = 8  # rows of a unit that have a position of their own; later ones stand with the last
MOST_ROWS: Final = 2**8  # rows of a unit up to which their number is compared exactly
MOST_UNITS: Final = 2**15  # units of a table whose trajectories are compared
_COUNTED: Final = 2**20  # cells up to which counting is faster than sorting
_BLOCK: Final = 2**10

_LAWS: Final = ("transitions", "next_states", "triples", "positions", "gaps", "rows_per_unit")
METRICS: Final = {key: Metric(key) for key in (*_LAWS, "gap_lengths", "siblings", "trajectories")}
"""What is measured, by key."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Panel:
    """Hold coded rows, those of one unit together; `panel_of` makes it.

    codes: of every modelled column; counts: int64 (units,), the rows of each unit, one unit after the other, 0 where it
    has none; order: the column by which the rows of a unit increase, or decrease where it is descending.
    """

    codes: Codes
    counts: Ints
    order: str | None = None
    descending: bool = False

    @property
    def rows(self) -> int:
        """Rows of all units."""
        return int(self.counts.sum())

    def units(self) -> Ints:
        """Return the number of each row's unit, from 0."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def positions(self) -> Ints:
        """Return the position of each row in its unit, from 0."""
        return np.asarray(np.arange(self.rows) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts))

    def runs(self, length: int) -> Ints:
        """Return the first row of every run of so many successive rows of one unit."""
        left = np.repeat(self.counts, self.counts) - self.positions()
        return np.flatnonzero(left >= length)


def panel_of(
    codes: Codes,
    units: Ints,
    *,
    order: str | None = None,
    descending: bool = False,
    total: int | None = None,
    rng: np.random.Generator,
) -> Panel:
    """Return coded rows, which come in any order, as a panel.

    units: int64 (n,), the unit of each row; order: without it the rows of a unit are shuffled, so that what is said of
    successive rows holds for any two; total: units that there are, where some have no row. Rows of equal order stay as
    they come; special values and missing stand behind regular ones, before them where it is descending.
    """
    place = rng.permutation(len(units)) if order is None else cells_of(codes, order).astype(np.int64)
    rows = np.lexsort((-place if descending else place, units))
    counts = np.unique(units, return_counts=True)[1]
    if total is not None and total < len(counts):
        raise ParameterError("total must be at least the number of units that have rows; check it", code="LW802")
    idle = 0 if total is None else total - len(counts)
    return Panel(
        codes={name: column[rows] for name, column in codes.items()},
        counts=np.concatenate((counts, np.zeros(idle, dtype=np.int64))),
        order=order,
        descending=descending,
    )


def bootstrap_units(panel: Panel, rng: np.random.Generator) -> Panel:
    """Return as many units, drawn with replacement: how far a panel is from itself by chance."""
    return _chosen(panel, rng.integers(len(panel.counts), size=len(panel.counts)))


def dealt_rows(panel: Panel, rng: np.random.Generator) -> Panel:
    """Return the rows dealt out to the units at random, and ordered again: rows that know nothing of each other."""
    units, total = rng.permutation(panel.units()), len(panel.counts)
    return panel_of(panel.codes, units, order=panel.order, descending=panel.descending, total=total, rng=rng)


def _chosen(panel: Panel, units: Ints) -> Panel:
    """Return units by their numbers, each as often as it is named, with all their rows."""
    counts = panel.counts[units]
    starts = (np.cumsum(panel.counts) - panel.counts)[units]
    rows = np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    codes = {name: column[rows] for name, column in panel.codes.items()}
    return Panel(codes=codes, counts=counts, order=panel.order, descending=panel.descending)


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelErrors:
    """Hold how far panels are from the real one.

    figures: one for each of `METRICS` that the real panel has; columns: the figures of single columns, by metric, panel
    and column; agreement: the share of pairs of siblings that agree, by panel (``real`` is one) and column.
    """

    figures: tuple[MetricResult, ...]
    columns: Mapping[str, Mapping[str, Mapping[str, float]]]
    agreement: Mapping[str, Mapping[str, float]]


def compare_panels(
    real: Panel, others: Mapping[str, Panel], schema: Schema, *, rng: np.random.Generator
) -> PanelErrors:
    """Return how far panels are from the real one in what the rows of a unit have to do with each other.

    Runs and agreement leave out the order's column, which the gaps are about. What no real unit has, such as a second
    row, is not compared; where another panel alone has none, it is at distance 1. Trajectories are those of at most
    32,768 units of each panel, drawn at random.

    >>> day = {"name": "day", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
    >>> schema = Schema.from_dict({"fields": [{"name": "ill", "type": "boolean"}, day]})
    >>> codes = {"ill": np.array([0, 1, 0, 1]), "day": np.array([1, 2, 3, 5])}
    >>> real = panel_of(codes, np.array([7, 7, 8, 8]), order="day", rng=np.random.default_rng(0))
    >>> found = compare_panels(real, {"same": real}, schema, rng=np.random.default_rng(0))
    >>> {each.values["same"].value for each in found.figures}, found.agreement["real"]
    ({0.0}, {'ill': 0.0})
    """
    if not real.rows:
        raise ParameterError("the real panel has no row; there is nothing to compare", code="LW110")
    if {panel.order for panel in others.values()} - {real.order}:
        raise ParameterError("panels can be compared in one order only; give each the same", code="LW801")
    panels = [real, *others.values()]
    agreement = {
        name: {field.name: _agreement(panel, field) for field in _beside(panel, schema)}
        for name, panel in zip((REAL, *others), panels, strict=True)
    }
    by_column = _by_column(panels, schema)
    by_column["siblings"] = {
        name: [abs(agreement[other][name] - share) for other in others] for name, share in agreement[REAL].items()
    }
    whole = {key: np.mean(list(found.values()), axis=0).tolist() for key, found in by_column.items() if found}
    whole["rows_per_unit"] = _variations([np.minimum(panel.counts, MOST_ROWS) for panel in panels])
    if real.order is not None:
        whole |= _gap_errors(panels, schema.field(real.order).domain)
    if not len(real.runs(2)):
        whole = {key: whole[key] for key in ("positions", "rows_per_unit")}
    estimates = {key: [Estimate(value=value) for value in values] for key, values in whole.items()}
    estimates["trajectories"] = _trajectory_distances(panels, schema.columns, rng)
    is_sampled = max(len(panel.counts) for panel in panels) > MOST_UNITS
    figures = [
        MetricResult(
            metric=METRICS[key],
            values=dict(zip(others, estimates[key], strict=True)),
            rows=MOST_UNITS if key == "trajectories" and is_sampled else None,
            columns=len(by_column.get(key, schema.columns)),
        )
        for key in METRICS
        if key in estimates
    ]
    columns = {
        key: {name: {column: each[place] for column, each in found.items()} for place, name in enumerate(others)}
        for key, found in by_column.items()
        if key in estimates
    }
    return PanelErrors(figures=tuple(figures), columns=columns, agreement=agreement)


def _beside(panel: Panel, schema: Schema) -> list[Field]:
    """Return the columns beside that of the order."""
    return [field for field in schema.columns if field.name != panel.order]


def _by_column(panels: Sequence[Panel], schema: Schema) -> dict[str, dict[str, list[float]]]:
    """Return the figures of single columns, by metric and column; one for each panel but the first."""
    beside = _beside(panels[0], schema)
    return {
        "transitions": {field.name: _runs(panels, field, 2, PARTS) for field in beside},
        "next_states": {field.name: _next_states(panels, field) for field in beside},
        "triples": {field.name: _runs(panels, field, 3, TRIPLE_PARTS) for field in beside},
        "positions": {field.name: _positions(panels, field) for field in schema.columns},
    }


def _cells(domain: Domain, parts: int = PARTS) -> Grouping:
    """Return the cells in which a column is compared: parts of an ordered public domain, values of another."""
    return evenly(domain, parts) if domain.ordered else identity(domain)


def _states(panel: Panel, field: Field, length: int, parts: int = PARTS) -> tuple[Ints, int]:
    """Return the cell of every run of so many successive states of a column, and the number of cells of one state."""
    grouping = _cells(field.domain, parts)
    groups, runs = grouping.apply(panel.codes[field.name]), panel.runs(length)
    keys = np.zeros(len(runs), dtype=np.int64)
    for step in range(length):
        keys = keys * grouping.groups + groups[runs + step]
    return keys, grouping.groups


def _runs(panels: Sequence[Panel], field: Field, length: int, parts: int) -> list[float]:
    return _variations([_states(panel, field, length, parts)[0] for panel in panels])


def _positions(panels: Sequence[Panel], field: Field) -> list[float]:
    found = []
    for panel in panels:
        keys, groups = _states(panel, field, 1)
        found.append(np.minimum(panel.positions(), POSITIONS - 1) * groups + keys)
    return _variations(found)


def _next_states(panels: Sequence[Panel], field: Field) -> list[float]:
    """Return the total variation of the laws of the next state given the state, mean over the real states."""
    groups = _states(panels[0], field, 2)[1]
    cells, counts = _counted([_states(panel, field, 2)[0] for panel in panels])
    state = cells // groups
    totals = [np.bincount(state, each, minlength=groups) for each in counts]
    real, weights = counts[0] / np.maximum(totals[0], 1)[state], totals[0] / max(totals[0].sum(), 1)
    found = []
    for each, total in zip(counts[1:], totals[1:], strict=True):
        apart = np.bincount(state, np.abs(each / np.maximum(total, 1)[state] - real), minlength=groups) / 2
        found.append(float(weights @ np.where(total > 0, apart, 1.0)))
    return found


def _counted(keys: Sequence[Ints]) -> tuple[Ints, list[Ints]]:
    """Return cells, among them all that occur in a table, in increasing order, and how often each occurs in each."""
    highest = max(int(each.max(initial=0)) for each in keys)
    if highest < _COUNTED:
        return np.arange(highest + 1), [np.bincount(each, minlength=highest + 1) for each in keys]
    cells, places = np.unique(np.concatenate(keys), return_inverse=True)
    parts = np.split(places, np.cumsum([len(each) for each in keys])[:-1])
    return cells, [np.bincount(each, minlength=len(cells)) for each in parts]


def _variations(keys: Sequence[Ints]) -> list[float]:
    """Return the total variation distance of the first table's shares of cells from each other's, in integers."""
    own, *others = _counted(keys)[1]
    rows = int(own.sum())
    sizes = [int(each.sum()) for each in others]
    # Where only one has rows nothing is shared.
    return [
        int(np.abs(own * size - each * rows).sum()) / (2 * rows * size) if rows and size else float(rows != size)
        for each, size in zip(others, sizes, strict=True)
    ]


def _agreement(panel: Panel, field: Field) -> float:
    """Return the share of the pairs of rows of one unit that lie in the same cell; 0 without a pair."""
    keys, groups = _states(panel, field, 1)
    keys = np.sort(panel.units() * groups + keys)
    same = np.diff(np.flatnonzero(np.diff(keys, prepend=-1, append=-1)))
    pairs = int((panel.counts * (panel.counts - 1)).sum())
    return int((same * (same - 1)).sum()) / pairs if pairs else 0.0


def _gap_errors(panels: Sequence[Panel], domain: Domain) -> dict[str, list[float]]:
    """Return how far the laws of gaps, in steps of the order's column, are apart; a gap to no regular code is one."""
    found = [_gaps(panel, domain) for panel in panels]
    errors = {"gaps": _variations([np.frexp(np.maximum(gaps, 0))[1] + (gaps >= 0) for gaps in found])}
    real, *others = (gaps[gaps >= 0] for gaps in found)
    if len(real) and real.std() and all(map(len, others)):
        errors["gap_lengths"] = [wasserstein_line(real, each) / float(real.std()) for each in others]
    return errors


def _gaps(panel: Panel, domain: Domain) -> Floats:
    """Return the size of the gap from each row to the next; -1 where one of them has no regular code."""
    assert panel.order is not None
    codes = panel.codes[panel.order].astype(np.int64)
    first = panel.runs(2)
    before, after = codes[first], codes[first + 1]
    return np.where(np.maximum(before, after) < domain.values, np.abs(after - before), -1).astype(np.float64)


def _trajectory_distances(
    panels: Sequence[Panel], columns: Sequence[Field], rng: np.random.Generator
) -> list[Estimate]:
    """Return the MMD between units as the cells of their first rows, by random features."""
    groupings = [_cells(field.domain) for field in columns]
    ends = list(itertools.accumulate((grouping.groups + 1 for grouping in groupings), initial=0))
    # A unit is the point with a coordinate sqrt(1/2) for each of its cells: two that differ in k cells are at
    # distance sqrt(k), and a cell without a row is one more value.
    gamma = GAMMA / (POSITIONS * len(columns))
    turns = random_frequencies(POSITIONS * ends[-1], FEATURES, rng, gamma=gamma).T / np.sqrt(2)
    offsets = np.array([[place * ends[-1] + end for end in ends[:-1]] for place in range(POSITIONS)])
    found = []
    for each in panels:
        panel = each
        if len(panel.counts) > MOST_UNITS:
            panel = _chosen(panel, rng.choice(len(panel.counts), MOST_UNITS, replace=False))
        cells = np.broadcast_to([grouping.groups for grouping in groupings], (len(panel.counts), *offsets.shape)).copy()
        is_early = panel.positions() < POSITIONS
        where = panel.units()[is_early], panel.positions()[is_early]
        for place, (field, grouping) in enumerate(zip(columns, groupings, strict=True)):
            cells[(*where, place)] = grouping.apply(panel.codes[field.name])[is_early]
        found.append(_mean_features((cells + offsets).reshape(len(cells), -1), turns.astype(np.float32)))
    return [mmd_from_features(found[0], other) for other in found[1:]]


def _mean_features(cells: Ints, turns: np.ndarray) -> Complexes:
    """Return the mean over units of exp(i sum of the turns of their cells)."""
    total = np.zeros(turns.shape[1], dtype=np.complex128)
    for start in range(0, len(cells), _BLOCK):
        block = cells[start : start + _BLOCK]
        angles = np.zeros((len(block), turns.shape[1]), dtype=np.float32)
        for place in range(cells.shape[1]):
            angles += turns[block[:, place]]
        total += np.cos(angles).sum(axis=0, dtype=np.float64) + 1j * np.sin(angles).sum(axis=0, dtype=np.float64)
    return np.asarray(total / len(cells))
