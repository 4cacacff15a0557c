"""Counts of a tree of tables, recounted row by row, and seen from outside."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.worst_case import FAR, PRICED, QuestionCase, Recheck, people_case, people_schema
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.schema.groupings.hierarchies import hierarchy


def recounted_levels(question: TreeCounts, source: Rows) -> list[np.ndarray]:
    """Count the released levels of a tree, from the root downwards: a list of int64."""
    rows = [
        row for chunk in source.chunks() for row in zip(*(chunk[c].tolist() for c in question.columns), strict=True)
    ]
    return [_recount_level(question, level, rows) for level, cost in enumerate(question.costs) if cost is not None]


def _recount_level(question: TreeCounts, level: int, rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Count one level of a tree: the cell of each row by looking for its codes among the level's cuts."""
    nested = list(zip(question.hierarchies, question.depths(level), strict=True))
    counts = np.zeros(question.shapes[level], dtype=np.int64)
    cuts = [hierarchy.starts(depth)[1:].tolist() for hierarchy, depth in nested]
    for row in rows:
        if all(code < hierarchy.covered for code, (hierarchy, _) in zip(row, nested, strict=True)):
            counts[tuple(map(bisect_right, cuts, row))] += 1
    return counts


def _cases() -> Iterator[QuestionCase]:
    """Ask for a tree: a replaced person leaves all cells of a path below the root for those of another."""
    nested = hierarchy(people_schema(1).field("x").domain, 2)
    for cost, terms in PRICED:
        is_added = terms.relation == "add-remove"  # of replaced rows the number stays
        amounts = (cost.amount / 3,) * 3 if is_added else (None, cost.amount / 2, cost.amount / 2)
        asked = TreeCounts(columns=("x",), hierarchies=(nested,), schedule=(0, 0), notion=cost.notion, amounts=amounts)
        label = "a tree of two levels and its root" if is_added else "a tree of two levels"
        yield people_case(asked, label, terms, other=FAR, seen=_ends_of_levels)


def _ends_of_levels(answer: NoisyTree) -> list[int]:
    """Return the first and the last cell of each level."""
    return [count for level in answer.levels if level is not None for count in level[[0, -1]].tolist()]


CHECK: Final = Recheck(cases=_cases, recount=lambda answer, source, _: recounted_levels(answer.question, source))
