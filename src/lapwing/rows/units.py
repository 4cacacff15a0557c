"""Keep at most a fixed number of rows of each privacy unit, chosen by the unit's own rows alone.

Kept are those with the smallest public hash of the unit, the row's codes, and how many equal rows stand before: each is
as likely to stay, and removing one unit changes its own rows alone. The hash is the same everywhere; it hides nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeVar

import numpy as np
import polars as pl

from lapwing.errors import DataError
from lapwing.rows.cells import (
    UNREADABLE,
    Numbers,
    RawColumn,
    Texts,
    Times,
    moment_texts,
    read_numbers,
    read_times,
    whole_number,
)
from lapwing.schema.fields import Field

T = TypeVar("T")

Chunks = Callable[[], Iterable[Mapping[str, np.ndarray]]]
"""Gives the codes of all rows, chunk by chunk, in a stable order."""

# Fixed odd constants of the splitmix64 generator (Steele, Lea, Flood 2014).
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def mix_hash(state: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return what a public hash is after some more words, uint64 both: for each word one to one in the state."""
    found: np.ndarray = state + words
    found += _GOLDEN
    found ^= found >> np.uint64(30)
    found *= _FIRST
    found ^= found >> np.uint64(27)
    found *= _SECOND
    found ^= found >> np.uint64(31)
    return found


def row_hashes(codes: Mapping[str, np.ndarray], columns: Sequence[str]) -> np.ndarray:
    """Return the public hash of what every row says: a function of the row's codes alone.

    >>> row_hashes({"a": np.array([0, 1], dtype=np.uint8)}, ["a"])
    array([16294208416658607535, 10451216379200822465], dtype=uint64)
    """
    found = np.zeros(len(codes[columns[0]]), dtype=np.uint64)
    for name in columns:
        found = mix_hash(found, codes[name].astype(np.uint64))
    return found


class OrderDigest:
    """Summarise rows and their order in 64 bits, independently of how they are cut into chunks."""

    __slots__ = ("_rows", "value")

    def __init__(self) -> None:
        self._rows = 0
        self.value = 0

    def add(self, hashes: np.ndarray) -> None:
        """Take in the hashes of the next rows."""
        places = np.arange(self._rows, self._rows + len(hashes)).astype(np.uint64)
        # Odd factors by place: exchanging two different rows changes the sum.
        self.value = (self.value + int((hashes * (places * _GOLDEN | np.uint64(1))).sum(dtype=np.uint64))) % 2**64
        self._rows += len(hashes)


def kept_rows(
    units: np.ndarray,
    hashes: np.ndarray,
    max_rows: int,
    chunks: Chunks,
    columns: Sequence[str],
) -> np.ndarray:
    """Return which rows stay when each unit keeps `max_rows`; chunks: called only where rows of equal hash compete."""
    kept = np.ones(len(units), dtype=bool)
    rows = np.flatnonzero(np.bincount(units)[units] > max_rows) if len(units) else np.zeros(0, dtype=np.intp)
    if not len(rows):
        return kept
    rows = rows[np.lexsort((hashes[rows], units[rows]))]
    is_first = (np.diff(units[rows], prepend=-1) != 0) | (hashes[rows] != np.roll(hashes[rows], 1))
    stays = of_smallest(units[rows], mix_hash(hashes[rows], places(is_first).astype(np.uint64)), max_rows)
    # How many rows of a hash stay is known; of those that say other things under one hash, the codes say which.
    run = np.cumsum(is_first)
    staying = np.bincount(run[stays], minlength=run[-1] + 1)
    is_cut = (staying > 0) & (staying < np.bincount(run))
    if is_cut.any():
        _order_ties(rows, np.where(is_cut[run], run, 0), chunks, columns)
    kept[rows[~stays]] = False
    return kept


