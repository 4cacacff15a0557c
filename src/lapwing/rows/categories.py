"""Recognise cells of fields whose regular values are a list: by their text, by what it means, or by a field's rules."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from lapwing.rows.cells import (
    DAY_MICROSECONDS,
    WRITTEN_NUMBER,
    Numbers,
    RawColumn,
    Texts,
    Times,
    is_readable,
    moment_texts,
    number_texts,
    plain_texts,
    read_numbers,
    read_times,
)
from lapwing.schema.fields import Field
from lapwing.schema.scalars import category_key

_TRUE: Final = ("true", "t", "yes", "y", "1")
_FALSE: Final = ("false", "f", "no", "n", "0")
_UNKNOWN: Final = -1
_MOST_DENSE: Final = 2**14  # a table of codes up to this size stays in the processor's cache
_FAR: Final = 2**62
_SPACES: Final = " \t\r\n"


@dataclass(frozen=True, slots=True, eq=False)
class _Lookup:
    """Increasing keys and the code of each."""

    keys: np.ndarray
    codes: np.ndarray
    dense: np.ndarray | None = None  # where the keys are close integers: all codes from one below the first key on

    def find(self, cells: np.ndarray) -> np.ndarray:
        """Return the code of each cell, `_UNKNOWN` where no key is equal to it."""
        if not len(self.keys):
            return np.full(len(cells), _UNKNOWN)
        if self.dense is not None and cells.dtype == np.int64:
            before = int(self.keys[0]) - 1
            found: np.ndarray = self.dense.take(np.clip(cells, before, before + len(self.dense) - 1) - before)
            return found
        at = np.minimum(np.searchsorted(self.keys, cells), len(self.keys) - 1)
        return np.where(self.keys[at] == cells, self.codes[at], _UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Categories:
    """All the ways in which a cell can be recognised."""

    texts: pl.Enum
    numbers_as_text: str | None  # the pattern of texts that count as numbers; None where no text does
    integers: _Lookup
    reals: _Lookup
    times: _Lookup
    time_unit: int
    names: tuple[tuple[tuple[str, ...], int], ...]  # lower-case names of False and of True, each with its code
    last: int
    folds: tuple[int, ...]  # lengths of the prefixes to which texts go that are not listed, the longest first
    unlisted: int  # the code of all other texts; `_UNKNOWN` where they are misfits

    @property
    def are_days(self) -> bool:
        """Whether the categories are days, which are those of a cell's own clock."""
        return self.time_unit == DAY_MICROSECONDS

    @property
    def has_rules(self) -> bool:
        """Whether texts that are not listed go anywhere."""
        return bool(self.folds) or self.unlisted != _UNKNOWN


