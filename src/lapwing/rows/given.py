"""Read tables of conditions: public rows, which are checked, and whose cells may be shown in a refusal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from lapwing.errors import ParameterError
from lapwing.rows.cells import (
    DAY_MICROSECONDS,
    RawColumn,
    Texts,
    Times,
    missing_cells,
    read_numbers,
    read_reals,
    read_times,
)
from lapwing.rows.codec import encode
from lapwing.rows.entry import source_of
from lapwing.rows.out.decode import decode_column
from lapwing.schema.fields import Field
from lapwing.schema.rules.rules import Determines
from lapwing.schema.scalars import category_key, quote
from lapwing.schema.schemas import Schema
from lapwing.schema.values import special_numbers

_ROWS: Final = 2**20

_WAY_OUT: Final = "name a value in its domain"


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """Condition rows: codes of each given column, inside its domain, and what synthetic rows show for them."""

    codes: Mapping[str, np.ndarray]
    values: pl.DataFrame


def given_rows(data: Any, schema: Schema, numbers: Sequence[int] | None = None) -> GivenRows:  # noqa: ANN401 - frames
    """Return the condition rows of a table, which errors call 1, 2, ..., or by `numbers`.

    Null is missing, in a file also empty text and what the schema lists; values are written as in synthetic rows.

    A value of a column with a resolution becomes the step that the codec counts it as, as in synthetic rows: what lies
    between two steps would be on no side of a rule that the steps keep. Numbers without resolution stay as given to the
    last digit, unless a rule determines them: then equal codes must show equal numbers, the middle of their cell.

    >>> schema = Schema.from_dict({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
    >>> given_rows(pl.DataFrame({"sex": ["m", None]}), schema).codes["sex"].tolist()
    [1, 2]
    """
    given, _ = _given_columns(data, schema, numbers)
    return given


def rows_with_gaps(data: Any, schema: Schema) -> list[tuple[np.ndarray, GivenRows | None]]:  # noqa: ANN401 - frames
    """Return the numbers from 0 of rows whose gaps are in the same columns, and what the others give, if any.

    data: a table of conditions as for `given_rows`, but that null is a gap, not missing.
    """
    given, is_gap = _given_columns(data, schema, has_gaps=True)
    kinds, kind_of = np.unique(is_gap, axis=0, return_inverse=True)
    found: list[tuple[np.ndarray, GivenRows | None]] = []
    for kind, gaps in enumerate(kinds):
        numbers = np.flatnonzero(kind_of.reshape(-1) == kind)
        names = [name for name, is_open in zip(given.codes, gaps.tolist(), strict=True) if not is_open]
        codes = {name: given.codes[name][numbers] for name in names}
        found.append((numbers, GivenRows(codes, given.values.select(names)[numbers]) if names else None))
    return found


def _given_columns(
    data: Any,  # noqa: ANN401 - frames
    schema: Schema,
    numbers: Sequence[int] | None = None,
    *,
    has_gaps: bool = False,
) -> tuple[GivenRows, np.ndarray]:
    """Return the condition rows of a table, and which of their cells are null: ndarray of bool, (rows, columns)."""
    schema, source = schema.as_written_out, source_of(data)
    names = source.names(Schema(fields=schema.columns))
    known = {field.name: field for field in schema.columns}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        is_identifier = any(field.name in unknown for field in schema.fields)
        what = "an identifier, which is not modelled" if is_identifier else "no modelled column"
        found = f"{quote(unknown[0])}, {what}" if unknown else "no column at all"
        raise ParameterError(f"the table of conditions names {found}; give modelled columns only", code="LW320")
    reader = source.open(Schema(fields=tuple(known[name] for name in names)))
    parts = list(reader.chunks(names, _ROWS))
    called = np.arange(1, 1 + sum(len(part[names[0]]) for part in parts)) if numbers is None else np.array(numbers)
    determined = {rule.column for rule in schema.rules if isinstance(rule, Determines)}
    codes, values = {}, []
    is_null = np.zeros((len(called), len(names)), dtype=bool)
    for place, name in enumerate(names):
        field, first = known[name], 0
        pieces = [(np.empty(0, dtype=field.domain.dtype), np.empty(0))]
        for part in parts:
            is_null[first : first + len(part[name]), place] = blank = _is_blank(field, part[name])
            may_be_null = blank if has_gaps or field.domain.missing else np.zeros_like(blank)
            pieces.append(_given(field, part[name], called[first:], may_be_null))
            first += len(part[name])
        codes[name] = np.concatenate([code for code, _ in pieces])
        shown = decode_column(field, codes[name])
        if not field.is_categorical and field.type == "number" and field.range.step is None and name not in determined:
            shown = pl.Series(np.concatenate([numbers for _, numbers in pieces])).set(shown.is_null(), None)
        values.append(shown.alias(name))
    return GivenRows(codes, pl.DataFrame(values)), is_null


def listed_rows(rows: Sequence[Mapping[str, object]], schema: Schema) -> list[tuple[np.ndarray, GivenRows | None]]:
    """Return the numbers from 0 of condition rows that name the same columns, and their conditions, if any."""
    kinds: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ParameterError(
                f"condition row {number + 1} must map columns to values, got a {type(row).__name__}", code="LW320"
            )
        for name, value in row.items():
            if isinstance(value, list | tuple | set | frozenset | range | dict) or type(value).__name__ == "Between":
                raise ParameterError(
                    f"condition row {number + 1}: column {quote(name)} must be one value; for lists and ranges give "
                    "where as one mapping",
                    code="LW320",
                )
        kinds.setdefault(tuple(sorted(row, key=str)), []).append(number)
    found: list[tuple[np.ndarray, GivenRows | None]] = []
    for names, numbers in kinds.items():
        cells = {name: pl.Series(name, [rows[number][name] for number in numbers], dtype=pl.Object) for name in names}
        called = [number + 1 for number in numbers]
        given = given_rows(pl.DataFrame(cells), schema, called) if names else None
        found.append((np.array(numbers), given))
    return found


def _given(
    field: Field, cells: RawColumn, called: np.ndarray, may_be_null: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and numbers of one column, all of which must lie in its domain; rows are called by these numbers."""
    codes = encode(cells, field)
    is_last = codes == field.domain.last
    is_bad = is_last & ~may_be_null
    numbers = np.empty(0)
    if not field.is_categorical:
        numbers, is_inside = _numbers(field, cells)
        is_bad |= ~is_last & ~is_inside
    elif field.folds or field.unlisted is not None:
        is_bad |= ~is_last & ~_is_itself(cells, decode_column(field, codes))
    if is_bad.any():
        bad = int(np.flatnonzero(is_bad)[0])
        raise ParameterError(
            f"condition row {called[bad]}: {_rule(field)}, got {_shown(field, cells, bad)}; {_WAY_OUT}",
            code="LW320",
        )
    return codes, numbers


def _rule(field: Field) -> str:
    """Return what a cell of a column must be."""
    if field.is_categorical:
        kind = "true or false" if field.categories is None else "one of its categories"
    else:
        kind = f"of type {field.type} from {field.minimum} to {field.maximum}"
    return f"column {quote(field.name)} must be {kind}" + ("" if field.domain.missing else ", never missing")


def _is_blank(field: Field, cells: RawColumn) -> np.ndarray:
    """Return which cells are missing, as the column writes it."""
    if isinstance(cells, Texts):
        return cells.values.fill_null("").str.strip_chars().is_in(["", *field.missing_values]).to_numpy()
    return missing_cells(cells)


def _is_itself(cells: RawColumn, values: pl.Series) -> np.ndarray:
    """Return which cells are a category themselves, and not only counted under one."""
    texts = cells.values.to_list() if isinstance(cells, Texts) else map(category_key, cells.values.tolist())
    return np.array(
        [category_key(value) == text for text, value in zip(texts, values.fill_null("").to_list(), strict=True)]
    )


def _numbers(field: Field, cells: RawColumn) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of a column without categories as numbers, and which of them its domain holds."""
    limits = field.range
    if field.type in ("date", "datetime"):
        found, is_number = _times(cells, field.type == "date")
    else:
        found = _reals(cells, field.type == "integer") if isinstance(cells, Texts) else cells.values
        is_number = np.ones(len(cells), dtype=bool)
    ends = (field.minimum, field.maximum) if field.type == "number" else (limits.lo, limits.top)
    is_inside = is_number & (found >= ends[0]) & (found <= ends[1])
    return found, is_inside | np.isin(found, special_numbers(field))


def _times(cells: RawColumn, is_date: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return days or microseconds since 1970-01-01, and which cells are dates or moments."""
    if isinstance(cells, Texts):
        found, is_time = read_times(cells.clock if is_date else cells.values, by_clock=is_date)
    else:
        found = cells.clock if isinstance(cells, Times) and is_date else cells.values
        is_time = np.full(len(cells), isinstance(cells, Times))
    if not is_date:
        return found, is_time
    days, rest = np.divmod(found, DAY_MICROSECONDS)
    return days, is_time & (rest == 0)


def _reals(cells: Texts, is_integer: bool) -> np.ndarray:
    """Return text cells as numbers, whole ones exactly; NaN where they are none."""
    if not is_integer:
        return read_reals(cells.values)
    read = read_numbers(cells.values)
    return read.integers if read.is_integer.all() else np.where(read.is_integer, read.integers, read.reals)


def _shown(field: Field, cells: RawColumn, at: int) -> str:
    """Return a cell as it should stand in a sentence: a number bare, also where it came as text."""
    if isinstance(cells, Times):
        return str(np.datetime64(int(cells.values[at]), "us"))
    if isinstance(cells, Texts):
        text = quote(cells.values[at])
        is_number = field.type in ("integer", "number") and np.isfinite(read_reals(cells.values[at : at + 1]))[0]
        return text.strip('"') if is_number else text
    return "missing" if cells.nulls is not None and cells.nulls[at] else quote(cells.values[at].item())