def of_smallest(units: np.ndarray, priorities: np.ndarray, max_rows: int) -> np.ndarray:
    """Return which rows are among the `max_rows` smallest of their unit: ndarray of bool, shape (n,)."""
    order = np.lexsort((priorities, units))
    stays = np.zeros(len(units), dtype=bool)
    stays[order] = places(np.diff(units[order], prepend=-1) != 0) < max_rows
    return stays


def places(is_first: np.ndarray) -> np.ndarray:
    """Return the place of each row within its run, from 0 up; `is_first` says where runs begin."""
    starts = np.flatnonzero(is_first)
    place: np.ndarray = np.arange(len(is_first)) - starts[np.cumsum(is_first) - 1]
    return place


def _order_ties(rows: np.ndarray, run: np.ndarray, chunks: Chunks, columns: Sequence[str]) -> None:
    """Order rows of one unit and equal hash by their codes, in place, where some of them stay.

    `run`: a positive number for rows that compete, which stand together; 0 for those that compete with none.
    """
    numbers, label = np.unique(run, return_inverse=True)
    competing = label > 0 if numbers[0] == 0 else np.ones(len(run), dtype=bool)
    where = np.argsort(rows[competing])
    members, labels = rows[competing][where], label[competing][where]
    is_mixed = _labels_with_different_rows(members, labels, len(numbers), chunks, columns)[label] & competing
    if not is_mixed.any():
        return
    at = np.sort(rows[is_mixed])
    codes = np.concatenate([part for _, part in _codes_of_rows(at, chunks, columns)])
    place = np.searchsorted(at, rows[is_mixed])
    order = np.lexsort((*codes[place].T[::-1], label[is_mixed]))
    rows[is_mixed] = rows[is_mixed][order]


def _labels_with_different_rows(
    members: np.ndarray, labels: np.ndarray, count: int, chunks: Chunks, columns: Sequence[str]
) -> np.ndarray:
    """Return for each label whether rows that carry it have different codes; `members` are increasing row numbers."""
    example = np.zeros((count, len(columns)), dtype=np.int64)
    is_met = np.zeros(count, dtype=bool)
    is_mixed = np.zeros(count, dtype=bool)
    for inside, codes in _codes_of_rows(members, chunks, columns):
        here = labels[inside]
        met, first = np.unique(here, return_index=True)
        new = ~is_met[met]
        example[met[new]] = codes[first[new]]
        is_met[met] = True
        is_mixed[here[(codes != example[here]).any(axis=1)]] = True
    return is_mixed


