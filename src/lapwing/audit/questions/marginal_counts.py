"""Counts of one table, recounted row by row, and seen from outside."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from lapwing.audit.checks.recheck import Recheck
from lapwing.audit.held import Rows
from lapwing.audit.worst_case import PRICED, QuestionCase, grouping_of, neighbours, people_schema, terms_of
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts


def recounted_table(question: MarginalCounts, source: Rows) -> list[np.ndarray]:
    """Count the one table of a question: a list of int64."""
    counts = np.zeros(question.counted, dtype=np.int64)
    for chunk in source.chunks(apart=question.apart):
        if not question.columns:
            counts += len(next(iter(chunk.values())))
            continue
        groups = [g.apply(chunk[name]) for name, g in zip(question.columns, question.groupings, strict=True)]
        if question.apart:
            (grouping,) = question.groupings
            is_misfit = chunk[question.columns[0]] == grouping.values + grouping.reserved
            groups = [np.where(is_misfit, grouping.groups, groups[0])]
        for cell in zip(*(each.tolist() for each in groups), strict=True):
            counts[cell] += 1
    return [counts]


def _marginal_counts() -> Iterator[QuestionCase]:
    """Ask for one table: a replaced person leaves one cell for another."""
    for cost, relation, max_rows in PRICED:
        terms = terms_of(relation, max_rows)
        yield QuestionCase(
            asked=MarginalCounts(columns=("a",), groupings=(grouping_of("a"),), cost=cost),
            label="one table of two values",
            sources=neighbours(terms, (0, True, True), (0, False, False)),
            terms=terms,
            schema=people_schema(terms.max_rows),
            seen=lambda answer: answer.counts[:2].tolist(),
        )


CHECK: Final = Recheck(
    cases=_marginal_counts, recount=lambda answer, source, _: recounted_table(answer.question, source)
)
