"""Counts of the cells of a tree, seen from outside; `lapwing.extras.audit.checks.cells` counts again."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.extras.audit.checks.cells import cells_recheck
from lapwing.extras.audit.worst_case import FAR, PURE_TERMS, ZCDP_TERMS, QuestionCase, Row, halving_cells, people_case
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.terms import Terms

_EPSILON: Final = Fraction(2)
_THRESHOLD: Final = 2
_LEFT_OUT: Final = _THRESHOLD - 1


def _cases() -> Iterator[QuestionCase]:
    """Ask for flat grids, where a person is alone in a cell and a replaced one in company; and below a split cell."""
    grid = halving_cells(depth=3, first=3)
    for terms in PURE_TERMS:
        asked = SparseCounts(tree=grid, threshold=_THRESHOLD, epsilon=_EPSILON, notion="pure")
        yield _counted(asked, "counts of a grid of 8 cells above a threshold", terms, FAR, _ends_of_grid)
    for terms in ZCDP_TERMS:
        asked = SparseCounts(tree=grid, threshold=None, epsilon=Fraction(1), notion="zcdp")
        yield _counted(asked, "counts of all 8 cells of a grid", terms, FAR, _ends_of_grid)
    tree = halving_cells(depth=2, first=1).grown(np.array([[0]]), ())
    asked = SparseCounts(tree=tree, threshold=_THRESHOLD, epsilon=_EPSILON, notion="pure")
    label = "counts of a tree of 3 leaves above a threshold"
    yield _counted(asked, label, PURE_TERMS[-1], (8, False, False), _listed_leaves)


def _counted(
    asked: SparseCounts, label: str, terms: Terms, other: Row, seen: Callable[[NoisyCells], list[int]]
) -> QuestionCase:
    return people_case(asked, label, terms, other=other, others=[other] * 8 * terms.max_rows, seen=seen)


def _ends_of_grid(answer: NoisyCells) -> list[int]:
    """Return the counts of the first and the last cell of the grid, and how many are shown."""
    shown = dict(zip(answer.first_cells[:, 0].tolist(), answer.counts.tolist(), strict=False))
    return [shown.get(0, _LEFT_OUT), shown.get(answer.question.tree.cells - 1, _LEFT_OUT), len(answer.counts)]


def _listed_leaves(answer: NoisyCells) -> list[int]:
    """Return the counts of the two leaves below the split cell."""
    shown = dict(zip(answer.listed_places.tolist(), answer.counts[answer.firsts :].tolist(), strict=True))
    return [shown.get(0, _LEFT_OUT), shown.get(1, _LEFT_OUT)]


CHECK: Final = cells_recheck(_cases)
