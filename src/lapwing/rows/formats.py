"""Read the cells of files: of text exactly those of Python's CSV parser, of all others each by its own type.

Python's parser is the rule because no text makes it fail: a stray quote in one cell must not decide whether there is
an error. Lines without quotes are cells between separators, which Polars finds several times as fast. Nor does a line
that is no JSON object raise: it is a row of unreadable cells. Excel and statistics files are read whole by every pass.
"""

import contextlib
import csv
import functools
import gzip
import io
import itertools
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final

import polars as pl

from lapwing.errors import DataError, LapwingError
from lapwing.rows import workbook_cells
from lapwing.rows.cells import RawColumn, Texts, text_of, texts
from lapwing.rows.engines.frames import polars_held, polars_reader
from lapwing.rows.guard import guarded
from lapwing.rows.kinds import Held
from lapwing.rows.threads import in_order
from lapwing.rows.workbook_cells import MOST_CELLS, MOST_CHARACTERS, read_back
from lapwing.schema.foreign.statistics import PROGRAMS, statistics_reader, time_scale
from lapwing.schema.named_files import STANDARD_INPUT
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.scalars import quote
from lapwing.version import install_command

BEYOND: Final = "\x00beyond"
"""Names what stands in a row beyond the columns that have names, for looks at how a file is laid out."""

_GZIP: Final = b"\x1f\x8b"
_BLOCK: Final = 2**18  # characters read at a time
_LONGEST_CELL: Final = 2**31 - 1  # the parser's own limit would make the length of a cell decide

_Lines = str | list[list[str]]
"""Whole lines without a quote and with ``\\n`` at most between them, or lines that are parsed already."""


class CsvFile:
    """A text file with one row per line, in a dialect; zipped if it ends in .gz; names: if no line has them."""

    held: Mapping[str, Held] = MappingProxyType({})
    known_rows = None

    def __init__(self, path: Path, separator: str, dialect: Dialect = PLAIN_FILE, names: Sequence[str] = ()) -> None:
        self.path = path
        self.separator = dialect.delimiter or separator
        self._dialect = dialect
        self._what = f"file {quote(str(path))} cannot be read as text"
        self.names = list(names)
        if dialect.header:
            with guarded(self._what, self._open) as stream:
                self.names = guarded(self._what, lambda: self._header(stream))

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        positions = [len(self.names) if name == BEYOND else self.names.index(name) for name in columns]
        for found in in_order(partial(self._cells, positions), self._blocks()):
            for start in range(0, len(found[0]), rows):
                cells = (Texts(column.slice(start, rows)) for column in found)
                yield dict(zip(columns, cells, strict=True))

    def _open(self) -> io.TextIOBase:
        """Open the file at its first row."""
        stream = open_text(self.path, self._dialect.encoding)
        for _ in range(self._dialect.skip_rows):
            stream.readline()
        return stream

    def _header(self, stream: io.TextIOBase) -> list[str]:
        """Read on to the end of the first line that is not empty, and return its cells."""
        return next(filter(None, self._parser(stream)), [])

    def _parser(self, lines: Iterable[str]) -> Iterator[list[str]]:
        # The limit is one for the whole process: were it put back, it would change under another thread that reads.
        csv.field_size_limit(_LONGEST_CELL)
        quote_char = self._dialect.quote_char
        if quote_char is None:
            return csv.reader(lines, delimiter=self.separator, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self.separator, quotechar=quote_char)

    def _blocks(self) -> Iterator[_Lines]:
        """Yield the lines below the header."""
        with guarded(self._what, self._open) as stream:
            if self._dialect.header:
                guarded(self._what, lambda: self._header(stream))
            while block := guarded(self._what, lambda: self._block(stream)):
                yield block

    def _block(self, stream: io.TextIOBase) -> _Lines:
        """Return the next lines; nothing at the end of the file."""
        block = stream.read(_BLOCK)
        block += stream.readline()
        plain = block.replace("\r\n", "\n")
        if not any(sign in plain for sign in (self._dialect.quote_char or "", "\r", "\0") if sign):
            return plain
        # A row that begins in this block may end below it.
        own = io.StringIO(block, newline="")
        parser = self._parser(itertools.chain(own, stream))
        lines = []
        while own.tell() < len(block):
            lines.append(next(parser))
        return lines

    def _cells(self, positions: Sequence[int], lines: _Lines) -> list[pl.Series]:
        """Return the columns at some positions; lines that end before one miss the cell."""
        if isinstance(lines, str):
            return guarded(self._what, lambda: self._split(positions, lines))
        return guarded(self._what, lambda: self._parsed(positions, lines))

    def _split(self, positions: Sequence[int], lines: str) -> list[pl.Series]:
        rows = pl.Series([lines.removesuffix("\n")], dtype=pl.String).str.split("\n").explode()
        if len(self.names) > 1:
            rows = rows.filter(rows != "")
        cells = rows.str.split_exact(self.separator, max(positions)).struct
        return [cells.field(f"field_{at}") for at in positions]

    def _parsed(self, positions: Sequence[int], lines: list[list[str]]) -> list[pl.Series]:
        # With one column an empty line is how Polars and others write a row whose cell is missing. No row of more
        # columns is written without its separators.
        rows = [line or [""] for line in lines] if len(self.names) == 1 else [line for line in lines if line]
        cells = ([line[at] if at < len(line) else None for line in rows] for at in positions)
        return [pl.Series(column, dtype=pl.String) for column in cells]


