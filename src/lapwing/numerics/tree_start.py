"""Particles drawn exactly from a spanning tree of measured pairs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing.numerics.gibbs import draw_rows
from lapwing.numerics.log_linear import Axis, Factor, table_shape
from lapwing.numerics.simplex import project_to_simplex

FLOOR = 0.3
"""Counts that a cell has at least before a law is made of it: nothing becomes impossible because of noise."""


def tree_factors(axes: Sequence[Axis], edges: Sequence[Factor], total: float) -> tuple[Factor, ...]:
    """Return the edges with the theta of the tree they form, ``log p(a, b) / (p(a) p(b))``.

    Parameters
    ----------
    axes : sequence of Axis
        One per column.
    edges : sequence of Factor
        Measured pairs that form a forest.
    total : float
        Number of records, positive.

    Returns
    -------
    tuple of Factor
    """
    found = []
    for edge in edges:
        joint = _probabilities(axes, edge, total)
        product = joint.sum(axis=1)[:, None] * joint.sum(axis=0)[None, :]
        found.append(replace(edge, theta=np.log(joint / product).reshape(-1)))
    return tuple(found)


def drawn_from_tree(
    axes: Sequence[Axis], edges: Sequence[Factor], total: float, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw particles from a forest of noisy pair tables, column after column.

    Parameters
    ----------
    axes : sequence of Axis
        One per column.
    edges : sequence of Factor
        Measured pairs that form a forest.
    total : float
        Number of records, positive.
    size : int
        Number of particles, m.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    ndarray of uint8 or uint16, shape (d, m)
        Finest groups.
    """
    largest = max(axis.base.size for axis in axes)
    groups = np.zeros((len(axes), size), dtype=np.uint8 if largest <= 2**8 else np.uint16)
    neighbours = defaultdict(list)
    for edge in edges:
        joint = _probabilities(axes, edge, total)
        (one, one_level), (two, two_level) = edge.table
        neighbours[one].append((one_level, two, two_level, joint))
        neighbours[two].append((two_level, one, one_level, joint.T))

    is_drawn = [False] * len(axes)
    for root in range(len(axes)):
        if is_drawn[root]:
            continue
        groups[root] = draw_rows(axes[root].base[None, :], np.zeros(size, dtype=np.intp), rng)
        is_drawn[root], waiting = True, [root]
        while waiting:
            parent = waiting.pop()
            for level, child, child_level, joint in neighbours[parent]:
                if not is_drawn[child]:
                    context = axes[parent].levels[level][groups[parent]]
                    coarse = draw_rows(joint, context, rng)
                    groups[child] = draw_rows(_within(axes[child], child_level), coarse, rng)
                    is_drawn[child] = True
                    waiting.append(child)
    return groups


def _probabilities(axes: Sequence[Axis], edge: Factor, total: float) -> np.ndarray:
    """Return the joint distribution that a noisy pair table tells."""
    counts = np.maximum(project_to_simplex(edge.target, total), FLOOR).reshape(table_shape(axes, edge.table))
    return counts / counts.sum()


def _within(axis: Axis, level: int) -> np.ndarray:
    """Return the masses of the finest groups (columns) inside each group of a level (rows)."""
    masses = np.zeros((axis.sizes[level], axis.base.size))
    masses[axis.levels[level], np.arange(axis.base.size)] = axis.base
    return masses
