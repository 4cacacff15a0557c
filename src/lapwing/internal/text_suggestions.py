"""What columns of texts look like: numbers, dates or markers for missing. Internal: made from private cells.

No text of a cell is shown, but for markers of a fixed public list: that a column of numbers has "NA" among them is
what its owner needs to know to describe it.
"""

import json
from typing import Final

import numpy as np
import polars as pl

from lapwing.rows.codec.parsing import read_numbers, read_times

_WORDS: Final = ("NA", "N/A", "NaN", "null", "None", "missing", "unknown", "n.a.")
_SIGNS: Final = ("?", "-", ".", "*")

USUAL_MARKERS: Final = tuple(
    dict.fromkeys(
        [*_SIGNS, *(text for word in _WORDS for text in (word, word.lower(), word.upper(), word.capitalize()))]
    )
)
"""Texts that many tables have where a value is missing: public, and the only texts of cells that are ever shown."""

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
    """Say where texts are numbers or dates, but for a few.

    Returns what to do in the schema or the table; empty where they are texts.

    >>> other_type(pl.Series(["3", "4", "NA"])).split(", and ")[0]
    'numbers but for a few texts: type integer'
    >>> other_type(pl.Series(["31.12.2011"]))
    'look like dates: write them as 2011-12-31'
    >>> other_type(pl.Series(["north", "NA"]))
    ''
    """
    numbers = read_numbers(texts)
    # A truth value in words can be read as a number, and is none.
    is_word = texts.str.strip_chars().str.to_lowercase().is_in(["true", "false"]).to_numpy()
    is_number = (numbers.is_integer | ~np.isnan(numbers.reals)) & ~is_word
    if not is_number.all() and _is_nearly_all(texts, is_number):
        kind = "integer" if numbers.is_integer[is_number].all() else "number"
        return _but_for_a_few("numbers", kind, texts.filter(pl.Series(~is_number)))
    _, is_time = read_times(texts)
    if _is_nearly_all(texts, is_time):
        is_day = (texts.str.strip_chars().str.len_chars() == _ISO_LENGTH).to_numpy()
        kind = "date" if is_day[is_time].all() else "datetime"
        return _but_for_a_few("dates", kind, texts.filter(pl.Series(~is_time)))
    if _is_nearly_all(texts, texts.str.contains(_OTHER_DATES).to_numpy()):
        return "look like dates: write them as 2011-12-31"
    return ""


def _is_nearly_all(texts: pl.Series, is_so: np.ndarray) -> bool:
    """Tell whether something is so of all texts but markers for missing, or but for very few."""
    others = texts.filter(pl.Series(~is_so))
    so = int(np.count_nonzero(is_so))
    is_few = len(others) <= _MOST_OTHERS and _OUTNUMBERED * len(others) <= so
    return so > 0 and (is_few or bool(others.is_in(USUAL_MARKERS).all()))


def _but_for_a_few(what: str, kind: str, others: pl.Series) -> str:
    """Say of which type texts are, and which of the others are usual markers."""
    if not len(others):
        return f"all are {what}: type {kind}"
    markers = markers_among(others)
    # A list of a field's own replaces the default, which is the empty text.
    such = f", such as {json.dumps(['', *markers])}" if markers else ' beside ""'
    return (
        f"{what} but for a few texts: type {kind}, and those texts into missingValues{such} (codes: list as categories)"
    )
