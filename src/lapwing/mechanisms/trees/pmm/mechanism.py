"""The private measure mechanism.

ask -> solve -> model: noisy counts of a tree of nested cells, made consistent, and rows placed in the leaf cells.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.plain import MAX_CELLS
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.base import Mechanism, Questions
from lapwing.mechanisms.shared.one_way import measure_row_count, one_way_grouping, one_way_law, public_or_expected_rows
from lapwing.mechanisms.shared.priors import Codes, spread_codes
from lapwing.mechanisms.shared.settings import Variant, check_choice, check_unread, check_whole
from lapwing.mechanisms.shared.trees.accuracy import (
    counted_tree,
    noise_tree,
    paper_statement,
    planned_statements,
    released_statements,
)
from lapwing.mechanisms.shared.trees.flows import level_sums
from lapwing.mechanisms.shared.trees.model import (
    Placement,
    cells_as_model,
    fit_leaves,
    has_exact_root,
    known_root,
    tree_splits,
)
from lapwing.mechanisms.shared.trees.own_metrics import OwnMetric, checked_setting, own_metric
from lapwing.mechanisms.shared.trees.plans import TreePlan, default_plan, paper_plan, tree_shapes
from lapwing.mechanisms.shared.trees.shapes import TreeShape
from lapwing.mechanisms.shared.trees.simulation import NoiseTree
from lapwing.mechanisms.shared.trees.trees import Floats
from lapwing.mechanisms.trees.pmm.consistency import Consistency, greedy_leaves
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import Indexed, ReleasedModel, whole_rows
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

UNCUT_SHARE: Final = Fraction(1, 20)  # of the budget, for one-way tables of the columns that the tree never cuts
UNCUT_GROUPS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PMM(Mechanism):
    """Cut the table into a tree of cells, count every level with noise, and make the counts consistent.

    Parameters
    ----------
    depth : int or None, default None
        Levels of the tree below its root (the paper's r), 0 to 64. By default the error bound chooses, or, for
        the paper's variant, ``ceil(log2(epsilon * rows))``; then the tree ends earlier where ``max_nodes`` is reached.
    variant : {"default", "paper"}, default "default"
        ``default``: weighted least squares on the raw counts, shrunk along the tree to what the noise leaves sure, fair
        rounding, and the budget per level that minimises the bound of least squares, with a tenth for deeper levels;
        all for one level where most noise is 0. ``paper``: the published algorithm.
    consistency : {"uniform", "proportional"}, default "uniform"
        How the paper's variant changes two noisy counts so that they sum to their parent's.
    max_nodes : int, default 4_194_304
        Most cells of all levels together, up to 2**26; about 60 bytes each while the model is fitted.
    placement : {"uniform", "centre"}, default "uniform"
        Where in its leaf cell a row lies.
    metric : tuple or None, default None
        The distance that the tree, its budget and the certificate go by, and its columns: ``("euclidean", "x", "y")``
        for numbers of one unit, ``("great-circle", "lat", "lon")`` for degrees, ``("hierarchy", "code")`` for levels
        of a category's hierarchy, ``("distances", "station", places, matrix)`` for up to 256 categories. Other columns
        are counted by themselves. By default the largest difference, each column having length 1.
    prior : path, frame or mapping, or a list of up to 8, or None, default None
        Rows that are public or were released before, as for `Adaptive`. How they divide between the halves of a cell
        is one more thing that noisy counts are shrunk to, as far as those of its level look like it. Not for ``paper``.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: one `TreeCounts` question; where no number of rows is public or expected, a `MarginalCounts` question for
    it with 2 %, which the fit uses; by default, 5 % for `MarginalCounts` of the columns that the tree never cuts. ε-DP
    or ρ-zCDP in all, for add-remove and replace-one neighbours and any number of rows per unit.

    Expected error: with n rows, in 1-Wasserstein distance where each column has length 1 (the largest coordinate
    counts), ``O(log(ε n)**2 / (ε n))`` for one column and ``O((ε n)**(-1/d))`` for d > 1. Rows with a misfit are
    in no cell, and not in the model. With 95 % probability a release states a distance, under every setting.
    Time ``O(n d + k)``, memory ``O(k)`` beside the coded rows, for k nodes.

    References
    ----------
    He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data", Section 4. What we changed in
    the default variant: see its parameter; in both, missing and special values are the first cuts of their column, and
    a cell of a column without order has diameter 1.

    Examples
    --------
    >>> PMM(depth=12).variant
    'default'
    """

    __repr__ = short
    name: ClassVar[str] = "PMM"
    summary: ClassVar[str] = "noisy tree of nested cells, for one or two columns; best proved accuracy"
    report: ClassVar[str] = (
        "counted, with noise, the rows in cells that are halved again and again, made the counts agree, and placed "
        "rows in the smallest cells."
    )

    depth: int | None = None
    variant: Variant = "default"
    consistency: Consistency = "uniform"
    max_nodes: int = 2**22
    placement: Placement = "uniform"
    metric: tuple[Any, ...] | None = None
    prior: object = None

    def __post_init__(self) -> None:
        check_whole(self, "depth", 0, 64, "; leave it out to choose", optional=True)
        for key, choices in (("variant", Variant), ("consistency", Consistency), ("placement", Placement)):
            check_choice(self, key, choices)
        if self.consistency != "uniform" and self.variant != "paper":
            raise ParameterError("consistency is a choice of variant='paper' only; leave it out", code="LW316")
        if self.variant == "paper":
            check_unread(self, "prior")
        if self.metric is not None:
            object.__setattr__(self, "metric", checked_setting(self.metric))
        check_whole(self, "max_nodes", 1, MAX_CELLS)

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(depth=4)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return one atom per leaf cell with a positive count, spending exactly ``budget``."""
        terms = curator.terms
        metric, is_paper = self._own(schema), self.variant == "paper"
        shapes = tree_shapes(schema, self.depth, self.max_nodes, is_paper=is_paper, metric=metric)

        # Ask (Algorithm 4, steps 1 and 2): n_theta + Z_theta for each cell of the tree, sigma_j on level j.
        is_told = is_paper and self.depth is not None
        bought, left = (None, budget) if is_told else measure_row_count(curator, budget)
        rows = float(public_or_expected_rows(terms) if bought is None else max(1, whole_rows(int(bought.counts))))
        question, of_columns = self._questions(shapes, schema, terms, left, rows)
        (noisy,) = curator.ask(question)
        tables = curator.ask(*of_columns) if of_columns else ()

        # Solve (step 3): consistent counts m_theta, m_theta0 + m_theta1 = m_theta.
        leaves = self._solved(noisy, schema, terms, bought, rng)

        # Model (step 4): m_theta rows in each leaf cell.
        model = cells_as_model(schema, question, leaves, terms.rows, self.placement)
        return with_columns(model, schema, tables)

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return what is proved about the accuracy of a release."""
        noisy = next(answer for answer in answers if isinstance(answer, NoisyTree))
        # Rows that do not fit are outside a tree, so that its root is not their public number.
        is_root_exact = terms.rows is not None and has_exact_root(noisy.question)
        metric = self._own(schema)
        tree = noise_tree(noisy.question, noisy.noises, schema, is_root_exact=is_root_exact, metric=metric)
        counted = counted_tree(noisy, tree, schema, terms.rows, metric)
        return released_statements(noisy, tree, counted, model, placement=self.placement, rng=rng, metric=metric)

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return the expected distance between table and model."""
        (question,) = (each for each in questions if isinstance(each, TreeCounts))
        rows, is_paper = float(public_or_expected_rows(terms)), self.variant == "paper"
        tree = self._noise_tree(question, question.noises(terms.relation, terms.max_rows), schema, terms)
        metric = self._own(schema)
        if metric is not None:
            return planned_statements(question, tree, rows, None if is_paper else rng, metric)
        (longest,) = tree_shapes(schema, None, self.max_nodes, is_paper=True)
        published = paper_plan(longest, terms, budget, self.depth if is_paper else None, rows)
        theorem = paper_statement(longest, len(published.schedule), terms, budget, rows)
        simulated = planned_statements(question, tree, rows, None if is_paper else rng)
        return simulated if theorem is None else (*simulated, theorem)

    def _own(self, schema: Schema) -> OwnMetric | None:
        """Return the metric of the user's own, or refuse what the schema has not."""
        return None if self.metric is None else own_metric(self.metric, schema)

    def _questions(
        self, shapes: Sequence[TreeShape], schema: Schema, terms: Terms, budget: Budget, rows: float
    ) -> tuple[TreeCounts, tuple[MarginalCounts, ...]]:
        """Return the questions for the tree and for the columns that it never cuts, which spend exactly ``budget``."""
        plan = self._tree_plan(shapes, terms, budget, rows)
        if self.variant == "paper" or not plan.uncut(schema):
            return plan.question(schema, budget), ()
        of_columns, of_tree = budget.split([UNCUT_SHARE, 1 - UNCUT_SHARE])
        plan = self._tree_plan(shapes, terms, of_tree, rows)
        uncut = plan.uncut(schema)
        if not uncut:
            return plan.question(schema, budget), ()
        costs = of_columns.split([Fraction(1)] * len(uncut))
        return plan.question(schema, of_tree), tuple(
            MarginalCounts(
                columns=(field.name,),
                groupings=(one_way_grouping(field, UNCUT_GROUPS),),
                cost=cost,
                apart=field.domain.missing,
            )
            for field, cost in zip(uncut, costs, strict=True)
        )

    def _tree_plan(self, shapes: Sequence[TreeShape], terms: Terms, budget: Budget, rows: float) -> TreePlan:
        """Return the plan of the variant."""
        if self.variant == "paper":
            return paper_plan(shapes[0], terms, budget, self.depth, rows)  # sigma_j of (A.4)
        return default_plan(shapes, terms, budget, self.depth, rows)

    def _noise_tree(
        self, question: TreeCounts, noises: Sequence[NoiseLaw | None], schema: Schema, terms: Terms
    ) -> NoiseTree:
        """Return the tree without counts; a public number of rows is its exact root where the fit uses it so."""
        is_root_public = terms.rows is not None and question.costs[0] is None
        is_root_exact = is_root_public and (self.variant == "paper" or has_exact_root(question))
        return noise_tree(question, noises, schema, is_root_exact=is_root_exact, metric=self._own(schema))

    def _solved(
        self, noisy: NoisyTree, schema: Schema, terms: Terms, bought: NoisyCounts | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Return consistent counts of the leaf cells."""
        if self.variant == "paper":
            return greedy_leaves(noisy, terms.rows, self.consistency)  # Algorithm 3
        priors = [counted_prior(noisy.question, spread_codes(each, schema, rng)) for each in self.priors]
        return fit_leaves(noisy, known_root(noisy.question, terms.rows, bought), rng, priors)


def counted_prior(question: TreeCounts, codes: Codes) -> list[Floats]:
    """Return how many of a prior's rows are in each cell of a tree, level by level."""
    shape = question.shapes[-1]
    runs = [
        np.searchsorted(nested.cuts, codes[name], side="right")
        for name, nested in zip(question.columns, question.hierarchies, strict=True)
    ]
    leaves = np.bincount(np.ravel_multi_index(runs, shape), minlength=math.prod(shape)).astype(np.float64)
    return [each[0] for each in level_sums(leaves.reshape(1, *shape), tree_splits(question))]


def with_columns(model: ReleasedModel, schema: Schema, tables: Sequence[NoisyCounts]) -> ReleasedModel:
    """Return a model in which each column that was counted by itself has the law of its noisy table."""
    laws = dict(model.laws)
    for table in tables:
        (name,) = table.question.columns
        law = one_way_law(table, schema.field(name).domain, float(max(1, model.rows)))
        laws[name] = Indexed(np.zeros(model.atoms, dtype=np.uint8), law)
    return replace(model, laws=laws)