def open_text(path: Path, encoding: str | None, errors: str = "backslashreplace") -> io.TextIOBase:
    """Open a text file, zipped or not; bytes that are no text keep their numbers, so that no two names become one."""
    with contextlib.ExitStack() as opened:
        raw = opened.enter_context(open_bytes(path))
        start = raw.read(2)
        raw.seek(0)
        if encoding is None:
            encoding = "utf-16" if start in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
        stream = io.TextIOWrapper(raw, encoding=encoding, errors=errors, newline="")
        opened.pop_all()
    return stream


def open_bytes(path: Path) -> BinaryIO:
    """Open a file, zipped if its name ends in .gz, or what came by standard input, zipped if it begins so."""
    if path == STANDARD_INPUT:
        content = _standard_input()
        raw = io.BytesIO(content)
        return gzip.GzipFile(fileobj=raw) if content.startswith(_GZIP) else raw  # type: ignore[return-value]
    return gzip.GzipFile(path) if path.name.lower().endswith(".gz") else path.open("rb")  # type: ignore[return-value]


@functools.cache
def _standard_input() -> bytes:
    """Return all of standard input, which can be read once, and is needed by every pass over the rows."""
    return sys.stdin.buffer.read()


# -- Excel sheets, JSON lines, and files of SPSS, Stata and SAS.


_BROKEN: Final = object()  # of no type that a field can hold
_BEYOND: Final = Decimal("1E+400")
_MOST_DIGITS: Final = 300
_EXACT: Final = 2**53


class JsonLinesFile:
    """A text file with one JSON object per line, perhaps zipped; names: the columns, as lines may leave out keys."""

    held: Mapping[str, Held] = MappingProxyType({})
    known_rows = None

    def __init__(self, path: Path, dialect: Dialect, names: Sequence[str] = ()) -> None:
        self.path = path
        self._encoding = dialect.encoding
        self._what = f"file {quote(str(path))} cannot be read as JSON lines"
        self.names = list(names) or guarded(self._what, self._keys)

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        for records in self._records(rows):
            yield {
                name: texts(_BROKEN if record is None else record.get(name) for record in records) for name in columns
            }

    def _keys(self) -> list[str]:
        return list(
            dict.fromkeys(key for records in self._records(2**16) for record in records for key in record or ())
        )

    def _records(self, rows: int) -> Iterator[list[dict[str, object] | None]]:
        """Yield the objects of the lines that are not empty, None for a line that is none."""
        with guarded(self._what, lambda: open_text(self.path, self._encoding, "surrogateescape")) as stream:
            while lines := guarded(self._what, lambda: list(itertools.islice(stream, rows))):
                found = guarded(self._what, lambda: [_record(line) for line in lines if not line.isspace()])
                if found:
                    yield found


