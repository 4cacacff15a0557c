"""Cells to codes: the one place where private values meet the schema.

No value raises and no row is dropped: numbers and dates are clamped, and what is missing, unreadable or unknown gets
the domain's last code, or that of misfits. A code depends on its cell and the schema alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Final

import numpy as np
import polars as pl

from lapwing.rows.categories import category_reader
from lapwing.rows.cells import (
    DAY_MICROSECONDS,
    Numbers,
    RawColumn,
    Texts,
    Times,
    is_readable,
    missing_cells,
    moment_texts,
    number_texts,
    plain_texts,
    read_numbers,
    read_reals,
    read_times,
)
from lapwing.rows.spelling import plain_cells
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import MAX_VALUES, Domain, magnitude_codes
from lapwing.schema.reading import PLAIN
from lapwing.schema.schemas import Schema
from lapwing.schema.values import special_codes

Encoder = Callable[[RawColumn], np.ndarray]
"""Maps the cells of one field to its codes, in the dtype of its domain."""

_Coder = Callable[[np.ndarray], np.ndarray]
"""Maps finite numbers to int64 codes."""

_CELLS: Final = 2**32
_INT64_SPAN: Final = 2.0**63
_HASH_BYTES: Final = 8
_HASH_SHIFT: Final = 8 * _HASH_BYTES - (MAX_VALUES - 1).bit_length()


def encode(cells: RawColumn, field: Field) -> np.ndarray:
    """Return the code of every cell, ``0 .. field.domain.last``, in ``field.domain.dtype``.

    >>> age = Field(name="age", type="integer", minimum=0, maximum=120)
    >>> encode(Numbers(np.array([5.0, 200.0, 0.5, np.nan])), age)
    array([  5, 120, 121, 121], dtype=uint8)
    """
    return encoder(field)(cells)


def encoder(field: Field, *, apart: bool = False) -> Encoder:
    """Return the function that encodes cells of one field; built once, used for every chunk.

    apart: whether misfits get ``field.domain.misfit``, also where they may count as missing.
    """
    domain = field.domain
    read: Encoder
    if field.open and field.type == "string":
        read = partial(_text_codes, field)
    elif field.is_categorical and not field.open:
        read = category_reader(field)
    elif field.type == "number":
        read = partial(_real_codes, _magnitude_coder(field) if field.open else _real_coder(field), domain.last)
    elif field.type == "integer":
        coder = _magnitude_coder(field) if field.open else _step_coder(field)
        beyond = coder if field.open else lambda x: np.where(x > 0, domain.values - 1, 0)
        read = partial(_integer_codes, coder, beyond, domain.last)
    else:
        unit = DAY_MICROSECONDS if field.type == "date" else 1
        read = partial(_time_codes, _step_coder(field), domain.last, unit)
    if field.reading != PLAIN:
        read = partial(_spelled, read, field)
    markers = [text for text in field.missing_values if text]
    misfit = domain.misfit if apart else domain.last
    return partial(_finish, read, pl.Series(markers, dtype=pl.String), domain, misfit)


def without_misfits(
    chunks: Iterable[Mapping[str, np.ndarray]], fields: Iterable[Field]
) -> Iterator[dict[str, np.ndarray]]:
    """Yield chunks of codes that have misfits apart as they are where these count as missing."""
    last = {each.name: each.domain.dtype.type(each.domain.last) for each in fields if each.domain.missing}
    for chunk in chunks:
        yield {name: np.minimum(codes, last[name]) if name in last else codes for name, codes in chunk.items()}


def _spelled(read: Encoder, field: Field, cells: RawColumn) -> np.ndarray:
    """Encode cells that a field's own rules of writing put into plain form."""
    return read(plain_cells(cells, field))


