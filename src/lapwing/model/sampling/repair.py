"""Rows that break rules, changed in as few columns as they can be, from causes to effects.

Column by column, in the order of the component: a column that a map fixes takes its value; another one that closes a
broken rule (the last of the rule's columns) takes a code of a row of the pool that is like this one in the columns
before, or else the nearest code that the rules leave. Rows that cannot be saved so take all columns of the component
from a row of the pool.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.model.sampling.fixed import FixedMap, KnownTuples
from lapwing.model.sampling.keeping import Codes, Component, RowRule
from lapwing.schema.fields import Field
from lapwing.schema.rules.codes import CombinationRule

_TRIES = 8
_MOST_KEYS = 1000
"""Of so many sorts of rows at most it is worked out what the rules leave (0.4 s); others take whole rows."""

_NEIGHBOURS = 16
"""Of donors that are sorted by the column to compare with, so many on each side are alike."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Rows to take codes from: weighted, and keeping all rules.

    codes: mapping of str to int64 (k,), of all columns of a component; weights: float64 (k,), positive; k may be 0.
    """

    codes: Codes
    weights: np.ndarray


def repair_rows(
    component: Component,
    codes: Codes,
    pool: Pool,
    rng: np.random.Generator,
    *,
    fixed: Collection[str] = (),
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Change rows so that they keep the rules of a component.

    component: with maps, if it has dependencies that are to hold; codes: mapping of str to int64 (n,), of its columns;
    not changed. Returns codes: dict of str to int64 (n,), rows that keep the rules, except those told by the second
    part. Rows that kept them before are the same; is_lost: bool (n,), rows that still break a rule.

    Time ``O(columns * (rules * n + k log k))`` at most.
    """
    found = {name: np.array(codes[name], dtype=np.int64) for name in component.columns}
    order = sorted(component.fields, key=lambda field: field.name not in fixed)  # stable: causes first within each
    rows = np.flatnonzero(component.broken(found))
    work = {name: values[rows] for name, values in found.items()}
    before: set[str] = set()
    for field in order:
        before.add(field.name)
        closing = _Closing.of(component, field, before)
        if field.name not in fixed:
            _close(closing, work, pool, rng)
    lost = np.flatnonzero(component.broken(work))
    if lost.size and pool.weights.size:
        donors = _donors(order, {name: values[lost] for name, values in work.items()}, pool, rng, fixed)
        for name in component.columns:
            if name not in fixed:
                work[name][lost] = np.where(donors >= 0, pool.codes[name][donors], work[name][lost])
    for name, values in work.items():
        found[name][rows] = values
    is_lost = np.zeros(len(found[order[0].name]), dtype=bool)
    is_lost[rows] = component.broken(work)
    return found, is_lost


@dataclass(frozen=True, slots=True, eq=False)
class _Closing:
    """What binds one column, given those before it."""

    field: Field
    combinations: tuple[CombinationRule, ...]
    comparisons: tuple[RowRule, ...]
    maps: tuple[FixedMap, ...]

    @classmethod
    def of(cls, component: Component, field: Field, before: set[str]) -> "_Closing":
        """Find the rules of which a column is the last."""

        def closes(names: Sequence[str]) -> bool:
            return field.name in names and before.issuperset(names)

        rows = [rule for rule in component.rules if closes(rule.columns)]
        return cls(
            field,
            tuple(rule for rule in rows if isinstance(rule, CombinationRule)),
            tuple(rule for rule in rows if not isinstance(rule, CombinationRule)),
            tuple(each for each in component.maps if closes((*each.of, each.column))),
        )

    def broken(self, codes: Codes) -> np.ndarray:
        """Return which rows break one of these."""
        found = np.zeros(len(codes[self.field.name]), dtype=bool)
        for each in (*self.combinations, *self.comparisons, *self.maps):
            found |= each.broken(codes)
        return found

    def keys(self, codes: Codes) -> list[np.ndarray]:
        """Return what other columns say that matters to the combinations and maps."""
        name = self.field.name
        groups = [
            grouping.apply(codes[other]).astype(np.int64)
            for rule in self.combinations
            for other, grouping in zip(rule.columns, rule.groupings, strict=True)
            if other != name
        ]
        return groups + [codes[other] for each in self.maps for other in (*each.of, each.column) if other != name]

    def compared(self, codes: Codes) -> np.ndarray:
        """Return the codes of a column that this one is compared with; zeros where it is with none."""
        names = [other for rule in self.comparisons for other in rule.columns if other != self.field.name]
        return codes[names[0]] if names else np.zeros(len(codes[self.field.name]), dtype=np.int64)


