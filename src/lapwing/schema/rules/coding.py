"""Rules → rules on codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import SchemaError
from lapwing.schema.conditions import Asker, Cells, Condition, Item, codes_of, reader
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import MAX_ENTRIES, Grouping, interval_grouping, lookup
from lapwing.schema.rules.codes import CodedRule, CombinationRule, DependencyRule, exact_sum, order_pairs
from lapwing.schema.rules.rules import (
    Allowed,
    Conditions,
    Determines,
    Implies,
    Never,
    Order,
    Rule,
    Sum,
)
from lapwing.schema.scalars import quote

MOST_CELLS: Final = 2**24
"""Most combinations of groups that one rule tells apart."""

_Runs = npt.NDArray[np.int64]
_Groups = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class CodeGroups:
    """The groups of one column's codes that some conditions tell apart, and those that each asks for, increasing."""

    field: Field
    grouping: Grouping
    groups: tuple[_Groups, ...]


def code_rules(fields: Sequence[Field], rules: Sequence[Rule]) -> tuple[CodedRule, ...]:
    """Return rules on the codes of fields, among which is every column of the rules; several for some rules."""
    by_name = {field.name: field for field in fields}
    found: list[CodedRule] = []
    for number, rule in enumerate(rules, 1):
        own = [by_name[name] for name in rule.columns]
        found.extend(_coded_rule(rule, own, f"rule {number} ({rule.text})"))
    return tuple(found)


def _coded_rule(rule: Rule, fields: Sequence[Field], where: str) -> Sequence[CodedRule]:
    """Return one rule on codes."""
    if isinstance(rule, Order):
        return order_pairs(rule, fields, where)
    if isinstance(rule, Sum):
        return [exact_sum(rule, fields, where)]
    if isinstance(rule, Implies):
        return _implications(rule, fields, where)
    if isinstance(rule, Never):
        parts = _asked(rule.conditions, fields, where, "touching")
        alive = _cells(parts, where)
        alive[np.ix_(*(part.groups[0] for part in parts))] = False
        return [_on_codes(rule, parts, alive)]
    if isinstance(rule, Allowed):
        return [_allowed(rule, fields, where)]
    return _determined(rule, fields, where)


def _implications(rule: Implies, fields: Sequence[Field], where: str) -> list[CodedRule]:
    """Return an implication as one rule for each column that follows."""
    causes = _asked(rule.when, fields[: len(rule.when)], where, "touching")
    effects = _asked(rule.then, fields[len(causes) :], where, "inside")
    found: list[CodedRule] = []
    for effect in effects:
        parts = [*causes, effect]
        alive = _cells(parts, where)
        _imply(alive, [part.groups[0] for part in causes], parts[-1].groups[0])
        found.append(_on_codes(rule, parts, alive))
    return found


def _allowed(rule: Allowed, fields: Sequence[Field], where: str) -> CombinationRule:
    """Return listed combinations on codes."""
    columns = [_column_parts(field, [row[place] for row in rule.rows], where) for place, field in enumerate(fields)]
    parts = [part for part, _ in columns]
    alive = _cells(parts, where)
    alive[...] = False
    for places in zip(*(places for _, places in columns), strict=True):
        alive[np.ix_(*(part.groups[place] for part, place in zip(parts, places, strict=True)))] = True
    return _on_codes(rule, parts, alive)


def _determined(rule: Determines, fields: Sequence[Field], where: str) -> list[CodedRule]:
    """Return a dependency on codes, or its map where that is public."""
    if not rule.values:
        misfits = tuple(None if field.domain.missing else field.domain.last for field in fields)
        return [DependencyRule(rule, rule.of, rule.column, misfits)]
    rows = _joined(rule, where)
    columns = [_column_parts(field, [row[place] for row in rows], where) for place, field in enumerate(fields)]
    parts = [part for part, _ in columns]
    alive = _cells(parts, where)
    is_listed = np.zeros(alive.shape[:-1], dtype=bool)
    for *causes, effect in zip(*(places for _, places in columns), strict=True):
        groups = [part.groups[place] for part, place in zip(parts, causes, strict=False)]
        if is_listed[np.ix_(*groups)].any():
            said = f"{where}: two of its values have the same codes on the left; list each once"
            raise SchemaError(said, code="LW231")
        is_listed[np.ix_(*groups)] = True
        _imply(alive, groups, parts[-1].groups[effect])
    return [_on_codes(rule, parts, alive)]


