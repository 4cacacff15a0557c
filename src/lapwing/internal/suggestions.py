"""Suggest what the owner of a drafted schema has to find out: a look at private cells, internal from end to end.

The suggestions name kinds of knowledge, and ranges by powers of ten or decades. No text of a cell is shown, but for
markers of a fixed public list: that a column of numbers has "NA" among them is what its owner needs to know.
"""

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

import numpy as np
import polars as pl

from lapwing.internal.written import USUAL_MARKERS
from lapwing.judge.metrics import Internal
from lapwing.rows.cells import (
    DAY_MICROSECONDS,
    RawColumn,
    Texts,
    missing_cells,
    read_numbers,
    read_times,
)
from lapwing.rows.guard import private_boundary
from lapwing.rows.readers import open_table
from lapwing.rows.spelling import spelled
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

MOST_ROWS: Final = 2**20
"""Suggestions look at so many rows at most, the first ones."""

_SEPARATORS: Final = {";": '";"', "\t": "the tab", "|": '"|"'}

_CHUNK_ROWS: Final = 2**17
_DATES: Final = ("date", "datetime")
_NUMBERS: Final = ("integer", "number")
_FEW: Final = 12
_LIST: Final = 100
_UNIQUE: Final = 0.9
_REPEATED: Final = 0.5
"""Share of the rows: more than a dozen values are a short list only if they stand in two rows each, on average."""

