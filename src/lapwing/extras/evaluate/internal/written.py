"""Guess how cells are written, and of which type they are, from the cells themselves: internal, for drafts alone."""

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from lapwing.extras.evaluate.words import say
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
from lapwing.rows.spelling import may_be_dates, speller
from lapwing.schema.fields import Field, FieldType
from lapwing.schema.reading import PLAIN, Reading
from lapwing.schema.scalars import quote

_DATE_LENGTH: Final = 10
_DATES: Final = ("date", "datetime")
_AT_ONCE: Final = 1000
"""Texts that are tried in all ways; the others only in those that are left, up to the first that reads all."""

_MOST_HELD: Final = 2**20
_USUAL_UNITS: Final = (
    *("%", "€", "$", "£", "¥", "eur", "usd", "gbp", "chf", "us$", "kr", "zł"),
    *("kg", "g", "mg", "km", "m", "cm", "mm", "l", "ml", "h", "min", "s", "°c", "°f"),
)

_WORDS: Final = (
    *("NA", "N/A", "NaN", "null", "None", "missing", "unknown", "n.a.", "#N/A", "nil", "not available"),
    *("not applicable", "refused", "no answer", "don't know", "k.A.", "k. A.", "keine Angabe", "unbekannt", "n/d"),
    *("n.d.", "inconnu", "desconocido", "sin dato", "brak", "brak danych", "<LOD", "<LOQ"),
)
_SIGNS: Final = ("?", "-", ".", "*", "--", "---", "\u2013", "\u2014")

USUAL_MARKERS: Final = tuple(
    dict.fromkeys(
        [*_SIGNS, *(text for word in _WORDS for text in (word, word.lower(), word.upper(), word.capitalize()))]
    )
)
"""Texts that many tables have where a value is missing: public, and the only texts of cells that are ever shown."""

_GROUPED: Final = (",", " ", "'")
_DAYS: Final = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y"),
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
    """Narrow down what all cells of one column can be read as."""

    def __init__(self) -> None:
        self._possible = list(_WAYS)
        self._held: list[pl.Series] = []
        self._read: set[tuple[FieldType, Reading]] = set()
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
            self._possible = [way for way in self._possible if _reads(texts.head(_AT_ONCE), *way)]
            self._held.append(texts)
            self._read.clear()
        if len(self._held) > 1 and sum(map(len, self._held)) > _MOST_HELD:
            self._possible = [way for way in self._possible if self._reads_all(way)]
            self._held.clear()

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
        # 00123 is a code, or a number that is written to a length: as text nothing of it is lost; so is 12E3.
        is_code = found[0] in ("integer", "number") and any(map(have_codes, self._held))
        return Written("string", markers=self.markers) if is_code else Written(*found, self.markers)

    def _found(self, ways: Sequence[tuple[FieldType, Reading]]) -> tuple[FieldType, Reading] | None:
        """Return the first way that reads all; of each way that does not, the search is not repeated."""
        while self._is_filled and (way := next((way for way in ways if way in self._possible), None)) is not None:
            if way in self._read or self._reads_all(way):
                self._read.add(way)
                return way
            self._possible.remove(way)
        return None

    def _reads_all(self, way: tuple[FieldType, Reading]) -> bool:
        return all(_reads(texts, *way) for texts in self._held)


def have_codes(texts: pl.Series) -> bool:
    """Tell whether a text could be a number, and would lose something: a zero that it begins with, or the E of 12E3."""
    return bool(texts.str.contains(r"^\s*[+-]?0[0-9]|^\s*[0-9]+E[0-9]+\s*$").any())


