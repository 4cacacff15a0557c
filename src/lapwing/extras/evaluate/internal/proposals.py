"""Propose an answer about each column from the shape of its cells: internal, and in public words alone.

Of the values of cells an answer names those of public lists: usual codes, usual markers for missing, yes and no, 0 and
1, an entry of the catalogue. No bound is taken from cells: one that is known without them is proposed, zero or today.
"""

import datetime as dt
from typing import Final

import numpy as np

from lapwing.extras.evaluate.answers import described_field, written_words
from lapwing.extras.evaluate.internal.shapes import NUMBERS, Shape
from lapwing.extras.evaluate.internal.written import but_for_a_few
from lapwing.rows.cells import DAY_MICROSECONDS
from lapwing.schema.catalogue import PublicDomain, catalogue, entries_for

_NUMBER_PAIRS: Final = ((0, 1), (1, 2))
_TEXT_LISTS: Final = (
    *(("yes", "no"), ("y", "n"), ("ja", "nein"), ("j", "n"), ("oui", "non"), ("sí", "no"), ("si", "no")),
    *(("sim", "não"), ("tak", "nie"), ("ano", "ne"), ("да", "нет"), ("true", "false"), ("t", "f")),
    *(("m", "f"), ("m", "w"), ("h", "f"), ("m", "w", "d"), ("male", "female"), ("homme", "femme")),
    *(("männlich", "weiblich"), ("männlich", "weiblich", "divers"), ("male", "female", "other")),
    *(("pos", "neg"), ("positive", "negative"), ("positiv", "negativ"), ("low", "medium", "high")),
)
"""Lists that many tables have, from public knowledge."""

_SPELLINGS: Final = (str.lower, str.capitalize, str.upper)
_MOST_LISTED: Final = 1000
_CLOSE: Final = 2  # times the number of rows
_FITTING: Final = 0.995  # of the cells, for an entry of the catalogue
_MOST_LOST: Final = 0.05
"""Of the cells: so many may be texts among numbers that nobody knows. A release ends where far more are invalid."""


def proposed_answer(shape: Shape, *, may_name_rows: bool, is_other: bool, ignore_case: bool) -> str:
    """Return the answer that the shape of a column speaks for, as `described_field` reads it.

    is_other: whether texts are of another type, but for a few.
    """
    if not len(shape.values):
        return "drop"
    if shape.kind == "string":
        return _of_texts(shape, may_name_rows=may_name_rows, is_other=is_other, ignore_case=ignore_case)
    if may_name_rows and _are_numbers_of_rows(shape):
        return "id"
    if shape.kind in NUMBERS:
        return _of_numbers(shape)
    if shape.kind in ("date", "datetime"):
        today = dt.datetime.now(dt.UTC).date()
        last = int(shape.numbers[-1]) // DAY_MICROSECONDS
        return f"..{today.isoformat()}" if last <= (today - dt.date(1970, 1, 1)).days else "learn"
    return "learn"


def _are_numbers_of_rows(shape: Shape) -> bool:
    """Tell whether whole numbers are all different, and close to each other or of one length: amounts seldom are."""
    first, last = shape.numbers[[0, -1]]
    is_close = last - first < _CLOSE * shape.rows or len(f"{first:.0f}") == len(f"{last:.0f}")
    return len(shape.values) == shape.rows and bool(is_close)


def _of_texts(shape: Shape, *, may_name_rows: bool, is_other: bool, ignore_case: bool) -> str:
    kind, reading, others = but_for_a_few(shape.values)
    if kind != "string":
        lost = int(shape.counts[shape.values.is_in(others.implode()).to_numpy()].sum())
        if lost > _MOST_LOST * shape.rows and not set(others) <= set(shape.markers):
            return "drop"
        return "; ".join(["learn", f"type {kind}", *written_words(reading), *_missing(shape.markers)])
    if may_name_rows:
        has_words = 2 * int(shape.values.str.contains(r"\S\s+\S").sum()) > len(shape.values)
        return "drop" if has_words else "id"  # numbers of rows stand for no free text
    if is_other:
        return "drop"  # of dates in several orders no text is frequent
    return "learn" if len(shape.values) > _MOST_LISTED else _of_list(shape, ignore_case=ignore_case)


def _of_list(shape: Shape, *, ignore_case: bool) -> str:
    """Return a public list that all texts are from, if there is one."""
    known = entries_for(shape.field.name, "string")
    entry = next((each for each in known if _fits(shape, each, ignore_case=ignore_case)), None)
    regular = set(shape.values) - set(shape.markers)
    spelled = ([spell(word) for word in listed] for listed in _TEXT_LISTS for spell in _SPELLINGS)
    words = next((each for each in spelled if len(regular) > 1 and regular <= set(each)), None)
    if entry is not None or words is None:
        return "learn" if entry is None else entry.name
    return "; ".join([", ".join(words), *_missing(shape.markers)])


def _of_numbers(shape: Shape) -> str:
    codes = shape.codes
    regular = shape.numbers[~np.isin(shape.numbers, codes)]
    named = ", ".join(map(str, codes))
    # A text may be called missing, a number of a typed table is a value of its own.
    are_texts = set(map(str, codes)) <= set(shape.texts.str.strip_chars())
    more = [f"{'missing' if are_texts else 'special'} {named}"] if codes else []
    for pair in _NUMBER_PAIRS:
        if set(regular.tolist()) == set(pair):
            listed = ", ".join(map(str, pair))
            return "; ".join([listed, *more]) if are_texts else f"{listed}, {named}"
    known = [catalogue()["likert-5"]] if set(regular.tolist()) == {1, 2, 3, 4, 5} else []
    known += entries_for(shape.field.name, shape.kind)
    entry = next((each for each in known if _fits(shape, each)), None)
    domain = entry.name if entry is not None else "0.." if regular[0] >= 0 else "learn"
    step = shape.step if shape.kind == "number" and entry is None else None
    return "; ".join([domain, *more, *([] if step is None else [f"step {step:g}"])])


def _missing(markers: tuple[str, ...]) -> list[str]:
    return [f"missing {', '.join(markers)}"] if markers else []


def _fits(shape: Shape, entry: PublicDomain, *, ignore_case: bool = False) -> bool:
    """Tell whether nearly all cells have a value of an entry of the catalogue, but for codes and markers."""
    found = described_field(entry.name, shape.field)
    assert found is not None
    if found.categories is not None:
        same = str.lower if ignore_case else str
        known = {same(str(each)) for each in found.categories}
        texts = shape.values.cast(str).to_list() if shape.kind == "string" else [f"{each:g}" for each in shape.numbers]
        is_in = np.array([same(each) in known for each in texts])
    else:
        is_in = (shape.numbers >= float(found.range.lo)) & (shape.numbers <= float(found.range.hi))
    is_regular = ~np.isin(shape.numbers, shape.codes) if shape.kind in NUMBERS else np.ones(len(is_in), dtype=bool)
    return bool(shape.counts[is_in & is_regular].sum() >= _FITTING * shape.counts[is_regular].sum())
