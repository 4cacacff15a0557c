"""What a row of one of several linked tables is modelled with: the row before, and the rows above it.

A coded row of a table has its own columns; the numbers of rows of its child tables; its place among the rows of its
parent; the row before it; and the columns of its parents, up to the first table.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.linked.tables import LinkedTable, refusal
from lapwing.schema.rules.rules import Determines, Rule
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

T = TypeVar("T")

NUMBER: Final = "row.number"
LEFT: Final = "row.left"
PREVIOUS: Final = "previous."
SECOND: Final = "previous2."
GAP: Final = "gap."
NO_PLACE: Final = -1
"""The steps from a row that has no place in the order."""

SMALL: Final = 16
"""Codes of a column of which tables with the rows before are small beside their noise."""


class _Tree(Protocol):
    """What is asked of `LinkedTables` here, which import this."""

    @property
    def tables(self) -> tuple[LinkedTable, ...]: ...
    @property
    def rules(self) -> tuple[Rule, ...]: ...
    @property
    def key(self) -> str: ...
    def table(self, name: str) -> LinkedTable: ...
    def above(self, name: str) -> tuple[LinkedTable, ...]: ...
    def max_rows(self, name: str) -> int: ...


_Named = tuple[str, Rule]
"""A rule, and where it stands: ``2 of people``."""


@dataclass(frozen=True, slots=True)
class Lag:
    """What a coded row says of the row before it, by name of the column there."""

    number: str  # place among the rows of the parent, from 1
    left: str  # how many come after it
    previous: Mapping[str, str]  # name of each own column but that of the order, as one of the row before
    second: Mapping[str, str]  # likewise of small ones, as of the row before that
    gap: str | None  # steps from the row before in the column of the order

    @property
    def names(self) -> tuple[str, ...]:
        """All of these columns, in the order of the coded schema."""
        gap = () if self.gap is None else (self.gap,)
        return (self.number, self.left, *self.previous.values(), *self.second.values(), *gap)


def count_field(name: str, most: int) -> Field:
    """Return the number of rows of a child table: 0 to `most`, a public domain."""
    return _whole(name, 0, most, required=True, description="rows of the child table, at most as many as are used")


def _whole(name: str, least: int, most: int, **more: Any) -> Field:  # noqa: ANN401 - settings of a field
    """Return a field of whole numbers in a public domain."""
    return Field(name=name, type="integer", minimum=least, maximum=most, provenance="public", **more)


def lag_of(table: LinkedTable) -> Lag | None:
    """Return what rows of a table say of the row before; None where a parent has one row at most."""
    if table.parent is None or table.max_rows == 1:
        return None
    by = None if table.order is None else table.order.by
    names = [field.name for field in table.own if field.name != by]
    small = [name for name in names if table.schema.field(name).domain.size <= SMALL]
    has_second = by is not None and table.max_rows > 2
    return Lag(
        number=NUMBER,
        left=LEFT,
        previous={name: f"{PREVIOUS}{name}" for name in names},
        second={name: f"{SECOND}{name}" for name in small} if has_second else {},
        gap=None if by is None else f"{GAP}{by}",
    )


def lag_fields(table: LinkedTable) -> tuple[Field, ...]:
    """Return the columns of `lag_of`; the row before is missing in the first row."""
    lag = lag_of(table)
    if lag is None:
        return ()
    place = _whole(lag.number, 1, table.max_rows, required=True)
    left = _whole(lag.left, 0, table.max_rows - 1, required=True)
    before = (
        replace(
            table.schema.field(name), name=called, required=False, provenance="public", description="of a row before"
        )
        for name, called in (*lag.previous.items(), *lag.second.items())
    )
    if lag.gap is None or table.order is None:
        return (place, left, *before)
    domain = table.schema.field(table.order.by).domain
    # Rows without a place come last: how many rows are the first of these is told from how many follow one.
    special = (NO_PLACE,) if domain.missing or domain.specials else ()
    gap = _whole(lag.gap, 0, domain.values - 1, special=special, scale="log")
    return (place, left, *before, gap)


def given_names(linked: _Tree, name: str) -> dict[tuple[str, str], str]:
    """Return what each column of the tables above is called in the coded rows of a table, nearest tables first."""
    table = linked.table(name)
    taken = {*table.schema.names, *(field.name for field in lag_fields(table))}
    found: dict[tuple[str, str], str] = {}
    for above in linked.above(name):
        for field in above.schema.columns:
            called = f"{above.name}.{field.name}" if field.name in taken else field.name
            found[above.name, field.name] = called
            taken.add(called)
    return found


def coded_schema(linked: _Tree, name: str) -> Schema:
    """Return the schema of the coded rows of a table, whose unit is one value of the first table's key."""
    table = linked.table(name)
    given = tuple(
        _called(linked.table(above).schema.field(column), called)
        for (above, column), called in given_names(linked, name).items()
    )
    fields = [*table.schema.fields, *lag_fields(table), *given]
    names = {field.name: field for field in fields}
    if linked.key not in names:
        fields.append(linked.tables[0].schema.field(linked.key))
    elif not names[linked.key].identifier:
        raise refusal(
            f"{name}: the column {quote(linked.key)} is called as the key of {linked.tables[0].name}; give it another "
            "name"
        )
    rules = _rules_of(linked, name)
    return reword_errors(
        lambda: replace(
            table.schema,
            fields=tuple(fields),
            privacy_unit=PrivacyUnit(linked.key, linked.max_rows(name)),
            rules=tuple(rule for _, rule in rules),
        ),
        partial(_where_it_stands, rules=rules),
    )