def rival(texts: pl.Series, field: Field) -> str:
    """Ask about the other way in which all texts of a field could be read as well, if there is one.

    >>> field = Field(name="x", type="date", reading=Reading(date_format="%d/%m/%Y"))
    >>> rival(pl.Series(["03/04/2021", "12/12/2021"]), field)
    'may day and month be the other way round? the format %d/%m/%Y is a guess, %m/%d/%Y reads all cells, too'
    >>> rival(pl.Series(["03/04/2021", "13/12/2021"]), field)
    ''
    """
    reading = field.reading
    present = texts.str.strip_chars().replace("", None).drop_nulls()
    present = present.filter(~present.is_in(list(field.missing_values)))
    if not len(present):
        return ""
    if field.type not in ("integer", "number"):
        return _rival_of_dates(present, field)
    if not reading.bare_number:
        return ""
    sign, is_group = (reading.group_char, True) if reading.group_char else (reading.decimal_char, False)
    thousands = rf"^[+-]?[1-9][0-9]{{0,2}}(?:{re.escape(sign)}[0-9]{{3}})?$"
    has_sign = bool(present.str.contains(sign, literal=True).any())
    if sign not in (".", ",") or not has_sign or not present.str.contains(thousands).all():
        return ""
    key = "written.fraction" if is_group else "written.thousands"
    return say(key, sign=sign)


