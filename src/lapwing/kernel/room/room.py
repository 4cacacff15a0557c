"""The audited room: charge, count, perturb, record, return. Nothing else leaves it."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from threading import Lock
from types import MappingProxyType
from typing import Any, Final, NoReturn

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.category_selection.answer import answer_category_selection
from lapwing.kernel.questions.cell_sums.answer import answer_cell_sums
from lapwing.kernel.questions.linear_statistics.answer import answer_linear_statistics
from lapwing.kernel.questions.marginal_counts.answer import answer_marginal_counts
from lapwing.kernel.questions.misfit_rows.answer import answer_misfit_rows
from lapwing.kernel.questions.private_draw.answer import answer_private_draw
from lapwing.kernel.questions.questions import Answer, Question
from lapwing.kernel.questions.second_moment.answer import answer_second_moment
from lapwing.kernel.questions.select_worst.answer import answer_select_worst
from lapwing.kernel.questions.sparse_counts.answer import answer_sparse_counts
from lapwing.kernel.questions.split_decisions.answer import answer_split_decisions
from lapwing.kernel.questions.table_distances.answer import answer_table_distances
from lapwing.kernel.questions.tree_counts.answer import answer_tree_counts
from lapwing.kernel.room.checks import charge_answers, check_questions
from lapwing.kernel.room.curator import check_same
from lapwing.kernel.room.drawing import Drawing
from lapwing.kernel.room.transcript import AnswerSink
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import CodedSource
from lapwing.schema.schemas import Schema

ANSWERS: Final[Mapping[str, Callable[..., Sequence[Answer]]]] = MappingProxyType(
    {
        "MarginalCounts": answer_marginal_counts,
        "TreeCounts": answer_tree_counts,
        "SelectWorst": answer_select_worst,
        "SplitDecisions": answer_split_decisions,
        "SparseCounts": answer_sparse_counts,
        "SecondMoment": answer_second_moment,
        "CellSums": answer_cell_sums,
        "LinearStatistics": answer_linear_statistics,
        "TableDistances": answer_table_distances,
        "PrivateDraw": answer_private_draw,
        "CategorySelection": answer_category_selection,
        "MisfitRows": answer_misfit_rows,
    }
)
"""By kind, the code that answers: beside the registration because mechanisms see that one, and must not see this."""


class Room:
    """Answer questions about private rows within a budget.

    terms: relation, rows per unit, and what is public about the number of rows; budget: the most that all answers
    together may cost; already debited from the ledger, if there is one; recorded: answers of an interrupted run of the
    same release. They are given again, in order, without a new draw; their cost counts as spent; delta: the most that
    the deltas of all category selections together may sum to; 0 allows none; most_cells: most cells of exact tables
    that are kept between questions, as for `ExactTables`; changes no answer's law.

    Guarantee: the answers together are DP at ``budget`` in its notion, for the relation in ``terms``, except with
    probability ``delta``: every question's cost and delta are added up before any row is read, and a batch that would
    pass either is refused whole. What was drawn is drawn once, however the run ends (`lapwing.kernel.room.drawing`).
    """

    __slots__ = ("_bits", "_budget", "_delta", "_lock", "_record", "_rows", "_spent", "_terms")

    def __init__(
        self,
        source: CodedSource,
        schema: Schema,
        terms: Terms,
        budget: Budget,
        *,
        bits: BitSource,
        sink: AnswerSink,
        recorded: Sequence[Answer] = (),
        delta: Fraction = Fraction(0),
        most_cells: int | None = None,
    ) -> None:
        self._lock = Lock()
        self._rows = PrivateRows.of(source, schema, most_cells)
        self._terms = terms
        self._budget = budget
        self._bits = Drawing(bits, sink)
        self._record = list(recorded)
        self._delta = delta
        self._spent = Budget(budget.notion, budget.amount * 0)

    @property
    def terms(self) -> Terms:
        """The public terms of the release."""
        return self._terms

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `Curator.ask` says what is answered by what
        """Answer a batch of questions, in order."""
        with self._lock:  # two threads must not both see the same budget left
            check_questions(questions, self._terms, self._rows.schema)
            self._charge(questions)
            answers = list(self._replayed(questions))
            for kind, batch in groupby(questions[len(answers) :], type):
                answers += self._drawn(kind, list(batch))
        return tuple(answers)

    def _drawn(self, kind: type[Question], asked: list[Any]) -> Sequence[Answer]:
        """Answer questions of one kind, which share a pass over the rows, and record what was drawn."""
        if self._bits.is_unrecorded:
            raise DataError(
                "the release ended while its noise was drawn, and answers nothing more; make a new one", code="LW615"
            )
        with self._bits as bits:
            answers = ANSWERS[kind.kind](asked, self._rows, self._terms, bits)
            bits.record(answers)
        return answers

    def _charge(self, questions: Sequence[Question]) -> None:
        """Add the costs up, or refuse the whole batch."""
        self._spent, self._delta = charge_answers(questions, self._budget, self._spent, self._delta)

    def _replayed(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        """Take the recorded answers to the first of these questions, as far as the record goes."""
        known = self._record[: len(questions)]
        check_same(questions, known, "the transcript holds another question than {}; resume the same one")
        del self._record[: len(known)]
        return tuple(known)

    def __repr__(self) -> str:
        """Show no data."""
        return "Room(private)"

    def __reduce__(self) -> NoReturn:
        """Refuse pickling and copying: rows do not leave the room, and no budget is spent twice."""
        raise ParameterError(
            "a Room can be neither pickled nor copied; ask its questions where the rows are", code="LW706"
        )
