"""How far released tables and counts are from the true ones, from noisy counts and the law of their noise.

A table or count stands on the earliest answer of which one noisy table makes up all of it, and inside that answer on
the noisy table whose sum has the least variance: both are fixed before the noise of that answer is drawn, see
`lapwing.model.evidence`. A number of rows that no answer makes up is bounded by those of fewer columns; each such set
of columns gets the same part of the failure probability, so that the split does not depend on which were measured.

Write M for the released counts, T for the true ones, N = T + Z for the noisy ones, m, n and ΣN for their sums. The
noise enters by three numbers, each of which is passed with a chance of its own: w, its largest absolute value over the
cells; a, the sum of its absolute values; and s = ΣZ, which is known to lie between two ends.

Counts. ``N - w <= T <= N + w`` and ``T >= 0`` in all cells at once.

Total variation. For any e > 0 put ``A = M e / m`` and ``B = T e / n``; the distance is ``sum of (A - B)+ / e``, and
also ``sum of (B - A)+ / e``. As B and T are multiples of each other, ``sum of (T - B)+`` is ``(n - e)+`` and
``sum of (B - T)+`` is ``(e - n)+``, and ``n = ΣN - s``. The positive parts of the noise add up to ``(a + s) / 2`` at
most, the negative ones to ``(a - s) / 2``. Hence e times the distance is at most each of

- ``sum over A > 0 of (A - N)+  + (a + s) / 2 + (ΣN - e - s)+``,
- ``sum over all cells of (N - A)+  + (a - s) / 2 + (e - ΣN + s)+``,
- ``sum over A > 0 of min(A, (A - N + w)+)  + (ΣN - e - s)+``.

All are convex in s, so largest at one end of its range. The first profits where a fit has pulled the counts down to 0
in empty cells: the noise of these is paid once, not twice. The third does not depend on the number of empty cells. All
hold for every e at once; m and ΣN are tried.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.terms import Terms
from lapwing.maths.noise_norms import absolute_noise, largest_noise
from lapwing.maths.noise_tails import sum_tail
from lapwing.maths.pooled_noise import NoisyNumber, pooled_number
from lapwing.model.certificate.statements import Statement
from lapwing.model.evidence import AskedTable, covered_cells, first_over, tables_over, views
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, eq=False)
class TableNoise:
    """Hold what is known of the noise of a table, all at once but with some probability.

    largest: float64 (k,), bounds of the absolute noise of each cell; absolute: a bound of their sum; infinite where
    none is known; total: ends of a range that holds the sum of the noise.
    """

    largest: np.ndarray
    absolute: float
    total: tuple[float, float]


def count_errors(released: np.ndarray, noisy: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return bounds for the differences between released and true counts, of all cells at once.

    >>> count_errors(np.array([8.0, 0.0]), np.array([10, -5]), np.array([4.0, 6.0])).tolist()
    [6.0, 1.0]
    """
    lower, upper = np.maximum(noisy - largest, 0.0), np.maximum(noisy + largest, 0.0)
    return np.asarray(np.maximum(released - lower, upper - released))


def variation_bound(released: np.ndarray, noisy: np.ndarray, noise: TableNoise) -> float:
    """Return a bound for the total variation distance between a released table and the true one.

    Time and memory ``O(k)``. The derivation stands at the top of this module.

    >>> quiet = TableNoise(largest=np.full(2, 5.0), absolute=8.0, total=(0.0, 0.0))
    >>> variation_bound(np.array([60.0, 40.0]), np.array([60, 40]), quiet)
    0.04
    """
    mass, total = float(released.sum()), float(noisy.sum())
    bounds = [1.0]
    for size in (mass, total):
        if mass <= 0 or size <= 0:
            continue
        scaled = released * (size / mass)
        bounds.append(_moved(scaled, noisy, noise, total - size) / size)
    return max(0.0, min(bounds))