def _rival_of_dates(texts: pl.Series, field: Field) -> str:
    """Ask about parts of dates in another order; of texts that are said to be no dates, too."""
    texts = texts.filter(~texts.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"))
    kind: FieldType = "datetime" if field.type == "datetime" else "date"
    given = field.reading.date_format
    ways = _DAYS if field.type == "string" and len(texts) else (given,) if given is not None else ()
    pairs = ((way, other) for way in ways if _reads(texts, kind, _by(way)) for other in _other_orders(way))
    for way, other in pairs:
        if _reads(texts, kind, _by(other)):
            key = "written.year_part" if other.startswith("%y") else "written.day_month"
            return say(key, way=way, other=other)
    return ""


def _by(date_format: str) -> Reading:
    return Reading(date_format=date_format)


def _other_orders(date_format: str) -> list[str]:
    """Return formats in which texts of a format may be dates, too: parts in another order."""
    swapped = re.sub("%[dm]", lambda part: "%m" if part[0] == "%d" else "%d", date_format)
    found = (
        [swapped] if date_format.startswith(("%d", "%m")) and {"%d", "%m"} <= {*re.findall("%.", date_format)} else []
    )
    year_first = re.sub(r"^%([dm])(.)%([dm])\2%y", r"%y\2%m\2%d", date_format)
    return found + [year_first] * (year_first != date_format)


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
    return say("written.field", keys=json.dumps(keys, ensure_ascii=False)[1:-1]) if is_new else ""


def marker_cure(markers: Sequence[str]) -> str:
    """Return what to write where cells hold usual markers for missing."""
    return say("written.markers", markers=say("written.and").join(map(quote, markers))) if markers else ""


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
    """Tell whether all texts have one unit or currency beside their digits; codes such as M000123 begin with zeros."""
    units = texts.str.replace_all(r"[0-9.,'+\-\s]", "").str.to_lowercase().unique()
    return len(units) == 1 and units[0] in _USUAL_UNITS and not texts.str.contains(r"(^|[^0-9.,'])0[0-9]").any()


# -- Texts that are of another type.

_ISO_LENGTH: Final = 10
_MOST_OTHERS: Final = 5
_OUTNUMBERED: Final = 10
_DAY: Final = r"(?:0?[1-9]|[12][0-9]|3[01])"
_TIME: Final = r"(?:[T ,]+[0-9]{1,2}:[0-9]{2}.*)?"
_OTHER_DATES: Final = "|".join(
    [
        rf"^\s*{_DAY}[./-]{_DAY}[./-][0-9]{{4}}{_TIME}\s*$",
        rf"^\s*{_DAY}/{_DAY}/[0-9]{{2}}{_TIME}\s*$",
        rf"^\s*[0-9]{{4}}([./]){_DAY}[./]{_DAY}{_TIME}\s*$",
    ]
)


def markers_among(texts: pl.Series) -> tuple[str, ...]:
    """Return the usual markers for missing that are among texts, in the order of the public list.

    >>> markers_among(pl.Series(["north", "?", "NA"]))
    ('?', 'NA')
    """
    found = set(texts.filter(texts.is_in(USUAL_MARKERS)))
    return tuple(marker for marker in USUAL_MARKERS if marker in found)


def other_type(texts: pl.Series) -> str:
    """Say where texts are numbers or dates, but for a few, and what to do then; else nothing.

    >>> other_type(pl.Series(["3", "4", "NA"])).split(", and ")[0]
    'numbers but for a few texts: type integer'
    >>> other_type(pl.Series(["31.12.2011"]))
    'look like dates: write them as 2011-12-31'
    >>> other_type(pl.Series(["north", "NA"]))
    ''
    """
    is_number = _where_nearly_all(texts, are_numbers)
    if is_number is not None and not is_number.all() and not have_codes(texts):
        kind = "integer" if read_numbers(texts).is_integer[is_number].all() else "number"
        return _but_for_a_few("numbers", kind, texts.filter(pl.Series(~is_number)))
    is_time = _where_nearly_all(texts, lambda some: read_times(some)[1])
    if is_time is not None:
        is_day = (texts.str.strip_chars().str.len_chars() == _ISO_LENGTH).to_numpy()
        kind = "date" if is_day[is_time].all() else "datetime"
        return _but_for_a_few("dates", kind, texts.filter(pl.Series(~is_time)))
    if _where_nearly_all(texts, lambda some: some.str.contains(_OTHER_DATES).to_numpy()) is not None:
        return say("written.other_dates")
    return ""


def but_for_a_few(texts: pl.Series) -> tuple[FieldType, Reading, pl.Series]:
    """Return the type of different texts and how they are written, but for a few that have no digit; these.

    >>> kind, reading, others = but_for_a_few(pl.Series(["3,5", "4,1", *(f"{n},2" for n in range(9)), "pending"]))
    >>> kind, reading.decimal_char, others.to_list()
    ('number', ',', ['pending'])
    """
    is_other = ~texts.str.contains("[0-9]")
    others, rest = texts.filter(is_other), texts.filter(~is_other)
    if len(others) > _MOST_OTHERS or len(rest) < _OUTNUMBERED * max(1, len(others)):
        return "string", PLAIN, others
    guess = ColumnGuess()
    guess.add(Texts(rest))
    found = guess.written(has_comma=False)
    return found.type, found.reading, others


def are_numbers(texts: pl.Series) -> np.ndarray:
    """Return where texts are numbers; a truth value in words can be read as one, and is none."""
    numbers = read_numbers(texts)
    is_word = texts.str.strip_chars().str.to_lowercase().is_in(["true", "false"]).to_numpy()
    return np.asarray((numbers.is_integer | ~np.isnan(numbers.reals)) & ~is_word)


def _where_nearly_all(texts: pl.Series, check: Callable[[pl.Series], np.ndarray]) -> np.ndarray | None:
    """Return where something is so, if it is of all texts but markers for missing, or but for very few; else None."""
    is_so, others = _told_apart(texts.head(_AT_ONCE), check)
    if others is not None and len(texts) > _AT_ONCE:  # most texts are ruled out by the first
        is_so, others = _told_apart(texts, check)
    if others is None:
        return None
    so = int(np.count_nonzero(is_so))
    is_few = len(others) <= _MOST_OTHERS and _OUTNUMBERED * len(others) <= so
    return is_so if so > 0 and (is_few or bool(others.is_in(USUAL_MARKERS).all())) else None


def _told_apart(texts: pl.Series, check: Callable[[pl.Series], np.ndarray]) -> tuple[np.ndarray, pl.Series | None]:
    """Return where texts are so, and the others; None of these where they are many and not all markers."""
    is_so = check(texts)
    others = texts.filter(pl.Series(~is_so))
    return is_so, None if len(others) > _MOST_OTHERS and not others.is_in(USUAL_MARKERS).all() else others


def _but_for_a_few(what: str, kind: str, others: pl.Series) -> str:
    """Say of which type texts are, and which of the others are usual markers."""
    if not len(others):
        return say(f"written.{what}.all", type=kind)
    markers = markers_among(others)
    # A list of a field's own replaces the default, which is the empty text.
    such = say("written.such", markers=json.dumps(["", *markers])) if markers else say("written.beside")
    return say(f"written.{what}.but", type=kind, such=such)
