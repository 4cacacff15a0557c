"""Columns of raw cells, reduced to three shapes so that every kind of table meets the same codec.

These objects hold private values: they have no ``repr`` and are dropped as soon as their codes are made.
"""

import datetime as dt
import decimal
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

UNREADABLE = "\x00unreadable"
"""Text that stands for a cell of a type that no field can hold; it is no number, no date and no category."""

_BYTES: Final = "\x00bytes "
_MOST_DIGITS: Final = 308
_MOST_BITS: Final = 1000  # of a whole number that is written out; as a float it is still finite
_TRAILING_ZEROS: Final = r"(\.[0-9]*[1-9])0+$|\.0+$"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Numbers:
    """Cells that are numbers.

    values: bool, int64, uint64 or float64, shape (n,), cells; anything where `nulls` is true. NaN and the infinities
    may occur; nulls: bool (n,), where a cell is missing; None when none is.
    """

    values: np.ndarray
    nulls: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Times:
    """Cells that are dates or moments.

    values: int64 (n,), microseconds since 1970-01-01, in UTC or without a time zone; dates are midnight; nulls: bool
    (n,), where a cell is missing; None when none is.
    """

    values: np.ndarray
    nulls: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Texts:
    """Cells that are text, or were turned into text by `text_of`."""

    values: pl.Series

    def __len__(self) -> int:
        return len(self.values)


RawColumn = Numbers | Times | Texts


def texts(cells: Iterable[object]) -> Texts:
    """Return Python objects as cells of text, each by `text_of`."""
    values = [cell if type(cell) is str else text_of(cell) for cell in cells]
    try:
        return Texts(pl.Series(values, dtype=pl.String))
    except UnicodeEncodeError:
        # Half surrogate pairs keep their numbers, so that two texts that differ name two privacy units.
        clean = [None if value is None else value.encode("utf-8", "backslashreplace").decode() for value in values]
    return Texts(pl.Series(clean, dtype=pl.String))


def misfits(column: pl.Series) -> Texts:
    """Return cells of a type that no field can hold: unreadable, or missing where they are null."""
    return Texts(pl.repeat(UNREADABLE, len(column), dtype=pl.String, eager=True).set(column.is_null(), None))


def decimals(column: pl.Series) -> Texts:
    """Return decimal numbers written as text, without zeros at their end: 2.50 is the number 2.5."""
    return Texts(column.str.replace(_TRAILING_ZEROS, "$1"))


def is_readable(cells: pl.Series) -> np.ndarray:
    """Return where text cells are texts of their own, and do not stand for what is none; false where missing."""
    stands_for_none = (cells == UNREADABLE) | cells.str.starts_with(_BYTES)
    return (~stands_for_none).fill_null(value=False).to_numpy()


def text_of(cell: object) -> str | None:
    """Return the text that stands for one Python object, None when it means *missing*.

    Returns numbers and Booleans as their literal, dates and moments in ISO form (in UTC when they have a time zone),
    bytes as the text that they are in UTF-8, UUIDs in their usual form; `UNREADABLE` for any other type.
    """
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return None
    for types, rule in _RULES:
        if isinstance(cell, types):
            return rule(cell)
    return UNREADABLE


def _integer(cell: int | np.integer) -> str:
    value = int(cell)
    if value.bit_length() <= _MOST_BITS:
        return str(value)
    # Longer literals may be refused by int-to-text conversion, and as floats they lie beyond every bound.
    return "-1e400" if value < 0 else "1e400"


def _real(cell: float | np.floating) -> str | None:
    value = float(cell)
    return None if value != value else repr(value)  # noqa: PLR0124 - NaN is the value that differs from itself


def _decimal(cell: decimal.Decimal) -> str | None:
    if cell.is_nan():
        return None
    # 1E+2 is the number 100, as other tables write it; digits that no float holds are not written out.
    is_whole = cell.is_finite() and cell == cell.to_integral_value() and cell.adjusted() <= _MOST_DIGITS
    return re.sub(_TRAILING_ZEROS, r"\1", format(cell, "f") if is_whole else str(cell))


def _moment(cell: dt.datetime) -> str:
    if cell.tzinfo is not None:
        try:
            cell = cell.astimezone(dt.UTC).replace(tzinfo=None)
        except (OverflowError, ValueError, TypeError):
            return UNREADABLE
    return cell.isoformat()


def _numpy_moment(cell: np.datetime64) -> str | None:
    return None if np.isnat(cell) else str(cell.astype("datetime64[us]"))


def _numpy_duration(cell: np.timedelta64) -> str | None:
    return None if np.isnat(cell) else UNREADABLE


def _bytes(cell: bytes) -> str:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        # No text and no category, but the same text for the same bytes only: they may name a privacy unit.
        return f"{_BYTES}{cell.hex()}"


# In this order: bool is an int, datetime is a date, and NumPy's duration is one of its integers.
_RULES: tuple[tuple[tuple[type, ...], Callable[[Any], str | None]], ...] = (
    ((str,), str.__str__),
    ((bool, np.bool_), lambda cell: "true" if cell else "false"),
    ((np.timedelta64,), _numpy_duration),
    ((int, np.integer), _integer),
    ((float, np.floating), _real),
    ((decimal.Decimal,), _decimal),
    ((dt.datetime,), _moment),
    ((dt.date,), dt.date.isoformat),
    ((np.datetime64,), _numpy_moment),
    ((uuid.UUID,), uuid.UUID.__str__),
    ((bytes,), _bytes),
)
