"""Counts of the cells of a tree, seen from outside; `lapwing.audit.checks.cells` counts again."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.audit.checks.cells import cells_recheck
from lapwing.audit.worst_case import (
    PURE_TERMS,
    ZCDP_TERMS,
    QuestionCase,
    Row,
    halved,
    neighbours,
    people_schema,
    terms_of,
)
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts

_EPSILON: Final = Fraction(2)
_THRESHOLD: Final = 2
_LEFT_OUT: Final = _THRESHOLD - 1
_OWN: Final[Row] = (0, True, True)
_OTHER: Final[Row] = (31, False, False)


def _sparse_counts() -> Iterator[QuestionCase]:
    """Ask for a flat grid: a cell that nobody else is in, and for a replaced person one that others are in."""
    for relation, max_rows in PURE_TERMS:
        terms = terms_of(relation, max_rows)
        yield QuestionCase(
            asked=SparseCounts(tree=halved(depth=3, first=3), threshold=_THRESHOLD, epsilon=_EPSILON, notion="pure"),
            label="counts of a grid of 8 cells above a threshold",
            sources=neighbours(terms, _OWN, _OTHER, [_OTHER] * 8 * max_rows),
            terms=terms,
            schema=people_schema(terms.max_rows),
            seen=_ends_of_grid,
        )


def _ends_of_grid(answer: NoisyCells) -> list[int]:
    """Return the counts of the first and the last cell of the grid, and how many are shown."""
    shown = dict(zip(answer.firsts[:, 0].tolist(), answer.counts.tolist(), strict=False))
    return [shown.get(0, _LEFT_OUT), shown.get(answer.question.tree.cells - 1, _LEFT_OUT), len(answer.counts)]


def _gaussian_counts() -> Iterator[QuestionCase]:
    """Ask for all cells of a flat grid, for ρ."""
    for relation, max_rows in ZCDP_TERMS:
        terms = terms_of(relation, max_rows)
        yield QuestionCase(
            asked=SparseCounts(tree=halved(depth=3, first=3), threshold=None, epsilon=Fraction(1), notion="zcdp"),
            label="counts of all 8 cells of a grid",
            sources=neighbours(terms, _OWN, _OTHER, [_OTHER] * 8 * max_rows),
            terms=terms,
            schema=people_schema(terms.max_rows),
            seen=_ends_of_grid,
        )


def _listed_counts() -> Iterator[QuestionCase]:
    """Ask for a tree whose first cell is split: the person is in the first leaf below it."""
    terms, other = terms_of("replace-one", 3), (8, False, False)
    tree = halved(depth=2, first=1).grown(np.array([[0]]), ())
    yield QuestionCase(
        asked=SparseCounts(tree=tree, threshold=_THRESHOLD, epsilon=_EPSILON, notion="pure"),
        label="counts of a tree of 3 leaves above a threshold",
        sources=neighbours(terms, _OWN, other, [other] * 8 * terms.max_rows),
        terms=terms,
        schema=people_schema(terms.max_rows),
        seen=_listed_leaves,
    )


def _listed_leaves(answer: NoisyCells) -> list[int]:
    """Return the counts of the two leaves below the split cell."""
    shown = dict(zip(answer.places.tolist(), answer.counts[len(answer.firsts) :].tolist(), strict=True))
    return [shown.get(0, _LEFT_OUT), shown.get(1, _LEFT_OUT)]


def _cases() -> Iterator[QuestionCase]:
    yield from _sparse_counts()
    yield from _gaussian_counts()
    yield from _listed_counts()


CHECK: Final = cells_recheck(_cases)
