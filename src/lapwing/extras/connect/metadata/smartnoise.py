"""Metadata of SmartNoise SQL: database, schema, table, columns, in YAML."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.converted import (
    ConvertedTable,
    Lack,
    chosen_table,
    converted_table,
    refusal,
    unit_lack,
)
from lapwing.schema.fields import Field, FieldType, PrivacyUnit
from lapwing.schema.scalars import finite_number, names_in_short, quote
from lapwing.schema.typed import TypedObject, check_object

_TYPES: Final[dict[str, FieldType]] = {
    "int": "integer",
    "float": "number",
    "string": "string",
    "boolean": "boolean",
    "datetime": "datetime",
}
_UNKNOWN: Final = "unknown"
_RANGED: Final = ("int", "float")
_TABLE_KEYS: Final = frozenset(
    {
        *("rows", "rows_exact", "row_privacy", "max_ids", "sample_max_ids"),
        *("clamp_counts", "clamp_columns", "use_dpsu", "censor_dims"),
    }
)
_COLUMN_KEYS: Final = frozenset(
    {"type", "lower", "upper", "nullable", "missing_value", "sensitivity", "private_id", "cardinality"}
)
_OF_QUERIES: Final = ("censor_dims", "clamp_counts", "use_dpsu")
# Columns stand below database, schema and table.
_LEVELS: Final = 3
_DEEPEST: Final = 6
# Switches that are on unless a file turns them off, and cannot be turned off here.
_ALWAYS_ON: Final = {
    "sample_max_ids": "sample_max_ids is off, but rows of one unit beyond maxRows are always left out here",
    "clamp_columns": "clamp_columns is off, but values beyond the bounds always count as the nearest bound here",
}


def is_smartnoise(value: object) -> bool:
    """Return whether a value has a column with a type of SmartNoise, three levels below the top."""
    return any(_is_typed(column) for column in _below(_below(_below(_below([value])))))


def smartnoise_misfit(value: object) -> str:
    """Return why an object that looks like metadata of SmartNoise is none: levels or a type; nothing for others."""
    level = [value]
    for depth in range(_DEEPEST):
        level = list(_below(level))
        if depth != _LEVELS and any(map(_is_typed, level)):
            levels = "1 level" if depth == 1 else f"{depth} levels"
            return f"its columns stand {levels} below the top and not 3; write database, schema and table above them"
        for column in level if depth == _LEVELS else ():
            kind = column.get("type") if isinstance(column, Mapping) else None
            if isinstance(kind, str):
                return f"a column has the type {quote(kind)}; types are {', '.join(_TYPES)}, {_UNKNOWN}"
    return ""


def _is_typed(value: object) -> bool:
    """Return whether a value is a column with a type of SmartNoise."""
    return isinstance(value, Mapping) and value.get("type") in (*_TYPES, _UNKNOWN)


def read_smartnoise(value: object, name: str, table: str | None) -> ConvertedTable:
    """Return the schema of one table, ``TABLE`` or ``SCHEMA.TABLE`` or the only one, in a SmartNoise SQL file."""
    tables = _tables(check_object(value, name), name)
    chosen = chosen_table(list(tables), table, name, [each.rpartition(".")[2] for each in tables])
    found = _Table(check_object(tables[chosen], f"{name}: table {quote(chosen)}"), f"{name}: table {quote(chosen)}")
    fields = [found.field_of(column) for column in found.source if column not in _TABLE_KEYS]
    unit = found.unit()
    found.note_settings()
    return converted_table(
        fields, name=chosen.rpartition(".")[2], unit=unit, lacks=found.lacks, notes=found.all_notes()
    )


@dataclass(slots=True)
class _Table:
    """One table of the file, and what has been found out about it so far."""

    source: Mapping[str, Any]
    where: str
    lacks: list[Lack] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    noted: dict[str, list[str]] = field(default_factory=dict)

    def field_of(self, column: str) -> Field:
        """Return the field of a column."""
        where = f"{self.where}: column {quote(column)}"
        source = check_object(self.source[column], where)
        kind = source.get("type")
        if not isinstance(kind, str) or kind not in (*_TYPES, _UNKNOWN):
            raise refusal(f"{where}: type {quote(kind)} is not known; SmartNoise has {', '.join(_TYPES)}, unknown")
        self._note_column(column, source)
        if TypedObject(source, where).flag("private_id"):
            self.ids.append(column)
            return Field(name=column, type="integer" if kind == "int" else "string", identifier=True)
        if kind == _UNKNOWN:
            way_out = 'give it another type and a domain, or leave it the role "identifier" and it is not modelled'
            self.lacks.append(Lack(column, "its type, which the file calls unknown", way_out))
            return Field(name=column, type="string", identifier=True)
        # The tool reads a missing cell as `missing_value`; the cell is missing in the table all the same.
        is_filled = source.get("missing_value") is not None
        required = not TypedObject(source, where).flag("nullable", usual=True) and not is_filled
        bounds: dict[str, Any] = {
            key: _bound(source.get(theirs), f"{where}: {theirs}") if kind in _RANGED else None
            for key, theirs in (("minimum", "lower"), ("maximum", "upper"))
        }
        return Field(name=column, type=_TYPES[kind], required=required, **bounds)

    def unit(self) -> PrivacyUnit | None:
        """Return the privacy unit, or None with a lack where the file leaves open whose rows belong together."""
        if TypedObject(self.source, self.where).flag("row_privacy"):
            if self.ids:
                self.notes.append(
                    f"row_privacy protects each row by itself, so private_id of {names_in_short(self.ids)} names an "
                    "identifier and no privacy unit"
                )
            return None
        if len(self.ids) == 1:
            stated = self.source.get("max_ids")
            return PrivacyUnit(self.ids[0], 1 if stated is None else stated)
        named = f"private_id stands at {names_in_short(self.ids)}" if self.ids else "the file has no private_id"
        self.lacks.append(unit_lack(named))
        return None

    def note_settings(self) -> None:
        """Note the settings of the table that a schema has no place for."""
        stated = [key for key in _OF_QUERIES if key in self.source]
        if stated:
            self.notes.append(f"{', '.join(stated)}: settings of queries, which have no place in a schema")
        for key, why in _ALWAYS_ON.items():
            if not TypedObject(self.source, self.where).flag(key, usual=True):
                self.notes.append(why)
        if any(self.source.get(key) for key in ("rows", "rows_exact")):
            self.notes.append("the number of rows is not part of a schema; if it is public, give it as --expected-rows")

    def all_notes(self) -> list[str]:
        """Return the notes on the table, then those on columns, one for all columns that they hold for."""
        return self.notes + [f"{what} (at {names_in_short(columns)})" for what, columns in self.noted.items()]

    def _note_column(self, column: str, source: Mapping[str, Any]) -> None:
        """Note the settings of a column that a schema has no place for."""
        is_filled = source.get("missing_value") is not None
        said = {
            "sensitivity has no counterpart: it follows from the bounds": source.get("sensitivity") is not None,
            "cardinality counts the categories, and a schema lists them": bool(source.get("cardinality")),
            "missing_value has no counterpart: missing cells stay missing here": is_filled,
            "unknown settings were read past, as SmartNoise does": not _COLUMN_KEYS.issuperset(source),
        }
        for what in (what for what, is_so in said.items() if is_so):
            self.noted.setdefault(what, []).append(column)


def _below(values: Any) -> Iterator[object]:  # noqa: ANN401
    """Return the values of those values that are mappings."""
    return (inner for value in values if isinstance(value, Mapping) for inner in value.values())


def _tables(value: Mapping[str, Any], name: str) -> dict[str, object]:
    """Return the tables of the one database in a file, by schema and name."""
    databases = [key for key in value if key != "engine"]
    if len(databases) != 1:
        raise SchemaError(f"{name} describes several databases; keep one of {names_in_short(databases)}", code="LW262")
    found: dict[str, object] = {}
    for schema, tables in check_object(value[databases[0]], f"{name}: the database").items():
        for table, described in check_object(tables, f"{name}: schema {quote(schema)}").items():
            found[f"{schema}.{table}" if schema.strip() else table] = described
    return found


def _bound(value: object, where: str) -> int | float | None:
    """Return a bound as a number; YAML 1.1 takes 1e6, which has no point, for a text, and the tool for a number."""
    if value is None:
        return None
    number = finite_number(value)
    if isinstance(value, str):
        try:
            number = finite_number(float(value))
        except ValueError:
            number = None
    if number is None:
        raise refusal(f"{where} must be a finite number, got {quote(value)}")
    return number
