"""NIST's descriptions of tables: the data dictionary of the Diverse Communities excerpts, and SDNist's parameters.

A dictionary has a description and the values of each feature: codes with their meaning, or min and max. Parameters have
a dtype, and a list of values or min and max, of each feature under "schema".

References
----------
National Institute of Standards and Technology, SDNist, https://github.com/usnistgov/SDNist (files
``data_dictionary.json`` and ``parameters.json``, read 2026).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lapwing.schema.fields import Field, FieldType
from lapwing.schema.files import check_object
from lapwing.schema.foreign.converted import (
    Converted,
    Remarks,
    converted,
    is_written_whole,
    missing_texts,
    number_of,
    refusal,
    scalars,
    text_or_empty,
)
from lapwing.schema.scalars import category_key, quote, whole_number

_ABOUT: Final = frozenset({"description", "details", "link", "values"})
_BOUNDS: Final = frozenset({"min", "max", "step_size"})
_PARAMETERS: Final = frozenset({"dtype", "values", "min", "max", "has_null", "null_value", "description"})
_DTYPES: Final[dict[tuple[str, ...], FieldType]] = {
    ("int", "uint"): "integer",
    ("float", "double"): "number",
    ("bool",): "boolean",
    ("datetime",): "datetime",
}
_OF_ONE_TABLE: Final = (
    "bounds and lists are taken as stated; NIST's files may state what one table holds, so check that they are public"
)


def is_nist(value: object) -> bool:
    """Return whether a value is a data dictionary, or parameters with a schema of dtypes."""
    if not isinstance(value, Mapping) or not value:
        return False
    features = value.get("schema")
    if isinstance(features, Mapping) and features and all(isinstance(each, Mapping) for each in features.values()):
        return any("dtype" in each for each in features.values())
    if not all(isinstance(each, Mapping) for each in value.values()):
        return False
    return any(isinstance(each.get("description"), str) for each in value.values())


def read_nist(value: object, name: str) -> Converted:
    """Return the schema of a NIST data dictionary or of SDNist's parameters; codes are categories or special."""
    source = check_object(value, name)
    remarks = Remarks()
    inner = source.get("schema")
    is_typed = isinstance(inner, Mapping) and any(
        isinstance(each, Mapping) and "dtype" in each for each in inner.values()
    )
    features = check_object(inner, f"{name}: schema") if is_typed else source
    read = _typed if is_typed else _described
    fields = []
    for feature, about in features.items():
        where = f"{name}: feature {quote(feature)}"
        fields.append(read(feature, check_object(about, where), where, remarks))
    remarks.add(_OF_ONE_TABLE)
    if "runs" in source and is_typed:
        remarks.add(
            "runs are left out: give the budget to lapwing synthesize, and rows per person as privacyUnit in the schema"
        )
    return converted(fields, notes=remarks.texts())


def _described(feature: str, about: Mapping[str, Any], where: str, remarks: Remarks) -> Field:
    """Return a feature of a dictionary, whose values stand under "values" or beside the description."""
    description = text_or_empty(about.get("description"))
    values = about.get("values")
    if values is None:
        values = {key: each for key, each in about.items() if key not in _ABOUT}
    if isinstance(values, list):
        return _listed(feature, "string", scalars(values, where), ("",), description=description)
    codes = check_object(values, f"{where}: values")
    if not codes:
        link = about.get("link")
        place = f" ({quote(link)})" if isinstance(link, str) else ""
        remarks.add(f"the values are told elsewhere{place}", feature)
        return Field(name=feature, type="string", description=description)
    if any(number_of(codes.get(key)) is not None for key in ("min", "max")):
        return _ranged(feature, codes, description, remarks)
    remarks.add("what each code means is left out")
    return _listed(feature, "string", list(codes), ("",), description=description)


