"""How many rows the privacy units of a table own, counted without noise."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lapwing.errors import SchemaError
from lapwing.internal.misfits import FieldFit, check_table
from lapwing.judge.declared import Declared, compare_declared
from lapwing.judge.metrics import REAL, Internal
from lapwing.rows.files.readers import open_table
from lapwing.rows.guard import private_boundary
from lapwing.rows.linked import code_linked
from lapwing.rows.source import CodedSource
from lapwing.rows.units import UnitNumbers
from lapwing.schema.linked import LinkedSchema
from lapwing.schema.schemas import PrivacyUnit, Schema

_CHUNK_ROWS = 2**18


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFit:
    """Say how the rows of a table spread over its privacy units, and what each ``maxRows`` would keep.

    field: the field that names the unit of a row; max_rows: how many rows of one unit the schema uses; units: all
    units; the rows without identifier are one of them, together; kept: for some ``maxRows``, in increasing order, the
    schema's own among them: how many rows would be kept.
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


# -- How well two linked tables fit their schema, and what of their rows breaks rules of both, counted without noise.


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedFit:
    """Say how two linked tables fit their schema.

    parent, child: how the cells of all rows of a table fit its own fields; children: how many child rows the keys have,
    and what each ``maxChildren`` would keep; used: parent rows and child rows that a release uses; declared: of the
    rows used: what parents with their number of children break, and children with the columns of their parent.
    """

    parent: tuple[FieldFit, ...]
    child: tuple[FieldFit, ...]
    children: UnitFit
    used: tuple[int, int]
    declared: tuple[Declared | None, Declared | None]


@private_boundary
def check_linked(parent: object, child: object, schema: LinkedSchema) -> Internal[LinkedFit]:
    """Count what of two linked tables does not fit their schema or breaks its rules."""
    pair = code_linked(parent, child, schema)
    of_child = replace(schema.child, privacy_unit=PrivacyUnit(schema.key, schema.max_children))
    return Internal(
        LinkedFit(
            parent=check_table(parent, schema.parent).value,
            child=check_table(child, schema.child).value,
            children=check_units(child, of_child).value,
            used=(pair.parent.rows, pair.child.rows),
            declared=(_declared(pair.parent, schema.counted), _declared(pair.child, schema.joined)),
        )
    )


def _declared(source: CodedSource, schema: Schema) -> Declared | None:
    """Return what the rows of one part break."""
    chunks = [{field.name: np.empty(0, dtype=field.domain.dtype) for field in schema.columns}, *source.chunks()]
    codes = {field.name: np.concatenate([chunk[field.name] for chunk in chunks]) for field in schema.columns}
    return compare_declared({REAL: codes}, schema)
