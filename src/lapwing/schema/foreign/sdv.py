"""Metadata of SDV: one table or several, versions 1 and 2, in JSON."""

from collections.abc import Mapping
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.foreign.converted import Converted, Lack, chosen_table, converted, names_in_short, unit_lack
from lapwing.schema.foreign.sdv_columns import Columns
from lapwing.schema.parsing import check_object
from lapwing.schema.scalars import quote

FORMAT: Final = "SDV metadata"

_VERSION: Final = "METADATA_SPEC_VERSION"
_SEVERAL: Final = ("V1", "V2", "MULTI_TABLE_V1")
_SINGLE: Final = ("SINGLE_TABLE_V1", "SINGLE_TABLE_V2")


def is_sdv(value: object) -> bool:
    """Return whether a value names a version of SDV's metadata, or has a column with an sdtype."""
    if not isinstance(value, Mapping):
        return False
    tables = value.get("tables")
    return _VERSION in value or any(
        isinstance(column, Mapping) and "sdtype" in column
        for table in (value, *(tables.values() if isinstance(tables, Mapping) else ()))
        if isinstance(table, Mapping) and isinstance(table.get("columns"), Mapping)
        for column in table["columns"].values()
    )


def read_sdv(value: object, name: str, table: str | None) -> Converted:
    """Return the schema of one table in an SDV metadata file.

    Parameters
    ----------
    value : object
        What `is_sdv` recognises.
    name : str
        What error sentences call the file.
    table : str or None
        Which table; may be None where there is one.

    Raises
    ------
    SchemaError
        Where a setting is of a wrong type, or the table cannot be told.

    Examples
    --------
    >>> columns = {"id": {"sdtype": "id"}, "paid": {"sdtype": "boolean"}}
    >>> found = read_sdv({"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns}, "the file", None)
    >>> [field.identifier for field in found.schema.fields]
    [True, False]
    """
    whole = check_object(value, name)
    chosen, described, where = _table(whole, name, table)
    columns = Columns(check_object(described.get("columns"), f"{where}: columns"), where)
    for key in ("primary_key", "alternate_keys"):
        columns.take_keys(key, _names(described.get(key), f"{where}: {key}"))
    fields = [columns.field_of(column) for column in columns.source]
    lacks = [*_unit_lacks(whole, chosen, described, where), *columns.all_lacks()]
    return converted(fields, FORMAT, name=chosen, lacks=lacks, notes=[*_table_notes(described), *columns.all_notes()])


def _table(whole: Mapping[str, Any], name: str, wanted: str | None) -> tuple[str, Mapping[str, Any], str]:
    """Return the name of the table to read (empty where it has none), the table, and what messages call it."""
    version = whole.get(_VERSION)
    known = (*_SEVERAL, *_SINGLE)
    if version is not None and version not in known:
        raise SchemaError(
            f"{name}: {_VERSION} {quote(version)} is not known; known are {', '.join(known)}. "
            "SDV's Metadata.upgrade_metadata makes new files of old ones",
            code="LW261",
        )
    if version in _SINGLE or (version is None and "tables" not in whole):
        if wanted is not None:
            raise SchemaError(
                f"{name} describes one table and does not name it; leave out the table {quote(wanted)}", code="LW262"
            )
        return "", whole, name
    tables = check_object(whole.get("tables"), f"{name}: tables")
    chosen = chosen_table(list(tables), wanted, name)
    where = f"{name}: table {quote(chosen)}"
    return chosen, check_object(tables[chosen], where), where


def _names(value: object, where: str) -> list[list[str]]:
    """Return keys, each as a list of columns: a name, a list of names, or in V2 a list of lists."""
    listed: list[Any] = [] if value is None else value if isinstance(value, list) else [value]
    keys: list[list[Any]] = [key if isinstance(key, list) else [key] for key in listed]
    for key in keys:
        for column in key:
            if not isinstance(column, str):
                raise SchemaError(f"{where} must hold names of columns, got {quote(column)}", code="LW261")
    is_composite = where.endswith("primary_key") and isinstance(value, list)
    return [[column for key in keys for column in key]] if is_composite else keys


def _unit_lacks(whole: Mapping[str, Any], chosen: str, described: Mapping[str, Any], where: str) -> list[Lack]:
    """Return a lack where the file says that rows belong together, which SDV takes for no question of privacy."""
    sequence = [column for key in _names(described.get("sequence_key"), f"{where}: sequence_key") for column in key]
    parents = [f"sequence_key {quote(column)}" for column in sequence]
    relations = whole.get("relationships") if chosen else None
    if not isinstance(relations, list | None):
        raise SchemaError(f"{where}: relationships must be a list, got {quote(relations)}", code="LW261")
    for relation in relations or ():
        link = check_object(relation, f"{where}: a relationship")
        if link.get("child_table_name") == chosen:
            parents.append(f"key {_short(link.get('child_foreign_key'))} of {_short(link.get('parent_table_name'))}")
    if not parents:
        return []
    shown = ", ".join(parents[:10])
    return [
        unit_lack(f"rows share a {shown}", '"privacyUnit": {"field": the column that names a person, "maxRows": 5}')
    ]


def _short(value: object) -> str:
    """Return one name or several as they stand in a sentence."""
    return names_in_short(value) if isinstance(value, list) else quote(value)


def _table_notes(described: Mapping[str, Any]) -> list[str]:
    """Return what SDV says of the table beside its columns and has no counterpart."""
    return [
        f"{key} has no counterpart: {why}"
        for key, why in (
            ("sequence_index", "rows have no order here"),
            ("column_relationships", "columns are measured together by what mechanisms find"),
        )
        if described.get(key)
    ]
