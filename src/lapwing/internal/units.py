"""How many rows the privacy units of a table own, counted without noise."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lapwing.errors import SchemaError
from lapwing.evaluate.kinds import Internal
from lapwing.schema.schemas import Schema
from lapwing.table.guard import private_boundary
from lapwing.table.readers import open_table
from lapwing.table.units import UnitNumbers

_CHUNK_ROWS = 2**18


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFit:
    """Say how the rows of a table spread over its privacy units, and what each ``maxRows`` would keep.

    Parameters
    ----------
    field : str
        The field that names the unit of a row.
    max_rows : int
        How many rows of one unit the schema uses.
    rows : int
        All rows.
    units : int
        All units; the rows without identifier are one of them, together.
    rows_without : int
        Rows without identifier.
    largest : int
        Most rows of one unit.
    kept : tuple of (int, int)
        For some ``maxRows``, in increasing order, the schema's own among them: how many rows would be kept.
    """

    field: str
    max_rows: int
    rows: int
    units: int
    rows_without: int
    largest: int
    kept: tuple[tuple[int, int], ...]

    @property
    def mean(self) -> float:
        """Mean number of rows of a unit; 0 for an empty table."""
        return self.rows / self.units if self.units else 0.0

    @property
    def dropped_share(self) -> float:
        """The share of the rows that the schema's own ``maxRows`` drops, from 0 to below 1."""
        return 1 - dict(self.kept)[self.max_rows] / self.rows if self.rows else 0.0


@private_boundary
def check_units(data: object, schema: Schema) -> Internal[UnitFit]:
    """Count the rows of each privacy unit of a table.

    Parameters
    ----------
    data : path, list of paths, pandas, Polars or PyArrow table
        The private rows.
    schema : Schema
        With a privacy unit.

    Returns
    -------
    Internal of UnitFit

    Raises
    ------
    SchemaError
        If the schema has no privacy unit.
    DataError
        If the table cannot be read or lacks a column.

    Examples
    --------
    >>> fields = [{"name": "id", "type": "integer", "role": "identifier"}, {"name": "flag", "type": "boolean"}]
    >>> schema = Schema.from_dict({"fields": fields, "privacyUnit": {"field": "id", "maxRows": 2}})
    >>> import polars as pl
    >>> found = check_units(pl.DataFrame({"id": [1, 1, 1, 2], "flag": [True] * 4}), schema).value
    >>> found.units, found.largest, found.kept, found.dropped_share
    (2, 3, ((1, 2), (2, 3), (3, 4)), 0.25)
    """
    unit = schema.privacy_unit
    if unit is None:
        raise SchemaError(
            "the schema has no privacyUnit, so every row is a unit; name one to count its rows", code="LW217"
        )
    numbers = UnitNumbers(schema.field(unit.field))
    for chunk in open_table(data, schema).chunks([unit.field], _CHUNK_ROWS):
        numbers.add(chunk[unit.field])
    sizes = np.bincount(numbers.numbers())
    largest = int(sizes.max(initial=0))
    shown = sorted({unit.max_rows, *_usual_limits(largest)})
    return Internal(
        UnitFit(
            field=unit.field,
            max_rows=unit.max_rows,
            rows=int(sizes.sum()),
            units=len(sizes),
            rows_without=numbers.rows_without,
            largest=largest,
            kept=tuple((limit, int(np.minimum(sizes, limit).sum())) for limit in shown),
        )
    )


def _usual_limits(largest: int) -> Iterator[int]:
    """Yield 1, 2, 3, 5, 10, 20, 30, 50, 100 and so on, up to the first that keeps all rows."""
    power = 1
    while True:
        for digit in (1, 2, 3, 5):
            yield digit * power
            if digit * power >= largest:
                return
        power *= 10