def check_rules(linked: _Tree) -> None:
    """Refuse rules of several tables that could not be kept by parents first and by their rows then."""
    for rule in linked.rules:
        home = _home(linked, rule)
        if home is None:
            _refuse_full_names(linked, rule)
            raise refusal(
                f"the rule {quote(rule.text)} names a column that no table has beside the others; one that a parent "
                "and its rows both have is the rows' own: give it another name in one of them"
            )
        own = _own_names(linked.table(home))
        if _has_own_map(rule) and own.intersection(rule.columns[:-1]) and rule.columns[-1] not in own:
            raise refusal(
                f"the rule {quote(rule.text)} lets rows determine a column of their parent, which is drawn first; list "
                "its values, or turn it round"
            )


def _refuse_full_names(linked: _Tree, rule: Rule) -> None:
    """Refuse TABLE.COLUMN in a rule where COLUMN alone says it."""
    owned = {table.name: _own_names(table) for table in linked.tables}
    for column in rule.columns:
        table, _, own = column.partition(".")
        if [name for name, names in owned.items() if own in names] == [table]:
            raise refusal(f"the rule {quote(rule.text)} names {quote(column)}; write {quote(own)}, without the table")


def _called(field: Field, name: str) -> Field:
    return field if field.name == name else replace(field, name=name)


def _own_names(table: LinkedTable) -> set[str]:
    return {*table.schema.names, *(field.name for field in lag_fields(table))}


def _home(linked: _Tree, rule: Rule) -> str | None:
    """Return the table that a rule of several is of: the last that has one of its columns, and sees the others."""
    for table in reversed(linked.tables):
        own = _own_names(table)
        seen = own | set(given_names(linked, table.name).values())
        if own.intersection(rule.columns) and seen.issuperset(rule.columns):
            return table.name
    return None


def _rules_of(linked: _Tree, name: str) -> list[_Named]:
    """Return the rules of a table's coded rows; a dependency without its values stays with its own table."""
    names = given_names(linked, name)
    found = _named(linked.table(name).schema.rules, name)
    of_all = _named(linked.rules, "all tables")
    found += [each for each in of_all if _home(linked, each[1]) == name]
    for above in linked.above(name):
        of_above = [
            *_named(above.schema.rules, above.name),
            *(each for each in of_all if _home(linked, each[1]) == above.name),
        ]
        same = {column for (table, column), called in names.items() if table == above.name and column == called}
        found += [each for each in of_above if same.issuperset(each[1].columns) and not _has_own_map(each[1])]
    return found


def _has_own_map(rule: Rule) -> bool:
    """Return whether a rule is a dependency whose values are not public: each model has its own."""
    return isinstance(rule, Determines) and not rule.values


def _named(rules: Sequence[Rule], where: str) -> list[_Named]:
    """Return rules, each with its number where it stands."""
    return [(f"{number} of {where}", rule) for number, rule in enumerate(rules, 1)]


def _where_it_stands(said: str, *, rules: Sequence[_Named]) -> str:
    """Return an error about rules that were put together with each rule's number in its own list."""
    names = {str(number): name for number, (name, _) in enumerate(rules, 1)}
    return re.sub(r"(rules? |, | and )(\d+)(?= \()", lambda found: found[1] + names.get(found[2], found[2]), said)


def reword_errors(make: Callable[[], T], words: Callable[[str], str]) -> T:
    """Return what is made; an error about it is put in other words, such as of which table it is."""
    try:
        return make()
    except SchemaError as error:
        said, code = words(str(error)), error.code
    raise SchemaError(said, code=code)
