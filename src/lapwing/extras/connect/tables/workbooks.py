"""Sheets of workbooks, read by a process of its own."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lapwing.errors import DataError, LapwingError, LapwingWarning, warn
from lapwing.extras.connect.tables import workbook_cells
from lapwing.extras.connect.tables.workbook_cells import MOST_CELLS, read_back
from lapwing.rows.cells import RawColumn, text_of, texts
from lapwing.rows.formats import BEYOND, EXACT
from lapwing.rows.guard import run_guarded
from lapwing.rows.kinds import Held
from lapwing.schema.reading import Dialect
from lapwing.schema.scalars import quote
from lapwing.version import install_command


class ExcelFile:
    """One sheet of a workbook, without its empty rows; names: those of the columns, where no row has them."""

    held: Mapping[str, Held] = MappingProxyType({})
    known_rows: int | None = None

    def __init__(self, path: Path, dialect: Dialect, names: Sequence[str] = ()) -> None:
        self.path = path
        self._dialect = dialect
        self._what = f"file {quote(str(path))} cannot be read as an Excel or OpenDocument workbook"
        self._sheets = 0
        first = run_guarded(self._what, lambda: next(self._rows(), []))
        self._columns = [text_of(cell) or "" for cell in first] if dialect.header else list(names)
        if dialect.sheet is None and self._sheets > 1:
            said = f"file {quote(str(path))} has {self._sheets} sheets, of which the first is read"
            warn(LapwingWarning(f'{said}; name another in the schema: "dialect": {{"sheet": ...}}', code="LW103"))
        self.names = [name for name in self._columns if name]

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        positions = {name: self._columns.index(name) for name in columns if name != BEYOND}
        below = run_guarded(self._what, lambda: list(self._rows()))[int(self._dialect.header) :]
        below = below[: max(0, len(below) - self._dialect.skip_footer)]
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
        self._sheets = len(sheets or ())
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
                f"{self._what}: it is damaged, or more than {MOST_CELLS:,} cells from its first corner on; save its "
                "table alone, or as CSV",
                code="LW103",
            )


def _parsed_lines(lines: Iterable[bytes]) -> Iterator[Any]:
    """Yield JSON lines, up to one that is none: a process that ended within it wrote no more."""
    with contextlib.suppress(ValueError):
        for line in lines:
            yield json.loads(line)


def _excel_cell(cell: object) -> object:
    """Return a cell as an object of Python: Excel has no empty texts, and no other numbers than floats."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < EXACT:
        return int(cell)
    return None if cell == "" else read_back(cell)


def _check_calamine() -> None:
    try:
        import python_calamine  # noqa: F401, PLC0415 - an extra
    except ImportError:
        pass
    else:
        return
    said = f"workbooks are read by python-calamine, which is not installed; run {install_command('connect')}"
    raise LapwingError(said, code="LW701")
