"""The closed set of questions that may be asked about private rows: one line each in `REGISTERED`."""

import json
from collections.abc import Mapping
from typing import Any, Final

from lapwing.errors import ParameterError
from lapwing.kernel.plain import read_key, read_keys
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.misfit_rows.question import MisfitRows, NoisyRows
from lapwing.kernel.questions.private_draw.question import DrawnRows, PrivateDraw
from lapwing.kernel.questions.questions import Answer, Question
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.question import Selection, SelectWorst
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts

REGISTERED: Final[Mapping[type[Question], type[Answer]]] = {
    MarginalCounts: NoisyCounts,
    TreeCounts: NoisyTree,
    SelectWorst: Selection,
    SplitDecisions: Splits,
    SparseCounts: NoisyCells,
    SecondMoment: NoisySums,
    CellSums: NoisySums,
    LinearStatistics: NoisySums,
    PrivateDraw: DrawnRows,
    TableDistances: NoisySums,
    CategorySelection: SelectedTexts,
    MisfitRows: NoisyRows,
}
"""The closed set, and what answers each.

What lacks a part is a type error here, or refused by `tests/unit/test_questions.py`.
"""

KINDS: Final = {each.kind: each for each in REGISTERED}


def question_from_dict(values: Any) -> Question:  # noqa: ANN401 - checked here
    """Read back a question that ``to_dict`` wrote."""
    kind = read_key(values, "kind", str)
    if kind not in KINDS:
        raise ParameterError(f"unknown question kind {kind!r}; the closed set is {', '.join(KINDS)}", code="LW641")
    return KINDS[kind].from_dict(values)


def answer_from_dict(values: object) -> Answer:
    """Read back an answer that ``to_dict`` wrote; the size is checked before memory is taken."""
    asked, given = read_keys(values, "question", "answer")
    question = question_from_dict(asked)
    return REGISTERED[type(question)].read(question, given)


def same_question(one: Question, other: Question) -> bool:
    """Tell whether two questions ask the same thing at the same cost."""
    return json.dumps(one.to_dict(), sort_keys=True) == json.dumps(other.to_dict(), sort_keys=True)
