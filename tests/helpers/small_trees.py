"""Small trees over nested contingency tables, and the plain way to walk them."""

import math

import numpy as np

from lapwing.mechanisms.shared.trees.trees import AxisSplit, level_shapes

Cell = tuple[int, ...]


def binary(groups):
    """Every one of so many groups divides in two."""
    return np.repeat(np.arange(groups), 2)


def cube_splits(depth, dimension=1):
    """Return the tree of a cube whose sides are halved in turn."""
    return [AxisSplit(level % dimension, binary(2 ** (level // dimension))) for level in range(depth)]


def cube_diameters(depth, dimension=1):
    return [np.full((1,) * dimension, 2.0 ** -(level // dimension)) for level in range(depth + 1)]


def cube_deltas(depth, dimension=1):
    """Spec 01: Δ_j = 2^(j - floor(j/d)), with Δ_{-1} = Δ_0 in front."""
    return [1.0] + [2.0 ** (level - level // dimension) for level in range(depth)]


def random_splits(rng, *, axes=2, depth=4, single_chance=0.3):
    """Draw splits in which each group divides in two, or with some chance not at all."""
    groups = [1] * axes
    splits = []
    for _ in range(depth):
        axis = int(rng.integers(axes))
        children = np.where(rng.random(groups[axis]) < single_chance, 1, 2)
        splits.append(AxisSplit(axis, np.repeat(np.arange(groups[axis]), children)))
        groups[axis] = int(children.sum())
    return splits


def summed_upwards(leaf, splits):
    """Sum the counts of all levels, one cell at a time."""
    levels = [leaf]
    for split in reversed(splits):
        above = np.zeros(split.above(levels[-1].shape), dtype=leaf.dtype)
        for cell in np.ndindex(levels[-1].shape):
            above[parent_of(cell, split)] += levels[-1][cell]
        levels.append(above)
    return levels[::-1]


def parent_of(cell: Cell, split: AxisSplit) -> Cell:
    return (*cell[: split.axis], int(split.parent[cell[split.axis]]), *cell[split.axis + 1 :])


def children_of(cell: Cell, split: AxisSplit) -> list[Cell]:
    places = np.flatnonzero(split.parent == cell[split.axis]).tolist()
    return [(*cell[: split.axis], place, *cell[split.axis + 1 :]) for place in places]


def pairs_of(splits, axes):
    """Every node with two children: its level, its cell, and the two cells below it."""
    for level, (split, shape) in enumerate(zip(splits, level_shapes(splits, axes), strict=False)):
        for cell in np.ndindex(shape):
            below = children_of(cell, split)
            if len(below) == 2:
                yield level, cell, below[0], below[1]


def is_consistent(levels, splits, tolerance=0.0):
    """Children sum to their parent, and nothing is negative."""
    again = summed_upwards(levels[-1], splits)
    sums = all(np.abs(one - other).max() <= tolerance for one, other in zip(levels, again, strict=True))
    return sums and all(level.min() >= 0 for level in levels)


def noisy_levels(rng, splits, *, axes=2, rows=40.0, scale=3.0, unasked=(), exact_root=False):
    """Return true counts, noisy counts (None for levels in ``unasked``), and the variances."""
    shape = level_shapes(splits, axes)[-1]
    exact = summed_upwards(rng.poisson(rows / math.prod(shape), shape).astype(np.int64), splits)
    levels, variances = [], []
    for level, counts in enumerate(exact):
        if level in unasked and level < len(splits):
            levels.append(None)
            variances.append(math.inf)
        elif level == 0 and exact_root:
            levels.append(counts)
            variances.append(0.0)
        else:
            spread = scale * (1 + 0.5 * (level % 3))
            levels.append(counts + np.rint(rng.laplace(0, spread, counts.shape)).astype(np.int64))
            variances.append(2 * spread**2)
    return exact, levels, variances
