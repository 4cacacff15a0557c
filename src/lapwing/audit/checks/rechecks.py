"""What record and replay computes again of each answer: exact numbers, noise from the recorded words, and losses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.audit.bits import PlaybackBits
from lapwing.audit.checks.categories import category_flags, category_loss, recounted_texts
from lapwing.audit.checks.cells import cell_flags, cell_loss, recounted_cells
from lapwing.audit.checks.draws import draw_flags, reweighed
from lapwing.audit.checks.held import Rows
from lapwing.audit.checks.recounts import (
    recounted_levels,
    recounted_table,
    remeasured,
    rescored,
    resummed,
    resummed_statistics,
)
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise.selection import exponential_mechanism
from lapwing.kernel.noise_law import NoiseLaw, calibrated, row_sensitivity
from lapwing.kernel.questions.private_draw.question import DrawnRows
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.select_worst.question import Selected
from lapwing.kernel.terms import Terms
from lapwing.schema.schemas import Schema


def recounted(answer: Answer, source: Rows, schema: Schema) -> list[Any]:
    """Return what an answer is about, counted independently: its exact tables, scores of a selection, or cells."""
    return RECHECKS[answer.question.kind].recount(answer, source, schema)


def noise_flags(answers: Sequence[Answer], exact: Sequence[list[Any]], terms: Terms, bits: PlaybackBits) -> list[str]:
    """Recompute every answer from an independent count, the claimed law and the recorded secret words."""
    flags = []
    try:
        for answer, counts in zip(answers, exact, strict=True):
            flags += _flags_of_one(answer, counts, terms, bits)
    except EOFError as error:
        flags.append(str(error))
    if bits.left:
        flags.append("the recorded run drew more secret words than its answers need")
    return flags


def _flags_of_one(answer: Answer, recounts: list[Any], terms: Terms, bits: PlaybackBits) -> list[str]:
    """Recompute one selection, the cells of one tree, or the tables of one answer, in order."""
    flags = RECHECKS[answer.question.kind].flags
    return _table_flags(answer, recounts, terms, bits) if flags is None else flags(answer, recounts[0], terms, bits)


def _table_flags(answer: Answer, recounts: list[Any], terms: Terms, bits: PlaybackBits) -> list[str]:
    """Recompute the tables of one answer, in order."""
    question, flags = answer.question, []
    bound = question.sensitivity(terms.relation, terms.max_rows)
    for table, exact in zip(answer.tables, recounts, strict=True):
        where = f"the answer over {question.columns}" + ("" if table.level is None else f", level {table.level},")
        law = calibrated(bound, table.cost)
        noise = _draw(law, table.counts.size, bits).reshape(table.counts.shape)
        if table.noise != law:
            flags.append(f"{where} declares {table.noise}, its cost needs {law}")
        if not np.array_equal(table.counts, exact + noise):
            flags.append(f"{where} is not the exact count plus its noise")
    return flags


def _selection_flags(answer: Selected, scores: np.ndarray, terms: Terms, bits: PlaybackBits) -> list[str]:
    """Draw one selection again from independent scores, and compare its price with its epsilon."""
    question, flags = answer.question, []
    where = f"the selection over {question.columns}"
    bound = row_sensitivity(terms.relation, terms.max_rows).l1
    price = question.epsilon if question.notion == "pure" else question.epsilon**2 / 8
    if question.cost.amount != price:
        flags.append(f"{where} is charged {question.cost.amount}, its epsilon costs {price}")
    if answer.sensitivity != bound:
        flags.append(f"{where} was drawn for scores that change by {answer.sensitivity}, they change by {bound}")
    if exponential_mechanism(scores, question.epsilon, bound, bits) != answer.choice:
        flags.append(f"{where} is not what the exponential mechanism draws on the exact scores")
    return flags


def _draw(law: NoiseLaw, size: int, bits: PlaybackBits) -> np.ndarray:
    """Draw noise of a law from recorded words."""
    sampler = discrete_laplace if law.kind == "laplace" else discrete_gaussian
    return sampler(law.parameter, size, bits)


def loss_between(answer: Answer, first: Sequence[Any], second: Sequence[Any]) -> Fraction:
    """Return the exact loss of one answer between two tables on which it is about these numbers."""
    loss = RECHECKS[answer.question.kind].loss
    if loss is not None:
        return loss(answer, first[0], second[0])
    tables = zip(answer.tables, first, second, strict=True)
    return sum((table.noise.loss(one - two) for table, one, two in tables), Fraction(0))


@dataclass(frozen=True, slots=True)
class Recheck:
    """How one kind of question is computed again, by code that shares nothing with the room's.

    recount: returns what an answer is about; flags: draws an answer again from recorded words, and loss: what it loses
    between two tables; both None for noisy tables, whose noise is drawn and whose losses are added up in one way.
    """

    recount: Callable[[Any, Rows, Schema], list[Any]]
    flags: Callable[[Any, Any, Terms, PlaybackBits], list[str]] | None = None
    loss: Callable[[Any, Any, Any], Fraction] | None = None


def _loss_told(answer: Selected | DrawnRows, first: np.ndarray, second: np.ndarray) -> Fraction:
    return answer.privacy_loss(first, second)


_CELLS: Final = Recheck(lambda answer, source, _: [recounted_cells(answer, source)], cell_flags, cell_loss)
RECHECKS: Final[Mapping[str, Recheck]] = {
    "MarginalCounts": Recheck(lambda answer, source, _: recounted_table(answer.question, source)),
    "TreeCounts": Recheck(lambda answer, source, _: recounted_levels(answer.question, source)),
    "SecondMoment": Recheck(lambda answer, source, _: [resummed(answer.question, source)]),
    "CellSums": Recheck(lambda answer, source, _: [resummed(answer.question, source)]),
    "LinearStatistics": Recheck(lambda answer, *rows: [resummed_statistics(answer.question, *rows)]),
    "TableDistances": Recheck(lambda answer, source, _: [remeasured(answer.question, source)]),
    "SelectWorst": Recheck(lambda answer, source, _: [rescored(answer.question, source)], _selection_flags, _loss_told),
    "SplitDecisions": _CELLS,
    "SparseCounts": _CELLS,
    "PrivateDraw": Recheck(lambda answer, source, _: [reweighed(answer.question, source)], draw_flags, _loss_told),
    "CategorySelection": Recheck(
        lambda answer, *rows: [recounted_texts(answer.question, *rows)], category_flags, category_loss
    ),
}
"""By kind of question. One that is registered and is not here is refused by a test."""
