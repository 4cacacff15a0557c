"""Guess how a text file and its cells are written, from the cells themselves: internal, for drafts alone."""

import codecs
import csv
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from lapwing.rows.cells import (
    Numbers,
    RawColumn,
    Texts,
    missing_cells,
    moment_texts,
    number_texts,
    read_numbers,
    read_times,
)
from lapwing.rows.formats import open_bytes
from lapwing.rows.guard import guarded
from lapwing.rows.spelling import may_be_dates, speller
from lapwing.schema.fields import Field, FieldType
from lapwing.schema.reading import PLAIN, PLAIN_FILE, Dialect, Reading
from lapwing.schema.scalars import quote

_DATE_LENGTH: Final = 10
_BLOCK: Final = 2**20
_LINES: Final = 200
_USUAL_UNITS: Final = (
    *("%", "€", "$", "£", "¥", "eur", "usd", "gbp", "chf", "us$", "kr", "zł"),
    *("kg", "g", "mg", "km", "m", "cm", "mm", "l", "ml", "h", "min", "s", "°c", "°f"),
)
_ALIKE: Final = 0.9  # of the first lines have as many cells as the line of names
_SEPARATORS: Final = (",", ";", "\t", "|")

_WORDS: Final = ("NA", "N/A", "NaN", "null", "None", "missing", "unknown", "n.a.")
_SIGNS: Final = ("?", "-", ".", "*")

USUAL_MARKERS: Final = tuple(
    dict.fromkeys(
        [*_SIGNS, *(text for word in _WORDS for text in (word, word.lower(), word.upper(), word.capitalize()))]
    )
)
"""Texts that many tables have where a value is missing: public, and the only texts of cells that are ever shown."""

_GROUPED: Final = (",", " ", "'")
_DAYS: Final = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%B %d, %Y"),
)
_ALIKE_TYPES: Final = {"number": ("integer", "number"), "datetime": ("date", "datetime")}
_CLOCKS: Final = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")


def _numbers(reading: Reading) -> list[tuple[FieldType, Reading]]:
    return [("integer", reading), ("number", reading)]


_PLAIN: Final[list[tuple[FieldType, Reading]]] = [("boolean", PLAIN), *_numbers(PLAIN)]
_POINTS: Final = [each for sign in _GROUPED for each in _numbers(Reading(group_char=sign))]
_COMMAS: Final = [each for sign in ("", ".", " ", "'") for each in _numbers(Reading(decimal_char=",", group_char=sign))]
_UNITS: Final = [
    each
    for point, sign in ((".", ""), (".", ","), (",", ""), (",", "."))
    for each in _numbers(Reading(decimal_char=point, group_char=sign, bare_number=False))
]
_TIMES: Final[list[tuple[FieldType, Reading]]] = [
    ("date", PLAIN),
    ("datetime", PLAIN),
    *(("date", Reading(date_format=day)) for day in _DAYS),
    *(("datetime", Reading(date_format=f"{day} {clock}")) for day, clock in itertools.product(_DAYS, _CLOCKS)),
]
_WAYS: Final = [*_PLAIN, *_POINTS, *_COMMAS, *_UNITS, *_TIMES]
# Where another column has a decimal comma, 9.715 is a whole number of thousands.
_WAYS_WITH_COMMA: Final = [_PLAIN[0], _PLAIN[1], *_COMMAS, _PLAIN[2], *_POINTS, *_UNITS, *_TIMES]


@dataclass(frozen=True, slots=True)
class Written:
    """What a column of text looks like: its type, how it is written, and the usual markers for missing in it."""

    type: FieldType
    reading: Reading = PLAIN
    markers: tuple[str, ...] = ()


class ColumnGuess:
    """Narrow down what all cells of one column can be read as, chunk by chunk."""

    def __init__(self) -> None:
        self._possible = list(_WAYS)
        self._markers: set[str] = set()
        self._is_filled = False

    def add(self, cells: RawColumn) -> None:
        """Look at further cells; empty ones and usual markers tell nothing."""
        texts = _texts(cells).unique().str.strip_chars().replace("", None).drop_nulls()
        is_marker = texts.is_in(USUAL_MARKERS)
        self._markers.update(texts.filter(is_marker))
        texts = texts.filter(~is_marker)
        if len(texts):
            self._is_filled = True
            self._possible = [way for way in self._possible if _reads(texts, *way)]

    @property
    def markers(self) -> tuple[str, ...]:
        """The usual markers for missing that were seen."""
        return tuple(marker for marker in USUAL_MARKERS if marker in self._markers)

    @property
    def has_comma(self) -> bool:
        """Whether the column is one of numbers with a decimal comma, and can be nothing else."""
        return self._found(_WAYS) in _COMMAS

    def written(self, *, has_comma: bool) -> Written:
        """Return the first way in which all cells can be read, else a string.

        has_comma: whether another column of the file has a decimal comma for certain.
        """
        found = self._found(_WAYS_WITH_COMMA if has_comma else _WAYS)
        if found is None:
            return Written("string")
        return Written(*found, self.markers)

    def _found(self, ways: Sequence[tuple[FieldType, Reading]]) -> tuple[FieldType, Reading] | None:
        return next((way for way in ways if way in self._possible), None) if self._is_filled else None


