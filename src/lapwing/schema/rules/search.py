"""Whether the rules of a table go together, and rows that keep them all. Public rules and domains only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt

from lapwing.errors import SchemaError
from lapwing.maths.runs import Runs, below, codes_in, from_on, meet
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.rules.codes import CodedRule, CombinationRule, DependencyRule, RuledSchema, components
from lapwing.schema.rules.coding import code_rules
from lapwing.schema.rules.narrowing import Domains, narrow_domains
from lapwing.schema.rules.rules import Rule
from lapwing.schema.values import labels

Fixed = Mapping[str, npt.NDArray[np.integer]]
"""Runs of codes within which columns must stay."""

_NAMED: Final = 8
_MOST_NODES: Final = 400
_MOST_CELLS: Final = 2**27
"""Bounds of one search: sets of domains that are looked at, beside one for each column, and combinations that are
looked through."""


def named_columns(rules: Sequence[Rule]) -> list[tuple[str, str]]:
    """Return every column that rules name, and what error sentences call the rule that does."""
    return [(name, f"rule {number} ({rule.text})") for number, rule in enumerate(rules, 1) for name in rule.columns]


@lru_cache(maxsize=8)
def checked_rules(fields: tuple[Field, ...], rules: tuple[Rule, ...]) -> tuple[CodedRule, ...]:
    """Return rules on codes, after a look whether any row of the modelled fields can keep them all."""
    found = code_rules(fields, rules)
    domains = _domains(fields, {name for rule in found for name in rule.columns})
    for names in components(found):
        own = [rule for rule in found if rule.columns[0] in names]
        outcome = _search(own, {name: domains[name] for name in names})
        if outcome.row is None:
            _refuse(own, rules, is_hopeless=outcome.is_hopeless)
    return found


def complete_row(schema: RuledSchema, fixed: Fixed, component: Sequence[str]) -> dict[str, int] | None:
    """Return one row of codes that keeps all rules, regular ones where possible; None where none was found."""
    row = _search(*_bounded(schema, fixed, component)).row
    return None if row is None else {name: row[name] for name in component}


def is_impossible(schema: RuledSchema, fixed: Fixed, component: Sequence[str]) -> bool:
    """Return whether certainly no row keeps all rules; False where the bounds of the search were met."""
    return _search(*_bounded(schema, fixed, component)).is_hopeless


def _bounded(schema: RuledSchema, fixed: Fixed, component: Sequence[str]) -> tuple[list[CodedRule], dict[str, Runs]]:
    """Return the rules of a component, and the runs of codes that its columns must lie in."""
    rules = [rule for rule in schema.coded_rules if rule.columns[0] in component]
    # In the order in which the rules were checked, so that the search goes the same way.
    ordered = [name for names in components(rules) for name in names]
    domains = _domains([schema.field(name) for name in ordered], set(component))
    for name, runs in fixed.items():
        if name in domains:
            domains[name] = meet(domains[name], np.asarray(runs, dtype=np.int64).reshape(-1, 2))
    return rules, domains


def _domains(fields: Sequence[Field], names: set[str]) -> dict[str, Runs]:
    """Return all codes that rows may hold in some columns: no misfits."""
    sizes = {field.name: field.domain.size if field.domain.missing else field.domain.last for field in fields}
    return {name: np.array([[0, sizes[name]]], dtype=np.int64) for name in sizes if name in names}


def _refuse(own: Sequence[CodedRule], rules: Sequence[Rule], *, is_hopeless: bool) -> NoReturn:
    """Raise an error that names the rules of a component of which no row keeps all, or none was found."""
    named = [f"{rules.index(rule) + 1} ({rule.text})" for rule in dict.fromkeys(each.rule for each in own)]
    if len(named) == 1 and is_hopeless:
        said = f"rule {named[0]}: no row of the declared values keeps it; change the rule or the columns"
        raise SchemaError(said, code="LW232")
    if len(named) > _NAMED:
        named[_NAMED - 1 :] = [f"{len(named) - _NAMED + 1} more"]
    several = f"rules {', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else f"rule {named[0]}"
    said = "no row was found that keeps them all, nor that there is none; make them simpler, or list the allowed rows"
    if is_hopeless:
        said = "no row of the declared values keeps them all; change one of them"
    raise SchemaError(f"{several} contradict each other: {said}" if is_hopeless else f"{several}: {said}", code="LW232")


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a search found: a row, or that there is none, or neither within its bounds."""

    row: dict[str, int] | None
    is_hopeless: bool


