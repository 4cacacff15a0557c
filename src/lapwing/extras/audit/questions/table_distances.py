"""Distances of tables from public ones: row by row, cell by cell, in Python's own integers; and seen from outside."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.worst_case import PRICED, PURE, PURE_TERMS, QuestionCase, Recheck, grouping_of, people_case
from lapwing.kernel.questions.table_distances.question import TableDistances


def remeasured(question: TableDistances, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise."""
    assert question.cells is not None
    assert question.expected is not None
    rows = [
        row
        for chunk in source.chunks()
        for row in zip(
            *(g.apply(chunk[name]).tolist() for name, g in zip(question.columns, question.groupings, strict=True)),
            strict=True,
        )
    ]
    distance = 0
    for table, listed, counts in zip(question.tables, question.cells, question.expected, strict=True):
        sizes = [question.groupings[place].groups for place in table]
        pairs = zip(listed.tolist(), counts.tolist(), strict=True)
        gaps = Counter({_cell(number, sizes): -count for number, count in pairs})
        for row in rows:
            gaps[tuple(row[place] for place in table)] += 2**question.bits
        distance += sum(map(abs, gaps.values()))
    return np.array([distance], dtype=np.int64)


def _cell(number: int, sizes: list[int]) -> tuple[int, ...]:
    """Return the group of each column in a cell."""
    groups: list[int] = []
    for size in reversed(sizes):
        number, group = divmod(number, size)
        groups.insert(0, group)
    return tuple(groups)


def _cases() -> Iterator[QuestionCase]:
    """Ask about two tables: the person is in a cell of each that is too full, the replaced one in one too empty.

    Two tables that are one and the same count twice.
    """
    alike = [(PURE, PURE_TERMS[0], ((0,), (0,)), "the distance of two tables alike")]
    for cost, terms, tables, label in [
        *((*each, ((0,), (1,)), "the distance of two tables") for each in PRICED),
        *alike,
    ]:
        asked = TableDistances(
            columns=("a", "b"),
            groupings=(grouping_of("a"), grouping_of("b")),
            tables=tables,
            cells=(np.array([0, 1]),) * 2,
            expected=(np.array([100, 0]),) * 2,
            bits=1,
            cost=cost,
        )
        yield people_case(asked, label, terms)


CHECK: Final = Recheck(cases=_cases, recount=lambda answer, source, _: [remeasured(answer.question, source)])
