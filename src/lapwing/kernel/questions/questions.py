"""The closed set of questions that may be asked about private rows, and their answers.

A question is a frozen value that says what is counted and what it may cost. What a neighbour can change
(`sensitivity`) and what an answer then costs on two given tables (`privacy_loss`) stand here, with the proof beside
the code that answers, in the package `curator`.
"""

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, get_args

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable, Sensitivity
from lapwing.kernel.plain import read_key, read_list, read_rational, unpack_counts
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.private_draw.question import DrawnRows, PrivateDraw
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.question import Selected, SelectWorst
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.terms import Relation
from lapwing.schema.groupings.grouping import Grouping


class Question(Protocol):
    """What every question can say about itself without any data."""

    kind: ClassVar[str]

    @property
    def cost(self) -> Budget:
        """The budget that the answer spends."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the question looks at."""
        ...

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """One per column: the finest table that is counted; empty for a selection read back, and of open columns."""
        ...

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of each exact table of the answer between neighbours."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain JSON values."""
        ...


class Answer(Protocol):
    """What every answer can say about itself."""

    @property
    def question(self) -> Question:
        """What was asked."""
        ...

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The noisy tables, in the order in which their noise was drawn; none for a choice."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return question and answer as plain JSON values."""
        ...


KnownQuestion = (
    MarginalCounts
    | TreeCounts
    | SelectWorst
    | SplitDecisions
    | SparseCounts
    | SecondMoment
    | CellSums
    | LinearStatistics
    | TableDistances
    | PrivateDraw
    | CategorySelection
)
"""The closed set."""


def question_from_dict(values: Mapping[str, Any]) -> KnownQuestion:
    """Read back a question that ``to_dict`` wrote."""
    kind = values.get("kind")
    vectors = (SecondMoment, CellSums, LinearStatistics, TableDistances)
    for each in (TreeCounts, SelectWorst, SplitDecisions, SparseCounts, *vectors, PrivateDraw, CategorySelection):
        if kind == each.kind:
            return each.from_dict(values)
    if kind != MarginalCounts.kind:
        known = ", ".join(each.kind for each in get_args(KnownQuestion))
        raise ParameterError(f"unknown question kind {kind!r}; the closed set is {known}", code="LW641")
    return MarginalCounts(
        columns=read_list(values, "columns", str),
        groupings=tuple(Grouping.from_dict(grouping) for grouping in read_key(values, "groupings", list)),
        cost=Budget(values["cost"]["notion"], read_rational(values["cost"]["amount"])),
    )


def answer_from_dict(
    values: Mapping[str, Any],
) -> NoisyCounts | NoisyTree | Selected | Splits | NoisyCells | NoisySums | DrawnRows | SelectedTexts:
    """Read back an answer that ``to_dict`` wrote; the size is checked before memory is taken."""
    question, answer = question_from_dict(values["question"]), values["answer"]
    match question:
        case TreeCounts():
            return NoisyTree.from_dict(question, answer)
        case SelectWorst():
            return Selected.from_dict(question, answer)
        case SplitDecisions():
            return Splits.from_dict(question, answer)
        case SparseCounts():
            return NoisyCells.from_dict(question, answer)
        case SecondMoment() | CellSums() | LinearStatistics() | TableDistances():
            return NoisySums.from_dict(question, answer)
        case PrivateDraw():
            return DrawnRows.from_dict(question, answer)
        case CategorySelection():
            return SelectedTexts.from_dict(question, answer)
    counts = unpack_counts(answer["counts"], question.shape)
    return NoisyCounts(question, counts, NoiseLaw.from_dict(answer["noise"]))


def same_question(one: Question, other: Question) -> bool:
    """Tell whether two questions ask the same thing at the same cost."""
    return json.dumps(one.to_dict(), sort_keys=True) == json.dumps(other.to_dict(), sort_keys=True)
