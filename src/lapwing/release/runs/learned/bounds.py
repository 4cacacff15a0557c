"""Bounds of numbers and dates, from noisy counts on a public coarse grid.

Two rounds of one-way tables: the coarse groups (decades of magnitudes, decades of years), then the fine cells of the
outermost groups that hold more than noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.room.curator import Curator
from lapwing.release.runs.learned.grids import (
    GAMMA,
    WHOLE,
    Levels,
    SearchGrid,
    grid_grouping,
    lower_run,
    most_rows,
    noise_levels,
    search_grid,
    upper_run,
)
from lapwing.schema.schemas import Schema

SHARES: Final = (Fraction(1, 2), Fraction(1, 2))  # parts of a field's cost that the two rounds get

FALSE_ALARM: Final = Fraction(1, 1000)
"""How often noise alone shows rows in any empty coarse group of any field that is learned. Far from the rows that would
give a column bounds so wide that a release keeps nothing of it; to make it rare costs a few rows at the ends."""

NEAR_ALARM: Final = Fraction(1, 100)
"""The same for one field, and for groups near those that passed: bounds are too wide by a decade or two there."""

NEAR: Final = 2  # so many groups away are near

WIDEST: Final = 4  # coarse groups that are looked at together: rows thin out over cells, seldom over decades

TOLERANCE: Final = Fraction(1, 100)
"""The part of the rows that may lie beyond a bound for all that the fine cells say; a wider bound is better than
losing more. Chosen by the errors of releases, see docs/learn.md."""

_SURE: Final = 4  # standard deviations: discrete Laplace noise passes them once in 570 fields, Gaussian in 30,000

Run = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedBounds:
    """Hold what noisy counts say about the bounds of one field.

    minimum, maximum: as the field's type wants them, dates as ISO text; None where nothing was found; unseen: with 95 %
    confidence at most so many rows lie beyond each end; where nothing was found, have a value at all; unread: at least
    so many rows, by noisy counts less four standard deviations, are missing or cannot be read; values: the noisy number
    of the others.
    """

    minimum: int | float | str | None
    maximum: int | float | str | None
    is_found: bool
    unseen: int
    unread: int = 0
    values: int = 0

    @property
    def is_mostly_unread(self) -> bool:
        """Whether more cells are missing or cannot be read than have a value."""
        return self.unread > max(self.values, 0 if self.is_found else self.unseen)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cells:
    """Hold the noisy counts of neighbouring cells, their edges (one more), and the law of the noise.

    `before` and `after` are the counts of all that lies beside them, none or one each; `last` is that of cells that are
    missing or cannot be read.
    """

    edges: np.ndarray
    counts: np.ndarray
    noise: NoiseLaw
    before: np.ndarray
    after: np.ndarray
    last: int

    @property
    def unread(self) -> int:
        """At least so many cells are missing or cannot be read."""
        return max(0, math.floor(self.last - _SURE * self.noise.sd))

    @property
    def values(self) -> int:
        """The noisy number of cells that have a value."""
        return max(0, int(self.before.sum() + self.counts.sum() + self.after.sum()))

    def place(self, code: int) -> int:
        """Return which cell begins at a code; the number of cells for the code after the last."""
        return int(np.searchsorted(self.edges, code))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """Hold the outermost runs of codes, and how many rows may lie beyond each of them."""

    low: Run
    high: Run
    allowed: int


def learn_bounds(
    curator: Curator,
    schema: Schema,
    names: Sequence[str],
    costs: Sequence[Budget],
    *,
    quantile: Fraction,
    limits: Mapping[str, tuple[Any, Any]],
) -> tuple[LearnedBounds, ...]:
    """Find the bounds of numbers and dates.

    costs: one per field, spent exactly where anything is found, else in part; quantile: at least 0, below 1/2: so much
    of the rows with a value may be left out beyond each bound; limits: bounds that are public already; the result is
    inside them.

    Round 1 counts coarse groups. From each end inwards, the first run of 1, 2 or 4 groups whose sum passes what noise
    shows anywhere in any field with 0.1 % is where the rows begin, or one within two groups of it that passes what
    noise shows anywhere in this field with 1 %; round 2 does the same over the fine cells of these two runs, with 5 %
    and runs of any length, everything else counted together. The bounds are the outer ends of the runs found then, or
    of the coarse groups where round 2 finds nothing; they move outwards again while the cells beyond may hold more than
    1 % of all rows (their noisy counts and a standard deviation). With a quantile, cells at both ends are left out
    while their noisy counts sum to no more than that part of the noisy number of rows.

    All is a function of the answers; time ``O(k log k)`` for the k cells of a field.
    """
    grids = [search_grid(schema.field(name), limits.get(name, (None, None))) for name in names]
    shares = [cost.split(SHARES) for cost in costs]
    firsts = _ask_counts(curator, names, grids, [grid.coarse for grid in grids], [share[0] for share in shares])
    ends = [_outermost(cells, quantile, FALSE_ALARM / len(names)) for cells in firsts]

    found = {place: end for place, end in enumerate(ends) if end is not None}
    seconds = _ask_counts(
        curator,
        [names[place] for place in found],
        [grids[place] for place in found],
        [_fine_edges(grids[place], end) for place, end in found.items()],
        [shares[place][1] for place in found],
    )
    by_place = dict(zip(found, seconds, strict=True))
    return tuple(
        _nothing(first)
        if end is None
        else replace(_bounds(grid, end, by_place[place]), unread=first.unread, values=first.values)
        for place, (grid, first, end) in enumerate(zip(grids, firsts, ends, strict=True))
    )


def _ask_counts(
    curator: Curator,
    names: Sequence[str],
    grids: Sequence[SearchGrid],
    edges: Sequence[np.ndarray],
    costs: Sequence[Budget],
) -> list[_Cells]:
    """Ask for the counts of cells, one table per field in one batch, and leave out what lies beside them."""
    groupings = [grid_grouping(grid.domain, each) for grid, each in zip(grids, edges, strict=True)]
    answers = curator.ask(
        *(
            MarginalCounts(columns=(name,), groupings=(grouping,), cost=cost)
            for name, (grouping, _), cost in zip(names, groupings, costs, strict=True)
        )
    )
    return [
        _cells(each, answer, place, grid)
        for each, answer, (_, place), grid in zip(edges, answers, groupings, grids, strict=True)
    ]


def _cells(edges: np.ndarray, answer: NoisyCounts, place: slice, grid: SearchGrid) -> _Cells:
    """Return the counts of one table; special values and missing cells lie beside nothing."""
    regular = answer.counts[: place.stop + int(edges[-1] < grid.domain.values)]
    return _Cells(
        edges=edges,
        counts=regular[place],
        noise=answer.noise,
        before=regular[: place.start],
        after=regular[place.stop :],
        last=int(answer.counts[-1]),
    )


def _outermost(cells: _Cells, quantile: Fraction, false_alarm: Fraction) -> _Ends | None:
    """Return the outermost runs of coarse groups; None where noise explains all of them."""
    size = cells.counts.size
    sure = _both(cells.counts, noise_levels(cells.noise, size, false_alarm, WIDEST), WHOLE)
    if sure is None:
        return None
    # What lies far beyond them is taken for noise.
    first, stop = max(0, sure[0][0] - NEAR), min(size, sure[1][1] + NEAR)
    allowed = max(0, int(quantile * int(cells.counts.sum())))
    runs = _both(cells.counts[first:stop], noise_levels(cells.noise, size, NEAR_ALARM, WIDEST), allowed)
    assert runs is not None  # what passes the higher level passes this one
    low, high = ((int(cells.edges[first + start]), int(cells.edges[first + end])) for start, end in runs)
    return _Ends(low=low, high=high, allowed=allowed)


def _both(counts: np.ndarray, levels: Levels, allowed: int) -> tuple[Run, Run] | None:
    """Return the lowest and the highest run that pass, or nothing; they may be the same."""
    low, high = lower_run(counts, levels, allowed), upper_run(counts, levels, allowed)
    if low is None or high is None:
        return None
    if allowed != WHOLE and low[0] >= high[1]:  # noise lets the two parts that are left out meet
        return _both(counts, levels, WHOLE)
    return low, high


def _fine_edges(grid: SearchGrid, ends: _Ends) -> np.ndarray:
    """Return the edges of the second round: fine cells of both runs, and all that lies beside them in one cell each."""
    runs = (grid.fine_edges(*ends.low), grid.fine_edges(*ends.high))
    return np.unique(np.concatenate((grid.coarse[:1], *runs, grid.coarse[-1:])))


def _bounds(grid: SearchGrid, ends: _Ends, cells: _Cells) -> LearnedBounds:
    """Return the bounds that the counts of the second round show."""
    low, high = _fine_ends(ends, cells, ends.allowed)
    if low >= high:
        low, high = _fine_ends(ends, cells, WHOLE)
    minimum, maximum = grid.bounds(low, high)
    # Rows may also lie beyond a bound in its own cell, where that has no end of its own or is cut by a known bound.
    inside = grid.inside(low, high)
    below = np.concatenate((cells.before, cells.counts[: cells.place(inside[0])]))
    above = np.concatenate((cells.counts[int(np.searchsorted(cells.edges, inside[1], "right")) - 1 :], cells.after))
    # Where the search could have stopped, at either end: the statement holds at all of these places at once.
    stops = sum(cells.place(stop) - cells.place(first) for first, stop in (ends.low, ends.high)) + 2
    unseen = max(most_rows(cells.noise, each, GAMMA / stops) for each in (below, above))
    return LearnedBounds(minimum=minimum, maximum=maximum, is_found=True, unseen=unseen)


def _fine_ends(ends: _Ends, cells: _Cells, allowed: int) -> Run:
    """Return the first code of the lowest run of fine cells that passes, and the code after the highest."""
    (low_first, low_stop), (high_first, high_stop) = (
        (cells.place(first), cells.place(stop)) for first, stop in (ends.low, ends.high)
    )
    levels = noise_levels(cells.noise, low_stop - low_first + high_stop - high_first)
    below, above = int(cells.counts[:low_first].sum()), int(cells.counts[high_stop:].sum())
    lowest = lower_run(cells.counts[low_first:low_stop], levels, _left(allowed, below))
    highest = upper_run(cells.counts[high_first:high_stop], levels, _left(allowed, above))
    outside_low = 0 if lowest is None else lowest[0]
    outside_high = 0 if highest is None else high_stop - high_first - highest[1]

    tolerated = max(0, allowed) + max(0, int(cells.counts.sum())) * float(TOLERANCE)
    outside_low = _left_out(cells.counts[low_first : low_first + outside_low], cells.noise, tolerated)
    outside_high = _left_out(cells.counts[high_stop - outside_high : high_stop][::-1], cells.noise, tolerated)
    return int(cells.edges[low_first + outside_low]), int(cells.edges[high_stop - outside_high])


def _left_out(counts: np.ndarray, noise: NoiseLaw, tolerated: float) -> int:
    """Return how many cells beyond a bound, from the outside, hold few enough rows within a standard deviation."""
    cells = np.arange(1, counts.size + 1)
    few = np.flatnonzero(np.cumsum(counts) + np.sqrt(cells) * noise.sd <= tolerated)
    return int(few[-1]) + 1 if few.size else 0


def _left(allowed: int, beyond: int) -> int:
    """Return how many rows may still be left out where so many, with noise, lie beyond already."""
    return WHOLE if allowed == WHOLE else max(0, allowed - max(0, beyond))


def _nothing(cells: _Cells) -> LearnedBounds:
    """Return what is known where noise explains everything: how few values there are."""
    unseen = most_rows(cells.noise, np.concatenate((cells.before, cells.counts, cells.after)), GAMMA)
    return LearnedBounds(minimum=None, maximum=None, is_found=False, unseen=unseen, unread=cells.unread)
