"""Cells to codes: the one place where private values meet the schema.

No value raises and no row is dropped. A cell in the domain gets its code, a number or date outside its bounds is
clamped, and everything else (missing, NaN, infinite, unreadable, unknown category) gets the domain's last code. Each
cell's code depends on that cell and the schema alone, whatever kind of table it came from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from lapwing.rows.codec.categories import category_reader
from lapwing.rows.codec.cells import Numbers, RawColumn, Texts, Times
from lapwing.rows.codec.open_cells import open_reader
from lapwing.rows.codec.parsing import DAY_MICROSECONDS, read_numbers, read_reals, read_times
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Calendar
from lapwing.schema.values import bounds, special_codes, step

Encoder = Callable[[RawColumn], np.ndarray]
"""Maps the cells of one field to its codes, in the dtype of its domain."""

_CELLS = 2**32
_INT64_SPAN = 2.0**63


def encode(cells: RawColumn, field: Field) -> np.ndarray:
    """Return the code of every cell.

    Returns ``field.domain.dtype``, shape (n,), codes in ``0 .. field.domain.last``.

    >>> age = Field(name="age", type="integer", minimum=0, maximum=120)
    >>> encode(Numbers(np.array([5.0, 200.0, 0.5, np.nan])), age)
    array([  5, 120, 121, 121], dtype=uint8)
    """
    return encoder(field)(cells)


def encoder(field: Field) -> Encoder:
    """Return the function that encodes cells of one field; built once, used for every chunk."""
    domain = field.domain
    read: Encoder
    if field.open:
        read = open_reader(field)
    elif field.is_categorical:
        read = category_reader(field)
    elif field.type == "number":
        read = partial(_real_codes, _real_rule(field))
    elif field.type == "integer":
        read = partial(_integer_codes, _step_rule(field))
    else:
        unit = DAY_MICROSECONDS if field.type == "date" else 1
        read = partial(_time_codes, _step_rule(field), unit)
    markers = [text for text in field.missing_values if text]
    return partial(_finish, read, pl.Series(markers, dtype=pl.String), domain.last, domain.dtype)


def _finish(read: Encoder, markers: pl.Series, last: int, dtype: np.dtype, cells: RawColumn) -> np.ndarray:
    """Encode, put missing cells and the schema's texts for missing at the last code, and narrow the result."""
    codes = read(cells)
    if isinstance(cells, Texts):
        # Empty text is no number and no date, and a category only where the schema says that it is not missing.
        if len(markers):
            codes[cells.values.is_in(markers).fill_null(value=False).to_numpy()] = last
    elif cells.nulls is not None:
        codes[cells.nulls] = last
    return codes.astype(dtype, copy=False)


# ------------------------------------------------------------------------------------------------- real numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class _RealRule:
    """How floats become codes: by cells of the range (`step` None) or by the nearest multiple of `step`."""

    lo: float
    hi: float
    step: float | None
    values: int
    specials: tuple[tuple[float, int], ...]
    last: int


def _real_rule(field: Field) -> _RealRule:
    lo, hi = bounds(field)
    grid = step(field)
    return _RealRule(
        lo=float(lo),
        hi=float(hi),
        step=None if grid is None else float(grid),
        values=field.domain.values,
        specials=tuple((float(value), code) for value, code in special_codes(field).items()),
        last=field.domain.last,
    )


def _real_codes(rule: _RealRule, cells: RawColumn) -> np.ndarray:
    if isinstance(cells, Times):
        return np.full(len(cells), rule.last)
    if isinstance(cells, Texts):
        return _code_reals(read_reals(cells.values), rule)
    return _code_reals(cells.values.astype(np.float64, copy=False), rule)


def _code_reals(x: np.ndarray, rule: _RealRule) -> np.ndarray:
    """Return the codes of floats; anything not finite is set aside before the cast, which would be undefined."""
    finite = np.isfinite(x)
    if rule.values == 1:
        codes = np.zeros(len(x), dtype=np.int64)
    else:
        q = np.clip(x, rule.lo, rule.hi)
        q -= rule.lo
        if rule.step is None:
            q /= rule.hi - rule.lo
            q *= _CELLS
        else:
            q /= rule.step
            np.rint(q, out=q)
        if not finite.all():
            q[~finite] = 0.0
        codes = q.astype(np.int64)
        np.minimum(codes, rule.values - 1, out=codes)
    for value, code in rule.specials:
        codes[x == value] = code
    if not finite.all():
        codes[~finite] = rule.last
    return codes


