"""Partitions of any points: the least size holds, labels have no gap, errors never rise, whatever the start."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.anonymous.microaggregation import improved, information_loss, mdav, practical_partition

# Relative to the sum of squares: what adding squares in another order may change.
ROUNDING = 1e-9


@st.composite
def tables(draw):
    """Draw points, many of them equal or on a line, and a size from 1 to their number."""
    rows, columns = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([1, 2, 5, 1000]))
    x = rng.integers(levels, size=(rows, columns)) * 10.0 ** draw(st.integers(-8, 8))
    if draw(st.booleans()):
        x[0] += 1e3 * (1 + np.abs(x).max())
    return x, draw(st.integers(1, rows)), rng


def assert_groups(labels, size):
    """Check that every label occurs and that no group is smaller than the size or could be cut in two."""
    counts = np.bincount(labels)
    assert counts.min() >= size
    assert counts.max() < 2 * size


@settings(max_examples=30)
@given(tables())
def test_every_partition_keeps_the_size(drawn):
    x, size, _ = drawn

    assert_groups(mdav(x, size), size)
    assert_groups(practical_partition(x, size), size)


@settings(max_examples=30)
@given(tables())
def test_improvement_never_raises_the_loss_and_keeps_the_size(drawn):
    x, size, rng = drawn
    groups = int(rng.integers(1, len(x) // size + 1))
    start = rng.permutation(
        np.concatenate((np.repeat(np.arange(groups), size), rng.integers(groups, size=len(x) - groups * size)))
    )

    labels = improved(x, start, size)

    assert_groups(labels, size)
    assert information_loss(x, labels) <= information_loss(x, start) + 100 * ROUNDING
