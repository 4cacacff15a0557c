"""Answers that nobody counted: a real room in which arbitrary numbers stand where exact ones and noise would.

All that the room checks and charges it checks and charges here. Only the numbers are made up, of every kind that noise
could make of a table, and of some that it hardly could: post-processing must take them all.
"""

import numpy as np

from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.misfit_rows.question import NoisyRows
from lapwing.kernel.questions.private_draw.question import DrawnRows
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.questions.shared.cells import CellSplits
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.questions.split_decisions.question import Splits
from lapwing.kernel.questions.tree_counts.question import NoisyTree

MOST_CELLS = 1000
"""Cells of a tree beyond which nothing is split or kept: an inventor need not be slow."""


def _zeros(rng, shape):
    return np.zeros(shape, dtype=np.int64)


def _negative(rng, shape):
    return -rng.integers(1, 10 ** int(rng.integers(1, 15)), shape)


def _one_cell(rng, shape):
    counts = np.zeros(shape, dtype=np.int64)
    counts.flat[int(rng.integers(counts.size))] = 2 ** int(rng.integers(0, 62))
    return counts


def _signs(rng, shape):
    return rng.integers(-1, 2, shape) * 2 ** int(rng.integers(0, 55))


def _huge(rng, shape):
    return np.full(shape, 2**62, dtype=np.int64)


def _mixed(rng, shape):
    return rng.integers(-(2**62), 2**62, shape)


def _usual(rng, shape):
    return rng.poisson(20, shape).astype(np.int64)


def _few(rng, shape):
    return np.where(rng.random(shape) < 0.8, 0, rng.poisson(50, shape)).astype(np.int64)


def _every(rng, shape):
    kind = INVENTORS[int(rng.integers(len(INVENTORS) - 1))]
    return kind(rng, shape)


INVENTORS = (_usual, _few, _zeros, _negative, _one_cell, _signs, _huge, _mixed, _every)
"""What numbers are: of one kind in the whole release, or, by the last one, of another kind in each answer."""


class Invented:
    """By kind of question, what stands for the code that answers: the room's own mapping, with the same keys."""

    def __init__(self, rng, numbers=None):
        self.rng = rng
        self.numbers = INVENTORS[int(rng.integers(len(INVENTORS)))] if numbers is None else numbers
        sums = dict.fromkeys(("SecondMoment", "CellSums", "LinearStatistics", "TableDistances"), self._sums)
        self._inventors = sums | {
            "MarginalCounts": self._counts,
            "TreeCounts": self._tree,
            "SelectWorst": self._selection,
            "SplitDecisions": self._splits,
            "SparseCounts": self._cells,
            "PrivateDraw": self._draw,
            "MisfitRows": self._rows,
        }

    def __getitem__(self, kind):
        return lambda asked, rows, terms, bits: [self._inventors[kind](each, terms) for each in asked]

    def _law(self, question, terms):
        return question.noise(terms.relation, terms.max_rows)

    def _counts(self, question, terms):
        return NoisyCounts(question, self._of(question.counted), self._law(question, terms))

    def _rows(self, question, terms):
        return NoisyRows(question, self._of(question.shape), self._law(question, terms))

    def _tree(self, question, terms):
        laws = question.noises(terms.relation, terms.max_rows)
        shapes = [shape for shape, law in zip(question.shapes, laws, strict=True) if law is not None]
        return NoisyTree.of(question, [self._of(shape) for shape in shapes], [law for law in laws if law is not None])

    def _selection(self, question, terms):
        return Selection(question, int(self.rng.integers(question.candidate_count)), 1)

    def _sums(self, question, terms):
        return NoisySums(question, self._of(question.shape), self._law(question, terms))

    def _splits(self, question, terms):
        tree, share = question.tree, self.rng.choice([0, 0.3, 1])
        ranks = np.arange(min(tree.cells, MOST_CELLS))
        chosen = tree.cells_of(ranks[self.rng.random(ranks.size) < share])
        decisions, cells = [], chosen
        for level in range(tree.first + 1, tree.depth):
            if not len(cells):
                break
            cells, _ = tree.children(level - 1, cells)
            is_open = tree.divisible(level, cells)
            some = share if cells.size < MOST_CELLS else 0
            decisions.append(self.rng.random(int(is_open.sum())) < some)
            goes_on = ~is_open
            goes_on[is_open] = decisions[-1]
            cells = cells[goes_on]
        return Splits(question, CellSplits(chosen, tuple(decisions)), self._law(question, terms))

    def _cells(self, question, terms):
        tree, threshold = question.tree, question.threshold
        split = set(tree.ranks_of(tree.split_cells).tolist())
        firsts = np.array([rank for rank in range(min(tree.cells, 2**20)) if rank not in split], dtype=np.int64)
        places = np.arange(sum(len(leaves) for _, leaves in tree.leaves()))
        if threshold is not None:
            share = self.rng.choice([0, 0.1, 1])
            firsts, places = (each[self.rng.random(each.size) < share] for each in (firsts[:MOST_CELLS], places))
        counts = self._of((firsts.size + places.size,))
        counts = counts if threshold is None else np.maximum(counts, threshold)
        return NoisyCells(question, tree.cells_of(firsts), places, counts, self._law(question, terms))

    def _draw(self, question, terms):
        space = np.arange(2 ** len(question.columns)) if question.points is None else question.points
        return DrawnRows(question, self.rng.choice(space[: int(self.rng.integers(1, space.size + 1))], question.draws))

    def _of(self, shape):
        return self.numbers(self.rng, shape) if np.prod(shape, dtype=np.int64) else np.zeros(shape, dtype=np.int64)
