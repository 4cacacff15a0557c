"""The fit of leaves against recursion in fractions, and against the definition: nearest pairs, top-down."""

import numpy as np
import pytest

from helpers.cases import spread
from helpers.leaf_trees import fitted, fitted_by_recursion, levels_of, paths, random_leaves, summed
from lapwing.maths.arrays import project_to_simplex


@spread(("seed", range(20)), ("threshold", [-10, 1, 4, 12, 1000]))
def test_masses_are_those_of_walking_down_node_by_node(seed, threshold):
    rng = np.random.default_rng([seed, threshold + 10])
    tree = random_leaves(rng, 7)
    total = max(0, summed(tree) + int(rng.integers(-5, 30)))

    found = fitted(tree, float(total), float(threshold))

    expected = fitted_by_recursion(tree, total, threshold)
    assert found == pytest.approx({path: float(mass) for path, mass in expected.items()}, abs=1e-9)


def masses_below(tree, found, path=()):
    """Yield, for each node with two children, the sums and the masses of both."""
    if not isinstance(tree, tuple):
        return
    if len(tree) == 2:
        mass = [sum(found[leaf] for leaf, _ in paths(tree[place], (*path, place))) for place in (0, 1)]
        yield [summed(child) for child in tree], mass
    for place, child in enumerate(tree):
        yield from masses_below(child, found, (*path, place))


@pytest.mark.parametrize("seed", range(10))
def test_each_pair_is_the_nearest_one_to_the_sums_of_its_leaves(seed):
    rng = np.random.default_rng(seed)
    tree = (random_leaves(rng, 6), random_leaves(rng, 6))
    total = float(max(0, summed(tree) + 7))

    found = fitted(tree, total, float("-inf"))

    for sums, mass in masses_below(tree, found):
        assert mass == pytest.approx(project_to_simplex(np.array(sums, dtype=float), sum(mass)).tolist(), abs=1e-9)


def test_the_helper_lists_leaves_level_by_level():
    levels, counts = levels_of(((1, (2, 3)), 4))

    assert counts.tolist() == [4, 1, 2, 3]
    assert [level.parents.tolist() for level in levels] == [[0], [0, 0], [0, 0], [1, 1]]
    assert [level.is_leaf.tolist() for level in levels] == [[False], [False, True], [True, False], [True, True]]