def cure(field: Field, guess: ColumnGuess) -> str:
    """Return what to write in the schema so that the misfits of a field can be read, if it can be told.

    guess: has seen the misfits.
    """
    found = guess.written(has_comma=field.reading.decimal_char == ",")
    if found.type == "string":
        return ""
    keys = found.reading.to_dict()
    if found.type not in _ALIKE_TYPES.get(field.type, (field.type,)):
        keys = {"type": found.type, **keys}
    is_new = bool(keys) and keys != field.reading.to_dict()
    return f"write {json.dumps(keys, ensure_ascii=False)[1:-1]} in its field" if is_new else ""


def marker_cure(markers: Sequence[str]) -> str:
    """Return what to write where cells hold usual markers for missing."""
    return f"list {' and '.join(map(quote, markers))} in missingValues" if markers else ""


def _texts(cells: RawColumn) -> pl.Series:
    if isinstance(cells, Texts):
        return cells.values
    present = cells.values[~missing_cells(cells)]
    return number_texts(present) if isinstance(cells, Numbers) else moment_texts(present)


def _reads(texts: pl.Series, kind: FieldType, reading: Reading) -> bool:
    """Tell whether all texts can be read as a type that is written in one way."""
    if reading.date_format and not may_be_dates(texts.head(1), reading.date_format):
        return False
    if not reading.bare_number and not _has_one_unit(texts):
        return False
    spell = speller(kind, reading)
    plain = texts if spell is None else spell(texts)
    if kind in ("date", "datetime"):
        _, is_time = read_times(plain)
        has_day_alone = reading != PLAIN or bool((texts.str.len_chars() == _DATE_LENGTH).all())
        return bool(is_time.all()) and (kind == "datetime" or has_day_alone)
    is_flag = texts.str.to_lowercase().is_in(["true", "false"])
    if kind == "boolean":
        return bool(is_flag.all())
    numbers = read_numbers(plain)
    is_number = numbers.is_integer if kind == "integer" else numbers.is_integer | ~np.isnan(numbers.reals)
    return bool(is_number.all()) and not is_flag.any()


def _has_one_unit(texts: pl.Series) -> bool:
    """Tell whether all texts have one unit or currency beside their digits."""
    units = texts.str.replace_all(r"[0-9.,'+\-\s]", "").str.to_lowercase().unique()
    return len(units) == 1 and units[0] in _USUAL_UNITS


def guess_dialect(path: Path, separator: str) -> Dialect:
    """Return how a text file seems to be written; separator: that of its name, taken where it serves."""
    what = f"file {quote(str(path))} cannot be read as text"
    encoding, sample = guarded(what, lambda: _encoding(path))
    if encoding is None:
        return PLAIN_FILE
    lines = sample.decode(encoding, "replace").splitlines()[:_LINES]
    best = max(_SEPARATORS, key=lambda sign: (_width(lines, sign), sign == separator))
    is_own = best == separator or not _width(lines, best)
    return Dialect(
        delimiter=None if is_own else best, encoding=None if encoding in ("utf-8-sig", "utf-16") else encoding
    )


def _encoding(path: Path) -> tuple[str | None, bytes]:
    """Return the encoding in which all of a file can be read, and its beginning."""
    with open_bytes(path) as file:
        first = block = file.read(_BLOCK)
        if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16", first
        decoder = codecs.getincrementaldecoder("utf-8")()
        is_windows, is_text = True, True
        while block:
            is_windows &= not any(byte in block for byte in b"\x81\x8d\x8f\x90\x9d")
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                is_text = False
            block = file.read(_BLOCK)
    return "utf-8-sig" if is_text else "cp1252" if is_windows else "latin-1", first


def _width(lines: Sequence[str], separator: str) -> int:
    """Return the number of cells of the first line where nearly all others have as many and at least two, else 0."""
    rows = [row for row in csv.reader(lines, delimiter=separator) if row]
    if not rows or len(rows[0]) < 2:
        return 0
    alike = sum(len(row) == len(rows[0]) for row in rows)
    return len(rows[0]) if alike >= _ALIKE * len(rows) else 0
