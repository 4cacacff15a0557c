"""Tell which rows belong to the same privacy unit, exactly."""

from hashlib import blake2b
from typing import Final

import numpy as np
import polars as pl

from lapwing.schema.fields import Field
from lapwing.table.cells import UNREADABLE, Numbers, RawColumn, Texts, Times
from lapwing.table.parsing import read_numbers, read_times, whole_number
from lapwing.table.plain_texts import moment_texts
from lapwing.table.truncation import mixed

_INTEGER: Final = r"^(?:0|-?[1-9][0-9]*)$"
_WHOLE_FLOAT: Final = r"^(0|-?[1-9][0-9]*)\.0$"
_POINT_ZEROS: Final = r"^[ \t\r\n]*([+-]?[0-9]+)\.0*[ \t\r\n]*$"
_NUMBER, _TEXT, _NULL = range(3)


class UnitNumbers:
    """Number the privacy units of a table, exactly, chunk by chunk.

    Whole numbers are the same unit whether they are stored as integers, floats or text (7, 7.0, "7", or "7.0" as a
    column of floats is written), days whether as dates or text (2024-02-29); other text is compared as it is; all rows
    without a unit, or with one that cannot be read, are one unit together.
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
        """Return the unit of every row so far as a number from 0 up, without gaps.

        Returns
        -------
        ndarray of int64, shape (n,)
        """
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
        """Return the unit of every row so far as a text, the same for a unit in whatever part of a table it stands.

        Returns
        -------
        polars Series of String, length n
            Equal exactly where the units are; "" where there is none.

        Examples
        --------
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
        """Return the public hash of the unit of each row of a chunk, the same in whatever table a unit stands.

        Parameters
        ----------
        part : int
            Which chunk, from 0 up; -1 is the last one so far.

        Returns
        -------
        ndarray of uint64, shape (rows of the chunk,)
        """
        sorts, keys = self._sorts[part], self._keys[part]
        found = mixed(keys.view(np.uint64), np.zeros(len(keys), dtype=np.uint64))
        is_text = sorts == _TEXT
        numbers, places = np.unique(keys[is_text], return_inverse=True)
        found[is_text] = np.array([self._hashes[number] for number in numbers.tolist()], dtype=np.uint64)[places]
        found[sorts == _NULL] = 0
        return found

    @property
    def rows_without(self) -> int:
        """How many rows so far have no unit."""
        return sum(int(np.count_nonzero(sorts == _NULL)) for sorts in self._sorts)

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
        numbers = [self._number(text) for text in distinct.to_list()]
        return texts.replace_strict(distinct, pl.Series(numbers, dtype=pl.Int64)).to_numpy()

    def _number(self, text: str) -> int:
        number = self._texts.setdefault(text, len(self._texts))
        if number == len(self._hashes):
            self._hashes.append(int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big"))
        return number
