"""Rows with a cell that fits nothing, recounted row by row, and seen from outside."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.worst_case import NEITHER, PRICED, QuestionCase, Recheck, Row, people_case
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.schema.schemas import Schema

_MISFIT: Final[Row] = (None, True, True)  # of x no cell may be missing


def recounted_rows(question: MisfitRows, source: Rows, schema: Schema) -> list[np.ndarray]:
    """Count rows with a misfit, and the others unless they are not asked for: a list of one int64."""
    codes = {name: schema.field(name).domain.misfit for name in question.columns}
    rows = [
        any(code == codes[name] for name, code in zip(question.columns, row, strict=True))
        for chunk in source.chunks(apart=True)
        for row in zip(*(chunk[name].tolist() for name in question.columns), strict=True)
    ]
    counts = [sum(rows), len(rows) - sum(rows), source.unmet]
    return [np.array(counts[: question.shape[0]], dtype=np.int64)]


def _cases() -> Iterator[QuestionCase]:
    """Ask about three columns: a replaced person leaves one number for the other; alone, one number for nothing."""
    for cost, terms in PRICED:
        asked = MisfitRows(columns=("x", "a", "b"), cost=cost)
        alone = replace(asked, rows=1 + terms.max_rows)
        for each, label in ((asked, "rows that fit or do not"), (alone, "rows that do not fit")):
            yield people_case(
                each, label, terms, own=_MISFIT, other=NEITHER, seen=lambda answer: answer.counts.tolist()
            )


CHECK: Final = Recheck(
    cases=_cases, recount=lambda answer, source, schema: recounted_rows(answer.question, source, schema)
)
