"""Metadata of SDV: one table or several, all versions, in JSON; what each sdtype becomes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.converted import (
    MISREAD,
    ConvertedTable,
    Lack,
    Remarks,
    chosen_table,
    converted_table,
    reading_of,
    refusal,
    unit_lack,
)
from lapwing.extras.connect.metadata.linked import ConvertedTables, ForeignTable, Relation, linked_tables
from lapwing.schema.fields import Field, FieldType, MadeUp
from lapwing.schema.reading import PLAIN
from lapwing.schema.scalars import names_in_short, parse_date, parse_datetime, quote
from lapwing.schema.typed import TypedObject, check_object

_ENDS: Final = (("minimum", "range_min"), ("maximum", "range_max"))
_LISTS: Final = ("categorical", "ordinal")
_RANGE_KEYS: Final = ("range_min", "range_max", "range_values", "range_is_nullable")
_KEYS: Final = frozenset(
    {
        *("sdtype", "computer_representation", "decimal_places", "order", "order_by", "high_cardinality"),
        *("datetime_format", "regex_format", "pii", *_RANGE_KEYS),
    }
)
_MADE_UP: Final[dict[str, MadeUp]] = {
    **{"name": "name", "first_name": "first name", "last_name": "last name", "email": "e-mail"},
    **{"phone_number": "phone", "address": "address", "company": "company"},
}
_TIME_OF_DAY: Final = re.compile("%[-#]?[HIMSfpXcsT]")
_ISO_FORMATS: Final = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M")
_LONGEST_FORMAT: Final = 200
# A range in more steps than cells of a number is no resolution, but the precision of a float.
_MOST_STEPS: Final = 2**32
_MOST_PLACES: Final = 9


@dataclass(slots=True)
class Columns:
    """The columns of one table, and what has been found out about them so far."""

    source: Mapping[str, Any]
    where: str
    lacks: list[Lack] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    remarks: Remarks = field(default_factory=lambda: Remarks(most=10))
    is_ranged: bool = False

    def take_keys(self, which: str, keys: Sequence[Sequence[str]]) -> None:
        """Take the keys of the table: a column that is a key by itself names rows, which makes it an identifier."""
        for key in keys:
            for column in key:
                if column not in self.source:
                    raise refusal(f"{self.where}: {which} names {quote(column)}, which is no column; correct it")
            if len(key) == 1:
                self.keys.add(key[0])
            else:
                self.remarks.add(f"{which} of several columns has no counterpart", *key)

    def field_of(self, column: str) -> Field:
        """Return the field of a column."""
        own = TypedObject.of(self.source[column], f"{self.where}: column {quote(column)}", MISREAD)
        sdtype = own.text("sdtype", None)
        if not _KEYS.issuperset(own.values):
            self.remarks.add("unknown settings were read past", column)
        if self._is_identifier(column, sdtype, own):
            what = None if column in self.keys else _MADE_UP.get(sdtype)
            return Field(name=column, type="string", identifier=True, made_up=what)
        self.is_ranged |= any(own(key) is not None for key in _RANGE_KEYS)
        required = not own.flag("range_is_nullable", usual=True)
        if sdtype == "boolean":
            return Field(name=column, type="boolean", required=required)
        read = {"numerical": self._number, "datetime": self._moment}.get(sdtype, self._list)
        return Field(name=column, required=required, **read(column, own))

    def all_lacks(self) -> list[Lack]:
        """Return what is missing beside domains."""
        if not self.is_ranged:
            return self.lacks
        writes = "SDV writes the smallest, largest and different values of the table itself when it detects metadata"
        way_out = f"{writes}: put public ones in their place, or leave them if they are"
        return [Lack("", "whether the ranges and lists in the file are public", way_out), *self.lacks]

    def _is_identifier(self, column: str, sdtype: str, own: TypedObject) -> bool:
        """Return whether SDV makes up the values of a column instead of learning them; say why it does."""
        if column in self.keys or sdtype == "id":
            if own("regex_format") is not None:
                self.remarks.add("regex_format has no counterpart, as identifiers become row numbers", column)
            return True
        if sdtype in ("boolean", "numerical", "datetime", *_LISTS) or not own.flag("pii", usual=True):
            return False
        if sdtype == "unknown":
            way_out = 'give it another type and a domain, or leave it the role "identifier" and it is not modelled'
            self.lacks.append(Lack(column, "its type, which the file calls unknown", way_out))
        else:
            self.remarks.add("personal data, which SDV replaces by invented values, are identifiers here", column)
        return True

    def _number(self, column: str, own: TypedObject) -> dict[str, Any]:
        """Return type, bounds and resolution of a numerical column."""
        bounds = {key: own.number(theirs) for key, theirs in _ENDS}
        stored, places = own.text("computer_representation"), own("decimal_places")
        if not stored and places is None:
            self.lacks.append(Lack(column, "whether the numbers are whole", 'choose type "integer" or "number"'))
            return {"type": "number", **bounds}
        whole_places = None if places is None else own.whole("decimal_places", 0)
        if whole_places == 0 or stored.lower().startswith(("int", "uint")):
            return {"type": "integer", **bounds}
        return {"type": "number", "resolution": _step(whole_places, bounds), **bounds}

    def _moment(self, column: str, own: TypedObject) -> dict[str, Any]:
        """Return type and bounds of a datetime column."""
        form = own.text("datetime_format") or None
        if len(form or "") > _LONGEST_FORMAT:
            raise own.wrong("datetime_format", f"be a text of at most {_LONGEST_FORMAT} characters")
        kind: FieldType = "date" if form is not None and not _TIME_OF_DAY.search(form) else "datetime"
        form = None if form is None else re.sub("%[-#]", "%", form)  # a day without its 0 is read as one with it
        reading = PLAIN if form in _ISO_FORMATS else reading_of(kind, format=form) if "%" in (form or "") else None
        if reading is None:
            wanted = "2010-12-31" if kind == "date" else "2010-12-31T23:00:00"
            self.remarks.add(f"moments must be written as {wanted} in the table, whatever datetime_format is", column)
        found: dict[str, Any] = {"type": kind, "reading": reading or PLAIN}
        for key, theirs in _ENDS:
            if own(theirs) is not None:
                found[key] = _iso(own(theirs), form, kind, f"{own.where}: {theirs}")
        return found

    def _list(self, column: str, own: TypedObject) -> dict[str, Any]:
        """Return type and categories of a column of categories, or of personal data that are no secret."""
        key = "order" if own("range_values") is None else "range_values"
        if own("order_by") is not None:
            self.remarks.add("order_by says how categories are ordered and not which there are", column)
        if own(key) is None:
            return {"type": "string"}
        listed = own.listed(key, least=1)
        sorts = set(map(type, listed))
        if not sorts <= {str, int, float, bool}:
            raise own.wrong(key, "hold texts, numbers, true or false, nothing else")
        kind: FieldType = "string"
        if sorts <= {int, float}:
            kind = "integer" if sorts == {int} else "number"
        elif sorts == {bool}:
            if len(listed) == 2:
                return {"type": "boolean"}
            kind = "boolean"
        # The empty text is a category where it is listed, and stands for a missing cell elsewhere.
        missing = () if "" in listed else ("",)
        ordered = own("sdtype") == "ordinal" or own("order") is not None
        # SDV lists what it detects in the order of the table's rows, which is private where the list is not.
        in_order = sorted(listed) if not ordered and (len(sorts) == 1 or sorts == {int, float}) else listed
        return {"type": kind, "categories": tuple(in_order), "ordered": ordered, "missing_values": missing}


def _step(places: int | None, bounds: Mapping[str, Any]) -> float | None:
    """Return the step of so many decimal places, unless that is finer than cells of the range."""
    if places is None or places > _MOST_PLACES or None in bounds.values():
        return None
    step = float(f"1e-{places}")
    # As floats, whose difference may be infinite where that of whole numbers is more than a division can take.
    return step if (float(bounds["maximum"]) - float(bounds["minimum"])) / step <= _MOST_STEPS else None


def _iso(value: object, form: str | None, kind: str, where: str) -> str:
    """Return a moment, written in SDV's format, as ISO text."""
    if isinstance(value, str) and len(value) <= _LONGEST_FORMAT:
        if form is None and (parse_date(value) is not None or parse_datetime(value) is not None):
            return value
        try:
            found = datetime.strptime(value, form or "")
        except (ValueError, re.error):  # a directive that stands twice reaches the regular expression
            found = None
        if found is not None and found.tzinfo is None:
            return found.date().isoformat() if kind == "date" else found.isoformat()
    raise refusal(f"{where} {quote(value)} is not of the form {quote(form)}; correct one of them")


