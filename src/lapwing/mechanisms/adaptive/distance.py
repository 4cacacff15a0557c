"""How far the model of one or two columns is from the table, with 95 % probability: from the last counts of all of it.

Earlier counts chose which cells are counted last; given them, the last noise is fresh. Let ``y = c + e`` be a node's
noisy count (a leaf's, or the sum of its leaves'), ``w`` its part of the model, ``N`` all rows. Between cells, mass
moves along the tree, on which two leaves are as far apart as the cell that holds both is wide; within one, no farther
than it is wide. So ``N W1`` is at most ``sum diameter / 2 |y - Y w| + sum (diameter / 2 |e| - ...)``, in which only the
noise is unknown: of 39 draws of it the largest is passed with probability 1/40, and so is that of the noise in ``Y``.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.mechanisms.adaptive.ordered_cells import Nodes
from lapwing.mechanisms.shared.cell_model import TreeLevel
from lapwing.mechanisms.shared.trees.simulation import drawn_noise
from lapwing.mechanisms.shared.trees.stated import largest_cell
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import diameters, group_ends
from lapwing.schema.schemas import Schema

DRAWS: Final = 39  # the largest of them, twice: 1/40 + 1/40 = 5 %


Counted = tuple[list[TreeLevel], list[np.ndarray], np.ndarray, np.ndarray]
"""A tree, the diameters of its nodes, and for its leaves noisy counts and parts of the model."""


def distance_statements(
    schema: Schema, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
) -> tuple[Statement, ...]:
    """State how far a released model is from the table, where the last counts of all its columns together tell."""
    names = [field.name for field in schema.columns]
    whole = [each for each in answers if set(each.question.columns) == set(names)]
    trees = [each for each in whole if isinstance(each, NoisyCells)]
    tables = [each for each in whole if isinstance(each, NoisyCounts)]
    if not model.rows or not (trees or tables):
        return ()
    law = (trees or tables)[-1].noise
    counted = _of_tree(schema, trees[-1], model) if trees else _of_table(schema, tables[-1], model)
    bound = _bound(counted, law, rng)
    leaves = _of_leaves(*counted[:2])
    return Statement("distance", bound, {"columns": tuple(names)}), largest_cell(leaves.size, float(leaves.max()))


def _bound(counted: Counted, law: NoiseLaw, rng: np.random.Generator) -> float:
    """Return the bound of the module's text, at most 1."""
    levels, sizes, counts, shares = counted
    total, inside = float(counts.sum()), _of_leaves(levels, sizes)
    edges = [size[below.parents] / 2 for size, below in zip(sizes, levels[1:], strict=False)]

    def moved(leaves: np.ndarray) -> float:
        return sum(float(edge @ np.abs(each)) for edge, each in zip(edges, _sums(levels, leaves), strict=True))

    noises = [drawn_noise(law.kind, float(law.parameter), counts.shape, rng) for _ in range(DRAWS)]
    unknown = max(moved(noise) - float(inside @ noise) for noise in noises)
    rows = max(abs(float(noise.sum())) for noise in noises)
    found = moved(counts - total * shares) + float(inside @ counts) + unknown + rows * moved(shares)
    return min(1.0, max(0.0, found) / max(1.0, total - rows))


