"""Grid: noisy counts of all cells of a grid, of which only the well filled ones are released.

ask -> model: noisy counts above a threshold, one atom per cell. The grid may have more cells than can be written out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import ClassVar, Self

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, log_tail, row_sensitivity
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.selection_threshold import least_safe
from lapwing.mechanisms.shared.base import Mechanism, Questions
from lapwing.mechanisms.shared.cell_model import (
    Fit,
    cells_statement,
    check_cell_settings,
    check_edge,
    check_listable,
    epsilon_of,
    fitted_weights,
    halved_cells,
    noise_scale,
    released_rows,
    weighted_cells,
)
from lapwing.mechanisms.shared.one_way import asked_within, known_rows, told_rows
from lapwing.mechanisms.shared.settings import check_choice
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

FINEST = 2.0**-16  # shortest default edge of a cell
CELL_ROWS: Mapping[Fit, float] = MappingProxyType({"threshold": 10.0, "least_squares": 2.0})
"""By default a cell would hold this many rows over epsilon if rows were spread evenly; chosen on public mixtures."""


_FEW_KEPT = 0.5

EMPTY_SHARE = 0.01  # part of the rows that noise may put into empty cells, in expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(Mechanism):
    """Count the cells of a fixed grid with noise, and keep those whose noisy count reaches a threshold.

    Parameters
    ----------
    width : float or None, default None
        Longest edge of a cell, columns having length 1: each column is halved until its runs are no longer. By default
        from the number of rows, the budget and the number of columns.
    threshold : int or None, default None
        Cells with a smaller noisy count are left out, and all below 1. By default so large that, expected over the
        noise, empty cells bring 1 % of the rows; for ``fit="least_squares"`` one noise scale.
    fit : {"threshold", "least_squares"}, default "threshold"
        ``threshold``: the paper's filter; the grid may be huge. ``least_squares``: all cells are counted, at most
        2**20, and their counts fitted to non-negative ones along the tree of halves of the grid; cells below the
        threshold hand their rows to their nearest relatives.
    placement : {"uniform", "centre"}, default "uniform"
        Where in its cell a row lies; the paper releases the centres.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: one `SparseCounts` question (and, where no number of rows is public or expected and one is needed, one
    `MarginalCounts` for it with 2 %): ε-DP in all, or ρ-zCDP (a filter's ε enters as ε²/2), for add-remove and
    replace-one neighbours and any number of rows per unit.

    Expected error: Theorems 3 and 5 of the paper, in `lapwing.theorems.kernel_bounds`. Time ``O(n d + n log n)``
    for n
    rows and d columns; the number of cells costs nothing.

    References
    ----------
    Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", Algorithms 1 and 4. What we changed: the box
    is public; integers and exact noise; empty cells are drawn by geometric gaps, with their exact law; noise of scale
    1/ε under add-remove neighbours.

    Examples
    --------
    >>> Grid(width=0.01).fit
    'threshold'
    """

    __repr__ = short
    name: ClassVar[str] = "Grid"
    summary: ClassVar[str] = "cells of a fixed grid with many rows; for few columns, or as the baseline of KDTree"
    caveat: ClassVar[str] = "thin_cells"
    report: ClassVar[str] = "counted, with noise, the rows in the cells of a fixed grid, and kept the well filled ones."

    width: float | None = None
    threshold: int | None = None
    fit: Fit = "threshold"
    placement: Placement = "uniform"

    def __post_init__(self) -> None:
        if self.width is not None:
            check_edge("width", self.width)
        check_choice(self, "placement", Placement)
        check_cell_settings(self)

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(width=0.5, threshold=3)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:  # noqa: ARG002
        """Return one atom per kept cell."""
        is_given, terms = self._is_given, curator.terms
        rows, left = (1.0, budget) if is_given else known_rows(curator, budget)
        question = asked_within(partial(self._question, schema, left, terms), rows)
        (noisy,) = curator.ask(question)
        is_bought = not is_given and terms.rows is None and terms.expected_rows is None
        total = released_rows(noisy, terms.rows)
        if is_bought:  # the kept cells are a part of the table
            total = max(total if self.fit == "threshold" else 0, round(rows))
        if self.fit == "threshold":
            weights = noisy.counts.astype(np.float64)
        else:
            weights = fitted_weights(noisy, float(total), float(self._least(noisy.noise)))
        return weighted_cells(schema, noisy.question.tree, noisy.leaves, weights, total, placement=self.placement)

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Say over which cells the release counts, and how much of the table the kept ones hold, if rows are known."""
        del schema, rng
        noisy = next(answer for answer in answers if isinstance(answer, NoisyCells))
        is_known = terms.rows is not None or len(answers) > 1
        cells = cells_statement(noisy.question)
        if self.fit == "least_squares" or not is_known or model.rows == 0:
            return (cells,)
        share = float(noisy.counts.sum()) / model.rows
        return cells, Statement("share_kept", share, {"cells": len(noisy.counts)})

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return how many rows are expected in cells that are empty."""
        del schema, budget, rng
        (question,) = (each for each in questions if isinstance(each, SparseCounts))
        noise = question.noise(terms.relation, terms.max_rows)
        expected = Statement("expected_cell_noise", noise.mean_absolute)
        if question.threshold is not None:
            rows = told_rows(terms)
            misplaced = filtered_error(noise, question.threshold, question.tree.cells, rows) / rows
            expected = Statement("expected_elsewhere", misplaced)
        return expected, cells_statement(question)

    def warnings(self, schema: Schema, answers: Sequence[Answer], accuracy: Sequence[Statement]) -> tuple[Notice, ...]:
        """Say where the cells of a filtered grid hold few of the rows."""
        del schema, answers
        return tuple(
            Notice("few_kept", {"share": max(0.0, statement.value)})
            for statement in accuracy
            if statement.code == "share_kept" and statement.value is not None and statement.value < _FEW_KEPT
        )

    @property
    def _is_given(self) -> bool:
        """Whether nothing hangs on the number of rows."""
        return self.width is not None and (self.threshold is not None or self.fit == "least_squares")

    def _question(self, schema: Schema, budget: Budget, terms: Terms, rows: float) -> SparseCounts:
        """Return the question that spends the budget on the cells of the grid."""
        epsilon = epsilon_of(budget)
        per_noise = rows * float(epsilon) / row_sensitivity(terms.relation, terms.max_rows).l1
        width = self.width or default_width(len(schema.columns), per_noise, self.fit)
        tree = halved_cells(schema, width, width)
        asked = SparseCounts(tree=tree, threshold=None, epsilon=epsilon, notion=budget.notion)
        if self.fit == "least_squares":
            check_listable(tree)
            return _checked(asked, terms, schema)
        asked = replace(asked, threshold=1)
        noise = asked.noise(terms.relation, terms.max_rows)
        asked = replace(asked, threshold=self.threshold or default_threshold(noise, tree.cells, rows))
        return _checked(asked, terms, schema)

    def _least(self, noise: NoiseLaw) -> int:
        """Return the least noisy count of a fitted cell that gets rows."""
        return self.threshold or max(1, math.floor(noise_scale(noise)))


def _checked(question: SparseCounts, terms: Terms, schema: Schema) -> SparseCounts:
    question.check(terms, schema)
    return question


def default_width(columns: int, rows_per_noise: float, fit: Fit) -> float:
    """Return a width of cells, a power of 2.

    fit: a filter loses what is in thin cells, so that its cells grow with n: about ``(epsilon n)**(1 / (d + 2))`` of
    them along a column, and not fewer rows in each than `CELL_ROWS` over epsilon.

    >>> default_width(2, 1e5, "threshold"), default_width(2, 1e5, "least_squares")
    (0.015625, 0.00390625)
    """
    every = math.log2(max(1.0, rows_per_noise))
    levels = max(0.0, every - math.log2(CELL_ROWS[fit])) / columns
    if fit == "threshold":
        levels = min(levels, every / (columns + 2) + 2)
    return float(max(FINEST, 2.0 ** -round(levels)))


def filtered_error(noise: NoiseLaw, threshold: int, cells: int, rows: int) -> float:
    """Bound the expected sum of absolute errors of all cells, in records, when small noisy counts are left out.

    A cell with rows is off by ``|Z|`` if it is kept, and holds less than ``threshold + |Z|`` otherwise; at most
    ``rows`` cells hold any. For the empty ones see `log_empty_records`. Scaled to sum 1, the kept weights are off in
    total variation by at most the sum of absolute errors over the rows.
    """
    return min(rows, cells) * (threshold + noise.mean_absolute) + math.exp(log_empty_records(noise, threshold, cells))


def log_empty_records(noise: NoiseLaw, threshold: int, cells: int) -> float:
    """Return the logarithm of the records that noise is expected to put into kept empty cells.

    One brings ``sum over z >= t of z P[Z = z] = P[Z >= t] (t + q / (1 - q))`` for t >= 1, q = exp(-1 / scale).
    """
    excess = 1.0 / math.expm1(float(min(1 / noise.parameter, Fraction(700))))
    return math.log(cells) + log_tail(noise.parameter, threshold) + math.log(threshold + excess)


def default_threshold(noise: NoiseLaw, cells: int, rows: float) -> int:
    """Return the least threshold from 1 on with which empty cells are expected to bring at most 1 % of the rows."""
    log_most = math.log(max(1.0, rows) * EMPTY_SHARE)
    return least_safe(lambda threshold: log_empty_records(noise, threshold, cells) <= log_most)
