"""Rules → rules on codes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError, SchemaError
from lapwing.schema.conditions import Between, merged_runs, wanted_reader
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import MAX_ENTRIES, Grouping, cut, lookup
from lapwing.schema.rules.codes import CodedRule, CombinationRule, DependencyRule, exact_sum, order_pairs
from lapwing.schema.rules.rules import (
    Allowed,
    Condition,
    Conditions,
    Determines,
    Implies,
    Item,
    Never,
    Order,
    Rule,
    Sum,
)
from lapwing.schema.scalars import is_finite_number, quote
from lapwing.schema.values import shown

MOST_CELLS: Final = 2**24
"""Most combinations of groups that one rule tells apart."""

_Runs = npt.NDArray[np.int64]
_Groups = npt.NDArray[np.intp]
_Reader = Callable[[Condition], _Runs]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The groups of one column's codes that some conditions tell apart, and those that each asks for, increasing."""

    field: Field
    grouping: Grouping
    groups: tuple[_Groups, ...]


def coded(fields: Sequence[Field], rules: Sequence[Rule]) -> tuple[CodedRule, ...]:
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
        parts = _asked(rule.conditions, fields, where, outer=True)
        alive = _cells(parts, where)
        alive[np.ix_(*(part.groups[0] for part in parts))] = False
        return [_on_codes(rule, parts, alive)]
    if isinstance(rule, Allowed):
        return [_allowed(rule, fields, where)]
    return _determined(rule, fields, where)


def _implications(rule: Implies, fields: Sequence[Field], where: str) -> list[CodedRule]:
    """Return an implication as one rule for each column that follows."""
    causes = _asked(rule.when, fields[: len(rule.when)], where, outer=True)
    effects = _asked(rule.then, fields[len(causes) :], where, outer=False)
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


def _cells(parts: Sequence[Parts], where: str) -> npt.NDArray[np.bool_]:
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


def _on_codes(rule: Rule, parts: Sequence[Parts], alive: npt.NDArray[np.bool_]) -> CombinationRule:
    """Return a rule on codes; combinations with a misfit are alive, as synthetic rows never hold one."""
    for axis, part in enumerate(parts):
        if not part.field.domain.missing:
            alive[(slice(None),) * axis + (-1,)] = True
    alive.flags.writeable = False
    columns = tuple(part.field.name for part in parts)
    return CombinationRule(rule, columns, tuple(part.grouping for part in parts), alive)


def parts_of(field: Field, asked: Sequence[_Runs], *, joins: bool) -> Parts:
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
        grouping = cut(domain, starts[1:])
    else:
        grouping = lookup(domain, np.repeat(group, np.diff(np.append(starts, domain.values))))
    reserved = [_codes_of(np.maximum(runs, domain.values)) - domain.values + regular for runs in asked]
    groups = (np.unique(np.concatenate([group[span], own])) for span, own in zip(spans, reserved, strict=True))
    return Parts(field, grouping, tuple(groups))


def _codes_of(runs: _Runs) -> _Runs:
    """Return the codes of runs, of which there are few."""
    return np.concatenate([np.arange(start, stop) for start, stop in runs.tolist()])


def _column_parts(field: Field, conditions: Sequence[Condition], where: str) -> tuple[Parts, list[int]]:
    """Return the groups that many conditions on one column tell apart, and which of them each row asks for."""
    read = _reader(field, where, outer=False)
    place: Mapping[Condition, int] = {condition: number for number, condition in enumerate(dict.fromkeys(conditions))}
    parts = parts_of(field, list(map(read, place)), joins=not field.domain.ordered)
    return parts, [place[condition] for condition in conditions]


def _asked(conditions: Conditions, fields: Sequence[Field], where: str, *, outer: bool) -> list[Parts]:
    """Return the groups of several columns that one condition on each tells apart."""
    pairs = zip(fields, conditions, strict=True)
    return [
        parts_of(field, [_reader(field, where, outer=outer)(wanted)], joins=not field.domain.ordered)
        for field, (_, wanted) in pairs
    ]


def _reader(field: Field, where: str, *, outer: bool) -> _Reader:
    """Return what turns a condition into runs of codes; of cells those inside it, with ``outer`` those touching it."""
    read = wanted_reader(field, where)
    is_cells = outer and not field.is_categorical and field.domain.continuous

    def runs(condition: Condition) -> _Runs:
        items = [_between(field, item) if isinstance(item, Between) else item for item in condition]
        try:
            found = read(items)
        except ParameterError as error:
            message = str(error)
        else:
            touching = [_touching(field, item) for item in items if isinstance(item, Between)] if is_cells else []
            return merged_runs(np.concatenate([found, *touching]).tolist()) if touching else found
        raise SchemaError(message, code="LW231")

    return runs


def _between(field: Field, item: Between) -> Between:
    """Return a range with both its ends."""
    if field.is_categorical:
        return item  # of a list, whoever reads it knows both ends
    return Between(
        _reaching(field.minimum, item.high, min) if item.low is None else item.low,
        _reaching(field.maximum, item.low, max) if item.high is None else item.high,
    )


def _reaching(own: object, other: object, further: Callable[..., object]) -> object:
    """Return the column's own end of a range, or the one that was given where that is beyond: it is refused as such."""
    is_comparable = isinstance(own, str) == isinstance(other, str)
    return further(own, other) if is_comparable else own


def _touching(field: Field, item: Between) -> _Runs:
    """Return the cells at the ends of a range that may show a number in it."""
    told, found = shown(field), []
    for end in (item.low, item.high):
        assert is_finite_number(end), "the condition was read before"
        number = min(max(cast("float", end), field.range.lo), field.range.hi)
        middle = field.range.cell(number)
        near = np.arange(max(middle - 2, 0), min(middle + 3, told.values))
        least, most = told.ends(near)
        inside = near[(most >= cast("float", item.low)) & (least <= cast("float", item.high))]
        found.extend([[code, code + 1] for code in inside.tolist()])
    return np.array(found, dtype=np.int64).reshape(-1, 2)
