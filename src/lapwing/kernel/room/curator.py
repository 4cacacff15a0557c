"""The one interface between a mechanism and the private rows, and the curator that needs none: it replays answers."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from lapwing.errors import ParameterError
from lapwing.kernel.questions.questions import A, Answer, Asks, Question
from lapwing.kernel.questions.registered import same_question
from lapwing.kernel.terms import Terms


class Curator(Protocol):
    """Answer questions about rows that the caller never sees.

    The audited room implements it on real rows; `ReplayCurator` on recorded answers alone.
    """

    @property
    def terms(self) -> Terms:
        """The public terms of the release."""
        ...

    def ask(self, *questions: Asks[A]) -> tuple[A, ...]:
        """Answer a batch of questions, in order; every cost is charged before any row is read."""
        ...


class ReplayCurator:
    """Answer from a record, question by question, in the recorded order.

    Guarantee: no row is looked at. A mechanism that asks the recorded questions gets the recorded answers and so makes
    the recorded release; one that asks anything else has looked at something besides answers, and is refused.
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

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `Curator.ask` says what is answered by what
        """Return the next recorded answers."""
        batch = self._record[self._asked : self._asked + len(questions)]
        check_same(questions, batch, "the record holds another question than {}; replay the same run")
        if len(batch) < len(questions):
            raise ParameterError(
                f"the record ends after {len(self._record)} answers; replay the same run", code="LW630"
            )
        self._asked += len(batch)
        return batch


def check_same(questions: Sequence[Question], answers: Sequence[Answer], sentence: str) -> None:
    """Refuse recorded answers to other questions than these.

    sentence: of the refusal, with a place for the columns.
    """
    for question, answer in zip(questions, answers, strict=False):
        if not same_question(question, answer.question):
            raise ParameterError(sentence.format(question.columns), code="LW630")
