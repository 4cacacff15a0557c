"""The coded rows of a Dask frame: coded and counted by the workers, which send nothing but counts.

With a privacy unit Dask brings the rows of each unit together, as codes, once, and keeps those of rows that are kept.
Codes come to this process for questions that need every row alone, partition by partition.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import numpy as np
import polars as pl

from lapwing.errors import DataError
from lapwing.rows.cells import RawColumn
from lapwing.rows.codec import open_texts, without_misfits
from lapwing.rows.counting import Codes, KeyedColumn, Table, count_keys, height, keys_of_parts
from lapwing.rows.engines.distributed import (
    STOPPED,
    RowCoder,
    UnitRows,
    cells_counted,
    check_installed,
    fault_of,
    fault_text,
    installed,
    joined,
    packed,
    part_rows,
    read_columns,
    record_type,
    refuse_texts_by_unit,
    tables_of_cells,
    unpacked,
)
from lapwing.rows.engines.frames import on_column, pandas_held, pandas_reader
from lapwing.rows.guard import guarded
from lapwing.rows.kinds import Held
from lapwing.rows.threads import workers
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd


T = TypeVar("T")

_WHAT: Final = "the Dask frame cannot be computed; see that its sources are in place, and its workers have Lapwing"
_MERGED: Final = 8  # answers of partitions that one task sums


class DaskReader:
    """Read a Dask frame, some partitions at a time, in their order; every pass computes them anew."""

    def __init__(self, frame: "dd.DataFrame") -> None:
        self.frame = frame
        self.kind: Literal["dask"] = "dask"
        self.known_rows: int | None = None
        self.names: list[Any] = guarded(_WHAT, lambda: list(frame.columns))
        self._types = guarded(_WHAT, lambda: list(frame.dtypes))

    @property
    def held(self) -> dict[str, Held]:
        """What the type of each column says of its cells."""
        return {name: pandas_held(dtype) for name, dtype in zip(self.names, self._types, strict=True)}

    def selected(self, columns: Sequence[str]) -> Any:  # noqa: ANN401 - a Dask frame, which has half a type
        """Return the frame with some columns alone."""
        return guarded(_WHAT, lambda: self.frame[list(columns)])

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        for part in in_turn(partitions(self.selected(columns))):
            yield from pandas_reader(part).chunks(columns, rows)


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong on a worker: the code and the sentence of an error of ours."""

    sentence: str


def partitions(frame: Any) -> list[Any]:  # noqa: ANN401 - a Dask frame, which has half a type
    """Return the partitions of a frame as values that Dask has yet to compute."""
    return guarded(_WHAT, lambda: list(frame.to_delayed()))


def worked(step: Callable[..., T], parts: Sequence[Any], *told: object) -> list[Any]:
    """Return ``step(part, *told)`` of each part, as values yet to be computed; an error of ours becomes a `Fault`."""
    # Random names: Dask would name the arguments by what they hold, and look them through for tasks.
    sent = _dask().delayed((installed(), *told), name=f"lapwing-{uuid.uuid4()}", traverse=False)
    task = _dask().delayed(on_worker, pure=False, traverse=False)
    return [task(step, part, sent) for part in parts]


def merged(step: Callable[..., T], parts: Sequence[Any], *told: object) -> T:
    """Compute ``step([part, part, ...], *told)`` of all parts, some at a time, as a tree, and return it."""
    gather = _dask().delayed(_gathered, pure=False)
    while True:
        bundles = [gather(list(parts[start : start + _MERGED])) for start in range(0, len(parts), _MERGED)]
        parts = worked(step, bundles, *told)
        if len(parts) == 1:
            found: T = computed(parts)[0]
            return found


def computed(parts: Sequence[Any]) -> list[Any]:
    """Have Dask compute some values at once, with the scheduler that the user has set."""
    values = guarded(_WHAT, lambda: list(_dask().compute(*parts)))
    faults = sorted(value.sentence for value in values if isinstance(value, Fault))
    if faults:
        raise fault_of(faults[0])
    return values


def in_turn(parts: list[Any]) -> Iterator[Any]:
    """Yield some values in their order, and empty the list; few of them are in this process at a time."""
    while parts:
        found = computed(parts[: workers()])
        del parts[: workers()]
        while found:
            yield found.pop(0)


def held(parts: Sequence[Any]) -> list[Any]:
    """Have the workers compute some values and keep them until they are asked for and dropped."""
    return guarded(_WHAT, lambda: list(_dask().persist(*parts)))


def _dask() -> Any:  # noqa: ANN401 - a module, of which half has types
    import dask  # noqa: PLC0415 - the user's own

    return dask


# -------------------------------------------------------------------------------------------------------- on workers


def on_worker(step: Callable[..., T], part: Any, sent: tuple[Any, ...]) -> T | Fault:  # noqa: ANN401 - a partition
    """Run a step on one part; return what went wrong instead of raising it."""
    if isinstance(part, Fault):
        return part
    expected, *told = sent
    try:
        check_installed(expected)
        return guarded(STOPPED, lambda: step(part, *told))
    except DataError as error:
        fault = Fault(fault_text(error))
    return fault


