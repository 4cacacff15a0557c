"""Any tree and any counts: what every fit of leaves keeps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.leaf_trees import fitted, paths, reaches

COUNTS = st.integers(-30, 60)


def trees(counts):
    return st.recursive(counts, lambda below: st.one_of(st.tuples(below), st.tuples(below, below)), max_leaves=24)


TOTALS = st.floats(0, 1e6)
THRESHOLDS = st.integers(-40, 70)
NEVER = float("-inf")


@given(tree=trees(COUNTS), total=TOTALS, threshold=THRESHOLDS)
def test_masses_are_not_negative_and_sum_to_the_total(tree, total, threshold):
    found = fitted(tree, total, threshold)

    assert min(found.values()) >= 0
    assert sum(found.values()) == pytest.approx(total)


@given(tree=trees(COUNTS), total=TOTALS, threshold=THRESHOLDS)
def test_a_leaf_below_the_threshold_has_nothing_unless_all_are(tree, total, threshold):
    found = fitted(tree, total, threshold)

    if reaches(tree, threshold):
        assert all(found[path] == 0 for path, count in paths(tree) if count < threshold)
    else:
        assert found == fitted(tree, total, NEVER)


def never_handed(tree, threshold, path=()):
    """Yield the nodes to which, and from which, no rows are handed from outside: all nodes beside the way reach."""
    yield path, tree
    if isinstance(tree, tuple) and all(reaches(child, threshold) for child in tree):
        for place, child in enumerate(tree):
            yield from never_handed(child, threshold, (*path, place))


@given(tree=trees(COUNTS), total=TOTALS, threshold=THRESHOLDS)
def test_rows_are_handed_over_inside_the_smallest_subtree_that_can_take_them(tree, total, threshold):
    with_it, without = fitted(tree, total, threshold), fitted(tree, total, NEVER)

    for path, node in never_handed(tree, threshold):
        leaves = [leaf for leaf, _ in paths(node, path)]
        kept = sum(with_it[leaf] for leaf in leaves)
        assert kept == pytest.approx(sum(without[leaf] for leaf in leaves), rel=1e-9, abs=1e-9 * (1 + total))


@given(tree=trees(COUNTS), total=st.floats(0, 1e3), times=st.integers(1, 50))
def test_the_fit_has_no_unit(tree, total, times):
    def scaled(node):
        return tuple(map(scaled, node)) if isinstance(node, tuple) else times * node

    found = fitted(tree, total, 3)

    assert fitted(scaled(tree), times * total, 3 * times) == pytest.approx(
        {path: times * mass for path, mass in found.items()}, abs=1e-6
    )
