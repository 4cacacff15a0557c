"""The file format of a schema: plain Python values ↔ fields, with every way it can be broken named."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, Final, cast

from lapwing.errors import SchemaError
from lapwing.schema.catalogue import with_domain
from lapwing.schema.checks import EXCLUSIVE, RANGED_TYPES, check_name, field_error, inclusive, of_field
from lapwing.schema.fields import Field, FieldType, PrivacyUnit
from lapwing.schema.groupings.category_trees import tree_to_dict
from lapwing.schema.reading import DIALECT_KEYS, READING_KEYS, Dialect, dialect_from, reading_from
from lapwing.schema.scalars import category_key, finite_number, quote
from lapwing.schema.typed import EXAMPLES, TypedObject, check_object

# -- Schemas as files.


_ON_LINES: Final = ("publicTables", "rules", "fields")
"""Lists whose entries stand on lines of their own."""


def file_text(found: Mapping[str, Any]) -> str:
    """Return a schema in the file format as the text of its file, the same for equal schemas."""
    parts = []
    for key, value in found.items():
        text = json.dumps(value, ensure_ascii=False)
        if key in _ON_LINES:
            entries = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            text = f"[\n  {entries}\n ]"
        parts.append(f"{json.dumps(key)}: {text}")
    return "{" + ",\n ".join(parts) + "}\n"


def fingerprint_of(found: Mapping[str, Any]) -> str:
    """Return SHA-256 of a schema in the file format, as 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(found, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# -- Plain Python values in the file format: fields and privacy unit.

_Labels = tuple[tuple[str, str], ...]

TABLE_KEYS: Final = (
    *("fields", "name", "draft", "privacyUnit", "missingValues", "questions", "purchases", "weight", "rules"),
    *("publicTables", "dialect"),
)
_SETTINGS: Final = {
    "categoriesOrdered": "ordered",
    "madeUp": "made_up",
    **{key: key for key in ("provenance", "resolution", "scale", "hierarchy", "description", "unlisted")},
}
"""Keys of a field that hold one of its settings as it is, and the setting."""

ROLES: Final = ("identifier", "target")

FIELD_KEYS: Final = (
    *("name", "type", "constraints", "categories", "special", "role", "missingValues", "domain"),
    *(*_SETTINGS, *READING_KEYS),
)
CONSTRAINT_KEYS: Final = ("minimum", "maximum", "enum", "required", *EXCLUSIVE)
_INNER_KEYS: Final = {
    **dict.fromkeys(CONSTRAINT_KEYS, "constraints"),
    **dict.fromkeys(("prefixes", "parents", "fold"), "hierarchy"),
}
"""Keys one level deeper, and where."""

# Keys of Table Schema that only describe: read past.
DESCRIBING: Final = frozenset(
    {
        *("title", "example", "examples", "rdfType", "unique", "pattern", "minLength", "maxLength", "jsonSchema"),
        *("primaryKey", "uniqueKeys", "foreignKeys", "fieldsMatch"),
        *("$schema", "profile", "version", "label", "value"),
        *("description", "sources", "licenses", "keywords", "homepage"),
    }
)
_OF_LINKED: Final = frozenset({"tables", "parent", "child"})


def is_of_several(value: object) -> bool:
    """Return whether a schema in the file format is of linked tables, or of events in order."""
    return isinstance(value, Mapping) and (
        value.get("order") is not None or ("fields" not in value and not _OF_LINKED.isdisjoint(value))
    )


def table_from(value: object) -> TypedObject:
    """Return the whole schema in the file format, of known keys alone."""
    table = check_object(value, "the schema")
    if "fields" not in table and not _OF_LINKED.isdisjoint(table):
        way_out = "lapwing.synthesize, its command and `lapwing schema check` take it"
        raise SchemaError(f"the schema describes linked tables, not one; {way_out}", code="LW252")
    return TypedObject(table, "the schema").only(TABLE_KEYS, passed=DESCRIBING)


def fields_from(table: TypedObject) -> tuple[Field, ...]:
    """Return the fields of a schema in the file format."""
    listed = table("fields")
    if not isinstance(listed, list | tuple):
        said = f'the schema needs a list "fields" with one object per column, got {quote(listed)}; write for example '
        raise SchemaError(said + EXAMPLES["the schema"], code="LW206")
    missing_values = table("missingValues")
    return tuple(field_from(value, missing_values) for value in listed)


def field_from(value: object, table_missing_values: object = None) -> Field:
    """Return one field in the file format; the table's ``missingValues`` hold where it has none of its own."""
    source = check_object(value, "a field")
    name = check_name(source.get("name"))
    where = f"field {quote(name)}"
    TypedObject(source, where).only(FIELD_KEYS, _INNER_KEYS, DESCRIBING)
    source = with_domain(name, source)
    constraints = TypedObject(source, where).inner("constraints").only(CONSTRAINT_KEYS, passed=DESCRIBING).values
    if source.get("type") == "year":  # Table Schema's: a whole number by another name
        source = {**source, "type": "integer"}
    constraints = inclusive(name, source, constraints)
    categories, labels = _categories(name, source, constraints)
    special, meant = _labelled(of_field(name, source).listed("special"))
    role, missing_values = source.get("role"), source.get("missingValues")
    if role not in (None, *ROLES):
        known = " or ".join(f'"{each}"' for each in ROLES)
        raise field_error(name, f"role {quote(role)} is not known; write {known}, or remove it", "LW207")
    missing_values = table_missing_values if missing_values is None else missing_values
    if missing_values is None and categories is not None and "" in categories:
        missing_values = ()  # by default the empty text is missing, unless it is a category
    settings: dict[str, Any] = {
        **{setting: constraints.get(setting) for setting in ("minimum", "maximum", "required")},
        **{setting: source.get(key) for key, setting in _SETTINGS.items()},
        "categories": categories,
        "special": special or None,
        "labels": (*labels, *meant) or None,
        **({} if role is None else {role: True}),
        "missing_values": missing_values,
        "reading": reading_from(name, source),
    }
    stated = {key: setting for key, setting in settings.items() if setting is not None}
    return Field(name=name, type=cast(FieldType, source.get("type")), **stated)


def field_to_dict(field: Field, table_missing_values: tuple[str, ...]) -> dict[str, Any]:
    """Return a field in the file format, in normal form; what a draft leaves open is written as null."""
    categories, labels = field.categories, dict(field.labels)
    is_open = categories is None and not field.identifier
    is_bounded = is_open and field.type in RANGED_TYPES
    # Both bounds, also blank ones, where the domain depends on them.
    bounds = {"minimum": field.minimum, "maximum": field.maximum}
    constraints: dict[str, Any] = {key: value for key, value in bounds.items() if is_bounded or value is not None}
    constraints |= {"required": True} if field.required else {}
    own_missing_values = field.missing_values != table_missing_values
    found: dict[str, Any] = {
        "name": field.name,
        "type": field.type,
        "role": next((role for role in ROLES if getattr(field, role)), None),
        "madeUp": field.made_up,
        "categories": None if categories is None else _with_labels(categories, labels),
        "categoriesOrdered": field.ordered or None,
        "constraints": constraints or None,
        "special": _with_labels(field.special, labels) or None,
        "resolution": field.resolution,
        "scale": "log" if field.scale == "log" else None,
        "hierarchy": None if field.hierarchy is None else tree_to_dict(field.hierarchy),
        "unlisted": field.unlisted,
        "missingValues": list(field.missing_values) if own_missing_values else None,
        "description": field.description or None,
        "provenance": field.provenance,
        **field.reading.to_dict(),
    }
    blank = ("categories",) if is_open and field.type == "string" else ()
    return {key: value for key, value in found.items() if value is not None or key in blank}


def unit_from(value: object) -> PrivacyUnit | None:
    """Return the privacy unit of ``privacyUnit``, or None where the schema has none."""
    if value is None:
        return None
    source = TypedObject.of(value, "privacyUnit").only(("field", "maxRows"))
    return PrivacyUnit(source("field"), source("maxRows"))


def table_dialect(value: object) -> Dialect:
    """Return how the text files of a table are written, by the schema's ``dialect``."""
    return dialect_from(TypedObject.of({} if value is None else value, "dialect").only(DIALECT_KEYS).values)


def _categories(
    name: str, source: Mapping[str, Any], constraints: Mapping[str, Any]
) -> tuple[tuple[Any, ...] | None, _Labels]:
    """Return values and labels of ``categories`` or ``constraints.enum``; if both are given, they must be equal."""
    found = [
        (_category_values(name, values), labels)
        for key, given in (("categories", source), ("enum", constraints))
        if given.get(key) is not None
        for values, labels in [_labelled(of_field(name, given).listed(key))]
    ]
    if len(found) == 2 and set(map(category_key, found[0][0])) != set(map(category_key, found[1][0])):
        raise field_error(name, "categories and enum list different values; remove one of the lists", "LW213")
    return found[0] if found else (None, ())


def _labelled(listed: tuple[Any, ...]) -> tuple[tuple[Any, ...], _Labels]:
    """Return values and their labels, as they stand or as Table Schema 2 has them: {"value":.., "label":..}."""
    labelled = [each for each in listed if isinstance(each, Mapping)]
    if not labelled:
        return listed, ()
    said = ((each.get("value"), each.get("label")) for each in labelled)
    labels = tuple(
        (category_key(cast("Any", value)), label)
        for value, label in said
        if isinstance(label, str) and (isinstance(value, str | bool) or finite_number(value) is not None)
    )
    return tuple(each.get("value") if isinstance(each, Mapping) else each for each in listed), labels


def _with_labels(values: tuple[Any, ...], labels: Mapping[str, str]) -> list[Any]:
    """Return values as a file has them; those with a label as objects."""
    if not labels:
        return list(values)
    keys = [(value, labels.get(category_key(value))) for value in values]
    return [value if label is None else {"value": value, "label": label} for value, label in keys]


def _category_values(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the categories as scalars."""
    if set(map(type, values)) <= {str, int, bool}:
        return values  # a list may hold 10**6 values: no second look at the usual ones
    for value in values:
        if not isinstance(value, str | int | float):
            raise field_error(name, f"category {quote(value)} must be a text, a number, true or false", "LW213")
        if isinstance(value, float) and not math.isfinite(value):
            raise field_error(name, f"category {quote(value)} is not a finite number; remove it", "LW213")
    return values
