"""Guess how a text file or workbook is laid out, and ask what its owner has to decide: internal, for drafts and looks.

A question quotes no cell, and counts nothing: it may stand in the draft.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import polars as pl

from lapwing.errors import DataError
from lapwing.extras.connect.tables.workbooks import ExcelFile
from lapwing.extras.evaluate.internal.tallies import Tally, values_of
from lapwing.extras.evaluate.words import say
from lapwing.rows.cells import Texts, text_of
from lapwing.rows.files import WIDE_TEXT, TableFile, is_wide_text, open_file
from lapwing.rows.formats import BEYOND, CsvFile, open_bytes
from lapwing.rows.guard import run_guarded
from lapwing.schema.fields import Field
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.scalars import quote

_BLOCK: Final = 2**20
T = TypeVar("T")

_LINES: Final = 200
_MOST_TITLES: Final = 30
_MOST_NOTES: Final = 5  # lines below the rows
_ALIKE: Final = 0.9  # of the first lines have as many cells as the line of names
_SIGNS: Final = (",", ";", "\t", "|")
_RARE_SIGNS: Final = (":", "^", "~", "\x1f", "\x01", "\u00a6", "\u00a7")  # where no other will do
_CELL_OF_ROW: Final = r"^\s*[-+]?[0-9]*[.,]?[0-9]+\s*%?\s*$|^\s*[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}"
_YEAR: Final = r"^\s*(19|20)[0-9]{2}\s*$"
_TOTALS: Final = frozenset(
    [
        *("total", "totals", "grandtotal", "subtotal", "sum", "summe", "gesamt", "gesamtsumme", "insgesamt", "somme"),
        *("totale", "totaal", "suma", "razem", "celkem", "summa", "yhteensä", "итого", "всего", "合计", "average"),
        *("mean", "mittelwert", "durchschnitt", "moyenne", "media", "promedio"),
    ]
)
_LEAST_SUMMED: Final = 3


@dataclass(frozen=True, slots=True)
class _Row:
    """A row that is not empty, and how many lines stand above it."""

    above: int
    cells: Sequence[str]

    @property
    def filled(self) -> int:
        return sum(bool(cell.strip()) for cell in self.cells)


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How a file seems to be written, and what is asked about it."""

    dialect: Dialect = PLAIN_FILE
    questions: tuple[str, ...] = ()


def guess_layout(paths: Sequence[Path]) -> FileLayout:
    """Return how the files of one table seem to be written, by the first, and what their owner is asked."""
    found = _guess(paths[0])
    other = next((path for path in paths[1:] if _guess(path).dialect != found.dialect), None)
    more = () if other is None else (say("layout.otherwise", file=quote(str(other))),)
    return replace(found, questions=(*found.questions, *more))


def guess_encoding(path: Path) -> str | None:
    """Return the encoding of a text file, where it has to be said."""
    return _read(path, lambda: _encoding(path))[0]


def questions_of_rows(
    files: Sequence[TableFile], tallies: Mapping[str, Tally], fields: Iterable[Field]
) -> tuple[str, ...]:
    """Return what the rows of files leave to ask; tallies: of their columns and of `BEYOND`."""
    asked = []
    beyond, is_text = tallies.get(BEYOND), all(isinstance(file, CsvFile) for file in files)
    if beyond is not None and (further := _count_of(beyond, lambda texts: texts != "")):
        asked.append("unnamed" if not is_text else "shifted" if further == beyond.rows else "more")
    if is_text:
        own = [tally for name, tally in tallies.items() if name != BEYOND]
        asked += ["fewer"] * any(_count_of(tally, lambda texts: texts.is_null()) for tally in own)
        asked += ["line_ends"] * any(_count_of(tally, lambda texts: texts.str.contains(r"[\r\n]")) for tally in own)
    asked += ["total"] * _ends_in_total(tallies, fields, len(files))
    return tuple(say(f"layout.{each}") for each in asked)


def ends_in_no_row(file: TableFile, tallies: Mapping[str, Tally], fields: Sequence[Field]) -> bool:
    """Tell whether the last line of a file is a total of the others, or a note: text short of a cell."""
    last = tallies[fields[-1].name]
    return (isinstance(file, CsvFile) and _is_torn(last)) or _ends_in_total(tallies, fields, 1)


