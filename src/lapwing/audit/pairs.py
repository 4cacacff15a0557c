"""Generated neighbouring tables: small, mixed and nasty, for record and replay.

A table is a list of records; a record is a mapping from field name to a Python value, often one that does not fit the
schema. Units own none, one or more rows than the schema allows, so that truncation is always at work. At times the
unit that differs is the one whose rows all lack their identifier. In some rows everything is missing or special
together. The order of the rows says nothing: it is often another one in the neighbour.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from lapwing.release.terms import Relation
from lapwing.schema.schemas import Schema

Record = Mapping[str, Any]

_FIELDS: tuple[Mapping[str, Any], ...] = (
    {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
    {"name": "flag", "type": "boolean", "constraints": {"required": True}},
    {"name": "age", "type": "integer", "constraints": {"minimum": -3, "maximum": 40, "required": True}},
    {"name": "size", "type": "number", "constraints": {"minimum": -1, "maximum": 1}, "special": [99]},
    {
        "name": "day",
        "type": "date",
        "constraints": {"minimum": "2020-01-01", "maximum": "2020-03-01", "required": True},
    },
    {
        "name": "pay",
        "type": "integer",
        "scale": "log",
        "constraints": {"minimum": -2, "maximum": 900},
        "special": [-9, 9999],
    },
    {
        "name": "code",
        "type": "string",
        "categories": ["A1", "A2", "B1", "B11", "B2", "C"],
        "hierarchy": {"prefixes": [1, 2]},
    },
    {
        "name": "month",
        "type": "date",
        "resolution": "month",
        "constraints": {"minimum": "2019-11-15", "maximum": "2020-03-01"},
    },
)
_VALUES: Mapping[str, tuple[Any, ...]] = {
    "kind": ("a", "b", "c", "zzz", "", None),
    "flag": ("true", "false", "perhaps", None),
    "age": ("-3", "0", "7", "40", "41", "-99999999999999999999", "N/A", "1e400", None),
    "size": ("-1", "1", "0.25", "99", "-0.0", "5e-324", "nan", "inf", "text", None),
    "day": ("2020-01-01", "2020-02-29", "1999-12-31", "not a day", None),
    "pay": ("-2", "0", "1", "3", "4", "899", "901", "-9", "9999", "4.5", None),
    "code": ("A1", "B1", "B11", "B2", "C", "D1", "b1", None),
    "month": ("2019-11-01", "2019-12-31", "2020-03-01", "2020-03-31", "1999-12-31", "no month", None),
}
_GAPS: Mapping[str, tuple[Any, ...]] = {
    "kind": (None, ""),
    "size": (None, "99"),
    "pay": (None, "-9", "9999"),
    "code": (None, "?"),
    "month": (None, ""),
}


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Two tables that differ in one privacy unit.

    Parameters
    ----------
    schema : Schema
        Public schema of both.
    data, neighbour : table
        In the form that was asked for.
    """

    schema: Schema
    data: object
    neighbour: object


def as_text(frame: pl.DataFrame) -> object:
    """Return a frame whose columns are all text as it is."""
    return frame


def neighbour_pair(
    rng: np.random.Generator,
    relation: Relation,
    max_rows: int,
    form: Callable[[pl.DataFrame], object] = as_text,
    *,
    is_full: bool = False,
) -> NeighbourPair:
    """Generate a schema, a table under it and a neighbour.

    Parameters
    ----------
    rng : numpy.random.Generator
        Public randomness.
    relation : {"add-remove", "replace-one"}
        How the tables differ.
    max_rows : int, at least 1
        1 with a coin flip's chance of no privacy unit at all; more: a unit field with that many rows.
    form : callable
        Turns a Polars frame whose columns are all text into the table to read, each cell by itself.
    is_full : bool, default False
        Whether the unit that differs owns twice as many rows as it may, all alike: what loses most.

    Returns
    -------
    NeighbourPair
        Of 0 to about 30 rows.
    """
    chosen = rng.permutation(len(_FIELDS))[: rng.integers(1, len(_FIELDS) + 1)]
    fields = [dict(_FIELDS[i]) for i in chosen]
    has_unit = max_rows > 1 or bool(rng.integers(2))
    # Where the schema promises identifiers, the number of units is public under replace-one and one row of each.
    is_required = len(chosen) % 2 == 0
    unit = {"name": "person", "type": "string", "role": "identifier", "constraints": {"required": is_required}}
    schema = Schema.from_dict(
        {"fields": [unit, *fields], "privacyUnit": {"field": "person", "maxRows": max_rows}}
        if has_unit
        else {"fields": fields}
    )
    most = 2 * max_rows if has_unit else 1
    limit = min(12, 36 // max_rows + 1)  # units of many rows are few, so that tables stay small
    units = [_rows(rng, f"p{i}", most) for i in range(int(rng.integers(0, limit)))]
    person = "changed" if rng.integers(4) else None
    changed = _rows(rng, person, most)
    other = [] if relation == "add-remove" else _rows(rng, person, most)
    if is_full:
        changed, other = changed[:1] * most, other[:1] * most
    place = int(rng.integers(0, len(units) + 1))
    data = form(_frame(rng, schema, [*units[:place], changed, *units[place:]]))
    neighbour = form(_frame(rng, schema, [*units[:place], other, *units[place:]]))
    return NeighbourPair(schema, data, neighbour) if rng.integers(2) else NeighbourPair(schema, neighbour, data)


def _rows(rng: np.random.Generator, person: str | None, most: int) -> list[Record]:
    """Draw between 1 and ``most`` rows of one unit; every other unit repeats one row."""
    count = int(rng.integers(1, most + 1))
    rows = [_row(rng) for _ in range(count)]
    if rng.integers(2):
        rows = [rows[0]] * count
    return [{**row, "person": person} for row in rows]


def _row(rng: np.random.Generator) -> Record:
    """Draw a row; in every sixth one, all that can be missing or special is so together."""
    drawn = {name: values[rng.integers(len(values))] for name, values in _VALUES.items()}
    if rng.integers(6):
        return drawn
    return drawn | {name: values[rng.integers(len(values))] for name, values in _GAPS.items()}


def _frame(rng: np.random.Generator, schema: Schema, units: list[list[Record]]) -> pl.DataFrame:
    """Put all rows in one frame of texts: unit by unit, or in any order."""
    rows = [row for unit in units for row in unit]
    if rng.integers(2):
        rows = [rows[place] for place in rng.permutation(len(rows))]
    return pl.DataFrame(
        {field.name: pl.Series([row[field.name] for row in rows], dtype=pl.String) for field in schema.fields}
    )
