"""How well a table fits its schema, counted without noise."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from lapwing.judge.declared import Declared, compare_declared
from lapwing.judge.metrics import REAL, Internal
from lapwing.rows.codec.cells import Numbers, RawColumn, Texts, Times
from lapwing.rows.codec.codec import encoder
from lapwing.rows.codec.parsing import DAY_MICROSECONDS, read_reals, read_times
from lapwing.rows.files.readers import open_table
from lapwing.rows.guard import private_boundary
from lapwing.rows.source import coded_table
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

_CHUNK_ROWS = 2**18
_COUNTS = ("cells", "missing", "clamped", "special", "misfit", "folded", "unlisted")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldFit:
    """Count the cells of one column by how they fit their field.

    missing: empty cells, NaN, and the schema's texts for missing; clamped: numbers and dates outside the bounds; a
    release treats them as the nearest bound; misfit: unknown categories, text that is no number or date, infinities; a
    release treats them as missing, and as misfits where missing is not allowed; folded: texts that are not listed and
    count under their longest listed prefix; unlisted: other texts that are not listed and count under the category that
    the schema names for them.
    """

    name: str
    cells: int
    missing: int
    clamped: int
    special: int
    misfit: int
    folded: int = 0
    unlisted: int = 0


@private_boundary
def check_table(data: object, schema: Schema) -> Internal[tuple[FieldFit, ...]]:
    """Count, for every modelled field, the cells that do not fit it."""
    schema.check_complete()
    names = [field.name for field in schema.columns]
    encoders = [[encoder(each) for each in _stages(field)] for field in schema.columns]
    counts = np.zeros((len(names), len(_COUNTS)), dtype=np.int64)
    for chunk in open_table(data, schema).chunks(names, _CHUNK_ROWS):
        for row, (field, stages) in enumerate(zip(schema.columns, encoders, strict=True)):
            cells = chunk[field.name]
            counts[row] += _counts(cells, field, [encode(cells) for encode in stages])
    named = [dict(zip(_COUNTS, found, strict=True)) for found in counts.tolist()]
    return Internal(tuple(FieldFit(name=name, **found) for name, found in zip(names, named, strict=True)))


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
    if not field.is_categorical:
        clamped = int(np.count_nonzero((codes < field.domain.values) & _is_outside(cells, field)))
    special = int(np.count_nonzero((codes >= field.domain.values) & ~is_last))
    left = [int(np.count_nonzero(each == field.domain.last)) for each in stages]
    folded, unlisted = (left[0] - left[1], left[1] - left[2]) if len(stages) > 1 else (0, 0)
    return len(codes), missing, clamped, special, left[-1] - missing, folded, unlisted


def _is_missing(cells: RawColumn, field: Field) -> np.ndarray:
    """Return where cells are empty, NaN, or a text that the schema calls missing."""
    if isinstance(cells, Texts):
        texts = pl.Series(["", *field.missing_values], dtype=pl.String)
        return np.asarray(cells.values.is_in(texts).fill_null(value=True).to_numpy())
    missing = np.zeros(len(cells), dtype=bool) if cells.nulls is None else cells.nulls.copy()
    if isinstance(cells, Numbers) and cells.values.dtype == np.float64:
        missing |= np.isnan(cells.values)
    return missing


def _is_outside(cells: RawColumn, field: Field) -> np.ndarray:
    """Return where numbers and dates lie outside the bounds; false where a cell is neither."""
    low, high = field.range.lo, field.range.top
    unit = DAY_MICROSECONDS if field.type == "date" else 1
    if isinstance(cells, Texts) and field.type in ("date", "datetime"):
        moments, is_time = read_times(cells.values)
        numbers = moments // unit
        return is_time & ((numbers < low) | (numbers > high))
    if isinstance(cells, Texts):
        numbers = read_reals(cells.values)
    elif isinstance(cells, Times):
        numbers = cells.values // unit
    else:
        numbers = cells.values
    return np.asarray((numbers < low) | (numbers > high))


# -- How many private rows break the rules that a schema declares, and how far they are from its public totals.


@private_boundary
def check_declared(data: object, schema: Schema) -> Internal[Declared | None]:
    """Count, for every rule of a schema, the rows that break it, and compare the rows with its public tables.

    data: the private rows; all of them, whatever the privacy unit. Returns the one table is called ``real``; None where
    the schema declares neither rules nor public tables.

    Memory: the codes of the columns that are spoken of, 1 to 8 bytes a cell.

    >>> import polars as pl
    >>> fields = [{"name": "child", "type": "boolean"}, {"name": "works", "type": "boolean"}]
    >>> schema = Schema.from_dict({"fields": fields, "rules": [{"never": {"child": True, "works": True}}]})
    >>> found = check_declared(pl.DataFrame({"child": [True, True], "works": [True, False]}), schema).value
    >>> found.rules[0].broken["real"]
    1
    """
    spoken_of = {name for each in (*schema.rules, *schema.public_tables) for name in each.columns}
    if not spoken_of:
        return Internal(None)
    with coded_table(data, replace(schema, privacy_unit=None)) as source:
        chunks = list(source.chunks())
    codes = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in sorted(spoken_of)}
    return Internal(compare_declared({REAL: codes}, schema))
