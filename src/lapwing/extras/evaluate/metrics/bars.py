"""Into which bars a column of numbers or dates is cut so that a histogram of it can be read.

Bars of numbers are as wide as round numbers, those of dates equally long, in the range of nearly all real rows: where
they lie tells about private rows.
"""

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from lapwing.maths.arrays import Cells, Floats, Ints
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import MAX_VALUES
from lapwing.schema.groupings.grouping import identity, interval_grouping
from lapwing.schema.values import exact_cells, label, labels

Scale = Literal["even", "log", "values"]

MOST_BARS: Final = 40  # bars of one column
TAIL: Final = 0.005  # share of the real rows on each side that may lie beyond the closed bars
FREQUENT: Final = 0.2  # a single number that at least this share of the real rows has is told apart from a histogram
_MOST_FREQUENT: Final = 3
_CLOSED: Final = MOST_BARS - 2
_STEPS: Final = (1, 2, 5)
_DIGITS: Final = (6, 9, 12, 17)  # of fractions: as few as tell bars apart
# Round numbers within a decade, the finest first; the last two leave out decades.
_LADDERS: Final[tuple[tuple[tuple[Fraction, ...], int], ...]] = (
    (tuple(map(Fraction, ("1", "1.5", "2", "3", "5", "7"))), 1),
    (tuple(map(Fraction, ("1", "2", "5"))), 1),
    ((Fraction(1),), 1),
    ((Fraction(1),), 5),
    ((Fraction(1),), 25),
)
_MUCH_WIDER: Final = 3
_LOG_GAIN: Final = 1.5  # a logarithmic scale must use so many times as many bars as an even one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bars:
    """Hold how the regular codes of a column are cut into bars; cuts: first code of every bar but the first."""

    cuts: Ints
    labels: tuple[str, ...]
    starts: tuple[str, ...]
    scale: Scale
    frequent: tuple[tuple[int, str], ...]


def choose_bars(field: Field, sample: Ints) -> Bars:
    """Return at most 40 bars for a numeric or date column, from regular codes of real rows (perhaps none).

    A column with at most 40 values has a bar for each. Of others, the first and the last bar are open, and each holds
    at most about 0.5 % of the real rows. Numbers lie evenly, or by round numbers that grow with the distance from zero
    where these spread the rows over at least half as many bars again (by the exponential of the entropy). Bars of dates
    are equally long.
    """
    values = field.domain.values
    if values <= MOST_BARS:
        texts = tuple(labels(identity(field.domain), field)[:values])
        return Bars(cuts=np.arange(1, values), labels=texts, starts=texts, scale="values", frequent=())
    is_date = field.type in ("date", "datetime")
    codes = np.sort(sample) if len(sample) else np.array([0, values - 1])
    if is_date:
        return _date_bars(field, codes)
    frequent = _frequent(codes)
    rest = codes[~np.isin(codes, frequent)]
    if not len(rest):
        return _single_values(field, frequent)
    even, log = _cuts(field, _even_edges(field, rest)), _cuts(field, _log_edges(field, rest))
    gained = [
        effective_bars(np.bincount(np.searchsorted([code for code, _ in cuts], rest, side="right")))
        for cuts in (even, log)
    ]
    is_log = gained[1] > _LOG_GAIN * gained[0]
    return _number_bars(field, log if is_log else even, "log" if is_log else "even", frequent)


def number_text(value: Fraction | float, digits: int = _DIGITS[0]) -> str:
    """Return a number as a reader expects to see it: a fraction with so many digits, thousands apart."""
    number = float(value)
    if number.is_integer() and abs(number) < 10**15:
        return f"{int(number):,}" if abs(number) >= 10_000 else str(int(number))
    return f"{number:.{digits}g}"


def value_at(field: Field, code: int) -> Fraction:
    """Return where a code of a numeric column without categories begins, in the column's unit."""
    found = field.range
    if found.step is None:
        return Fraction(found.lo) + (Fraction(found.hi) - Fraction(found.lo)) * code / found.values
    return Fraction(str(field.minimum)) + code * Fraction(found.step)