_HEAPED: Final = 0.2
_SENTINEL: Final = 0.002
_SPREAD: Final = 1000.0
_MOST_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Say what one column of a private table looks like, and what its field in the schema may need, a clause each.

    Missing are cells that are empty or not of the type; `within` is a range by powers of ten or decades that holds all.
    """

    name: str
    type: str
    cells: int
    missing: int
    distinct: int
    within: str
    advice: tuple[str, ...]


@private_boundary
def suggest(data: object, drafted: Schema, name: str | None = None) -> Internal[tuple[Suggestion, ...]]:
    """Look at the first `MOST_ROWS` rows of a table for what the owner of its drafted schema has to fill in.

    name: of the one column that is looked at; None for all.

    >>> schema = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
    >>> suggest(pl.DataFrame({"flag": [True, None, False]}), schema).value[0].missing
    1
    """
    kinds = {field.name: field.type for field in drafted.columns if name in (None, field.name)}
    tallies: dict[str, pl.DataFrame] = {}
    chunks = open_table(data, drafted).chunks(list(kinds), _CHUNK_ROWS)
    for _, chunk in zip(range(0, MOST_ROWS, _CHUNK_ROWS), chunks, strict=False):
        for each, cells in chunk.items():
            here = _values(cells, drafted.field(each)).alias("value").value_counts(name="count")
            both = pl.concat([tallies[each], here]) if each in tallies else here
            tallies[each] = both.group_by("value").agg(pl.col("count").sum())
    found = tuple(_suggestion(each, kind, tallies.get(each)) for each, kind in kinds.items())
    if len(drafted.fields) == len(found) == 1:
        # Where the one name looks like a whole line of names, the separator is asked for, and nothing else.
        for named in (named for sign, named in _SEPARATORS.items() if sign in found[0].name):
            found = (replace(found[0], advice=(f"is {named} the separator of the file? read the file with it",)),)
    return Internal(found)


@private_boundary
def frequent_texts(data: object, drafted: Schema, name: str, most: int) -> Internal[tuple[tuple[str, int], ...]]:
    """Return the most frequent texts of a column among the first rows, each with its count."""
    chunk: Mapping[str, RawColumn] = next(iter(open_table(data, drafted).chunks([name], MOST_ROWS)), {})
    cells = chunk.get(name)
    if not isinstance(cells, Texts):
        return Internal(())
    found = cells.values.drop_nulls().value_counts(sort=True).head(most)
    return Internal(tuple(found.iter_rows()))


def _values(cells: RawColumn, field: Field) -> pl.Series:
    """Return cells as values of their type, moments in microseconds, null where they are empty or not of it."""
    kind, cells = field.type, spelled(cells, field)
    if isinstance(cells, Texts) and kind in _DATES:
        moments, is_time = read_times(cells.values)
        return pl.Series(moments).set(pl.Series(~is_time), None)
    if isinstance(cells, Texts) and kind in _NUMBERS:
        read = read_numbers(cells.values)
        if kind == "integer":
            return pl.Series(read.integers).set(pl.Series(~read.is_integer), None)
        return pl.Series(np.where(read.is_integer, read.integers, read.reals)).fill_nan(None)
    if isinstance(cells, Texts):
        return cells.values.replace("", None)
    is_missing = pl.Series(missing_cells(cells))
    if kind == "integer":  # one beyond 64 bits is as good as missing here
        return pl.Series(cells.values).set(is_missing, None).cast(pl.Int64, strict=False)
    if kind in _NUMBERS:
        values = pl.Series(cells.values.astype(np.float64))
        return values.set(is_missing | ~values.is_finite(), None)
    values = pl.Series(cells.values).set(is_missing, None)
    return values if kind in _DATES else values.cast(pl.String)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Shape:
    """How often each value of a column occurs: values increasing, as many counts."""

    kind: str
    values: pl.Series
    counts: np.ndarray
    missing: int

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def numbers(self) -> np.ndarray:
        found = self.values.to_numpy()  # whole numbers beyond 2**53 are told apart as values only
        return found.astype(np.float64) if self.kind in _NUMBERS else found

    @property
    def markers(self) -> tuple[str, ...]:
        return markers_among(self.values) if self.kind == "string" else ()


def _suggestion(name: str, kind: str, tally: pl.DataFrame | None) -> Suggestion:
    """Return what there is to say of one column."""
    if tally is None:
        return Suggestion(name=name, type=kind, cells=0, missing=0, distinct=0, within="", advice=("no row",))
    present = tally.drop_nulls("value").sort("value")
    missing = int(tally["count"].sum()) - int(present["count"].sum())
    shape = _Shape(
        kind=kind, values=present["value"], counts=present["count"].to_numpy().astype(np.int64), missing=missing
    )
    is_other = other_type(shape.values) if kind == "string" and len(shape.values) > 1 else ""
    if not len(shape.values):
        said = ["no cell can be read: leave the column out"]
    else:  # where texts are of another type, what would be said of texts is of no use
        said = [is_other] if is_other else [rule(shape) for rule in _RULES]
    return Suggestion(
        name=name,
        type=kind,
        cells=shape.rows + missing,
        missing=missing,
        distinct=len(shape.values),
        within=_within(shape) if len(shape.values) else "",
        advice=tuple(text for text in said if text),
    )


def _within(shape: _Shape) -> str:
    """Return a range by powers of ten, or by decades, that holds all values."""
    if shape.kind in _NUMBERS:
        low, high = float(shape.numbers[0]), float(shape.numbers[-1])
        return f"{_power(low) if low < 0 else '0'} to {_power(high) if high > 0 else '0'}"
    if shape.kind in _DATES:
        first, last = (_year(int(shape.numbers[place])) // 10 * 10 for place in (0, -1))
        return f"{first} to {last + 9}"
    return ""


def _power(value: float) -> str:
    """Return the power of ten, with the sign, next beyond a number."""
    return f"{math.copysign(10.0 ** math.ceil(math.log10(abs(value))), value):g}"


def _year(microseconds: int) -> int:
    """Return the year of a moment, of Python's calendar."""
    days = min(max(microseconds // DAY_MICROSECONDS, -719_162), 2_932_896)
    return (dt.date(1970, 1, 1) + dt.timedelta(days=days)).year


def _is_identifier(shape: _Shape) -> str:
    """Say where values name rows or people."""
    share = len(shape.values) / shape.rows
    if shape.kind not in ("string", "integer") or len(shape.values) <= _LIST or share < _HEAPED:
        return ""
    if share > _UNIQUE:
        return 'nearly every row has a value of its own: role "identifier" if it names rows, or leave the column out'
    return 'many values stand in a few rows each: if they name people, role "identifier" and a privacyUnit'


def _is_list(shape: _Shape) -> str:
    """Say where values are a list of names or codes."""
    count = len(shape.values)
    is_short = count <= min(_LIST, max(_FEW, _REPEATED * shape.rows))
    if shape.kind == "string" and count > 1 and is_short:
        return "few texts: list all that can occur, from a code book"
    if shape.kind == "string" and not is_short:
        return "many texts: a code book, a hierarchy of prefixes, or `lapwing schema learn` with a delta"
    if shape.kind in _NUMBERS and 1 < count <= _FEW:
        return "few numbers: if they are codes, list them as categories"
    return ""


def _is_sentinel(shape: _Shape) -> str:
    """Say where a value at either end stands apart from all others and is frequent."""
    if shape.kind not in _NUMBERS or len(shape.values) <= _FEW:
        return ""
    x = shape.numbers
    ends = ((0, x[1] - x[0], x[-1] - x[1]), (-1, x[-1] - x[-2], x[-2] - x[0]))
    apart = [
        f"{x[place]:g}"
        for place, gap, rest in ends
        if shape.counts[place] > max(1.0, _SENTINEL * shape.rows) and (gap > rest or _is_code(x, place))
    ]
    return f"{' and '.join(apart)} may be a code and no number: then list it as special" if apart else ""


def _is_code(x: np.ndarray, place: int) -> bool:
    """Tell whether an end is a lone negative number, or nothing but nines."""
    if place == 0:
        return bool(x[0] < 0 <= x[1])
    return bool(x[-1] > 90) and set(f"{x[-1]:.0f}") == {"9"}


def _is_heaped(shape: _Shape) -> str:
    """Say where zero is an atom among many values."""
    if shape.kind not in _NUMBERS or len(shape.values) <= _FEW:
        return ""
    zeros = int(shape.counts[shape.numbers == 0].sum())
    return "many zeros among other numbers: special [0] keeps them apart" if zeros > _HEAPED * shape.rows else ""


def _is_skewed(shape: _Shape) -> str:
    """Say where a few values are far beyond all others."""
    if shape.kind not in _NUMBERS:
        return ""
    sizes = np.abs(shape.numbers)
    order = np.argsort(sizes)
    is_half = np.cumsum(shape.counts[order]) * 2 >= shape.rows
    median = float(sizes[order][int(np.argmax(is_half))])
    return 'numbers of many sizes: scale "log"' if sizes.max() > _SPREAD * max(median, 1e-300) and median > 0 else ""


def _decimals(shape: _Shape) -> str:
    """Say where all numbers are multiples of a power of ten."""
    if shape.kind != "number":
        return ""
    scaled = [np.abs(shape.numbers) * 10.0**places for places in range(_MOST_DECIMALS + 1)]
    too_fine = [*takewhile(lambda x: not np.allclose(x, np.rint(x), rtol=1e-12, atol=1e-6), scaled)]
    places = len(too_fine)
    if places > _MOST_DECIMALS:
        return ""
    return (
        f"all in steps of {10.0**-places:g}: give that as resolution" if places else "only whole numbers: type integer"
    )


def _is_midnight(shape: _Shape) -> str:
    """Say where moments are days."""
    is_day = shape.kind == "datetime" and not (shape.numbers % DAY_MICROSECONDS).any()
    return "all at midnight: type date" if is_day else ""


def _is_full(shape: _Shape) -> str:
    """Say where no cell is empty, and none holds a text that may stand for missing."""
    has_all = not shape.missing and not shape.markers and len(shape.values) > 1
    return "no cell is empty: required, if none can be" if has_all else ""


_ONE_VALUE: Final = "has one value only: leave the column out"
_RULES: Final[tuple[Callable[[_Shape], str], ...]] = (
    lambda shape: _ONE_VALUE if len(shape.values) == 1 and not shape.missing else "",
    _is_identifier,
    _is_list,
    _is_sentinel,
    _is_heaped,
    _is_skewed,
    _decimals,
    _is_midnight,
    lambda shape: f"may stand for missing: {' '.join(shape.markers)}" if shape.markers else "",
    _is_full,
)


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