def _close(closing: _Closing, codes: dict[str, np.ndarray], pool: Pool, rng: np.random.Generator) -> None:
    """Change one column of the rows that break a rule which it closes."""
    name = closing.field.name
    for each in closing.maps:
        if each.column == name:
            value = each.value(codes)
            codes[name] = np.where(value >= 0, value, codes[name])
    rows = np.flatnonzero(closing.broken(codes))
    if any(each.column == name for each in closing.maps):
        return  # its value is settled; what is still broken takes a whole row
    if rows.size and pool.weights.size:
        rows = _from_alike(closing, codes, rows, pool, rng)
    if rows.size:
        part = {other: values[rows] for other, values in codes.items()}
        part[name] = _nearest(closing, part)
        kept = ~closing.broken(part)
        codes[name][rows[kept]] = part[name][kept]


def _from_alike(
    closing: _Closing, codes: dict[str, np.ndarray], rows: np.ndarray, pool: Pool, rng: np.random.Generator
) -> np.ndarray:
    """Take the column from rows of the pool that are alike in what binds it; return the rows that are still broken."""
    name = closing.field.name
    keys, mine = closing.keys(pool.codes), closing.keys({other: values[rows] for other, values in codes.items()})
    if keys:
        known = KnownTuples.of(keys)
        key, wanted = known.find(keys), known.find(mine)
    else:
        key, wanted = np.zeros(pool.weights.size, dtype=np.int64), np.zeros(rows.size, dtype=np.int64)
    compared = closing.compared(pool.codes)
    order = np.lexsort((compared, key))
    key, reached = key[order], np.cumsum(pool.weights[order])
    for _ in range(_TRIES):
        is_open = wanted >= 0
        if not rows.size or not is_open.any():
            break
        low, high = np.searchsorted(key, wanted, side="left"), np.searchsorted(key, wanted, side="right")
        if closing.comparisons:
            low, high = _neighbours(closing, codes, rows, (compared[order], low, high))
        place = _weighted(reached, low, high, rng)
        part = {other: values[rows] for other, values in codes.items()}
        part[name] = np.where(is_open, pool.codes[name][order][place], part[name])
        kept = ~closing.broken(part)
        codes[name][rows[kept]] = part[name][kept]
        rows, wanted = rows[~kept], wanted[~kept]
    return rows


