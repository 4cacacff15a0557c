"""Which cells of a tree are split, seen from outside; `lapwing.extras.audit.checks.cells` decides again."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.extras.audit.checks.cells import cells_recheck
from lapwing.extras.audit.worst_case import BOTH, FAR, PURE_TERMS, QuestionCase, halving_cells, people_case
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits

_EPSILON: Final = Fraction(2)


def _cases() -> Iterator[QuestionCase]:
    """Give a cell just the rows of the person; one that a replaced person comes to has as many of others, and one.

    By PrivTree's rule four decisions lie on one path: the lowest two lose a row each, those above less and less.
    """
    for terms in PURE_TERMS:
        levels = 2 if terms.relation == "add-remove" else 1
        tree = halving_cells(depth=1 + levels, first=1)
        asked = SplitDecisions(tree=tree, rule="paper", threshold=terms.max_rows, epsilon=_EPSILON, notion="pure")
        label = f"splits by the paper's rule on {levels} level{'s' * (levels > 1)}"
        others = [] if levels > 1 else [FAR] * (terms.max_rows + 1)
        yield people_case(asked, label, terms, other=FAR, others=others, seen=_path_lengths)
    terms = PURE_TERMS[0]
    asked = SplitDecisions(
        tree=halving_cells(depth=5, first=1), rule="privtree", threshold=0, epsilon=_EPSILON, notion="pure"
    )
    # On the fourth decision the others alone are as far down as the rule lets a count go.
    others = [BOTH] * (2 * asked.step(asked.noise(terms.relation, terms.max_rows)))
    yield people_case(asked, "splits by PrivTree's rule on 4 levels", terms, others=others, seen=_path_lengths)


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


CHECK: Final = cells_recheck(_cases)
