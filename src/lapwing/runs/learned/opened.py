"""Schemas by which a table is read before its bounds and categories are known: public, complete, and any value fits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

_FIRST_DAY, _LAST_DAY = "0001-01-01", "9999-12-31"


def opened_field(field: Field) -> Field:
    """Return a field that any value of its type fits.

    field: of any type but boolean, no identifier; what it says about values, categories too, is left out. Returns
    integers and numbers on the grid of `lapwing.schema.groupings.domains`; texts as they are; dates and datetimes by
    day from year 1 to 9999. Name, type, special values, ``required`` and missing values stay.

    >>> opened_field(Field(name="income", type="integer", minimum=0, maximum=9)).domain.values
    5581
    >>> opened_field(Field(name="born", type="date", required=True)).domain.values
    3652059
    """
    if field.identifier:
        raise SchemaError(
            f"field {quote(field.name)}: an identifier has no values to learn; leave it out", code="LW271"
        )
    if field.type == "boolean":
        raise SchemaError(f"field {quote(field.name)}: the values of a boolean are known; leave it out", code="LW271")
    is_time = field.type in ("date", "datetime")
    return Field(
        name=field.name,
        type=field.type,
        minimum=_FIRST_DAY if is_time else None,
        maximum=_LAST_DAY if is_time else None,
        resolution="day" if is_time else None,
        required=field.required,
        special=field.special,
        missing_values=field.missing_values,
        open=not is_time,
    )


def opened_schema(schema: Schema, fields: Sequence[str], dictionaries: Mapping[str, tuple[str, ...]]) -> Schema:
    """Return the schema by which a table is read to learn some of its fields.

    fields: names of the fields to learn, at least one; dictionaries: public lists of what the values of string fields
    may be, by field. Returns the fields to learn, in the schema's order, and the field of the privacy unit. A field
    with a dictionary or with categories is a list, all others are opened. No draft.

    The privacy unit's field names the unit exactly as under `schema`: by its type and its missing values. It is an
    identifier here unless it is learned itself, or of a type that no identifier has; then it is one more column.
    """
    wanted = {schema.field(name).name for name in fields}
    if not wanted:
        raise SchemaError("no field is named whose values are to be learned; name at least one", code="LW271")
    unit = schema.privacy_unit
    found = []
    for field in schema.fields:
        if field.name in wanted:
            found.append(_readable(field, dictionaries.get(field.name)))
        elif unit is not None and field.name == unit.field:
            found.append(_naming(field))
    return Schema(fields=tuple(found), privacy_unit=unit, name=schema.name)


def _readable(field: Field, dictionary: tuple[str, ...] | None) -> Field:
    """Return a field to learn: a list where there is one, else opened."""
    if dictionary is None:
        return field if field.categories is not None and not field.identifier else opened_field(field)
    # What the field says about its own list need not hold for another; but codes fold into those that the list has.
    tree = replace(field.hierarchy, fold=True) if isinstance(field.hierarchy, Prefixes) else None
    return replace(opened_field(field), open=False, categories=dictionary, hierarchy=tree)


def _naming(field: Field) -> Field:
    """Return the privacy unit's field so that its cells name the same units, and are as little else as possible."""
    if field.type == "boolean":
        return replace(field, provenance="assumed")
    if field.type not in ("integer", "string"):
        return opened_field(field)
    return Field(name=field.name, type=field.type, identifier=True, missing_values=field.missing_values)
