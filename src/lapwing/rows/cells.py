"""Columns of raw cells in three shapes, and the one grammar of numbers and moments by which their text is read.

No text raises. Cells have no ``repr`` and are dropped as soon as their codes are made.
"""

import datetime as dt
import math
import re
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import numpy as np
import polars as pl

from lapwing.rows.guard import cell_by_cell, run_guarded
from lapwing.schema.scalars import category_key

UNREADABLE = "\x00unreadable"
"""Text that stands for a cell of a type that no field can hold; it is no number, no date and no category."""

_BYTES: Final = "\x00bytes "
_MOST_DIGITS: Final = 308
_MOST_BITS: Final = 1000  # of a whole number that is written out; as a float it is still finite
_TRAILING_ZEROS: Final = r"(\.[0-9]*[1-9])0+$|\.0+$"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Numbers:
    """Cells that are numbers: bool, int64, uint64 or float64, NaN and the infinities too; anything where `nulls`."""

    values: np.ndarray
    nulls: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Times:
    """Cells that are dates or moments: int64, microseconds since 1970-01-01 in UTC or without a zone."""

    values: np.ndarray
    nulls: np.ndarray | None = None
    zoned: np.ndarray | None = None  # the same moments by the clock of their own zone, where they have one

    def __len__(self) -> int:
        return len(self.values)

    @property
    def clock(self) -> np.ndarray:
        """What a calendar beside each cell's own clock shows: a midnight of Berlin is of the day that begins there."""
        return self.values if self.zoned is None else self.zoned


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Texts:
    """Cells that are text, or were turned into text by `text_of`."""

    values: pl.Series
    typed: pl.Series | bool = False  # which are none where they come from, and written in plain form
    zoned: pl.Series | None = None  # the same, but moments by the clock of their own zone

    def __len__(self) -> int:
        return len(self.values)

    @property
    def clock(self) -> pl.Series:
        """What a calendar beside each cell's own clock shows, as `Times.clock`."""
        return self.values if self.zoned is None else self.zoned


RawColumn = Numbers | Times | Texts


def missing_cells(cells: Numbers | Times) -> np.ndarray:
    """Return where cells that are not text are missing: null, or NaN."""
    nulls = np.zeros(len(cells), dtype=bool) if cells.nulls is None else cells.nulls
    return nulls | np.isnan(cells.values) if cells.values.dtype == np.float64 else nulls


def texts(cells: Iterable[object]) -> Texts:
    """Return Python objects as cells of text, each by `text_of`."""
    listed = list(cells)
    values: Sequence[str | None] = cell_by_cell(_texts_of, listed, UNREADABLE)
    typed = pl.Series(cell_by_cell(_are_typed, listed, otherwise=True), dtype=pl.Boolean)
    if any(cell_by_cell(_are_zoned, listed, otherwise=False)):
        bare = texts(cell_by_cell(_without_zones, listed, UNREADABLE))
        return Texts(texts(values).values, typed, bare.values)
    try:
        return Texts(pl.Series(values, dtype=pl.String), typed)
    except UnicodeEncodeError:
        # Half surrogate pairs keep their numbers, so that two texts that differ name two privacy units.
        clean = [None if value is None else value.encode("utf-8", "backslashreplace").decode() for value in values]
    return Texts(pl.Series(clean, dtype=pl.String), typed)


def widen_floats(values: np.ndarray) -> np.ndarray:
    """Return floats of half or single precision as the float64 of the decimal that they are written as.

    A table that holds 0.1 in single precision means 0.1, as schemas list it, and not 0.10000000149011612. Whole numbers
    stay what they are.

    >>> widen_floats(np.array([0.1, -2.5, 123456789, np.inf], dtype=np.float32)).tolist()
    [0.1, -2.5, 123456792.0, inf]
    """
    wide = values.astype(np.float64, copy=False)
    if values.dtype.itemsize >= wide.dtype.itemsize:
        return wide
    places = np.flatnonzero(np.floor(wide) != wide)  # NaN too, which stays NaN
    if not places.size:
        return wide
    if values.dtype == np.float32:
        wide[places] = pl.Series(values[places]).cast(pl.String).cast(pl.Float64).to_numpy()
    else:  # Polars writes those of 16 bits as it writes single ones
        distinct, at = np.unique(values[places], return_inverse=True)
        wide[places] = np.array([float(str(value)) for value in distinct])[at]
    return wide


