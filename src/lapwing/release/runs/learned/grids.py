"""The public grid on which the bounds of a field are searched: coarse groups, their fine cells, and what they mean."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any, Final, cast

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.maths.noise_tails import sum_tail
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import (
    MAGNITUDE_VALUES,
    MAX_VALUES,
    Domain,
    cell_ends,
    decade_starts,
    magnitude_codes,
)
from lapwing.schema.groupings.grouping import Grouping, interval_grouping
from lapwing.schema.scalars import MICROSECONDS, parse_date, parse_datetime

# -- Where noisy counts along a line begin and end: the outermost places at which noise alone does not explain them.


GAMMA: Final = Fraction(1, 20)
"""Failure probability of every statement about what was learned: of all places of one field together."""

WHOLE: Final = -(2**62)  # fewer rows than any noisy sum: nothing is left out

Levels = tuple[tuple[int, int], ...]


@lru_cache(maxsize=4096)
def one_sided_tail(law: NoiseLaw, terms: int, failure: Fraction) -> int:
    """Return a k that the sum of so many noise values passes with at most this probability, never too small."""
    # The law is symmetric: of both tails, half is on this side.
    return 0 if terms == 0 else sum_tail(law.kind, law.parameter, terms, 2 * failure)


def noise_levels(law: NoiseLaw, cells: int, failure: Fraction = GAMMA, widest: int = 2**30) -> Levels:
    """Return what sums of neighbouring empty cells do not pass, anywhere on a line, for widths that double.

    failure: that any sum of any such width passes its level on a line of empty cells. Returns widths 1, 2, 4, ... up to
    `cells` and `widest`, each with its level.
    """
    widths = [1 << power for power in range(min(cells, widest).bit_length())]
    places = sum(cells - width + 1 for width in widths)
    return tuple((width, one_sided_tail(law, width, failure / places)) for width in widths)


def upper_run(counts: np.ndarray, levels: Levels, allowed: int) -> tuple[int, int] | None:
    """Find the outermost run of cells, from the end of a line, that noise alone does not explain.

    counts: int64 (k,), noisy; levels: widths of runs, increasing, and what a run of this width has to pass; allowed:
    cells at the end of the run, and before it, are left out while their counts sum to no more: at least 0, or `WHOLE`
    for none. Returns first cell of the run and the one after its last; None where no run passes its level.

    Among the runs that pass, the one that starts last, and the shortest of these: with one large cell at the end that
    cell alone, and where the rows thin out over many cells a run that reaches as far as they are noticed.

    >>> upper_run(np.array([0, 90, 80, 3, 1, 0]), ((1, 10),), 0)
    (2, 3)
    >>> upper_run(np.array([0, 90, 80, 3, 1, 0]), ((1, 10),), 100)
    (1, 2)
    """
    sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    found = None
    for width, level in levels:
        passing = np.flatnonzero(sums[width:] - sums[:-width] > level)
        if passing.size and (found is None or passing[-1] > found[0]):
            found = int(passing[-1]), int(passing[-1]) + width
    if found is None:
        return None
    first, stop = found
    end = int(sums[stop])
    while stop > 1 and end - int(sums[stop - 1]) <= allowed:
        stop -= 1
    return min(first, stop - 1), stop


def lower_run(counts: np.ndarray, levels: Levels, allowed: int) -> tuple[int, int] | None:
    """Do the same from the beginning of the line; as `upper_run`."""
    found = upper_run(counts[::-1], levels, allowed)
    return None if found is None else (counts.size - found[1], counts.size - found[0])


def most_rows(law: NoiseLaw, counts: Sequence[int] | np.ndarray, failure: Fraction) -> int:
    """Return what rows of cells, as many as are counted here together, are at most, but for a failure."""
    return max(0, int(np.sum(counts, dtype=np.int64)) + one_sided_tail(law, len(counts), failure))


_ZERO: Final = MAGNITUDE_VALUES // 2
_FIRST_DAY: Final = date(1, 1, 1).toordinal()
_EPOCH: Final = date(1970, 1, 1).toordinal() - _FIRST_DAY
_DECADES: Final = (1700, 2300)
"""Years that are counted by decades and then months; the others, where sentinels lie, by centuries and then years."""

Bound = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchGrid:
    """A line of codes, cut twice.

    coarse: int64 (g + 1,), first codes of the g coarse groups that are searched, and the code after the last; fine:
    int64, first codes of all fine cells, increasing; coarse groups begin at some of them; bounds: from the first code
    of a run and the code after its last to the bounds that hold all of its values; inside: from the same to the first
    code of the run whose values all lie inside these bounds, and the one after the last.
    """

    domain: Domain
    coarse: np.ndarray
    fine: np.ndarray
    bounds: Callable[[int, int], tuple[Bound, Bound]]
    inside: Callable[[int, int], tuple[int, int]]

    def fine_edges(self, first: int, stop: int) -> np.ndarray:
        """Return the first codes of the fine cells of a run of coarse groups, and the code after the last."""
        inside = self.fine[(self.fine > first) & (self.fine < stop)]
        return np.concatenate(([first], inside, [stop])).astype(np.int64)


def search_grid(field: Field, limits: tuple[Any, Any]) -> SearchGrid:
    """Return the grid of an opened field.

    field: opened: an integer or number on the grid of magnitudes, a date or datetime by day; limits: bounds that are
    known already; what lies beyond is not searched.

    Numbers: decades, then cells of two digits. Integers: the same, but cells without an integer join a neighbour.
    Dates: decades, then months; before 1700 and from 2300 on centuries, then years.
    """
    if field.type in ("integer", "number"):
        is_whole = field.type == "integer"
        coarse, fine = _whole_cells() if is_whole else _real_cells()
        code_of: Callable[[Any], int] = partial(_magnitude, is_whole=is_whole)
        bounds = _whole_bounds if is_whole else _real_bounds
        ends = (1, MAGNITUDE_VALUES - 1)  # the outermost cells have no end of their own
    else:
        coarse, fine = _day_cells()
        code_of, bounds, ends = _day, _day_bounds, (0, field.domain.values)
    codes = [None if limit is None else code_of(limit) for limit in limits]

    first = 0 if codes[0] is None else codes[0]
    stop = field.domain.values if codes[1] is None else codes[1] + 1
    inner = coarse[(coarse > first) & (coarse < stop)]

    def within(start: int, end: int) -> tuple[Bound, Bound]:
        low, high = bounds(start, end)
        if isinstance(low, int) and isinstance(high, int):
            low, high = _representable(low, high)
        # The outermost cells may reach beyond what is known.
        low = limits[0] if codes[0] is not None and start == first else low
        high = limits[1] if codes[1] is not None and end == stop else high
        return low, high

    def inside(start: int, end: int) -> tuple[int, int]:
        # Dates are compared as ISO text.
        (least, most), (low, high) = cast("tuple[tuple[Any, Any], ...]", (bounds(start, end), within(start, end)))
        return (
            max(ends[0], start if low <= least else code_of(low) + 1),
            min(ends[1], end if high >= most else code_of(high)),
        )

    edges = np.concatenate(([first], inner, [stop])).astype(np.int64)
    return SearchGrid(domain=field.domain, coarse=edges, fine=fine, bounds=within, inside=inside)


def grid_grouping(domain: Domain, edges: np.ndarray) -> tuple[Grouping, slice]:
    """Return the grouping with these groups, all before and all after them, and where they stand in its counts.

    edges: int64 (k + 1,), first codes of k groups, increasing, and the code after the last.

    >>> grouping, place = grid_grouping(Domain(9, 0, True, True, False), np.array([0, 2, 5]))
    >>> grouping.cuts.tolist(), place
    ([2, 5], slice(0, 2, None))
    """
    inside = edges[(edges >= 1) & (edges < domain.values)]
    start = int(edges[0] >= 1)
    return interval_grouping(domain, inside), slice(start, start + len(edges) - 1)


@cache
def _real_cells() -> tuple[np.ndarray, np.ndarray]:
    """Return where the decades and the cells of numbers begin."""
    return np.union1d([0], decade_starts()), np.arange(MAGNITUDE_VALUES)


@cache
def _whole_cells() -> tuple[np.ndarray, np.ndarray]:
    """Return where decades and cells of integers begin: a cell without an integer joins its neighbour towards zero."""
    starts = [0]
    for code in range(MAGNITUDE_VALUES):
        low, high = cell_ends(code)
        if code < _ZERO and math.floor(low) + 1 <= high:
            starts.append(code + 1)  # below zero a cell holds its upper end, and what follows lies nearer to zero
        elif code > _ZERO and math.ceil(low) < high:
            starts.append(code)
    fine = np.unique(starts)
    return np.union1d([0], np.intersect1d(decade_starts(), fine)), fine


@cache
def _day_cells() -> tuple[np.ndarray, np.ndarray]:
    """Return where decades or centuries, and months or years, begin."""
    first, stop = _DECADES
    years = [1, *range(100, first, 100), *range(first, stop, 10), *range(stop, date.max.year + 1, 100)]
    single = chain(range(1, first), range(stop, date.max.year + 1))
    cells = [(year, 1) for year in single] + [(year, month) for year in range(first, stop) for month in range(1, 13)]
    coarse = [date(year, 1, 1).toordinal() - _FIRST_DAY for year in years]
    return np.array(coarse), np.unique([date(year, month, 1).toordinal() - _FIRST_DAY for year, month in cells])


def _real_bounds(first: int, stop: int) -> tuple[Bound, Bound]:
    """Return the outer ends of cells; numbers that are as good as zero are zero."""
    # The float nearest to an end leaves out no float of the cell: there is none between the two.
    low = Fraction(0) if first == _ZERO else cell_ends(first)[0]
    high = Fraction(0) if stop - 1 == _ZERO else cell_ends(stop - 1)[1]
    return float(low), float(high)


def _magnitude(limit: float, is_whole: bool) -> int:
    """Return the code of a bound."""
    return int(magnitude_codes(np.array([limit], np.int64) if is_whole else np.array([limit], np.float64))[0])


def _whole_bounds(first: int, stop: int) -> tuple[Bound, Bound]:
    """Return the outermost integers of cells."""
    (low, _), (_, high) = cell_ends(first), cell_ends(stop - 1)
    least = 0 if first == _ZERO else math.floor(low) + 1 if first < _ZERO else math.ceil(low)
    most = 0 if stop - 1 == _ZERO else math.floor(high) if stop - 1 < _ZERO else math.ceil(high) - 1
    return least, most


def _representable(least: int, most: int) -> tuple[int, int]:
    """Return bounds that fit 64 bits and leave 2**53 codes: those nearest to zero."""
    # Noise may show rows where no integer of 64 bits lies.
    least, most = (min(max(bound, -(2**63)), 2**63 - 1) for bound in (least, most))
    if most - least < MAX_VALUES:
        return least, most
    half = MAX_VALUES // 2
    if least >= -half:
        return least, least + MAX_VALUES - 1
    return (most - MAX_VALUES + 1, most) if most < half else (-half, half - 1)


def _day_bounds(first: int, stop: int) -> tuple[Bound, Bound]:
    """Return the first and the last day of cells."""
    days = (date.fromordinal(_FIRST_DAY + code).isoformat() for code in (first, stop - 1))
    low, high = days
    return low, high


def _day(limit: str) -> int:
    """Return the code of the day of a bound."""
    day = parse_date(limit)
    if day is None:
        moment = parse_datetime(limit)
        assert moment is not None
        day = moment // MICROSECONDS["day"]
    return day + _EPOCH