def _frequent(codes: Ints) -> tuple[int, ...]:
    """Return the codes of so many rows that they would dwarf the bars of the others."""
    points, counts = np.unique(codes, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MOST_FREQUENT]
    return tuple(int(points[place]) for place in sorted(order) if counts[place] >= FREQUENT * len(codes))


def _nearly_all(codes: Ints) -> tuple[int, int]:
    """Return the range of sorted codes that leaves out a tail on each side."""
    tail = int(TAIL * len(codes))
    return int(codes[tail]), int(codes[len(codes) - 1 - tail])


def _unit(field: Field) -> Fraction:
    """Return how wide a code is."""
    found = field.range
    return (Fraction(found.hi) - Fraction(found.lo)) / found.values if found.step is None else Fraction(found.step)


def _even_edges(field: Field, codes: Ints) -> list[Fraction]:
    """Return round numbers at equal distances, around nearly all codes."""
    low, high = _nearly_all(codes)
    first, last = value_at(field, low), value_at(field, high + 1)
    is_whole = field.range.step is not None
    unit, shift = (
        (_unit(field), Fraction(str(field.minimum)) % _unit(field)) if is_whole else (Fraction(1), Fraction(0))
    )
    for step in _round_steps((last - first) / _CLOSED / unit, is_whole=is_whole):
        places = math.floor((first - shift) / (step * unit)), math.ceil((last - shift) / (step * unit))
        if places[1] - places[0] < _CLOSED:
            return [shift + place * step * unit for place in range(places[0], places[1] + 1)]
    raise AssertionError("some round step is wide enough")


def _round_steps(least: Fraction, *, is_whole: bool) -> list[Fraction]:
    """Return round numbers that are not far below a positive one, increasing."""
    power = math.floor(math.log10(max(float(least), sys.float_info.min)))
    power = max(power, 0) if is_whole else power
    return [Fraction(10) ** (power + more) * step for more in range(3) for step in _STEPS]


def _log_edges(field: Field, codes: Ints) -> list[Fraction]:
    """Return round numbers that grow with the distance from zero, around nearly all codes."""
    zero, unit = field.range.zero, _unit(field)
    if abs(zero) > MAX_VALUES:
        return []  # so far from zero that all numbers have one size
    low, high = (code - zero for code in _nearly_all(codes))
    sizes = np.sort(np.abs(codes - zero))
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return []
    ends = [max(float(size * unit), sys.float_info.min) for size in _nearly_all(sizes)]
    for ladder, stride in _LADDERS:
        powers = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1])) + 1, stride)
        rungs = _around([Fraction(10) ** power * rung for power in powers for rung in ladder], *ends)
        edges = {-rung for rung in rungs if low < 0} | {rung for rung in rungs if high > 0}
        if low <= 0 <= high:
            edges |= {Fraction(0)} if field.range.step is None else {Fraction(0), unit}
        if len(edges) < _CLOSED:
            return sorted(edges)
    return []


def _around(rungs: Sequence[Fraction], low: float, high: float) -> list[Fraction]:
    """Return the rungs from the last one at most ``low`` to the first one above ``high``."""
    start = max((place for place, rung in enumerate(rungs) if rung <= low), default=0)
    stop = min((place for place, rung in enumerate(rungs) if rung > high), default=len(rungs) - 1)
    return list(rungs[start : stop + 1])


def _cuts(field: Field, edges: Sequence[Fraction]) -> list[tuple[int, Fraction]]:
    """Return the first codes at edges or above them, with the edges; without edges beyond the field's bounds."""
    found = field.range
    cuts: dict[int, Fraction] = {}
    for edge in edges:
        if found.step is not None:
            code = math.ceil((edge - Fraction(str(field.minimum))) / Fraction(found.step))
        else:
            code = found.cell(float(edge)) if found.lo <= edge < found.hi else -1
        if 0 <= code < found.values:
            cuts.setdefault(code, edge)
    return sorted(cuts.items())


def effective_bars(masses: Cells | Floats) -> float:
    """Return over how many bars masses are spread: the exponential of the entropy of their shares."""
    shares = masses[masses > 0] / max(masses.sum(), 1e-300)
    return math.exp(-float((shares * np.log(shares)).sum()))