# --------------------------------------------------------------------------------------- integers, dates, moments


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepRule:
    """How whole numbers become codes: by the last step that begins at or before them, or the nearest one."""

    lo: int
    hi: int
    step: int
    is_nearest: bool
    calendar: Calendar | None
    values: int
    specials: tuple[tuple[int, int], ...]
    last: int


def _step_rule(field: Field) -> _StepRule:
    found = field.range
    return _StepRule(
        lo=int(found.lo),
        hi=int(found.hi),
        step=int(found.step or 1),
        is_nearest=field.type == "integer",
        calendar=found.calendar,
        values=found.values,
        specials=tuple((int(value), code) for value, code in special_codes(field).items()),
        last=field.domain.last,
    )


def _code_integers(x: np.ndarray, rule: _StepRule) -> np.ndarray:
    """Return the codes of int64 values."""
    codes: np.ndarray = np.clip(x, rule.lo, rule.hi)
    if rule.calendar is not None:
        codes = rule.calendar.codes(codes)
    elif rule.is_nearest and rule.step > 1:
        codes = _nearest_steps(codes, rule)
    else:
        codes -= rule.lo
        if rule.step > 1:
            codes //= rule.step
    for value, code in rule.specials:
        codes[x == value] = code
    return codes


def _nearest_steps(x: np.ndarray, rule: _StepRule) -> np.ndarray:
    """Return the nearest whole number of steps from `lo`, of two equally near the even one; exact to 64 bits."""
    # A difference of two int64 may need 64 bits; modulo 2^64 it is always right, and it is not negative.
    above = x.astype(np.uint64) - np.uint64(rule.lo % 2**64)
    codes, rest = np.divmod(above, np.uint64(rule.step))
    missing = np.uint64(rule.step) - rest
    codes += (rest > missing) | ((rest == missing) & (codes % np.uint64(2) == 1))
    return codes.astype(np.int64)


def _integer_codes(rule: _StepRule, cells: RawColumn) -> np.ndarray:
    if isinstance(cells, Times):
        return np.full(len(cells), rule.last)
    if isinstance(cells, Texts):
        read = read_numbers(cells.values)
        return np.where(read.is_integer, _code_integers(read.integers, rule), _code_whole_reals(read.reals, rule))
    if cells.values.dtype == np.float64:
        return _code_whole_reals(cells.values, rule)
    if cells.values.dtype == np.uint64:
        codes = _code_integers(cells.values.astype(np.int64), rule)
        # Beyond 2^63 the cast wraps; such a value lies above every bound and is no special value.
        codes[cells.values >= np.uint64(2**63)] = rule.values - 1
        return codes
    return _code_integers(cells.values.astype(np.int64, copy=False), rule)


def _code_whole_reals(x: np.ndarray, rule: _StepRule) -> np.ndarray:
    """Return the codes of floats in an integer field: whole numbers as integers, anything else at the last code."""
    fits = np.abs(x) < _INT64_SPAN  # false for NaN
    whole = np.where(fits, x, 0.0)
    codes = _code_integers(whole.astype(np.int64), rule)
    codes[np.floor(whole) != whole] = rule.last
    codes[~fits] = rule.last
    codes[(x >= _INT64_SPAN) & (x < np.inf)] = rule.values - 1
    codes[(x <= -_INT64_SPAN) & (x > -np.inf)] = 0
    return codes


def _time_codes(rule: _StepRule, unit: int, cells: RawColumn) -> np.ndarray:
    """Return the codes of dates or moments; `unit` is the microseconds in one unit of the rule."""
    if isinstance(cells, Numbers):
        return np.full(len(cells), rule.last)
    if isinstance(cells, Texts):
        moments, is_time = read_times(cells.values)
        return np.where(is_time, _code_integers(moments // unit, rule), rule.last)
    return _code_integers(cells.values // unit, rule)
