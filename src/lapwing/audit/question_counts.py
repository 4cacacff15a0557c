"""Black-box cases of the questions that count."""

from collections.abc import Iterator
from typing import Any

from lapwing.audit.question_tables import PRICED, grouping_of, neighbours, terms_of
from lapwing.audit.worst_case import QuestionCase
from lapwing.curator import marginal_counts
from lapwing.release.questions import MarginalCounts


def count_cases() -> Iterator[QuestionCase]:
    """Yield the cases of `MarginalCounts`."""
    yield from _marginal_counts()


def _marginal_counts() -> Iterator[QuestionCase]:
    """One table: a replaced person leaves one cell for another."""

    def answer(*asked: Any) -> Any:  # noqa: ANN401
        return marginal_counts.answer_marginal_counts(*asked)

    for cost, relation, max_rows in PRICED:
        terms = terms_of(relation, max_rows)
        yield QuestionCase(
            asked=MarginalCounts(columns=("a",), groupings=(grouping_of("a"),), cost=cost),
            label="one table of two values",
            sources=neighbours(terms, (0, True, True), (0, False, False)),
            terms=terms,
            answer=answer,
            seen=lambda answer: answer.counts[:2].tolist(),
        )
