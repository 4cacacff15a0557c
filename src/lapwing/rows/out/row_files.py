"""What files and folders of rows are called."""

import os
import re
from pathlib import Path
from typing import Final, Literal

from lapwing.errors import ParameterError

Format = Literal["parquet", "csv"]

_FORMATS: Final[dict[str, Format]] = {".parquet": "parquet", ".csv": "csv"}
_PART: Final = re.compile(r"part-\d{5,}\.parquet")


def has_row_name(file: Path) -> bool:
    """Return whether a file's name says that it holds rows."""
    return file.suffix.lower() in _FORMATS


def rows_format(file: Path) -> Format:
    """Return the format that a file's name asks for.

    >>> rows_format(Path("rows.CSV"))
    'csv'
    """
    found = _FORMATS.get(file.suffix.lower())
    if found is None:
        raise ParameterError(
            f"the name of the rows' file must end in .parquet or .csv, got {file.name!r}; rename it", code="LW114"
        )
    return found


def is_folder_name(text: str) -> bool:
    """Return whether rows that are written there go to a folder.

    Its name ends in a slash, or it is one already, and is not called as files of rows are.
    """
    separators = (os.sep,) if os.altsep is None else (os.sep, os.altsep)
    return text.endswith(separators) or (os.path.isdir(text) and not has_row_name(Path(text)))


def part_name(number: int) -> str:
    """Return what one file of a folder of rows is called.

    >>> part_name(7)
    'part-00007.parquet'
    """
    return f"part-{number:05d}.parquet"


def is_part(file: Path) -> bool:
    """Return whether a file could be one of a folder of rows that was written here, by its name."""
    return bool(_PART.fullmatch(file.name)) and file.is_file()
