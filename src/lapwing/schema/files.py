"""JSON text that somebody else wrote → plain Python values → fields, with every way it can be broken named."""

import difflib
import hashlib
import json
import math
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from lapwing.atomic import write_whole
from lapwing.errors import SchemaError
from lapwing.schema.catalogue import with_domain
from lapwing.schema.checks import (
    EXCLUSIVE,
    RANGED_TYPES,
    check_list,
    check_name,
    field_error,
    inclusive,
    repeated,
)
from lapwing.schema.fields import Field, FieldType, PrivacyUnit
from lapwing.schema.groupings.category_trees import tree_to_dict
from lapwing.schema.reading import DIALECT_KEYS, READING_KEYS, Dialect, dialect_from, reading_from
from lapwing.schema.scalars import category_key, is_encodable, json_cure, quote

_PARQUET: Final = b"PAR1"

MAX_BYTES: Final = 64 * 2**20
"""Largest schema file that is read."""


def read_json(path: str | os.PathLike[str]) -> object:
    """Return the value in a JSON file."""
    return parse_json(read_content(path, "schema file"), f"schema file {quote(os.fspath(path))}")


def read_content(path: str | os.PathLike[str], kind: str) -> bytes:
    """Return the bytes of a file of at most 64 MiB; `kind` and its path begin each error sentence."""
    name = f"{kind} {quote(os.fspath(path))}"
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise SchemaError(f"{name} does not exist; check the path", code="LW201") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a usable path"
        raise SchemaError(f"{name} cannot be read: {reason}; check the path", code="LW201") from None
    if len(content) > MAX_BYTES:
        raise SchemaError(f"{name} is larger than 64 MiB; shorten its category lists", code="LW201")
    return content


def parse_json(content: bytes, what: str) -> object:
    """Return the value that JSON bytes hold; `what` begins each error sentence."""
    if content.startswith(_PARQUET):
        way_out = "give the schema here and the table as DATA; `lapwing schema draft` makes a schema of a table"
        raise SchemaError(f"{what} is a table in Parquet; {way_out}", code="LW202")
    try:
        return json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=partial(_distinct, what),
            parse_constant=partial(_finite, what),
            parse_float=partial(_finite, what),
        )
    except UnicodeDecodeError:
        raise SchemaError(f"{what} is not UTF-8 text; save it in that encoding", code="LW202") from None
    except json.JSONDecodeError as error:
        said = f"{what} is not JSON: {error.msg.lower()} at line {error.lineno} column {error.colno}"
        raise SchemaError(f"{said}; {json_cure(error.doc, error.pos)}", code="LW202") from None
    except RecursionError:
        raise SchemaError(f"{what} is nested too deeply; a schema needs five levels", code="LW202") from None
    except ValueError:
        # The one that is left: an integer beyond Python's digit limit.
        raise SchemaError(f"{what} holds a number of thousands of digits; shorten it", code="LW202") from None


