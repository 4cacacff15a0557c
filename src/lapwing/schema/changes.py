"""Schemas made of others: what `schema | changes` and `schema.select(names)` change."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.files import field_from, field_to_dict
from lapwing.schema.reading import PLAIN_FILE
from lapwing.schema.scalars import did_you_mean, quote
from lapwing.schema.typed import check_object

_IN_CONSTRAINTS: Final = ("minimum", "maximum", "required")
_PLAIN: Final = ("",)


def schema_changes(schema: Any, changes: Any) -> dict[str, Any]:  # noqa: ANN401 - a Schema, which imports this
    """Return what changes in a schema: a draft while its fields or questions leave anything open."""
    table: dict[str, Any] = {}
    if isinstance(changes, type(schema)):
        table, new = _table_of(schema, changes), {field.name: field for field in changes.one_table.fields}
    elif isinstance(changes, Mapping):
        new = {name: _field(schema, name, keys) for name, keys in changes.items()}
    else:
        said = f"changes of a schema map columns to keys, or are a Schema, got a {type(changes).__name__}"
        raise SchemaError(f'{said}; write for example {{"age": {{"maximum": 99}}}}', code="LW206")
    fields = tuple({**{field.name: field for field in schema.fields}, **new}.values())
    is_draft = bool(table.get("questions", schema.questions)) or any(map(open_keys, fields))
    return {"fields": fields, "is_draft": is_draft, **table}


def selected(schema: Any, names: Any) -> dict[str, Any]:  # noqa: ANN401 - see `schema_changes`
    """Return what changes in a schema of which some columns are taken: what names another column goes with it."""
    is_data = isinstance(names, str) or hasattr(names, "columns") or type(names).__name__ == "Series"
    if is_data or not isinstance(names, Iterable):
        said = f"select takes a list of names of columns, got a {type(names).__name__}"
        raise SchemaError(f'{said}; write ["age", "sex"]', code="LW206")
    unit = schema.privacy_unit
    taken = {unit.field: schema.field(unit.field)} if unit is not None else {}
    taken |= {name: schema.field(name) for name in names}
    held = {
        key: tuple(each for each in getattr(schema, key) if taken.keys() >= set(each.columns))
        for key in ("rules", "public_tables")
    }
    return {"fields": tuple(taken.values()), "weight": schema.weight if schema.weight in taken else None, **held}


def open_keys(field: Field) -> tuple[str, ...]:
    """Return what the owner of a draft has yet to say of a field."""
    return (*field.blank, "provenance") if field.provenance == "drafted" else field.blank


def _field(schema: Any, name: str, keys: object) -> Field:  # noqa: ANN401 - see `schema_changes`
    """Return a field with changes; bounds and ``required`` may stand outside ``constraints``."""
    if isinstance(keys, Field):
        return keys
    new = dict[str, Any](check_object(keys, f"changes of field {quote(name)}"))
    if name not in schema and isinstance(name, str) and "type" not in new:
        way_out = did_you_mean(name, schema.names, 'a new column needs a "type"')
        said = f"{way_out} What is of the whole table goes by Schema.load({{**schema.to_dict(), ...}})"
        raise SchemaError(f"no field is called {quote(name)}; {said}", code="LW219")
    before: dict[str, Any] = field_to_dict(schema.field(name), _PLAIN) if name in schema else {"name": name}
    inner: object = new.pop("constraints", None)
    constraints = dict(before.pop("constraints", {}))
    constraints |= check_object({} if inner is None else inner, f"field {quote(name)}: constraints")
    constraints |= {key: new.pop(key) for key in _IN_CONSTRAINTS if key in new}
    return field_from({**before, **new, "constraints": constraints})


def _table_of(first: Any, second: Any) -> dict[str, Any]:  # noqa: ANN401 - see `schema_changes`
    """Return what two schemas say of the table: of one thing the second has the word, lists are put together."""
    single: dict[str, Any] = {
        key: getattr(second, key) or getattr(first, key) for key in ("privacy_unit", "name", "weight")
    }
    listed = {
        key: tuple({repr(each): each for each in (*getattr(first, key), *getattr(second, key))}.values())
        for key in ("questions", "purchases", "rules", "public_tables")
    }
    return {**single, **listed, "dialect": first.dialect if second.dialect == PLAIN_FILE else second.dialect}
