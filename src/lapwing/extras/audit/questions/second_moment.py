"""Products of coordinates, summed row by row in Python's own integers, and seen from outside."""

import itertools
import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.worst_case import (
    PRICED,
    PURE,
    PURE_TERMS,
    QuestionCase,
    Recheck,
    line_coordinates,
    people_case,
)
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates


def vectors_of(coordinates: Coordinates, source: Rows) -> Iterator[list[int]]:
    """Yield the vector of each row."""
    for chunk in source.chunks():
        groups = [
            grouping.apply(chunk[name]).tolist()
            for name, grouping in zip(coordinates.columns, coordinates.groupings, strict=True)
        ]
        for row in zip(*groups, strict=True):
            blocks = (_block(coordinates, place, group) for place, group in enumerate(row))
            yield _inside(coordinates, list(itertools.chain.from_iterable(blocks)))


def _block(coordinates: Coordinates, place: int, group: int) -> list[int]:
    """Return the coordinates of one column for a row in a group."""
    grouping, unit = coordinates.groupings[place], coordinates.unit
    is_line = coordinates.kinds[place] == "line"
    width = (1 if is_line else grouping.regular) + coordinates.listed[place]
    block = [0] * width
    if is_line and group < grouping.regular:
        starts, stops, groups = grouping.pieces()
        at = np.flatnonzero(groups == group)[-1]
        twice, last = int(starts[at] + stops[at] - 1), 2 * (grouping.values - 1)
        low = -unit if coordinates.coding == "centred" else 0
        if last and grouping.regular == 2:
            block[0] = unit if group else low
        elif last:
            block[0] = low + (unit - low) * twice // last
    elif group < grouping.regular + coordinates.listed[place]:
        block[group - grouping.regular + 1 if is_line else group] = unit
    return block


def _inside(coordinates: Coordinates, row: list[int]) -> list[int]:
    """Bring a vector into its convex set."""
    unit = coordinates.unit
    if coordinates.convex_set == "ball":
        square = sum(each * each for each in row)
        if square > unit * unit:
            length = math.isqrt(square - 1) + 1
            return [(1 if each > 0 else -1) * (abs(each) * unit // length) for each in row]
    if coordinates.convex_set == "simplex":
        total = sum(row)
        return [each * unit // total for each in row] if total else [unit // len(row)] * len(row)
    return row


def resummed(question: SecondMoment, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise."""
    rows = list(vectors_of(question.coordinates, source))
    pairs = zip(*(each.tolist() for each in question.pairs), strict=True)
    return np.array([sum(row[i] * row[j] for row in rows) for i, j in pairs], dtype=np.int64)


def _cases() -> Iterator[QuestionCase]:
    """Ask for the product of two coordinates, whose sign a replaced person changes; and for squares from 0 to 1."""
    for cost, terms in PRICED:
        product = SecondMoment(coordinates=line_coordinates(), diagonal=False, cost=cost)
        yield people_case(product, "the product of two columns", terms, other=(0, True, False))
    squares = SecondMoment(coordinates=line_coordinates("unit"), diagonal=True, cost=PURE)
    yield people_case(squares, "squares and product of two columns", PURE_TERMS[-1])


CHECK: Final = Recheck(cases=_cases, recount=lambda answer, source, _: [resummed(answer.question, source)])
