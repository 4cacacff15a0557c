"""KD-tree: cells are split where there are many rows, then the leaves are counted afresh.

ask -> solve -> model: noisy decisions from the root down, noisy counts of the leaves, one atom per leaf.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.errors import ParameterError
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
from lapwing.numerics.simplex import project_to_simplex
from lapwing.release.certificate import Statement
from lapwing.release.curator import Curator
from lapwing.release.model import ReleasedModel
from lapwing.release.planned import Planned
from lapwing.release.sparse_counts import NoisyCells, SparseCounts
from lapwing.release.split_decisions import SplitDecisions, SplitRule
from lapwing.release.terms import Relation, Terms
from lapwing.schema.schemas import Schema

LEMMA_DELTA = 1e-6
"""Chance that Lemma 10 allows any empty cell to be split."""

FINE_EDGES: Mapping[SplitRule, float] = MappingProxyType({"privtree": 2.0**-12, "paper": 2.0**-6})
"""Default of ``fine``."""

AUTO_SCALES: Mapping[SplitRule, float] = MappingProxyType({"privtree": 0.0, "paper": 2.0})
"""``tau="auto"`` in scales of the decisions' noise."""

Fit = Literal["threshold", "least_squares"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KDTree:
    """Halve cells where there are many rows, down to small ones, and count the leaves with fresh noise.

    Parameters
    ----------
    split_rule : {"privtree", "paper"}, default "privtree"
        ``privtree``: the test is biased against deep cells, so that its noise does not grow with the depth (Zhang et
        al. 2016). ``paper``: the noise of each test grows with the number of levels that decide.
    coarse : float, default 1
        Cells with a longer edge are split without a test and for free (the paper's s1, columns having length 1).
    fine : float or None, default None
        Cells whose edges are no longer than this are not split (the paper's s2); by default 2**-12, for the paper's
        rule 2**-6.
    tau : "auto", "lemma10" or float, default "auto"
        A cell is split if its noisy count is above this. ``auto``: two noise scales. ``lemma10``: the paper's choice,
        with which no empty cell is split but with probability 1e-6; it costs much accuracy.
    threshold : int or None, default None
        Leaves with a smaller noisy count are left out, and all below 1; by default 1. Not with ``least_squares``.
    fit : {"threshold", "least_squares"}, default "threshold"
        ``least_squares``: the nearest non-negative counts with the sum of all leaves' noisy counts (or the public
        number of rows); then every leaf's count is asked for.
    split_share : float, default 0.5
        Part of the budget that decides the splits, above 0 and below 1.
    placement : {"uniform", "centre"}, default "uniform"
        Where in its cell a row lies.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: one `SplitDecisions` and one `SparseCounts` question (and, for ``lemma10`` without a public or expected
    number of rows, one `MarginalCounts` for it with 2 %): ε-DP in all, or ρ-zCDP (an ε enters as ε²/2), for add-remove
    and replace-one neighbours and any number of rows per unit. The decision counts are never released.

    Expected error: no theorem bounds that of a tree whose cells depend on the data; `lapwing.numerics.kernel_bounds`
    has those of the grid. Time ``O(n d + n log n)`` for n rows and d columns.

    References
    ----------
    Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", Algorithms 2-5. What we changed: decisions
    are charged for as many levels as really decide; empty cells are split with their true probability, so that any
    threshold is pure ε-DP (the paper's version needs Lemma 10's); integers and exact noise; the box is public.
    Zhang, Xiao, Xie, "PrivTree" (2016): the rule ``privtree``, with the constants of `lapwing.release.split_decisions`.

    Examples
    --------
    >>> KDTree(split_rule="paper", fine=0.01).tau
    'auto'
    """

    name: ClassVar[str] = "KDTree"
    summary: ClassVar[str] = "cells split where rows are, for clustered data in few columns; kernel statistics"
    relations: ClassVar[tuple[Relation, ...]] = ("add-remove", "replace-one")
    caveat: ClassVar[str] = "inside a cell of the tree rows are spread evenly: relations finer than its cells are lost"

    split_rule: SplitRule = "privtree"
    coarse: float = 1.0
    fine: float | None = None
    tau: float | Literal["auto", "lemma10"] = "auto"
    threshold: int | None = None
    fit: Fit = "threshold"
    split_share: float = 0.5
    placement: Placement = "uniform"

    def __post_init__(self) -> None:
        if self.split_rule not in get_args(SplitRule):
            raise ParameterError(f"split_rule must be one of {', '.join(get_args(SplitRule))}, got {self.split_rule!r}")
        check_edge("coarse", self.coarse)
        check_edge("fine", self._fine)
        if self.coarse < self._fine:
            raise ParameterError(f"coarse must be at least fine, got {self.coarse:g} and {self._fine:g}")
        self._check_tau()
        if self.fit not in get_args(Fit):
            raise ParameterError(f"fit must be one of {', '.join(get_args(Fit))}, got {self.fit!r}")
        check_threshold(self.threshold)
        if self.threshold is not None and self.fit == "least_squares":
            raise ParameterError(
                "threshold leaves cells out, which fit='least_squares' does not; leave one of them out"
            )
        if not isinstance(self.split_share, float) or not 0 < self.split_share < 1:
            raise ParameterError(f"split_share must lie above 0 and below 1, got {self.split_share!r}; 0.5 suits most")
        check_placement(self.placement)

    @classmethod
    def small(cls) -> "KDTree":
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(fine=0.25, coarse=0.5, split_rule="paper")

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:  # noqa: ARG002
        """Return one atom per leaf with a positive count.

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
            The uniform model where no leaf has a positive count.

        Raises
        ------
        CapacityError
            If, by noise alone, more than ``2**26`` cells would be listed; nothing is asked of that question then.
        """
        rows, left = known_rows(curator, budget) if self.tau == "lemma10" else (1.0, budget)
        decisions, counts = self._questions(schema, left, curator.terms, rows)
        if decisions is not None:
            (splits,) = curator.ask(decisions)
            counts = replace(counts, tree=splits.tree)
        (noisy,) = curator.ask(counts)
        weights = self._weights(noisy, curator.terms)
        return weighted_cells(schema, noisy, weights, released_rows(noisy, curator.terms.rows), self.placement)

    def plan(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Planned:  # noqa: ARG002
        """Return what `run` would ask; the leaves stand there as those of the tree before any split.

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
        decisions, counts = self._questions(schema, budget, terms, float(max(1, known or 1)))
        if decisions is not None:
            decisions.check_capacity(terms.relation, terms.max_rows)
        counts.check_capacity(terms.relation, terms.max_rows)
        text = (
            "the noisy count of each leaf is off by this many records in expectation; the number of leaves is not known"
        )
        noise = counts.noise(terms.relation, terms.max_rows)
        return Planned(
            questions=(counts,) if decisions is None else (decisions, counts),
            accuracy=(Statement(kind="expected error", text=text, value=noise.mean_absolute),),
        )

    @property
    def _fine(self) -> float:
        """The shortest edge that is split no more."""
        return FINE_EDGES[self.split_rule] if self.fine is None else float(self.fine)

    def _questions(
        self, schema: Schema, budget: Budget, terms: Terms, rows: float
    ) -> tuple[SplitDecisions | None, SparseCounts]:
        """Return the decisions, None where no level can decide, and the counts of the leaves."""
        tree = halved_cells(schema, self._fine, self.coarse)
        share = Fraction(str(self.split_share)) if tree.first < tree.depth else Fraction(0)
        counts = SparseCounts(
            tree=tree,
            threshold=None if self.fit == "least_squares" else self.threshold or 1,
            epsilon=epsilon_of(budget * (1 - share)),
            notion=budget.notion,
        )
        if not share:
            return None, counts
        decisions = SplitDecisions(
            tree=tree, rule=self.split_rule, threshold=0, epsilon=epsilon_of(budget * share), notion=budget.notion
        )
        return replace(decisions, threshold=self._tau(decisions, terms, rows)), counts

    def _tau(self, decisions: SplitDecisions, terms: Terms, rows: float) -> int:
        """Return the threshold of splits as a whole number: noise is whole, so nothing lies between."""
        if not isinstance(self.tau, str):
            return math.floor(self.tau)
        scale = float(decisions.noise(terms.relation, terms.max_rows).parameter)
        if self.tau == "auto":
            return math.floor(AUTO_SCALES[self.split_rule] * scale)
        cells = math.log(decisions.tree.cells + rows * decisions.deciding) - math.log(LEMMA_DELTA)
        return math.floor(scale * cells)

    def _weights(self, noisy: NoisyCells, terms: Terms) -> np.ndarray:
        """Return the weights of the leaves: their noisy counts, or the nearest non-negative ones of the same total."""
        if self.fit == "threshold" or not noisy.counts.size:
            return noisy.counts.astype(np.float64)
        return project_to_simplex(noisy.counts, float(released_rows(noisy, terms.rows)))

    def _check_tau(self) -> None:
        """Refuse a tau that is neither a number nor one of the two words."""
        tau: object = self.tau
        is_number = isinstance(tau, float | int) and not isinstance(tau, bool) and abs(tau) <= 2**60
        if not is_number and tau not in ("auto", "lemma10"):
            raise ParameterError(f"tau must be auto, lemma10 or a number from -2**60 to 2**60, got {self.tau!r}")
