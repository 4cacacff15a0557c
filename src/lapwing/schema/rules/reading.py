"""Rules of a table in the file format → rules."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lapwing.errors import SchemaError
from lapwing.schema.checks import is_encodable, repeated
from lapwing.schema.files import check_object, similar_key
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
    Scalar,
    Sum,
    Within,
)
from lapwing.schema.scalars import finite_number, quote, whole_number

MOST_RULES: Final = 1_000
"""Of one schema."""

_OF_ANY: Final = ("description", "provenance")
_RANGE_KEYS: Final = ("minimum", "maximum")


def _refusal(said: str) -> SchemaError:
    """Return the error that a rule is not written as the format has it."""
    return SchemaError(said, code="LW230")


def rules_from(value: object) -> tuple[Rule, ...]:
    """Return the rules of a schema in the file format; none where the key is absent or null."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MOST_RULES:
        raise _refusal(f'"rules" must be a list of at most {MOST_RULES} objects, got {quote(value)}')
    return tuple(
        item if isinstance(item, Rule) else _rule_from(item, f"rule {number}") for number, item in enumerate(value, 1)
    )


def _rule_from(value: object, where: str) -> Rule:
    """Return one rule in the file format."""
    source = check_object(value, where)
    kinds = [key for key in _KINDS if key in source]
    known = kinds or _KINDS
    _check_keys(source, (*known, *(key for kind in known for key in _KINDS[kind].beside)), where)
    if len(kinds) != 1:
        had = f"has {' and '.join(kinds)}" if kinds else "says nothing"
        raise _refusal(f"{where} {had}; write exactly one of the keys {', '.join(_KINDS)}")
    description, provenance = source.get("description"), source.get("provenance")
    if description is not None and not (isinstance(description, str) and is_encodable(description)):
        raise _refusal(f"{where}: the description must be a text")
    if provenance not in (None, "public", "assumed"):
        raise _refusal(f"{where}: provenance {quote(provenance)} is not known; choose one of public, assumed")
    kind = _KINDS[kinds[0]]
    return kind.rule(description=description or "", provenance=provenance or "public", **kind.read(source, where))


def _check_keys(source: Mapping[str, Any], known: Sequence[str], where: str, of_any: Sequence[str] = _OF_ANY) -> None:
    """Refuse every key that is not known here: read past, it would change what a rule says."""
    allowed = frozenset((*known, *of_any))
    for key in source:
        if key not in allowed:
            close = similar_key(key, allowed)
            way_out = f"did you mean {quote(close)}?" if close else f"known are {', '.join(sorted(allowed))}"
            raise SchemaError(f"{where}: unknown key {quote(key)}; {way_out}", code="LW205")


def _order_from(source: Mapping[str, Any], where: str) -> dict[str, Any]:
    columns = _names(source["order"], f"{where}: order", least=2)
    strict = source.get("strict")
    if strict is not None and not isinstance(strict, bool):
        raise _refusal(f"{where}: strict must be true or false, got {quote(strict)}")
    return {"columns": columns, "strict": bool(strict)}


def _sum_from(source: Mapping[str, Any], where: str) -> dict[str, Any]:
    given = source["sum"]
    if isinstance(given, Mapping):
        names = _names(list(check_object(given, f"{where}: sum")), f"{where}: sum")
    else:
        names = _names(given, f"{where}: sum")
        given = dict.fromkeys(names, 1)
    times = []
    for name in names:
        factor = whole_number(given[name])
        if not factor or abs(factor) >= 2**53:
            said = f"must be a whole number other than 0, got {quote(given[name])}"
            raise _refusal(f"{where}: the coefficient of {quote(name)} {said}")
        times.append(factor)
    equals = _name(source.get("equals"), f"{where}: equals")
    _check_distinct((*names, equals), where)
    return {"terms": tuple(zip(names, times, strict=True)), "equals": equals}


def _determines_from(source: Mapping[str, Any], where: str) -> dict[str, Any]:
    of = _names(source["determines"], f"{where}: determines")
    column = _name(source.get("column"), f"{where}: column")
    _check_distinct((*of, column), where)
    given = source.get("values")
    values: list[tuple[tuple[Scalar | None, ...], Scalar | None]] = []
    for row in () if given is None else _list(given, f"{where}: values"):
        if not isinstance(row, list | tuple) or len(row) != len(of) + 1:
            parts = f"a value of each of {', '.join(map(quote, of))}, then that of {quote(column)}"
            raise _refusal(f"{where}: each of its values must be a list of {len(of) + 1}: {parts}")
        *left, right = [_value(item, f"{where}: values") for item in row]
        values.append((tuple(left), right))
    return {"of": of, "column": column, "values": tuple(values)}


