"""KDTree splits cells where there are many rows, and counts the leaves afresh; Grid is KDTree without decisions.

ask -> solve -> model: noisy decisions from the root down (KDTree), noisy counts of the leaves, one atom per leaf
that is kept. A grid may have more cells than can be written out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar, Final, Self

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, log_tail, row_sensitivity
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, SplitRule
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.selection_threshold import least_safe
from lapwing.mechanisms.shared.base import Mechanism, Questions
from lapwing.mechanisms.shared.one_way import T, public_or_expected_rows, public_or_noisy_rows
from lapwing.mechanisms.shared.priors import Codes, spread_codes
from lapwing.mechanisms.shared.settings import Variant, check_choice, check_number, check_unread
from lapwing.mechanisms.shared.trees.cell_levels import epsilon_of
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.mechanisms.trees.kd_tree.accuracy import leaf_statements
from lapwing.mechanisms.trees.kd_tree.cells import (
    Cells,
    cells_statement,
    check_cell_settings,
    check_edge,
    check_listable,
    fitted_weights,
    halving_tree,
    noise_scale,
    released_rows,
    weighted_cells,
)
from lapwing.mechanisms.trees.kd_tree.prior import leaning_cells
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

MOST_TAU: Final = 10**12  # records
LEMMA_DELTA: Final = 1e-6  # chance that Lemma 10 allows any empty cell to be split
ROW_LEVELS: Final = 7
"""By default a cell of the last free level holds about 2**7 / epsilon rows; chosen with the next on public mixtures."""

MOST_FINE: Final = 2  # up to so many columns the default ``fine`` is 2**-12
MOST_FREE_LEVELS: Final = 16
"""Most levels that are free by default. Where a setting frees more, the default thresholds are the logarithm of the
free cells in noise scales: then noise alone splits, and keeps, less than one of them on average."""

PAPER_LEVELS: Final = 3
"""How often the paper's rule halves each column below the free levels by default: its noise grows with the depth."""

SPLIT_SCALES: Final = 1  # default of ``tau`` in scales of the decisions' noise
MOST_SPLIT_SHARE: Final = Fraction(7, 10)  # largest default of ``split_share``
LEAF_SCALES: Final = 3  # default of ``threshold`` in scales of the leaves' noise

FINEST = 2.0**-16  # shortest default edge of a cell
MOST_HALVINGS: Final = 18  # a default grid has at most 2**18 cells, whose fit takes seconds
ROUNDING: Final = 0.4
"""About how far two rows of one cell are apart, in its edges: a third of an edge in one column, more in several."""

_FEW_KEPT = 0.5

