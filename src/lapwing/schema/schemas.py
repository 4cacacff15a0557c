"""The public description of a table, or of several and their relations."""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from lapwing.atomic import write_whole
from lapwing.errors import SchemaError
from lapwing.on_demand import Displayable, LazyFunction
from lapwing.schema.changes import open_keys, schema_changes, selected
from lapwing.schema.checks import field_error
from lapwing.schema.fields import Field, PrivacyUnit, check_fields, check_spellings, check_weight
from lapwing.schema.files import (
    field_to_dict,
    fields_from,
    file_text,
    fingerprint_of,
    is_of_several,
    table_dialect,
    table_from,
    unit_from,
)
from lapwing.schema.public_tables.cells import check_public_tables
from lapwing.schema.public_tables.tables import PublicTable, public_tables_from
from lapwing.schema.purchases import Purchase, purchases_from
from lapwing.schema.reading import PLAIN, PLAIN_FILE, Dialect
from lapwing.schema.rules.codes import CodedRule
from lapwing.schema.rules.rules import Rule, rule_to_dict, rules_from
from lapwing.schema.rules.search import checked_rules, named_columns
from lapwing.schema.scalars import did_you_mean, path_text, quote, visible
from lapwing.schema.short import schema_in_short
from lapwing.schema.typed import TypedObject, read_json