def category_reader(field: Field) -> Callable[[RawColumn], np.ndarray]:
    """Return the function from cells to positions in the field's list; unknown cells get the last code."""
    known = _categories(field)

    def read(cells: RawColumn) -> np.ndarray:
        if isinstance(cells, Texts):
            codes = _text_codes(cells.clock if known.are_days else cells.values, known)
        elif isinstance(cells, Numbers):
            codes = _number_codes(cells.values, known)
        else:
            codes = known.times.find((cells.clock if known.are_days else cells.values) // known.time_unit)
        if known.has_rules and not isinstance(cells, Texts):
            codes = _settled(cells, codes, known)
        codes[codes == _UNKNOWN] = known.last
        return codes

    return read


def _text_codes(cells: pl.Series, known: _Categories) -> np.ndarray:
    found = cells.cast(known.texts, strict=False).to_physical()
    if not found.null_count():
        return found.to_numpy().astype(np.int64)
    codes = _positions(found)
    if found.null_count() == cells.null_count():
        return codes
    rest = (codes == _UNKNOWN) & cells.is_not_null().to_numpy()
    odd = cells.filter(pl.Series(rest))
    # Many cells may be no category to the letter, of few texts.
    distinct = odd.unique()
    meant = _meant(distinct, known)
    places = odd.cast(pl.Enum(distinct)).to_physical().to_numpy()
    codes[rest] = (_unlisted_texts(distinct, meant, known) if known.has_rules else meant)[places]
    return codes


def _positions(found: pl.Series) -> np.ndarray:
    """Return places in a list as int64, `_UNKNOWN` where there is none."""
    return found.cast(pl.Int64).fill_null(_UNKNOWN).to_numpy().copy()


def _meant(cells: pl.Series, known: _Categories) -> np.ndarray:
    """Return the codes of texts that are no category as they stand, by what they mean."""
    bare = cells.str.strip_chars(_SPACES)
    codes = np.full(len(cells), _UNKNOWN)
    if len(known.times.keys):
        moments, is_time = read_times(bare, by_clock=known.are_days)
        codes = np.where(is_time, known.times.find(moments // known.time_unit), codes)
    if known.numbers_as_text is not None:
        read = read_numbers(bare.set(~bare.str.contains(known.numbers_as_text), None))
        found = np.where(read.is_integer, known.integers.find(read.integers), known.reals.find(read.reals))
        codes = np.where(found == _UNKNOWN, codes, found)
    lower = bare.str.to_lowercase()
    for names, code in known.names:
        codes[lower.is_in(names).to_numpy()] = code
    return codes


def _number_codes(cells: np.ndarray, known: _Categories) -> np.ndarray:
    if cells.dtype == np.bool_:
        (_, false), (_, true) = known.names
        return np.where(cells, true, false)
    if cells.dtype == np.float64:
        return known.reals.find(cells)
    if cells.dtype == np.uint64:
        # Beyond 2^63 the cast would wrap; no category is that large.
        small = cells < np.uint64(2**63)
        return np.where(small, known.integers.find(np.where(small, cells, 0).astype(np.int64)), _UNKNOWN)
    return known.integers.find(cells.astype(np.int64, copy=False))


def _settled(cells: Numbers | Times, codes: np.ndarray, known: _Categories) -> np.ndarray:
    """Return the codes of cells that are not text, those that stand for no category by the text they stand for."""
    rest = codes == _UNKNOWN
    if isinstance(cells, Numbers) and cells.values.dtype == np.float64:
        rest &= ~np.isnan(cells.values)
    if not rest.any():
        return codes
    distinct, places = np.unique(cells.values[rest], return_inverse=True)
    texts = number_texts(distinct) if isinstance(cells, Numbers) else moment_texts(distinct)
    codes[rest] = _unlisted_texts(texts, np.full(len(texts), _UNKNOWN), known)[places]
    return codes


def _unlisted_texts(cells: pl.Series, codes: np.ndarray, known: _Categories) -> np.ndarray:
    """Return the codes of texts, with rules for those that have none: their longest prefix, then the one for all."""
    # The empty text is missing unless it is a category, and what no field can hold is no text.
    rest = (codes == _UNKNOWN) & is_readable(cells) & (cells != "").to_numpy()
    texts = plain_texts(cells)
    # A number is not yet compared to the letter: 1e+22 may be listed.
    for length in (None, *known.folds):
        head = texts if length is None else texts.str.head(length)
        found = _positions(head.cast(known.texts, strict=False).to_physical())
        codes = np.where(rest & (codes == _UNKNOWN), found, codes)
    return np.where(rest & (codes == _UNKNOWN), known.unlisted, codes)


def _categories(field: Field) -> _Categories:
    values = (False, True) if field.categories is None else field.categories
    keys = pl.Series([category_key(value) for value in values], dtype=pl.String)
    is_text = isinstance(values[0], str)
    is_date = field.type in {"date", "datetime"}
    pattern = WRITTEN_NUMBER if is_text else ""  # every text may be tried against a list of numbers
    integers, reals = _number_lookups(keys, pattern) if not is_date else (_NOTHING, _NOTHING)
    unit = DAY_MICROSECONDS if field.type == "date" else 1
    moments, is_time = read_times(keys)
    longest = int(keys.str.len_chars().max() or 0)  # type: ignore[arg-type]
    return _Categories(
        texts=pl.Enum(keys),
        numbers_as_text=pattern if len(reals.keys) else None,
        integers=integers,
        reals=reals,
        times=_lookup(moments[is_time] // unit, np.flatnonzero(is_time)),
        time_unit=unit,
        names=_boolean_names(field, keys, integers),
        last=field.domain.last,
        folds=tuple(length for length in reversed(field.folds) if length <= longest),
        unlisted=_UNKNOWN if field.unlisted is None else values.index(field.unlisted),
    )


def _number_lookups(keys: pl.Series, pattern: str) -> tuple[_Lookup, _Lookup]:
    """Return the categories that are whole numbers of 64 bits, and all that are numbers, by their value."""
    is_number = keys.str.contains(pattern)
    if not is_number.any():
        return _NOTHING, _NOTHING
    read = read_numbers(keys.set(~is_number, None))
    reals = np.where(read.is_integer, read.integers.astype(np.float64), read.reals)
    is_whole = read.is_integer | ((np.abs(reals) < 2.0**63) & (np.floor(reals) == reals))
    integers = np.where(
        read.is_integer, read.integers, np.where(is_whole & ~read.is_integer, reals, 0).astype(np.int64)
    )
    # Where 3 and 3.0 are both listed, the number 3 means the first.
    order = np.concatenate([np.flatnonzero(read.is_integer), np.flatnonzero(~read.is_integer & ~np.isnan(reals))])
    whole = order[is_whole[order]]
    return _lookup(integers[whole], whole), _lookup(reals[order], order)


def _lookup(keys: np.ndarray, codes: np.ndarray) -> _Lookup:
    """Return a lookup in which the first of equal keys counts."""
    distinct, first = np.unique(keys, return_index=True)
    return _Lookup(distinct, codes[first], _dense(distinct, codes[first]))


def _dense(keys: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
    """Return the codes of all integers around the keys, `_UNKNOWN` at both ends; None where these are too many."""
    if (
        keys.dtype != np.int64
        or not len(keys)
        or abs(int(keys[0])) > _FAR
        or int(keys[-1]) - int(keys[0]) > _MOST_DENSE
    ):
        return None
    dense = np.full(int(keys[-1]) - int(keys[0]) + 3, _UNKNOWN)
    dense[keys - keys[0] + 1] = codes
    return dense


_NOTHING: Final = _Lookup(np.empty(0), np.empty(0, dtype=np.int64))


def _boolean_names(
    field: Field, keys: pl.Series, integers: _Lookup
) -> tuple[tuple[tuple[str, ...], int], tuple[tuple[str, ...], int]]:
    """Return the names of False and True and their codes: the category with that name, else the number 0 or 1."""
    zero, one = (int(code) for code in integers.find(np.array([0, 1])))
    if field.type == "boolean":
        return (_FALSE, zero), (_TRUE, one)
    lower = keys.str.to_lowercase()
    false, true = ((lower == name).arg_true().to_list() for name in ("false", "true"))
    return (("false",), false[0] if false else zero), (("true",), true[0] if true else one)