EMPTY_SHARE = 0.01  # part of the rows that noise may put into empty cells, in expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class KDTree(Mechanism):
    """Halve cells where there are many rows, down to small ones, and count the leaves with fresh noise.

    Parameters
    ----------
    variant : {"default", "paper"}, default "default"
        ``default``: the test is biased against deep cells, so that its noise does not grow with the depth (PrivTree);
        all leaves are counted, and their counts fitted to non-negative ones along the tree: leaves below the threshold
        hand their rows to their nearest relatives. ``paper``: the published algorithm: the noise of each test grows
        with the number of levels that decide, and leaves below the threshold are left out.
    coarse : float or None, default None
        Cells with a longer edge are split without a test and for free (the paper's s1, columns having length 1). By
        default ``round(log2(epsilon * rows)) - 7`` levels are free, from 0 to 16.
    fine : float or None, default None
        Cells whose edges are no longer than this are not split (the paper's s2). By default 2**-12, from three columns
        on 2**-10; for the paper's variant three cuts of each column below the free levels.
    tau : float or None, default None
        A cell is split if its noisy count is above this (the paper's τ). By default one noise scale, and with more
        than 2**16 free cells as many as the logarithm of their number; for the paper's variant that of its Lemma 10,
        with which no empty cell is split but with probability 1e-6. It costs much accuracy.
    threshold : int or None, default None
        Least noisy count of a leaf that gets rows (the paper's t); by default three scales of the leaves' noise, and
        with more than 2**16 free cells as many as the logarithm of their number.
    split_share : float or None, default None
        Part of the budget that decides the splits (the paper's ε'), from 0.01 to 0.99. By default d / (d + 2) for d
        columns, at most 0.7: in more columns a path to a small cell is longer.
    placement : {"uniform", "centre"} or None, default None
        Where in its cell a row lies. By default uniform up to four columns; beyond, in the middle of edges up to a
        quarter of their column: better for tight clusters, worse for rows spread out. For the paper's variant the
        centre.
    prior : path, frame or mapping, or a list of up to 8, or None, default None
        Rows that are public or were released before, as for `Adaptive`. The fit of the leaves' counts leans towards how
        they divide between the halves of a cell, as far as the counts of its level look like it; as far mass lies where
        they do inside a leaf. Not for ``paper``.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: one `SplitDecisions` and one `SparseCounts` question (and, where no number of rows is public or expected
    and the tree hangs on one, a `MarginalCounts` for it with 2 %): ε-DP in all, or ρ-zCDP (decisions by
    the range of their loss, leaves with Gaussian noise, filtered ones with Laplace noise as ε²/2), for add-remove and
    replace-one neighbours and any number of rows per unit. Decision counts stay hidden.

    Expected error: no theorem bounds that of a tree before it is made, as its cells depend on the data;
    `lapwing.theorems.kd_tree` has those of the grid. After the release, where all leaves were counted and no
    prior leans, the certificate states a 1-Wasserstein distance. Time ``O(n d + n log n)`` for n rows and d columns.

    References
    ----------
    Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", Algorithms 2-5. What we changed: decisions
    are charged for as many levels as really decide; empty cells are split with their true probability, so that any
    threshold is pure ε-DP (the paper's version needs Lemma 10's); integers and exact noise; the box is public.
    Zhang, Xiao, Xie, "PrivTree" (2016): the default test, with the constants of
    `lapwing.kernel.questions.split_decisions.question`.

    Examples
    --------
    >>> KDTree(fine=0.01).variant
    'default'
    """

    __repr__ = short
    name: ClassVar[str] = "KDTree"
    summary: ClassVar[str] = "cells split where rows are, for clustered data in few columns; kernel statistics"
    caveat: ClassVar[str] = "inside_tree_cells"
    report: ClassVar[str] = (
        "cut the space into cells where there are many rows, by noisy decisions, and counted the rows in the cells "
        "with noise."
    )

    variant: Variant = "default"
    coarse: float | None = None
    fine: float | None = None
    tau: float | None = None
    threshold: int | None = None
    split_share: float | None = None
    placement: Placement | None = None
    prior: object = None

    def __post_init__(self) -> None:
        check_choice(self, "variant", Variant)
        for name in ("coarse", "fine"):
            if getattr(self, name) is not None:
                check_edge(name, getattr(self, name))
        if self.coarse is not None and self.fine is not None and self.coarse < self.fine:
            raise ParameterError(f"coarse must be at least fine, got {self.coarse:g} and {self.fine:g}", code="LW316")
        if self.tau is not None:
            check_number(self, "tau", -MOST_TAU, MOST_TAU, "; leave it out to choose")
        check_cell_settings(self)
        if self.variant == "paper":
            check_unread(self, "prior")
        if self.split_share is not None:
            check_number(self, "split_share", 0.01, 0.99, "; leave it out to choose")

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(coarse=1.0, fine=0.25)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return one atom per leaf with a positive count, and one per cell of the priors' rows."""
        rows, left = public_or_noisy_rows(curator, budget) if self._is_steered else (1.0, budget)
        decisions, counts = ask_within_memory(partial(self._questions, schema, left, curator.terms), rows)

        # Ask, with ε' + ε'' = ε (Theorem 8): which cells are split, then the noisy counts of the leaves.
        if decisions is not None:
            (splits,) = curator.ask(decisions)  # Algorithm 3, line 5: |P| + noise > τ between the edges s1 and s2
            counts = replace(counts, tree=splits.tree)
        (noisy,) = curator.ask(counts)  # Algorithm 1, lines 9 and 10: noise on v, and the filter t

        # Solve: counts that are no longer negative, near the priors' where there are some.
        total = released_rows(noisy, curator.terms.rows)
        priors = [spread_codes(each, schema, rng) for each in self.priors]
        cells, weights = self._weighted(noisy, total, priors)

        # Model (Algorithm 1, line 12): rows in the cells, or at their centres c_i, by these weights.
        placement = _placement(self.placement, self.variant)
        return weighted_cells(schema, counts.tree, cells, weights, total, placement=placement)

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Say how far the model is from the table, where all leaves were counted, and over which cells."""
        (noisy,) = (answer for answer in answers if isinstance(answer, NoisyCells))
        cells = cells_statement(noisy.question)
        if self.variant == "paper" or self.priors:
            return (cells,)
        _, weights = self._weighted(noisy, released_rows(noisy, terms.rows), ())
        return *leaf_statements(noisy, weights, model, schema, placement=self.placement, rng=rng), cells

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return the noise on the leaves; they stand there as those of the tree before any split."""
        del schema, budget, rng
        (counts,) = (each for each in questions if isinstance(each, SparseCounts))
        noise = counts.noise(terms.relation, terms.max_rows)
        return Statement("expected_leaf_noise", noise.mean_absolute), cells_statement(counts)

    @property
    def _is_steered(self) -> bool:
        """Whether the number of rows steers the tree."""
        return self.coarse is None or (self.tau is None and self.variant == "paper")

    def _tree(self, schema: Schema, budget: Budget, terms: Terms, rows: float) -> CellTree:
        """Return the tree before any split; a function of public or noisy numbers."""
        columns = len(schema.columns)
        per_noise = rows * float(epsilon_of(budget)) / row_sensitivity(terms.relation, terms.max_rows).l1
        free = min(MOST_FREE_LEVELS, max(0, round(math.log2(max(1.0, per_noise))) - ROW_LEVELS))
        fine = self.fine
        if fine is None and self.variant == "paper":
            fine = (self.coarse or 2.0 ** -math.ceil(free / columns)) / 2**PAPER_LEVELS
        elif fine is None:
            fine = min(self.coarse or 1.0, 2.0**-12 if columns <= MOST_FINE else 2.0**-10)
        tree = halving_tree(schema, fine, self.coarse or 1.0)
        return tree if self.coarse is not None else replace(tree, first=min(free, tree.depth))

    def _questions(
        self, schema: Schema, budget: Budget, terms: Terms, rows: float
    ) -> tuple[SplitDecisions | None, SparseCounts]:
        """Return the decisions, None where no level can decide, and the counts of the leaves."""
        tree = self._tree(schema, budget, terms, rows)
        share = self._share(len(schema.columns)) if tree.first < tree.depth else Fraction(0)
        least = partial(self._least, tree) if self.variant == "paper" else None
        counts = leaf_counts(schema, tree, budget * (1 - share), terms, least)
        if not share:
            return None, counts
        rule: SplitRule = "paper" if self.variant == "paper" else "privtree"
        decisions = SplitDecisions(
            tree=tree, rule=rule, threshold=0, epsilon=epsilon_of(budget * share), notion=budget.notion
        )
        decisions = replace(decisions, threshold=self._tau(decisions, terms, rows))
        decisions.check(terms, schema)
        return decisions, counts

    def _share(self, columns: int) -> Fraction:
        """Return the part of the budget that decides the splits."""
        if self.split_share is not None:
            return Fraction(str(self.split_share))
        return min(Fraction(columns, columns + 2), MOST_SPLIT_SHARE)

    def _least(self, tree: CellTree, noise: NoiseLaw) -> int:
        """Return the least noisy count of a leaf that gets rows."""
        return self.threshold or max(1, math.floor(_scales(LEAF_SCALES, tree) * noise_scale(noise)))

    def _tau(self, decisions: SplitDecisions, terms: Terms, rows: float) -> int:
        """Return the threshold of splits as a whole number: noise is whole, so nothing lies between."""
        if self.tau is not None:
            return math.floor(self.tau)
        scale = decisions.noise(terms.relation, terms.max_rows).parameter
        if self.variant == "default":
            return math.floor(_scales(SPLIT_SCALES, decisions.tree) * scale)
        # Lemma 10: log((2^h + n (h' - h)) / δ), times the noise's scale.
        scales = math.log(decisions.tree.cells + round(rows) * decisions.deciding) - math.log(LEMMA_DELTA)
        return math.floor(scale * Fraction(scales))

    def _weighted(self, noisy: NoisyCells, total: int, priors: Sequence[Codes]) -> tuple[Cells, np.ndarray]:
        """Return cells and their weights: noisy counts, or non-negative ones that are fitted to them."""
        least = self._least(noisy.question.tree, noisy.noise)
        if priors:
            return leaning_cells(noisy, priors, float(total), float(least))
        return noisy.leaves, leaf_weights(noisy, total, least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(Mechanism):
    """Count the cells of a fixed grid with noise, and fit non-negative counts to them.

    Parameters
    ----------
    width : float or None, default None
        Longest edge of a cell (the paper's w), columns having length 1: each column is halved until its runs are no
        longer. By default from the number of rows, the budget and the number of columns.
    threshold : int or None, default None
        Cells with a smaller noisy count get no rows (the paper's t). By default one noise scale; for the paper's
        variant so large that, expected over the noise, empty cells bring 1 % of the rows.
    variant : {"default", "paper"}, default "default"
        ``default``: all cells are counted, at most 2**20, and their counts fitted to non-negative ones along the tree
        of halves of the grid: cells below the threshold hand their rows to their nearest relatives. ``paper``: the
        published algorithm: cells below the threshold are left out; the grid may be huge.
    placement : {"uniform", "centre"} or None, default None
        Where in its cell a row lies. By default uniform; for the paper's variant the centre.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: one `SparseCounts` question (and, where no number of rows is public or expected and one is needed, one
    `MarginalCounts` for it with 2 %): ε-DP in all, or ρ-zCDP (a filter's ε enters as ε²/2), for add-remove and
    replace-one neighbours and any number of rows per unit.

    Expected error: Theorems 3 and 5 of the paper, in `lapwing.theorems.kd_tree`. Time ``O(n d + n log n)``
    for n rows and d columns; the number of cells costs nothing.

    References
    ----------
    Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", Algorithms 1 and 4. What we changed: the box
    is public; integers and exact noise; empty cells are drawn by geometric gaps, with their exact law; noise of scale
    1/ε under add-remove neighbours.

    Examples
    --------
    >>> Grid(width=0.01).variant
    'default'
    """

    __repr__ = short
    name: ClassVar[str] = "Grid"
    summary: ClassVar[str] = "cells of a fixed grid; for few columns, or as the baseline of KDTree"
    caveat: ClassVar[str] = "thin_cells"
    report: ClassVar[str] = (
        "counted, with noise, the rows in the cells of a fixed grid, and drew rows in the well filled ones."
    )

    width: float | None = None
    threshold: int | None = None
    variant: Variant = "default"
    placement: Placement | None = None

    def __post_init__(self) -> None:
        if self.width is not None:
            check_edge("width", self.width)
        check_choice(self, "variant", Variant)
        check_cell_settings(self)

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(width=0.5, threshold=3)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:  # noqa: ARG002
        """Return one atom per kept cell."""
        is_given, terms = self._is_given, curator.terms
        rows, left = (1.0, budget) if is_given else public_or_noisy_rows(curator, budget)
        question = ask_within_memory(partial(self._question, schema, left, terms), rows)

        # Ask (Algorithm 1, lines 9 and 10): noise on v, and the filter t; of empty cells by Algorithm 5.
        (noisy,) = curator.ask(question)

        # Solve: nothing for the filter, else counts that are no longer negative.
        is_bought = not is_given and terms.rows is None and terms.expected_rows is None
        total = released_rows(noisy, terms.rows)
        if is_bought:  # the kept cells are a part of the table
            total = max(total if self.variant == "paper" else 0, round(rows))
        weights = leaf_weights(noisy, total, self._least(noisy.noise))

        # Model (line 12): rows in the cells, or at their centres c_i, by these weights.
        placement = _placement(self.placement, self.variant) or "uniform"
        return weighted_cells(schema, noisy.question.tree, noisy.leaves, weights, total, placement=placement)

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Say how far the model is from the table where all cells were counted, else how much the kept ones hold."""
        noisy = next(answer for answer in answers if isinstance(answer, NoisyCells))
        is_known = terms.rows is not None or len(answers) > 1
        cells = cells_statement(noisy.question)
        if self.variant == "default":
            weights = leaf_weights(noisy, model.rows, self._least(noisy.noise))
            return *leaf_statements(
                noisy, weights, model, schema, placement=self.placement or "uniform", rng=rng
            ), cells
        if not is_known or model.rows == 0:
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
            rows = public_or_expected_rows(terms)
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
        return self.width is not None and (self.threshold is not None or self.variant == "default")

    def _question(self, schema: Schema, budget: Budget, terms: Terms, rows: float) -> SparseCounts:
        """Return the question that spends the budget on the cells of the grid."""
        per_noise = rows * float(epsilon_of(budget)) / row_sensitivity(terms.relation, terms.max_rows).l1
        width = self.width or default_width(len(schema.columns), per_noise)
        tree = halving_tree(schema, width, width)

        def least(noise: NoiseLaw) -> int:
            return self.threshold or default_threshold(noise, tree.cells, rows)

        return leaf_counts(schema, tree, budget, terms, least if self.variant == "paper" else None)

    def _least(self, noise: NoiseLaw) -> int:
        """Return the least noisy count of a fitted cell that gets rows."""
        return self.threshold or max(1, math.floor(noise_scale(noise)))


# -- The counts of both, and what settings that are left out come to.


def _placement(given: Placement | None, variant: Variant) -> Placement | None:
    """Return where in its cell a row lies: the paper releases the centres."""
    return given or ("centre" if variant == "paper" else None)


def leaf_counts(
    schema: Schema, tree: CellTree, budget: Budget, terms: Terms, least: Callable[[NoiseLaw], int] | None
) -> SparseCounts:
    """Return the question for a tree's leaves: of those with a least noisy count, or, where that is None, of all."""
    counts = SparseCounts(tree=tree, threshold=None, epsilon=epsilon_of(budget), notion=budget.notion)
    if least is None:
        check_listable(tree)
    else:
        counts = replace(counts, threshold=1)  # noise of a filter is Laplace under any notion
        counts = replace(counts, threshold=least(counts.noise(terms.relation, terms.max_rows)))
    counts.check(terms, schema)
    return counts


def leaf_weights(noisy: NoisyCells, total: int, least: int) -> np.ndarray:
    """Return the noisy counts of leaves that a filter kept; of all, non-negative ones that are fitted to them."""
    if noisy.question.threshold is not None:
        return noisy.counts.astype(np.float64)
    return fitted_weights(noisy, float(total), float(least))


def _scales(usual: int, tree: CellTree) -> Fraction:
    """Return a default threshold in noise scales: the usual one, or ``ln(cells)`` where more than 2**16 are free."""
    is_huge = tree.cells > 2**MOST_FREE_LEVELS
    return max(Fraction(usual), Fraction(math.log(tree.cells))) if is_huge else Fraction(usual)


def default_width(columns: int, rows_per_noise: float) -> float:
    """Return a width of cells, a power of 2.

    Of ``k = w**-d`` cells those of one half carry noise of ``sqrt(k / 2) / (epsilon n)`` of the rows, and rows move by
    `ROUNDING` edges inside a cell: w is where both are equal, ``w = (epsilon n)**(-2 / (d + 2))`` but for a constant.

    >>> default_width(2, 1e5), default_width(8, 1e5)
    (0.00390625, 0.25)
    """
    levels = 2 * math.log2(max(1.0, math.sqrt(2) * ROUNDING * rows_per_noise)) / (columns + 2)
    return float(max(FINEST, 2.0 ** -min(round(levels), MOST_HALVINGS // columns)))


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


def ask_within_memory(ask: Callable[[float], T], rows: float) -> T:
    """Return what is asked with a number of rows; with half as many, and half of these, while that is too much.

    More rows ask for finer cells, which memory may not hold. A check before the debit has asked with one row.
    """
    try:
        return ask(rows)
    except CapacityError:
        if rows <= 1.0:
            raise
    return ask_within_memory(ask, max(1.0, rows / 2))
