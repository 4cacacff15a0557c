"""Croissant, MLCommons' metadata for data sets: one record set of it, also as `Release.to_croissant` writes it.

References
----------
MLCommons (2024, 2025), Croissant Format Specification, versions 1.0 and 1.1, http://mlcommons.org/croissant/1.1.
"""

import re
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.converted import (
    ConvertedTable,
    Lack,
    Remarks,
    chosen_table,
    converted_table,
    refusal,
    scalars,
    text_or_empty,
    unit_lack,
)
from lapwing.schema.checks import RANGED_TYPES
from lapwing.schema.fields import Field, FieldType, PrivacyUnit
from lapwing.schema.files import field_from
from lapwing.schema.scalars import is_encodable, quote
from lapwing.schema.typed import check_object, parse_json
from lapwing.schema.values import bound_of

OWN_KEYS: Final = (
    *("role", "required", "categoriesOrdered", "special", "resolution", "scale", "hierarchy", "missingValues"),
    "unlisted",
)
"""Settings of a field that Croissant has no word for, which `Release.to_croissant` writes as a value of its own."""

_TYPES: Final[dict[str, FieldType]] = {
    **{"Text": "string", "URL": "string", "Boolean": "boolean", "Bool": "boolean", "Number": "number"},
    **{"Float": "number", "Integer": "integer", "Date": "date", "DateTime": "datetime"},
}
_SIZED: Final = re.compile(r"(U?Int|B?Float)\d+", re.ASCII)
_MEDIA: Final = frozenset({"ImageObject", "AudioObject", "VideoObject", "BoundingBox", "SegmentationMask", "GeoShape"})
_ENUMERATIONS: Final = frozenset({"Enumeration", "Split"})
_LONGEST_COUNT: Final = 9
_ROW: Final = "row"
_FIGURES: Final = frozenset({"minValue", "maxValue"})


def is_croissant(value: object) -> bool:
    """Return whether a value describes record sets, or says that it conforms to Croissant."""
    if not isinstance(value, Mapping):
        return False
    if any(isinstance(key, str) and key in ("recordSet", "cr:recordSet") for key in value):
        return True
    given = _many(value.get("conformsTo", value.get("dct:conformsTo")))
    return any(isinstance(each, str) and "mlcommons.org/croissant/" in each for each in given)


def read_croissant(value: object, name: str, table: str | None = None) -> ConvertedTable:
    """Return the schema of a record set, chosen by `table`; fields go by the column that they are extracted from.

    Enumerations in the file are categories, a key of one field is an identifier, figures about data are no bounds.
    """
    top = _plain(check_object(value, name))
    sets = [_RecordSet.read(each, name, place) for place, each in enumerate(_many(top.get("recordSet")), 1)]
    tables = [each for each in sets if not each.is_list] or sets
    called = [each.called for each in tables]
    chosen = tables[called.index(chosen_table(called, table, name, [each.alias for each in tables]))]
    # The first of two fields of one id counts, as in a JSON-LD document that is read from its start.
    holders = {key: each for each in reversed(sets) for key in each.fields}
    reading = _Reading(name, holders, Remarks())
    fields = reading.fields(chosen)
    if not fields:
        raise refusal(f"{name}: record set {quote(chosen.called)} has no field that a table can hold; give another")
    title = _text(top.get("name")) or chosen.called
    statement = _json(top.get("differentialPrivacy"), f"{name}: differentialPrivacy")
    unit, lacks = _unit(statement.get("privacy_unit"), {field.name for field in fields})
    if _many(statement.get("purchases")) or _many(statement.get("dp_fields")):
        reading.remarks.add(
            "bounds and lists were learned with privacy budget, as purchases and dp_fields in the file say; "
            "their cost is not taken over, so use the learned schema itself, which passes it on to later certificates"
        )
    return converted_table(fields, name=title, unit=unit, lacks=lacks, notes=reading.remarks.texts())


def _unit(stated: object, fields: Set[str]) -> tuple[PrivacyUnit | None, list[Lack]]:
    """Return the privacy unit of a release, or a lack: were it lost, single rows would be protected instead."""
    if stated is None or stated == _ROW:
        return None, []
    field, _, rows = text_or_empty(stated).rpartition(":")
    is_number = rows.isascii() and rows.isdigit() and len(rows) <= _LONGEST_COUNT
    if field in fields and is_number:
        with suppress(SchemaError):  # no such number of rows
            return PrivacyUnit(field, int(rows)), []
    return None, [unit_lack(f"the file says {quote(stated)}, which is no field that is read and a number of rows")]