_VERSION: Final = "METADATA_SPEC_VERSION"
_SEVERAL: Final = ("V1", "V2", "MULTI_TABLE_V1")
_SINGLE: Final = ("SINGLE_TABLE_V1", "SINGLE_TABLE_V2")


def is_sdv(value: object) -> bool:
    """Return whether a value names a version of SDV's metadata, or has a column with an sdtype or an older type."""
    if not isinstance(value, Mapping):
        return False
    if is_first_sdv(value):
        return True
    tables = value.get("tables")
    return _VERSION in value or any(
        isinstance(column, Mapping) and "sdtype" in column
        for table in (value, *(tables.values() if isinstance(tables, Mapping) else ()))
        if isinstance(table, Mapping) and isinstance(table.get("columns"), Mapping)
        for column in table["columns"].values()
    )


def read_sdv(value: object, name: str, table: str | None) -> ConvertedTable:
    """Return the schema of one table in an SDV metadata file; `table` may be None where there is one."""
    whole = _whole(value, name)
    chosen, described, where = _table(whole, name, table)
    columns, fields = _columns(described, where)
    beside = "column_relationships has no counterpart: columns are measured together by what mechanisms find"
    notes = [beside] * bool(described.get("column_relationships"))
    return converted_table(
        fields,
        name=chosen,
        lacks=[*_unit_lacks(whole, chosen, described, where), *columns.all_lacks()],
        notes=[*notes, *columns.remarks.texts()],
    )