def _finish(read: Encoder, markers: pl.Series, domain: Domain, misfit: int, cells: RawColumn) -> np.ndarray:
    """Encode, put missing cells and the schema's texts for missing at the last code, and narrow the result."""
    codes, last = read(cells), domain.last
    if misfit > last:
        # What could not be read is a misfit, unless it is nothing: an empty text or NaN.
        codes[(codes == last) & ~_is_nothing(cells)] = misfit
    if isinstance(cells, Texts):
        # Empty text is no number and no date, and a category only where the schema says that it is not missing.
        if len(markers):
            codes[cells.values.is_in(markers).fill_null(value=False).to_numpy()] = last
    elif cells.nulls is not None:
        codes[cells.nulls] = last
    return codes.astype(domain.dtype, copy=False)


def _is_nothing(cells: RawColumn) -> np.ndarray:
    """Return where a cell is empty."""
    return (cells.values == "").fill_null(value=True).to_numpy() if isinstance(cells, Texts) else missing_cells(cells)


def _real_codes(coder: _Coder, last: int, cells: RawColumn) -> np.ndarray:
    """Return the codes of numbers; what is not finite is set aside before any cast, which would be undefined."""
    if isinstance(cells, Times):
        return np.full(len(cells), last)
    x = read_reals(cells.values) if isinstance(cells, Texts) else cells.values.astype(np.float64, copy=False)
    finite = np.isfinite(x)
    if finite.all():
        return coder(x)
    codes = coder(np.where(finite, x, 0.0))
    codes[~finite] = last
    return codes


def _integer_codes(coder: _Coder, beyond: _Coder, last: int, cells: RawColumn) -> np.ndarray:
    """Return the codes of whole numbers, by `coder` where they are int64 and by `beyond` where they are larger."""
    if isinstance(cells, Times):
        return np.full(len(cells), last)
    if isinstance(cells, Texts):
        read = read_numbers(cells.values)
        return np.where(read.is_integer, coder(read.integers), _whole_real_codes(coder, beyond, last, read.reals))
    values = cells.values
    if values.dtype == np.float64:
        return _whole_real_codes(coder, beyond, last, values)
    if values.dtype == np.uint64:
        # Beyond 2^63 the cast would wrap.
        is_small = values < np.uint64(2**63)
        small = coder(np.where(is_small, values, 0).astype(np.int64))
        return np.where(is_small, small, beyond(values.astype(np.float64)))
    return coder(values.astype(np.int64, copy=False))


def _whole_real_codes(coder: _Coder, beyond: _Coder, last: int, x: np.ndarray) -> np.ndarray:
    """Return the codes of floats in an integer field: whole numbers as integers, anything else at the last code."""
    finite = np.isfinite(x)
    known = np.where(finite, x, 0.0)
    fits = np.abs(known) < _INT64_SPAN
    codes = coder(np.where(fits, known, 0.0).astype(np.int64))
    if not fits.all():
        codes = np.where(fits, codes, beyond(known))
    codes[~finite | (np.floor(known) != known)] = last
    return codes