def _texts_of(cells: list[object]) -> list[str | None]:
    return [cell if type(cell) is str else text_of(cell) for cell in cells]


def _are_typed(cells: list[object]) -> list[bool]:
    return [not isinstance(cell, str | bytes) for cell in cells]


def _are_zoned(cells: list[object]) -> list[bool]:
    return [isinstance(cell, dt.datetime) and cell.tzinfo is not None for cell in cells]


def _without_zones(cells: list[object]) -> list[object]:
    """Return moments as the clock beside them shows them, and anything else as it is."""
    return [cell.replace(tzinfo=None) if isinstance(cell, dt.datetime) else cell for cell in cells]


def misfits(column: pl.Series) -> Texts:
    """Return cells of a type that no field can hold: unreadable, or missing where they are null."""
    return Texts(pl.repeat(UNREADABLE, len(column), dtype=pl.String, eager=True).set(column.is_null(), None))


def decimals(column: pl.Series) -> Texts:
    """Return decimal numbers written as text, without zeros at their end: 2.50 is the number 2.5."""
    return Texts(column.str.replace(_TRAILING_ZEROS, "$1"), typed=True)


def is_readable(cells: pl.Series) -> np.ndarray:
    """Return where text cells are texts of their own, and do not stand for what is none; false where missing."""
    stands_for_none = (cells == UNREADABLE) | cells.str.starts_with(_BYTES)
    return (~stands_for_none).fill_null(value=False).to_numpy()


