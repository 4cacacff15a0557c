"""Single values as they stand in a schema file: dates, numbers, and the key by which a value is recognised."""

import difflib
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from numbers import Integral, Number
from types import FunctionType
from typing import Any, Final, cast

from lapwing.errors import ParameterError
from lapwing.errors import visible as visible

MICROSECONDS: Final[dict[str, int]] = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
}
"""Microseconds in one unit of a datetime field's resolution."""

_EPOCH: Final = date(1970, 1, 1)
_EPOCH_TIME: Final = datetime(1970, 1, 1)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATETIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?", re.ASCII)
_QUOTED_CHARACTERS: Final = 80
_NEAR: Final = 0.7
_SHOWN_PARTS: Final = 10
_SINGLE: Final = frozenset({str, bytes, date, datetime})


def quote(value: object) -> str:
    """Return a schema value as it should stand in an error sentence: JSON text, shortened, on one line."""
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, Mapping):
        return "an object"
    if not (value is None or isinstance(value, str | int | float)):
        return f"a value of type {type(value).__name__}"
    if isinstance(value, str):
        value = value[: _QUOTED_CHARACTERS + 1].encode("utf-8", "replace").decode()
    return _in_short(partial(json.dumps, value, ensure_ascii=False))


def in_full(text: str) -> str:
    """Return a text on one line; in quotes where it begins or ends with white space, which nobody would see.

    >>> in_full("male"), in_full("male ")
    ('male', '"male "')
    """
    return visible(text) if text == text.strip() != "" else f'"{visible(text)}"'


def _in_short(write: Callable[[], str]) -> str:
    """Return what is written of a value, shortened, on one line."""
    try:
        text = visible(write())
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= _QUOTED_CHARACTERS else text[:_QUOTED_CHARACTERS] + "..."


def safe_repr(value: object) -> str:
    """Return what was given for a setting as an error may show it, cut: what could hold rows by its type only."""
    is_short = isinstance(value, list | tuple) and len(value) <= _SHOWN_PARTS
    if not (_is_single(value) or (is_short and all(map(_is_single, value)))):  # type: ignore[call-overload]
        kind = type(value).__name__
        return f"{'an' if kind[0] in 'AEIOaeio' else 'a'} {kind}"
    return _in_short(partial(repr, value))


def is_among(value: object, words: Sequence[str]) -> bool:
    """Return whether a setting is one of some words; a table, which cannot be compared with a word, is not."""
    return isinstance(value, str) and value in words


MOST_ROWS: Final = 2**40
"""Most rows that are drawn, expected, or made public by a table."""


def check_row_count(
    what: str, number: object, least: int = 0, most: int = MOST_ROWS, *, such_as: int = 1000, code: str = "LW325"
) -> int:
    """Return a number of rows, if it is one; of every model the same, so that it is refused before one is paid.

    >>> check_row_count("rows", 10)
    10
    """
    if isinstance(number, bool) or not isinstance(number, Integral) or not least <= int(number) <= most:
        limit = "2**40" if most == MOST_ROWS else f"{most:,}"
        rule = f"must be a whole number from {least} to {limit}"
        raise ParameterError(f"{what} {rule}, got {safe_repr(number)}; give one such as {such_as}", code=code)
    return int(number)


def check_whole_number(
    what: str, value: object, least: int, most: int | None = None, hint: str = "", *, limit: str = "", code: str
) -> int:
    """Return a whole number, if it is one in a range, the end of which may be told in other words."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        ends = f"of at least {least}" if most is None else f"from {least} to {limit or most}"
        raise ParameterError(f"{what} must be a whole number {ends}, got {safe_repr(value)}{hint}", code=code)
    return value


def is_encodable(text: str) -> bool:
    """Return whether a text can be written as UTF-8 (JSON escapes can hold half a surrogate pair)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def path_text(setting: str, value: object) -> str:
    """Return the path that was given for a setting, as text."""
    if isinstance(value, str | os.PathLike) and isinstance(text := os.fspath(value), str):
        return text
    raise ParameterError(f"{setting} must be the path of a file, got {safe_repr(value)}; give it as text", code="LW304")