def _moved(scaled: np.ndarray, noisy: np.ndarray, noise: TableNoise, gap: float) -> float:
    """Return the least of the three bounds of the module, in rows; `gap` is ΣN - e."""
    low, high = noise.total
    is_held = scaled > 0
    over = scaled[is_held] - noisy[is_held]
    reached = np.minimum(scaled[is_held], np.maximum(over + noise.largest[is_held], 0.0))
    third = float(reached.sum()) + max(gap - low, 0.0)
    if not np.isfinite(noise.absolute):
        return third
    above, below = float(np.maximum(over, 0.0).sum()), float(np.maximum(noisy - scaled, 0.0).sum())
    first = above + noise.absolute / 2 + max(s / 2 + max(gap - s, 0.0) for s in (low, high))
    second = below + noise.absolute / 2 + max(-s / 2 + max(s - gap, 0.0) for s in (low, high))
    return min(first, second, third)


MOST_COLUMNS: Final = 6
"""Bounds from fewer columns are sought for tables of at most so many."""

_OF_SUM: Final = Fraction(1, 5)
_OF_EACH: Final = Fraction(2, 5)
"""How the failure of a distance is shared: the noise's sum; its largest value, and the sum of its absolute values."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Hold noisy sums that make up cells of a table.

    noisy: int64 (k,), sums of noisy counts; terms: int64 (k,), how many counts each is the sum of, at least 1; cells,
    threshold: of a table of which noisy counts below a threshold were left out: how many cells it has with these.
    """

    noisy: np.ndarray
    terms: np.ndarray
    law: NoiseLaw
    cells: int = 0
    threshold: int | None = None

    def largest(self, failure: Fraction) -> np.ndarray:
        """Return bounds of the noise of all cells at once: ndarray of float64, shape (k,)."""
        kinds, places = np.unique(self.terms, return_inverse=True)
        reach = largest_noise(self.law.kind, self.law.parameter, self._sums(), failure)
        return np.array([float(reach[each]) for each in kinds.tolist()])[places.ravel()]

    def largest_error(self, released: np.ndarray, failure: Fraction) -> float:
        """Return a bound of the errors of all counts at once, in rows."""
        error = float(count_errors(released, self.noisy, self.largest(failure)).max(initial=0.0))
        if self.threshold is None or self.cells == self.noisy.size:
            return error
        unseen = largest_noise(self.law.kind, self.law.parameter, self._sums(), failure)[1] + self.threshold - 1
        return max(error, float(unseen), 0.0)

    def variation(self, released: np.ndarray, failure: Fraction, most_rows: Callable[[Fraction], float]) -> float:
        """Return a bound of the total variation distance; `most_rows` gives one of the number of rows."""
        law, largest = self.law, self.largest(failure * _OF_EACH)
        if self.threshold is not None:
            # Of the cells that were left out nothing is known but the number of rows.
            rows = most_rows(failure * _OF_SUM)
            if math.isinf(rows):
                return 1.0
            total = (float(self.noisy.sum()) - rows, math.inf)
            return variation_bound(released, self.noisy, TableNoise(largest, math.inf, total))
        absolute = absolute_noise(law.kind, law.parameter, self._sums(), failure * _OF_EACH)
        reach = float(sum_tail(law.kind, law.parameter, int(self.terms.sum()), failure * _OF_SUM))
        return variation_bound(released, self.noisy, TableNoise(largest, absolute, (-reach, reach)))

    def mean_sizes(self) -> np.ndarray:
        """Return the expected size of each cell's noise: ndarray of float64, shape (k,).

        Exact for one value; of sums, as if the values were of the continuous law: ``2 t C(2t, t) / 4^t`` times one for
        Laplace (from the mixture in `lapwing.maths.noise_tails`), and ``sqrt(t)`` times one for Gaussian noise.
        """
        from scipy.special import gammaln  # noqa: PLC0415

        t = self.terms.astype(np.float64)
        if self.law.kind == "gaussian":
            return np.asarray(self.law.mean_absolute * np.sqrt(t))
        growth = 2 * t * np.exp(gammaln(2 * t + 1) - 2 * gammaln(t + 1) - 2 * t * math.log(2.0))
        return np.asarray(self.law.mean_absolute * growth)

    def _sums(self) -> dict[int, int]:
        """Return how many cells have so many terms."""
        kinds, counts = np.unique(self.terms, return_counts=True)
        sums = dict(zip(kinds.tolist(), counts.tolist(), strict=True))
        return sums if self.threshold is None else {1: self.cells}


