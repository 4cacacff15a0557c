"""A program of its own: print the cells of one sheet of a workbook as JSON, a list of rows in each line.

It runs in a process that may end alone: a file that says of itself that it is immense aborts the library that reads it,
which no `except` catches. So nothing of Lapwing is imported here, and what is used of memory has a limit where the
system knows one. The first line holds the names of the sheets, the last one is ``null``.
"""

import datetime as dt
import json
import sys
from collections.abc import Callable
from typing import Any, Final

MOST_CELLS: Final = 2**26
"""Of a sheet, from its first corner on, empty ones too."""
MOST_CHARACTERS: Final = 2**20
"""Of a text that is handed over; a longer one, where Excel's own limit is 32,767, is a cell that none can read."""

_MOST_BYTES: Final = 6 * 2**30
_ROWS: Final = 2**12


def plain(cell: object) -> object:
    """Return a cell as JSON has it: times as a list of their type and parts, which no other cell is."""
    if isinstance(cell, dt.timedelta):
        return ["timedelta", cell.days, cell.seconds, cell.microseconds]
    assert isinstance(cell, dt.date | dt.time)
    return [type(cell).__name__, cell.isoformat()]


def read_back(cell: object) -> object:
    """Return the cell that `plain` was given."""
    if not isinstance(cell, list):
        return cell
    name, *parts = cell
    makers: dict[str, Callable[..., object]] = {
        "timedelta": dt.timedelta,
        "datetime": dt.datetime.fromisoformat,
        "date": dt.date.fromisoformat,
        "time": dt.time.fromisoformat,
        "unreadable": object,
    }
    return makers[name](*parts)


def _handed_over(cell: object) -> object:
    return ["unreadable"] if isinstance(cell, str) and len(cell) > MOST_CHARACTERS else cell


def _limit_memory() -> None:
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    for what, most in ((resource.RLIMIT_AS, _MOST_BYTES), (resource.RLIMIT_CORE, 0)):
        soft, hard = resource.getrlimit(what)
        resource.setrlimit(what, (min(each for each in (most, soft, hard) if each >= 0), hard))


def _write(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value, default=plain)}\n")


def _print_cells(path: str, wanted: str) -> None:
    import python_calamine as calamine  # noqa: PLC0415 - an extra, once memory has its limit

    with calamine.load_workbook(path) as workbook:
        sheets = [each.name for each in workbook.sheets_metadata if each.typ == calamine.SheetTypeEnum.WorkSheet]
        _write(sheets)
        name = wanted or next(iter(sheets), None)
        sheet: Any = workbook.get_sheet_by_name(name) if name in sheets else None
        if sheet is not None and sheet.total_height * sheet.total_width > MOST_CELLS:
            sys.exit(1)
        rows = [] if sheet is None else sheet.to_python(skip_empty_area=False)
    for start in range(0, len(rows), _ROWS):
        _write([list(map(_handed_over, row)) for row in rows[start : start + _ROWS]])
    _write(None)


if __name__ == "__main__":
    _limit_memory()
    _print_cells(*sys.argv[1:])
