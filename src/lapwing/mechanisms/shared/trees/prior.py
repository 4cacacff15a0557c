"""A prior tree: rows that were published before, counted in the cells of a tree, say how each cell's mass may lie.

PMM takes these counts to its fit. KDTree's is here: the noisy counts of its leaves are fitted along the tree as there,
and inside the leaves, where nothing was counted, mass lies in part as the prior's rows do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.mechanisms.shared.cell_model import TreeLevel, full_sums, leaf_sums, shared_mass, tree_levels
from lapwing.mechanisms.shared.priors import PriorRows
from lapwing.mechanisms.shared.trees.flows import summed
from lapwing.mechanisms.shared.trees.model import tree_splits
from lapwing.mechanisms.shared.trees.shrinkage import Floats, Halves, LevelLaw, fitted_law, guessed, leaning
from lapwing.schema.schemas import Schema

Codes = Mapping[str, np.ndarray]


def spread_codes(prior: PriorRows, schema: Schema, rng: np.random.Generator) -> Codes:
    """Return a prior's codes of all columns; of those that it lacks, regular ones at random."""
    lacking = [column for column in schema.columns if column.name not in prior.codes]
    return {**prior.codes, **{each.name: rng.integers(each.domain.values, size=prior.rows) for each in lacking}}


def counted_prior(question: TreeCounts, codes: Codes) -> list[Floats]:
    """Return how many of a prior's rows are in each cell of a tree, level by level."""
    shape = question.shapes[-1]
    runs = [
        np.searchsorted(nested.cuts, codes[name], side="right")
        for name, nested in zip(question.columns, question.hierarchies, strict=True)
    ]
    leaves = np.bincount(np.ravel_multi_index(runs, shape), minlength=int(np.prod(shape))).astype(np.float64)
    return [each[0] for each in summed(leaves.reshape(1, *shape), tree_splits(question))]


def leaning_cells(
    noisy: NoisyCells, priors: Sequence[Codes], total: float, threshold: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return levels, runs and weights of cells: the leaves, and cells of the deepest level in which priors have rows.

    noisy: counts of all leaves; total: the sum of the weights.

    From the root down, a cell's halves get what `leaning` expects. Of a leaf's weight, the part that goes to the cells
    of a prior's rows inside is what the law of the deepest level gives that prior; a row's worth stays even.
    """
    tree = noisy.question.tree
    levels, cells, order = tree_levels(tree)
    placed = [_placed(tree, levels, cells, codes) for codes in priors]
    counts = noisy.counts[order]
    estimates, reaches = full_sums(levels, counts.astype(np.float64), counts >= threshold)
    leaves = leaf_sums(levels, np.ones(order.size))
    masses, law = [np.array([total])], LevelLaw.before(len(priors))
    for place, level in enumerate(levels[1:], start=1):
        whole = masses[-1][level.parents]
        own = shared_mass(whole, level.parents, estimates[place], reaches[place])
        first = np.flatnonzero(level.parents[1:] == level.parents[:-1])
        if first.size:
            one, two = estimates[place][first], estimates[place][first + 1]
            share = leaves[place][first] / (leaves[place][first] + leaves[place][first + 1])
            left = one + (whole[first] - one - two) * share
            variance = noisy.noise.sd**2 * leaves[place][first + 1] * share
            counts = [(each.counts[place][first], each.counts[place - 1][level.parents[first]]) for each in placed]
            even = _even(tree, place, cells[place - 1][level.parents[first]])
            halves = Halves(whole[first], left, variance, *guessed(even, counts))
            law = fitted_law(halves, law)
            part = leaning(halves, law, own[first])
            whole[first], whole[first + 1] = part, whole[first] - part
        masses.append(whole)
    return _continued(tree, levels, cells, masses, placed, law)


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """A prior's rows in each node, level by level, and of each row the leaf's level, its place there, and its cell."""

    counts: list[Floats]
    level: np.ndarray
    node: np.ndarray
    cell: np.ndarray


def _placed(tree: CellTree, levels: Sequence[TreeLevel], cells: Sequence[np.ndarray], codes: Codes) -> _Placed:
    """Follow a prior's rows from the root to the leaves."""
    named = [np.asarray(codes[name]) for name in tree.columns]
    rows = len(named[0])
    node, depth, goes_on = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64), np.arange(rows)
    counts = [np.full(1, float(rows))]
    for place, level in enumerate(levels[1:], start=1):
        goes_on = goes_on[~levels[place - 1].is_leaf[node[goes_on]]]
        child = np.zeros(levels[place - 1].is_leaf.size, dtype=np.int64)
        child[level.parents[::-1]] = np.arange(level.parents.size)[::-1]
        axis = tree.schedule[place - 1]
        run = _runs(tree, axis, place, named[axis][goes_on])
        below = child[node[goes_on]]
        below += cells[place][below, axis] != run
        node[goes_on], depth[goes_on] = below, place
        counts.append(np.bincount(below, minlength=level.parents.size).astype(np.float64))
    finest = [_runs(tree, axis, tree.depth, each) for axis, each in enumerate(named)]
    return _Placed(counts, depth, node, np.stack(finest, axis=1))


def _runs(tree: CellTree, axis: int, level: int, codes: np.ndarray) -> np.ndarray:
    """Return the runs of a column's codes that a level of the tree shows."""
    starts = tree.hierarchies[axis].starts(tree.depths(level)[axis])
    return np.searchsorted(starts, codes, side="right") - 1


def _even(tree: CellTree, level: int, above: np.ndarray) -> Floats:
    """Return which part of the codes of cells above a level is in their first halves; a half where some are reserved."""
    axis = tree.schedule[level - 1]
    nested, depth = tree.hierarchies[axis], tree.depths(level)[axis]
    run = above[:, axis]
    starts, stops = nested.starts(depth - 1)[run], nested.stops(depth - 1)[run]
    first = nested.stops(depth)[np.searchsorted(nested.starts(depth), starts)]
    return np.where(stops <= nested.values, (first - starts) / (stops - starts), 0.5)


def _continued(
    tree: CellTree,
    levels: Sequence[TreeLevel],
    cells: Sequence[np.ndarray],
    masses: Sequence[Floats],
    placed: Sequence[_Placed],
    law: LevelLaw,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the leaves, with less weight, and the cells of the priors' rows, with the rest."""
    found = []
    kept = [mass.copy() for mass in masses]
    for prior, part in zip(placed, law.parts[1:], strict=True):
        each = np.empty(len(prior.level))
        for place, mass in enumerate(masses):
            here = prior.level == place
            weight = part * mass / (prior.counts[place] + 1)
            each[here] = weight[prior.node[here]]
            kept[place] -= weight * prior.counts[place]
        fine, row = np.unique(prior.cell, axis=0, return_inverse=True)
        found.append((np.full(len(fine), tree.depth), fine, np.bincount(row.reshape(-1), each, len(fine))))
    for place, level in enumerate(levels):
        leaf = level.is_leaf
        found.append((np.full(int(leaf.sum()), place), cells[place][leaf], kept[place][leaf]))
    at, runs, weights = (np.concatenate(part) for part in zip(*found, strict=True))
    return at, runs, np.maximum(weights, 0.0)