def _local(key: str) -> str:
    """Return a name without its prefix or address: ``cr:field`` and ``http://.../croissant/field`` are ``field``."""
    return key if key.startswith("@") else re.split("[:#/]", key)[-1]


def _plain(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with the local names of its keys; the first of two that are then alike counts."""
    found: dict[str, Any] = {}
    for key, value in source.items():
        found.setdefault(_local(key), value)
    return found


def _inner(value: object) -> dict[str, Any]:
    """Return an object with local names, or an empty one for anything else."""
    if not isinstance(value, Mapping):
        return {}
    return _plain({key: each for key, each in value.items() if isinstance(key, str)})


def _many(value: object) -> list[Any]:
    """Return the values of a property, which JSON-LD writes as one or as a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _text(value: object) -> str:
    """Return a text, which may stand under its language."""
    if isinstance(value, Mapping):
        value = value.get("@value") or value.get("en") or next(iter(value.values()), "")
    return text_or_empty(value)


def _target(value: object) -> str:
    """Return the id that ``{"@id": X}`` or ``{"field": {"@id": X}}`` points to; empty for anything else."""
    found = _inner(value)
    if "field" in found:
        found = _inner(found["field"]) or {"@id": found["field"]}
    return text_or_empty(found.get("@id"))


def _names(values: Iterable[object]) -> list[str]:
    """Return local names of types, given as texts or as objects with an id."""
    texts = (each if isinstance(each, str) else _inner(each).get("@id") for each in values)
    return [_local(text) for text in texts if isinstance(text, str)]


def _json(value: object, what: str) -> dict[str, Any]:
    """Return an object that is a JSON value of its own: what has passed through RDF comes back as text."""
    if isinstance(value, str) and is_encodable(value):
        value = parse_json(value.encode(), what)
    return _inner(value)


@dataclass(frozen=True, slots=True)
class _RecordSet:
    """A record set: its names, its fields by id, and its own records."""

    called: str
    alias: str
    fields: dict[str, dict[str, Any]]
    keys: tuple[str, ...]
    data: list[Any] | None
    is_list: bool

    @classmethod
    def read(cls, value: object, name: str, place: int) -> "_RecordSet":
        """Return a record set; fields inside of others stand in their place."""
        where = f"{name}: record set {place}"
        found = _plain(check_object(value, where))
        alias = _text(found.get("name"))
        called = text_or_empty(found.get("@id")) or alias or f"record set {place}"
        fields: dict[str, dict[str, Any]] = {}
        waiting = list(reversed(_many(found.get("field"))))
        while waiting:
            field = _plain(check_object(waiting.pop(), f"{where}: field"))
            nested = _many(field.get("subField"))
            if nested:
                waiting += reversed(nested)
                continue
            key = text_or_empty(field.get("@id")) or _text(field.get("name"))
            if not key:
                raise refusal(f"{where}: field {len(fields) + 1} has neither @id nor name; give it one")
            if key in fields:
                raise refusal(f"{where}: field {quote(key)} stands twice; remove one")
            fields[key] = field
        data = found.get("data")
        is_list = data is not None or bool(_ENUMERATIONS.intersection(_names(_many(found.get("dataType")))))
        keys = tuple(each if isinstance(each, str) else _target(each) for each in _many(found.get("key")))
        # A key that is not understood in part would make an identifier of the other part.
        return cls(called, alias, fields, keys if all(keys) else (), _many(data) or None, is_list)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The record set of each field of a file, and what is noted while one of them is read."""

    name: str
    holders: Mapping[str, _RecordSet]
    remarks: Remarks

    def fields(self, chosen: _RecordSet) -> list[Field]:
        """Return the fields of a record set that a table can hold."""
        if len(chosen.keys) > 1:
            self.remarks.add("a key of several fields is left out")
        found = [self._field(key, about, chosen) for key, about in chosen.fields.items()]
        return [each for each in found if each is not None]

    def _field(self, key: str, about: Mapping[str, Any], chosen: _RecordSet) -> Field | None:
        """Return one field, or None where it is no column of a table."""
        title = self._title(key, about)
        if about.get("value") is not None:
            self.remarks.add("fields with a constant value are left out", title)
            return None
        types = self._types(about)
        if _MEDIA.intersection(types):
            self.remarks.add("images, sounds, videos and shapes are left out", title)
            return None
        kind = _kind(types)
        if kind is None:
            self.remarks.add("no type of text, number, truth value or date is stated: read as text", title)
        elif any(_kind([each]) is None and each not in _ENUMERATIONS for each in types):
            self.remarks.add("data types beside the one that is read, which are not known here, are left out", title)
        kind, is_many = kind or "string", about.get("isArray") is True or about.get("repeated") is True
        if is_many:
            self.remarks.add("cells are lists, which a schema has no type for: read as texts", title)
            kind = "string"
        own = self._own(about, title)
        found = {"name": title, "type": kind, "description": _text(about.get("description"))}
        names = (key, _text(about.get("name")), title)
        if len(chosen.keys) == 1 and chosen.keys[0] in names and own.get("role") is None:
            self.remarks.add("the key only names the rows: an identifier, which is not modelled", title)
            kind = found["type"] = kind if kind == "integer" else "string"
            found["role"] = "identifier"
        is_modelled = not is_many and "role" not in {**found, **own}
        return field_from({**found, **self._domain(about, kind, title, own, is_modelled=is_modelled), **own})

    def _title(self, key: str, about: Mapping[str, Any]) -> str:
        """Return what stands above the column in the file."""
        called = _text(about.get("name")) or key.rpartition("/")[2]
        source = _inner(about.get("source"))
        column = text_or_empty(_inner(source.get("extract")).get("column"))
        if column and column != called:
            self.remarks.add("fields that are called otherwise than their column go by the column", column)
        if source.get("transform") is not None or source.get("format") is not None:
            self.remarks.add(
                "transforms and formats are left out: give the table as the record set has it", column or called
            )
        return column or called

    def _types(self, about: Mapping[str, Any]) -> list[str]:
        """Return the types of a field: its own, or those of the field that it is taken from or refers to."""
        own = _names(_many(about.get("dataType")))
        for target in (_target(about.get("source")), _target(about.get("references"))):
            if not own and target in self.holders:
                own = _names(_many(self.holders[target].fields[target].get("dataType")))
        return own

    def _domain(
        self, about: Mapping[str, Any], kind: FieldType, title: str, own: dict[str, Any], *, is_modelled: bool
    ) -> dict[str, Any]:
        """Return categories, bounds and whether the field is required, as a schema file has them."""
        constraints: dict[str, Any] = {"required": True} if own.pop("required", None) is True else {}
        found: dict[str, Any] = {"constraints": constraints}
        figures = (_names(_many(_inner(each).get("equivalentProperty"))) for each in _many(about.get("annotation")))
        if any(_FIGURES.intersection(each) for each in figures):
            self.remarks.add("the smallest and largest values of the data are no bounds and are left out", title)
        if kind in RANGED_TYPES:
            for ours, theirs in (("minimum", "minValue"), ("maximum", "maxValue")):
                bound = bound_of(about.get(theirs), kind)
                constraints |= {} if bound is None else {ours: bound}
        # Texts of lists are other texts than those of the enumeration, and who a row is of is no list.
        categories = self._categories(_target(about.get("references")), title) if is_modelled else None
        return found if categories is None else {**found, "categories": categories}

    def _categories(self, target: str, title: str) -> list[Any] | None:
        """Return the values of the enumeration that a field refers to."""
        holder = self.holders.get(target)
        if holder is None:
            if target:
                self.remarks.add("a field that is referred to is not in the file: no categories are read", title)
            return None
        if holder.data is None:
            self.remarks.add("what a field refers to stands in another file: its categories are left out", title)
            return None
        keys = (target, _text(holder.fields[target].get("name")), target.rpartition("/")[2])
        where = f"{self.name}: record set {quote(holder.called)}"
        values = [_record_value(record, keys, where) for record in holder.data]
        if all(isinstance(value, bool) for value in values):
            return values
        return list(dict.fromkeys(scalars(values, where)))

    def _own(self, about: Mapping[str, Any], title: str) -> dict[str, Any]:
        """Return the settings that Croissant has no word for, where Lapwing wrote them into the file."""
        found = _json(about.get("fieldSettings"), f"{self.name}: settings of field {quote(title)}")
        return {key: found[key] for key in OWN_KEYS if found.get(key) is not None}


def _kind(types: Iterable[str]) -> FieldType | None:
    """Return the type of a field that any of some data types stands for, atomic ones before others."""
    for name in types:
        if name in _TYPES:
            return _TYPES[name]
        sized = _SIZED.fullmatch(name)
        if sized is not None:
            return "number" if "Float" in sized[1] else "integer"
    return None


def _record_value(record: object, keys: tuple[str, ...], where: str) -> object:
    """Return the value of a field in a record that stands in the file."""
    found = check_object(record, f"{where}: data")
    for key in keys:
        if key in found:
            return found[key]
    raise refusal(f"{where}: a record has no value for {quote(keys[0])}; give each record one")
