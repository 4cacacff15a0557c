"""Codes back to values: synthetic rows from codes that a model drew, and records for the room's row functions."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from lapwing.on_demand import extra
from lapwing.schema.fields import Field
from lapwing.schema.scalars import parse_date, parse_datetime
from lapwing.schema.schemas import Schema
from lapwing.schema.values import exact_cells, shown_values, special_numbers

_MOST_DECIMALS: Final = 22  # powers of ten up to here are exact as floats

_PLAIN_TYPES: Final[dict[str, Any]] = {
    "integer": pl.Int64,
    "number": pl.Float64,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
}


def decode(
    codes: Mapping[str, np.ndarray], schema: Schema, first_row: int = 0, made_up: str | None = None
) -> pl.DataFrame:
    """Return rows of released codes as a frame with the schema's fields, in its order and types; missing is null.

    Integers come as Int64, numbers as Float64 (within the bounds; minimum, maximum and zero exactly in the cells that
    hold them, otherwise the number of fewest decimals in the cell, so that a value which many rows share comes out as
    it was), categories in their own type, dates and moments where their week, month, hour or the like begins. Equal
    codes show equal values. Identifiers are fresh numbers from ``first_row + 1``, as text where the field is a string,
    or what the field has made up for them: a function of `made_up`, the field and that number; numbers without it.

    >>> schema = Schema.from_dict({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
    >>> decode({"sex": np.array([1, 2, 0])}, schema)["sex"].to_list()
    ['m', None, 'f']
    """
    rows = len(codes[schema.columns[0].name])
    numbers = pl.Series(np.arange(first_row + 1, first_row + rows + 1))
    columns = []
    for field in schema.fields:
        if field.identifier:
            found = numbers if None in (made_up, field.made_up) else _made_up(field, numbers, f"{made_up} {field.name}")
            columns.append((found.cast(pl.String) if field.type == "string" else found).alias(field.name))
            continue
        own, domain = codes[field.name], field.domain
        assert domain.missing or not (own == domain.last).any(), "a released model never holds the misfit code"
        columns.append(decode_column(field, own))
    return pl.DataFrame(columns)


def _made_up(field: Field, numbers: pl.Series, seed: str) -> pl.Series:
    """Return what is made up for the rows of these numbers."""
    return pl.Series(extra("made-up values").made_up(field.made_up, numbers.to_list(), seed))


def decode_column(field: Field, codes: np.ndarray) -> pl.Series:
    """Return the values of one column's codes; null for missing and for misfits."""
    codes = codes.astype(np.int64)
    is_last = codes == field.domain.last
    if field.is_categorical:
        column = _listed_values(field).gather(np.where(is_last, 0, codes))
    else:
        column = _ranged_column(field, codes)
    return (column.set(pl.Series(is_last), None) if is_last.any() else column).alias(field.name)


def _listed_values(field: Field) -> pl.Series:
    """Return the regular values of a field with categories, in the order of their codes."""
    if field.categories is None:
        return pl.Series([False, True])
    if field.type == "date":
        return pl.Series([parse_date(value) for value in field.categories], dtype=pl.Int32).cast(pl.Date)
    if field.type == "datetime":
        return pl.Series([parse_datetime(value) for value in field.categories], dtype=pl.Int64).cast(pl.Datetime("us"))
    return pl.Series(field.categories, dtype=_PLAIN_TYPES.get(field.type))


def _ranged_column(field: Field, codes: np.ndarray) -> pl.Series:
    """Return values of a field with bounds; those of the last code are arbitrary."""
    regular = np.minimum(codes, field.domain.values - 1)
    special = special_numbers(field)
    if field.domain.continuous:
        values = _shortest_inside(regular, (float(field.range.lo), float(field.range.hi)), special)
        for code, value in exact_cells(field).items():
            values[codes == code] = value
    else:
        values = shown_values(field).ends(regular)[0]
    for position, value in enumerate(special):
        values[codes == field.domain.values + position] = value
    if field.type == "date":
        return pl.Series(values).cast(pl.Int32).cast(pl.Date)
    return pl.Series(values).cast(_PLAIN_TYPES[field.type])


def _shortest_inside(codes: np.ndarray, ends: tuple[float, float], special: tuple[float, ...]) -> np.ndarray:
    """Return the number of fewest decimals in each cell, its middle where there is none that is not special."""
    lo, hi = ends
    cell = (hi - lo) / 2**32
    values: np.ndarray = lo + (codes + 0.5) * cell
    decimals = math.ceil(-math.log10(cell)) if cell > 0 else _MOST_DECIMALS + 1
    places, starts = np.arange(codes.size), lo + codes * cell
    while places.size and abs(decimals) <= _MOST_DECIMALS:
        unit = 10.0 ** abs(decimals)
        found = np.ceil(starts * unit) / unit if decimals >= 0 else np.ceil(starts / unit) * unit
        is_inside = (found >= starts) & (found < starts + cell)
        for value in special:
            is_inside &= found != value
        places, starts, decimals = places[is_inside], starts[is_inside], decimals - 1
        values[places] = found[is_inside]
    return np.asarray(np.clip(values, lo, hi)) + 0.0  # no minus zero


_ROWS_AT_ONCE: Final = 2**14


def records(codes: Mapping[str, np.ndarray], schema: Schema) -> Iterator[dict[str, Any]]:
    """Yield coded rows as fresh dicts of Python values, in order, for code that is given one row at a time.

    Modelled columns in the schema's order, as `decode` shows them; missing cells and misfits are None.

    Guarantee: a record depends on the codes of its own row and on the schema, and on nothing else.

    >>> schema = Schema.from_dict({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
    >>> list(records({"sex": np.array([1, 2])}, schema))
    [{'sex': 'm'}, {'sex': None}]
    """
    names = [field.name for field in schema.columns]
    for start in range(0, len(codes[names[0]]), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        columns = [decode_column(field, codes[field.name][part]).to_list() for field in schema.columns]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))
