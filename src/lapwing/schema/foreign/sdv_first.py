"""Metadata of SDV before 1.0, where fields have a `type` and say themselves to which key they point, as later ones."""

from collections.abc import Mapping
from typing import Any, Final

from lapwing.schema.files import check_object
from lapwing.schema.foreign.converted import refusal
from lapwing.schema.scalars import quote

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
        fields = _named(described.get("fields"), f"{where}: fields")
        tables[table] = {
            "columns": {column: _column(field, f"{where}: field {quote(column)}") for column, field in fields.items()},
            "primary_key": described.get("primary_key"),
            "sequence_index": described.get("sequence_index"),
        }
        for column, field in fields.items():
            if field.get("ref") is not None:
                to = check_object(field["ref"], f"{where}: ref of {quote(column)}")
                relationships.append(
                    {
                        "child_table_name": table,
                        "child_foreign_key": column,
                        "parent_table_name": to.get("table"),
                        "parent_primary_key": to.get("field"),
                    }
                )
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


def _column(field: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a field as a column of later files."""
    kind, category = field.get("type"), field.get("pii_category")
    if not isinstance(kind, str):
        raise refusal(f"{where}: type must be a text such as numerical, got {quote(kind)}")
    if field.get("pii") is True:
        category = category[0] if isinstance(category, list) and category else category
        return {"sdtype": category if isinstance(category, str) else "pii", "pii": True}
    found = {theirs: field.get(ours) for ours, theirs in _SAME.get(kind, {}).items()}
    if kind == "numerical":
        found = {"computer_representation": _STORED.get(str(field.get("subtype")))}
    return {"sdtype": kind, **found}
