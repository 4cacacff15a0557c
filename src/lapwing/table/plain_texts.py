"""The text that a cell stands for, so that a code is looked up by its letters whatever kind of column holds it."""

import math
from typing import Final

import numpy as np
import polars as pl

from lapwing.schema.scalars import category_key
from lapwing.table.parsing import read_times

WRITTEN_NUMBER: Final = r"^-?(?:0|[1-9][0-9]*)(?:\.0|\.[0-9]*[1-9])?$"
"""A number as programs write it. Text such as 007, 1e3 or 250.00 in a list of texts is a name, not a number."""

_LARGE: Final = r"^-?[1-9](?:\.[0-9]+)?e\+[0-9]{2,3}$"  # as programs write whole numbers beyond 16 digits
_SPACES: Final = " \t\r\n"


def plain_texts(cells: pl.Series) -> pl.Series:
    """Return texts in the plain form of the number, moment or Boolean that they are; other texts as they stand.

    Parameters
    ----------
    cells : polars Series of String, length n

    Returns
    -------
    polars Series of String, length n
        A number as programs write it, without ``.0`` at its end and without an exponent where it is whole; a moment in
        UTC and ISO form, a midnight as its day; true and false in lower case; all without white space around.

    Examples
    --------
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
        found = found.scatter(is_large.arg_true(), list(map(_in_digits, bare.filter(is_large))))
    moments, is_time = read_times(cells)
    return found.scatter(np.flatnonzero(is_time), moment_texts(moments[is_time])) if is_time.any() else found


def number_texts(values: np.ndarray) -> pl.Series:
    """Return the plain text of numbers, the same for 250 and 250.0.

    Parameters
    ----------
    values : ndarray of bool, int64, uint64 or float64, shape (n,)

    Returns
    -------
    polars Series of String, length n
        Null for NaN.

    Examples
    --------
    >>> number_texts(np.array([250.0, 2.5, -0.0, np.nan])).to_list()
    ['250', '2.5', '0', None]
    """
    if values.dtype == np.bool_:
        return pl.Series(["true" if value else "false" for value in values.tolist()], dtype=pl.String)
    if values.dtype != np.float64:
        return pl.Series(list(map(str, values.tolist())), dtype=pl.String)
    return pl.Series(list(map(_number_text, values.tolist())), dtype=pl.String)


def _in_digits(text: str) -> str:
    value = float(text)
    return text if math.isinf(value) else category_key(value)


def _number_text(value: float) -> str | None:
    if math.isnan(value):
        return None
    return repr(value) if math.isinf(value) else category_key(value)


def moment_texts(values: np.ndarray) -> pl.Series:
    """Return the ISO text of moments; a midnight is a day.

    Parameters
    ----------
    values : ndarray of int64, shape (n,)
        Microseconds since 1970-01-01.

    Returns
    -------
    polars Series of String, length n

    Examples
    --------
    >>> moment_texts(np.array([0, 3_600_000_000])).to_list()
    ['1970-01-01', '1970-01-01T01:00:00']
    """
    # Through NumPy: its years have no end.
    written = np.datetime_as_string(values.astype("datetime64[us]")).tolist()
    return pl.Series(written, dtype=pl.String).str.replace(r"(?:T00:00:00)?\.0+$", "")
