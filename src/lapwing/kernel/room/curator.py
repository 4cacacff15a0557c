"""The one interface between a mechanism and the private rows."""

from typing import Any, Protocol, overload

from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.private_draw.question import DrawnRows, PrivateDraw
from lapwing.kernel.questions.questions import Answer, Question
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.question import Selected, SelectWorst
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.terms import Terms


class Curator(Protocol):
    """Answer questions about rows that the caller never sees.

    The audited room implements it on real rows; `lapwing.kernel.room.replay.ReplayCurator` on recorded answers alone.
    """

    @property
    def terms(self) -> Terms:
        """The public terms of the release."""
        ...

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
        """Answer a batch of questions, in order; every cost is charged before any row is read."""
        ...
