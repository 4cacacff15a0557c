"""Suggest what the owner of a drafted schema has to find out: a look at private cells, internal from end to end.

The suggestions name kinds of knowledge, and ranges by powers of ten or decades. No text of a cell is shown, but for
markers of a fixed public list: that a column of numbers has "NA" among them is what its owner needs to know.
"""

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from lapwing.extras.evaluate.internal.proposals import proposed_answer
from lapwing.extras.evaluate.internal.schemas import drafted_schema
from lapwing.extras.evaluate.internal.shapes import NUMBERS, Shape
from lapwing.extras.evaluate.internal.tallies import CHUNK_ROWS, Tally, tally_cells, values_of
from lapwing.extras.evaluate.internal.written import are_numbers, have_codes, other_type, rival
from lapwing.extras.evaluate.words import say
from lapwing.release.marked import Internal
from lapwing.rows.cells import DAY_MICROSECONDS, Texts
from lapwing.rows.entry import private_boundary, source_of
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.reading import Dialect
from lapwing.schema.schemas import Schema

_SEPARATORS: Final = {";": '";"', "\t": "the tab", "|": '"|"'}

_DATES: Final = ("date", "datetime")
_FEW: Final = 12
_LIST: Final = 100
_MOST_LISTED: Final = 2**17  # no list has more texts
_UNIQUE: Final = 0.9
_REPEATED: Final = 0.5
"""Share of the rows: more than a dozen values are a short list only if they stand in two rows each, on average."""

MOST_ROWS: Final = 5
"""Of one person, where nobody knows more."""

_PEOPLE: Final = "patient|person|participant|respondent|client|customer|user|student|pupil|employee|subject|proband"
_OTHERS: Final = "subj|pat|household|member|kunde|teilnehmer|versicherter?|mitglied|haushalt|nutzer|schüler|mitarbeiter"
_KEY: Final = "(?:id|no|nr|number|nummer|num|key|code|pseudonym|hash)"
_WHO: Final = f"(?:{_PEOPLE}|{_OTHERS})"
_KEY_OF_PEOPLE: Final = re.compile(f".*{_WHO}(?:s|n|en)?{_KEY}|{_KEY}{_WHO}|mrn|ssn")

_HEAPED: Final = 0.2
_SENTINEL: Final = 0.002
_SPREAD: Final = 1000.0


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
    doubts: tuple[str, ...] = ()  # of the advice, what says that cells could be read otherwise
    answer: str = "drop"  # what is proposed for its field, as `described_field` reads it


@private_boundary
def look(data: object) -> Internal[tuple[Schema, tuple[Suggestion, ...]]]:
    """Draft a table's schema, and look at all its rows for what its owner has to fill in."""
    drafted, tallies = drafted_schema(data)
    return Internal((drafted, suggest(data, drafted).value if tallies is None else _suggestions(drafted, tallies)))


@private_boundary
def suggest(data: object, drafted: Schema, name: str | None = None) -> Internal[tuple[Suggestion, ...]]:
    """Look at all rows of a table for what the owner of its drafted schema has to fill in.

    name: of the one column that is looked at; None for all.

    >>> schema = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
    >>> suggest(pl.DataFrame({"flag": [True, None, False]}), schema).value[0].missing
    1
    """
    names = [field.name for field in drafted.columns if name in (None, field.name)]
    return Internal(_suggestions(drafted, _counted(data, drafted, names)))


@private_boundary
def frequent_texts(data: object, drafted: Schema, name: str, most: int) -> Internal[tuple[tuple[str, int], ...]]:
    """Return the most frequent texts of a column, each with its count in all rows."""
    found = [
        pl.DataFrame({"value": cells.values, "count": counts}).drop_nulls()
        for cells, counts in _counted(data, drafted, [name])[name].parts
        if isinstance(cells, Texts)
    ]
    both = [part.group_by("value").agg(pl.col("count").sum()) for part in [pl.concat(found)]] if found else []
    top = [part.sort(["count", "value"], descending=[True, False]).head(most) for part in both]
    return Internal(tuple(row for part in top for row in part.iter_rows()))


