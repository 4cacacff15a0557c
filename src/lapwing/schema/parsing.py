"""Plain Python values in the file format ↔ fields and privacy unit."""

import difflib
from collections.abc import Mapping
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.checks import check_list, check_name, is_encodable
from lapwing.schema.fields import Field
from lapwing.schema.scalars import category_key, quote

_TABLE_KEYS: Final = frozenset({"fields", "name", "draft", "privacyUnit", "missingValues"})
_FIELD_KEYS: Final = frozenset(
    {
        *("name", "type", "constraints", "categories", "categoriesOrdered", "provenance", "role", "special"),
        *("resolution", "description", "missingValues", "format", "trueValues", "falseValues"),
        *("decimalChar", "groupChar", "bareNumber"),
    }
)
_CONSTRAINT_KEYS: Final = frozenset({"minimum", "maximum", "enum", "required"})
_UNIT_KEYS: Final = frozenset({"field", "maxRows"})

# Keys of Table Schema that are read past, listed so that none is taken for a misspelling of one of ours.
_KNOWN_ELSEWHERE: Final = frozenset(
    {
        *("title", "example", "examples", "rdfType", "unique", "pattern", "minLength", "maxLength", "jsonSchema"),
        *("exclusiveMinimum", "exclusiveMaximum", "primaryKey", "uniqueKeys", "foreignKeys", "fieldsMatch"),
        *("$schema", "profile", "version", "label", "value", "scale"),
    }
)
_SIMILAR: Final = 0.8
_MAX_UNKNOWN_KEYS: Final = 1000

# Reading rules of Table Schema that Lapwing's codec does not follow, with the values that change nothing.
_ONLY_DEFAULT: Final[dict[str, tuple[object, ...]]] = {
    "decimalChar": (".",),
    "groupChar": ("",),
    "bareNumber": (True,),
}
_TRUE_TEXTS: Final = frozenset({"true", "True", "TRUE", "1"})
_FALSE_TEXTS: Final = frozenset({"false", "False", "FALSE", "0"})


def check_object(value: object, what: str) -> Mapping[str, Any]:
    """Return a value that must be a JSON object with text keys."""
    if not isinstance(value, Mapping):
        raise SchemaError(f"{what} must be an object with keys, got {quote(value)}")
    for key in value:
        if not isinstance(key, str):
            raise SchemaError(f"{what} has the key {quote(key)}, which is not a text; put it in quotes")
    return value


def check_table_keys(table: Mapping[str, Any]) -> None:
    """Refuse misspelt keys at the top level."""
    _check_keys(table, _TABLE_KEYS, "the schema")