def _distinct(what: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object's pairs as a dict, refusing a key that stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key = repeated([key for key, _ in pairs])[0]
        raise SchemaError(f"{what} has the key {quote(key)} twice in one object; remove one", code="LW202")
    return found


def _finite(what: str, text: str) -> float:
    """Return a JSON number, refusing NaN, Infinity, and one such as 1e999 that no float can hold."""
    number = float(text)
    if math.isfinite(number):
        return number
    said = f"{text}, which is not a JSON number; write a finite number or null"
    if text[-1].isdigit():
        said = f"the number {text:.40}, which is too large for a float; write a finite one"
    raise SchemaError(f"{what} holds {said}", code="LW202")


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


def write_schema(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all; a SchemaError where that fails."""
    try:
        write_whole(path, text)
    except OSError as error:
        reason = error.strerror or "the disk refused it"
        said = f"schema file {quote(str(path))} cannot be written: {reason}; choose another place"
        raise SchemaError(said, code="LW112") from None


# -- Plain Python values in the file format: fields and privacy unit.


_TABLE_KEYS: Final = frozenset(
    ("fields", "name", "draft", "privacyUnit", "missingValues", "questions", "purchases", "weight", "rules")
).union(("publicTables", "dialect"))
_SETTINGS: Final = {
    "categoriesOrdered": "ordered",
    **{key: key for key in ("provenance", "special", "resolution", "scale", "hierarchy", "description", "unlisted")},
}
"""Keys of a field that hold one of its settings as it is, and the setting."""

ROLES: Final = ("identifier", "target")

_FIELD_KEYS: Final = frozenset(
    ("name", "type", "constraints", "categories", "role", "missingValues", "domain", *_SETTINGS, *READING_KEYS)
)
_CONSTRAINT_KEYS: Final = frozenset({"minimum", "maximum", "enum", "required", *EXCLUSIVE})
_TREE_KEYS: Final = frozenset({"prefixes", "parents", "fold"})
_INNER_KEYS: Final = {"constraints": _CONSTRAINT_KEYS, "hierarchy": _TREE_KEYS}
_UNIT_KEYS: Final = frozenset({"field", "maxRows"})

# Keys of Table Schema that are read past, listed so that none is taken for a misspelling of one of ours.
_KNOWN_ELSEWHERE: Final = (
    *("title", "example", "examples", "rdfType", "unique", "pattern", "minLength", "maxLength", "jsonSchema"),
    *("primaryKey", "uniqueKeys", "foreignKeys", "fieldsMatch"),
    *("$schema", "profile", "version", "label", "value"),
)
_SIMILAR: Final = 0.8

# Words that people use for our keys; read past, they would change in silence what cells mean.
_OTHER_WORDS: Final = {
    **dict.fromkeys(("specialvalues", "specials", "sentinel", "sentinels", "sentinelvalues"), "special"),
    **dict.fromkeys(("nullvalues", "navalues", "nulls", "missing"), "missingValues"),
    **dict.fromkeys(("step", "precision", "granularity"), "resolution"),
    **dict.fromkeys(("ordered", "isordered"), "categoriesOrdered"),
    **dict.fromkeys(("category", "levels", "choices"), "categories"),
    **dict.fromkeys(("catchall", "othercategory"), "unlisted"),
    **dict.fromkeys(("sep", "separator", "delim"), "delimiter"),
    **dict.fromkeys(("decimal", "decimalseparator", "decimalpoint"), "decimalChar"),
    **dict.fromkeys(("thousands", "thousandsseparator", "groupseparator"), "groupChar"),
    **dict.fromkeys(("charset", "codepage"), "encoding"),
    **dict.fromkeys(("dateformat", "datepattern"), "format"),
    **dict.fromkeys(("max", "upper", "high"), "maximum"),
    **dict.fromkeys(("min", "lower", "low"), "minimum"),
    **dict.fromkeys(("surveyweight", "sampleweight", "weightcolumn"), "weight"),
    **dict.fromkeys(("publictable", "publictotals", "totals", "margins", "marginals"), "publicTables"),
    **dict.fromkeys(("columns", "variables", "attributes"), "fields"),
    "if": "when",
    **dict.fromkeys(("rule", "constraints", "dependencies", "edits"), "rules"),
    **dict.fromkeys(("maxrows", "unit", "units", "group", "userid"), "privacyUnit"),
}
_MAX_UNKNOWN_KEYS: Final = 1000
EXAMPLES: Final = {
    "the schema": '{"fields": [{"name": "age", "type": "integer"}]}',
    "a field": '{"name": "age", "type": "integer"}',
    "constraints": '{"minimum": 0, "maximum": 120}',
    "privacyUnit": '{"field": "person_id", "maxRows": 5}',
    "dialect": '{"delimiter": ";"}',
    "rule": '{"when": {"smokes": true}, "then": {"age": {"minimum": 10}}}',
}
"""How objects are written, for those who wrote something else."""


def check_object(value: object, what: str) -> Mapping[str, Any]:
    """Return a value that must be a JSON object with text keys."""
    if not isinstance(value, Mapping):
        example = EXAMPLES.get(what.rpartition(": ")[2].rstrip(" 0123456789"), "")
        way_out = example and f"; write for example {example}"
        raise SchemaError(f"{what} must be an object with keys, got {quote(value)}{way_out}", code="LW206")
    for key in value:
        if not isinstance(key, str):
            raise SchemaError(f"{what} has the key {quote(key)}, which is not a text; put it in quotes", code="LW206")
    return value


def table_from(value: object) -> Mapping[str, Any]:
    """Return the whole schema as an object, refusing misspelt keys at its top level."""
    table = check_object(value, "the schema")
    _check_keys(table, _TABLE_KEYS, "the schema")
    return table


def fields_from(table: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return the fields of a schema in the file format."""
    listed = table.get("fields")
    if listed is None and ("tables" in table or {"parent", "child"} <= table.keys()):
        way_out = "`lapwing link`, lapwing.synthesize and `lapwing schema check` take it"
        raise SchemaError(f"the schema describes linked tables, not one; {way_out}", code="LW252")
    if not isinstance(listed, list | tuple):
        said = f'the schema needs a list "fields" with one object per column, got {quote(listed)}; write for example '
        raise SchemaError(said + EXAMPLES["the schema"], code="LW206")
    missing_values = table.get("missingValues")
    return tuple(field_from(value, missing_values) for value in listed)


def field_from(value: object, table_missing_values: object = None) -> Field:
    """Return one field in the file format; the table's ``missingValues`` hold where it has none of its own."""
    source = check_object(value, "a field")
    name = check_name(source.get("name"))
    where = f"field {quote(name)}"
    _check_keys(source, _FIELD_KEYS, where, inner=_INNER_KEYS)
    source = with_domain(name, source)
    given = source.get("constraints")
    constraints = check_object({} if given is None else given, f"{where}: constraints")
    _check_keys(constraints, _CONSTRAINT_KEYS, f"{where}: constraints")
    if source.get("type") == "year":  # Table Schema's: a whole number by another name
        source = {**source, "type": "integer"}
    constraints = inclusive(name, source, constraints)
    categories = _categories(name, source, constraints)
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
        **({} if role is None else {role: True}),
        "missing_values": missing_values,
        "reading": reading_from(name, source),
    }
    stated = {key: setting for key, setting in settings.items() if setting is not None}
    return Field(name=name, type=cast(FieldType, source.get("type")), **stated)


def field_to_dict(field: Field, table_missing_values: tuple[str, ...]) -> dict[str, Any]:
    """Return a field in the file format, in normal form; what a draft leaves open is written as null."""
    categories = None if field.categories is None else list(field.categories)
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
        "categories": categories,
        "categoriesOrdered": field.ordered or None,
        "constraints": constraints or None,
        "special": list(field.special) or None,
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
    source = check_object(value, "privacyUnit")
    _check_keys(source, _UNIT_KEYS, "privacyUnit")
    for key in ("field", "maxRows"):
        if source.get(key) is None:
            said = f'privacyUnit needs {key}; write it as {{"field": "person_id", "maxRows": 5}}'
            raise SchemaError(said, code="LW217")
    return PrivacyUnit(source["field"], source["maxRows"])


def table_dialect(value: object) -> Dialect:
    """Return how the text files of a table are written, by the schema's ``dialect``."""
    source = check_object({} if value is None else value, "dialect")
    _check_keys(source, DIALECT_KEYS, "dialect")
    return dialect_from(source)


def text_from(table: Mapping[str, Any], key: str) -> str:
    """Return a text at the top level, empty where it is absent or null."""
    value = table.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or not is_encodable(value):
        raise SchemaError(f"the schema's {key} must be a text, got {quote(value)}", code="LW206")
    return value


def flag_from(table: Mapping[str, Any], key: str) -> bool:
    """Return a yes/no setting at the top level, false where it is absent or null."""
    value = table.get(key)
    if value is not None and not isinstance(value, bool):
        raise SchemaError(f"the schema's {key} must be true or false, got {quote(value)}", code="LW206")
    return bool(value)


def _categories(name: str, source: Mapping[str, Any], constraints: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the values of ``categories`` or ``constraints.enum``; given both, they must hold the same values."""
    found = [
        _category_values(name, check_list(name, key, given))
        for key, given in (("categories", source.get("categories")), ("enum", constraints.get("enum")))
        if given is not None
    ]
    if len(found) == 2 and set(map(category_key, found[0])) != set(map(category_key, found[1])):
        raise field_error(name, "categories and enum list different values; remove one of the lists", "LW213")
    return found[0] if found else None


def _category_values(name: str, listed: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the categories as scalars, taking ``value`` of Table Schema 2's {"value":.., "label":..}."""
    values = tuple(value.get("value") if isinstance(value, Mapping) else value for value in listed)
    if set(map(type, values)) <= {str, int, bool}:
        return values  # a list may hold 10**6 values: no second look at the usual ones
    for value in values:
        if not isinstance(value, str | int | float):
            raise field_error(name, f"category {quote(value)} must be a text, a number, true or false", "LW213")
        if isinstance(value, float) and not math.isfinite(value):
            raise field_error(name, f"category {quote(value)} is not a finite number; remove it", "LW213")
    return values


def _check_keys(
    source: Mapping[str, Any],
    known: frozenset[str],
    where: str,
    inner: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> None:
    """Refuse keys that look like a misspelling of a known one, or that belong one level deeper."""
    unknown = [key for key in source if key not in known and key not in _KNOWN_ELSEWHERE]
    if len(unknown) > _MAX_UNKNOWN_KEYS:
        raise SchemaError(f"{where}: there are more than {_MAX_UNKNOWN_KEYS} unknown keys; remove them", code="LW205")
    for key in unknown:
        for place, inside in inner.items():
            if key in inside or key.casefold() in inside or _OTHER_WORDS.get(key.casefold()) in inside:
                raise SchemaError(f'{where}: {quote(key)} belongs inside "{place}"; move it there', code="LW205")
        close = similar_key(key, known)
        if close is not None:
            raise SchemaError(f"{where}: unknown key {quote(key)}; did you mean {quote(close)}?", code="LW205")
        for place, inside in inner.items():
            close = similar_key(key, inside)
            if close is not None:
                said = f"{where}: unknown key {quote(key)}; did you mean {quote(close)}, inside {quote(place)}?"
                raise SchemaError(said, code="LW205")


def similar_key(key: str, known: frozenset[str]) -> str | None:
    """Return the known key that a key is a near miss of, or another word for, or None."""
    if len(key) > 2 * max(map(len, known)):
        return None
    by_folded = {other.casefold(): other for other in sorted(known)}
    folded = key.casefold().replace("_", "").replace("-", "").replace(" ", "")
    if _OTHER_WORDS.get(folded) in known:
        return _OTHER_WORDS[folded]
    for text in (folded, key.casefold()):
        for other in difflib.get_close_matches(text, by_folded, n=1, cutoff=_SIMILAR):
            return by_folded[other]
    return None