def covering(noisy: Sequence[Answer], asked: AskedTable) -> Sums | None:
    """Return the noisy sums that make up the cells that count, all from one noisy table."""
    together = replace(asked, beyond=len(asked.groupings))
    for tables in tables_over(noisy, asked.columns):
        for _, _, cover in covered_cells(tables, together, np.ones((), dtype=np.bool_)):
            return Sums(cover.sums()[asked.cells], cover.terms[asked.cells], cover.law)
    return None


def fitting_cells(schema: Schema, columns: Sequence[str], groupings: Sequence[Grouping]) -> np.ndarray:
    """Return the cells of rows that fit the schema in these columns: ndarray of bool. The model has no others."""
    found = np.ones(tuple(grouping.groups for grouping in groupings), dtype=np.bool_)
    for axis, name in enumerate(columns):
        if not schema.field(name).domain.missing:
            np.moveaxis(found, axis, 0)[-1] = False
    return found


def cell_ranges(
    noisy: Sequence[Answer], asked: AskedTable, *, failure: Fraction, public_rows: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return ranges of the true counts of the cells that count from the noisy counts of fewer columns, all at once.

    Returns lower, upper: float64, of the table's shape, at least 0; infinite where nothing bounds a cell.

    A count is at most the one of fewer columns, and at least the sum of those of single columns less the number of rows
    for each but one (Fréchet's bounds).
    """
    columns, groupings, inside = asked.columns, asked.groupings, asked.cells
    lower, upper = np.zeros(inside.shape), np.full(inside.shape, np.inf)
    if not 2 <= len(columns) <= MOST_COLUMNS:
        return lower, upper
    each = failure / (2 ** len(columns) - 1)
    above = np.full(inside.shape, -(len(columns) - 1) * most_rows(noisy, public_rows, each))
    fewer = (itertools.combinations(range(len(columns)), size) for size in range(1, len(columns)))
    for kept in itertools.chain.from_iterable(fewer):
        others = tuple(axis for axis in range(len(columns)) if axis not in kept)
        needed = np.asarray(inside.any(axis=others))
        part = AskedTable([columns[axis] for axis in kept], [groupings[axis] for axis in kept], needed)
        found = covering(noisy, part)
        least, most = np.full(needed.shape, -np.inf), np.full(needed.shape, np.inf)
        if found is not None:
            reach = found.largest(each)
            least[needed], most[needed] = found.noisy - reach, np.maximum(found.noisy + reach, 0.0)
        upper = np.minimum(upper, np.expand_dims(most, others))
        if len(kept) == 1:
            above = above + np.expand_dims(least, others)
    return np.maximum(lower, above), upper


def _noisy_totals(noisy: Sequence[Answer]) -> dict[tuple[str, ...], list[NoisyNumber]]:
    """Return noisy numbers of rows in order, by the columns in which these have to fit the schema: none for all rows.

    Of a tree it is the level whose noise sums to least.
    """
    found: dict[tuple[str, ...], list[NoisyNumber]] = {}
    for answer in noisy:
        tables = [table for table in views(answer) if table.threshold is None]
        if tables:
            best = min(tables, key=lambda table: table.whole.size * table.law.sd**2)
            columns = () if all(side.is_whole for side in best.sides) else best.columns
            law, counts = best.law, best.whole
            number = NoisyNumber(float(counts.sum()), law.kind, law.parameter, counts.size, law.sd)
            found.setdefault(columns, []).append(number)
    return found


def rows_range(noisy: Sequence[Answer], failure: Fraction) -> tuple[float, float, bool] | None:
    """Return a range of the number of rows, and whether it counts rows that do not fit the schema; None without any.

    noisy: of one release, in the order in which they were given. It fails with the given probability at most.

    The range of the first noisy number, whose question is fixed before any noise, and that of the mean of all of them
    (`lapwing.maths.pooled_noise`) fail with half the probability each; the true number lies in both. Of rows that fit
    in some columns, which trees and cells count, the first is enough.
    """
    for columns, numbers in _noisy_totals(noisy).items():
        return *_range_of(numbers, failure, is_alone=bool(columns)), not columns
    return None


def _range_of(numbers: Sequence[NoisyNumber], failure: Fraction, *, is_alone: bool) -> tuple[float, float]:
    """Return the range of a number that noisy ones are of; the first alone is looked at where the caller says so."""
    first = numbers[0]
    each = failure if is_alone else failure / 2
    reach = sum_tail(first.kind, first.parameter, first.terms, each)
    if is_alone:
        return first.value - reach, first.value + reach
    mean, pooled = pooled_number(numbers, each)
    lower, upper = max(first.value - reach, mean - pooled), min(first.value + reach, mean + pooled)
    # Ranges that do not meet are a failure of one of them, which is paid for: the mean is the better guess.
    return (lower, upper) if lower <= upper else (mean - pooled, mean + pooled)


def most_rows(noisy: Sequence[Answer], public_rows: int | None, failure: Fraction) -> float:
    """Return a bound of the number of rows used that holds but with some probability; infinite without one."""
    if public_rows is not None:
        return float(public_rows)
    found = rows_range(noisy, failure)
    return max(0.0, found[1]) if found is not None and found[2] else math.inf


def own_groupings(noisy: Sequence[Answer], columns: Sequence[str], most_cells: int) -> tuple[Grouping, ...] | None:
    """Return the groups of the first noisy table of some columns and no others, if it has few enough cells.

    noisy: of one release, in the order in which they were given. Returns none too where these columns were first
    counted together with others, or in a tree of cells: sums of many noisy counts are better known in wider groups.
    """
    first = first_over(noisy, columns)
    if first is None or not first.is_plain or len(columns) < len(first.columns):
        return None
    found = first.groupings_of(columns)
    return found if math.prod(each.groups for each in found) <= most_cells else None


# -- How far the number of rows that a release tells may be from the true one.


_FAILURE: Final = Fraction(1, 20)
_OF_ALL: Final = Fraction(1, 10)
"""Of the failure, for the number of all rows, where that of those in cells is known too."""


def rows_statements(answers: Sequence[Answer], terms: Terms, rows: int) -> tuple[Statement, ...]:
    """Say how far a noisy number of rows may be off."""
    found = None if terms.rows is not None else rows_within(answers, rows, _FAILURE)
    if found is None:
        return ()
    within, which = found
    return (Statement(which, within, {"rows": rows, "confidence": float(1 - _FAILURE)}),)


def rows_within(answers: Sequence[Answer], rows: int, failure: Fraction) -> tuple[float, str] | None:
    """Return within how many rows a number of rows lies, but with some probability, and the code that states it.

    answers: of one release, in the order in which they were given. Returns how far ``rows`` is from the further end of
    the range that noisy totals leave; None without a total. Where a tree or cells were counted after the number of all
    rows, the range of the rows in them fails with nine tenths of the probability, and the nearer one is told.
    """
    found = list(_noisy_totals(answers).items())[:2]
    parts = [failure] if len(found) == 1 else [failure * _OF_ALL, failure * (1 - _OF_ALL)]
    told = []
    for (columns, numbers), part in zip(found, parts, strict=False):
        lower, upper = _range_of(numbers, part, is_alone=bool(columns))
        which = "number_of_fitting_rows" if columns else "number_of_rows"
        told.append((float(math.ceil(max(rows - lower, upper - rows))), which))
    return min(told, default=None)
