"""Cells of opened fields, which any value fits: numbers on the public grid of magnitudes, texts by a public hash.

As everywhere, a cell's code depends on that cell and the field alone, whatever kind of table it came from.
"""

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Final

import numpy as np
import polars as pl

from lapwing.rows.codec.cells import Numbers, RawColumn, Texts, Times, is_readable
from lapwing.rows.codec.parsing import moment_texts, number_texts, plain_texts, read_numbers, read_reals
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import MAX_VALUES, magnitude_codes
from lapwing.schema.values import special_codes

_INT64_SPAN: Final = 2.0**63
_HASH_BYTES: Final = 8
_HASH_SHIFT: Final = 8 * _HASH_BYTES - (MAX_VALUES - 1).bit_length()


def open_reader(field: Field) -> Callable[[RawColumn], np.ndarray]:
    """Return the function from cells to codes of an opened field.

    Returns from cells to int64 codes; missing cells of `Numbers` may get any code where the field is one of numbers.
    """
    if field.type == "string":
        return partial(_text_codes, field)
    specials = tuple(special_codes(field).items())
    read = _integer_codes if field.type == "integer" else _real_codes
    return partial(read, specials, field.domain.last)


# -------------------------------------------------------------------------------------------------------- numbers

_Specials = tuple[tuple[int | float, int], ...]


def _real_codes(specials: _Specials, last: int, cells: RawColumn) -> np.ndarray:
    if isinstance(cells, Times):
        return np.full(len(cells), last)
    x = read_reals(cells.values) if isinstance(cells, Texts) else cells.values.astype(np.float64, copy=False)
    finite = np.isfinite(x)
    codes = _with_specials(np.where(finite, x, 0.0), specials)
    codes[~finite] = last
    return codes


def _integer_codes(specials: _Specials, last: int, cells: RawColumn) -> np.ndarray:
    if isinstance(cells, Times):
        return np.full(len(cells), last)
    if isinstance(cells, Texts):
        read = read_numbers(cells.values)
        whole = _with_specials(read.integers, specials)
        return np.where(read.is_integer, whole, _whole_real_codes(read.reals, specials, last))
    values = cells.values
    if values.dtype == np.float64:
        return _whole_real_codes(values, specials, last)
    if values.dtype == np.uint64:
        # Beyond 2^63 as floats, which is how text gives such numbers.
        is_small = values < np.uint64(2**63)
        small = _with_specials(np.where(is_small, values, 0).astype(np.int64), specials)
        return np.where(is_small, small, magnitude_codes(values.astype(np.float64)))
    return _with_specials(values.astype(np.int64, copy=False), specials)


def _whole_real_codes(x: np.ndarray, specials: _Specials, last: int) -> np.ndarray:
    """Return the codes of floats in an integer field: whole numbers as integers, anything else at the last code."""
    finite = np.isfinite(x)
    known = np.where(finite, x, 0.0)
    fits = np.abs(known) < _INT64_SPAN
    small = _with_specials(np.where(fits, known, 0.0).astype(np.int64), specials)
    codes = np.where(fits, small, magnitude_codes(known))
    codes[~finite | (np.floor(known) != known)] = last
    return codes


def _with_specials(x: np.ndarray, specials: _Specials) -> np.ndarray:
    """Return the cells of finite numbers, special values at their own codes."""
    codes = magnitude_codes(x)
    for value, code in specials:
        codes[x == value] = code
    return codes


# ---------------------------------------------------------------------------------------------------------- texts


def open_texts(cells: RawColumn, field: Field) -> pl.Series:
    """Return the text that each cell of an opened string field stands for.

    Returns in the plain form of `lapwing.rows.codec.parsing`; null where a cell is missing, empty, or no text.

    >>> town = Field(name="town", type="string", open=True, missing_values=("", "?"))
    >>> open_texts(Texts(pl.Series(["York", "?", "", None, "3.0"])), town).to_list()
    ['York', None, None, None, '3']
    """
    if isinstance(cells, Texts):
        # Many cells, of few texts.
        distinct = cells.values.unique()
        is_text = is_readable(distinct) & ~_is_marked(distinct, field)
        return cells.values.replace_strict(distinct, _left(plain_texts(distinct), is_text, field))
    values, places = np.unique(cells.values, return_inverse=True)
    written = number_texts(values) if isinstance(cells, Numbers) else moment_texts(values)
    is_known = np.ones(len(cells), dtype=bool) if cells.nulls is None else ~cells.nulls
    return _left(written.gather(places), is_known, field)


def _left(texts: pl.Series, is_text: np.ndarray, field: Field) -> pl.Series:
    """Return texts without those that are none, or are read as missing."""
    return texts.set(pl.Series(~is_text | _is_marked(texts, field)), None)


def _is_marked(texts: pl.Series, field: Field) -> np.ndarray:
    """Return which texts are read as missing; the empty text is a value only of a list that has it."""
    return texts.is_in(["", *field.missing_values]).fill_null(value=False).to_numpy()


def _text_codes(field: Field, cells: RawColumn) -> np.ndarray:
    """Return the hash of each text, the last code where there is none."""
    found = open_texts(cells, field)
    distinct = found.drop_nulls().unique()
    codes = np.array([_hashed(text) for text in distinct.to_list()], dtype=np.int64)
    coded = found.replace_strict(distinct, pl.Series(codes), default=field.domain.last, return_dtype=pl.Int64)
    return coded.to_numpy().copy()


def _hashed(text: str) -> int:
    """Return 53 bits that are the same for a text in every version and on every machine; they hide nothing."""
    return int.from_bytes(blake2b(text.encode(), digest_size=_HASH_BYTES).digest(), "big") >> _HASH_SHIFT
