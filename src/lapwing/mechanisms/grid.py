"""Grid: noisy counts of all cells of a grid, of which only the well filled ones are released.

ask -> model: noisy counts above a threshold, one atom per cell. The grid may have more cells than can be written out.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.mechanisms.steps.cell_model import (
    check_edge,
    check_placement,
    check_threshold,
    released_rows,
    weighted_cells,
)
from lapwing.mechanisms.steps.cell_shapes import epsilon_of, halved_cells
from lapwing.mechanisms.steps.one_way import known_rows
from lapwing.mechanisms.steps.tree_model import Placement
from lapwing.release.certificate import Statement
from lapwing.release.curator import Curator
from lapwing.release.laplace_events import log_tail
from lapwing.release.model import ReleasedModel
from lapwing.release.noise_law import NoiseLaw
from lapwing.release.planned import Planned
from lapwing.release.sparse_counts import SparseCounts
from lapwing.release.terms import Relation, Terms
from lapwing.schema.schemas import Schema

FINEST = 2.0**-16
"""Shortest default edge of a cell."""

EMPTY_SHARE = 0.01
"""Part of the rows that noise may put into empty cells, in expectation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Count the cells of a fixed grid with noise, and keep those whose noisy count reaches a threshold.

    Parameters
    ----------
    width : float or None, default None
        Longest edge of a cell, columns having length 1: each column is halved until its runs are no longer. By default
        from the number of rows, the budget and the number of columns.
    threshold : int or None, default None
        Cells with a smaller noisy count are left out, and all below 1. By default so large that, expected over the
        noise, empty cells bring 1 % of the rows.
    placement : {"uniform", "centre"}, default "uniform"
        Where in its cell a row lies; the paper releases the centres.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: one `SparseCounts` question (and, where no number of rows is public or expected and one is needed, one
    `MarginalCounts` for it with 2 %): ε-DP in all, or ρ-zCDP (an ε enters as ε²/2), for add-remove and replace-one
    neighbours and any number of rows per unit.

    Expected error: Theorems 3 and 5 of the paper, in `lapwing.numerics.kernel_bounds`. Time ``O(n d + n log n)`` for n
    rows and d columns; the number of cells costs nothing.

    References
    ----------
    Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", Algorithms 1 and 4. What we changed: the box
    is public; integers and exact noise; empty cells are drawn by geometric gaps, with their exact law; noise of scale
    1/ε under add-remove neighbours.

    Examples
    --------
    >>> Grid(width=0.01).placement
    'uniform'
    """

    name: ClassVar[str] = "Grid"
    summary: ClassVar[str] = "cells of a fixed grid with many rows; for few columns, or as the baseline of KDTree"
    relations: ClassVar[tuple[Relation, ...]] = ("add-remove", "replace-one")
    caveat: ClassVar[str] = "rows in thinly filled cells are left out, and inside a cell rows are spread evenly"

    width: float | None = None
    threshold: int | None = None
    placement: Placement = "uniform"

    def __post_init__(self) -> None:
        if self.width is not None:
            check_edge("width", self.width)
        check_threshold(self.threshold)
        check_placement(self.placement)

    @classmethod
    def small(cls) -> "Grid":
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(width=0.5, threshold=3)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:  # noqa: ARG002
        """Return one atom per kept cell.

        Parameters
        ----------
        curator : Curator
            Answers the questions.
        schema : Schema
            With at least one modelled column.
        budget : Budget
            Pure ε or zCDP.
        rng : numpy.random.Generator
            Not needed: the solution is deterministic.

        Returns
        -------
        ReleasedModel
            The uniform model where no cell is kept.

        Raises
        ------
        CapacityError
            If more than ``2**26`` empty cells are expected to reach the threshold; nothing is asked then.
        """
        is_given = self.width is not None and self.threshold is not None
        rows, left = (1.0, budget) if is_given else known_rows(curator, budget)
        (noisy,) = curator.ask(self._question(schema, left, curator.terms, rows))
        weights = noisy.counts.astype(np.float64)
        return weighted_cells(schema, noisy, weights, released_rows(noisy, curator.terms.rows), self.placement)

    def plan(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Planned:  # noqa: ARG002
        """Return what `run` would ask, and how many rows are expected in cells that are empty.

        Parameters
        ----------
        schema, budget
            As for `run`.
        terms : Terms
            With a public or expected number of rows.
        rng : numpy.random.Generator
            Not needed: nothing is simulated.

        Raises
        ------
        CapacityError
            As `run`.
        """
        known = terms.rows if terms.rows is not None else terms.expected_rows
        question = self._question(schema, budget, terms, float(max(1, known or 1)))
        question.check_capacity(terms.relation, terms.max_rows)
        noise = question.noise(terms.relation, terms.max_rows)
        text = "the noisy count of each cell is off by this many records in expectation; smaller counts are left out"
        return Planned(
            questions=(question,),
            accuracy=(Statement(kind="expected error", text=text, value=noise.mean_absolute),),
        )

    def _question(self, schema: Schema, budget: Budget, terms: Terms, rows: float) -> SparseCounts:
        """Return the question that spends the budget on the cells of the grid."""
        epsilon = epsilon_of(budget)
        width = default_width(len(schema.columns), float(epsilon) * rows) if self.width is None else float(self.width)
        tree = halved_cells(schema, width, width)
        asked = SparseCounts(tree=tree, threshold=1, epsilon=epsilon, notion=budget.notion)
        if self.threshold is not None:
            return replace(asked, threshold=self.threshold)
        noise = asked.noise(terms.relation, terms.max_rows)
        return replace(asked, threshold=default_threshold(noise, tree.cells, rows))


def default_width(columns: int, rows_per_noise: float) -> float:
    """Return a width of cells for d columns and ``epsilon * rows``: a power of 2."""
    levels = round(math.log2(max(2.0, rows_per_noise)) / (columns + 2)) + 2
    return max(FINEST, 2.0**-levels)


def default_threshold(noise: NoiseLaw, cells: int, rows: float) -> int:
    """Return the least threshold from 1 on with which empty cells are expected to bring at most 1 % of the rows.

    Notes
    -----
    An empty cell brings ``sum over z >= t of z P[Z = z] = P[Z >= t] (t + q / (1 - q))``, q = exp(-1 / scale).
    """
    scale = noise.parameter
    excess = 1.0 / math.expm1(float(min(1 / scale, Fraction(700))))
    log_most = math.log(max(1.0, rows) * EMPTY_SHARE) - math.log(cells)
    low, high = 0, 1
    while log_tail(scale, high) + math.log(high + excess) > log_most:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        is_low = log_tail(scale, middle) + math.log(middle + excess) > log_most
        low, high = (middle, high) if is_low else (low, middle)
    return high
