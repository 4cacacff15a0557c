"""The audited room: charge, count, perturb, record, return. Nothing else leaves it."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final, NoReturn

from lapwing.errors import BudgetError, DataError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.category_selection.answer import answer_category_selection
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.questions.cell_sums.answer import answer_cell_sums
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.linear_statistics.answer import answer_linear_statistics
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.marginal_counts.answer import answer_marginal_counts
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.private_draw.answer import answer_private_draw
from lapwing.kernel.questions.private_draw.question import PrivateDraw
from lapwing.kernel.questions.questions import Answer, Question, same_question
from lapwing.kernel.questions.second_moment.answer import answer_second_moment
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.answer import answer_select_worst
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.questions.sparse_counts.answer import answer_sparse_counts
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.split_decisions.answer import answer_split_decisions
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.kernel.questions.table_distances.answer import answer_table_distances
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.answer import answer_tree_counts
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.kernel.room.drawing import Drawing
from lapwing.kernel.room.plain import is_plain
from lapwing.kernel.room.transcript import AnswerSink
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import ExactTables
from lapwing.rows.source import CodedSource
from lapwing.schema.schemas import Schema

_ANSWERED: Final[Mapping[type[Question], Any]] = MappingProxyType(
    {
        TreeCounts: answer_tree_counts,
        SplitDecisions: answer_split_decisions,
        SparseCounts: answer_sparse_counts,
        SecondMoment: answer_second_moment,
        CellSums: answer_cell_sums,
        TableDistances: answer_table_distances,
        PrivateDraw: answer_private_draw,
    }
)
_QUESTIONS: Final = (MarginalCounts, SelectWorst, LinearStatistics, CategorySelection, *_ANSWERED)
"""The closed set."""


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

    __slots__ = ("_bits", "_budget", "_counted", "_delta", "_record", "_schema", "_source", "_spent", "_terms")

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
        self._source = source
        self._schema = schema
        self._terms = terms
        self._budget = budget
        self._bits = Drawing(bits, sink)
        self._record = list(recorded)
        self._delta = delta
        self._spent = Budget(budget.notion, budget.amount * 0)
        self._counted = ExactTables(source, most_cells)

    @property
    def terms(self) -> Terms:
        """The public terms of the release."""
        return self._terms

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `release.curator.Curator` says what is answered by what
        """Answer a batch of questions, in order."""
        for question in questions:
            self._check(question)
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
        answers: Sequence[Answer]
        with self._bits as bits:
            if kind is SelectWorst:
                answers = answer_select_worst(asked, self._counted, self._terms, bits)
            elif kind is LinearStatistics:
                answers = answer_linear_statistics(asked, self._source, self._terms, bits, schema=self._schema)
            elif kind is CategorySelection:
                answers = answer_category_selection(asked, self._source, self._terms, bits, schema=self._schema)
            elif kind in _ANSWERED:
                answers = _ANSWERED[kind](asked, self._source, self._terms, bits)
            else:
                answers = answer_marginal_counts(asked, self._counted, self._terms, bits)
            bits.record(answers)
        return answers

    def _check(self, question: Question) -> None:
        """Refuse a question that is outside the closed set or does not fit the schema."""
        if type(question) not in _QUESTIONS:
            known = ", ".join(kind.__name__ for kind in _QUESTIONS)
            raise ParameterError(
                f"{type(question).__name__} is no question of the closed set; ask one of {known}", code="LW641"
            )
        if not is_plain(question):
            raise ParameterError(
                f"a {question.kind} must hold plain values only, no subclasses; build it from the schema",
                code="LW641",
            )
        _check_whole(question)
        if isinstance(question, SparseCounts | SplitDecisions):
            question.check_capacity(self._terms.relation, self._terms.max_rows)
        if isinstance(question, PrivateDraw):
            question.check_terms(self._terms)
        if isinstance(question, CategorySelection):
            question.check_field(self._schema.field(question.column))
            return
        for column, grouping in zip(question.columns, question.groupings, strict=True):
            domain = self._schema.field(column).domain
            if (grouping.values, grouping.reserved) != (domain.values, domain.reserved):
                raise ParameterError(
                    f'the grouping of "{column}" is for {grouping.values} values and {grouping.reserved} reserved, '
                    f"its domain has {domain.values} and {domain.reserved}; build it from the field's domain",
                    code="LW641",
                )

    def _charge(self, questions: Sequence[Question]) -> None:
        """Add the costs up, or refuse the whole batch."""
        spent, delta = self._spent, self._delta
        for question in questions:
            spent = spent + question.cost
            delta -= question.delta if isinstance(question, CategorySelection) else 0
        if spent.amount > self._budget.amount:
            raise BudgetError(
                f"the questions would spend {spent.amount} in all, more than the budget {self._budget.amount}; "
                "ask for less or give the release a larger budget",
                code="LW420",
            )
        if delta < 0:
            raise BudgetError(
                f"the selections of categories would take {-delta} more of delta than is set aside for them; "
                "give a larger delta, or public lists of categories",
                code="LW420",
            )
        self._spent, self._delta = spent, delta

    def _replayed(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        """Take the recorded answers to the first of these questions, as far as the record goes."""
        known = self._record[: len(questions)]
        for question, answer in zip(questions, known, strict=False):
            if not same_question(question, answer.question):
                raise ParameterError(
                    f"the transcript holds another question than {question.columns}; resume the same one",
                    code="LW630",
                )
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


def _check_whole(question: Question) -> None:
    """Refuse a question that was read back from a record without all of its parts."""
    if isinstance(question, SelectWorst) and question.estimates is None:
        raise ParameterError(
            "a SelectWorst without estimates is only a record or a plan; ask one that has them", code="LW641"
        )
    if isinstance(question, LinearStatistics) and not question.is_askable:
        raise ParameterError(
            "a row function is kept in no file: a release that has one cannot be resumed", code="LW343"
        )
    if isinstance(question, TableDistances) and question.cells is None:
        raise ParameterError("a TableDistances without cells is only a record; ask one that has them", code="LW641")