def read_sdv_tables(value: object, name: str) -> ConvertedTables | None:
    """Return the draft of all tables of an SDV metadata file, None where no key links them."""
    whole = _whole(value, name)
    relations = _relations(whole, name)
    if not relations or "tables" not in whole:
        return None
    tables = []
    for chosen in check_object(whole["tables"], f"{name}: tables"):
        _, described, where = _table(whole, name, chosen)
        keys = [each.columns for each in relations if each.child == chosen]
        keys += [each.key for each in relations if each.parent == chosen]
        columns, fields = _columns(described, where, keys)
        own = TypedObject(described, where, MISREAD)
        primary, index = _names(own, "primary_key"), _names(own, "sequence_index")
        tables.append(
            ForeignTable(
                name=chosen,
                fields=fields,
                key=next((key[0] for key in primary if len(key) == 1), ""),
                order=next(chain.from_iterable(index), ""),
                lacks=tuple(columns.all_lacks()),
                notes=columns.remarks.texts(),
            )
        )
    return linked_tables(tables, relations, name)


def _whole(value: object, name: str) -> Mapping[str, Any]:
    """Return metadata, those of a first version in the form of later ones."""
    whole = check_object(value, name)
    return later_form(whole, name) if is_first_sdv(whole) else whole


def _columns(
    described: Mapping[str, Any], where: str, links: Sequence[Sequence[str]] = ()
) -> tuple[Columns, tuple[Field, ...]]:
    """Return the columns of a table, and their fields; links: keys of it that relationships name."""
    own = TypedObject(described, where, MISREAD)
    columns = Columns(own.inner("columns", None).values, where)
    for key in ("primary_key", "alternate_keys"):
        columns.take_keys(key, _names(own, key))
    columns.take_keys("a key of a relationship", links)
    return columns, tuple(columns.field_of(column) for column in columns.source)


def _table(whole: Mapping[str, Any], name: str, wanted: str | None) -> tuple[str, Mapping[str, Any], str]:
    """Return the name of the table to read (empty where it has none), the table, and what messages call it."""
    version = whole.get(_VERSION)
    known = (*_SEVERAL, *_SINGLE)
    if version is not None and version not in known:
        raise refusal(
            f"{name}: {_VERSION} {quote(version)} is not known; known are {', '.join(known)}. "
            "SDV's Metadata.upgrade_metadata makes new files of old ones"
        )
    if version in _SINGLE or (version is None and "tables" not in whole):
        if wanted is not None:
            said = f"{name} describes one table and does not name it; leave out the table {quote(wanted)}"
            raise SchemaError(said, code="LW262")
        return "", whole, name
    tables = check_object(whole.get("tables"), f"{name}: tables")
    chosen = chosen_table(list(tables), wanted, name)
    where = f"{name}: table {quote(chosen)}"
    return chosen, check_object(tables[chosen], where), where