def _of_leaves(levels: Sequence[TreeLevel], values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the values of the leaves, level by level."""
    return np.concatenate([value[level.is_leaf] for level, value in zip(levels, values, strict=True)])


def _sums(levels: Sequence[TreeLevel], leaves: np.ndarray) -> Iterator[np.ndarray]:
    """Return the sum over the leaves below each node, for all levels but the root's, from the first on."""
    found: list[np.ndarray] = []
    stop = leaves.size
    for place in range(len(levels) - 1, 0, -1):
        is_leaf = levels[place].is_leaf
        own = np.zeros(is_leaf.size)
        start = stop - int(np.count_nonzero(is_leaf))
        own[is_leaf] = leaves[start:stop]
        if found:
            own += np.bincount(levels[place + 1].parents, found[0], own.size)
        found.insert(0, own)
        stop = start
    return iter(found)


def _of_tree(schema: Schema, noisy: NoisyCells, model: ReleasedModel) -> Counted:
    """Return the leaves of a tree; each atom of the model lies in one of them."""
    nodes = Nodes.of(noisy.question.tree)
    domains = [schema.field(name).domain for name in noisy.question.columns]
    sizes = []
    for level, cells in enumerate(nodes.cells):
        each = zip(nodes.tree.hierarchies, domains, nodes.tree.depths(level), cells.T, strict=True)
        sizes.append(np.max([diameters(nested, domain, depth)[run] for nested, domain, depth, run in each], axis=0))
    at = _leaf_of(nodes, [_first_codes(model, name) for name in noisy.question.columns])
    weights = np.bincount(at, model.weights, noisy.counts.size)
    return nodes.levels, sizes, noisy.counts[nodes.order].astype(np.float64), weights / weights.sum()


def _first_codes(model: ReleasedModel, name: str) -> np.ndarray:
    """Return a code of each atom."""
    law = model.laws[name]
    assert isinstance(law, Indexed)
    return np.asarray(law.laws.starts[law.laws.offsets[law.index]])


def _leaf_of(nodes: Nodes, codes: Sequence[np.ndarray]) -> np.ndarray:
    """Return the number of the leaf that holds each place."""
    node, found, before = np.zeros(codes[0].size, dtype=np.int64), np.zeros(codes[0].size, dtype=np.int64), 0
    is_open = np.ones(node.size, dtype=bool)
    for level, here in enumerate(nodes.levels):
        if level:
            axis = nodes.tree.schedule[level - 1]
            starts, _ = nodes.runs(axis, level)
            child = np.searchsorted(here.parents, node[is_open])
            other = np.minimum(child + 1, starts.size - 1)
            is_second = (
                (here.parents[other] == node[is_open]) & (codes[axis][is_open] >= starts[other]) & (other > child)
            )
            node[is_open] = child + is_second
        is_in = is_open.copy()
        is_in[is_open] = here.is_leaf[node[is_open]]
        found[is_in] = before + (np.cumsum(here.is_leaf) - 1)[node[is_in]]
        before += int(np.count_nonzero(here.is_leaf))
        is_open &= ~is_in
    return found


def _of_table(schema: Schema, noisy: NoisyCounts, model: ReleasedModel) -> Counted:
    """Return the cells of a table, which are as far apart as the whole is wide."""
    names, groupings = noisy.question.columns, noisy.question.groupings
    domains = [schema.field(name).domain for name in names]
    kept = np.ix_(
        *(np.arange(each.groups - (not domain.missing)) for each, domain in zip(groupings, domains, strict=True))
    )
    sides = [_lengths(each, domain) for each, domain in zip(groupings, domains, strict=True)]
    size = np.zeros(noisy.counts.shape)
    for side in np.meshgrid(*sides, indexing="ij"):
        size = np.maximum(size, side)
    counts, shares = (
        noisy.counts[kept].astype(np.float64).reshape(-1),
        marginal(model, names, groupings)[kept].reshape(-1),
    )
    root = TreeLevel(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=bool))
    cells = TreeLevel(np.zeros(counts.size, dtype=np.int64), np.ones(counts.size, dtype=bool))
    return [root, cells], [np.ones(1), size[kept].reshape(-1)], counts, shares / shares.sum()


def _lengths(grouping: Grouping, domain: Domain) -> np.ndarray:
    """Return the length of each group in its column's own metric."""
    low, high = group_ends(grouping)
    if domain.continuous and domain.values > 1:
        return np.where(low < domain.values, (high - low) / domain.values, 0.0)
    codes = (high - low - 1) / max(1, domain.values - 1) if domain.ordered else (high - low > 1).astype(np.float64)
    return np.where(low < domain.values, codes, 0.0)
