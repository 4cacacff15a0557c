"""Runs of codes narrowed to what rules leave possible: constraint propagation. Public rules and domains only."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.maths.runs import Runs, below, codes_in, from_on, meet, overlaps, runs_where
from lapwing.schema.rules.codes import CodedRule, CombinationRule, ExactSum, OrderPair
from lapwing.schema.values import Numbers, ShownValues

Domains = Mapping[str, Runs]
"""What each column may still be."""

_MOST_ROUNDS: Final = 8
"""Where rules narrow each other by a code at a time, splitting decides sooner."""


def narrow_domains(
    rules: Sequence[CodedRule], domains: Domains, changed: Iterable[str] | None = None
) -> dict[str, Runs] | None:
    """Return domains without impossible codes, None where a column has none left; changed: narrower columns, or all."""
    found = dict(domains)
    if _has_strict_circle(rules, found):
        return None
    waiting = set(domains if changed is None else changed)
    for _ in range(_MOST_ROUNDS):
        touched = [rule for rule in rules if not waiting.isdisjoint(rule.columns)]
        waiting = set()
        for rule in touched:
            before = {name: codes_in(found[name]) for name in rule.columns}
            if isinstance(rule, CombinationRule):
                found.update(_by_combinations(rule, found))
            elif isinstance(rule, OrderPair):
                found.update(_by_order(rule, found))
            elif isinstance(rule, ExactSum):
                found.update(_by_sum(rule, found))
            if any(not len(found[name]) for name in rule.columns):
                return None
            waiting.update(name for name, codes in before.items() if codes_in(found[name]) < codes)
        if not waiting:
            break
    return found


def _has_strict_circle(rules: Sequence[CodedRule], domains: Domains) -> bool:
    """Return whether comparisons that bind lead from a column back to itself, one of them strictly."""
    pairs = [
        rule
        for rule in rules
        if isinstance(rule, OrderPair)
        and all(_is_bound(domains[name], side.values) for name, side in zip(rule.columns, rule.sides, strict=True))
    ]
    above: dict[str, list[str]] = {}
    for pair in pairs:
        above.setdefault(pair.columns[0], []).append(pair.columns[1])
    return any(_leads_to(above, pair.columns[1], pair.columns[0]) for pair in pairs if pair.strict)


def _leads_to(above: Mapping[str, Sequence[str]], start: str, end: str) -> bool:
    """Return whether steps upwards lead from one column to another."""
    seen, waiting = {start}, [start]
    while waiting:
        for name in above.get(waiting.pop(), ()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return end in seen


def _is_bound(runs: Runs, values: int) -> bool:
    """Return whether a column can be neither missing nor special, so that comparisons bind it."""
    return bool(runs[-1, 1] <= values)


def _by_combinations(rule: CombinationRule, domains: Domains) -> dict[str, Runs]:
    """Return the columns of a rule without groups that no alive combination holds."""
    pieces = [grouping.pieces() for grouping in rule.groupings]
    present = []
    for name, (starts, stops, group) in zip(rule.columns, pieces, strict=True):
        present.append(np.unique(group[overlaps(starts, stops, domains[name])[1] > 0]))
    alive = rule.alive[np.ix_(*present)]
    found = {}
    for axis, (name, (starts, stops, group)) in enumerate(zip(rule.columns, pieces, strict=True)):
        others = tuple(other for other in range(alive.ndim) if other != axis)
        is_held = alive.any(axis=others)
        if not is_held.all():
            is_kept = np.isin(group, present[axis][is_held])
            found[name] = meet(domains[name], np.stack([starts[is_kept], stops[is_kept]], axis=1))
    return found


def _by_order(rule: OrderPair, domains: Domains) -> dict[str, Runs]:
    """Return both columns of a comparison without codes that no code of the other goes with."""
    found = dict(domains)
    for side, other in ((0, 1), (1, 0)):
        told, facing = rule.sides[side], rule.sides[other]
        name, beside = rule.columns[side], found[rule.columns[other]]
        if len(beside) and _is_bound(beside, facing.values):
            ends = rule.extreme(other, beside.T)
            limit = ends.max() if other else ends.min()
            found[name] = _keeping(told, found[name], _test(rule, side, limit), rises=bool(side))
    return {name: found[name] for name in rule.columns}


def _test(rule: OrderPair, side: int, limit: object) -> Callable[[Runs], npt.NDArray[np.bool_]]:
    """Return what tells which codes of one column go with the easiest number of the other."""

    def keeps(codes: Runs) -> npt.NDArray[np.bool_]:
        own = rule.numbers(side, codes)[1 - side]
        facing: Numbers = np.full(len(codes), limit)
        return rule.holds(facing, own) if side else rule.holds(own, facing)

    return keeps


def _keeping(told: ShownValues, runs: Runs, keeps: Callable[[Runs], npt.NDArray[np.bool_]], *, rises: bool) -> Runs:
    """Return runs without the regular codes that fail a test, which fails below or above some code but for lists."""
    reserved = from_on(runs, told.values)
    regular = below(runs, told.values)
    if told.listed is not None:
        kept = meet(regular, runs_where(keeps(np.arange(told.values))))
    elif rises:
        kept = from_on(regular, _first(keeps, told.values))
    else:
        kept = below(regular, _first(lambda codes: ~keeps(codes), told.values))
    return np.concatenate([kept, reserved])


def _first(keeps: Callable[[Runs], npt.NDArray[np.bool_]], values: int) -> int:
    """Return the first code that passes a test which all after it pass; the number of codes where there is none."""
    low, high = 0, values
    while low < high:
        # Sixty-four codes at once: a call costs more than a code.
        step = max((high - low) // 64, 1)
        tried = np.arange(low, high, step, dtype=np.int64)
        passed = np.flatnonzero(keeps(tried))
        if len(passed):
            high = int(tried[passed[0]])
            low = high if passed[0] == 0 else int(tried[passed[0] - 1]) + 1
        else:
            low = int(tried[-1]) + 1
    return high


def _by_sum(rule: ExactSum, domains: Domains) -> dict[str, Runs]:
    """Return the columns of a sum without codes that are too small or too large for the others."""
    found = {name: domains[name] for name in rule.columns}
    if not _divides(rule, found):
        return {rule.columns[-1]: found[rule.columns[-1]][:0]}
    for place, name in enumerate(rule.columns):
        others = [other for other in range(len(rule.columns)) if other != place]
        if all(_is_bound(found[rule.columns[other]], rule.values[other]) for other in others):
            ends = [rule.extremes(other, found[rule.columns[other]].T) for other in others]
            low = -rule.constant - sum(int(most.max()) for _, most in ends)
            high = -rule.constant - sum(int(least.min()) for least, _ in ends)
            found[name] = _adding(rule, place, found[name], low, high)
        if not len(found[name]):
            break
    return found


def _divides(rule: ExactSum, domains: Domains) -> bool:
    """Return whether the step of all columns together fits what is left to add, where the sum binds."""
    step, left = 0, rule.constant
    for name, values, stride, listed in zip(rule.columns, rule.values, rule.strides, rule.listed, strict=True):
        runs = domains[name]
        if not len(runs) or not _is_bound(runs, values):
            return True
        added = (
            np.unique(listed[np.concatenate([np.arange(*run) for run in runs.tolist()])])
            if listed is not None
            else np.array([stride * int(runs[0, 0])])
        )
        step = math.gcd(step, *np.diff(added).tolist(), 0 if listed is not None or codes_in(runs) == 1 else stride)
        left += int(added[0])
    return left == 0 if step == 0 else left % step == 0


def _adding(rule: ExactSum, place: int, runs: Runs, low: int, high: int) -> Runs:
    """Return runs without the regular codes that add less than ``low`` or more than ``high``."""
    values, stride, listed = rule.values[place], rule.strides[place], rule.listed[place]
    reserved, regular = from_on(runs, values), below(runs, values)
    if listed is not None:
        kept = meet(regular, runs_where((listed >= low) & (listed <= high)))
    else:
        first, last = (-(-low // stride), high // stride) if stride > 0 else (-(high // -stride), -low // -stride)
        kept = from_on(below(regular, last + 1), first)
    return np.concatenate([kept, reserved])
