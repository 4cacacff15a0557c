"""The private signed measure mechanism.

ask -> solve -> model: noisy counts of equal cells, the nearest measure without negative counts, and rows in the cells.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import calibrate_noise, row_sensitivity
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.base import Mechanism, Questions
from lapwing.mechanisms.shared.one_way import SEEN_DEVIATIONS, public_or_expected_rows, public_or_noisy_rows
from lapwing.mechanisms.shared.settings import Variant, check_choice, check_whole
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.mechanisms.trees.psmm.accuracy import (
    counted_cells,
    planned_statements,
    released_statements,
    suitable_cells,
)
from lapwing.mechanisms.trees.psmm.box_cells import BoxCells, box_cells, cells_of
from lapwing.mechanisms.trees.psmm.measures import measure_as_model, model_as_measure, nearest_measure
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

LIMIT: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class PSMM(Mechanism):
    """Count equal cells with noise, and release the nearest measure without negative counts.

    Parameters
    ----------
    cells : int or None, default None
        Cells asked for (the paper's m), 1 to ``max_cells``; the table has at most so many, but at least one for each
        combination of categories, special values and missing. By default as many as suit the number of
        rows and the noise: about ``epsilon * rows / 4`` for two columns and add-remove neighbours, fewer for one.
    max_cells : int, default 65_536
        Most cells, up to 2**20.
    variant : {"default", "paper"}, default "default"
        What happens to the difference between the noisy counts' sum and a public number of rows. ``default``: negative
        counts are covered from positive ones, then all are scaled. ``paper``: the published linear program for a public
        number of rows, which also covers from what is missing; replace-one neighbours only.
    placement : {"uniform", "centre"} or None, default None
        Where in its cell a row lies. By default uniform; for the paper's variant in the middle.

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
    >>> PSMM(cells=1024).variant
    'default'
    """

    __repr__ = short
    name: ClassVar[str] = "PSMM"
    summary: ClassVar[str] = "noisy counts of equal cells, nearest measure to them; up to three ordered columns"
    report: ClassVar[str] = (
        "counted, with noise, the rows in equal cells, and took the nearest table that has no negative counts."
    )

    cells: int | None = None
    max_cells: int = 65_536
    variant: Variant = "default"
    placement: Placement | None = None

    def __post_init__(self) -> None:
        check_whole(self, "max_cells", 1, LIMIT)
        check_whole(self, "cells", 1, self.max_cells, optional=True)
        check_choice(self, "variant", Variant)
        if self.placement is not None:
            check_choice(self, "placement", Placement)

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(cells=32, max_cells=256)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return one atom per cell with mass, spending exactly ``budget``."""
        del rng
        box_cells(schema, 1, self.max_cells)  # refuses too many, before a number of rows is bought
        if self.variant == "paper" and curator.terms.rows is None:
            raise ParameterError(
                "variant='paper' is the linear program for a public number of rows, and add-remove neighbours have "
                "none, nor have units whose rows are private; use neighbours='replace-one', or variant='default'",
                code="LW316",
            )

        # Ask (Algorithm 1): n_i + Z_i for each cell; N nu is the signed measure with these masses.
        rows, left = (1.0, budget) if self.cells is not None else public_or_noisy_rows(curator, budget)
        cells = self._chosen_cells(schema, curator.terms, left, rows)
        (noisy,) = curator.ask(MarginalCounts(columns=cells.columns, groupings=cells.groupings, cost=left))

        # Solve (Algorithm 2, as a flow between neighbouring cells): the measure nearest to N nu.
        measure = nearest_measure(cells.within(noisy.counts), cells, self._total(curator.terms, noisy, cells))

        # Model: rows in the cells, in proportion to it; for the paper at one y_i of each.
        return measure_as_model(schema, cells, measure, curator.terms.rows, self._placement)

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
        return released_statements(cells, counted, measure, self._placement, rng)

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return the expected distance between table and model."""
        del budget
        (question,) = (each for each in questions if isinstance(each, MarginalCounts))
        cells, noise = cells_of(schema, question.groupings), question.noise(terms.relation, terms.max_rows)
        return planned_statements(
            cells, noise, float(public_or_expected_rows(terms)), rng, is_sum_public=self.variant == "paper"
        )

    @property
    def _placement(self) -> Placement:
        """Where in its cell a row lies: the paper puts all at one point y_i."""
        return self.placement or ("centre" if self.variant == "paper" else "uniform")

    def _chosen_cells(self, schema: Schema, terms: Terms, budget: Budget, rows: float) -> BoxCells:
        """Return as many cells as were asked for, else as many as suit the noise."""
        if self.cells is not None:
            return box_cells(schema, self.cells, self.max_cells)
        noise = calibrate_noise(row_sensitivity(terms.relation, terms.max_rows), budget)
        return suitable_cells(schema, noise, rows, self.max_cells)

    def _total(self, terms: Terms, noisy: NoisyCounts, cells: BoxCells) -> int | None:
        """Return what the measure sums to: None for the sum of the noisy counts, else the public number of rows.

        Rows with a misfit are in no cell: where noise does not explain what was counted of them, they are taken off.
        """
        if self.variant == "default" or terms.rows is None:
            return None
        outside = int(noisy.whole.sum() - cells.within(noisy.counts).sum())
        sd = noisy.noise.sd * math.sqrt(noisy.whole.size - cells.cells)
        return max(0, terms.rows - outside) if outside > SEEN_DEVIATIONS * sd else terms.rows


def exact_total(schema: Schema, terms: Terms) -> int | None:
    """Return the number of rows in the cells where it is public: no column may hold misfits, which are in no cell."""
    return terms.rows if all(column.domain.missing for column in schema.columns) else None
