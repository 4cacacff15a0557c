"""The accuracy of one table before it is asked for, and of one count.

A table or count stands on the earliest answer of which one noisy table makes up all of it, and inside that answer on
the noisy table whose sum has the least variance: both are fixed before the noise of that answer is drawn, see
`lapwing.model.queries.intervals`. A number of rows that no answer makes up is bounded by those of fewer columns; each
such set of
columns gets the same part of the failure probability, whether it was measured or not, so that nothing depends on that.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.maths.noise_norms import absolute_noise, largest_noise
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.queries.intervals import covering_views, measured_groupings
from lapwing.schema.groupings.grouping import Grouping

# -- How far a released table is from the true one, from its noisy counts and the law of their noise.


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

    released: float64 (k,), at least 0; noisy: int64 (k,); largest: float64 (k,), bounds of the absolute noise of each
    cell that hold together. Returns float64 (k,).

    >>> count_errors(np.array([8.0, 0.0]), np.array([10, -5]), np.array([4.0, 6.0])).tolist()
    [6.0, 1.0]
    """
    lower, upper = np.maximum(noisy - largest, 0.0), np.maximum(noisy + largest, 0.0)
    return np.asarray(np.maximum(released - lower, upper - released))


def variation_bound(released: np.ndarray, noisy: np.ndarray, noise: TableNoise) -> float:
    """Return a bound for the total variation distance between a released table and the true one.

    released: float64 (k,), at least 0; only its shares matter; noisy: int64 (k,). Returns 0 to 1. It holds where the
    true table has rows and the noise is as `noise` says.

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
class Covering:
    """Hold the noisy sums that make up the cells of a table, or those of them that were asked for.

    noisy: int64 (k,), sums of noisy counts; terms: int64 (k,), how many counts each is the sum of, at least 1.
    """

    noisy: np.ndarray
    terms: np.ndarray
    law: NoiseLaw

    def largest(self, failure: Fraction) -> np.ndarray:
        """Return bounds of the noise of all cells at once: ndarray of float64, shape (k,)."""
        kinds, places = np.unique(self.terms, return_inverse=True)
        reach = largest_noise(self.law.kind, self.law.parameter, self._sums(), failure)
        return np.array([float(reach[each]) for each in kinds.tolist()])[places.ravel()]

    def table_noise(self, failure: Fraction) -> TableNoise:
        """Return what is known of the noise at once."""
        law, every = self.law, int(self.terms.sum())
        absolute = absolute_noise(law.kind, law.parameter, self._sums(), failure * _OF_EACH)
        reach = float(sum_tail(law.kind, law.parameter, every, failure * _OF_SUM))
        return TableNoise(self.largest(failure * _OF_EACH), absolute, (-reach, reach))

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
        return dict(zip(kinds.tolist(), counts.tolist(), strict=True))


def covering(
    noisy: Sequence[Answer], columns: Sequence[str], groupings: Sequence[Grouping], asked: np.ndarray
) -> Covering | None:
    """Return the noisy sums that make up the asked cells of a table.

    noisy: of one release, in the order in which they were given; asked: bool, of the table's shape, the cells, at least
    one. Returns of the earliest answer of which one table makes up all of them.
    """
    for answer in noisy:
        views = [view for view in covering_views(answer, columns, groupings) if (view.terms[asked] > 0).all()]
        if views:
            best = min(views, key=lambda view: float(view.terms[asked].sum()) * view.noise.sd**2)
            return Covering(best.sums()[asked], best.terms[asked], best.noise)
    return None


def cell_ranges(
    noisy: Sequence[Answer],
    columns: Sequence[str],
    groupings: Sequence[Grouping],
    asked: np.ndarray,
    *,
    failure: Fraction,
    public_rows: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ranges of the true counts of cells from the noisy counts of fewer columns, all at once.

    Returns lower, upper: float64, of the table's shape, at least 0; infinite where nothing bounds a cell.

    A count is at most the one of fewer columns, and at least the sum of those of single columns less the number of rows
    for each but one (Fréchet's bounds).
    """
    lower, upper = np.zeros(asked.shape), np.full(asked.shape, np.inf)
    if not 2 <= len(columns) <= MOST_COLUMNS:
        return lower, upper
    each = failure / (2 ** len(columns) - 1)
    above = np.full(asked.shape, -(len(columns) - 1) * most_rows(noisy, public_rows, each))
    for kept in _fewer(len(columns)):
        others = tuple(axis for axis in range(len(columns)) if axis not in kept)
        needed = np.asarray(asked.any(axis=others))
        found = covering(noisy, [columns[axis] for axis in kept], [groupings[axis] for axis in kept], needed)
        least, most = np.full(needed.shape, -np.inf), np.full(needed.shape, np.inf)
        if found is not None:
            reach = found.largest(each)
            least[needed], most[needed] = found.noisy - reach, np.maximum(found.noisy + reach, 0.0)
        upper = np.minimum(upper, np.expand_dims(most, others))
        if len(kept) == 1:
            above = above + np.expand_dims(least, others)
    return np.maximum(lower, above), upper


def noisy_totals(noisy: Sequence[Answer]) -> Iterator[tuple[float, NoiseLaw, int, bool]]:
    """Return noisy numbers of rows, in the order in which they were given.

    Returns the number, the law of each noisy count in it, how many these are, and whether rows that do not fit the
    schema are counted.
    """
    for answer in noisy:
        match answer:
            case NoisyCounts():
                yield float(answer.counts.sum()), answer.noise, answer.counts.size, True
            case NoisyTree():
                nested, first = answer.question.hierarchies, answer.tables[0]
                is_whole = all(each.covered == each.values + each.reserved for each in nested)
                yield float(first.counts.sum()), first.noise, first.counts.size, is_whole


def most_rows(noisy: Sequence[Answer], public_rows: int | None, failure: Fraction) -> float:
    """Return a bound of the number of rows used that holds but with some probability; infinite without one.

    noisy: of one release, in the order in which they were given.
    """
    if public_rows is not None:
        return float(public_rows)
    for total, law, terms, is_whole in noisy_totals(noisy):
        if is_whole:
            return max(0.0, total + sum_tail(law.kind, law.parameter, terms, failure))
    return math.inf


def table_bounds(released: np.ndarray, found: Covering, failure: Fraction) -> tuple[float, float]:
    """Return bounds of the counts' errors, in rows, and of the total variation distance, each by itself."""
    errors = count_errors(released, found.noisy, found.largest(failure))
    return float(errors.max()), variation_bound(released, found.noisy, found.table_noise(failure))


def own_groupings(noisy: Sequence[Answer], columns: Sequence[str], most_cells: int) -> tuple[Grouping, ...] | None:
    """Return the groups of the first noisy table of some columns and no others, if it has few enough cells.

    noisy: of one release, in the order in which they were given. Returns none too where these columns were first
    counted together with others: sums of many noisy counts are better known in wider groups.
    """
    for answer in noisy:
        if set(columns) <= set(answer.question.columns):
            found = measured_groupings([answer], columns)
            if found is None:
                continue
            is_own = len(columns) == len(answer.question.columns)
            return found if is_own and math.prod(each.groups for each in found) <= most_cells else None
    return None


def _fewer(columns: int) -> Iterator[tuple[int, ...]]:
    """Return the sets of some but not all columns."""
    for size in range(1, columns):
        yield from itertools.combinations(range(columns), size)