def equal_cells(codes: Ints, most: int) -> Ints:
    """Return first codes of equal cells around nearly all sorted codes, and the code behind the last cell."""
    first, last = _nearly_all(codes)
    width = -(-(last + 1 - first) // most)  # so many codes a cell: no cell is wider than another by rounding
    return first + width * np.arange(-(-(last + 1 - first) // width) + 1)


def _number_bars(field: Field, cuts: Sequence[tuple[int, Fraction]], scale: Scale, frequent: tuple[int, ...]) -> Bars:
    """Return bars between cuts, and those from the field's bounds to the first and the last."""
    edges = dict(cuts) | {0: value_at(field, 0), field.domain.values: value_at(field, field.domain.values)}
    edges |= dict(cuts)  # the round number, where one is at the bound
    codes = sorted(edges)
    widths = np.diff(codes).tolist()
    begins = [value_at(field, code) if field.range.step is not None else edges[code] for code in codes]
    digits = next((each for each in _DIGITS if len({number_text(x, each) for x in begins}) == len(begins)), _DIGITS[-1])
    names = [_run_text(field, run, (edges[run[0]], edges[run[1]]), digits) for run in itertools.pairwise(codes)]
    starts = [number_text(begin, digits) for begin in begins[:-1]]
    if len(widths) > 1 and widths[0] > widths[1]:
        names[0], starts[0] = f"below {starts[1]}", f"< {starts[1]}"
    if len(widths) > 1 and widths[-1] > _MUCH_WIDER * widths[-2]:
        names[-1], starts[-1] = f"from {starts[-1]}", f"{starts[-1]}+"
    return Bars(
        cuts=np.array(codes[1:-1], dtype=np.int64),
        labels=tuple(names),
        starts=tuple(starts),
        scale=scale,
        frequent=tuple((code, _value_text(field, code)) for code in frequent),
    )


def _run_text(field: Field, codes: tuple[int, int], edges: tuple[Fraction, Fraction], digits: int) -> str:
    """Return the label of a bar: its first and last value, or from where to where it goes."""
    start, stop = codes
    if field.range.step is None:
        return " to ".join(number_text(edge, digits) for edge in edges)
    texts = [number_text(value_at(field, code), digits) for code in (start, stop - 1)]
    dash = "-" if value_at(field, start) >= 0 else " to "
    return texts[0] if start == stop - 1 else dash.join(texts)


def _single_values(field: Field, frequent: tuple[int, ...]) -> Bars:
    """Return one bar, "other values", beside the few numbers told apart: no real row has another number."""
    other = ("other values",)
    apart = tuple((code, _value_text(field, code)) for code in frequent)
    return Bars(cuts=np.zeros(0, dtype=np.int64), labels=other, starts=other, scale="even", frequent=apart)


def _value_text(field: Field, code: int) -> str:
    """Return the label of a single number."""
    exact = exact_cells(field) if field.range.step is None else {}
    return number_text(exact.get(code, value_at(field, code)))


def _date_bars(field: Field, codes: Ints) -> Bars:
    """Return bars of equal length around nearly all sorted codes, and those from the field's bounds to them."""
    edges = equal_cells(codes, _CLOSED)
    cuts = edges[(edges > 0) & (edges < field.domain.values)]
    grouping = interval_grouping(field.domain, cuts)
    starts = tuple(start_text(field, code) for code in (0, *cuts.tolist()))
    names = tuple(labels(grouping, field)[: grouping.regular])
    return Bars(cuts=cuts, labels=names, starts=starts, scale="even", frequent=())


def start_text(field: Field, code: int) -> str:
    """Return where a run of numbers, days or moments begins, short: the day, or the minute."""
    if field.type in ("integer", "number"):
        return number_text(value_at(field, code))
    edges = [edge for edge in (code, code + 1) if 0 < edge < field.domain.values]
    text = label(interval_grouping(field.domain, edges), field, 1 if code else 0)
    return text[: len("2020-12-31")] if field.type == "date" else text[: len("2020-12-31T00:00")].replace("T", " ")