def _is_single(value: object) -> bool:
    """Return whether a value is one number or text, or a thing with a name; no object whose own text could be long."""
    return value is None or type(value) in _SINGLE or isinstance(value, Number | type | FunctionType)


def whole_number(value: object) -> int | None:
    """Return a whole number written as an int or as an integral float as an int; None for anything else."""
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    return int(cast("float", value)) if is_whole and not isinstance(value, bool) else None


def finite_number(value: object) -> int | float | None:
    """Return an int (also for an integral float) or a float that a finite float can stand for; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    return int(value) if number.is_integer() and abs(number) < 2**53 else value


def is_finite_number(value: object) -> bool:
    """Return whether a value is an int or float (not a boolean) that a finite float can stand for."""
    return finite_number(value) is not None


def category_key(value: str | float) -> str:
    """Return the text by which a cell and a category are the same; numbers go by their value: 3 and 3.0 are ``3``."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not value.is_integer():
        return repr(float(value))
    return str(int(value))


def parse_date(text: object) -> int | None:
    """Return the days since 1970-01-01 of an ISO date such as ``2010-12-31``, or None where it is not one."""
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        return None
    try:
        return (date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        return None


def parse_datetime(text: object) -> int | None:
    """Return the microseconds since 1970-01-01 of an ISO date or date and time without zone, or None."""
    days = parse_date(text)
    if days is not None:
        return days * MICROSECONDS["day"]
    if not isinstance(text, str) or not _DATETIME.fullmatch(text):
        return None
    try:
        return (datetime.fromisoformat(text) - _EPOCH_TIME) // timedelta(microseconds=1)
    except ValueError:
        return None


def date_text(days: int) -> str:
    """Return days since 1970-01-01 as an ISO date."""
    return (_EPOCH + timedelta(days=days)).isoformat()


def datetime_text(microseconds: int) -> str:
    """Return microseconds since 1970-01-01 as an ISO date and time."""
    return (_EPOCH_TIME + timedelta(microseconds=microseconds)).isoformat()


def find_duplicate(values: Sequence[Any], keys: Sequence[Any] | None = None) -> list[Any]:
    """Return the first value whose key (by default itself) stood before, as a list of at most one."""
    keys = values if keys is None else keys
    if len(set(keys)) == len(keys):
        return []
    seen: set[Any] = set()
    for value, key in zip(values, keys, strict=True):
        if key in seen:
            return [value]
        seen.add(key)
    return []


# -- What somebody may have meant by a text that is not listed.


_COMPARED = 10_000  # of a longer list, to answer at once


def nearest(text: str, known: Iterable[str]) -> list[str]:
    """Return the known texts nearest to another one, whatever their case: at most three, the nearest first."""
    folded = {name.casefold(): name for name in itertools.islice(known, _COMPARED)}
    return [folded[name] for name in difflib.get_close_matches(text[:_COMPARED].casefold(), folded, cutoff=_NEAR)]


def did_you_mean(text: object, known: Iterable[str], otherwise: str) -> str:
    """Return a question about the known texts nearest to another one, or what is said where none is near."""
    near = nearest(text, known) if isinstance(text, str) else []
    return f"did you mean {' or '.join(map(quote, near))}?" if near else otherwise


def names_in_short(names: Sequence[str], most: int = 10) -> str:
    """Return names in quotes, the first ones of them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(quote, names[:most])) + more


def align_lines(lines: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """Return lines of cells, the first of them the heading, as text with aligned columns.

    >>> print(align_lines([("sex", "count"), ("Female", "7")], right=[1]))
    sex     count
    Female      7
    """
    to_the_right = set(right)
    lines = [[visible(cell).replace("\n", " ") for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if position in to_the_right else cell.ljust(width)
            for position, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
