"""A tree of cells level by level, and the pure epsilon that its questions are asked with."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.shared.cells import CellTree


@dataclass(frozen=True, slots=True, eq=False)
class TreeLevel:
    """One level of a binary tree.

    parents: int64 (k,), the place of each node's parent on the level above; siblings, at most two, are neighbours. The
    top level is one node, with parent 0; is_leaf: bool (k,), the others have one child or two on the next level.
    """

    parents: np.ndarray
    is_leaf: np.ndarray


def tree_levels(tree: CellTree) -> tuple[list[TreeLevel], list[np.ndarray], np.ndarray]:
    """Return the levels of a tree from its root on, and the cells of each; those of the first level are all listed."""
    levels, cells = _upper_levels(tree)
    at = np.argsort(tree.ranks_of(cells[-1]), kind="stable")  # the place of each first cell, by rank
    goes_on = at[tree.ranks_of(tree.split_cells)]
    is_leaf = np.ones(tree.cells, dtype=bool)
    is_leaf[goes_on] = False
    levels[-1] = TreeLevel(levels[-1].parents, is_leaf)
    order = np.argsort(at[is_leaf[at]], kind="stable")  # answers go by rank, the tree's lists by parent
    listed = _listed_levels(tree, goes_on)
    below = sum(int(level.is_leaf.sum()) for level in listed)
    levels += listed
    cells += [each for _, each in tree.levels()]
    return levels, cells, np.concatenate((order, order.size + np.arange(below)))


def _upper_levels(tree: CellTree) -> tuple[list[TreeLevel], list[np.ndarray]]:
    """Return the levels from the root to the first one, all of whose cells exist, and their cells."""
    cells = [np.zeros((1, len(tree.columns)), dtype=np.int64)]
    levels = [TreeLevel(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=bool))]
    for level in range(tree.first):
        below, parents = tree.children(level, cells[-1])
        cells.append(below)
        levels.append(TreeLevel(parents, np.zeros(len(below), dtype=bool)))
    return levels, cells


def _listed_levels(tree: CellTree, goes_on: np.ndarray) -> list[TreeLevel]:
    """Return the levels below the first one; `goes_on` are the places there of the split cells, in their order."""
    levels, above = [], tree.split_cells
    for level, cells in tree.levels():
        _, parents = tree.children(level - 1, above)
        kept = tree.next_level(level, cells)
        is_leaf = np.ones(len(cells), dtype=bool) if kept is None else ~kept
        levels.append(TreeLevel(goes_on[parents], is_leaf))
        goes_on = np.flatnonzero(~is_leaf)
        above = cells[goes_on]
    return levels


def epsilon_of(budget: Budget) -> Fraction:
    """Return the pure ε that is worth a budget: itself, or ``sqrt(2 ρ)`` rounded down to six digits.

    >>> epsilon_of(Budget.zcdp("0.125")), epsilon_of(Budget.zcdp("0.5") * Fraction(49, 50))
    (Fraction(1, 2), Fraction(989949, 1000000))
    """
    if budget.notion == "pure":
        return budget.epsilon
    digits = 6 - math.ceil(math.log10(2 * budget.rho) / 2)
    scaled = 2 * budget.rho * Fraction(100) ** digits
    return Fraction(math.isqrt(math.floor(scaled)), 1) / Fraction(10) ** digits