def text_of(cell: object) -> str | None:
    """Return the text that stands for one Python object: None when it means *missing*, else by `_RULES`.

    May raise what the object's own methods raise, or what a moment beyond the calendar does.
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


def _decimal(cell: Decimal) -> str | None:
    if cell.is_nan():
        return None
    # 1E+2 is the number 100, as other tables write it; digits that no float holds are not written out.
    is_whole = cell.is_finite() and cell == cell.to_integral_value() and cell.adjusted() <= _MOST_DIGITS
    return re.sub(_TRAILING_ZEROS, r"\1", format(cell, "f") if is_whole else str(cell))


def _moment(cell: dt.datetime) -> str:
    bare = cell if cell.tzinfo is None else cell.astimezone(dt.UTC).replace(tzinfo=None)
    return dt.datetime.isoformat(bare)


def _bytes(cell: bytes) -> str:
    try:
        return bytes.decode(cell)
    except UnicodeDecodeError:
        # No text and no category, but the same text for the same bytes only: they may name a privacy unit.
        return f"{_BYTES}{cell.hex()}"


# In this order: bool is an int, datetime is a date, and NumPy's duration is one of its integers.
_RULES: tuple[tuple[tuple[type, ...], Callable[[Any], str | None]], ...] = (
    ((str,), str.__str__),
    ((bool, np.bool_), lambda cell: "true" if cell else "false"),
    ((np.timedelta64,), lambda cell: None if np.isnat(cell) else UNREADABLE),
    ((int, np.integer), _integer),
    ((float, np.floating), lambda cell: None if math.isnan(cell) else repr(float(cell))),
    ((Decimal,), _decimal),
    ((dt.datetime,), _moment),
    ((dt.date,), dt.date.isoformat),
    ((np.datetime64,), lambda cell: None if np.isnat(cell) else str(cell.astype("datetime64[us]"))),
    ((uuid.UUID,), uuid.UUID.__str__),
    ((bytes,), _bytes),
)


WRITTEN_NUMBER: Final = r"^-?(?:0|[1-9][0-9]*)(?:\.0|\.[0-9]*[1-9])?$"
"""A number as programs write it. Text such as 007, 1e3 or 250.00 in a list of texts is a name, not a number."""

_LARGE: Final = r"^-?[1-9](?:\.[0-9]+)?e\+[0-9]{2,3}$"  # as programs write whole numbers beyond 16 digits


def plain_texts(cells: pl.Series) -> pl.Series:
    """Return texts in the plain form of the number, moment or Boolean that they are; other texts as they stand.

    Numbers as programs write them, without ``.0`` at the end and without an exponent where whole; moments in UTC and
    ISO form, a midnight as its day; true and false in lower case; all without white space around.

    >>> plain_texts(pl.Series([" 250.0", "250.00", "V70 ", "2010-12-31 01:00+01:00"])).to_list()
    ['250', '250.00', 'V70 ', '2010-12-31']
    """
    bare = cells.str.strip_chars(_SPACES)
    number = bare.str.replace(r"\.0$", "").replace("-0", "0")
    found = number.zip_with(bare.str.contains(WRITTEN_NUMBER), cells)
    lower = bare.str.to_lowercase()
    found = lower.zip_with(lower.is_in(["true", "false"]), found)
    is_large = bare.str.contains(_LARGE).fill_null(value=False)
    if is_large.any():
        values = [(text, float(text)) for text in bare.filter(is_large)]
        written = [text if math.isinf(value) else category_key(value) for text, value in values]
        found = found.scatter(is_large.arg_true(), written)
    moments, is_time = read_times(cells)
    return found.scatter(np.flatnonzero(is_time), moment_texts(moments[is_time])) if is_time.any() else found


def number_texts(values: np.ndarray) -> pl.Series:
    """Return the plain text of numbers, the same for 250 and 250.0.

    >>> number_texts(np.array([250.0, 2.5, -0.0, np.nan])).to_list()
    ['250', '2.5', '0', None]
    """
    if values.dtype == np.bool_:
        return pl.Series(["true" if value else "false" for value in values.tolist()], dtype=pl.String)
    if values.dtype != np.float64:
        return pl.Series(list(map(str, values.tolist())), dtype=pl.String)
    return pl.Series(list(map(_number_text, values.tolist())), dtype=pl.String)


def _number_text(value: float) -> str | None:
    if math.isnan(value):
        return None
    return repr(value) if math.isinf(value) else category_key(value)


def moment_texts(values: np.ndarray) -> pl.Series:
    """Return the ISO text of moments in microseconds since 1970; a midnight is a day.

    >>> moment_texts(np.array([0, 3_600_000_000])).to_list()
    ['1970-01-01', '1970-01-01T01:00:00']
    """
    # Through NumPy: its years have no end.
    written = np.datetime_as_string(values.astype("datetime64[us]")).tolist()
    return pl.Series(written, dtype=pl.String).str.replace(r"(?:T00:00:00)?\.0+$", "")


NUMBER: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
"""A decimal number: no underscores, no hexadecimal, no names for infinity or NaN."""

DAY_MICROSECONDS: Final = 86_400_000_000

_SPACES: Final = " \t\r\n"
_LARGEST: Final = float(np.finfo(np.float64).max)
_MOMENT: Final = (
    r"^([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,6})[0-9]*)?)?"
    r" ?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReadNumbers:
    """What text cells say as numbers: `integers` where `is_integer`, which is exact, and `reals` elsewhere."""

    integers: np.ndarray  # of 64 bits, also those from 2**53 on that are written with a point and zeros
    is_integer: np.ndarray
    reals: np.ndarray  # NaN where missing, no number or an integer; beyond floats the largest of its sign


def read_numbers(cells: pl.Series) -> ReadNumbers:
    """Return text cells as numbers, exactly where they are integers of 64 bits."""
    return run_guarded("cells cannot be read as numbers", lambda: _numbers(cells))


def _numbers(cells: pl.Series) -> ReadNumbers:
    whole = cells.cast(pl.Int64, strict=False)
    if whole.null_count() > cells.null_count():
        cells = cells.str.strip_chars(_SPACES)
        whole = cells.cast(pl.Int64, strict=False)
    is_integer = whole.is_not_null().to_numpy()
    integers = whole.fill_null(0).to_numpy()
    reals = np.full(len(cells), np.nan)
    rest = ~is_integer & cells.is_not_null().to_numpy()
    if rest.any():
        reals[rest] = read_reals(cells.filter(pl.Series(rest)))
        # Of this size not each integer is a float; one with an exponent was a float where it was written.
        has_exponent = cells.str.contains("[eE]").fill_null(value=True).to_numpy()
        large = np.flatnonzero((np.abs(reals) >= 2.0**53) & (np.abs(reals) <= 2.0**63) & ~has_exponent)
        exact = [whole_number(text) for text in cells.gather(large).to_list()]
        fits = np.array([each is not None and -(2**63) <= each < 2**63 for each in exact], dtype=bool)
        integers, is_integer = integers.copy(), is_integer.copy()
        integers[large[fits]] = np.array([each for each, fit in zip(exact, fits, strict=True) if fit], dtype=np.int64)
        is_integer[large[fits]] = True
        reals[large[fits]] = np.nan
    return ReadNumbers(integers, is_integer, reals)


def whole_number(text: str) -> int | None:
    """Return the whole number that a text is, exactly, None where it is none.

    >>> whole_number("9.007199254740993e15"), whole_number("9007199254740993.5"), whole_number("True")
    (9007199254740993, None, 1)
    """
    bare = text.strip(_SPACES)
    named = {"true": 1, "false": 0}.get(bare.lower())
    if named is not None:
        return named
    try:
        value = Decimal(bare)
    except InvalidOperation:
        return None
    # A number of more digits is beyond every float, and is taken for no whole one.
    is_whole = value.is_finite() and value.adjusted() <= _MOST_DIGITS and value == value.to_integral_value()
    return int(value) if is_whole else None


def read_reals(cells: pl.Series) -> np.ndarray:
    """Return text cells as floats; NaN where a cell is missing or no number, never infinite."""
    found = cells.cast(pl.Float64, strict=False).fill_null(np.nan)
    values = found.to_numpy()
    odd = ~np.isfinite(values) & cells.is_not_null().to_numpy()
    if odd.any():
        values = values.copy()
        values[odd] = _odd_reals(cells.filter(pl.Series(odd)))
    return values


def _odd_reals(cells: pl.Series) -> np.ndarray:
    """Read the few cells with spaces around a number, beyond the range of floats, or with a Boolean's name."""
    bare = cells.str.strip_chars(_SPACES)
    values = bare.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    values = np.where(bare.str.contains(NUMBER).to_numpy(), np.clip(values, -_LARGEST, _LARGEST), np.nan)
    names = bare.str.to_lowercase()
    values[(names == "true").to_numpy()] = 1.0
    values[(names == "false").to_numpy()] = 0.0
    return values