def _is_torn(tally: Tally) -> bool:
    """Tell whether the last row has no cell in a column, as only a few have none."""
    is_short = isinstance(tally.last, Texts) and tally.last.values.to_list() == [None]
    return is_short and _count_of(tally, lambda texts: texts.is_null()) <= min(_MOST_NOTES, tally.rows // _MOST_NOTES)


def _ends_in_total(tallies: Mapping[str, Tally], fields: Iterable[Field], files: int) -> bool:
    return any(_is_total_word(tallies[each.name], files) or _is_sum(tallies[each.name], each) for each in fields)


def _guess(path: Path) -> FileLayout:
    file = open_file(path)
    if isinstance(file, ExcelFile):
        cells = ([text_of(cell) or "" for cell in line] for line in _read(path, lambda: _lines_of(file)))
        rows = [_Row(place, _without_end(row)) for place, row in enumerate(cells) if any(map(str.strip, row))]
        place = _place_of_names(rows)
        return FileLayout(Dialect(skip_rows=rows[place].above if place else 0), _questions_of_names(rows, place))
    if not isinstance(file, CsvFile):
        return FileLayout()
    if is_wide_text(file):
        raise DataError(f"file {quote(str(path))} {WIDE_TEXT}", code="LW116")
    return _read(path, lambda: _guess_text(path, file.separator))


def _read(path: Path, look: Callable[[], T]) -> T:
    return run_guarded(f"file {quote(str(path))} cannot be read as text", look)


def _lines_of(file: ExcelFile) -> list[list[object]]:
    return list(islice(file.lines(), _LINES))


def _without_end(cells: Sequence[str]) -> list[str]:
    """Return cells up to the last that is filled."""
    filled = [place for place, cell in enumerate(cells) if cell.strip()]
    return list(cells[: filled[-1] + 1]) if filled else []


def _guess_text(path: Path, separator: str) -> FileLayout:
    encoding, sample = _encoding(path)
    lines = re.split("\r\n|\n|\r", sample.decode(encoding or "utf-8-sig", "replace"))
    if len(sample) >= _BLOCK:
        lines.pop()  # it may be cut off
    sign, quote_char = _signs_of(lines[:_LINES], separator)
    rows = _rows(lines[:_LINES], sign, quote_char)
    place = _place_of_names(rows)
    asked = _questions_of_names(rows, place)
    if rows and len(rows[place].cells) == 1 and _may_have_more(rows[place:]):
        asked = (say("layout.one_column"), *asked)
    dialect = Dialect(
        delimiter=None if sign == separator else sign,
        quote_char=quote_char,
        encoding=encoding,
        skip_rows=rows[place].above if place else 0,
    )
    return FileLayout(dialect, asked)


def _signs_of(lines: Sequence[str], separator: str) -> tuple[str, str]:
    """Return the separator and the sign around cells that make nearly all lines as long as the line of names."""
    usual = dict.fromkeys((separator, *_SIGNS))
    for quote_char, signs in (('"', usual), ("'", usual), ('"', _RARE_SIGNS)):
        widths = {sign: _width(_rows(lines, sign, quote_char), alike=True) for sign in signs}
        best = max(widths, key=lambda sign: widths[sign])
        if widths[best] and (quote_char == '"' or any(f"{best}'" in line for line in lines)):
            return best, quote_char
    # Cells that hold the separator unquoted make lines longer, but not the line of names.
    widths = {sign: _width(_rows(lines, sign, '"'), alike=False) for sign in usual}
    best = max(widths, key=lambda sign: widths[sign])
    return (best if widths[best] else separator), '"'


def _rows(lines: Sequence[str], separator: str, quote_char: str) -> list[_Row]:
    reader = csv.reader(lines, delimiter=separator, quotechar=quote_char)
    found, above = [], 0
    for cells in reader:
        if cells:
            found.append(_Row(above, cells))
        above = reader.line_num
    return found


def _width(rows: Sequence[_Row], *, alike: bool) -> int:
    """Return the number of names, at least two, where nearly all rows have as many cells, or at least as many; else 0.

    Where rows may have more cells, the names stand in the first line.
    """
    place = _place_of_names(rows) if alike else 0
    width = len(rows[place].cells) if rows else 0
    below = [len(row.cells) for row in rows[place:]]
    fitting = sum(each == width if alike else each >= width for each in below)
    return width if width > 1 and fitting >= _ALIKE * len(below) else 0


def _place_of_names(rows: Sequence[_Row]) -> int:
    """Return which row has the names: the first, or below titles the first of the usual length that may be names.

    It may be longer where the last columns are empty: of workbooks, rows end at their last cell.
    """
    if not rows:
        return 0
    counts = Counter(len(row.cells) for row in rows)
    usual = max(counts, key=lambda width: (counts[width], width))
    first, half = rows[0], max(1, usual // 2)
    # Names that are one fewer than the cells below them are those that R writes beside names of rows.
    is_short = len(first.cells) < usual and (first.filled <= half or len(first.cells) < usual - 1)
    if not is_short and not first.filled <= min(half, usual - 2):
        return 0
    may_be = (place for place, row in enumerate(rows[:_MOST_TITLES]) if len(row.cells) >= usual and _are_names(row))
    return next(may_be, 0)


def _are_names(row: _Row) -> bool:
    """Tell whether the cells of a row may be names of columns: all filled, all different, and no numbers or dates."""
    known = {cell.strip() for cell in row.cells}
    return "" not in known and len(known) == len(row.cells) and not any(map(_is_cell_of_row, known))


def _is_cell_of_row(cell: str) -> bool:
    return re.search(_CELL_OF_ROW, cell) is not None and re.search(_YEAR, cell) is None


def _questions_of_names(rows: Sequence[_Row], place: int) -> tuple[str, ...]:
    names = rows[place].cells if rows else ()
    asked = ["titled"] * (place > 0) + ["no_names"] * any(map(_is_cell_of_row, names))
    asked += ["unnamed"] * any(not name.strip() for name in names)
    asked += ["spaced_names"] * any(name.strip() not in (name, "") for name in names)
    return tuple(say(f"layout.{each}") for each in asked)


def _may_have_more(rows: Sequence[_Row]) -> bool:
    """Tell whether all cells of a lone column could be split at a sign, or at white space, into as many parts."""
    cells = [row.cells[0].strip() for row in rows if len(row.cells) == 1]
    splits = [
        *(rf"\s*{re.escape(sign)}\s*" for sign in (*_SIGNS, *_RARE_SIGNS, "#", "&", "!", "@")),
        r"\s{2,}|\t",
        r"\s",
    ]
    for split in splits:
        counts = [len(re.split(split, cell)) for cell in cells]
        # A lone name of two words, or a time of day, is no row of names.
        if counts[0] > (2 if split == r"\s" else 1) and counts.count(counts[0]) >= _ALIKE * len(counts):
            return True
    return any(sign in cells[0] for sign in _SIGNS)


def _count_of(tally: Tally, is_so: Callable[[pl.Series], pl.Series]) -> int:
    """Return how many cells are texts of which something is so."""
    return sum(
        int(counts.filter(is_so(cells.values).fill_null(value=False)).sum())
        for cells, counts in tally.parts
        if isinstance(cells, Texts)
    )


def _is_total_word(tally: Tally, files: int) -> bool:
    """Tell whether the last cell is a word for a total that stands in no other row, but for one of each file."""
    if not isinstance(tally.last, Texts) or not (last := tally.last.values.to_list()) or last[0] is None:
        return False
    words = re.sub(r"[\W_]+", " ", last[0]).casefold().split()
    is_word = bool(words) and bool({words[0], words[-1], "".join(words[:2])} & _TOTALS)
    return is_word and _count_of(tally, lambda texts: texts == last[0]) <= files


def _is_sum(tally: Tally, field: Field) -> bool:
    """Tell whether the last cell is the sum of all others."""
    if field.type not in ("integer", "number") or tally.last is None:
        return False
    last = values_of(tally.last, field).cast(pl.Float64).to_list()
    if not last[0]:
        return False
    first = values_of(tally.first, field).cast(pl.Float64).abs()
    if int((first >= abs(last[0])).sum()) > 1:  # it is not the largest: most columns need no other look
        return False
    found = [(values_of(cells, field).cast(pl.Float64), counts) for cells, counts in tally.parts]
    values = np.concatenate([each.fill_null(0).to_numpy() for each, _ in found])
    counts = np.concatenate([each.to_numpy() for _, each in found])
    others = int(counts[values != 0].sum()) - 1
    is_largest = int(counts[np.abs(values) >= abs(last[0])].sum()) == 1
    total = float(values @ counts) - last[0]
    return others >= _LEAST_SUMMED and is_largest and bool(np.isclose(total, last[0], rtol=1e-9, atol=0))


def _encoding(path: Path) -> tuple[str | None, bytes]:
    """Return the encoding in which all of a file can be read, None for UTF-8, and its beginning."""
    with open_bytes(path) as file:
        first = block = file.read(_BLOCK)
        decoder = codecs.getincrementaldecoder("utf-8")()
        is_windows, is_text = True, True
        while block:
            is_windows &= not any(byte in block for byte in b"\x81\x8d\x8f\x90\x9d")
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                is_text = False
            block = file.read(_BLOCK)
    return None if is_text else "cp1252" if is_windows else "latin-1", first