def _codes_of_rows(members: np.ndarray, chunks: Chunks, columns: Sequence[str]) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield which of the increasing row numbers lie in each chunk, and their codes, shape (rows, columns)."""
    offset = 0
    for chunk in chunks():
        height = len(chunk[columns[0]])
        start, stop = np.searchsorted(members, (offset, offset + height))
        inside = members[start:stop] - offset
        yield slice(start, stop), np.stack([chunk[name][inside].astype(np.int64) for name in columns], axis=1)
        offset += height


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowSelection:
    """Which rows of a table stay, and a digest of its codes in order, so that no other rows are taken for them."""

    rows: np.ndarray
    digest: int


def cut_chunks(chunks: Iterable[dict[str, np.ndarray]], kept: RowSelection) -> Iterator[dict[str, np.ndarray]]:
    """Yield the kept rows of each chunk, and refuse a table that is not the one they were chosen from."""
    for chunk, inside in with_kept(((chunk, chunk) for chunk in chunks), kept):
        yield chunk if inside.all() else {name: codes[inside] for name, codes in chunk.items()}


def with_kept(parts: Iterable[tuple[T, dict[str, np.ndarray]]], kept: RowSelection) -> Iterator[tuple[T, np.ndarray]]:
    """Yield what goes with each chunk of codes and which of its rows are kept, with the check of `cut_chunks`."""
    digest, start = OrderDigest(), 0
    for part, chunk in parts:
        stop = start + len(next(iter(chunk.values())))
        if stop > len(kept.rows):
            raise changed_rows_error()
        digest.add(row_hashes(chunk, tuple(chunk)))
        yield part, kept.rows[start:stop]
        start = stop
    if digest.value != kept.digest:
        raise changed_rows_error()


def changed_rows_error() -> DataError:
    """Return what is raised where rows are not those of an earlier pass."""
    return DataError(
        "the table's rows changed between two passes over them; collect a lazy frame, or order a query, before use",
        code="LW109",
    )


_INTEGER: Final = r"^(?:0|-?[1-9][0-9]*)$"
_WHOLE_FLOAT: Final = r"^(0|-?[1-9][0-9]*)\.0$"
_POINT_ZEROS: Final = r"^[ \t\r\n]*([+-]?[0-9]+)\.0*[ \t\r\n]*$"
_NUMBER, _TEXT, _NULL = range(3)


class UnitNumbers:
    """Number the privacy units of a table, exactly, chunk by chunk.

    Whole numbers are the same unit as integers, floats or text (7, 7.0, "7", "7.0"), days as dates or text; other text
    is compared as it is; all rows without a unit, or with one that cannot be read, are one unit together.
    """

    def __init__(self, field: Field) -> None:
        self._field = field
        self._markers = pl.Series(field.missing_values, dtype=pl.String)
        self._texts: dict[str, int] = {}
        self._hashes: list[int] = []
        self._sorts: list[np.ndarray] = []
        self._keys: list[np.ndarray] = []

    @property
    def column(self) -> str:
        """The column that names the unit of each row."""
        return self._field.name

    @property
    def rows(self) -> int:
        """How many rows there are so far."""
        return sum(map(len, self._keys))

    def add(self, cells: RawColumn) -> None:
        """Take in the unit of each row of the next chunk."""
        sorts = np.full(len(cells), _NUMBER, dtype=np.uint8)
        if isinstance(cells, Texts):
            keys = self._from_texts(cells.values, sorts)
        elif isinstance(cells, Numbers) and cells.values.dtype in {np.dtype(np.float64), np.dtype(np.uint64)}:
            keys = self._from_wide_numbers(cells.values, sorts)
        elif isinstance(cells, Times) and self._field.type not in {"date", "datetime"}:
            moments, places = np.unique(cells.values, return_inverse=True)
            keys = self._interned(moment_texts(moments))[places]  # as a file of texts has them
            sorts[:] = _TEXT
        else:
            keys = cells.values.astype(np.int64)
        if not isinstance(cells, Texts) and cells.nulls is not None:
            sorts[cells.nulls] = _NULL
        self._sorts.append(sorts)
        self._keys.append(keys)

    def numbers(self) -> np.ndarray:
        """Return the unit of every row so far as a number from 0 up, without gaps: int64 (n,)."""
        sorts = np.concatenate([np.empty(0, dtype=np.uint8), *self._sorts])
        keys = np.concatenate([np.empty(0, dtype=np.int64), *self._keys])
        units = np.zeros(len(keys), dtype=np.int64)
        first = 0
        for sort in (_NUMBER, _TEXT, _NULL):
            rows = np.flatnonzero(sorts == sort)
            distinct, inverse = np.unique(keys[rows] if sort != _NULL else np.zeros(len(rows)), return_inverse=True)
            units[rows] = first + inverse
            first += len(distinct)
        return units

    def names(self) -> pl.Series:
        """Return the unit of every row so far as a text, the same in whatever part of a table; "" for none.

        >>> units = UnitNumbers(Field(name="person", type="string"))
        >>> units.add(Texts(pl.Series(["7.0", "b", None])))
        >>> units.names().to_list()
        ['n7', 'tb', '']
        """
        sorts = pl.Series(np.concatenate([np.empty(0, dtype=np.uint8), *self._sorts]))
        keys = pl.Series(np.concatenate([np.empty(0, dtype=np.int64), *self._keys]))
        texts = pl.Series(["", *self._texts], dtype=pl.String).gather(
            (keys + 1).set(sorts != _TEXT, 0)  # keys of texts count them from 0
        )
        numbers = "n" + keys.cast(pl.String)
        return numbers.set(sorts == _NULL, "").zip_with(sorts != _TEXT, "t" + texts)

    def hashes(self, part: int) -> np.ndarray:
        """Return the public hash of the unit of each row of a chunk, the same in whatever table; -1: the last chunk."""
        sorts, keys = self._sorts[part], self._keys[part]
        found = mix_hash(keys.view(np.uint64), np.zeros(len(keys), dtype=np.uint64))
        is_text = sorts == _TEXT
        numbers, places = np.unique(keys[is_text], return_inverse=True)
        found[is_text] = np.array([self._hashes[number] for number in numbers.tolist()], dtype=np.uint64)[places]
        found[sorts == _NULL] = 0
        return found

    @property
    def is_none(self) -> np.ndarray:
        """Which rows so far have no unit: ndarray of bool."""
        found: np.ndarray = np.concatenate([np.empty(0, dtype=np.uint8), *self._sorts]) == _NULL
        return found

    def _from_texts(self, cells: pl.Series, sorts: np.ndarray) -> np.ndarray:
        is_none = cells.is_in(self._markers) | (cells == UNREADABLE)
        sorts[cells.is_null().to_numpy() | is_none.fill_null(value=True).to_numpy()] = _NULL
        keys = np.zeros(len(cells), dtype=np.int64)
        if self._field.type in {"date", "datetime"}:
            values, is_number = read_times(cells)
        elif self._field.type == "string":
            whole = cells.str.replace(_WHOLE_FLOAT, "$1").replace("-0.0", "0")
            is_plain = whole.str.contains(_INTEGER)
            cells = whole.zip_with(is_plain, cells)
            read = read_numbers(whole.set(~is_plain, None))
            values, is_number = read.integers, read.is_integer
        else:
            cells = cells.str.replace(_POINT_ZEROS, "$1")
            read = read_numbers(cells)
            odd = cells.filter(pl.Series(np.floor(read.reals) == read.reals)).unique()
            if len(odd):
                # Written by an exponent or a Boolean's name, or beyond 64 bits, or a fraction that no float holds.
                found = {text: whole_number(text) for text in odd.to_list()}
                cells = cells.replace({text: str(number) for text, number in found.items() if number is not None})
                read = read_numbers(cells)
            values, is_number = read.integers, read.is_integer
            sorts[(cells.str.to_lowercase() == "nan").fill_null(value=False).to_numpy()] = _NULL
        keys[is_number] = values[is_number]
        rest = ~is_number & (sorts != _NULL)
        keys[rest] = self._interned(cells.filter(pl.Series(rest)))
        sorts[rest] = _TEXT
        return keys

    def _from_wide_numbers(self, values: np.ndarray, sorts: np.ndarray) -> np.ndarray:
        """Return keys of floats or unsigned integers; those that are no int64 go by their text, 1e20 by its digits."""
        fits = values < 2**63 if values.dtype == np.uint64 else (values >= -(2.0**63)) & (values < 2.0**63)
        whole = np.where(fits, values, 0)
        rest = ~fits | (np.floor(whole) != whole)
        keys = np.where(rest, 0, whole).astype(np.int64)
        sorts[rest] = _TEXT
        sorts[np.isnan(values)] = _NULL
        texts = [repr(int(value) if value % 1 == 0 else value) for value in values[rest].tolist()]
        keys[rest] = self._interned(pl.Series(texts, dtype=pl.String))
        return keys

    def _interned(self, texts: pl.Series) -> np.ndarray:
        """Return the number of each text, a new one for each text not met before."""
        if not len(texts):
            return np.zeros(0, dtype=np.int64)
        distinct = texts.unique(maintain_order=True)
        numbers = [self._texts.setdefault(text, len(self._texts)) for text in distinct.to_list()]
        new = distinct.filter(pl.Series(numbers) >= len(self._hashes)).to_list()
        self._hashes += [int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") for text in new]
        return texts.replace_strict(distinct, pl.Series(numbers, dtype=pl.Int64)).to_numpy()
