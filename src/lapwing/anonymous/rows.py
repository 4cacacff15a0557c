"""The rows of a private table as codes, each with its privacy unit."""

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from lapwing.schema.schemas import Schema
from lapwing.table.codec import encoder
from lapwing.table.frames import unreadable
from lapwing.table.guard import guarded
from lapwing.table.readers import Kind, open_table
from lapwing.table.truncation import kept_rows, mixed, row_hashes
from lapwing.table.units import UnitNumbers

Codes = dict[str, np.ndarray]

_CHUNK_ROWS: Final = 2**16


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnitRows:
    """Hold the rows that are kept of every privacy unit. Private.

    Parameters
    ----------
    codes : dict of str to ndarray of integers, shape (n,)
        Codes of every modelled column.
    units : ndarray of int64, shape (n,)
        The unit of every row, from 0 up without gaps.
    count : int
        Number of units.
    kind : str
        What the user's table is; rows out come back in the same kind.
    """

    codes: Codes
    units: np.ndarray
    count: int
    kind: Kind

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.units)

    @property
    def per_unit(self) -> np.ndarray:
        """Rows of each unit: ndarray of int64, shape (units,)."""
        return np.bincount(self.units, minlength=self.count)


def read_rows(data: object, schema: Schema) -> UnitRows:
    """Read a table into memory as codes, and keep at most ``schema.max_rows`` rows of each privacy unit.

    Parameters
    ----------
    data : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table
        The private rows.
    schema : Schema
        Without a privacy unit every row is a unit.

    Returns
    -------
    UnitRows
        1 to 8 bytes a cell. The rows that are kept are those of `lapwing.table.source.code_table`.

    Raises
    ------
    DataError
        If the table cannot be read or lacks a column.
    """
    reader = open_table(data, schema)
    names = [field.name for field in schema.columns]
    unit = schema.privacy_unit
    numbers = None if unit is None else UnitNumbers(schema.field(unit.field))
    wanted = list(dict.fromkeys(names if numbers is None else [*names, numbers.column]))
    encoders = {field.name: encoder(field) for field in schema.columns}
    parts = [{field.name: np.empty(0, dtype=field.domain.dtype) for field in schema.columns}]
    hashes = [np.empty(0, dtype=np.uint64)]
    for cells in reader.chunks(wanted, _CHUNK_ROWS):
        parts.append({name: guarded(unreadable(name), partial(encoders[name], cells[name])) for name in names})
        if numbers is not None:
            guarded(unreadable(numbers.column), partial(numbers.add, cells[numbers.column]))
            hashes.append(mixed(row_hashes(parts[-1], names), numbers.hashes(-1)))
    codes = {name: np.concatenate([part[name] for part in parts]) for name in names}
    if numbers is None:
        rows = len(codes[names[0]])
        return UnitRows(codes, np.arange(rows), rows, reader.kind)
    units = numbers.numbers()
    kept = kept_rows(units, np.concatenate(hashes), schema.max_rows, lambda: [codes], names)
    return UnitRows(
        {name: column[kept] for name, column in codes.items()}, units[kept], int(units.max(initial=-1)) + 1, reader.kind
    )