def _record(line: str) -> dict[str, object] | None:
    try:
        found = json.loads(line, parse_int=_whole, parse_float=_real)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _whole(digits: str) -> int | Decimal:
    # Python refuses thousands of digits; a number of hundreds is beyond every float, and thus every bound.
    return int(digits) if len(digits) <= _MOST_DIGITS else _beyond(digits)


def _real(digits: str) -> float | Decimal:
    value = float(digits)
    return _beyond(digits) if math.isinf(value) else value


def _beyond(digits: str) -> Decimal:
    return -_BEYOND if digits.startswith("-") else _BEYOND


class ExcelFile:
    """One sheet of a workbook, without its empty rows; names: those of the columns, where no row has them."""

    held: Mapping[str, Held] = MappingProxyType({})
    known_rows = None

    def __init__(self, path: Path, dialect: Dialect, names: Sequence[str] = ()) -> None:
        self.path = path
        self._dialect = dialect
        self._what = f"file {quote(str(path))} cannot be read as an Excel or OpenDocument workbook"
        self._columns = list(names)
        if dialect.header:
            first = guarded(self._what, lambda: next(self._rows(), []))
            self._columns = [text_of(cell) or "" for cell in first]
        self.names = [name for name in self._columns if name]

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        positions = {name: self._columns.index(name) for name in columns if name != BEYOND}
        below = guarded(self._what, lambda: list(self._rows()))[int(self._dialect.header) :]
        for start in range(0, len(below), rows):
            part = below[start : start + rows]
            found: dict[str, RawColumn] = {
                name: texts(row[at] if at < len(row) else None for row in part) for name, at in positions.items()
            }
            yield found | ({BEYOND: texts(map(self._beyond, part))} if BEYOND in columns else {})

    def _beyond(self, row: list[object]) -> object:
        """Return the first cell of a row that stands under no name, if it has one."""
        named = self._columns + [""] * (len(row) - len(self._columns))
        return next((cell for cell, name in zip(row, named, strict=False) if not name and cell is not None), None)

    def _rows(self) -> Iterator[list[object]]:
        """Yield the rows of the sheet that hold something, each cell by its own type."""
        _check_calamine()
        for row in itertools.islice(self.lines(), self._dialect.skip_rows, None):
            cells = list(map(_excel_cell, row))
            if len(cells) == 1 or any(cell is not None for cell in cells):
                yield cells

    def lines(self) -> Iterator[list[object]]:
        """Yield all rows of the sheet, from a process that reads them.

        Their library aborts on a file that says of itself that it is immense, or that unpacks to be: that ends the
        process alone, which says nothing and has a limit of memory.
        """
        program = [sys.executable, "-P", workbook_cells.__file__, os.path.abspath(self.path), self._dialect.sheet or ""]
        nowhere = subprocess.DEVNULL
        with subprocess.Popen(program, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere) as reader:  # noqa: S603
            try:
                yield from self._lines_of(_parsed_lines(reader.stdout or ()))
            finally:
                reader.kill()

    def _lines_of(self, lines: Iterator[Any]) -> Iterator[list[object]]:
        sheets = next(lines, None)
        if sheets is not None and (self._dialect.sheet or next(iter(sheets), None)) not in sheets:
            which = f"no sheet {quote(self._dialect.sheet)}" if self._dialect.sheet else "no sheet"
            said = f'file {quote(str(self.path))} has {which}; name one of its sheets in "dialect": {{"sheet": ...}}'
            raise DataError(said, code="LW103")
        block: Any = [] if sheets is not None else False
        while isinstance(block, list):
            yield from block
            block = next(lines, False)
        if block is not None:
            raise DataError(
                f"{self._what}: it is damaged, or more than {MOST_CELLS:,} cells from its first corner on, or "
                f"{MOST_CHARACTERS:,} characters in a cell; save its table alone, or as CSV",
                code="LW103",
            )


