"""Rules of a table that are public: what every row keeps, however it was drawn. As they are written; no codes here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from lapwing.schema.scalars import visible

_LONGEST: Final = 240
_LISTED: Final = 5

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Within:
    """A range that a condition asks for, both ends included; an end that is None is that of the column."""

    minimum: Scalar | None
    maximum: Scalar | None

    @property
    def text(self) -> str:
        """The range in words."""
        if self.minimum is None:
            return f"at most {_plain(self.maximum)}"
        if self.maximum is None:
            return f"at least {_plain(self.minimum)}"
        return f"{_plain(self.minimum)} to {_plain(self.maximum)}"


Item = Scalar | Within | None
Condition = tuple[Item, ...]
"""What a column may be: any of these; None is missing."""
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
        text = ""
        for name, times in self.terms:
            sign = " - " if times < 0 else " + "
            text += sign + (visible(name) if abs(times) == 1 else f"{abs(times)} {visible(name)}")
        return _short(f"{text.removeprefix(' + ').lstrip()} = {visible(self.equals)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Determines:
    """Rows that agree in some columns agree in another; missing and special values count as values.

    values: where the map is public: a value of each column of ``of``, and the one of ``column`` that goes with them.
    Rows whose values of ``of`` are not listed keep the rule.
    """

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
        return _short(f"{_and(list(map(visible, self.of)))} {verb} {visible(self.column)}{listed}")


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
        return _short(f"{_and(list(map(visible, self.columns)))} {verb} one of {len(self.rows)} combinations")


Rule = Order | Sum | Determines | Implies | Never | Allowed
"""What a table may promise of its rows, or of all rows together."""


# --------------------------------------------------------------------------------------------------- as is written


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
            rows = [[_condition_value(condition) for condition in row] for row in rule.rows]
            own = {"allowed": list(rule.columns), "rows": rows}
    beside = {"description": rule.description, "provenance": rule.provenance if rule.provenance != "public" else ""}
    return {key: value for key, value in {**own, **beside}.items() if value}


def _conditions_dict(conditions: Conditions) -> dict[str, Any]:
    return {name: _condition_value(condition) for name, condition in conditions}


def _condition_value(condition: Condition) -> object:
    """Return a condition in the file format: a list only where there are several items."""
    items = [
        {key: end for key, end in (("minimum", item.minimum), ("maximum", item.maximum)) if end is not None}
        if isinstance(item, Within)
        else item
        for item in condition
    ]
    return items[0] if len(items) == 1 else items


# ------------------------------------------------------------------------------------------------------- in words


def _conditions_text(conditions: Conditions) -> str:
    return _and([f"{visible(name)} is {_or(items)}" for name, items in conditions])


def _or(items: Condition) -> str:
    texts = [item.text if isinstance(item, Within) else _plain(item) for item in items[:_LISTED]]
    return " or ".join([*texts, f"{len(items) - _LISTED} more"] if len(items) > _LISTED else texts)


def _plain(value: Scalar | None) -> str:
    """Return a value as it stands in a sentence."""
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "true" if value else "false"
    return visible(str(value)) or '""'


def _and(parts: Sequence[str]) -> str:
    return " and ".join(parts)


def _short(text: str) -> str:
    """Return a line without breaks that fits into a message."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "..."
