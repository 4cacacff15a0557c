"""A prior's tree: what its rows say of the leaves' noisy counts, and of where mass lies inside the leaves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.mechanisms.shared.priors import Codes
from lapwing.mechanisms.shared.trees.cell_levels import TreeLevel, tree_levels
from lapwing.mechanisms.shared.trees.shrinkage import Floats, Halves, LevelLaw, fitted_law, initial_halves, leaning
from lapwing.mechanisms.trees.kd_tree.cells import Cells, full_sums, shared_mass


def leaning_cells(
    noisy: NoisyCells, priors: Sequence[Codes], total: float, threshold: float
) -> tuple[Cells, np.ndarray]:
    """Return the leaves and the cells of the deepest level in which priors have rows, and the weights of both.

    noisy: counts of all leaves; total: the sum of the weights; threshold: as for `leaf_least_squares`.

    From the root down, a cell's halves get what `leaning` expects, by least squares where they are not as in a prior.
    Of a leaf's weight, the part that goes to the cells of a prior's rows inside is what the law of the deepest level
    gives that prior; a row's worth stays even.
    """
    tree = noisy.question.tree
    levels, cells, order = tree_levels(tree)
    placed = [_placed(tree, levels, cells, codes) for codes in priors]
    noisy_leaves = noisy.counts[order]
    estimates, reaches = full_sums(levels, noisy_leaves.astype(np.float64), noisy_leaves >= threshold)
    leaves, _ = full_sums(levels, np.ones(order.size), noisy_leaves >= threshold)
    masses, law = [np.array([total])], LevelLaw.before(len(priors))
    for place, level in enumerate(levels[1:], start=1):
        mass = masses[-1][level.parents]
        own = shared_mass(mass, level.parents, estimates[place], reaches[place])
        first = np.flatnonzero(level.parents[1:] == level.parents[:-1])
        if first.size:
            above = level.parents[first]
            one, two = estimates[place][first], estimates[place][first + 1]
            share = leaves[place][first] / leaves[place - 1][above]
            left = one + (mass[first] - one - two) * share
            variance = noisy.noise.sd**2 * leaves[place][first + 1] * share
            rows = [(each.counts[place][first], each.counts[place - 1][above]) for each in placed]
            halves = Halves(
                mass[first], left, variance, *initial_halves(_even(tree, place, cells[place - 1][above]), rows)
            )
            law = fitted_law(halves, law)
            part = leaning(halves, law, own[first])
            mass[first], mass[first + 1] = part, mass[first] - part
        masses.append(mass)
    weights = np.concatenate([mass[level.is_leaf] for mass, level in zip(masses, levels, strict=True)])
    return _continued(tree, _leaves(levels, cells), weights, placed, law)


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """A prior's rows in each node, level by level, and of each row its leaf and its cell of the deepest level."""

    counts: list[Floats]
    leaf: np.ndarray
    finest: np.ndarray


def _placed(tree: CellTree, levels: Sequence[TreeLevel], cells: Sequence[np.ndarray], codes: Codes) -> _Placed:
    """Follow a prior's rows from the root to the leaves."""
    named = [codes[name] for name in tree.columns]
    goes_on = np.arange(len(named[0]))
    node, leaf = np.zeros_like(goes_on), np.zeros_like(goes_on)
    counts, before = [], 0
    for place, level in enumerate(levels):
        if place:
            axis = tree.schedule[place - 1]
            children = np.zeros(levels[place - 1].is_leaf.size, dtype=np.int64)
            children[level.parents[::-1]] = np.arange(level.parents.size)[::-1]  # the first of each
            node = children[node]
            node += cells[place][node, axis] != _runs(tree, axis, place, named[axis][goes_on])
        counts.append(np.bincount(node, minlength=level.is_leaf.size).astype(np.float64))
        ends = level.is_leaf[node]
        leaf[goes_on[ends]] = before + np.cumsum(level.is_leaf)[node[ends]] - 1
        goes_on, node = goes_on[~ends], node[~ends]
        before += int(level.is_leaf.sum())
    finest = [_runs(tree, axis, tree.depth, each) for axis, each in enumerate(named)]
    return _Placed(counts, leaf, np.stack(finest, axis=1))


def _runs(tree: CellTree, axis: int, level: int, codes: np.ndarray) -> np.ndarray:
    """Return the runs of a column's codes that a level of the tree shows."""
    starts = tree.hierarchies[axis].starts(tree.depths(level)[axis])
    return np.searchsorted(starts, codes, side="right") - 1


def _even(tree: CellTree, level: int, above: np.ndarray) -> Floats:
    """Return which part of cells' codes is in their first halves on a level below; a half where some are reserved."""
    axis = tree.schedule[level - 1]
    nested, depth = tree.hierarchies[axis], tree.depths(level)[axis]
    starts, stops = nested.starts(depth - 1)[above[:, axis]], nested.stops(depth - 1)[above[:, axis]]
    first = nested.stops(depth)[np.searchsorted(nested.starts(depth), starts)]
    return np.where(stops <= nested.values, (first - starts) / (stops - starts), 0.5)


def _leaves(levels: Sequence[TreeLevel], cells: Sequence[np.ndarray]) -> Cells:
    """Return the leaves in the order of the levels."""
    kept = [each[level.is_leaf] for each, level in zip(cells, levels, strict=True)]
    return np.repeat(np.arange(len(kept)), [len(each) for each in kept]), np.concatenate(kept)


def _continued(
    tree: CellTree, leaves: Cells, weights: np.ndarray, placed: Sequence[_Placed], law: LevelLaw
) -> tuple[Cells, np.ndarray]:
    """Return the leaves, with less weight, and the cells of the priors' rows, with the rest."""
    levels, cells, found, kept = [leaves[0]], [leaves[1]], [], weights.copy()
    for prior, part in zip(placed, law.parts[1:], strict=True):
        rows = np.bincount(prior.leaf, minlength=weights.size)
        each = part * law.seen / (law.seen + 1) * weights / (rows + 1)
        kept -= each * rows
        finest, at = np.unique(prior.finest, axis=0, return_inverse=True)
        levels.append(np.full(len(finest), tree.depth))
        cells.append(finest)
        found.append(np.bincount(at.reshape(-1), each[prior.leaf], len(finest)))
    return (np.concatenate(levels), np.concatenate(cells)), np.concatenate((np.maximum(kept, 0.0), *found))