def _neighbours(
    closing: _Closing,
    codes: dict[str, np.ndarray],
    rows: np.ndarray,
    runs: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Narrow runs of donors to those nearest in the column to compare with."""
    compared, low, high = runs
    own = closing.compared({other: values[rows] for other, values in codes.items()})
    place = _searched(compared, own, low, high)
    first = np.clip(place - _NEIGHBOURS, low, np.maximum(high - 1, low))
    return first, np.minimum(place + _NEIGHBOURS, high)


def _searched(values: np.ndarray, wanted: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the first place from ``low`` to ``high`` whose value is at least the wanted one, by bisection."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = (low + high) // 2
        is_below = (values[np.minimum(middle, values.size - 1)] < wanted) & (low < high)
        low = np.where(is_below, middle + 1, low)
        high = np.where(is_below, high, np.minimum(high, middle))
    return low


def _weighted(reached: np.ndarray, low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a place of each run low .. high - 1 by weight, of which ``reached`` is the running sum."""
    before = np.concatenate(([0.0], reached))
    spot = before[low] + rng.random(low.size) * (before[high] - before[low])
    place = np.searchsorted(reached, spot, side="right")
    return np.asarray(np.clip(place, np.minimum(low, reached.size - 1), np.maximum(high - 1, 0)))


def _donors(
    order: Sequence[Field], codes: Codes, pool: Pool, rng: np.random.Generator, fixed: Collection[str]
) -> np.ndarray:
    """Return a row of the pool for each row, -1 for none: one that agrees in the fixed columns, or in the first."""
    names = [field.name for field in order if field.name in fixed] or [order[0].name]
    known = KnownTuples.of([pool.codes[name] for name in names])
    key, wanted = (known.find([own[name] for name in names]) for own in (pool.codes, codes))
    by_key = np.argsort(key, kind="stable")
    low, high = (np.searchsorted(key[by_key], wanted, side=side) for side in ("left", "right"))
    if not fixed:
        low, high = np.where(wanted < 0, 0, low), np.where(wanted < 0, key.size, high)
    place = _weighted(np.cumsum(pool.weights[by_key]), low, high, rng)
    return np.where(low < high, by_key[place], -1)


# ------------------------------------------------------------------------------------------- what the rules leave


def _nearest(closing: _Closing, codes: Codes) -> np.ndarray:
    """Return the code nearest to each row's own that the combinations leave, inside the run that comparisons leave."""
    field = closing.field
    own = codes[field.name]
    low, high = np.zeros(own.size, dtype=np.int64), np.full(own.size, field.domain.values, dtype=np.int64)
    for rule in closing.comparisons:
        first, last = _bisected(rule, field, codes)
        low, high = np.maximum(low, first), np.minimum(high, last + 1)
    keys = closing.keys(codes)
    if not keys:
        return _into(own, _runs_left(closing, codes), low, high, field)
    known = KnownTuples.of(keys)
    key = known.find(keys)
    order = np.argsort(key, kind="stable")
    found = np.array(own)
    for rows in np.split(order, np.flatnonzero(np.diff(key[order])) + 1)[:_MOST_KEYS]:
        example = {name: values[rows[:1]] for name, values in codes.items()}
        found[rows] = _into(own[rows], _runs_left(closing, example), low[rows], high[rows], field)
    return found


def _runs_left(closing: _Closing, example: Codes) -> np.ndarray:
    """Return the runs of codes of the column that combinations and maps leave a row: shape (runs, 2)."""
    field = closing.field
    end = field.domain.size if field.domain.missing else field.domain.last
    edges = np.unique(np.concatenate([np.array([0, field.domain.values]), *_edges(closing)]))
    edges = edges[edges < end]
    part = {name: np.repeat(values[:1], edges.size) for name, values in example.items()}
    part[field.name] = edges
    left = np.ones(edges.size, dtype=bool)
    for rule in closing.combinations:
        left &= ~rule.broken(part)
    for each in closing.maps:
        left &= ~each.broken(part)
    return np.stack((edges, np.append(edges[1:], end)), axis=1)[left]


def _edges(closing: _Closing) -> list[np.ndarray]:
    """Return where runs of codes begin that combinations and maps treat alike."""
    name = closing.field.name
    found = [rule.groupings[rule.columns.index(name)].pieces()[0] for rule in closing.combinations]
    for each in closing.maps:  # determinants that lead to the row's value: its own codes, and those behind them
        distinct = each.known.levels[each.of.index(name)][0]
        found.append(np.union1d(distinct, distinct + 1))
    return found


def _into(own: np.ndarray, runs: np.ndarray, low: np.ndarray, high: np.ndarray, field: Field) -> np.ndarray:
    """Return the code nearest to each row's own: of regular runs inside low .. high - 1, or else a reserved one."""
    regular, reserved = (runs[(runs[:, 0] < field.domain.values) == is_regular] for is_regular in (True, False))
    found = np.full(own.size, reserved[0, 0]) if len(reserved) else np.array(own)
    if not len(regular):
        return found
    target = np.clip(own, low, np.maximum(high - 1, low))
    place = np.searchsorted(regular[:, 1], target, side="right")
    after = np.maximum(regular[np.minimum(place, len(regular) - 1), 0], target)
    before = regular[np.maximum(place - 1, 0), 1] - 1
    has_after = (place < len(regular)) & (after < high) & (after >= low)
    has_before = (place > 0) & (before >= low) & (before < high)
    is_after = has_after & (~has_before | (after - target <= target - before))
    return np.where(is_after, after, np.where(has_before, before, found))


def _bisected(rule: RowRule, field: Field, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last regular code of a column with which rows can keep a comparison."""
    assert not isinstance(rule, CombinationRule)
    count = len(codes[field.name])
    boxes = {name: (codes[name], codes[name] + 1) for name in rule.columns}

    def meets(start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        return rule.possible({**boxes, field.name: (start, stop)})

    none, every = np.zeros(count, dtype=np.int64), np.full(count, field.domain.values, dtype=np.int64)
    low, high = none, every - 1  # the first code x so that some code up to x will do
    first, last = none, every - 1
    while (low < high).any():
        middle = (low + high) // 2
        is_met = meets(none, middle + 1)
        low, high = np.where(is_met, low, np.minimum(middle + 1, high)), np.where(is_met, middle, high)
    while (first < last).any():
        middle = (first + last + 1) // 2
        is_met = meets(middle, every)
        first, last = np.where(is_met, middle, first), np.where(is_met, last, middle - 1)
    return low, first
