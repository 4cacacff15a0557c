"""What workers of an engine do with their part of a table, and how their counts become those of the whole table.

All of it is integers and sums of integers: neither the order of rows nor the cut into parts can change a count.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from lapwing.errors import DataError
from lapwing.rows.cells import RawColumn
from lapwing.rows.codec import encoder, read_columns
from lapwing.rows.counting import Codes, Table, count_tables, height
from lapwing.rows.frames import on_column
from lapwing.rows.guard import run_guarded
from lapwing.rows.spelling import dialect_speller
from lapwing.rows.units import UnitNumbers, mix_hash, of_smallest, places, row_hashes
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

STOPPED: Final = "a worker stopped in the middle of its rows"
"""What is said where a step of ours fails unforeseen; an engine would print what Python says of it, and the rows."""

_PART_CELLS: Final = 2**22
_MOST_ROWS: Final = 2**16
_LEAST_ROWS: Final = 2**12


def installed_versions() -> str:
    """Return what must be the same on every worker: our code, and the libraries that read cells for us."""
    from lapwing.version import code_fingerprint  # noqa: PLC0415 - asked for on workers, not on import

    return f"{code_fingerprint()} {np.__version__} {pl.__version__}"


def check_installed(expected: str) -> None:
    """Refuse to work for a process that runs other code."""
    if installed_versions() != expected:
        raise DataError(
            "a worker runs another version of Lapwing, Polars or NumPy than this process; install the same on all",
            code="LW703",
        )


def fault_text(error: DataError) -> str:
    """Return an error of a worker as a text that passes through tables.

    >>> fault_text(fault_of("LW703 a worker runs another version"))
    'LW703 a worker runs another version'
    """
    return f"{error.code} {error}"


def fault_of(text: str) -> DataError:
    """Return the error that `fault_text` wrote."""
    code, sentence = text.split(" ", 1)
    return DataError(sentence, code=code)


def refuse_texts_by_unit(schema: Schema) -> None:
    """Refuse to learn lists of texts of a table whose rows are cut on workers."""
    opened = [field.name for field in schema.columns if field.open and field.type == "string"]
    if schema.privacy_unit is not None and opened:
        raise DataError(
            f"column {quote(opened[0])}: texts of a table with a privacy unit cannot be learned on Spark; "
            "write the table to Parquet and give the path, or list the categories in the schema",
            code="LW704",
        )


class RowCoder:
    """Turns cells into codes under a schema, on a worker."""

    __slots__ = ("_encoders", "_unit", "columns", "read", "spell")

    def __init__(self, schema: Schema) -> None:
        self.spell = dialect_speller(schema)
        self._encoders = {field.name: encoder(field, apart=True) for field in schema.columns}
        unit = schema.privacy_unit
        self._unit = None if unit is None else schema.field(unit.field)
        self.columns = tuple(self._encoders)
        self.read = read_columns(schema)

    def codes(self, cells: Mapping[str, RawColumn]) -> Codes:
        """Return the codes of a chunk of rows."""
        return {name: on_column(name, encode, cells[name]) for name, encode in self._encoders.items()}

    def unit_rows(self, cells: Mapping[str, RawColumn]) -> "UnitRows":
        """Return the codes and the unit of each row of a chunk; needs a privacy unit."""
        assert self._unit is not None
        numbers = UnitNumbers(self._unit)
        on_column(numbers.column, numbers.add, cells[numbers.column])
        codes = self.codes(cells)
        return UnitRows(numbers.names(), mix_hash(row_hashes(codes, self.columns), numbers.hashes(-1)), codes)


def part_rows(columns: int) -> int:
    """Return how many rows of so many columns a worker takes at a time."""
    return min(_MOST_ROWS, max(_LEAST_ROWS, _PART_CELLS // max(columns, 1)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnitRows:
    """Coded rows, the unit of each as `lapwing.rows.units.UnitNumbers.names`, and the public hash of both."""

    units: pl.Series
    hashes: np.ndarray
    codes: Codes

    def taken(self, rows: np.ndarray) -> "UnitRows":
        """Return the rows where a mask is true."""
        if rows.all():
            return self
        codes = {name: each[rows] for name, each in self.codes.items()}
        return UnitRows(self.units.filter(pl.Series(rows)), self.hashes[rows], codes)

    @property
    def numbers(self) -> np.ndarray:
        """The unit of each row as a number from 0 up: ndarray of int64, shape (n,)."""
        numbers: np.ndarray = self.units.rank("dense").to_numpy().astype(np.int64) - 1
        return numbers

    @property
    def count(self) -> int:
        """How many units there are."""
        return self.units.n_unique()


def joined(parts: Sequence[UnitRows]) -> UnitRows:
    """Return rows of several parts, at least one, as one."""
    codes = {name: np.concatenate([part.codes[name] for part in parts]) for name in parts[0].codes}
    return UnitRows(pl.concat([part.units for part in parts]), np.concatenate([part.hashes for part in parts]), codes)


def cut_sorted(parts: Iterable[UnitRows], max_rows: int) -> Iterator[UnitRows]:
    """Yield the rows that are kept of parts in order of unit, hash and codes; a unit may begin in one and end later."""
    open_unit: UnitRows | None = None
    for part in _ranked(parts):
        rows = part if open_unit is None else joined((open_unit, part))
        rows = rows.taken(of_smallest(rows.numbers, rows.hashes, max_rows))
        is_last = (rows.units == rows.units[-1]).to_numpy()
        yield rows.taken(~is_last)
        open_unit = rows.taken(is_last)
    if open_unit is not None:
        yield open_unit


def _ranked(parts: Iterable[UnitRows]) -> Iterator[UnitRows]:
    """Yield sorted parts with the hashes by which rows stay: how many equal rows stand before is mixed in."""
    last: tuple[str, int] | None = None
    height = 0  # of the run that ends the part before
    for part in parts:
        if not len(part.units):
            continue
        is_first = np.ones(len(part.units), dtype=bool)
        is_first[1:] = (part.units[1:] != part.units[:-1]).to_numpy() | (part.hashes[1:] != part.hashes[:-1])
        place = places(is_first)
        if last == (part.units[0], int(part.hashes[0])):
            place[np.cumsum(is_first) == 1] += height
        last, height = (part.units[-1], int(part.hashes[-1])), int(place[-1]) + 1
        yield UnitRows(part.units, mix_hash(part.hashes, place.astype(np.uint64)), part.codes)


def record_type(schema: Schema) -> np.dtype:
    """Return the type of one row of codes in bytes: the codes of the columns in order, without gaps."""
    return np.dtype([(str(place), field.domain.dtype) for place, field in enumerate(schema.columns)])


def pack_rows(codes: Codes, record: np.dtype) -> np.ndarray:
    """Return rows of codes as records of `record_type`: ndarray, shape (n,)."""
    rows = np.empty(height(codes), dtype=record)
    for place, each in enumerate(codes.values()):
        rows[str(place)] = each
    return rows


def unpack_rows(stored: bytes | memoryview, record: np.dtype, columns: Sequence[str]) -> Codes:
    """Return the codes that the bytes of packed rows hold, column by column."""
    rows = np.frombuffer(stored, dtype=record)
    return {name: np.ascontiguousarray(rows[str(place)]) for place, name in enumerate(columns)}


def cells_counted(chunks: Iterable[Codes], tables: Sequence[Table]) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of some rows that are not zero: numbers of cells, the first table's first, and counts."""
    counts = run_guarded(
        "a worker cannot count its rows", lambda: np.concatenate([np.zeros(0, np.int64), *count_tables(chunks, tables)])
    )
    cells = np.flatnonzero(counts)
    return cells, counts[cells]


def tables_of_cells(tables: Sequence[Table], parts: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """Return the contingency tables that parts of `cells_counted` sum to; a cell occurs at most once in a part."""
    sizes = [int(np.prod([grouping.groups for _, grouping in table], dtype=np.int64)) for table in tables]
    every = np.zeros(sum(sizes), dtype=np.int64)
    for cells, counts in parts:
        every[cells] += counts
    # Copies, so that a table that is kept does not keep the others.
    return [each.copy() for each in np.split(every, np.cumsum(sizes)[:-1])] if tables else []
