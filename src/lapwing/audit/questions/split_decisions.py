"""Which cells of a tree are split, seen from outside; `lapwing.audit.checks.cells` decides again."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.audit.checks.cells import cells_recheck
from lapwing.audit.worst_case import PURE_TERMS, QuestionCase, Row, halved, neighbours, people_schema, terms_of
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits

_EPSILON: Final = Fraction(2)


_OWN: Final[Row] = (0, True, True)
_OTHER: Final[Row] = (31, False, False)


def _split_decisions() -> Iterator[QuestionCase]:
    """Give a cell just the rows of the person; one that a replaced person comes to has as many of others, and one.

    A path that is not split ends: two paths can lose all that is claimed only where they have one decision.
    """
    for relation, max_rows in PURE_TERMS:
        terms, levels = terms_of(relation, max_rows), 2 if relation == "add-remove" else 1
        tree = halved(depth=1 + levels, first=1)
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
    asked = SplitDecisions(tree=halved(depth=5, first=1), rule="privtree", threshold=0, epsilon=_EPSILON, notion="pure")
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


def _cases() -> Iterator[QuestionCase]:
    yield from _split_decisions()
    yield from _privtree_splits()


CHECK: Final = cells_recheck(_cases)
