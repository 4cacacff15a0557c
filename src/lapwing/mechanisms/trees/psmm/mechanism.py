"""The private signed measure mechanism.

ask -> fit -> model: noisy counts of equal cells, the nearest measure without negative counts, and rows in the cells.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, Self

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import calibrated, row_sensitivity
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.shared.base import Mechanism, Questions
from lapwing.mechanisms.shared.one_way import SEEN_DEVIATIONS, known_rows, told_rows, uniform_model
from lapwing.mechanisms.shared.settings import check_choice, check_whole
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.mechanisms.trees.psmm.accuracy import (
    counted_cells,
    planned_statements,
    released_statements,
    suitable_cells,
)
from lapwing.mechanisms.trees.psmm.box_cells import BoxCells, box_cells, cells_of, cover_deficits
from lapwing.model.certificate.statements import Statement
from lapwing.model.laws import Laws
from lapwing.model.model import Indexed, ReleasedModel, narrow, whole_rows
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

# -- Isotonic regression in absolute error, and what it solves on a line: covering negative counts from positive ones.


Integers = npt.NDArray[np.int64]


def isotonic_l1(values: Integers, weights: Integers) -> Integers:
    """Return a non-decreasing sequence that is nearest in weighted absolute error.

    values: int64 (k,), the sequence; weights: int64 (k,), at least 1. Returns int64 (k,), of the minimisers of
    ``sum(weights * abs(result - values))`` the one with the smallest last entries; it takes no value that is not one of
    ``values``.

    The error of the best non-decreasing prefix, as a function of an upper bound of its last entry, is convex and
    piecewise linear; a heap holds its bends. Time ``O(k log k)``.

    Rote (2019), "Isotonic regression by dynamic programming".

    >>> isotonic_l1(np.array([1, 5, 2, 3]), np.array([1, 1, 1, 1])).tolist()
    [1, 2, 2, 3]
    """
    bends: list[tuple[int, int]] = []
    lowest = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        heapq.heappush(bends, (-value, 2 * weight))
        # The new term raises all slopes to the right of the value; those above 0 are cut off.
        surplus = weight
        while bends[0][1] <= surplus:
            surplus -= heapq.heappop(bends)[1]
        place, slope = bends[0]
        heapq.heapreplace(bends, (place, slope - surplus))
        lowest.append(-place)
    backwards = np.minimum.accumulate(np.array(lowest[::-1], dtype=np.int64))
    return backwards[::-1]


def cover_line(counts: Integers, lengths: Integers) -> Integers:
    """Move counts on a line as little as possible, so that none has the other sign than their sum.

    What flows between neighbours is the difference of the cumulative sums, so the cumulative sums of the result are
    the nearest ones, weighted by the distances, that increase from 0 to the sum: isotonic regression, clipped.

    >>> cover_line(np.array([5, 0, -2, 1]), np.array([1, 1, 1])).tolist()
    [4, 0, 0, 0]
    >>> cover_line(np.array([1, -3]), np.array([1])).tolist()
    [0, -2]
    """
    total = int(counts.sum())
    if total < 0:
        return -cover_line(-counts, lengths)
    inner = isotonic_l1(np.cumsum(counts)[:-1], lengths)
    sums = np.concatenate(([0], np.clip(inner, 0, total), [total]))
    return sums[1:] - sums[:-1]


Surplus = Literal["rescale", "lp"]


def exact_total(schema: Schema, terms: Terms) -> int | None:
    """Return the number of rows in the cells where it is public: no column may hold misfits, which are in no cell."""
    return terms.rows if all(column.domain.missing for column in schema.columns) else None


def fitted_measure(counts: np.ndarray, cells: BoxCells, total: int | None) -> np.ndarray:
    """Return the measure without negative counts that is nearest in bounded-Lipschitz distance.

    counts: int64, shape ``cells.shape``, noisy; total: what the result sums to; None for the sum of the counts. Returns
    float64, shape ``cells.shape``, at least 0. All zeros where the total is 0 or less.

    What the counts sum to more or less than the total is removed or added at price 1, the largest distance there is,
    and negative counts are covered at the price of distance. Both together cost least if the negative counts that lie
    furthest from positive ones are covered by what is added, and all others by moving. Where something is added or
    removed at price 1 does not matter for the cost, nor where mass comes from that moves at price 1: all cells lose or
    gain the same there, as far as they hold it (the Euclidean projection), so that no cell gets it all.
    """
    wanted = int(counts.sum()) if total is None else total
    if wanted <= 0:
        return np.zeros(cells.shape)
    added = max(0, wanted - int(counts.sum()))
    if len(cells.axes) == 1 and not added:
        left = _covered_lines(counts, cells)
    else:
        flat = np.ascontiguousarray(counts).reshape(-1)
        left = cover_deficits(flat, cells.steps(), price=1 / cells.unit, free=added).reshape(cells.shape)
    if left.min() >= 0 and left.sum() == wanted:
        return left.astype(np.float64)
    return project_to_simplex(left, float(wanted))


def _covered_lines(counts: np.ndarray, cells: BoxCells) -> np.ndarray:
    """Return the counts moved along lines of runs until no line has both signs.

    A line with a positive sum covers its own negative counts, at less than the price 1 of mass from elsewhere; a line
    with a negative sum needs as much as that sum from elsewhere, at price 1 wherever it goes.
    """
    axis, runs = cells.axes[0], cells.sides[0].size + 1
    left = np.moveaxis(counts.copy(), axis, -1)
    for place in np.ndindex(left.shape[:-1]):
        left[place][:runs] = cover_line(left[place][:runs], cells.sides[0])
    return np.moveaxis(left, -1, axis)


def measure_as_model(
    schema: Schema, cells: BoxCells, measure: np.ndarray, rows: int | None, placement: Placement
) -> ReleasedModel:
    """Return one atom per cell with mass; the uniform model where there is none."""
    full = np.flatnonzero(measure)
    stands_for = whole_rows(float(measure.sum())) if rows is None else rows
    if not full.size:
        return uniform_model(schema, stands_for)
    places = np.unravel_index(full, cells.shape)
    laws = {
        name: Indexed(narrow(place), _laws(grouping, size, placement))
        for name, grouping, size, place in zip(cells.columns, cells.groupings, cells.shape, places, strict=True)
    }
    return ReleasedModel(weights=measure.reshape(-1)[full], rows=stands_for, laws=laws)


def model_as_measure(model: ReleasedModel, cells: BoxCells) -> np.ndarray:
    """Return the measure that `measure_as_model` made a model of."""
    places = [law.index for law in model.laws.values() if isinstance(law, Indexed)]
    measure = np.zeros(cells.shape)
    measure[tuple(places)] = model.weights
    return measure


def _laws(grouping: Grouping, size: int, placement: Placement) -> Laws:
    """Return one law per coordinate of a column: uniform on its codes, or certain of the one in the middle."""
    starts, stops, _ = grouping.pieces()
    starts, stops = starts[:size], stops[:size]
    if placement == "centre":
        starts = starts + (stops - starts) // 2
        stops = starts + 1
    return Laws(np.arange(size + 1), starts, stops, np.ones(size))


# -- the mechanism.


LIMIT: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class PSMM(Mechanism):
    """Count equal cells with noise, and release the nearest measure without negative counts.

    Parameters
    ----------
    cells : int or None, default None
        Cells asked for, 1 to ``max_cells``; the table has at most so many, but at least one for each combination of
        categories, special values and missing. By default as many as suit the number of rows and the noise: about
        ``epsilon * rows / 4`` for two columns and add-remove neighbours, fewer for one.
    max_cells : int, default 65_536
        Most cells, up to 2**20.
    surplus : {"rescale", "lp"}, default "rescale"
        What happens to the difference between the noisy counts' sum and a public number of rows. ``rescale``: negative
        counts are covered from positive ones, then all are scaled. ``lp``: the published linear program for a public
        number of rows, which also covers from what is missing; replace-one neighbours only.
    placement : {"uniform", "centre"}, default "uniform"
        Where in its cell a row lies.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: one `MarginalCounts` question of the whole budget, or, where no number of rows is public or expected and
    ``cells`` is left out, one for it with 2 % and the table with the rest; ε-DP or ρ-zCDP in all, for add-remove and
    replace-one neighbours and any number of rows per unit.

    Expected error: with n rows, in 1-Wasserstein distance where each column has length 1 (the largest coordinate
    counts), ``O((ε n)**(-1/2))`` for one column, ``O(log(ε n) (ε n)**(-1/2))`` for two and ``O((ε n)**(-1/3))`` for
    three. Rows with a misfit are in no cell, and not in the model. At most three columns may be ordered with more than
    two values. Time ``O(n d + m log m)`` for m cells of one column; a min-cost flow for more.

    References
    ----------
    He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data", Section 3. What we changed:
    the noise is that of the neighbour relation; a private number of rows is replaced by the sum of the noisy counts;
    the linear program is solved as a flow between neighbouring cells; categories, special values and missing lie at
    distance 1.

    Examples
    --------
    >>> PSMM(cells=1024).surplus
    'rescale'
    """

    __repr__ = short
    name: ClassVar[str] = "PSMM"
    summary: ClassVar[str] = "noisy counts of equal cells, nearest measure to them; up to three ordered columns"
    report: ClassVar[str] = (
        "counted, with noise, the rows in equal cells, and took the nearest table that has no negative counts."
    )

    cells: int | None = None
    max_cells: int = 65_536
    surplus: Surplus = "rescale"
    placement: Placement = "uniform"

    def __post_init__(self) -> None:
        check_whole(self, "max_cells", 1, LIMIT)
        check_whole(self, "cells", 1, self.max_cells, optional=True)
        check_choice(self, "surplus", Surplus)
        check_choice(self, "placement", Placement)

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(cells=32, max_cells=256)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return one atom per cell with mass, spending exactly ``budget``."""
        del rng
        box_cells(schema, 1, self.max_cells)  # refuses too many, before a number of rows is bought
        if self.surplus == "lp" and curator.terms.rows is None:
            raise ParameterError(
                "surplus='lp' is the linear program for a public number of rows, and add-remove neighbours have none, "
                "nor have units whose rows are private; use neighbours='replace-one', or surplus='rescale'",
                code="LW316",
            )
        rows, left = (1.0, budget) if self.cells is not None else known_rows(curator, budget)
        cells = self._chosen_cells(schema, curator.terms, left, rows)

        (noisy,) = curator.ask(_question(cells, left))
        measure = fitted_measure(cells.within(noisy.counts), cells, self._total(curator.terms, noisy, cells))
        return measure_as_model(schema, cells, measure, curator.terms.rows, self.placement)

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return what is proved about the accuracy of a release."""
        noisy = next(answer for answer in answers if isinstance(answer, NoisyCounts) and answer.question.columns)
        cells = cells_of(schema, noisy.question.groupings)
        counts, total = cells.within(noisy.counts), self._total(terms, noisy, cells)
        is_uniform = (int(counts.sum()) if total is None else total) <= 0
        measure = None if is_uniform else model_as_measure(model, cells)
        public = exact_total(schema, terms)
        counted = counted_cells(schema, cells, noisy.noise, counts, public)
        return released_statements(cells, counted, measure, self.placement, rng)

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return the expected distance between table and model."""
        del budget
        (question,) = (each for each in questions if isinstance(each, MarginalCounts))
        cells, noise = cells_of(schema, question.groupings), question.noise(terms.relation, terms.max_rows)
        return planned_statements(cells, noise, float(told_rows(terms)), rng, is_sum_public=self.surplus == "lp")

    def _chosen_cells(self, schema: Schema, terms: Terms, budget: Budget, rows: float) -> BoxCells:
        """Return as many cells as were asked for, else as many as suit the noise."""
        if self.cells is not None:
            return box_cells(schema, self.cells, self.max_cells)
        noise = calibrated(row_sensitivity(terms.relation, terms.max_rows), budget)
        return suitable_cells(schema, noise, rows, self.max_cells)

    def _total(self, terms: Terms, noisy: NoisyCounts, cells: BoxCells) -> int | None:
        """Return what the measure sums to: None for the sum of the noisy counts, else the public number of rows.

        Rows with a misfit are in no cell: where noise does not explain what was counted of them, they are taken off.
        """
        if self.surplus == "rescale" or terms.rows is None:
            return None
        outside = int(noisy.whole.sum() - cells.within(noisy.counts).sum())
        sd = noisy.noise.sd * math.sqrt(noisy.whole.size - cells.cells)
        return max(0, terms.rows - outside) if outside > SEEN_DEVIATIONS * sd else terms.rows


def _question(cells: BoxCells, cost: Budget) -> MarginalCounts:
    """Return the question for the counts of all cells."""
    return MarginalCounts(columns=cells.columns, groupings=cells.groupings, cost=cost)
