"""What record and replay computes again of each answer: exact numbers, noise from the recorded words, and losses."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.audit.checks.categories import category_flags, category_loss, recounted_texts
from lapwing.audit.checks.cells import cell_flags, cell_loss, recounted_cells
from lapwing.audit.checks.recounts import (
    recounted_levels,
    recounted_table,
    remeasured,
    rescored,
    resummed,
    resummed_statistics,
)
from lapwing.audit.held import PlaybackBits, Rows
from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise.selection import exponential_mechanism
from lapwing.kernel.noise.weighted import weighted_draws
from lapwing.kernel.noise_law import NoiseLaw, calibrated, row_sensitivity
from lapwing.kernel.questions.private_draw.question import DrawnRows, PrivateDraw
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.select_worst.question import Selected
from lapwing.kernel.terms import Terms
from lapwing.maths.reduced_density import nearest_density, sign_matrix, whole_weights
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


_ROUNDING = 1e-9


def reweighed(question: PrivateDraw, source: Rows) -> np.ndarray:
    """Weigh the points of a private draw the slow way.

    Returns int64.
    """
    rows: Counter[tuple[int, ...]] = Counter()
    for chunk in source.chunks():
        rows.update(zip(*(chunk[name].tolist() for name in question.columns), strict=True))
    complete = {row: count for row, count in rows.items() if max(row) < 2}
    sets = [
        members
        for size in range(question.degree + 1)
        for members in itertools.combinations(range(len(question.columns)), size)
    ]
    sums = [sum(count * _sign(row, members) for row, count in complete.items()) for members in sets]
    sums[0] = sum(rows.values())
    if question.points is not None and question.ceiling is not None:
        signs = sign_matrix(question.points, len(question.columns), question.degree)
        return whole_weights(nearest_density(signs, np.array(sums), sums[0], question.floor, question.ceiling))
    points = [tuple(point >> place & 1 for place in range(len(question.columns))) for point in _cube(question)]
    heights = [sum(b * _sign(point, members) for b, members in zip(sums, sets, strict=True)) for point in points]
    least = -(-question.floor.numerator * sums[0] // question.floor.denominator)
    return np.array([max(height, least) for height in heights], dtype=np.int64)


def _cube(question: PrivateDraw) -> range:
    return range(2 ** len(question.columns))


def _sign(row: tuple[int, ...], members: tuple[int, ...]) -> int:
    """Return the product of the signs of some columns."""
    return math.prod(1 - 2 * row[place] for place in members)


def draw_flags(answer: DrawnRows, weights: np.ndarray, terms: Terms, bits: BitSource) -> list[str]:
    """Return what is wrong with a private draw, given independent weights and the recorded secret words.

    weights: int64, from `reweighed`; bits: gives the recorded words, from those of this answer on.
    """
    question, flags = answer.question, []
    where = f"the private draw over {question.columns}"
    if question.rows != terms.rows or terms.max_rows != 1:
        flags.append(f"{where} is for {question.rows} rows, the public number is {terms.rows}")
    price = len(answer.rows) * _price(question)
    if question.cost.amount < price * (1 - _ROUNDING):
        flags.append(f"{where} is charged {float(question.cost.amount)}, its rows cost {price}")
    places = weighted_draws(weights, question.draws, bits)
    drawn = places if question.points is None else question.points[places]
    if not np.array_equal(drawn, answer.rows):
        flags.append(f"{where} is not what the exact weights draw")
    return flags


def _price(question: PrivateDraw) -> float:
    """Return what one row costs, in floats: by the formulas of the proof, written out again."""
    columns, degree, rows = len(question.columns), question.degree, question.rows
    floor = float(question.floor)
    if question.points is not None and question.ceiling is not None:
        sets, size = sum(math.comb(columns, each) for each in range(degree + 1)), len(question.points)
        epsilon: float = 4 * math.sqrt(2) * (float(question.ceiling) / floor) ** 1.5 * math.exp(degree / 2)
        epsilon *= sets**0.25 * size**0.75 / math.sqrt(rows)
        return epsilon if question.notion == "pure" else epsilon**2 / 2
    masks = [mask for mask in _cube(question) if mask.bit_count() <= degree]
    most = max(sum((mask & point).bit_count() % 2 for mask in masks) for point in _cube(question))
    weight = math.log1p(2 * most / math.ceil(question.floor * rows))
    return weight + math.log1p(2 * math.sqrt(most) / rows) if question.notion == "pure" else weight**2 / 2


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
    "LinearStatistics": Recheck(lambda answer, source, schema: [resummed_statistics(answer.question, source, schema)]),
    "TableDistances": Recheck(lambda answer, source, _: [remeasured(answer.question, source)]),
    "SelectWorst": Recheck(lambda answer, source, _: [rescored(answer.question, source)], _selection_flags, _loss_told),
    "SplitDecisions": _CELLS,
    "SparseCounts": _CELLS,
    "PrivateDraw": Recheck(lambda answer, source, _: [reweighed(answer.question, source)], draw_flags, _loss_told),
    "CategorySelection": Recheck(
        lambda answer, source, schema: [recounted_texts(answer.question, source, schema)], category_flags, category_loss
    ),
}
"""By kind of question. One that is registered and is not here is refused by a test."""