def read_times(cells: pl.Series, *, by_clock: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return ISO dates and moments as microseconds since 1970, 0 where unreadable, and where they could be read.

    by_clock: whether moments with an offset from UTC are read as the clock beside them shows them, as `Times.clock`.
    """
    parts = cells.str.strip_chars(_SPACES).str.extract_groups(_MOMENT).struct.unnest().get_columns()
    if parts[0].null_count() == len(cells):
        return np.zeros(len(cells), dtype=np.int64), np.zeros(len(cells), dtype=bool)
    year, month, day, hour, minute, second, fraction = map(_whole_number, (*parts[:6], parts[6].str.pad_end(6, "0")))
    offset, offset_is_valid = _offset_minutes(parts[7])
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    first, after = (each.astype("datetime64[D]").astype(np.int64) for each in (months, months + 1))
    seconds = (((first + day - 1) * 24 + hour) * 60 + minute - (0 if by_clock else offset)) * 60 + second
    is_time = parts[0].is_not_null().to_numpy() & offset_is_valid
    # The year 0 is not one of Python's or SQL's.
    is_time &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= after - first)
    is_time &= (hour < 24) & (minute < 60) & (second < 60)
    return np.where(is_time, seconds * 1_000_000 + fraction, 0), is_time


def _whole_number(digits: pl.Series) -> np.ndarray:
    """Return short texts of digits as int64, missing ones as 0."""
    return digits.cast(pl.Int64).fill_null(0).to_numpy()


def _offset_minutes(offsets: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets such as +02:00 in minutes (0 for none and Z), and whether each is below one day."""
    if offsets.null_count() == len(offsets):
        return np.zeros(len(offsets), dtype=np.int64), np.ones(len(offsets), dtype=bool)
    digits = offsets.str.replace_all(r"[^0-9]", "").replace("", None)
    hours, minutes = _whole_number(digits.str.slice(0, 2)), _whole_number(digits.str.slice(2, 2))
    negative = offsets.str.starts_with("-").fill_null(value=False).to_numpy()
    total = hours * 60 + minutes
    return np.where(negative, -total, total), (hours < 24) & (minutes < 60)
