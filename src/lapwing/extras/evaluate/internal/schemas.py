"""Draft a schema from a table, and count without noise how well tables fit their schema.

Files but Parquet and Arrow have no types of columns, so each gets the narrowest one that all its cells can be read as.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from lapwing.errors import DataError, SchemaError
from lapwing.extras.evaluate.internal.tallies import CHUNK_ROWS, Tally, tally_cells
from lapwing.extras.evaluate.internal.untyped import draft_of, drafted_files, guessed
from lapwing.extras.evaluate.internal.written import ColumnGuess, cure, marker_cure
from lapwing.extras.evaluate.metrics.declared import DeclaredFit, compare_declared
from lapwing.extras.evaluate.metrics.metric import REAL
from lapwing.release.marked import Internal
from lapwing.rows.cells import (
    DAY_MICROSECONDS,
    RawColumn,
    Texts,
    Times,
    missing_cells,
    read_reals,
    read_times,
)
from lapwing.rows.codec import encoder
from lapwing.rows.entry import private_boundary, source_of
from lapwing.rows.guard import run_guarded
from lapwing.rows.layouts import field_type
from lapwing.rows.linked import code_linked
from lapwing.rows.source import all_codes, coded_table
from lapwing.rows.spelling import plain_cells
from lapwing.rows.units import UnitNumbers
from lapwing.schema.changes import open_keys
from lapwing.schema.fields import Field, FieldType, PrivacyUnit
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.schema.values import any_value

T = TypeVar("T")


def _columns(look: Callable[[], T]) -> T:
    return run_guarded("the columns of the table cannot be read", look)


@private_boundary
def draft_schema(data: object) -> Internal[Schema]:
    """Return a draft of a schema without domains: names and types of columns, and how a text file is written."""
    return Internal(drafted_schema(data)[0])


def drafted_schema(data: object) -> tuple[Schema, dict[str, Tally] | None]:
    """Return a draft, and how often each cell occurs if the types were guessed from cells; None where they are told."""
    source = source_of(data)
    if source.is_typed:
        types = _columns(lambda: nw.from_native(source.typed).collect_schema())
        kinds = ((name, _field_type(name, dtype)) for name, dtype in types.items())
        return draft_of(tuple(Field(name=name, type=kind, provenance="drafted") for name, kind in kinds)), None
    if source.files:
        return drafted_files(source)
    rows = source.table  # SQLite's columns have no types either
    found = tally_cells(lambda names: [{name: Texts(rows[name]) for name in names}], rows.columns)
    return guessed(found), found


def _field_type(name: str, dtype: nw.dtypes.DType) -> FieldType:
    """Return the schema's type for a column's type."""
    kind = field_type(dtype)
    if kind is not None:
        return kind
    raise DataError(
        f"column {quote(name)} is of type {dtype}, which no field can hold; convert or drop it first", code="LW107"
    )


def draft_of_types(frame: object) -> Schema:
    """Return a draft of a frame's names and types, of which no cell is looked at."""
    source = source_of(frame)
    if source.form not in ("frame", "stream"):
        raise DataError("from_frame_types takes a frame; for files and queries there is Schema.draft", code="LW108")
    # Without rows: narwhals would look at objects to tell what they are.
    empty = _columns(lambda: nw.from_native(source.typed).head(0))
    # Of other libraries an ordered list is one of texts that occur, and not a declared one.
    is_declared = empty.implementation.is_polars()
    fields = []
    for name, dtype in _columns(empty.collect_schema).items():
        listed = tuple(dtype.categories) if is_declared and isinstance(dtype, nw.Enum) else None
        missing = () if listed is not None and "" in listed else ("",)
        settings: Any = {"categories": listed, "missing_values": missing}
        if listed is not None:  # it may have been made of the cells: its owner has to say that it is public
            settings["provenance"] = "drafted"
        fields.append(Field(name=name, type=_field_type(name, dtype), **settings))
    if not fields:
        raise DataError("the table has no column; give a table with at least one", code="LW110")
    return Schema(fields=tuple(fields), is_draft=any(map(open_keys, fields)))