def _ranged(feature: str, codes: Mapping[str, Any], description: str, remarks: Remarks) -> Field:
    """Return a feature with min and max, perhaps with codes beside them."""
    low, high, step = (number_of(codes.get(key)) for key in ("min", "max", "step_size"))
    others = {key: number_of(key) for key in codes if key not in _BOUNDS}
    texts = [key for key, number in others.items() if number is None]
    outside = [
        number
        for number in others.values()
        if number is not None and ((low is not None and number < low) or (high is not None and number > high))
    ]
    if texts:
        remarks.add("codes that are no numbers are read as missing", feature)
    if len(texts) + len(outside) < len(others):
        remarks.add("codes between min and max are read as the numbers that they are", feature)
    written = [codes[key] for key in _BOUNDS if number_of(codes.get(key)) is not None]
    written += [key for key, number in others.items() if number is not None]
    is_whole = all(map(is_written_whole, written))
    remarks.add("no types are stated: features whose numbers are all written whole are read as integers")
    return Field(
        name=feature,
        type="integer" if is_whole else "number",
        minimum=low,
        maximum=high,
        special=tuple(dict.fromkeys(outside)),
        # Whole numbers lie 1 apart by themselves.
        resolution=None if step is None or (is_whole and step == 1) else step,
        missing_values=missing_texts(None, ["", *texts]),
        description=description,
    )


def _listed(
    feature: str,
    kind: FieldType,
    values: list[Any],
    missing: tuple[str, ...],
    *,
    required: bool = False,
    description: str,
) -> Field:
    """Return a feature that is a list of values."""
    return Field(
        name=feature,
        type=kind,
        categories=tuple(values),
        required=required,
        missing_values=missing_texts(values, missing),
        description=description,
    )


def _typed(feature: str, about: Mapping[str, Any], where: str, remarks: Remarks) -> Field:
    """Return a feature of parameters."""
    kind = _kind(about.get("dtype"), where)
    has_null = about.get("has_null")
    if has_null is not None and not isinstance(has_null, bool):
        raise refusal(f"{where}: has_null must be true or false, got {quote(has_null)}; correct it")
    null = about.get("null_value")
    nulls = [] if null is None else [category_key(each) for each in scalars([null], where)]
    description = text_or_empty(about.get("description"))
    for key in sorted(map(str, about.keys() - _PARAMETERS)):
        remarks.add(f"{key} has no counterpart and is left out", feature)
    values = about.get("values")
    required = has_null is False
    if values is not None and kind != "boolean":
        if not isinstance(values, list):
            raise refusal(f"{where}: values must be a list, got {quote(values)}; correct it")
        kept = [each for each in scalars(values, where) if category_key(each) not in nulls]
        sort, kept = _of_one_sort(kind, kept)
        return _listed(feature, sort, kept, ("", *nulls), required=required, description=description)
    bounds = {"minimum": about.get("min"), "maximum": about.get("max")}
    stated = {key: value for key, value in bounds.items() if value is not None}
    if kind == "string" and stated:
        kind = "integer" if all(map(is_written_whole, stated.values())) else "number"
        remarks.add("the dtype is not one of numbers: read as its bounds are written", feature)
    if kind == "boolean":
        stated = {}
    return Field(
        name=feature,
        type=kind,
        required=required,
        missing_values=missing_texts(None, ["", *nulls]),
        description=description,
        **stated,
    )


def _kind(dtype: object, where: str) -> FieldType:
    """Return the type that a dtype of pandas stands for."""
    if dtype is not None and not isinstance(dtype, str):
        raise refusal(f"{where}: dtype must be a text such as int64, got {quote(dtype)}; correct it")
    folded = (dtype or "").casefold()
    return next((kind for begins, kind in _DTYPES.items() if folded.startswith(begins)), "string")


def _of_one_sort(kind: FieldType, values: list[Any]) -> tuple[FieldType, list[Any]]:
    """Return values of one sort, and the type that holds them: texts, where they are not all numbers of the type."""
    fits: dict[str, Callable[[Any], bool]] = {
        "integer": lambda value: whole_number(value) is not None,
        "number": lambda value: not isinstance(value, str),
        "datetime": lambda value: isinstance(value, str),
    }
    if kind in fits and all(map(fits[kind], values)):
        return kind, values
    return "string", values if len(set(map(fits["number"], values))) == 1 else list(map(category_key, values))