def proposed_unit(drafted: Schema, seen: Mapping[str, Suggestion]) -> PrivacyUnit | None:
    """Return the first column whose name says that it names people, and how many rows of one are used at most.

    >>> fields = tuple(Field(name=name, type="integer") for name in ("case", "Patienten-Nr"))
    >>> proposed_unit(Schema(fields=fields, is_draft=True), {})
    PrivacyUnit(field='Patienten-Nr', max_rows=5)
    """
    for field in drafted.fields:
        name, shape = re.sub(r"[\W_]+", "", field.name).lower(), seen.get(field.name)
        has_many = shape is not None and shape.distinct > _FEW  # a subject may be one that is taught
        is_key = _KEY_OF_PEOPLE.fullmatch(name) or (has_many and re.fullmatch(_PEOPLE, name))
        if is_key and field.type in ("integer", "string"):
            is_alone = shape is not None and shape.distinct == shape.cells - shape.missing
            return PrivacyUnit(field.name, 1 if is_alone else MOST_ROWS)
    return None


def _counted(data: object, drafted: Schema, names: Sequence[str]) -> dict[str, Tally]:
    reader = source_of(data).open(drafted)
    return tally_cells(lambda columns: reader.chunks(columns, CHUNK_ROWS), names)


def _suggestions(drafted: Schema, tallies: Mapping[str, Tally]) -> tuple[Suggestion, ...]:
    found = tuple(
        _suggestion(field, tallies[field.name], drafted.dialect) for field in drafted.columns if field.name in tallies
    )
    if len(drafted.fields) == len(found) == 1:
        # Where the one name looks like a whole line of names, the separator is asked for, and nothing else.
        for named in (named for sign, named in _SEPARATORS.items() if sign in found[0].name):
            found = (replace(found[0], advice=(say("suggest.separator", sign=named),), answer="learn"),)
    return found


def _suggestion(field: Field, tally: Tally, dialect: Dialect) -> Suggestion:
    """Return what there is to say of one column."""
    name, kind = field.name, field.type
    if not tally.rows:
        return Suggestion(
            name=name, type=kind, cells=0, missing=0, distinct=0, within="", advice=(say("suggest.no_row"),)
        )
    parts = [pl.DataFrame({"value": values_of(cells, field), "count": count}) for cells, count in tally.parts]
    whole = pl.concat(parts)
    if len(parts) > 1 or kind != "string":  # texts of one shape are different already
        whole = whole.group_by("value").agg(pl.col("count").sum())
    present = whole.drop_nulls("value")
    present = present if kind == "string" else present.sort("value")
    missing = tally.rows - int(present["count"].sum())
    shape = Shape(
        field=field, values=present["value"], counts=present["count"].to_numpy(), missing=missing, texts=tally.texts
    )
    is_other = other_type(shape.values) if kind == "string" and len(shape.values) > 1 else ""
    doubts = [doubt for rule in _DOUBTS if len(shape.values) and (doubt := rule(shape))]
    if not len(shape.values):
        said = [say("suggest.unread")]
    else:  # where texts are of another type, what would be said of texts is of no use
        said = [*([is_other] if is_other else [rule(shape) for rule in _RULES]), *doubts]
    cut = "" if tally.is_whole else say("suggest.cut", rows=tally.rows)
    return Suggestion(
        name=name,
        type=kind,
        cells=tally.rows,
        missing=missing,
        distinct=len(shape.values),
        within=_within(shape) if len(shape.values) else "",
        advice=tuple(text for text in [*said, cut] if text),
        doubts=tuple(doubts),
        answer=proposed_answer(
            shape,
            may_name_rows=bool(len(shape.values)) and not is_other and bool(_is_identifier(shape)),
            is_other=bool(is_other),
            ignore_case=dialect.ignore_case,
        ),
    )


def _within(shape: Shape) -> str:
    """Return a range by powers of ten, or by decades, that holds all values."""
    if shape.kind in NUMBERS:
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


def _is_identifier(shape: Shape) -> str:
    """Say where values name rows or people."""
    share = len(shape.values) / shape.rows
    if shape.kind not in ("string", "integer") or len(shape.values) <= _LIST or share < _HEAPED:
        return ""
    if share > _UNIQUE:
        return say("suggest.unique")
    return say("suggest.few_rows")


def _is_list(shape: Shape) -> str:
    """Say where values are a list of names or codes."""
    count = len(shape.values)
    is_short = count <= min(_LIST, max(_FEW, _REPEATED * shape.rows))
    if shape.kind == "string" and count > 1 and is_short:
        return say("suggest.few_texts")
    if shape.kind == "string" and not is_short:
        return say("suggest.many_texts")
    if shape.kind in NUMBERS and 1 < count <= _FEW:
        return say("suggest.few_numbers")
    return ""


