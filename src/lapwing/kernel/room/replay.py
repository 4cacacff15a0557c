"""A curator without data: it returns recorded answers to the same questions."""

from collections.abc import Iterable
from typing import Any, overload

from lapwing.errors import ParameterError
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.private_draw.question import DrawnRows, PrivateDraw
from lapwing.kernel.questions.questions import Answer, Question, same_question
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.question import Selected, SelectWorst
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.terms import Terms


class ReplayCurator:
    """Answer from a record, question by question, in the recorded order.

    Guarantee: no row is looked at. A mechanism that asks the recorded questions gets the recorded answers and so makes
    the recorded release; one that
    asks anything else has looked at something besides answers, and is refused.
    """

    __slots__ = ("_asked", "_record", "_terms")

    def __init__(self, terms: Terms, answers: Iterable[Answer]) -> None:
        self._terms = terms
        self._record = tuple(answers)
        self._asked = 0

    @property
    def terms(self) -> Terms:
        """The public terms of the recorded release."""
        return self._terms

    @property
    def is_exhausted(self) -> bool:
        """Whether every recorded answer was asked for."""
        return self._asked == len(self._record)

    @overload
    def ask(self, *questions: MarginalCounts) -> tuple[NoisyCounts, ...]: ...
    @overload
    def ask(self, *questions: TreeCounts) -> tuple[NoisyTree, ...]: ...
    @overload
    def ask(self, *questions: SelectWorst) -> tuple[Selected, ...]: ...
    @overload
    def ask(self, *questions: SplitDecisions) -> tuple[Splits, ...]: ...
    @overload
    def ask(self, *questions: SparseCounts) -> tuple[NoisyCells, ...]: ...
    @overload
    def ask(self, *questions: SecondMoment | CellSums | LinearStatistics | TableDistances) -> tuple[NoisySums, ...]: ...
    @overload
    def ask(self, *questions: PrivateDraw) -> tuple[DrawnRows, ...]: ...
    @overload
    def ask(self, *questions: CategorySelection) -> tuple[SelectedTexts, ...]: ...
    @overload
    def ask(self, *questions: Question) -> tuple[Answer, ...]: ...

    def ask(self, *questions: Any) -> Any:
        """Return the next recorded answers."""
        batch = self._record[self._asked : self._asked + len(questions)]
        for question, answer in zip(questions, batch, strict=False):
            if not same_question(question, answer.question):
                raise ParameterError(
                    f"the record holds another question than {question.columns}; replay the same run", code="LW630"
                )
        if len(batch) < len(questions):
            raise ParameterError(
                f"the record ends after {len(self._record)} answers; replay the same run", code="LW630"
            )
        self._asked += len(batch)
        return batch
