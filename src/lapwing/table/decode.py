"""Codes that a released model drew, back to values: the only way from codes to rows out. Sees no private row."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np
import polars as pl

from lapwing.schema.fields import Field
from lapwing.schema.scalars import parse_date, parse_datetime
from lapwing.schema.schemas import Schema
from lapwing.schema.values import bounds, exact_cells, special_numbers, step

_EXACT: Final = 2**53  # integers up to here are exact as floats
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
        microseconds (where their week, month, hour or the like begins). Identifiers are fresh numbers from
        ``first_row + 1``, as text where the field is a string. Missing is null.

    Examples
    --------
    >>> schema = Schema.from_dict({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
    >>> decode({"sex": np.array([1, 2, 0])}, schema, np.random.default_rng(0))["sex"].to_list()
    ['m', None, 'f']
    """
    rows = len(codes[schema.columns[0].name])
    columns = [
        _fresh_numbers(field, first_row, rows) if field.identifier else _column(field, codes[field.name], rng)
        for field in schema.fields
    ]
    return pl.DataFrame(columns)


def _fresh_numbers(field: Field, first_row: int, rows: int) -> pl.Series:
    numbers = pl.Series(field.name, np.arange(first_row + 1, first_row + rows + 1))
    return numbers.cast(pl.String) if field.type == "string" else numbers


def _column(field: Field, codes: np.ndarray, rng: np.random.Generator) -> pl.Series:
    domain = field.domain
    codes = codes.astype(np.int64)
    is_last = codes == domain.last
    assert domain.missing or not is_last.any(), "a released model never holds the misfit code"
    if field.is_categorical:
        column = _listed_values(field).gather(np.where(is_last, 0, codes))
    else:
        column = _ranged_column(field, codes, rng)
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


def _ranged_column(field: Field, codes: np.ndarray, rng: np.random.Generator) -> pl.Series:
    """Return values of a field with bounds; those of the last code are arbitrary."""
    regular = np.minimum(codes, field.domain.values - 1)
    lo, hi = bounds(field)
    grid, calendar = step(field), field.range.calendar
    if calendar is not None:
        values = calendar.starts(regular)
    elif grid is None:
        values = _inside_cells(regular, float(lo), float(hi), special_numbers(field), rng)
        for code, value in exact_cells(field).items():
            values[codes == code] = value
    elif field.type == "number":
        values = _multiples(regular, Fraction(str(field.minimum)), Fraction(grid))
    else:
        values = int(lo) + regular * int(grid)
    for position, value in enumerate(special_numbers(field)):
        values[codes == field.domain.values + position] = value
    if field.type == "date":
        return pl.Series(values).cast(pl.Int32).cast(pl.Date)
    return pl.Series(values).cast(_PLAIN_TYPES[field.type])


def _inside_cells(
    codes: np.ndarray, lo: float, hi: float, special: tuple[float, ...], rng: np.random.Generator
) -> np.ndarray:
    """Return a uniform value in each cell, without digits finer than a hundredth of a cell; none that is special."""
    if lo == hi:
        return np.full(len(codes), lo)
    cell = (hi - lo) / 2**32
    values: np.ndarray = lo + (codes + rng.random(len(codes))) * cell
    decimals = math.ceil(-math.log10(cell)) + 1 if cell > 0 else _MOST_DECIMALS + 1
    if abs(decimals) <= _MOST_DECIMALS:
        starts = lo + codes * cell
        short = np.round(values, decimals)
        is_inside = (short >= starts) & (short < starts + cell) & ~np.isin(short, special)
        values = np.where(is_inside, short, values)
    return np.asarray(np.clip(values, lo, hi)) + 0.0  # no minus zero


def _multiples(codes: np.ndarray, first: Fraction, grid: Fraction) -> np.ndarray:
    """Return ``first + codes * grid`` as the floats that the decimal numbers read as."""
    below = math.lcm(first.denominator, grid.denominator)
    start, stride = int(first * below), int(grid * below)
    largest = max(abs(start), abs(start + int(codes.max(initial=0)) * stride))
    if largest <= _EXACT and below <= _EXACT:
        # One division of two exact integers is rounded once, like the reading of a decimal literal.
        return np.asarray((start + codes * stride) / below)
    return np.asarray(float(first) + codes * float(grid))