def _time_codes(coder: _Coder, last: int, unit: int, cells: RawColumn) -> np.ndarray:
    """Return the codes of dates or moments; `unit` is the microseconds in one unit of the range."""
    if isinstance(cells, Numbers):
        return np.full(len(cells), last)
    is_date = unit == DAY_MICROSECONDS  # a day is that of the cell's own clock, a moment is one of UTC
    if isinstance(cells, Texts):
        moments, is_time = read_times(cells.clock if is_date else cells.values, by_clock=is_date)
        return np.where(is_time, coder(moments // unit), last)
    return coder((cells.clock if is_date else cells.values) // unit)


def _with_specials(codes: np.ndarray, x: np.ndarray, specials: Mapping[int | float, int]) -> np.ndarray:
    """Put special values at their own codes."""
    for value, code in specials.items():
        codes[x == value] = code
    return codes


def _magnitude_coder(field: Field) -> _Coder:
    """Return the coder of an opened field, which any number fits: the public grid of magnitudes."""
    specials = special_codes(field)
    return lambda x: _with_specials(magnitude_codes(x), x, specials)


def _real_coder(field: Field) -> _Coder:
    """Return the coder of floats: by cells of the range, or by the nearest multiple of a step."""
    found = field.range
    lo, hi, grid, last = float(found.lo), float(found.hi), found.step, field.domain.values - 1
    specials = {float(value): code for value, code in special_codes(field).items()}

    def code(x: np.ndarray) -> np.ndarray:
        if not last:
            return _with_specials(np.zeros(len(x), dtype=np.int64), x, specials)
        q = np.clip(x, lo, hi)
        q -= lo
        if grid is None:
            q /= hi - lo
            q *= _CELLS
        else:
            q /= float(grid)
            np.rint(q, out=q)
        codes = q.astype(np.int64)
        np.minimum(codes, last, out=codes)
        return _with_specials(codes, x, specials)

    return code


def _step_coder(field: Field) -> _Coder:
    """Return the coder of int64: by the last step that begins at or before them, or by the nearest one."""
    found = field.range
    lo, hi, width, calendar = int(found.lo), int(found.hi), int(found.step or 1), found.calendar
    specials: dict[int | float, int] = {int(value): code for value, code in special_codes(field).items()}

    def code(x: np.ndarray) -> np.ndarray:
        codes: np.ndarray = np.clip(x, lo, hi)
        if calendar is not None:
            codes = calendar.codes(codes)
        elif field.type == "integer" and width > 1:
            codes = _nearest_steps(codes, lo, width)
        else:
            codes -= lo
            if width > 1:
                codes //= width
        return _with_specials(codes, x, specials)

    return code


def _nearest_steps(x: np.ndarray, lo: int, width: int) -> np.ndarray:
    """Return the nearest whole number of steps from `lo`, of two equally near the even one; exact to 64 bits."""
    # A difference of two int64 may need 64 bits; modulo 2^64 it is always right, and it is not negative.
    above = x.astype(np.uint64) - np.uint64(lo % 2**64)
    codes, rest = np.divmod(above, np.uint64(width))
    missing = np.uint64(width) - rest
    codes += (rest > missing) | ((rest == missing) & (codes % np.uint64(2) == 1))
    return codes.astype(np.int64)


def open_texts(cells: RawColumn, field: Field) -> pl.Series:
    """Return the text that each cell of an opened string field stands for.

    In the plain form of `plain_texts`; null where a cell is missing, empty, or no text.

    >>> town = Field(name="town", type="string", open=True, missing_values=("", "?"))
    >>> open_texts(Texts(pl.Series(["York", "?", "", None, "3.0"])), town).to_list()
    ['York', None, None, None, '3']
    """

    def is_marked(texts: pl.Series) -> np.ndarray:
        # The empty text is a value only of a list that has it.
        return texts.is_in(["", *field.missing_values]).fill_null(value=False).to_numpy()

    def left(texts: pl.Series, is_text: np.ndarray) -> pl.Series:
        return texts.set(pl.Series(~is_text | is_marked(texts)), None)

    if isinstance(cells, Texts):
        # Many cells, of few texts.
        distinct = cells.values.unique()
        is_text = is_readable(distinct) & ~is_marked(distinct)
        return cells.values.replace_strict(distinct, left(plain_texts(distinct), is_text))
    values, places = np.unique(cells.values, return_inverse=True)
    written = number_texts(values) if isinstance(cells, Numbers) else moment_texts(values)
    return left(written.gather(places), ~missing_cells(cells))


def _text_codes(field: Field, cells: RawColumn) -> np.ndarray:
    """Return 53 bits of a hash of each text, the same in every version, or the last code; they hide nothing."""
    found = open_texts(cells, field)
    distinct = found.drop_nulls().unique()
    hashes = [blake2b(text.encode(), digest_size=_HASH_BYTES).digest() for text in distinct.to_list()]
    codes = np.array([int.from_bytes(each, "big") >> _HASH_SHIFT for each in hashes], dtype=np.int64)
    coded = found.replace_strict(distinct, pl.Series(codes), default=field.domain.last, return_dtype=pl.Int64)
    return coded.to_numpy().copy()


def read_columns(schema: Schema) -> tuple[str, ...]:
    """Return the columns that coding reads: the modelled ones, and that of the privacy unit."""
    unit = () if schema.privacy_unit is None else (schema.privacy_unit.field,)
    return tuple(dict.fromkeys((*(field.name for field in schema.columns), *unit)))
