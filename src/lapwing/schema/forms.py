"""The public forms in which cells may be written: each cell has one, and noisy counts of them tell what a column holds.

A form may go with several ways of writing: 1.832 is a number of three decimals, or of none where points part thousands.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lapwing.schema.fields import FieldType
from lapwing.schema.reading import PLAIN, Reading

TEXT: Final = "text"
"""The form of all that has no other."""

CODE: Final = "code"
"""The form of whole numbers that begin with a zero, which are rather codes."""

TRUTH: Final = "truth"
"""The form of true and false."""

WHOLE: Final = "whole"
"""The form of whole numbers without a point or a comma."""

MOST_PLACES: Final = 6
"""Decimals that are told apart."""

_SIGN: Final = "[+-]?"
_DIGITS: Final = "(?:0|[1-9][0-9]{0,17})"  # of longer ones no 64 bits hold all: they are names of something
_HEAD: Final = f"^{_SIGN}[1-9][0-9]{{0,2}}"
_DAY: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ZONE: Final = "(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?$"
_LOW: Final = "(?:0?[1-9]|1[0-2])"
_HIGH: Final = "(?:1[3-9]|2[0-9]|3[01])"
_SPACE: Final = "[ \u00a0\u202f]"


def _decimals(point: str) -> Iterator[tuple[str, str]]:
    """Yield the forms of numbers with a point, without zeros at their end; more: of more decimals or an exponent."""
    sign = re.escape(point)
    yield f"{point}group", f"{_HEAD}{sign}[0-9]{{3}}$"
    yield f"{point}0", f"^{_SIGN}{_DIGITS}{sign}0*$"
    for places in range(1, MOST_PLACES + 1):
        yield f"{point}{places}", f"^{_SIGN}{_DIGITS}?{sign}[0-9]{{{places}}}0*$"
    number = f"(?:{_DIGITS}{sign}?[0-9]*|{sign}[0-9]+)"
    yield f"{point}more", f"^{_SIGN}(?:{_DIGITS}?{sign}[0-9]+|{number}[eE]{_SIGN}[0-9]+)$"


_GROUPED: Final = ((",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."))
"""Signs between thousands, and points that go with them."""


def _groups() -> Iterator[tuple[str, str]]:
    """Yield the forms of numbers with signs between thousands; one sign alone may be a point."""
    for sign, point in _GROUPED:
        group = f"(?:{_SPACE if sign == ' ' else re.escape(sign)}[0-9]{{3}})"
        yield f"{sign}groups", f"{_HEAD}{group}{'{2,}' if sign in '.,' else '+'}$"
        yield f"{sign}groups{point}", f"{_HEAD}{group}+{re.escape(point)}[0-9]+$"


UNITS: Final = (*"%‰$€£¥₹", "CHF", "EUR", "GBP", "JPY", "USD", "kr", "zł")
"""What may stand before or behind a number."""

_OF_UNITS: Final = re.compile(rf"[.,]?(?:{WHOLE}|[012]|more|group)|[., ']groups[.,]?")
"""The forms of numbers that are also told beside a unit; more decimals are one form there."""


def _with_units(forms: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the forms of numbers beside a unit."""
    unit = f"(?:{'|'.join(map(re.escape, UNITS))})"
    for form, pattern in forms.items():
        if _OF_UNITS.fullmatch(form):
            number = pattern.removeprefix(f"^{_SIGN}").removesuffix("$")
            before = f"(?:{_SIGN}{unit}{_SPACE}?|{unit}{_SPACE}?{_SIGN})"
            yield f"{form}%", f"^(?:{before}{number}|{_SIGN}{number}{_SPACE}?{unit})$"


PAIRS: Final[Mapping[str, tuple[str, str]]] = {
    f"{no}/{yes}": (no, yes)
    for lower in (("no", "yes"), ("n", "y"), ("nein", "ja"), ("non", "oui"))
    for no, yes in dict.fromkeys((lower, (lower[0].title(), lower[1].title()), (lower[0].upper(), lower[1].upper())))
}
"""Pairs of words that mean no and yes."""

_BARE: Final = {
    WHOLE: f"^{_SIGN}{_DIGITS}$",
    **dict(_decimals(".")),
    **dict(_decimals(",")),
    **dict(_groups()),
}

FORMS: Final[Mapping[str, str]] = {
    TRUTH: "^(?:true|True|TRUE|false|False|FALSE)$",
    **{form: f"^(?:{'|'.join(pair)})$" for form, pair in PAIRS.items()},
    CODE: "^0[0-9]+$",
    **_BARE,
    **dict(_with_units(_BARE)),
    "day": f"{_DAY}$",
    "minute": rf"{_DAY}[T ][0-9]{{2}}:[0-9]{{2}}(?::00(?:[.,]0+)?)?{_ZONE}",
    "second": rf"{_DAY}[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:[.,][0-9]+)?{_ZONE}",
    "d.m.": r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}$",
    "d/m/": f"^{_HIGH}/{_LOW}/[0-9]{{4}}$",
    "m/d/": f"^{_LOW}/{_HIGH}/[0-9]{{4}}$",
    "either/": f"^{_LOW}/{_LOW}/[0-9]{{4}}$",
    TEXT: "",
}
"""What each form matches: a cell, without white space around it, has the first one that it matches."""


STEPS: Final = (*range(MOST_PLACES + 1), "day", "minute")
"""The steps that forms may need, coarse ones first: decimals of numbers, units of time."""


@dataclass(frozen=True, slots=True)
class Writing:
    """One way to write the cells of a column: its type, how they are read, and its forms.

    steps: which of `STEPS` each form needs; None where that is the finest.
    """

    type: FieldType
    reading: Reading
    steps: Mapping[str, int | str | None]


def _numbers(point: str) -> Iterator[Writing]:
    """Yield the ways to write numbers with a point: the plain one first."""
    places = {f"{point}{each}": each for each in range(MOST_PLACES + 1)}
    plain = {WHOLE: 0, **places, f"{point}more": None, f"{point}group": 3}
    yield Writing("number", Reading(decimal_char=point), plain)
    for sign, its_point in _GROUPED:
        if its_point == point:
            # Two decimals, as money has them: those below a thousand tell it.
            groups = {f"{sign}group": 0, f"{sign}groups": 0, f"{sign}groups{point}": 2}
            steps = {**plain, **{form: step for form, step in groups.items() if form in FORMS}}
            yield Writing("number", Reading(decimal_char=point, group_char=sign), steps)


def _beside_units(each: Writing) -> Writing:
    """Return a way to write numbers of which some stand beside a unit."""
    steps = {f"{form}%": step for form, step in each.steps.items() if f"{form}%" in FORMS}
    return Writing("number", replace(each.reading, bare_number=False), {**each.steps, **steps})


NUMBERS: Final = tuple(
    way for point in ".," for ways in [[*_numbers(point)]] for way in (*ways, *map(_beside_units, ways))
)
"""The ways to write numbers: of each point the bare ones first."""

MOMENTS: Final = Writing("datetime", PLAIN, {"day": "day", "minute": "minute", "second": None})
"""The way to write moments."""

DATES: Final = (
    Writing("date", PLAIN, {"day": "day"}),
    MOMENTS,
    Writing("date", Reading(date_format="%d.%m.%Y"), {"d.m.": "day"}),
    Writing("date", Reading(date_format="%d/%m/%Y"), {"d/m/": "day", "either/": "day"}),
    Writing("date", Reading(date_format="%m/%d/%Y"), {"m/d/": "day", "either/": "day"}),
)
"""The ways to write dates and moments; days alone are dates."""
