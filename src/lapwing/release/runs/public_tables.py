"""Public tables as a caller gives them: declared objects, files in the schema's form, or frames with a source."""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from lapwing.errors import ParameterError, SchemaError
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.rows.guard import run_guarded
from lapwing.schema.named_files import refuse_private
from lapwing.schema.public_tables.tables import PublicTable, public_tables_from
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import read_content, read_json

__all__ = ["PublicTable", "public_table_of"]

_COUNT: Final = "count"
_MOST_DIGITS: Final = 100  # of a count in a file; Python refuses to read thousands of them
_WAY_OUT: Final = (
    'declare it public and say who published it: lw.PublicTable.from_frame(frame, source="...") or a file with the '
    "keys columns, cells, source and provenance"
)


def with_public_tables(schema: Schema, tables: object) -> Schema:
    """Return a schema with more public tables.

    tables: a file holds one table or a list of them.
    """
    more = given_public_tables(tables)
    return replace(schema, public_tables=(*schema.public_tables, *more)) if more else schema


def given_public_tables(tables: object) -> list[PublicTable]:
    """Return the public tables that a caller gives, in any of their forms."""
    listed = tables if isinstance(tables, list | tuple) else [] if tables is None else [tables]
    return [each for given in listed for each in _tables(given)]


def check_priors(schema: Schema, mechanism: Mechanism) -> None:
    """Refuse priors where the mechanism has no use for them: its model cannot lean on a table."""
    prior = next((table for table in schema.public_tables if table.hold == "prior"), None)
    if prior is not None and not mechanism.takes_priors:
        takers = " or ".join(f'mechanism="{each.name}"' for each in MECHANISMS.values() if each.takes_priors)
        raise ParameterError(
            f"{prior.name} is a prior, which {mechanism.name} cannot use; take it away, use {takers}, or "
            'set "hold": "exact" if it counts this very table',
            code="LW352",
        )


def public_table_of(
    frame: object,
    *,
    source: str,
    count: str = _COUNT,
    hold: Literal["exact", "prior"] = "exact",
    sd: float | None = None,
    complete: bool = False,
) -> PublicTable:
    """Return the public table that a frame holds: ``lw.PublicTable.from_frame``.

    frame: one row per cell: a column for each column of the table, and the counts. A text such as ``0..17``, ``65..``
    or ``..17`` is a range of numbers, dates or ordered categories; an empty text or null is missing; source: who
    published it, and where. Giving it declares the table public.

    >>> found = public_table_of({"age": ["0..17", "18.."], "count": [200, 800]}, source="Census 2020, table 1")
    >>> found.columns, found.total
    (('age',), 1000)
    """
    columns = _columns_of(frame)
    if count not in columns or len(columns) < 2:
        raise ParameterError(
            f"a frame of a public table needs a column {quote(count)} of counts and others that they are of; name it "
            "with count=",
            code="LW353",
        )
    names = tuple(name for name in columns if name != count)
    rows = zip(*(columns[name] for name in (*names, count)), strict=True)
    return PublicTable(
        columns=names,
        cells=tuple(tuple(map(_plain, row)) for row in rows),
        source=source,
        provenance="public",
        hold=hold,
        sd=sd,
        complete=complete,
    )


def read_public_tables(path: str | os.PathLike[str], source: str | None) -> tuple[PublicTable, ...]:
    """Return the public tables of a JSON file, or the one of a CSV file.

    path: a JSON file holds one table in the schema's form, or a list of them. A CSV file has a header, a column for
    each column of the table, and ``count``; source: who published it: required for a CSV file, which cannot say so
    itself.
    """
    if Path(path).suffix.lower() != ".csv":
        found = read_json(path)
        return public_tables_from(found if isinstance(found, list) else [found])
    if source is None:
        raise ParameterError(
            f"the public table {quote(os.fspath(path))} does not say who published it; add --public-source TEXT, which "
            "declares it public",
            code="LW241",
        )
    text = read_content(path, "public table").decode("utf-8-sig", "replace")
    header, *lines = _lines(text)
    if len(set(header)) == len(header) and all(len(line) == len(header) for line in lines):
        columns: dict[str, list[object]] = {name: [line[at] for line in lines] for at, name in enumerate(header)}
        if _COUNT in columns:
            columns[_COUNT] = [_whole(each) for each in columns[_COUNT]]
        with suppress(ParameterError, SchemaError):  # which may quote a cell
            return (public_table_of(columns, source=source),)
    raise ParameterError(
        f"the public table {quote(os.fspath(path))} cannot be used; it needs a header, lines of equally many cells, a "
        "column for each column that it is of, and whole counts in one called count",
        code="LW353",
    )


def cells_of_frame(frame: object, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the cells of a frame of counts, whatever its column of counts is called: values of columns, and a count.

    >>> cells_of_frame({"sex": ["f", "m"], "len": [512.5, 488]}, ["sex"])
    [('f', 512.5), ('m', 488)]
    """
    held = _columns_of(frame)
    others = [name for name in held if name not in columns]
    count = _COUNT if _COUNT in others else others[0] if len(others) == 1 else None
    if count is None or len(others) + len(columns) != len(held):
        raise ParameterError(
            f"a frame of cells has the columns {', '.join(map(quote, columns))} and one of counts, got "
            f"{', '.join(map(quote, held))}; take other columns away, or call the counts count",
            code="LW353",
        )
    return [tuple(map(_plain, row)) for row in zip(*(held[name] for name in (*columns, count)), strict=True)]


def _lines(text: str) -> list[list[str]]:
    """Return the cells of each line of a CSV file; one empty line where Python's parser refuses it."""
    try:
        # Line ends of every kind end a line, as where private rows are read.
        return list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    except csv.Error:  # a cell of more than 131,072 characters
        return [[], [""]]


def _tables(given: object) -> Iterable[PublicTable]:
    """Return what one entry of ``public_tables`` declares."""
    if isinstance(given, PublicTable):
        return (given,)
    refuse_private(given, "a public table")
    if isinstance(given, str | os.PathLike):
        return read_public_tables(given, None)
    if isinstance(given, Mapping) and "columns" in given and "cells" in given:
        return (PublicTable.from_dict(given),)
    raise ParameterError(f"a {type(given).__name__} is not declared a public table; {_WAY_OUT}", code="LW241")


def _columns_of(frame: Any) -> dict[str, list[object]]:  # noqa: ANN401 - that is what is found out here
    """Return the columns of a frame as lists."""
    if isinstance(frame, Mapping):
        return {str(name): list(values) for name, values in frame.items()}
    if hasattr(frame, "to_pydict"):  # PyArrow
        return dict(frame.to_pydict())
    if not hasattr(frame, "columns"):
        raise ParameterError(
            f"a public table must be a frame, got a {type(frame).__name__}; give a table of counts", code="LW353"
        )
    names = list(frame.columns)
    return run_guarded(
        "the frame of a public table cannot be read", lambda: {str(name): list(frame[name].to_list()) for name in names}
    )


def _plain(value: object) -> object:
    """Return a cell of a frame as a file would hold it: dates as text, and what is missing as None."""
    plain = value.item() if hasattr(value, "item") else value
    if hasattr(plain, "isoformat") and type(plain).__name__ != "NaTType":
        return plain.isoformat().removesuffix("T00:00:00")
    is_missing = type(plain).__name__ in ("NAType", "NaTType") or plain != plain  # noqa: PLR0124 - NaN is no number
    return None if is_missing or plain == "" else plain


def _whole(text: object) -> object:
    """Return a text of digits as a whole number; another one as it is, to be refused."""
    is_whole = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(str(text)) if is_whole else text