def _is_sentinel(shape: Shape) -> str:
    """Say where a value at either end stands apart from all others and is frequent."""
    if shape.kind not in NUMBERS or len(shape.values) <= _FEW:
        return ""
    x = shape.numbers
    ends = ((0, x[1] - x[0], x[-1] - x[1]), (-1, x[-1] - x[-2], x[-2] - x[0]))
    apart = [
        f"{x[place]:g}"
        for place, gap, rest in ends
        if shape.counts[place] > max(1.0, _SENTINEL * shape.rows) and (gap > rest or _is_code(x, place))
    ]
    return say("suggest.codes", values=" and ".join(apart)) if apart else ""


def _is_code(x: np.ndarray, place: int) -> bool:
    """Tell whether an end is a lone negative number, or nothing but nines."""
    if place == 0:
        return bool(x[0] < 0 <= x[1])
    return bool(x[-1] > 90) and set(f"{x[-1]:.0f}") == {"9"}


def _is_heaped(shape: Shape) -> str:
    """Say where zero is an atom among many values."""
    if shape.kind not in NUMBERS or len(shape.values) <= _FEW:
        return ""
    zeros = int(shape.counts[shape.numbers == 0].sum())
    return say("suggest.zeros") if zeros > _HEAPED * shape.rows else ""


def _is_skewed(shape: Shape) -> str:
    """Say where a few values are far beyond all others."""
    if shape.kind not in NUMBERS:
        return ""
    sizes = np.abs(shape.numbers)
    order = np.argsort(sizes)
    is_half = np.cumsum(shape.counts[order]) * 2 >= shape.rows
    median = float(sizes[order][int(np.argmax(is_half))])
    return say("suggest.sizes") if sizes.max() > _SPREAD * max(median, 1e-300) and median > 0 else ""


def _decimals(shape: Shape) -> str:
    """Say where all numbers are multiples of a power of ten."""
    if shape.kind != "number":
        return ""
    step = shape.step
    if step is None:
        return ""
    return say("suggest.whole") if step == 1 else say("suggest.steps", step=step)


def _is_midnight(shape: Shape) -> str:
    """Say where moments are days."""
    is_day = shape.kind == "datetime" and not (shape.numbers % DAY_MICROSECONDS).any()
    return say("suggest.midnight") if is_day else ""


def _is_full(shape: Shape) -> str:
    """Say where no cell is empty, and none holds a text that may stand for missing."""
    has_all = not shape.missing and not shape.markers and len(shape.values) > 1
    return say("suggest.required") if has_all else ""


def _may_be_codes(shape: Shape) -> str:
    """Say where numbers may be codes."""
    if not have_codes(shape.texts):
        return ""
    if shape.kind in NUMBERS:
        return say("suggest.number_codes")
    if shape.kind != "string" or not are_numbers(shape.values.filter(~shape.values.is_in(shape.markers))).all():
        return ""
    return say("suggest.text_codes")


def _is_spaced(shape: Shape) -> str:
    """Say where texts have white space at their ends."""
    if shape.kind != "string" or not (shape.values != shape.values.str.strip_chars()).any():
        return ""
    return say("suggest.spaced")


def _has_twins(shape: Shape) -> str:
    """Say where texts differ by nothing that one can hear."""
    if shape.kind != "string" or len(shape.values) > _MOST_LISTED:
        return ""
    bare = shape.values.str.normalize("NFKC").str.strip_chars().str.replace_all(r"\s+", " ").str.to_lowercase()
    if bare.n_unique() == len(bare):
        return ""
    return say("suggest.twins")


_RULES: Final[tuple[Callable[[Shape], str], ...]] = (
    lambda shape: say("suggest.one_value") if len(shape.values) == 1 and not shape.missing else "",
    _is_identifier,
    _is_list,
    _is_sentinel,
    _is_heaped,
    _is_skewed,
    _decimals,
    _is_midnight,
    lambda shape: say("suggest.missing", markers=" ".join(shape.markers)) if shape.markers else "",
    _is_full,
)
_DOUBTS: Final[tuple[Callable[[Shape], str], ...]] = (
    _may_be_codes,
    _is_spaced,
    _has_twins,
    lambda shape: rival(shape.texts, shape.field),
)
