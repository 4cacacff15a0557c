"""Rows that are drawn by themselves: weighed point by point, drawn again, and seen from outside."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.worst_case import BOTH, NEITHER, QuestionCase, Recheck, loss_told, people_case
from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.weighted import weighted_draws
from lapwing.kernel.questions.private_draw.question import DrawnRows, PrivateDraw
from lapwing.kernel.terms import Terms
from lapwing.maths.reduced_density import nearest_density, sign_matrix, whole_weights

_ROUNDING = 1e-9


def reweighed(question: PrivateDraw, source: Rows) -> np.ndarray:
    """Weigh the points of a private draw the slow way."""
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
    """Return what is wrong with a private draw, given independent weights and the recorded secret words."""
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


def _cases() -> Iterator[QuestionCase]:
    """Ask about tables of few rows at a high floor, found by trying all: a point leaves the floor."""
    two = PrivateDraw(columns=("a", "b"), degree=1, floor=Fraction(1, 7), rows=7, draws=1, notion="pure")
    one = PrivateDraw(columns=("a",), degree=1, floor=Fraction(2, 3), rows=3, draws=2, notion="zcdp")
    asked = (
        (two, "one row of two columns", [(0, False, True)] * 2 + [BOTH] * 4),
        (one, "two rows of one column", [NEITHER, BOTH]),
    )
    for draw, label, others in asked:
        yield people_case(
            draw,
            label,
            Terms(relation="replace-one", rows=draw.rows),
            own=(0, True, False),
            other=(0, False, True),
            others=others,
            seen=lambda answer: [int((answer.rows == 1).sum())],
        )


CHECK: Final = Recheck(
    cases=_cases,
    recount=lambda answer, source, _: [reweighed(answer.question, source)],
    flags=draw_flags,
    loss=loss_told,
)
