"""The coded rows of a Dask frame: coded and counted by the workers, which send nothing but counts.

With a privacy unit Dask brings the rows of each unit together, as codes, once, and keeps those of the rows that are
kept as it keeps any persisted value. Only questions that need every row have codes sent to this process, partition by
partition.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from lapwing.errors import DataError
from lapwing.schema.schemas import Schema
from lapwing.table.counting import Codes, KeyedColumn, Table, count_keys
from lapwing.table.dask_frames import DaskReader, held, in_turn, merged, part_cells, partitions, worked
from lapwing.table.distributed import (
    STOPPED,
    RowCoder,
    UnitRows,
    cells_counted,
    fault_of,
    fault_text,
    joined,
    keys_of_parts,
    packed,
    part_rows,
    read_columns,
    record_type,
    refuse_texts_by_unit,
    tables_of_cells,
    unpacked,
)
from lapwing.table.frames import unreadable
from lapwing.table.guard import guarded
from lapwing.table.open_cells import open_texts

if TYPE_CHECKING:
    import pandas as pd

_UNIT: Final = "unit"
_HASH: Final = "hash"
_FAULT: Final = "!"  # before a sentence in place of a unit, whose names begin with other letters
_CANNOT_GATHER: Final = "Dask cannot bring the rows of each privacy unit together"
_CHUNK_ROWS: Final = 2**18

Part = tuple[np.ndarray, np.ndarray]


class DaskSource:
    """Rows of a Dask frame as codes, where they are; see `lapwing.table.coded_source.CodedSource`.

    Parameters
    ----------
    reader : DaskReader
    schema : Schema
    chunk_rows : int, at least 1, optional
        Code so many rows at a time, and have Dask keep none of the codes.

    Raises
    ------
    DataError
        If lists of texts are to be learned with a privacy unit.
    """

    def __init__(self, reader: DaskReader, schema: Schema, chunk_rows: int | None = None) -> None:
        refuse_texts_by_unit(schema, "Dask")
        self._reader = reader
        self._schema = schema
        self._is_held = chunk_rows is None
        self._rows = chunk_rows or part_rows(len(read_columns(schema)))
        self.columns = tuple(field.name for field in schema.columns)
        cells: Any = reader.selected(read_columns(schema))
        if schema.privacy_unit is not None:
            cells = _gathered(cells, schema, self._rows)
        self._parts = partitions(cells)
        if schema.privacy_unit is not None:
            self._parts = worked(cut, self._parts, schema)
            if self._is_held:
                self._parts = held(self._parts)  # by Dask, until this source is forgotten

    @property
    def rows(self) -> int:
        """Number of rows after truncation."""
        return self._sizes[0]

    @property
    def units(self) -> int:
        """Number of privacy units."""
        return self._sizes[1]

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        return merged(summed, worked(sized, self._parts, self._schema))

    def chunks(self) -> Iterator[Codes]:
        """Yield the codes of all rows, which leave the workers."""
        parts = worked(coded, self._parts, self._schema, self._rows)
        if self._schema.privacy_unit is not None and not self._is_held:
            parts = held(parts)  # so that rows are brought together once, not for each partition
        record = record_type(self._schema)
        for part in in_turn(parts):
            for start in range(0, len(part), _CHUNK_ROWS):
                yield unpacked(part[start : start + _CHUNK_ROWS], record, self.columns)

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        """Return the contingency tables; counts alone leave the workers."""
        parts = worked(counted, self._parts, self._schema, self._rows, tuple(tables))
        return tables_of_cells(tables, [merged(cells_of_parts, parts)])

    def count_keys(self, columns: Sequence[KeyedColumn]) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct keys of the rows and their counts; these alone leave the workers."""
        parts = worked(keyed, self._parts, self._schema, self._rows, tuple(columns))
        return merged(keys_of_parts, parts, columns[0].keys.shape[1])

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of an opened string column, which leave the workers."""
        field = self._schema.field(column)
        for cells in self._reader.chunks((column,), part_rows(1)):
            yield guarded(unreadable(column), lambda cells=cells[column]: open_texts(cells, field))  # type: ignore[misc]


def _gathered(cells: Any, schema: Schema, rows: int) -> Any:  # noqa: ANN401 - a Dask frame, which has half a type
    """Return codes, with all rows of a unit in one partition."""
    by_unit = guarded(
        _CANNOT_GATHER,
        lambda: cells.map_partitions(
            coded_by_unit, schema, rows, meta=_coded_frame(schema), align_dataframes=False, enforce_metadata=False
        ),
    )
    return guarded(_CANNOT_GATHER, lambda: by_unit.shuffle(on=_UNIT))


# -------------------------------------------------------------------------------------------------------- on workers


def coded_by_unit(part: "pd.DataFrame", schema: Schema, rows: int) -> "pd.DataFrame":
    """Return the codes and the unit of each row of a partition."""
    try:
        return guarded(STOPPED, lambda: _coded_frame(schema, *_unit_rows(part, schema, rows)))
    except DataError as error:
        fault = f"{_FAULT}{fault_text(error)}"
    nothing = {field.name: np.zeros(1, field.domain.dtype) for field in schema.columns}
    return _coded_frame(schema, UnitRows(pl.Series([fault]), np.zeros(1, np.uint64), nothing))


def _unit_rows(part: "pd.DataFrame", schema: Schema, rows: int) -> list[UnitRows]:
    coder = RowCoder(schema)
    return [coder.unit_rows(cells) for cells in part_cells(part, coder.read, rows)]


def _coded_frame(schema: Schema, *parts: UnitRows) -> "pd.DataFrame":
    """Return coded rows as a frame with columns for the unit and the hash, and one for each field, by its number."""
    import pandas as pd  # noqa: PLC0415 - comes with Dask

    none = {field.name: np.empty(0, field.domain.dtype) for field in schema.columns}
    rows = joined((UnitRows(pl.Series([], dtype=pl.String), np.empty(0, np.uint64), none), *parts))
    units = pd.Series(rows.units.to_list(), dtype=object)
    codes = {str(at): each for at, each in enumerate(rows.codes.values())}
    return pd.DataFrame({_UNIT: units, _HASH: rows.hashes, **codes})


def _codes(part: Any, schema: Schema, rows: int) -> Iterator[Codes]:  # noqa: ANN401 - a pandas frame, or of `cut`
    """Yield the codes of the rows of a partition that are kept."""
    if schema.privacy_unit is not None:
        yield part[0]
    else:
        coder = RowCoder(schema)
        yield from map(coder.codes, part_cells(part, coder.read, rows))


def cut(part: "pd.DataFrame", schema: Schema) -> tuple[Codes, int]:
    """Return the codes of the rows that are kept of whole units, and how many units there are."""
    kept = _cut(part, schema)
    return kept.codes, kept.count


def _cut(part: "pd.DataFrame", schema: Schema) -> UnitRows:
    units = pl.Series(part[_UNIT].to_list(), dtype=pl.String)
    fault = units.filter(units.str.starts_with(_FAULT))
    if len(fault):
        raise fault_of(fault[0].removeprefix(_FAULT))
    codes = {
        field.name: part[str(at)].to_numpy().astype(field.domain.dtype, copy=False)
        for at, field in enumerate(schema.columns)
    }
    return UnitRows(units, part[_HASH].to_numpy().astype(np.uint64, copy=False), codes).cut(schema.max_rows)


def sized(part: Any, schema: Schema) -> tuple[int, int]:  # noqa: ANN401 - a pandas frame, or of `cut`
    """Return how many rows of a partition are kept, and of how many units."""
    if schema.privacy_unit is None:
        return len(part), len(part)
    codes, units = part
    return len(next(iter(codes.values()))), units


def summed(parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the sums of what `sized` gives for parts."""
    return sum(rows for rows, _ in parts), sum(units for _, units in parts)


def coded(part: Any, schema: Schema, rows: int) -> np.ndarray:  # noqa: ANN401 - as of `_codes`
    """Return the codes of a partition as records."""
    record = record_type(schema)
    return np.concatenate([np.empty(0, record), *(packed(codes, record) for codes in _codes(part, schema, rows))])


def counted(part: Any, schema: Schema, rows: int, tables: Sequence[Table]) -> Part:  # noqa: ANN401
    """Return the cells of contingency tables that are not empty, and their counts."""
    return cells_counted(_codes(part, schema, rows), tables)


def cells_of_parts(parts: Iterable[Part]) -> Part:
    """Return the cells that occur in parts, and the sums of their counts."""
    together = list(parts)
    cells, place = np.unique(np.concatenate([each for each, _ in together]), return_inverse=True)
    counts = np.zeros(len(cells), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([each for _, each in together]))
    return cells, counts


def keyed(part: Any, schema: Schema, rows: int, columns: Sequence[KeyedColumn]) -> Any:  # noqa: ANN401
    """Return the distinct keys of a partition, and how many rows have each."""
    return guarded("a worker cannot count its rows", lambda: count_keys(_codes(part, schema, rows), columns))