def _implies_from(source: Mapping[str, Any], where: str) -> dict[str, Any]:
    when, then = (_conditions(source.get(key), f"{where}: {key}") for key in ("when", "then"))
    _check_distinct([name for name, _ in (*when, *then)], where)
    return {"when": when, "then": then}


def _allowed_from(source: Mapping[str, Any], where: str) -> dict[str, Any]:
    columns = _names(source["allowed"], f"{where}: allowed")
    rows = []
    for row in _list(source.get("rows"), f"{where}: rows"):
        if not isinstance(row, list | tuple) or len(row) != len(columns):
            raise _refusal(f"{where}: each of its rows must be a list of {len(columns)}, one entry per column")
        rows.append(tuple(_condition(item, f"{where}: rows") for item in row))
    return {"columns": columns, "rows": tuple(rows)}


class _Kind(NamedTuple):
    """One kind of rule: the keys beside its own, and how its settings are read."""

    rule: Callable[..., Rule]
    beside: tuple[str, ...]
    read: Callable[[Mapping[str, Any], str], dict[str, Any]]


_KINDS: Final = {
    "order": _Kind(Order, ("strict",), _order_from),
    "sum": _Kind(Sum, ("equals",), _sum_from),
    "determines": _Kind(Determines, ("column", "values"), _determines_from),
    "when": _Kind(Implies, ("then",), _implies_from),
    "never": _Kind(Never, (), lambda source, where: {"conditions": _conditions(source["never"], f"{where}: never")}),
    "allowed": _Kind(Allowed, ("rows",), _allowed_from),
}


# ------------------------------------------------------------------------------------------------- parts of a rule


def _list(value: object, where: str) -> Sequence[Any]:
    """Return a list that is not empty."""
    if not isinstance(value, list | tuple) or not value:
        raise _refusal(f"{where} must be a list of at least one entry, got {_got(value)}")
    return value


def _got(value: object) -> str:
    """Return what stands where a longer list should."""
    if not isinstance(value, list | tuple):
        return quote(value)
    return f"a list of {len(value)}" if value else "an empty list"


def _name(value: object, where: str) -> str:
    """Return the name of a column."""
    if not isinstance(value, str) or not value:
        raise _refusal(f"{where} must be the name of a column, got {quote(value)}")
    return value


def _names(value: object, where: str, least: int = 1) -> tuple[str, ...]:
    """Return distinct names of columns."""
    listed = [value] if isinstance(value, str) and least == 1 else value
    if not isinstance(listed, list | tuple) or len(listed) < least:
        raise _refusal(f"{where} must be a list of at least {least} column{'s' * (least > 1)}, got {_got(value)}")
    names = tuple(_name(name, where) for name in listed)
    _check_distinct(names, where)
    return names


def _check_distinct(names: Sequence[str], where: str) -> None:
    """Refuse a column that stands twice in one rule."""
    for name in repeated(names):
        raise _refusal(f"{where}: column {quote(name)} stands twice; name each column of a rule once")


def _conditions(value: object, where: str) -> Conditions:
    """Return columns and what each must be."""
    source = check_object(value, where)
    if not source:
        raise _refusal(f"{where} names no column; name at least one and what it must be")
    return tuple((name, _condition(wanted, f"{where}: {quote(name)}")) for name, wanted in source.items())


def _condition(value: object, where: str) -> Condition:
    """Return what one column may be: a value, null, a range, or a list of those."""
    items = _list(value, where) if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(_item(item, where) for item in items))


def _item(value: object, where: str) -> Item:
    if not isinstance(value, Mapping):
        return value if isinstance(value, Within) else _value(value, where)
    _check_keys(value, _RANGE_KEYS, where, ())
    ends = {key: value.get(key) for key in _RANGE_KEYS}
    if all(end is None for end in ends.values()):
        raise _refusal(f'{where}: a range needs "minimum" or "maximum"; write null itself for missing')
    low, high = (None if end is None else _value(end, where) for end in ends.values())
    return Within(low, high)


def _value(value: object, where: str) -> Scalar | None:
    """Return a value as it stands in a schema: a text, a finite number, true or false; None is missing."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and is_encodable(value)):
        return value
    number = finite_number(value)
    if number is None:
        raise _refusal(f"{where} must hold texts, finite numbers, true, false or null, got {quote(value)}")
    return number
