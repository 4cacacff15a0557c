"""Black-box cases of the questions about trees with more cells than rows."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.audit.worst_case import PURE_TERMS, QuestionCase, Row, neighbours, people_schema, terms_of
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.schema.groupings.hierarchies import hierarchy

_EPSILON: Final = Fraction(2)
_THRESHOLD: Final = 2
_LEFT_OUT: Final = _THRESHOLD - 1
_OWN: Final[Row] = (0, True, True)
_OTHER: Final[Row] = (31, False, False)


def tree_cases() -> Iterator[QuestionCase]:
    """Yield the cases of `SplitDecisions` and `SparseCounts`."""
    yield from _split_decisions()
    yield from _privtree_splits()
    yield from _sparse_counts()
    yield from _listed_counts()


def _tree(depth: int, first: int) -> CellTree:
    """Return the tree that halves x."""
    nested = hierarchy(people_schema(1).field("x").domain, depth)
    return CellTree(columns=("x",), hierarchies=(nested,), schedule=(0,) * depth, first=first)


# -------------------------------------------------------------------------------------------------------- decisions


def _split_decisions() -> Iterator[QuestionCase]:
    """Give a cell just the rows of the person; one that a replaced person comes to has as many of others, and one.

    A path that is not split ends: two paths can lose all that is claimed only where they have one decision.
    """
    for relation, max_rows in PURE_TERMS:
        terms, levels = terms_of(relation, max_rows), 2 if relation == "add-remove" else 1
        tree = _tree(depth=1 + levels, first=1)
        yield QuestionCase(
            asked=SplitDecisions(tree=tree, rule="paper", threshold=max_rows, epsilon=_EPSILON, notion="pure"),
            label=f"splits by the paper's rule on {levels} level{'s' * (levels > 1)}",
            sources=neighbours(terms, _OWN, _OTHER, [] if levels > 1 else [_OTHER] * (max_rows + 1)),
            terms=terms,
            schema=people_schema(terms.max_rows),
            seen=_path_lengths,
        )


def _privtree_splits() -> Iterator[QuestionCase]:
    """Ask for four decisions on one path: the lowest two lose a row each, those above less and less."""
    terms = terms_of("add-remove", 1)
    asked = SplitDecisions(tree=_tree(depth=5, first=1), rule="privtree", threshold=0, epsilon=_EPSILON, notion="pure")
    # On the fourth decision the others alone are as far down as the rule lets a count go.
    others = 2 * asked.step(asked.noise(terms.relation, terms.max_rows))
    yield QuestionCase(
        asked=asked,
        label="splits by PrivTree's rule on 4 levels",
        sources=neighbours(terms, _OWN, _OTHER, [_OWN] * others),
        terms=terms,
        schema=people_schema(terms.max_rows),
        seen=_path_lengths,
    )


def _path_lengths(answer: Splits) -> list[int]:
    """Return how many cells are split on the path to the first and to the last code."""
    chosen, last = answer.tree.split_cells[:, 0], answer.tree.cells - 1
    lengths = []
    for end, cell in ((0, 0), (-1, last)):
        split = len(chosen) > 0 and int(chosen[end]) == cell
        length = 0
        for decided in (*answer.tree.decisions, np.zeros(1, dtype=np.bool_)):
            if not split:
                break
            length += 1
            split = bool(decided[end])
        lengths.append(length)
    return lengths


# ----------------------------------------------------------------------------------------------------------- counts


def _sparse_counts() -> Iterator[QuestionCase]:
    """Ask for a flat grid: a cell that nobody else is in, and for a replaced person one that others are in."""
    for relation, max_rows in PURE_TERMS:
        terms = terms_of(relation, max_rows)
        yield QuestionCase(
            asked=SparseCounts(tree=_tree(depth=3, first=3), threshold=_THRESHOLD, epsilon=_EPSILON, notion="pure"),
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


def _listed_counts() -> Iterator[QuestionCase]:
    """Ask for a tree whose first cell is split: the person is in the first leaf below it."""
    terms, other = terms_of("replace-one", 3), (8, False, False)
    tree = _tree(depth=2, first=1).grown(np.array([[0]]), ())
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
