"""What record and replay computes again of each answer: exact numbers, noise from the recorded words, and losses."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from lapwing.extras.audit.held import HeldRows, PlaybackBits, RecordingBits, Rows
from lapwing.extras.audit.questions import (
    category_selection,
    cell_sums,
    linear_statistics,
    marginal_counts,
    misfit_rows,
    private_draw,
    second_moment,
    select_worst,
    sparse_counts,
    split_decisions,
    table_distances,
    tree_counts,
)
from lapwing.extras.audit.worst_case import QuestionCase, Recheck
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise_law import NoiseLaw, calibrate_noise
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.room import ANSWERS
from lapwing.kernel.terms import Terms
from lapwing.schema.schemas import Schema

RECHECKS: Final[Mapping[str, Recheck]] = MappingProxyType(
    {
        "MarginalCounts": marginal_counts.CHECK,
        "TreeCounts": tree_counts.CHECK,
        "SecondMoment": second_moment.CHECK,
        "CellSums": cell_sums.CHECK,
        "LinearStatistics": linear_statistics.CHECK,
        "TableDistances": table_distances.CHECK,
        "SelectWorst": select_worst.CHECK,
        "SplitDecisions": split_decisions.CHECK,
        "SparseCounts": sparse_counts.CHECK,
        "PrivateDraw": private_draw.CHECK,
        "CategorySelection": category_selection.CHECK,
        "MisfitRows": misfit_rows.CHECK,
    }
)
"""By kind of question. One that is registered and is not here is refused by a test."""


def recount(answer: Answer, source: Rows, schema: Schema) -> list[Any]:
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
        law = calibrate_noise(bound, table.cost)
        noise = _draw(law, table.counts.size, bits).reshape(table.counts.shape)
        if table.noise != law:
            flags.append(f"{where} declares {table.noise}, its cost needs {law}")
        if not np.array_equal(table.counts, exact + noise):
            flags.append(f"{where} is not the exact count plus its noise")
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


def loss_flags_between(answer: Answer, first: Sequence[Any], second: Sequence[Any]) -> list[str]:
    """Return what else is wrong with one answer between two tables on which it is about these numbers."""
    loss_flags = RECHECKS[answer.question.kind].loss_flags
    return [] if loss_flags is None else loss_flags(answer, first[0], second[0])


def case_flags(case: QuestionCase) -> list[str]:
    """Ask a case's question twice of each table, draw the answers again, and add up what one loses to the other."""
    flags = []
    for source, neighbour in (case.sources, case.sources[::-1]):
        bits, (one, other) = RecordingBits(SystemBits()), map(HeldRows, (source, neighbour))
        answers = ANSWERS[case.asked.kind]([case.asked] * 2, PrivateRows.of(source, case.schema), case.terms, bits)
        exact = [recount(answer, one, case.schema) for answer in answers]
        flags += noise_flags(answers, exact, case.terms, bits.playback())
        lost = loss_between(answers[0], exact[0], recount(answers[0], other, case.schema))
        if lost > case.cost.amount:
            flags.append(f"an answer loses {lost} between the neighbours, the claim is {case.cost.amount}")
    return list(dict.fromkeys(flags))
