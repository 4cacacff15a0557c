"""Read the cells of files: of text exactly those of Python's CSV parser, of all others each by its own type.

Python's parser is the rule because no text makes it fail: a stray quote in one cell must not decide whether there is
an error. Lines without quotes are cells between separators, which Polars finds several times as fast. Nor does a line
that is no JSON object raise: it is a row of unreadable cells. Excel and statistics files are read whole by every pass.
"""

import codecs
import contextlib
import csv
import functools
import gzip
import io
import itertools
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

import polars as pl

from lapwing.rows.cells import RawColumn, Texts, texts
from lapwing.rows.guard import run_guarded
from lapwing.rows.kinds import Held
from lapwing.rows.threads import in_order
from lapwing.schema.named_files import STANDARD_INPUT
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.scalars import quote

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

    def __init__(
        self,
        path: Path,
        separator: str,
        dialect: Dialect = PLAIN_FILE,
        names: Sequence[str] = (),
    ) -> None:
        self.path = path
        self.separator = dialect.delimiter or separator
        self._dialect = dialect
        self._what = f"file {quote(str(path))} cannot be read as text"
        self.names = list(names)
        if dialect.header:
            with run_guarded(self._what, self._open) as stream:
                self.names = run_guarded(self._what, lambda: self._header(stream))

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        positions = [len(self.names) if name == BEYOND else self.names.index(name) for name in columns]
        parts = in_order(partial(self._cells, positions), self._blocks())
        for found in _without_footer(parts, self._dialect.skip_footer):
            for start in range(0, len(found[0]), rows):
                yield {name: Texts(column.slice(start, rows)) for name, column in zip(columns, found, strict=True)}

    def _open(self) -> io.TextIOBase:
        """Open the file at its first row."""
        stream = open_text(self.path, self._dialect.encoding)
        for _ in range(self._dialect.skip_rows):
            stream.readline()
        return stream

    def _header(self, stream: io.TextIOBase) -> list[str]:
        """Read on to the end of the first line that is not empty, and return its cells."""
        return next(filter(None, self._parser(stream)), [])

    def has_names_alone(self) -> bool:
        """Tell whether the names end with their line: where a quote is left open there, rows would go on with it."""
        with run_guarded(self._what, self._open) as stream:
            line = run_guarded(self._what, lambda: next((each for each in stream if each.strip("\r\n")), ""))
        return len(list(self._parser([line, "next"]))) > 1

    def _parser(self, lines: Iterable[str]) -> Iterator[list[str]]:
        # The limit is one for the whole process: were it put back, it would change under another thread that reads.
        csv.field_size_limit(_LONGEST_CELL)
        quote_char = self._dialect.quote_char
        if quote_char is None:
            return csv.reader(lines, delimiter=self.separator, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self.separator, quotechar=quote_char)

    def _blocks(self) -> Iterator[_Lines]:
        """Yield the lines below the header."""
        with run_guarded(self._what, self._open) as stream:
            if self._dialect.header:
                run_guarded(self._what, lambda: self._header(stream))
            while block := run_guarded(self._what, lambda: self._block(stream)):
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
            return run_guarded(self._what, lambda: self._split(positions, lines))
        return run_guarded(self._what, lambda: self._parsed(positions, lines))

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


def _without_footer(parts: Iterable[list[pl.Series]], rows: int) -> Iterator[list[pl.Series]]:
    """Yield columns part by part, without the last rows of all."""
    # What stands there is no row of anybody: neighbouring tables end in the same lines.
    held: list[pl.Series] = []
    for part in parts:
        whole = [pl.concat([before, column]) for before, column in zip(held, part, strict=True)] if held else part
        stop = max(0, len(whole[0]) - rows)
        yield [column.slice(0, stop) for column in whole]
        held = [column.slice(stop) for column in whole] if rows else []


def open_text(path: Path, encoding: str | None, errors: str = "backslashreplace") -> io.TextIOBase:
    """Open a text file, zipped or not; bytes that are no text keep their numbers, so that no two names become one."""
    with contextlib.ExitStack() as opened:
        raw = opened.enter_context(open_bytes(path))
        stream = io.TextIOWrapper(raw, encoding=encoding or "utf-8-sig", errors=errors, newline="")
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


# -- JSON lines.


def _numbered(error: UnicodeError) -> tuple[str, int]:
    """Return half surrogates that number bytes which are no text, so that none in a cell ends the reading."""
    assert isinstance(error, UnicodeDecodeError)
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


# Python's own "surrogateescape" refuses bytes below 128, which GB 18030 and others may hold where they are no text.
_NUMBERED: Final = "lapwing-numbered"
codecs.register_error(_NUMBERED, _numbered)

_BROKEN: Final = object()  # of no type that a field can hold
_BEYOND: Final = Decimal("1E+400")
_MOST_DIGITS: Final = 300
EXACT: Final = 2**53


class JsonLinesFile:
    """A text file with one JSON object per line, perhaps zipped; names: the columns, as lines may leave out keys."""

    held: Mapping[str, Held] = MappingProxyType({})
    known_rows = None

    def __init__(self, path: Path, dialect: Dialect, names: Sequence[str] = ()) -> None:
        self.path = path
        self._dialect = dialect
        self._what = f"file {quote(str(path))} cannot be read as JSON lines"
        self.names = list(names) or run_guarded(self._what, self._keys)

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
        with run_guarded(self._what, lambda: open_text(self.path, self._dialect.encoding, _NUMBERED)) as stream:
            while lines := run_guarded(self._what, lambda: list(itertools.islice(stream, rows))):
                found = run_guarded(self._what, lambda: [_record(line) for line in lines if not line.isspace()])
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
