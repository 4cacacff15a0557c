"""Rules of a table that are public: what every row keeps, however it was drawn; as they are written; no codes here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from lapwing.errors import SchemaError
from lapwing.schema.conditions import (
    Between,
    Condition,
    Scalar,
    condition_from,
    condition_to_value,
    scalar_from,
)
from lapwing.schema.scalars import find_duplicate, quote, visible, whole_number
from lapwing.schema.typed import TypedObject

_LONGEST: Final = 240
_LISTED: Final = 5

Conditions = tuple[tuple[str, Condition], ...]
"""Columns and what each must be, all at once."""
Provenance = Literal["public", "assumed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Each column is at most the next: numbers, dates and moments, or ordered categories of equal lists."""

    columns: tuple[str, ...]
    strict: bool = False
    description: str = ""
    provenance: Provenance = "public"

    @property
    def text(self) -> str:
        """The rule on one line."""
        return _short((" < " if self.strict else " <= ").join(map(visible, self.columns)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """A sum of whole multiples of columns, none 0, is a column: integers, or numbers with a resolution."""

    terms: tuple[tuple[str, int], ...]
    equals: str
    description: str = ""
    provenance: Provenance = "public"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the terms, then the one that they add up to."""
        return (*(name for name, _ in self.terms), self.equals)

    @property
    def text(self) -> str:
        """The rule on one line."""
        parts = [
            f"{'-' if times < 0 else '+'} {'' if abs(times) == 1 else f'{abs(times)} '}{visible(name)}"
            for name, times in self.terms
        ]
        return _short(f"{' '.join(parts).removeprefix('+ ')} = {visible(self.equals)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Determines:
    """Rows that agree in some columns agree in another; `values`: the public map, for the values that it lists."""

    of: tuple[str, ...]
    column: str
    values: tuple[tuple[tuple[Scalar | None, ...], Scalar | None], ...] = ()
    description: str = ""
    provenance: Provenance = "public"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that determine, then the one that is determined."""
        return (*self.of, self.column)

    @property
    def text(self) -> str:
        """The rule on one line."""
        listed = f" ({len(self.values)} values listed)" if self.values else ""
        verb = "determine" if len(self.of) > 1 else "determines"
        return _short(f"{' and '.join(map(visible, self.of))} {verb} {visible(self.column)}{listed}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Implies:
    """Rows that meet some conditions meet others."""

    when: Conditions
    then: Conditions
    description: str = ""
    provenance: Provenance = "public"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of ``when``, then those of ``then``."""
        return tuple(name for name, _ in (*self.when, *self.then))

    @property
    def text(self) -> str:
        """The rule on one line."""
        return _short(f"when {_conditions_text(self.when)}, {_conditions_text(self.then)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """No row meets all of some conditions."""

    conditions: Conditions
    description: str = ""
    provenance: Provenance = "public"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the conditions."""
        return tuple(name for name, _ in self.conditions)

    @property
    def text(self) -> str:
        """The rule on one line."""
        return _short(f"never {_conditions_text(self.conditions)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Some columns hold listed combinations only, at least one: per row what each column may be."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Condition, ...], ...]
    description: str = ""
    provenance: Provenance = "public"

    @property
    def text(self) -> str:
        """The rule on one line."""
        verb = "are" if len(self.columns) > 1 else "is"
        return _short(f"{' and '.join(map(visible, self.columns))} {verb} one of {len(self.rows)} combinations")


Rule = Order | Sum | Determines | Implies | Never | Allowed
"""What a table may promise of its rows, or of all rows together."""


def rule_to_dict(rule: Rule) -> dict[str, Any]:
    """Return a rule in the file format."""
    match rule:
        case Order():
            own: dict[str, Any] = {"order": list(rule.columns), "strict": rule.strict}
        case Sum():
            own = {"sum": dict(rule.terms), "equals": rule.equals}
        case Determines():
            values = [[*of, value] for of, value in rule.values]
            own = {"determines": list(rule.of), "column": rule.column, "values": values}
        case Implies():
            own = {"when": _conditions_dict(rule.when), "then": _conditions_dict(rule.then)}
        case Never():
            own = {"never": _conditions_dict(rule.conditions)}
        case Allowed():
            rows = [[condition_to_value(condition) for condition in row] for row in rule.rows]
            own = {"allowed": list(rule.columns), "rows": rows}
    beside = {"description": rule.description, "provenance": rule.provenance if rule.provenance != "public" else ""}
    return {key: value for key, value in {**own, **beside}.items() if value}


def _conditions_dict(conditions: Conditions) -> dict[str, Any]:
    return {name: condition_to_value(condition) for name, condition in conditions}


def _conditions_text(conditions: Conditions) -> str:
    return " and ".join(f"{visible(name)} is {_or(items)}" for name, items in conditions)


def _or(items: Condition) -> str:
    texts = [_range_text(item) if isinstance(item, Between) else _plain(item) for item in items[:_LISTED]]
    return " or ".join([*texts, f"{len(items) - _LISTED} more"] if len(items) > _LISTED else texts)


def _range_text(item: Between) -> str:
    if item.low is None or item.high is None:
        return f"at most {_plain(item.high)}" if item.low is None else f"at least {_plain(item.low)}"
    return f"{_plain(item.low)} to {_plain(item.high)}"


def _plain(value: object) -> str:
    """Return a value as it stands in a sentence."""
    value = "missing" if value is None else value
    return str(value).lower() if isinstance(value, bool) else visible(str(value)) or '""'


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "..."


MOST_RULES: Final = 1_000  # of one schema


def _refusal(said: str) -> SchemaError:
    """Return the error that a rule is not written as the format has it."""
    return SchemaError(said, code="LW230")


def rules_from(value: object) -> tuple[Rule, ...]:
    """Return the rules of a schema in the file format; none where the key is absent or null."""
    listed = TypedObject({"rules": value}, "the schema", "LW230").listed("rules", most=MOST_RULES)
    return tuple(
        item if isinstance(item, Rule) else _rule_from(item, f"rule {number}") for number, item in enumerate(listed, 1)
    )


def _rule_from(value: object, where: str) -> Rule:
    source = TypedObject.of(value, where, "LW230")
    kinds = [key for key in _KINDS if key in source.values]
    known = kinds or _KINDS
    beside = [key for kind in known for key in _KINDS[kind].beside]
    source.only((*known, *beside, "description", "provenance"))
    if len(kinds) != 1:
        had = f"has {' and '.join(kinds)}" if kinds else "says nothing"
        raise _refusal(f"{where} {had}; write exactly one of the keys {', '.join(_KINDS)}")
    provenance = source.one_of("provenance", ("public", "assumed"), "public")
    kind = _KINDS[kinds[0]]
    return kind.rule(description=source.text("description"), provenance=provenance, **kind.read(source))


def _order_from(source: TypedObject) -> dict[str, Any]:
    return {"columns": source.names("order", least=2), "strict": source.flag("strict")}


def _sum_from(source: TypedObject) -> dict[str, Any]:
    is_list = not isinstance(source("sum"), Mapping)
    terms = source.inner("sum") if not is_list else TypedObject(dict.fromkeys(_names(source, "sum"), 1), source.where)
    times = {name: whole_number(terms(name)) or 0 for name in terms.values}
    for name in (name for name, factor in times.items() if not 0 < abs(factor) < 2**53):
        raise terms.wrong(name, "be a whole number other than 0", "LW230")
    if not times:
        raise source.refusal("sum", "names no column; name at least one")
    equals = _name(source, "equals")
    _check_distinct(source, (*times, equals))
    return {"terms": tuple(times.items()), "equals": equals}


def _determines_from(source: TypedObject) -> dict[str, Any]:
    of, column = _names(source, "determines"), _name(source, "column")
    _check_distinct(source, (*of, column))
    values: list[tuple[tuple[Scalar | None, ...], Scalar | None]] = []
    for row in source.listed("values", least=int(source("values") is not None)):
        if not isinstance(row, list | tuple) or len(row) != len(of) + 1:
            parts = f"a value of each of {', '.join(map(quote, of))}, then that of {quote(column)}"
            raise source.refusal("values", f"must be lists of {len(of) + 1}: {parts}")
        *left, right = [scalar_from(item, f"{source.where}: values", "LW230") for item in row]
        values.append((tuple(left), right))
    return {"of": of, "column": column, "values": tuple(values)}


def _implies_from(source: TypedObject) -> dict[str, Any]:
    when, then = _conditions(source, "when"), _conditions(source, "then")
    _check_distinct(source, [name for name, _ in (*when, *then)])
    return {"when": when, "then": then}


def _allowed_from(source: TypedObject) -> dict[str, Any]:
    columns = _names(source, "allowed")
    rows = []
    for row in source.listed("rows", least=1):
        if not isinstance(row, list | tuple) or len(row) != len(columns):
            raise source.refusal("rows", f"must be lists of {len(columns)}, one entry per column")
        rows.append(tuple(_condition(item, f"{source.where}: rows") for item in row))
    return {"columns": columns, "rows": tuple(rows)}


class _Kind(NamedTuple):
    rule: Callable[..., Rule]
    beside: tuple[str, ...]  # keys of the file beside the rule's own
    read: Callable[[TypedObject], dict[str, Any]]  # its settings


_KINDS: Final = {
    "order": _Kind(Order, ("strict",), _order_from),
    "sum": _Kind(Sum, ("equals",), _sum_from),
    "determines": _Kind(Determines, ("column", "values"), _determines_from),
    "when": _Kind(Implies, ("then",), _implies_from),
    "never": _Kind(Never, (), lambda source: {"conditions": _conditions(source, "never")}),
    "allowed": _Kind(Allowed, ("rows",), _allowed_from),
}


def _name(source: TypedObject, key: str) -> str:
    return source.text(key, None, is_name=True)


def _names(source: TypedObject, key: str) -> tuple[str, ...]:
    return (_name(source, key),) if isinstance(source(key), str) else source.names(key)


def _check_distinct(source: TypedObject, names: Sequence[str]) -> None:
    for name in find_duplicate(names):
        said = f"column {quote(name)} stands twice; name each column of a rule once"
        raise _refusal(f"{source.where}: {said}")


def _condition(value: object, where: str) -> Condition:
    return tuple(dict.fromkeys(condition_from(value, where, "LW230")))


def _conditions(source: TypedObject, key: str) -> Conditions:
    given = source.inner(key)
    if not given.values:
        raise source.refusal(key, "names no column; name at least one and what it must be")
    return tuple((name, _condition(wanted, f"{given.where}: {quote(name)}")) for name, wanted in given.values.items())
