"""Binary trees of counted leaves for tests: a leaf is a number, a node is a tuple of one or two trees."""

from fractions import Fraction

import numpy as np

from lapwing.mechanisms.shared.trees.cell_levels import TreeLevel
from lapwing.mechanisms.trees.kd_tree.cells import leaf_least_squares


def levels_of(tree):
    """Return the levels of a tree, and its counts level by level."""
    levels, counts, nodes, parents = [], [], [tree], [0]
    while nodes:
        is_leaf = [not isinstance(node, tuple) for node in nodes]
        counts += [node for node, leaf in zip(nodes, is_leaf, strict=True) if leaf]
        levels.append(TreeLevel(np.array(parents, dtype=np.int64), np.array(is_leaf, dtype=bool)))
        below = [(place, child) for place, node in enumerate(nodes) if isinstance(node, tuple) for child in node]
        parents, nodes = [place for place, _ in below], [child for _, child in below]
    return levels, np.array(counts)


def paths(tree, path=()):
    """Return the paths of all leaves with their counts, in the order of `levels_of`."""
    found = _paths(tree, path)
    return sorted(found, key=lambda pair: (len(pair[0]), pair[0]))


def _paths(tree, path):
    if not isinstance(tree, tuple):
        return [(path, tree)]
    return [leaf for place, child in enumerate(tree) for leaf in _paths(child, (*path, place))]


def fitted(tree, total, threshold):
    """Return the fitted mass of each leaf by its path."""
    levels, counts = levels_of(tree)
    masses = leaf_least_squares(levels, counts, total, threshold)
    return {path: float(mass) for (path, _), mass in zip(paths(tree), masses, strict=True)}


def summed(tree):
    """Return the sum of a tree's counts."""
    return sum(count for _, count in paths(tree))


def reaches(tree, threshold):
    """Return whether any leaf of a tree reaches the threshold."""
    return any(count >= threshold for _, count in paths(tree))


def fitted_by_recursion(tree, total, threshold):
    """Return the fitted mass of each leaf by its path, exactly: one node at a time, in fractions."""
    if not reaches(tree, threshold):
        threshold = min(count for _, count in paths(tree))
    return dict(_shared(tree, Fraction(total), threshold, ()))


def _shared(tree, mass, threshold, path):
    if not isinstance(tree, tuple):
        yield path, mass
        return
    if len(tree) == 1:
        parts = (mass,)
    elif reaches(tree[0], threshold) == reaches(tree[1], threshold):
        half = min(max((mass + Fraction(summed(tree[0])) - Fraction(summed(tree[1]))) / 2, Fraction(0)), mass)
        parts = (half, mass - half)
    else:
        parts = (mass, Fraction(0)) if reaches(tree[0], threshold) else (Fraction(0), mass)
    for place, (child, part) in enumerate(zip(tree, parts, strict=True)):
        yield from _shared(child, part, threshold, (*path, place))


def random_leaves(rng, depth, *, mean=10.0, single=0.15):
    """Draw a tree of at most so many levels."""
    if depth == 0 or rng.random() < 0.2:
        return int(rng.laplace(0, 3)) + int(rng.poisson(mean) * (rng.random() < 0.4))
    children = 1 if rng.random() < single else 2
    return tuple(random_leaves(rng, depth - 1, mean=mean, single=single) for _ in range(children))