def _joined(rule: Determines, where: str) -> list[tuple[Condition, ...]]:
    """Return the rows of a map; of one determining column those that lead to one value are joined."""
    by_cause = dict(rule.values)
    for cause, value in rule.values:
        if by_cause[cause] != value:
            said = f"{where}: its values list {quote(cause[0])} twice, with different values; remove one"
            raise SchemaError(said, code="LW231")
    if len(rule.of) > 1:
        return [(*((item,) for item in cause), (value,)) for cause, value in by_cause.items()]
    by_value: dict[Item, list[Item]] = {}
    for (item,), value in by_cause.items():
        by_value.setdefault(value, []).append(item)
    return [(tuple(items), (value,)) for value, items in by_value.items()]


def _imply(alive: npt.NDArray[np.bool_], causes: Sequence[_Groups], effect: _Groups) -> None:
    """Leave only the groups of an effect alive where its causes are met."""
    every = np.arange(alive.shape[-1])
    alive[np.ix_(*causes, every)] = False
    alive[np.ix_(*causes, effect)] = True


def _cells(parts: Sequence[CodeGroups], where: str) -> npt.NDArray[np.bool_]:
    """Return one entry for each combination of groups, all alive."""
    shape = tuple(part.grouping.groups for part in parts)
    cells = 1
    for groups in shape:
        cells *= groups
    if cells > MOST_CELLS:
        raise SchemaError(
            f"{where}: tells {cells} combinations apart, more than 2**24; name fewer columns or values, or write it as "
            "several rules",
            code="LW231",
        )
    return np.ones(shape, dtype=bool)


def _on_codes(rule: Rule, parts: Sequence[CodeGroups], alive: npt.NDArray[np.bool_]) -> CombinationRule:
    """Return a rule on codes; combinations with a misfit are alive, as synthetic rows never hold one."""
    for axis, part in enumerate(parts):
        if not part.field.domain.missing:
            alive[(slice(None),) * axis + (-1,)] = True
    alive.flags.writeable = False
    columns = tuple(part.field.name for part in parts)
    return CombinationRule(rule, columns, tuple(part.grouping for part in parts), alive)


def parts_of(field: Field, asked: Sequence[_Runs], *, joins: bool) -> CodeGroups:
    """Return the groups of codes that conditions tell apart; `joins`: whether runs that the same ask for are one."""
    domain = field.domain
    ends = np.concatenate([runs.reshape(-1) for runs in asked])
    starts = np.unique(np.concatenate([[0], ends[ends < domain.values]]))
    spans = [_codes_of(np.searchsorted(starts, np.minimum(runs, domain.values))) for runs in asked]
    group = np.arange(len(starts))
    if joins and domain.values <= MAX_ENTRIES:
        askers: list[list[int]] = [[] for _ in range(len(starts))]
        for number, span in enumerate(spans):
            for piece in span.tolist():
                askers[piece].append(number)
        seen: dict[tuple[int, ...], int] = {}
        group = np.array([seen.setdefault(tuple(own), len(seen)) for own in askers], dtype=np.intp)
    regular = int(group.max()) + 1
    if regular == len(starts):
        grouping = interval_grouping(domain, starts[1:])
    else:
        grouping = lookup(domain, np.repeat(group, np.diff(np.append(starts, domain.values))))
    reserved = [_codes_of(np.maximum(runs, domain.values)) - domain.values + regular for runs in asked]
    groups = (np.unique(np.concatenate([group[span], own])) for span, own in zip(spans, reserved, strict=True))
    return CodeGroups(field, grouping, tuple(groups))


def _codes_of(runs: _Runs) -> _Runs:
    """Return the codes of runs, of which there are few."""
    return np.concatenate([np.arange(start, stop) for start, stop in runs.tolist()])


def _column_parts(field: Field, conditions: Sequence[Condition], where: str) -> tuple[CodeGroups, list[int]]:
    """Return the groups that many conditions on one column tell apart, and which of them each row asks for."""
    read = reader(field, _asker(where))
    place: Mapping[Condition, int] = {condition: number for number, condition in enumerate(dict.fromkeys(conditions))}
    parts = parts_of(field, list(map(read, place)), joins=not field.domain.ordered)
    return parts, [place[condition] for condition in conditions]


def _asked(conditions: Conditions, fields: Sequence[Field], where: str, cells: Cells) -> list[CodeGroups]:
    """Return the groups of several columns that one condition on each tells apart."""
    return [
        parts_of(field, [codes_of(field, wanted, _asker(where), cells)], joins=not field.domain.ordered)
        for field, (_, wanted) in zip(fields, conditions, strict=True)
    ]


def _asker(where: str) -> Asker:
    return Asker(where, SchemaError, "LW231")
