"""Synthetic rows as a file of SPSS or Stata, with the labels of columns and of their values."""

import contextlib
import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from lapwing.extras.connect.tables.statistics import statistics_library, statistics_reader
from lapwing.schema.fields import Field

_LONGEST: Final = {".sav": (64, 255, 120), ".dta": (31, 80, 320)}
"""Bytes of a name, of a column's label and of a value's. Stata takes 32 of a name, and one less of a set of labels."""
_RESERVED: Final = re.compile(
    "all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with|byte|double|float|if|in|int|long|using|strl?[0-9]*", re.IGNORECASE
)
_MOST: Final = 2**31 - 101  # the largest whole number with a label in Stata
_LARGEST: Final = 8.9e307  # of its numbers


def write_statistics(frames: Iterable[pl.DataFrame], place: Path, suffix: str, fields: Sequence[Field]) -> None:
    """Write rows to ``.sav`` or ``.dta``, which hold them in memory once.

    No schema makes it fail: a name that the program does not allow is changed, and stands as the column's label.
    OSError where the file is not whole.
    """
    frame = pl.concat(frames)
    longest_name, longest_label, longest_value = _LONGEST[suffix]
    by_name = {field.name: field for field in fields}
    names = dict(zip(frame.columns, _names(frame.columns, longest_name), strict=True))
    settings: dict[str, Any] = {"column_labels": {}, "variable_value_labels": {}, "variable_format": {}}
    for name, dtype in frame.schema.items():
        field, written = by_name[name], names[name]
        about = field.description or ("" if written == name else name)
        if about:
            settings["column_labels"][written] = _cut(about, longest_label)
        if dtype.is_integer() or dtype == pl.Boolean:
            settings["variable_format"][written] = "F12.0" if suffix == ".sav" else "%12.0g"
        labels = {value: _cut(said, longest_value) for value, said in _labels(field, suffix, frame[name])}
        if labels:
            settings["variable_value_labels"][written] = labels
    library = statistics_library(suffix)
    write = library.write_dta if suffix == ".dta" else library.write_sav
    with contextlib.suppress(library.ReadstatError, library.PyreadstatError):
        write(pl.DataFrame({names[cells.name]: _plain(cells) for cells in frame}), place, **settings)
        found, _ = statistics_reader(place)(place, usecols=[*names.values()][:1], output_format="polars")
        if found.height == frame.height:
            return
    # The library does not say so itself where a disk is full.
    raise OSError(errno.EIO, "it is not whole when it is read back; is the disk full?")


def _plain(cells: pl.Series) -> pl.Series:
    """Return a column as these programs have it: all numbers are of 64 bits, and a zero byte ends a text."""
    if cells.dtype == pl.String:
        return cells.str.replace_all("\0", " ", literal=True)
    is_number = cells.dtype.is_numeric() or cells.dtype == pl.Boolean
    return cells.cast(pl.Float64).clip(-_LARGEST, _LARGEST) if is_number else cells


def _labels(field: Field, suffix: str, cells: pl.Series) -> Iterator[tuple[object, str]]:
    """Yield the values that have labels in a file, and these; in Stata no text has one."""
    if cells.dtype == pl.String and suffix == ".sav":
        seen = set(cells.unique())  # a longer one than the column is wide would make it unreadable
        yield from (pair for pair in field.labels if pair[0] in seen)
    elif cells.dtype.is_numeric() or cells.dtype == pl.Boolean:
        for text, said in field.labels:
            number = float(text)
            if suffix == ".sav":
                yield number, said
            elif number.is_integer() and abs(number) <= _MOST:
                yield int(number), said


def _names(columns: Iterable[str], longest: int) -> Iterator[str]:
    """Yield a name for each column that both programs allow, and no two alike but for case."""
    taken: set[str] = set()
    for column in columns:
        name = re.sub(r"\W", "_", column)
        if not name[:1].isalpha() or _RESERVED.fullmatch(name):
            name = f"v_{name}"
        name, number = _cut(name, longest), 1
        while name.lower() in taken:
            number += 1
            name = f"{_cut(name, longest - 8)}_{number}"
        taken.add(name.lower())
        yield name


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text that takes at most so many bytes."""
    return text.replace("\0", " ").encode()[:most].decode(errors="ignore")