def fields_from(table: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return the fields of a schema in the file format."""
    listed = table.get("fields")
    if not isinstance(listed, list | tuple):
        raise SchemaError('the schema needs a list "fields" with one object per column')
    missing_values = table.get("missingValues")
    return tuple(field_from(value, missing_values) for value in listed)


def field_from(value: object, table_missing_values: object = None) -> Field:
    """Return one field in the file format.

    Parameters
    ----------
    value : object
        The field's object.
    table_missing_values : object
        The table's ``missingValues``, used where the field has none of its own.

    Raises
    ------
    SchemaError
        Where a rule of the format is broken; the sentence names the field and the rule.
    """
    source = check_object(value, "a field")
    name = check_name(source.get("name"))
    _check_keys(source, _FIELD_KEYS, f"field {quote(name)}", inner=("constraints", _CONSTRAINT_KEYS))
    _check_reading_rules(name, source)
    constraints = check_object(_given(source, "constraints", {}), f"field {quote(name)}: constraints")
    _check_keys(constraints, _CONSTRAINT_KEYS, f"field {quote(name)}: constraints")
    categories = _categories(name, source, constraints)
    return Field(
        name=name,
        type=source.get("type"),  # type: ignore[arg-type]
        minimum=constraints.get("minimum"),
        maximum=constraints.get("maximum"),
        categories=categories,
        ordered=_given(source, "categoriesOrdered", False),
        required=_given(constraints, "required", False),
        provenance=_given(source, "provenance", "assumed"),
        identifier=_is_identifier(name, source),
        special=_given(source, "special", ()),
        resolution=source.get("resolution"),
        description=_given(source, "description", ""),
        missing_values=_missing_values(_given(source, "missingValues", table_missing_values), categories),
    )


def field_to_dict(field: Field, table_missing_values: tuple[str, ...]) -> dict[str, Any]:
    """Return a field in the file format, in normal form; what a draft leaves open is written as null."""
    constraints: dict[str, Any] = {"minimum": field.minimum, "maximum": field.maximum}
    found: dict[str, Any] = {"name": field.name, "type": field.type}
    if field.identifier:
        found["role"] = "identifier"
    if field.categories is not None:
        found["categories"] = list(field.categories)
    elif field.type == "string" and not field.identifier:
        found["categories"] = None
    if field.ordered:
        found["categoriesOrdered"] = True
    if field.is_categorical or field.identifier or field.type == "string":
        constraints = {key: value for key, value in constraints.items() if value is not None}
    if field.required:
        constraints["required"] = True
    if constraints:
        found["constraints"] = constraints
    if field.special:
        found["special"] = list(field.special)
    if field.resolution is not None:
        found["resolution"] = field.resolution
    if field.missing_values != table_missing_values:
        found["missingValues"] = list(field.missing_values)
    if field.description:
        found["description"] = field.description
    found["provenance"] = field.provenance
    return found


def unit_from(value: object) -> tuple[str, int] | None:
    """Return the field and the rows of ``privacyUnit``, or None where the schema has none."""
    if value is None:
        return None
    source = check_object(value, "privacyUnit")
    _check_keys(source, _UNIT_KEYS, "privacyUnit")
    for key in ("field", "maxRows"):
        if source.get(key) is None:
            raise SchemaError(f'privacyUnit needs {key}; write it as {{"field": "person_id", "maxRows": 5}}')
    return source["field"], source["maxRows"]


def text_from(table: Mapping[str, Any], key: str) -> str:
    """Return a text at the top level, empty where it is absent."""
    value = _given(table, key, "")
    if not isinstance(value, str) or not is_encodable(value):
        raise SchemaError(f"the schema's {key} must be a text, got {quote(value)}")
    return value


def flag_from(table: Mapping[str, Any], key: str) -> bool:
    """Return a yes/no setting at the top level, false where it is absent."""
    value = _given(table, key, False)
    if not isinstance(value, bool):
        raise SchemaError(f"the schema's {key} must be true or false, got {quote(value)}")
    return value


def _given(source: Mapping[str, Any], key: str, default: Any) -> Any:
    """Return a value, or the default where it is absent or null."""
    value = source.get(key)
    return default if value is None else value


def _is_identifier(name: str, source: Mapping[str, Any]) -> bool:
    """Return whether the field's role is identifier."""
    role = source.get("role")
    if role not in (None, "identifier"):
        raise SchemaError(f'field {quote(name)}: role {quote(role)} is not known; write "identifier" or remove it')
    return role == "identifier"


def _categories(name: str, source: Mapping[str, Any], constraints: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the values of ``categories`` or ``constraints.enum``; given both, they must hold the same values."""
    found = [
        tuple(_category_value(name, value) for value in check_list(name, key, given))
        for key, given in (("categories", source.get("categories")), ("enum", constraints.get("enum")))
        if given is not None
    ]
    if len(found) == 2 and set(map(category_key, found[0])) != set(map(category_key, found[1])):
        raise SchemaError(f"field {quote(name)}: categories and enum list different values; remove one of the lists")
    return found[0] if found else None


def _category_value(name: str, value: object) -> Any:
    """Return a category's value: the scalar itself, or ``value`` of Table Schema 2's {"value":.., "label":..}."""
    if isinstance(value, Mapping):
        value = value.get("value")
    if not isinstance(value, str | int | float):
        raise SchemaError(f"field {quote(name)}: category {quote(value)} must be a text, a number, true or false")
    if isinstance(value, float) and value - value != 0:
        raise SchemaError(f"field {quote(name)}: category {quote(value)} is not a finite number; remove it")
    return value


def _missing_values(value: object, categories: tuple[Any, ...] | None) -> Any:
    """Return the field's missing values; by default the empty text, unless that is a category."""
    if value is not None:
        return value
    return () if categories is not None and "" in categories else ("",)


def _check_reading_rules(name: str, source: Mapping[str, Any]) -> None:
    """Refuse Table Schema's rules of reading cells that would change what a cell means."""
    form = _given(source, "format", "default")
    if source.get("type") in ("date", "datetime") and form not in ("default", "any"):
        raise SchemaError(
            f"field {quote(name)}: format {quote(form)} is not supported; write the dates in the data as "
            "2010-12-31 or 2010-12-31T23:00:00 and remove format"
        )
    for key, harmless in _ONLY_DEFAULT.items():
        if source.get(key) is not None and source[key] not in harmless:
            raise SchemaError(
                f"field {quote(name)}: {key} {quote(source[key])} is not supported; "
                f"write numbers such as 1234.5 in the data and remove {key}"
            )
    for key, known in (("trueValues", _TRUE_TEXTS), ("falseValues", _FALSE_TEXTS)):
        for value in check_list(name, key, _given(source, key, ())):
            if not isinstance(value, str) or value not in known:
                raise SchemaError(
                    f"field {quote(name)}: {key} {quote(value)} is not supported; use type string with categories"
                )


def _check_keys(
    source: Mapping[str, Any],
    known: frozenset[str],
    where: str,
    inner: tuple[str, frozenset[str]] | None = None,
) -> None:
    """Refuse keys that look like a misspelling of a known one, or that belong one level deeper."""
    unknown = [key for key in source if key not in known and key not in _KNOWN_ELSEWHERE]
    if len(unknown) > _MAX_UNKNOWN_KEYS:
        raise SchemaError(f"{where} has more than {_MAX_UNKNOWN_KEYS} unknown keys; remove them")
    for key in unknown:
        if inner is not None and key in inner[1]:
            raise SchemaError(f'{where}: {quote(key)} belongs inside "{inner[0]}"; move it there')
        close = _similar(key, known)
        if close is not None:
            raise SchemaError(f"{where}: unknown key {quote(key)}; did you mean {quote(close)}?")


def _similar(key: str, known: frozenset[str]) -> str | None:
    """Return the known key that a key is a near miss of, or None."""
    if len(key) > 2 * max(map(len, known)):
        return None
    by_folded = {other.casefold(): other for other in sorted(known)}
    folded = key.casefold().replace("_", "").replace("-", "").replace(" ", "")
    for text in (folded, key.casefold()):
        for other in difflib.get_close_matches(text, by_folded, n=1, cutoff=_SIMILAR):
            return by_folded[other]
    return None
