"""What every source of coded rows offers, and codes that are kept in memory.

Everything here is private. Only the audited room may ask for counts.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import numpy as np
import polars as pl

from lapwing.rows.counting import Codes, KeyedColumn, Table

PACKED: Final = np.dtype(np.uint32)
"""The type of wide codes in memory, where all of a chunk fit."""


class CodedSource(Protocol):
    """Rows of a private table as codes, after truncation to the privacy unit's rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The modelled columns, in the schema's order."""
        ...

    @property
    def rows(self) -> int:
        """Number of rows after truncation. Private."""
        ...

    @property
    def units(self) -> int:
        """Number of privacy units. Private."""
        ...

    def chunks(self) -> Iterator[Codes]:
        """Yield the codes of all rows, chunk by chunk, each in the dtype of its domain."""
        ...

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        """Return the contingency tables, all counted in one pass.

        tables: the tables; callers see to it that they fit in memory. Returns list of int64 (cells,), in C order over
        the groups of the columns; for the table () the one number of rows.
        """
        ...

    def count_keys(self, columns: Sequence[KeyedColumn]) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct keys of the rows and how many rows have each, as `lapwing.rows.counting.count_keys`."""
        ...

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of an opened string column, chunk by chunk, by another pass over the table.

        Returns the rows of `chunks` in the same order, cut into chunks in any way; null where a cell is missing or no
        text.
        """
        ...


class CodeCache:
    """Packed chunks of codes, up to a number of bytes."""

    __slots__ = ("_limit", "bytes", "parts")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.parts: list[Codes] = []
        self.bytes = 0

    def add(self, chunk: Codes) -> bool:
        """Keep a chunk; return False, and drop everything, once the cache is too large."""
        packed = {name: _packed(codes) for name, codes in chunk.items()}
        self.bytes += sum(codes.nbytes for codes in packed.values())
        if self.bytes > self._limit:
            self.parts = []
            return False
        self.parts.append(packed)
        return True


def _packed(codes: np.ndarray) -> np.ndarray:
    """Return wide codes in 32 bits where all of a chunk fit, as those of real numbers do where none is missing."""
    if codes.dtype == np.int64 and len(codes) and codes.max() <= np.iinfo(PACKED).max:
        return codes.astype(PACKED)
    return codes