_PLAIN_MISSING: Final = ("",)
_LISTED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema(Displayable):
    """Everything public: about a table, or about several that are linked, or about events in order.

    `Schema.load` makes it, and so do `Schema.draft`, `Schema.learn` and `Schema.from_foreign`. What is said of columns
    here is of one table; of several each is in ``tables``.

    Parameters
    ----------
    fields : tuple of Field
        The columns in order, at least one of them modelled (not an identifier).
    privacy_unit : PrivacyUnit or None
        Whose records are protected together; None where one row is one person.
    is_draft : bool, default False
        Whether the owner has yet to edit it. A draft may leave bounds and categories open; nothing is released
        under it.
    name : str
        Name of the table, may be empty.
    questions : tuple of str
        What the owner has yet to answer before anything is learned or released, such as whose rows are protected
        together; written by programs that convert other metadata.
    purchases : tuple of Purchase
        What was paid for bounds and lists that were learned from the table.
    rules : tuple of Rule
        What every row keeps, as `lapwing.schema.rules.rules.rules_from` reads it. A draft's are not looked at but for
        the columns that they name.
    public_tables : tuple of PublicTable
        Cross-tables of the population that are public, such as official totals.
    weight : str or None
        The column of survey weights: a modelled integer or number, at least 0, which says how many each row stands for.
    dialect : Dialect
        How the private table is written where it is a text file. Synthetic rows are written plainly.
    linked : LinkedTables or None
        Of several tables, and of events in order: all of them and how they are linked. Nothing else is given then.

    Raises
    ------
    SchemaError
        Where a rule of the schema format is broken; the sentence names the field and the rule.

    Examples
    --------
    >>> schema = Schema.load({"fields": [
    ...     {"name": "id", "type": "integer", "role": "identifier"},
    ...     {"name": "sex", "type": "string", "categories": ["f", "m"]},
    ... ]})
    >>> [field.name for field in schema.columns]
    ['sex']
    >>> home = {"name": "home", "type": "integer", "role": "identifier"}
    >>> schema = Schema.load({"tables": {
    ...     "homes": {"primaryKey": "home", "fields": [home, {"name": "rural", "type": "boolean"}]},
    ...     "people": {"foreignKeys": {"home": "homes"}, "maxRows": 3, "fields": [
    ...         home, {"name": "adult", "type": "boolean"}]},
    ... }})
    >>> schema.tables["people"].names, schema.linked.max_rows("people")
    (('home', 'adult'), 3)
    """

    fields: tuple[Field, ...] = ()
    privacy_unit: PrivacyUnit | None = None
    is_draft: bool = False
    name: str = ""
    questions: tuple[str, ...] = ()
    purchases: tuple[Purchase, ...] = ()
    weight: str | None = None
    public_tables: tuple[PublicTable, ...] = ()
    rules: tuple[Rule, ...] = ()
    dialect: Dialect = PLAIN_FILE
    linked: Any = None  # its class is made of schemas
    # Made when the schema is first found complete; None before.
    _coded_rules: tuple[CodedRule, ...] | None = dataclasses.field(init=False, repr=False, compare=False, default=None)
    _by_name: dict[str, Field] = dataclasses.field(init=False, repr=False, compare=False, default_factory=dict)

    def __repr__(self) -> str:
        return schema_in_short(self) if self.linked is None else repr(self.linked)

    draft = LazyFunction("draft")
    learn = LazyFunction("learn")
    from_foreign = LazyFunction("from_foreign")
    from_frame_types = LazyFunction("from_frame_types")
    check = LazyFunction("check", is_method=True)
    _linked_from = LazyFunction("linked tables")

    def __post_init__(self) -> None:
        _check_types(self)
        if self.linked is not None:
            object.__setattr__(self, "linked", Schema._linked_from(self.linked))
            _check_nothing_else(self)
            return
        object.__setattr__(self, "fields", tuple(self.fields))
        object.__setattr__(self, "purchases", tuple(self.purchases))
        object.__setattr__(self, "public_tables", public_tables_from(self.public_tables))
        check_fields(self.fields)
        check_spellings(self.fields, self.dialect)
        object.__setattr__(self, "_by_name", {field.name: field for field in self.fields})
        if self.privacy_unit is not None:
            _find(self._by_name, self.privacy_unit.field, "privacyUnit")
        if self.weight is not None:
            check_weight(self.weight, self.fields)
        object.__setattr__(self, "rules", rules_from(self.rules))
        for name, what in named_columns(self.rules):
            if _find(self._by_name, name, what).identifier:
                said = f"{what}: column {quote(name)} is an identifier, which is not modelled; leave it out"
                raise SchemaError(said, code="LW219")
        if not self.is_draft:
            self.check_complete()

    def __getitem__(self, name: str) -> Field:
        return self.field(name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.one_table.fields)

    def __or__(self, changes: "Schema | Mapping[str, Any]") -> "Schema":
        """Return the schema with changes: keys of the file format by column, or what another schema says.

        It is a draft while anything is open. Of another schema's fields each replaces the one of its name.
        """
        return dataclasses.replace(self.one_table, **schema_changes(self, changes))

    def select(self, names: Iterable[str]) -> "Schema":
        """Return the schema of some columns, in the order given, and of the privacy unit's.

        Rules, public tables and a weight that name another column are left out.

        Raises
        ------
        SchemaError
            If there is no such column.
        """
        return dataclasses.replace(self.one_table, **selected(self, names))

    @property
    def one_table(self) -> "Schema":
        """The schema itself, which is of one table.

        Raises
        ------
        SchemaError
            Where it is of several, or of events in order.
        """
        if self.linked is None:
            return self
        raise SchemaError(
            'the schema is of linked tables, or of events in "order", and this takes one table; lapwing.synthesize and '
            'its command take it, or give a schema without "tables", "order", "constant" and rules of the row before: '
            "schema.tables has one of each table",
            code="LW252",
        )

    @property
    def tables(self) -> "Mapping[str, Schema]":
        """The schema of each table that is given as data, by name; one table by itself may have an empty one."""
        return {self.name: self} if self.linked is None else self.linked.written

    @property
    def relations(self) -> tuple[Any, ...]:
        """The tables whose rows belong to those of another, and how; of events the one that is of persons."""
        return () if self.linked is None else self.linked.tables[1:]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all fields, identifiers too, in order."""
        return tuple(field.name for field in self.one_table.fields)

    @property
    def columns(self) -> tuple[Field, ...]:
        """The modelled fields: all but identifiers, in order."""
        return tuple(field for field in self.one_table.fields if not field.identifier)

    @property
    def target(self) -> str | None:
        """The column that models will predict, if one has that role."""
        return next((field.name for field in self.one_table.fields if field.target), None)

    @property
    def max_rows(self) -> int:
        """Rows of one privacy unit that are used at most; 1 where the unit is the row."""
        unit = self.one_table.privacy_unit
        return 1 if unit is None else unit.max_rows

    @property
    def names_every_unit(self) -> bool:
        """Whether it is public that no row lacks its unit: each row is one, or the unit's field is required."""
        unit = self.one_table.privacy_unit
        return unit is None or self.field(unit.field).required

    @property
    def unit_label(self) -> str:
        """The privacy unit as the ledger writes it: ``row`` or ``FIELD:MAXROWS``."""
        unit = self.one_table.privacy_unit
        return "row" if unit is None else f"{unit.field}:{unit.max_rows}"

    @property
    def coded_rules(self) -> tuple[CodedRule, ...]:
        """The rules on the codes of the columns; a SchemaError where the schema is an open draft."""
        if self._coded_rules is None:
            self.one_table.check_complete()
        assert self._coded_rules is not None
        return self._coded_rules

    @property
    def as_written_out(self) -> "Schema":
        """The schema of synthetic rows: what they hold is the same, and text is written plainly."""
        if self.one_table.dialect == PLAIN_FILE and all(field.reading == PLAIN for field in self.fields):
            return self
        fields = tuple(dataclasses.replace(field, reading=PLAIN) for field in self.fields)
        return dataclasses.replace(self, fields=fields, dialect=PLAIN_FILE)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the schema in normal form, as 64 hexadecimal digits."""
        return fingerprint_of(self.to_dict())

    def field(self, name: str) -> Field:
        """Return the field of a name.

        Raises
        ------
        SchemaError
            Where there is none; the sentence names close matches.
        """
        return _find(self.one_table._by_name, name, "the schema")

    def check_complete(self, what: str = "the schema") -> None:
        """Check that every modelled field has a domain, which only a draft may leave open.

        Raises
        ------
        SchemaError
            Naming the first field that lacks bounds or categories; of a draft, ``what`` and all that is open.
        """
        if self.linked is not None:
            return  # none of its tables is a draft
        still_open = [f"{field.name} ({', '.join(open_keys(field))})" for field in self.columns if open_keys(field)]
        if self.is_draft and still_open:
            more = f" and {len(still_open) - _LISTED} more fields" if len(still_open) > _LISTED else ""
            fill = 'fill them in from public knowledge and remove "draft": true'
            way_out = f"{fill} (`lapwing schema learn` learns what you do not know)"
            said = f"{what} is a draft; still open: {', '.join(still_open[:_LISTED])}{more}; {way_out}"
            raise SchemaError(said, code="LW203")
        self.check_answered(what)
        for field in self.columns:
            if field.provenance == "drafted":
                way_out = "check its type and values, and say where they are known from: public, assumed, or dp"
                raise field_error(field.name, f"its provenance is still drafted; {way_out}", "LW203")
            _ = field.domain
        if self._coded_rules is None:
            object.__setattr__(self, "_coded_rules", checked_rules(self.columns, self.rules) if self.rules else ())
        check_public_tables(self)

    def check_answered(self, what: str = "the schema") -> None:
        """Check that its owner has answered all questions; a SchemaError that names the first that is open."""
        if self.questions:
            more = f" (and {len(self.questions) - 1} more)" if len(self.questions) > 1 else ""
            asked = f"{visible(self.questions[0])}{more}"
            way_out = 'answer it in the schema and take it out of "questions"'
            raise SchemaError(f"{what} has an open question: {asked}; {way_out}", code="LW204")

    @classmethod
    def load(cls, source: "str | os.PathLike[str] | Mapping[str, Any] | Schema") -> "Schema":
        """Return a schema from a file, from a mapping in the file format, or as it is.

        Parameters
        ----------
        source : path, mapping or Schema
            A path names a JSON file of at most 64 MiB. Several tables: ``{"tables": {NAME: {"primaryKey": ...,
            "foreignKeys": {...}, "maxRows": ..., "order": ..., "fields": [...]}, ...}, "rules": [...]}``; or two as
            ``{"parent": {...}, "child": {...}, "key": ..., "maxChildren": ...}``. One table of events in order: a
            schema with ``privacyUnit`` and ``order``.

        Returns
        -------
        Schema

        Raises
        ------
        SchemaError
            Where the file cannot be read or breaks a rule of the format.
        ParameterError
            Where the file of a public table is a private table of the call.
        """
        schema, what = cls._found(source)
        if schema is not source:
            schema.check_complete(what)
        elif schema.linked is not None:  # it may have been read before the private tables were known
            schema.linked.refuse_private()
        return schema

    @classmethod
    def load_draft(cls, source: "str | os.PathLike[str] | Mapping[str, Any] | Schema") -> "Schema":
        """Return a schema of one table as `load` does, but as open as its owner has left it: a draft then."""
        return cls._found(source, may_be_open=True)[0].one_table

    @classmethod
    def _found(
        cls, source: "str | os.PathLike[str] | Mapping[str, Any] | Schema", *, may_be_open: bool = False
    ) -> tuple["Schema", str]:
        """Return the schema that a source holds, and what messages call it."""
        if isinstance(source, Schema):
            return source, "the schema"
        if isinstance(source, Mapping):
            return cls._read(source, may_be_open=may_be_open), "the schema"
        if isinstance(source, str | os.PathLike):
            place = Path(source)
            found = cls._read(read_json(place), may_be_open=may_be_open, folder=place.parent)
            return found, f"schema file {quote(place.name)}"
        raise SchemaError(f"a schema is a path, a mapping or a Schema, got a {type(source).__name__}", code="LW206")

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """Return the schema that a mapping in the file format describes; no path in it is followed.

        Raises
        ------
        SchemaError
            Where a rule of the format is broken, also where a draft leaves bounds or categories open.
        """
        schema = cls._read(d)
        schema.check_complete()
        return schema

    @classmethod
    def _read(cls, source: object, *, may_be_open: bool = False, folder: Path | None = None) -> Self:
        """Return the schema that a value in the file format describes, however open a draft is.

        folder: where the file lies, and beside it those of its public tables.
        """
        if is_of_several(source) and not may_be_open:
            return cls(linked=cls._linked_from(source, folder))
        table = table_from(source)
        fields, questions = fields_from(table), table("questions", ())
        return cls(
            fields=fields,
            privacy_unit=unit_from(table("privacyUnit")),
            is_draft=table.flag("draft") or (may_be_open and (bool(questions) or any(map(open_keys, fields)))),
            name=table("name", ""),
            questions=questions,
            purchases=purchases_from(table),
            rules=rules_from(table("rules")),
            weight=table("weight"),
            public_tables=public_tables_from(table("publicTables")),
            dialect=table_dialect(table("dialect")),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the schema in the file format, in normal form.

        Returns
        -------
        dict
            JSON values only; `from_dict` gives an equal schema back.
        """
        if self.linked is not None:
            several: dict[str, Any] = self.linked.to_dict()
            return several
        unit, missing_values = self.privacy_unit, self.fields[0].missing_values
        # The table's own line holds those that all fields share.
        if any(field.missing_values != missing_values for field in self.fields):
            missing_values = _PLAIN_MISSING
        found = {
            "name": self.name,
            "draft": self.is_draft,
            "privacyUnit": None if unit is None else {"field": unit.field, "maxRows": unit.max_rows},
            "weight": self.weight,
            "dialect": self.dialect.to_dict(),
            "publicTables": [public.to_dict() for public in self.public_tables],
            # An empty list says that nothing is read as missing.
            "missingValues": None if missing_values == _PLAIN_MISSING else list(missing_values),
            "questions": list(self.questions),
            "purchases": [purchase.to_dict() for purchase in self.purchases],
            "rules": list(map(rule_to_dict, self.rules)),
        }
        told = {key: value for key, value in found.items() if value or (key == "missingValues" and value is not None)}
        return {**told, "fields": [field_to_dict(field, missing_values) for field in self.fields]}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as a JSON file, the same bytes for equal schemas.

        Parameters
        ----------
        path : path
            Appears whole or not at all; an existing file is replaced.

        Raises
        ------
        DataError
            Where the file cannot be written.
        """
        write_whole(Path(path_text("path", path)), file_text(self.to_dict()))


def _check_types(schema: Schema) -> None:
    """Refuse values of another type than a schema has, such as a table."""
    for key, kind in (("fields", Field), ("purchases", Purchase)):
        listed = getattr(schema, key)
        if not isinstance(listed, list | tuple) or not all(isinstance(each, kind) for each in listed):
            raise SchemaError(f"{key} of a schema must be a list of {kind.__name__}, got {quote(listed)}", code="LW206")
    for key, kinds in (("privacy_unit", PrivacyUnit | None), ("dialect", Dialect)):
        if not isinstance(getattr(schema, key), kinds):
            raise SchemaError(f"{key} of a schema is of a wrong type, got {quote(getattr(schema, key))}", code="LW206")
    own = TypedObject({"name": schema.name, "draft": schema.is_draft, "questions": schema.questions}, "the schema")
    for key, value in (("name", own.text("name")), ("is_draft", own.flag("draft"))):
        object.__setattr__(schema, key, value)
    object.__setattr__(schema, "questions", own.texts("questions"))


def _check_nothing_else(schema: Schema) -> None:
    """Refuse what is said of one table beside several."""
    for each in dataclasses.fields(schema):
        if each.init and each.name != "linked" and getattr(schema, each.name) != each.default:
            raise SchemaError(f"{each.name} is said of one table, and these are linked; leave it out", code="LW250")


def _find(fields: dict[str, Field], name: str, where: str) -> Field:
    """Return the field of a name, or raise naming close matches, or else the first."""
    if type(name) is str and name in fields:
        return fields[name]
    names = list(fields)
    listed = ", ".join(map(quote, names[:_LISTED])) + (", ..." if len(names) > _LISTED else "")
    way_out = did_you_mean(name, names, f"choose one of {listed}")
    raise SchemaError(f"{where}: no field is called {quote(name)}; {way_out}", code="LW219")