def _gathered(parts: list[Any]) -> list[Any] | Fault:
    return next((part for part in parts if isinstance(part, Fault)), parts)


_UNIT: Final = "unit"
_HASH: Final = "hash"
_FAULT: Final = "!"  # before a sentence in place of a unit, whose names begin with other letters
_CHUNK_ROWS: Final = 2**18

Part = tuple[np.ndarray, np.ndarray]


class DaskSource:
    """Rows of a Dask frame as codes, where they are; with `chunk_rows` Dask keeps none of the codes."""

    unmet = 0  # it is a table by itself

    def __init__(self, reader: DaskReader, schema: Schema, chunk_rows: int | None = None) -> None:
        refuse_texts_by_unit(schema, "Dask")
        self._reader = reader
        self._schema = schema
        self._is_held = chunk_rows is None
        self._rows = chunk_rows or part_rows(len(read_columns(schema)))
        self.columns = tuple(field.name for field in schema.columns)
        cells: Any = reader.selected(read_columns(schema))
        if schema.privacy_unit is not None:
            cells = _by_unit(cells, schema, self._rows)
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

    def chunks(self, *, apart: bool = False) -> Iterator[Codes]:
        """Yield the codes of all rows, which leave the workers."""
        return self._apart() if apart else without_misfits(self._apart(), self._schema.columns)

    def _apart(self) -> Iterator[Codes]:
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
            yield on_column(column, lambda found: open_texts(found, field), cells[column])


def _by_unit(cells: Any, schema: Schema, rows: int) -> Any:  # noqa: ANN401 - a Dask frame, which has half a type
    """Return codes, with all rows of a unit in one partition."""
    settings = {"meta": _coded_frame(schema), "align_dataframes": False, "enforce_metadata": False}
    return guarded(
        "Dask cannot bring the rows of each privacy unit together",
        lambda: cells.map_partitions(coded_by_unit, schema, rows, **settings).shuffle(on=_UNIT),
    )


# -------------------------------------------------------------------------------------------------------- on workers


def coded_by_unit(part: "pd.DataFrame", schema: Schema, rows: int) -> "pd.DataFrame":
    """Return the codes and the unit of each row of a partition."""
    try:
        coder = RowCoder(schema)
        read = coder.read
        return guarded(
            STOPPED, lambda: _coded_frame(schema, *map(coder.unit_rows, pandas_reader(part).chunks(read, rows)))
        )
    except DataError as error:
        fault = f"{_FAULT}{fault_text(error)}"
    nothing = {field.name: np.zeros(1, field.domain.dtype) for field in schema.columns}
    return _coded_frame(schema, UnitRows(pl.Series([fault]), np.zeros(1, np.uint64), nothing))


def _coded_frame(schema: Schema, *parts: UnitRows) -> "pd.DataFrame":
    """Return coded rows as a frame with columns for the unit and the hash, and one for each field, by its number."""
    import pandas as pd  # noqa: PLC0415 - comes with Dask

    none = {field.name: np.empty(0, field.domain.dtype) for field in schema.columns}
    rows = joined((UnitRows(pl.Series([], dtype=pl.String), np.empty(0, np.uint64), none), *parts))
    units = pd.Series(rows.units.to_list(), dtype=object)
    codes = {str(at): each for at, each in enumerate(rows.codes.values())}
    return pd.DataFrame({_UNIT: units, _HASH: rows.hashes, **codes})


def _codes(part: Any, schema: Schema, rows: int) -> Iterator[Codes]:  # noqa: ANN401 - a pandas frame, or of `cut`
    """Return the codes of the rows of a partition that are kept."""
    if schema.privacy_unit is not None:
        return iter([part[0]])
    coder = RowCoder(schema)
    return map(coder.codes, pandas_reader(part).chunks(coder.read, rows))


def cut(part: "pd.DataFrame", schema: Schema) -> tuple[Codes, int]:
    """Return the codes of the rows that are kept of whole units, and how many units there are."""
    units = pl.Series(part[_UNIT].to_list(), dtype=pl.String)
    fault = units.filter(units.str.starts_with(_FAULT))
    if len(fault):
        raise fault_of(fault[0].removeprefix(_FAULT))
    codes = {
        field.name: part[str(at)].to_numpy().astype(field.domain.dtype, copy=False)
        for at, field in enumerate(schema.columns)
    }
    kept = UnitRows(units, part[_HASH].to_numpy().astype(np.uint64, copy=False), codes).cut(schema.max_rows)
    return kept.codes, kept.count


def sized(part: Any, schema: Schema) -> tuple[int, int]:  # noqa: ANN401 - a pandas frame, or of `cut`
    """Return how many rows of a partition are kept, and of how many units."""
    if schema.privacy_unit is None:
        return len(part), len(part)
    codes, units = part
    return height(codes), units


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
