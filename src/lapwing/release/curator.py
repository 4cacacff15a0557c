"""The one interface between a mechanism and the private rows."""

from typing import Any, Protocol, overload

from lapwing.release.category_selection import CategorySelection, SelectedTexts
from lapwing.release.cell_sums import CellSums, NoisySums
from lapwing.release.linear_statistics import LinearStatistics
from lapwing.release.private_draw import DrawnRows, PrivateDraw
from lapwing.release.questions import Answer, MarginalCounts, NoisyCounts, Question
from lapwing.release.second_moment import SecondMoment
from lapwing.release.select_worst import Selected, SelectWorst
from lapwing.release.sparse_counts import NoisyCells, SparseCounts
from lapwing.release.split_decisions import SplitDecisions, Splits
from lapwing.release.table_distances import TableDistances
from lapwing.release.terms import Terms
from lapwing.release.tree_counts import NoisyTree, TreeCounts


class Curator(Protocol):
    """Answer questions about rows that the caller never sees.

    The audited room implements it on real rows; `lapwing.release.replay.ReplayCurator` on recorded answers alone.
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