def _parsed_lines(lines: Iterable[bytes]) -> Iterator[Any]:
    """Yield JSON lines, up to one that is none: a process that ended within it wrote no more."""
    with contextlib.suppress(ValueError):
        for line in lines:
            yield json.loads(line)


def _excel_cell(cell: object) -> object:
    """Return a cell as an object of Python: Excel has no empty texts, and no other numbers than floats."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT:
        return int(cell)
    return None if cell == "" else read_back(cell)


def _check_calamine() -> None:
    try:
        import python_calamine  # noqa: F401, PLC0415 - an extra
    except ImportError:
        pass
    else:
        return
    said = f"workbooks are read by python-calamine, which is not installed; run {install_command('files')}"
    raise LapwingError(said, code="LW701")


class StatisticsFile:
    """A file of SPSS, Stata or SAS; what its author declared as missing is missing."""

    known_rows = None

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self.path = path
        self._program = PROGRAMS[path.suffix.lower()]
        self._what = f"file {quote(str(path))} cannot be read as one of {self._program}"
        self._read = statistics_reader(path)
        # Dates stay numbers: as objects of Python some would raise.
        self._settings = {"output_format": "dict", "disable_datetime_conversion": True, "encoding": dialect.encoding}
        declared = {} if path.suffix.lower() == ".xpt" else {"user_missing": True}
        about = guarded(self._what, lambda: self._read(path, metadataonly=True, **declared, **self._settings)[1])
        self.names: list[str] = list(about.column_names)
        self._types: dict[str, str] = about.readstat_variable_types
        self._formats: dict[str, str] = about.original_variable_types
        self._declared: dict[str, list[dict[str, Any]]] = about.missing_ranges
        self._kept: dict[str, list[Any]] = {}
        empty = {name: polars_held(self._column(name, []).dtype) for name in self.names}
        self.held: Mapping[str, Held] = empty

    def keep(self, listed: Mapping[str, Sequence[object]]) -> None:
        """Take codes that the file's author declared as missing for values where the schema lists them."""
        self._kept = {name: list(codes) for name, codes in listed.items() if codes and self._declared.get(name)}

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        kept = {"user_missing": True} if self._kept.keys() & set(columns) else {}
        found = guarded(self._what, lambda: self._read(self.path, usecols=list(columns), **kept, **self._settings)[0])
        column = self._coded if kept else self._column
        frame = guarded(self._what, lambda: pl.DataFrame([column(name, found.pop(name)) for name in columns]))
        yield from polars_reader(frame).chunks(columns, rows)

    def _coded(self, name: str, cells: list[Any]) -> pl.Series:
        """Return a column that was read with its declared codes, without those that the schema does not list."""
        kept, declared = self._kept.get(name, ()), self._declared.get(name, ())
        for each in declared:
            cells = [
                None if cell is not None and cell not in kept and each["lo"] <= cell <= each["hi"] else cell
                for cell in cells
            ]
        return self._column(name, cells)

    def _column(self, name: str, cells: list[Any]) -> pl.Series:
        if self._types[name] == "string":
            return pl.Series(name, cells, dtype=pl.String)
        numbers = pl.Series(name, cells, dtype=pl.Float64, strict=False)
        scale = time_scale(self._program, self._formats[name])
        if scale is None:
            return numbers
        if scale.kind == "month":
            months = pl.lit(numbers.floor().clip(-3e6, 3e6).cast(pl.Int64))
            return pl.select(pl.date(1960 + months // 12, months % 12 + 1, 1).alias(name)).to_series()
        microseconds = (numbers * scale.unit + scale.start).round().clip(-9e18, 9e18).cast(pl.Int64)
        return microseconds.cast(pl.Duration("us") if scale.kind == "time" else pl.Datetime("us"))
