"""Codes back to values: rows out from codes that a released model drew, and records for the room's row functions."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np
import polars as pl

from lapwing.schema.fields import Field
from lapwing.schema.rules import Determines
from lapwing.schema.scalars import parse_date, parse_datetime
from lapwing.schema.schemas import Schema
from lapwing.schema.shown import multiples
from lapwing.schema.values import bounds, exact_cells, special_numbers, step

_MOST_DECIMALS: Final = 22  # powers of ten up to here are exact as floats

_PLAIN_TYPES: Final[dict[str, Any]] = {
    "integer": pl.Int64,
    "number": pl.Float64,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
}


def decode(
    codes: Mapping[str, np.ndarray], schema: Schema, rng: np.random.Generator, first_row: int = 0
) -> pl.DataFrame:
    """Return rows of codes as a frame with the schema's types.

    Parameters
    ----------
    codes : mapping of str to ndarray of integers, shape (n,)
        Released codes of every modelled column; never the misfit code.
    schema : Schema
        The schema that they were made under.
    rng : Generator
        Public randomness: where a value lies inside its cell, for numbers without resolution.
    first_row : int, default 0
        Rows that came before; identifiers count on from there.

    Returns
    -------
    polars DataFrame
        All fields in the schema's order: integers as Int64, numbers as Float64 (within the bounds; minimum, maximum
        and zero exactly in the cells that hold them), categories in their own type, Boolean, Date, Datetime in
        microseconds (where their week, month, hour or the like begins). A number that a rule determines lies in the
        middle of its cell, so that equal codes show equal numbers. Identifiers are fresh numbers from
        ``first_row + 1``, as text where the field is a string. Missing is null.

    Examples
    --------
    >>> schema = Schema.from_dict({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
    >>> decode({"sex": np.array([1, 2, 0])}, schema, np.random.default_rng(0))["sex"].to_list()
    ['m', None, 'f']
    """
    rows = len(codes[schema.columns[0].name])
    determined = {rule.column for rule in schema.rules if isinstance(rule, Determines)}
    columns = [
        _fresh_numbers(field, first_row, rows)
        if field.identifier
        else _released(field, codes[field.name], None if field.name in determined else rng)
        for field in schema.fields
    ]
    return pl.DataFrame(columns)


def _fresh_numbers(field: Field, first_row: int, rows: int) -> pl.Series:
    numbers = pl.Series(field.name, np.arange(first_row + 1, first_row + rows + 1))
    return numbers.cast(pl.String) if field.type == "string" else numbers


def decoded_column(field: Field, codes: np.ndarray, rng: np.random.Generator | None = None) -> pl.Series:
    """Return the values of one column's codes; null for missing and for misfits.

    Parameters
    ----------
    field : Field
        A modelled field.
    codes : ndarray of integers, shape (n,)
    rng : Generator or None
        Where a number without resolution lies inside its cell. Without one it lies in the middle, and each value is a
        function of its own code alone.

    Returns
    -------
    polars Series of length n
    """
    codes = codes.astype(np.int64)
    is_last = codes == field.domain.last
    if field.is_categorical:
        column = _listed_values(field).gather(np.where(is_last, 0, codes))
    else:
        column = _ranged_column(field, codes, rng)
    return (column.set(pl.Series(is_last), None) if is_last.any() else column).alias(field.name)


def _released(field: Field, codes: np.ndarray, rng: np.random.Generator | None) -> pl.Series:
    domain = field.domain
    assert domain.missing or not (codes == domain.last).any(), "a released model never holds the misfit code"
    return decoded_column(field, codes, rng)


def _listed_values(field: Field) -> pl.Series:
    """Return the regular values of a field with categories, in the order of their codes."""
    if field.categories is None:
        return pl.Series([False, True])
    if field.type == "date":
        return pl.Series([parse_date(value) for value in field.categories], dtype=pl.Int32).cast(pl.Date)
    if field.type == "datetime":
        return pl.Series([parse_datetime(value) for value in field.categories], dtype=pl.Int64).cast(pl.Datetime("us"))
    return pl.Series(field.categories, dtype=_PLAIN_TYPES.get(field.type))


def _ranged_column(field: Field, codes: np.ndarray, rng: np.random.Generator | None) -> pl.Series:
    """Return values of a field with bounds; those of the last code are arbitrary."""
    last = field.domain.values - 1
    regular = np.minimum(codes, last)
    lo, hi = bounds(field)
    grid, calendar = step(field), field.range.calendar
    if calendar is not None:
        values = calendar.starts(regular)
    elif grid is None:
        places = 0.5 if rng is None or lo == hi else rng.random(len(codes))
        values = _inside_cells(regular + places, regular, (float(lo), float(hi)), special_numbers(field))
        for code, value in exact_cells(field).items():
            values[codes == code] = value
    elif field.type == "number":
        values = multiples(regular, Fraction(str(field.minimum)), Fraction(grid), last)
    else:
        values = int(lo) + regular * int(grid)
    for position, value in enumerate(special_numbers(field)):
        values[codes == field.domain.values + position] = value
    if field.type == "date":
        return pl.Series(values).cast(pl.Int32).cast(pl.Date)
    return pl.Series(values).cast(_PLAIN_TYPES[field.type])


def _inside_cells(
    positions: np.ndarray, codes: np.ndarray, ends: tuple[float, float], special: tuple[float, ...]
) -> np.ndarray:
    """Return the values at positions inside cells, with no digits finer than a hundredth of one; none is special."""
    lo, hi = ends
    if lo == hi:
        return np.full(len(codes), lo)
    cell = (hi - lo) / 2**32
    values: np.ndarray = lo + positions * cell
    decimals = math.ceil(-math.log10(cell)) + 1 if cell > 0 else _MOST_DECIMALS + 1
    if abs(decimals) <= _MOST_DECIMALS:
        starts = lo + codes * cell
        short = np.round(values, decimals)
        is_inside = (short >= starts) & (short < starts + cell) & ~np.isin(short, special)
        values = np.where(is_inside, short, values)
    return np.asarray(np.clip(values, lo, hi)) + 0.0  # no minus zero