_COUNTS = ("cells", "missing", "clamped", "special", "misfit", "folded", "unlisted")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldFit:
    """Count the cells of one column by how they fit their field.

    Missing: empty cells, NaN, and the schema's texts for it. Clamped: beyond the bounds; a release takes the nearest
    bound. Misfits: unknown categories, text that is no number or date, infinities; a release takes them as missing,
    where that is allowed. Folded: texts that are not listed and count under their longest listed prefix. Unlisted:
    other such texts, which count under the category that the schema names. Cure: what to write in the schema so that
    the misfits can be read, if it can be told; it quotes no cell but usual markers for missing.
    """

    name: str
    cells: int
    missing: int
    clamped: int
    special: int
    misfit: int
    folded: int = 0
    unlisted: int = 0
    cure: str = ""

    @property
    def share(self) -> float:
        """The share of misfits among the cells that are not missing; 0 where there are none."""
        return self.misfit / max(1, self.cells - self.missing)


@private_boundary
def check_table(data: object, schema: Schema) -> Internal[tuple[FieldFit, ...]]:
    """Count, for every modelled field, the cells that do not fit it; any value of its type fits what a draft leaves."""
    fields = [any_value(field) if field.blank else field for field in schema.columns]
    names = [field.name for field in fields]
    encoders = [[encoder(each) for each in _stages(field)] for field in fields]
    guesses = [ColumnGuess() for _ in fields]
    counts = np.zeros((len(names), len(_COUNTS)), dtype=np.int64)
    for chunk in source_of(data).open(schema).chunks(names, CHUNK_ROWS):
        for row, (field, stages) in enumerate(zip(fields, encoders, strict=True)):
            cells = chunk[field.name]
            codes = [encode(cells) for encode in stages]
            counts[row] += _counts(cells, field, codes)
            if isinstance(cells, Texts):
                is_misfit = (codes[-1] == field.domain.last) & ~_is_missing(cells, field)
                guesses[row].add(Texts(cells.values.filter(pl.Series(is_misfit))))
    return Internal(
        tuple(
            FieldFit(name=field.name, cure=_cure(field, guess), **dict(zip(_COUNTS, found, strict=True)))
            for field, guess, found in zip(fields, guesses, counts.tolist(), strict=True)
        )
    )


def _cure(field: Field, guess: ColumnGuess) -> str:
    """Return what to write in the schema so that misfits can be read."""
    reading = "" if field.is_categorical else cure(field, guess)
    return "; ".join(filter(None, (reading, marker_cure(guess.markers))))


def _stages(field: Field) -> list[Field]:
    """Return a field, and before it the same with fewer rules for texts that are not listed, if it has any."""
    if not field.folds and field.unlisted is None:
        return [field]
    folding = replace(field, unlisted=None)
    return [replace(folding, hierarchy=None), folding, field]


def _counts(cells: RawColumn, field: Field, stages: list[np.ndarray]) -> tuple[int, ...]:
    """Return the counts of one chunk, in the order of `_COUNTS`, from the codes under each stage of the field."""
    codes = stages[-1]
    is_last = codes == field.domain.last
    missing = int(np.count_nonzero(is_last & _is_missing(cells, field)))
    clamped = 0
    if not (field.is_categorical or field.open):
        is_outside = _is_outside(plain_cells(cells, field), field)
        clamped = int(np.count_nonzero((codes < field.domain.values) & is_outside))
    special = int(np.count_nonzero((codes >= field.domain.values) & ~is_last))
    left = [int(np.count_nonzero(each == field.domain.last)) for each in stages]
    folded, unlisted = (left[0] - left[1], left[1] - left[2]) if len(stages) > 1 else (0, 0)
    return len(codes), missing, clamped, special, left[-1] - missing, folded, unlisted


