"""Rows of files of SPSS, Stata and SAS."""

import codecs
import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import polars as pl

from lapwing.errors import LapwingError
from lapwing.rows.cells import RawColumn
from lapwing.rows.frames import polars_held, polars_reader
from lapwing.rows.guard import run_guarded
from lapwing.rows.kinds import Held
from lapwing.schema.named_files import PROGRAMS
from lapwing.schema.reading import Dialect
from lapwing.schema.scalars import quote
from lapwing.version import install_command

# -- Dates: numbers, whose format says that they are dates.

_SECOND: Final = 10**6
_DAY: Final = 86_400 * _SECOND
_STARTS: Final = {"SPSS": dt.date(1582, 10, 14), "Stata": dt.date(1960, 1, 1), "SAS": dt.date(1960, 1, 1)}


_OLD_STATA: Final = b"<stata_dta><header><release>117"  # the last before UTF-8
T = TypeVar("T")
_Kind = Literal["date", "datetime", "month", "time"]


_FORMATS: Final[dict[str, tuple[tuple[_Kind, int, str], ...]]] = {
    "SPSS": (
        ("datetime", _SECOND, "(DATETIME|YMDHMS)"),
        ("date", _SECOND, "([AEJS]?DATE|QYR|MOYR|WKYR)"),
        ("time", _SECOND, "[DM]?TIME"),
    ),
    "Stata": (("datetime", 1000, "%-?t[cC].*"), ("date", _DAY, "%-?t?d.*"), ("month", 1, "%-?tm.*")),
    "SAS": (
        ("datetime", _SECOND, "(DATETIME|DATEAMPM|DTDATE|DTMONYY|MDYAMPM|NLDATM|[BE]8601D[TZ]|IS8601D[TZ])"),
        (
            "date",
            _DAY,
            "(DATE|MMDDYY[A-Z]?|DDMMYY[A-Z]?|YYMMDD[A-Z]?|(WEEK|WORD)DAT[EX]|JULIAN|MONYY|[BE]8601DA|NLDATE)",
        ),
        ("time", _SECOND, "(TIME|TIMEAMPM|HHMM|MMSS|TOD|[BE]8601TM)"),
    ),
}


@dataclass(frozen=True, slots=True)
class TimeScale:
    """What numbers of a column stand for: so many units, of so many microseconds, after a start, itself since 1970.

    Months have no length: their numbers count them since the start of 1960.
    """

    kind: _Kind
    unit: int
    start: int


def time_scale(program: str, written: str) -> TimeScale | None:
    """Return what numbers of a format are as times; None where they are numbers.

    >>> time_scale("Stata", "%td").kind, time_scale("SPSS", "F8.2")
    ('date', None)
    """
    for kind, unit, pattern in _FORMATS[program]:
        if re.fullmatch(rf"{pattern}[0-9.]*", written or ""):
            days = 0 if kind == "time" else (_STARTS[program] - dt.date(1970, 1, 1)).days
            return TimeScale(kind, unit, days * _DAY)
    return None


def statistics_library(suffix: str) -> Any:  # noqa: ANN401 - it has no types
    """Return pyreadstat, imported when first needed, for files of this suffix."""
    try:
        import pyreadstat  # noqa: PLC0415 - an extra
    except ImportError:
        pass
    else:
        return pyreadstat
    said = f"files of {PROGRAMS[suffix]} need pyreadstat, which is not installed; run {install_command('connect')}"
    raise LapwingError(said, code="LW701")


def statistics_reader(path: Path) -> Callable[..., Any]:
    """Return the function of pyreadstat that reads a file of this suffix."""
    suffix = path.suffix.lower()
    library, names = statistics_library(suffix), {".dta": "dta", ".sas7bdat": "sas7bdat", ".xpt": "xport"}
    found: Callable[..., Any] = getattr(library, f"read_{names.get(suffix, 'sav')}")
    return found


def _encoding_of(path: Path, read: Callable[..., Any]) -> str:
    """Return the encoding of a file's texts, as it says, or as its program writes."""
    said = read(path, metadataonly=True, output_format="dict")[1].file_encoding
    with path.open("rb") as file:
        start = file.read(len(_OLD_STATA))
    is_old = path.suffix.lower() == ".dta" and (start == _OLD_STATA or not start.startswith(b"<"))
    return codecs.lookup(said or ("windows-1252" if is_old else "utf-8")).name


