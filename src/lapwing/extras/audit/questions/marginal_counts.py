"""Counts of one table, recounted row by row, and seen from outside."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.worst_case import PRICED, QuestionCase, Recheck, grouping_of, people_case
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


def _cases() -> Iterator[QuestionCase]:
    """Ask for one table: a replaced person leaves one cell for another."""
    for cost, terms in PRICED:
        asked = MarginalCounts(columns=("a",), groupings=(grouping_of("a"),), cost=cost)
        yield people_case(asked, "one table of two values", terms, seen=lambda answer: answer.counts[:2].tolist())


CHECK: Final = Recheck(cases=_cases, recount=lambda answer, source, _: recounted_table(answer.question, source))
