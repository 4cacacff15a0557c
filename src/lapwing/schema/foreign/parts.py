"""What the readers of dictionaries and web metadata share: numbers as people write them, and remarks by kind."""

import re
from collections.abc import Iterable
from typing import Final

from lapwing.errors import SchemaError
from lapwing.schema.fields import FieldType
from lapwing.schema.scalars import category_key, finite_number, parse_date, parse_datetime, quote

_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE: Final = re.compile(r"[+-]?\d+", re.ASCII)
# A longer text is no number that a table holds, and Python refuses whole numbers of thousands of digits.
_LONGEST: Final = 40
_NAMED: Final = 8


class Remarks:
    """Collect what has no counterpart, one sentence for each kind of thing, however many fields it concerns.

    Examples
    --------
    >>> remarks = Remarks()
    >>> remarks.add("units are left out", "age")
    >>> remarks.add("units are left out", "height")
    >>> remarks.texts()
    ('units are left out: "age", "height"',)
    """

    def __init__(self) -> None:
        self._fields: dict[str, list[str]] = {}

    def add(self, text: str, field: str | None = None) -> None:
        """Note something, of a field or of the whole file."""
        fields = self._fields.setdefault(text, [])
        if field is not None:
            fields.append(field)

    def texts(self) -> tuple[str, ...]:
        """Return the sentences, in the order in which their kinds were first met."""
        return tuple(f"{text}: {_named(fields)}" if fields else text for text, fields in self._fields.items())


def _named(fields: list[str]) -> str:
    """Return a few names, and how many more there are."""
    more = len(fields) - _NAMED
    return ", ".join(map(quote, fields[:_NAMED])) + (f" and {more} more" if more > 0 else "")


def number_of(value: object) -> int | float | None:
    """Return a number, also one written as text; None for anything else.

    Examples
    --------
    >>> number_of("501"), number_of(" 16.30 "), number_of("N"), number_of(True)
    (501, 16.3, None, None)
    """
    if isinstance(value, str):
        text = value[: _LONGEST + 1].strip()
        if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
            return None
        value = int(text) if _WHOLE.fullmatch(text) else float(text)
    return finite_number(value)


def bound_of(value: object, kind: FieldType) -> int | float | str | None:
    """Return a bound of numbers or dates as a schema writes it, or None where it is not written so.

    Examples
    --------
    >>> bound_of("12", "integer"), bound_of("2010-12-31", "date"), bound_of("31.12.2010", "date")
    (12, '2010-12-31', None)
    """
    if kind in ("integer", "number"):
        return number_of(value)
    parse = parse_date if kind == "date" else parse_datetime
    return value if isinstance(value, str) and parse(value) is not None else None


def is_written_whole(value: object) -> bool:
    """Return whether a number is written without a decimal point: 100 and "100" are, 100.0 is not."""
    if isinstance(value, str):
        return _WHOLE.fullmatch(value.strip()) is not None
    return isinstance(value, int) and not isinstance(value, bool)


def missing_texts(categories: Iterable[object] | None, texts: Iterable[str] = ("",)) -> tuple[str, ...]:
    """Return the texts that are read as missing: those given, less the ones that are categories.

    Examples
    --------
    >>> missing_texts(["a", ""], ["", "NA"])
    ('NA',)
    """
    taken = {category_key(value) for value in categories or () if isinstance(value, str | int | float)}
    return tuple(text for text in dict.fromkeys(texts) if text not in taken)


def scalars(values: Iterable[object], where: str) -> list[str | int | float]:
    """Return values that are texts or numbers, as they are.

    Raises
    ------
    SchemaError
        Where one is something else, or no finite number.
    """
    found = []
    for value in values:
        if not isinstance(value, str) and (isinstance(value, bool) or finite_number(value) is None):
            raise SchemaError(
                f"{where}: the value {quote(value)} must be a text or a finite number; correct it", code="LW261"
            )
        assert isinstance(value, str | int | float)
        found.append(value)
    return found
