"""A curator without data: it returns recorded answers to the same questions."""

from collections.abc import Iterable
from typing import Any, overload

from lapwing.errors import ParameterError
from lapwing.release.category_selection import CategorySelection, SelectedTexts
from lapwing.release.cell_sums import CellSums, NoisySums
from lapwing.release.linear_statistics import LinearStatistics
from lapwing.release.private_draw import DrawnRows, PrivateDraw
from lapwing.release.questions import Answer, MarginalCounts, NoisyCounts, Question, same_question
from lapwing.release.second_moment import SecondMoment
from lapwing.release.select_worst import Selected, SelectWorst
from lapwing.release.sparse_counts import NoisyCells, SparseCounts
from lapwing.release.split_decisions import SplitDecisions, Splits
from lapwing.release.table_distances import TableDistances
from lapwing.release.terms import Terms
from lapwing.release.tree_counts import NoisyTree, TreeCounts


class ReplayCurator:
    """Answer from a record, question by question, in the recorded order.

    Parameters
    ----------
    terms : Terms
        The public terms of the recorded release.
    answers : iterable of answers
        The record.

    Notes
    -----
    A mechanism that asks the recorded questions gets the recorded answers and so makes the recorded release; one that
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
        """Return the next recorded answers.

        Raises
        ------
        ParameterError
            If a question is not the recorded one.
        """
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