def _is_missing(cells: RawColumn, field: Field) -> np.ndarray:
    """Return where cells are empty, NaN, or a text that the schema calls missing."""
    if isinstance(cells, Texts):
        texts = pl.Series(["", *field.missing_values], dtype=pl.String)
        return np.asarray(cells.values.is_in(texts).fill_null(value=True).to_numpy())
    return missing_cells(cells)


def _is_outside(cells: RawColumn, field: Field) -> np.ndarray:
    """Return where numbers and dates lie outside the bounds; false where a cell is neither."""
    low, high = field.range.lo, field.range.top
    unit = DAY_MICROSECONDS if field.type == "date" else 1
    if isinstance(cells, Texts) and field.type in ("date", "datetime"):
        is_date = field.type == "date"
        moments, is_time = read_times(cells.clock if is_date else cells.values, by_clock=is_date)
        numbers = moments // unit
        return is_time & ((numbers < low) | (numbers > high))
    if isinstance(cells, Texts):
        numbers = read_reals(cells.values)
    elif isinstance(cells, Times):
        numbers = (cells.clock if field.type == "date" else cells.values) // unit
    else:
        numbers = cells.values
    return np.asarray((numbers < low) | (numbers > high))


@private_boundary
def check_declared(data: object, schema: Schema) -> Internal[DeclaredFit | None]:
    """Count the rows that break each rule of a schema, and compare them with its public tables; None without any.

    >>> import polars as pl
    >>> fields = [{"name": "child", "type": "boolean"}, {"name": "works", "type": "boolean"}]
    >>> schema = Schema.from_dict({"fields": fields, "rules": [{"never": {"child": True, "works": True}}]})
    >>> found = check_declared(pl.DataFrame({"child": [True, True], "works": [True, False]}), schema).value
    >>> found.rules[0].broken["real"]
    1
    """
    if not schema.rules and not schema.public_tables:
        return Internal(None)
    with coded_table(data, replace(schema, privacy_unit=None)) as source:
        return Internal(compare_declared({REAL: all_codes(source, schema)}, schema))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFit:
    """Say how the rows of a table spread over its privacy units, and how many rows each ``maxRows`` would keep.

    The rows without identifier are one unit, together.
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
    for chunk in source_of(data).open(schema).chunks([unit.field], CHUNK_ROWS):
        numbers.add(chunk[unit.field])
    sizes = np.bincount(numbers.numbers())
    largest = int(sizes.max(initial=0))
    usual = [digit * 10**power for power in range(19) for digit in (1, 2, 3, 5)]
    shown = sorted({unit.max_rows, *usual[: bisect_left(usual, largest) + 1]})  # up to the first that keeps all rows
    return Internal(
        UnitFit(
            field=unit.field,
            max_rows=unit.max_rows,
            rows=int(sizes.sum()),
            units=len(sizes),
            rows_without=int(np.count_nonzero(numbers.is_none)),
            largest=largest,
            kept=tuple((limit, int(np.minimum(sizes, limit).sum())) for limit in shown),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedFit:
    """Say how all rows of one linked table fit its fields, and what the rows that a release uses break.

    units: how many rows the keys of its parent have, and what each ``maxRows`` would keep; None for the first table;
    used: how many rows a release uses.
    """

    fields: tuple[FieldFit, ...]
    units: UnitFit | None
    used: int
    declared: DeclaredFit | None


@private_boundary
def check_linked(tables: Mapping[str, object], schema: LinkedTables) -> Internal[dict[str, LinkedFit]]:
    """Count what of each linked table does not fit its schema or breaks its rules."""
    coded = code_linked(tables, schema)
    found = {}
    for name in schema.given:
        table, own = schema.table(name), schema.as_written(name)
        units = None
        if table.link is not None:
            of_parent = replace(own, privacy_unit=PrivacyUnit(table.link, table.max_rows))
            units = check_units(tables[name], of_parent).value
        source, by_row = coded[name].source, schema.coded[name]
        found[name] = LinkedFit(
            fields=check_table(tables[name], own).value if table.own else (),
            units=units,
            used=source.rows,
            declared=compare_declared({REAL: all_codes(source, by_row)}, by_row),
        )
    return Internal(found)
