"""The closed set of questions that may be asked about private rows: one line each in `REGISTERED`."""

import json
from collections.abc import Mapping
from typing import Any, Final

from lapwing.errors import ParameterError
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.questions.private_draw.question import PrivateDraw
from lapwing.kernel.questions.questions import Answer, Question
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import TreeCounts

REGISTERED: Final[tuple[type[Question], ...]] = (
    MarginalCounts,
    TreeCounts,
    SelectWorst,
    SplitDecisions,
    SparseCounts,
    SecondMoment,
    CellSums,
    LinearStatistics,
    PrivateDraw,
    TableDistances,
    CategorySelection,
    MisfitRows,
)
"""The closed set. What lacks a part is a type error here, or refused by `tests/unit/test_registered_questions.py`."""

KINDS: Final = {each.kind: each for each in REGISTERED}


def question_from_dict(values: Mapping[str, Any]) -> Question:
    """Read back a question that ``to_dict`` wrote."""
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ParameterError(f"unknown question kind {kind!r}; the closed set is {', '.join(KINDS)}", code="LW641")
    return KINDS[kind].from_dict(values)


def answer_from_dict(values: Mapping[str, Any]) -> Answer:
    """Read back an answer that ``to_dict`` wrote; the size is checked before memory is taken."""
    return question_from_dict(values["question"]).read_answer(values["answer"])


def same_question(one: Question, other: Question) -> bool:
    """Tell whether two questions ask the same thing at the same cost."""
    return json.dumps(one.to_dict(), sort_keys=True) == json.dumps(other.to_dict(), sort_keys=True)
