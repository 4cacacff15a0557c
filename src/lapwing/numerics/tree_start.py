"""Particles drawn exactly from a spanning tree of measured pairs."""

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
        ratio = np.divide(joint, product, out=np.ones_like(joint), where=joint > 0)
        found.append(replace(edge, theta=np.log(ratio).reshape(-1)))
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
    for child, parent in _order(edges, len(axes)):
        if parent is None:
            groups[child] = draw_rows(axes[child].base[None, :], np.zeros(size, dtype=np.intp), rng)
            continue
        edge, place = parent
        joint = _probabilities(axes, edge, total)
        above, level = edge.table[place]
        context = axes[above].levels[level][groups[above]]
        coarse = draw_rows(joint if place == 0 else joint.T, context, rng)
        groups[child] = draw_rows(_within(axes[child], edge.table[1 - place][1]), coarse, rng)
    return groups


def _order(edges: Sequence[Factor], columns: int) -> list[tuple[int, tuple[Factor, int] | None]]:
    """Return the columns, each after its parent, with the edge to it and the parent's place in that edge."""
    order: list[tuple[int, tuple[Factor, int] | None]] = []
    is_known = [False] * columns
    for root in range(columns):
        if is_known[root]:
            continue
        is_known[root] = True
        waiting = [root]
        order.append((root, None))
        while waiting:
            parent = waiting.pop()
            found = [(edge, place) for edge in edges for place in (0, 1) if edge.table[place][0] == parent]
            fresh = [(edge.table[1 - place][0], (edge, place)) for edge, place in found]
            fresh = [(child, link) for child, link in fresh if not is_known[child]]
            for child, _ in fresh:
                is_known[child] = True
            waiting += [child for child, _ in fresh]
            order += fresh
    return order


def _probabilities(axes: Sequence[Axis], edge: Factor, total: float) -> np.ndarray:
    """Return the joint distribution that a noisy pair table tells; 0 at hard zeros."""
    alive = np.ones(edge.target.size, dtype=bool) if edge.alive is None else edge.alive
    counts = np.zeros(edge.target.size)
    counts[alive] = np.maximum(project_to_simplex(edge.target[alive], total), FLOOR)
    counts = counts.reshape(table_shape(axes, edge.table))
    return np.asarray(counts / counts.sum())


def _within(axis: Axis, level: int) -> np.ndarray:
    """Return the masses of the finest groups (columns) inside each group of a level (rows)."""
    masses: np.ndarray = np.zeros((axis.sizes[level], axis.base.size))
    masses[axis.levels[level], np.arange(axis.base.size)] = axis.base
    return masses