class StatisticsFile:
    """A file of SPSS, Stata or SAS; what its author declared as missing is missing."""

    known_rows: int | None = None

    def __init__(self, path: Path, dialect: Dialect, listed: Mapping[str, Sequence[object]]) -> None:
        self.path = path
        self._program = PROGRAMS[path.suffix.lower()]
        self._what = f"file {quote(str(path))} cannot be read as one of {self._program}"
        self._read = statistics_reader(path)
        self._encoding = run_guarded(self._what, lambda: dialect.encoding or _encoding_of(path, self._read))
        # All bytes are text in Latin 1, so that none ends the reading, and each cell is decoded by itself afterwards.
        # Dates stay numbers: as objects of Python some would raise.
        self._settings = {"output_format": "dict", "disable_datetime_conversion": True, "encoding": "LATIN1"}
        declared = {} if path.suffix.lower() == ".xpt" else {"user_missing": True}
        about = run_guarded(self._what, lambda: self._read(path, metadataonly=True, **declared, **self._settings)[1])
        self._written = run_guarded(self._what, lambda: {self._text(name): name for name in about.column_names})
        self.names = list(self._written)
        self._types: dict[str, str] = self._by_name(about.readstat_variable_types)
        self._formats: dict[str, str] = self._by_name(about.original_variable_types)
        self._declared: dict[str, list[dict[str, Any]]] = self._by_name(about.missing_ranges)
        # Codes that the file's author declared as missing are values where the schema lists them.
        self._kept = {name: list(codes) for name, codes in listed.items() if codes and self._declared.get(name)}
        empty = {name: polars_held(self._column(name, []).dtype) for name in self.names}
        self.held: Mapping[str, Held] = empty

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        kept = {"user_missing": True} if self._kept.keys() & set(columns) else {}
        written = [self._written[name] for name in columns]
        found = run_guarded(self._what, lambda: self._read(self.path, usecols=written, **kept, **self._settings)[0])
        column = self._coded if kept else self._column
        frame = run_guarded(
            self._what,
            lambda: pl.DataFrame([column(name, found.pop(each)) for name, each in zip(columns, written, strict=True)]),
        )
        yield from polars_reader(frame).chunks(columns, rows)

    def _by_name(self, about: Mapping[str, T]) -> dict[str, T]:
        """Return what a file says of its columns, by their names as text."""
        return {name: about[written] for name, written in self._written.items() if written in about}

    def _text(self, cell: Any) -> Any:  # noqa: ANN401 - a text, a number or None
        """Return what was read as Latin 1 as the text that it is; bytes that are no text keep their numbers."""
        return cell.encode("latin-1").decode(self._encoding, "backslashreplace") if isinstance(cell, str) else cell

    def _coded(self, name: str, cells: list[Any]) -> pl.Series:
        """Return a column that was read with its declared codes, without those that the schema does not list."""
        kept, declared = self._kept.get(name, ()), self._declared.get(name, ())
        for each in declared:
            cells = [
                None if cell is not None and self._text(cell) not in kept and each["lo"] <= cell <= each["hi"] else cell
                for cell in cells
            ]
        return self._column(name, cells)

    def _column(self, name: str, cells: list[Any]) -> pl.Series:
        if self._types[name] == "string":
            return pl.Series(name, map(self._text, cells), dtype=pl.String)
        numbers = pl.Series(name, cells, dtype=pl.Float64, strict=False)
        scale = time_scale(self._program, self._formats[name])
        if scale is None:
            return numbers
        if scale.kind == "month":
            months = pl.lit(numbers.floor().clip(-3e6, 3e6).cast(pl.Int64))
            return pl.select(pl.date(1960 + months // 12, months % 12 + 1, 1).alias(name)).to_series()
        microseconds = (numbers * scale.unit + scale.start).round().clip(-9e18, 9e18).cast(pl.Int64)
        return microseconds.cast(pl.Duration("us") if scale.kind == "time" else pl.Datetime("us"))
