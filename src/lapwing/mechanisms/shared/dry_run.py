"""Run a mechanism without a table: what it would ask, and what it would refuse."""

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final, Protocol

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.misfit_rows.question import MisfitRows, NoisyRows
from lapwing.kernel.questions.private_draw.question import DrawnRows, PrivateDraw
from lapwing.kernel.questions.questions import Answer, Question
from lapwing.kernel.questions.select_worst.question import Selection, SelectWorst
from lapwing.kernel.questions.shared.cells import CellSplits
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.room.checks import charge_answers, check_questions
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.schema.schemas import Schema

_ALL_BUT_ROUNDING: Final = Fraction(9_999, 10_000)
"""A budget of which this part is spent is spent: an ε bought with a ρ is rounded down."""


class _Runs(Protocol):
    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> object: ...


class _SpentError(Exception):
    """The budget is spent: what a run does from here on asks nothing."""


def dry_run(
    mechanism: _Runs, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator
) -> tuple[Question, ...]:
    """Return what a mechanism asks where all answers are zero, or pass on its refusal.

    It ends with the question that spends the budget, before any model is fitted.
    """
    curator = DryCurator(schema, budget, terms)
    with suppress(_SpentError):
        mechanism.run(curator, schema, budget, rng)
    return tuple(curator.asked)


class DryCurator:
    """Answer zeros, with the laws of their noise, until the budget is spent.

    Guarantee: there are no rows, and no secret bit is drawn.
    """

    def __init__(self, schema: Schema, budget: Budget, terms: Terms) -> None:
        self._schema, self._budget, self._terms = schema, budget, terms
        self._spent = Budget(budget.notion, Fraction(0))
        self.asked: list[Question] = []

    @property
    def terms(self) -> Terms:
        """The public terms."""
        return self._terms

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `Curator.ask` says what is answered by what
        """Return zeros, or refuse what no room answers."""
        check_questions(questions, self._terms, self._schema)
        for question in questions:
            question.parts(self._terms.relation, self._terms.max_rows)  # refuses noise that could leave 64 bits
        self._spent, _ = charge_answers(questions, self._budget, self._spent, Fraction(0))
        self.asked += questions
        if self._spent.amount >= self._budget.amount * _ALL_BUT_ROUNDING:
            raise _SpentError
        return tuple(zeros(each, self._terms) for each in questions)


def zeros(question: Any, terms: Terms) -> Answer:  # noqa: ANN401 - of every kind that a mechanism asks
    """Return the answer of a table without rows, as it is without noise."""
    match question:
        case SelectWorst():
            return Selection(question, 0, 1)
        case PrivateDraw(points=points):
            return DrawnRows(question, _zeros(question.draws) + (0 if points is None else points[0]))
        case TreeCounts(shapes=shapes):
            laws = question.noises(terms.relation, terms.max_rows)
            levels = (None if law is None else _zeros(*shape) for law, shape in zip(laws, shapes, strict=True))
            return NoisyTree(question, tuple(levels), laws)
        case CategorySelection():
            law = question.noise(terms.relation, terms.max_rows)
            return SelectedTexts(question, (), _zeros(0), law, question.threshold(terms.relation, terms.max_rows))
    return _OF_ONE_LAW.get(type(question), _sums)(question, question.noise(terms.relation, terms.max_rows))


def _cells(question: SparseCounts, law: NoiseLaw) -> Answer:
    tree = question.tree
    if question.threshold is not None:
        return NoisyCells(question, _zeros(0, len(question.columns)), _zeros(0), _zeros(0), law)
    ranks = np.setdiff1d(np.arange(tree.cells), tree.ranks_of(tree.split_cells), assume_unique=True)
    listed = np.arange(sum(len(leaves) for _, leaves in tree.leaves()))
    return NoisyCells(question, tree.cells_of(ranks), listed, _zeros(ranks.size + listed.size), law)


def _sums(question: Any, law: NoiseLaw) -> Answer:  # noqa: ANN401 - of sums of every kind
    return NoisySums(question, _zeros(*question.shape), law)


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, dtype=np.int64)


_OF_ONE_LAW: Final[dict[type, Callable[[Any, NoiseLaw], Answer]]] = {
    MarginalCounts: lambda question, law: NoisyCounts(question, _zeros(*question.counted), law),
    SplitDecisions: lambda question, law: Splits(question, CellSplits(_zeros(0, len(question.columns)), ()), law),
    SparseCounts: _cells,
    MisfitRows: lambda question, law: NoisyRows(question, _zeros(*question.shape), law),
}
"""Answers of zeros by the kind of question; of others they are `NoisySums`."""