def _names(own: TypedObject, key: str) -> list[tuple[str, ...]]:
    """Return keys, each as a tuple of columns: a name, a list of names, or in V2 a list of lists."""
    listed = own(key, ())
    each = (replace(own, values={key: one}) for one in (listed if isinstance(listed, list | tuple) else [listed]))
    keys = [one.columns(key) for one in each]
    is_composite = key == "primary_key" and isinstance(listed, list)
    return [tuple(chain.from_iterable(keys))] if is_composite else keys


def _unit_lacks(whole: Mapping[str, Any], chosen: str, described: Mapping[str, Any], where: str) -> list[Lack]:
    """Return a lack where the file says that rows belong together, which SDV takes for no question of privacy."""
    own = TypedObject(described, where, MISREAD)
    sequence = list(chain.from_iterable(_names(own, "sequence_key")))
    parents = [f"sequence_key {quote(column)}" for column in sequence]
    as_child = [each for each in _relations(whole, where) if each.child == chosen] if chosen else []
    parents += [f"key {names_in_short(each.columns)} of {quote(each.parent)}" for each in as_child]
    if not parents:
        return []
    index = chain.from_iterable(_names(own, "sequence_index"))
    ordered = "".join(f', and "order": {quote(column)} to keep the order of its rows' for column in index)
    unit = '"privacyUnit": {"field": the column that names a person, "maxRows": 5}'
    return [unit_lack(f"rows share a {', '.join(parents[:10])}", unit + ordered)]


def _relations(whole: Mapping[str, Any], where: str) -> list[Relation]:
    """Return the relationships between tables."""
    return [
        Relation(
            child=_name(link("child_table_name")),
            columns=tuple(chain.from_iterable(_names(link, "child_foreign_key"))),
            parent=_name(link("parent_table_name")),
            key=tuple(chain.from_iterable(_names(link, "parent_primary_key"))),
        )
        for link in TypedObject(whole, where, MISREAD).objects("relationships")
    ]


def _name(table: object) -> str:
    return table if isinstance(table, str) else quote(table)


# -- Metadata before 1.0, where fields have a `type` and say themselves to which key they point, as later ones.


_STORED: Final = {"integer": "Int64", "float": "Float"}
_SAME: Final = {"datetime": {"format": "datetime_format"}, "id": {"regex": "regex_format"}}


def is_first_sdv(value: object) -> bool:
    """Return whether a value has tables of which a field has one of SDV's first types."""
    tables = _listed(value.get("tables")) if isinstance(value, Mapping) else []
    fields = [_listed(table.get("fields")) for table in tables if isinstance(table, Mapping)]
    return any(isinstance(each, Mapping) and "type" in each for listed in fields for each in listed)


def later_form(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return metadata in the form of SDV 1.0 and later."""
    tables, relationships = {}, []
    for table, described in _named(value.get("tables"), f"{name}: tables").items():
        where = f"{name}: table {quote(table)}"
        own = _named(described.get("fields"), f"{where}: fields")
        columns = {column: _later_column(each, f"{where}: field {quote(column)}") for column, each in own.items()}
        tables[table] = {"columns": columns, **{key: described.get(key) for key in ("primary_key", "sequence_index")}}
        for column, ref in ((column, each["ref"]) for column, each in own.items() if each.get("ref") is not None):
            to = check_object(ref, f"{where}: ref of {quote(column)}")
            link = {"child_table_name": table, "child_foreign_key": column}
            relationships.append({**link, "parent_table_name": to.get("table"), "parent_primary_key": to.get("field")})
    return {"tables": tables, "relationships": relationships}


def _listed(value: object) -> list[Any]:
    """Return tables or fields, which are an object, or in the oldest files a list."""
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []


def _named(value: object, where: str) -> Mapping[str, Mapping[str, Any]]:
    """Return tables or fields by their names."""
    if isinstance(value, list):
        value = {check_object(each, where).get("name"): each for each in value}
    found = check_object(value, where)
    return {name: check_object(each, f"{where}: {quote(name)}") for name, each in found.items()}


def _later_column(about: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a field as a column of later files."""
    kind, category = TypedObject(about, where, MISREAD).text("type", None), about.get("pii_category")
    if about.get("pii") is True:
        category = category[0] if isinstance(category, list) and category else category
        return {"sdtype": category if isinstance(category, str) else "pii", "pii": True}
    found = {theirs: about.get(ours) for ours, theirs in _SAME.get(kind, {}).items()}
    if kind == "numerical":
        found = {"computer_representation": _STORED.get(str(about.get("subtype")))}
    return {"sdtype": kind, **found}
