"""Generated neighbouring tables: small, mixed and nasty, for record and replay.

A table is a list of records; a record is a mapping from field name to a Python value, often one that does not fit the
schema. Units own none, one or more rows than the schema allows, so that truncation is always at work. At times the
unit that differs is the one whose rows all lack their identifier. In some rows everything is missing or special
together. The order of the rows says nothing: it is often another one in the neighbour.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from lapwing.kernel.terms import Relation
from lapwing.schema.fields import Field, PrivacyUnit
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
    """Two tables that differ in one privacy unit."""

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
    others: int = 0,
    most_columns: int = len(_FIELDS),
) -> NeighbourPair:
    """Generate a schema, a table under it and a neighbour.

    max_rows: 1 with a coin flip's chance of no privacy unit at all; more: a unit field with that many rows; form: turns
    a Polars frame whose columns are all text into the table to read, each cell by itself; is_full: whether the unit
    that differs owns twice as many rows as it may, all alike: what loses most; others: so many persons more,
    of one row each.
    """
    chosen = rng.permutation(len(_FIELDS))[: rng.integers(1, most_columns + 1)]
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
    units: list[list[Record]] = [_rows(rng, f"p{i}", most) for i in range(int(rng.integers(0, limit)))]
    drawn = [_row(rng) for _ in range(min(others, 40))]
    units.extend([{**drawn[place % len(drawn)], "person": f"o{place}"}] for place in range(others))
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


# -- Generated neighbouring tables with an open column of odd texts, as learned lists of categories need them.


Row = tuple[str | None, str | None]

_POPULAR = ("A10", "A1", "B", "é", "Zürich")
_ODD = ("A1", "A11", "a1", "N/A", "N/Ax", "", " ", "B ", "e\u0301", "two\nlines", "\u2028", "x" * 200, "x" * 201, None)

FREQUENT = (0, 1, 2, 3, 5, 30, 90)
"""Rows that some popular texts have."""


def open_schema(max_rows: int = 1, *, has_unit: bool = True) -> Schema:
    """Return the schema of an open column of texts, with rows of a person."""
    town = Field(name="town", type="string", open=True, missing_values=("", "N/A", "Z"))
    if not has_unit:
        return Schema(fields=(town,))
    person = Field(name="person", type="string", identifier=True)
    return Schema(fields=(person, town), privacy_unit=PrivacyUnit("person", max_rows))


def text_pair(
    rng: np.random.Generator, relation: Relation, max_rows: int, frequent: Sequence[int] = FREQUENT
) -> NeighbourPair:
    """Return two tables of texts that differ in one unit, which has texts of its own at times."""
    has_unit = max_rows > 1 or bool(rng.integers(2))
    most = 2 * max_rows if has_unit else 1
    units = [_text_rows(rng, f"p{place}", most) for place in range(int(rng.integers(0, 12)))]
    for place, text in enumerate(_POPULAR):
        rows = int(rng.choice(frequent))
        units += [[(f"q{place}-{number}", text)] for number in range(rows)]
    person = "changed" if rng.integers(4) else None
    changed, other = _text_rows(rng, person, most, own="only here"), _text_rows(rng, person, most, own="only there")
    pair = [[*units, changed], [*units, *([] if relation == "add-remove" else [other])]]
    one, two = (_text_frame(rng, list(itertools.chain.from_iterable(each))) for each in pair)
    schema = open_schema(max_rows, has_unit=has_unit)
    return NeighbourPair(schema, one, two) if rng.integers(2) else NeighbourPair(schema, two, one)


def _text_rows(rng: np.random.Generator, person: str | None, most: int, own: str = "only mine") -> list[Row]:
    """Return rows of one unit: some are all alike, some hold what no other unit has."""
    count = int(rng.integers(1, most + 1))
    texts = [(*_POPULAR, *_ODD, own, f"{own} too")[rng.integers(len(_POPULAR) + len(_ODD) + 2)] for _ in range(count)]
    return [(person, text) for text in (texts[:1] * count if rng.integers(2) else texts)]


def _text_frame(rng: np.random.Generator, rows: Sequence[Row]) -> pl.DataFrame:
    """Put the rows in one frame, in any order."""
    rows = [rows[place] for place in rng.permutation(len(rows))]
    return pl.DataFrame(
        {
            "person": pl.Series([person for person, _ in rows], dtype=pl.String),
            "town": pl.Series([text for _, text in rows], dtype=pl.String),
        }
    )


# -- Generated neighbouring tables of two-valued columns, as private draws need them.


Point = tuple[int, ...] | None

TEXTS = ("false", "true")
MISFIT = None
"""Stands for a row with a misfit."""


def cube_schema(columns: int) -> Schema:
    """Return a schema of so many required Booleans, named x0, x1 and so on."""
    return Schema.from_dict(
        {
            "fields": [
                {"name": f"x{place}", "type": "boolean", "constraints": {"required": True}} for place in range(columns)
            ]
        }
    )


def frame_of(points: Sequence[Point], columns: int) -> pl.DataFrame:
    """Return a table with one row per point (a tuple of 0 and 1, or MISFIT): a misfit's last cell does not fit."""
    rows = [[*["true"] * (columns - 1), "?"] if point is MISFIT else [TEXTS[bit] for bit in point] for point in points]
    return pl.DataFrame(
        {f"x{place}": pl.Series([row[place] for row in rows], dtype=pl.String) for place in range(columns)}
    )


def kinds_of_rows(columns: int) -> list[Point]:
    """Return everything that a row can be: each point of the cube, and a misfit."""
    return [*itertools.product((0, 1), repeat=columns), MISFIT]


def two_valued_pair(
    rng: np.random.Generator, *, most_columns: int = 3, least_rows: int = 0, most_rows: int = 12
) -> NeighbourPair:
    """Return two random tables of two-valued columns that differ in one row, which lies anywhere."""
    columns = int(rng.integers(1, most_columns + 1))
    kinds = kinds_of_rows(columns)
    common = [kinds[each] for each in rng.integers(len(kinds), size=rng.integers(least_rows, most_rows + 1))]
    one, other = ([*common, kinds[each]] for each in rng.integers(len(kinds), size=2))
    shuffled = [other[place] for place in rng.permutation(len(other))]
    return NeighbourPair(cube_schema(columns), frame_of(one, columns), frame_of(shuffled, columns))