def _search(rules: Sequence[CodedRule], domains: Domains) -> _Outcome:
    """Look for a row: first with regular codes before reserved ones, then, if that met its bounds, the other way."""
    binding = [rule for rule in rules if not isinstance(rule, DependencyRule)]
    if any(not len(runs) for runs in domains.values()):
        return _Outcome(None, is_hopeless=True)
    values = _regular_codes(binding)
    cells = sum(rule.alive.size for rule in binding if isinstance(rule, CombinationRule))
    nodes = len(domains) + min(_MOST_NODES, max(_MOST_CELLS // max(cells, 1), 16))
    # Where nothing may be missing or special, the second look would be the first.
    has_reserved = any(runs[-1, 1] > values.get(name, 0) for name, runs in domains.items())
    for puts_reserved_first in (False, True) if has_reserved else (False,):
        found = _searched(binding, domains, values, nodes, puts_reserved_first)
        if found.row is not None or found.is_hopeless:
            return found
    return _Outcome(None, is_hopeless=False)


def _searched(
    rules: Sequence[CodedRule],
    domains: Domains,
    values: Mapping[str, int],
    nodes: int,
    puts_reserved_first: bool,
) -> _Outcome:
    """Narrow, split, and go on with the first part, depth first."""
    waiting: list[tuple[dict[str, Runs], list[str] | None]] = [(dict(domains), None)]
    for _ in range(nodes):
        if not waiting:
            return _Outcome(None, is_hopeless=True)
        found = narrow_domains(rules, *waiting.pop())
        if found is None:
            continue
        sizes = {name: codes_in(runs) for name, runs in found.items()}
        open_columns = [name for name, size in sizes.items() if size > 1]
        if not open_columns:
            if not any(rule.broken({name: runs[0, :1] for name, runs in found.items()})[0] for rule in rules):
                row = {name: int(runs[0, 0]) for name, runs in found.items()}
                return _Outcome(row, is_hopeless=False)
            continue
        name = min(open_columns, key=sizes.__getitem__)
        parts = list(_parts(found[name], values.get(name, 0)))
        if puts_reserved_first and values.get(name, 0):
            parts.sort(key=lambda part: int(part[0, 0]) < values[name])
        waiting.extend(({**found, name: part}, [name]) for part in reversed(parts))
    return _Outcome(None, is_hopeless=not waiting)


def _parts(runs: Runs, values: int) -> Iterator[Runs]:
    """Split the codes of a column: the first one, then the rest in halves, reserved codes by themselves."""
    regular, reserved = below(runs, values), from_on(runs, values)
    for own in (regular, reserved):
        if len(own):
            start = int(own[0, 0])
            yield np.array([[start, start + 1]], dtype=np.int64)
            rest = from_on(own, start + 1)
            if len(rest):
                middle = int(rest[len(rest) // 2, 0]) if len(rest) > 1 else int(rest.sum()) // 2
                yield from (part for part in (below(rest, middle), from_on(rest, middle)) if len(part))


def _regular_codes(rules: Sequence[CodedRule]) -> dict[str, int]:
    """Return the number of regular codes of each column that rules name."""
    found: dict[str, int] = {}
    for rule in rules:
        if isinstance(rule, CombinationRule):
            found.update(zip(rule.columns, (grouping.values for grouping in rule.groupings), strict=True))
        elif not isinstance(rule, DependencyRule):
            found.update(zip(rule.columns, rule.values, strict=True))
    return found


# -- Categories that no row can have.


MOST_LOOKED_AT: Final = 1_000
"""Categories of a column that is looked at."""


def dead_values(schema: RuledSchema) -> dict[str, list[str]]:
    """Return the labels of categories, and ``missing``, that certainly no row can have, by column."""
    found: dict[str, list[str]] = {}
    for component in components(schema.coded_rules):
        for name in component:
            field = schema.field(name)
            if not field.is_categorical or field.domain.values > MOST_LOOKED_AT:
                continue
            dead = [
                code
                for alike in _alike(schema, name)
                if is_impossible(schema, {name: np.array([[alike[0], alike[0] + 1]])}, component)
                for code in alike
            ]
            if dead:
                named = labels(identity(field.domain), field)
                found[name] = [named[code] for code in sorted(dead)]
    return found


def _alike(schema: RuledSchema, name: str) -> Iterator[list[int]]:
    """Yield the codes of a column that rows may hold, those together that no rule tells apart."""
    domain = schema.field(name).domain
    # The last code is missing, where that is allowed, else the misfit: synthetic rows never show one.
    codes = np.arange(domain.size if domain.missing else domain.last)
    kinds = []
    for rule in schema.coded_rules:
        if name in rule.columns and isinstance(rule, CombinationRule):
            kinds.append(rule.groupings[rule.columns.index(name)].apply(codes))
        elif name in rule.columns and not isinstance(rule, DependencyRule):
            kinds.append(codes)
    if kinds:
        _, kind = np.unique(np.stack(kinds), axis=1, return_inverse=True)
        yield from (np.flatnonzero(kind.reshape(-1) == each).tolist() for each in range(kind.max() + 1))
