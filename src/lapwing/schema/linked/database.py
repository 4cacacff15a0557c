"""What is public about linked tables: a tree of private tables, and public ones that they refer to."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

from lapwing.errors import ParameterError
from lapwing.on_demand import Describable
from lapwing.schema.linked import reading
from lapwing.schema.linked.coded import Lag, check_rules, coded_schema, given_names, lag_of
from lapwing.schema.linked.lookups import without_cells
from lapwing.schema.linked.tables import LinkedTable, Lookup, refusal
from lapwing.schema.rules.rules import Rule, rules_from
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.schema.short import linked_in_short

__all__ = ["LinkedTables", "linked_from"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTables(Describable):
    """What a schema says of linked tables: households and persons, patients and their stays, or events in order.

    Parameters
    ----------
    tables : tuple of LinkedTable
        The private tables, each after its parent: the first has no parent, and its key is the privacy unit.
    rules : tuple of Rule
        What every row keeps together with the columns of its parents and, as ``previous.NAME``, of the row before.
        Rules of one table alone are in its schema.
    lookups : tuple of Lookup
        Public tables that private ones refer to.
    columns : tuple of str, default ()
        Of one table of events of a person its columns in order: the first table is then made of the second.

    Raises
    ------
    SchemaError
        Where a rule is broken; the sentence names it.

    Notes
    -----
    The privacy unit is one value of the first table's key: its row there, and of each other table at most ``maxRows``
    rows for each row of its parent.

    Examples
    --------
    >>> home = {"name": "home", "type": "integer", "role": "identifier"}
    >>> size = {"name": "rooms", "type": "integer", "constraints": {"minimum": 1, "maximum": 9}}
    >>> linked = Schema.load({"tables": {
    ...     "homes": {"primaryKey": "home", "fields": [home, size]},
    ...     "people": {"foreignKeys": {"home": "homes"}, "maxRows": 3, "fields": [
    ...         home, {"name": "adult", "type": "boolean"}]},
    ... }}).linked
    >>> linked.coded["people"].names, linked.coded["people"].unit_label
    (('home', 'adult', 'row.number', 'row.left', 'previous.adult', 'rooms', 'people'), 'home:3')
    """

    tables: tuple[LinkedTable, ...]
    rules: tuple[Rule, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    columns: tuple[str, ...] = ()
    coded: Mapping[str, Schema] = field(init=False, repr=False, compare=False)
    """The schema of each table's coded rows, under which it is asked about."""

    __repr__ = linked_in_short

    def __post_init__(self) -> None:
        if len(self.tables) < 2:
            raise refusal(f"linked tables must be two at least, got {len(self.tables)}; one by itself has a schema")
        names = [*(table.name for table in self.tables), *(lookup.name for lookup in self.lookups)]
        for name in names:
            if names.count(name) > 1:
                raise refusal(f"the table {quote(name)} stands twice; rename one")
        for table in self.tables[1:]:
            self._check_link(table)
        object.__setattr__(self, "rules", rules_from(self.rules))
        check_rules(self)
        object.__setattr__(self, "coded", {table.name: coded_schema(self, table.name) for table in self.tables})

    @property
    def key(self) -> str:
        """The first table's key, of which one value is the privacy unit."""
        key = self.tables[0].key
        assert key is not None
        return key

    @property
    def is_events(self) -> bool:
        """Whether there is one table, of events of a person."""
        return bool(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the private tables, in order."""
        return tuple(table.name for table in self.tables)

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the tables that are given as data, in order."""
        return self.names[1:] if self.is_events else self.names

    @property
    def protected(self) -> str:
        """What is protected, in a few sentences."""
        return str(self._in_words("protected rows"))

    def table(self, name: str) -> LinkedTable:
        """Return the private table of a name."""
        for table in self.tables:
            if table.name == name:
                return table
        raise refusal(f"there is no private table {quote(name)}; tables are {', '.join(self.names)}")

    def home_of(self, columns: Collection[str], what: str, *, is_own: bool = False) -> str:
        """Return the first table that has columns, of its own or also of the rows above its rows.

        A column that two tables have by this name is of neither. what: who asks, for errors.
        """
        own = {table.name: {field.name for field in table.schema.columns} for table in self.tables}
        for column in columns:
            twice = [name for name, names in own.items() if column in names]
            if len(twice) > 1:
                raise _homeless(what, f"{quote(column)} is a column of {' and of '.join(twice)}")
        for name, schema in self.coded.items():
            if (own[name] if is_own else {field.name for field in schema.columns}).issuperset(columns):
                return name
        known = "; ".join(f"{name}: {', '.join(names)}" for name, names in own.items())
        raise _homeless(what, f"no table has the columns {', '.join(map(quote, columns))} together ({known})")

    def first_column(self, name: object) -> str:
        """Return a modelled column of the first table, which may be called TABLE.COLUMN: conditions are on these."""
        first = self.tables[0]
        columns = [field.name for field in first.schema.columns]
        called = [name, *(str(name).removeprefix(f"{table}.") for table in (first.name, *self.given[:1]))]
        for column in (each for each in columns if each in called):
            return column
        whose = f"of each {self.key}" if self.is_events else f"of {first.name}"
        raise ParameterError(
            f"where may name columns {whose}, which are drawn before other rows, got {quote(name)}; columns are "
            f"{', '.join(columns)}",
            code="LW330",
        )

    @property
    def written(self) -> dict[str, Schema]:
        """The schema of the rows that are written of each table that is given."""
        return {name: self.as_written(name) for name in self.given}

    def as_written(self, name: str) -> Schema:
        """Return the schema of the rows that are written of a table; events have their persons' columns too."""
        found = self.table(name).as_written
        if not self.is_events:
            return found
        fields = {field.name: field for field in (*found.fields, *self.tables[0].own)}
        return replace(found, fields=tuple(fields[column] for column in self.columns))

    def above(self, name: str) -> tuple[LinkedTable, ...]:
        """Return the parent of a table, the parent of that, and so on."""
        parent = self.table(name).parent
        return () if parent is None else (self.table(parent), *self.above(parent))

    def below(self, name: str) -> tuple[LinkedTable, ...]:
        """Return the child tables of a table."""
        return tuple(table for table in self.tables if table.parent == name)

    def max_rows(self, name: str) -> int:
        """Return the rows of one privacy unit that are used at most in a table."""
        return prod(each.max_rows for each in (self.table(name), *self.above(name)) if each.parent is not None)

    def lag(self, name: str) -> Lag | None:
        """Return what the coded rows of a table say of the row before; None where a parent has one row at most."""
        return lag_of(self.table(name))

    def given_names(self, name: str) -> dict[tuple[str, str], str]:
        """Return what each column of the tables above, as (table, column), is called in a table's coded rows."""
        return given_names(self, name)

    @classmethod
    def read(cls, found: object, folder: Path | None) -> "LinkedTables":
        """Return linked tables in one of the three forms of the file; see `Schema.load`.

        folder: where the file lies, and beside it those of its public tables; None follows no path.
        """
        return without_cells(lambda stand_in: cls(**reading.parts_from(found, folder, stand_in=stand_in)))

    @classmethod
    def from_dict(cls, values: object) -> "LinkedTables":
        """Return what `to_dict` wrote; anybody may have changed the file, so no path in it is followed."""
        if isinstance(values, str):
            raise refusal("linked tables in a file of a release must be an object, got a text")
        return cls.read(values, None)

    def refuse_private(self) -> None:
        """Refuse public tables whose file is a private table of the call."""
        for lookup in self.lookups:
            lookup.refuse_private()

    def to_dict(self) -> dict[str, Any]:
        """Return linked tables in the file format: JSON values that `read` makes equal ones of."""
        return reading.to_dict(self.tables, self.rules, self.lookups, self.columns)

    def _check_link(self, table: LinkedTable) -> None:
        """Refuse a table whose parent does not come before it, or whose key is not of the parent's kind."""
        before = self.tables[: self.tables.index(table)]
        parents = [each for each in before if each.name == table.parent]
        if not parents or table.link is None:
            raise refusal(f"{table.name}: its parent {quote(table.parent)} must be a table that stands before it")
        key = parents[0].key
        if key is None:
            raise refusal(f'{parents[0].name}: other tables refer to it, so it needs a "primaryKey"')
        # Cells of the key could else name one unit in one table and another in the other.
        if _reading_of(table.schema, table.link) != _reading_of(parents[0].schema, key):
            said = "must have the same type, missingValues, trim and ignoreCase in both tables; write them alike"
            raise refusal(f"the key {quote(table.link)} of {table.name} {said}")


def _reading_of(schema: Schema, key: str) -> tuple[object, ...]:
    field, dialect = schema.field(key), schema.dialect
    return field.type, field.missing_values, dialect.trim, dialect.ignore_case


def _homeless(what: str, why: str) -> ParameterError:
    return ParameterError(f"{what} is about the rows of one table, and {why}", code="LW330")


def linked_from(given: object, folder: Path | None = None) -> LinkedTables:
    """Return linked tables as they are, or as `LinkedTables.read` reads them."""
    return given if isinstance(given, LinkedTables) else LinkedTables.read(given, folder)


def with_files(linked: LinkedTables, files: object) -> LinkedTables:
    """Return a schema with the names of the files that its public tables are of, by table: only names, to be said."""
    if not isinstance(files, Mapping) or not files:
        return linked
    return replace(linked, lookups=tuple(replace(each, file=str(files.get(each.name, ""))) for each in linked.lookups))
