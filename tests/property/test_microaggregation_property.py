"""Partitions of any points: no group is too small, blocks are of equal size, and little is pooled."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.anonymous.covariance_loss import equipartition
from lapwing.anonymous.microaggregation import improve_partition, information_loss, mdav, practical_partition
from lapwing.errors import ParameterError

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

    labels = improve_partition(x, start, size)

    assert_groups(labels, size)
    assert information_loss(x, labels) <= information_loss(x, start) + 100 * ROUNDING


LABELS = st.lists(st.integers(0, 9), min_size=1, max_size=60)


def cells_of_each_block(labels, found):
    return [set(labels[found == block]) for block in range(found.max() + 1)]


@given(labels=LABELS, data=st.data())
def test_sizes_differ_by_at_most_one_and_every_block_is_there(labels, data) -> None:
    blocks = data.draw(st.integers(1, len(labels)))

    found = equipartition(np.array(labels), blocks)

    sizes = np.bincount(found, minlength=blocks)
    assert sizes.size == blocks
    assert sizes.min() == len(labels) // blocks
    assert sizes.max() == -(-len(labels) // blocks)


@given(labels=LABELS, data=st.data())
def test_at_most_one_block_size_of_each_cell_is_pooled(labels, data) -> None:
    labels = np.array(labels)
    blocks = data.draw(st.integers(1, labels.size))

    found = equipartition(labels, blocks)

    pooled = [block for block, cells in enumerate(cells_of_each_block(labels, found)) if len(cells) > 1]
    most = labels.size // blocks
    for cell in np.unique(labels):
        assert np.isin(found[labels == cell], pooled).sum() <= most
    # Section 3.6: the pooled share is at most cells / blocks.
    assert np.isin(found, pooled).sum() * blocks <= np.unique(labels).size * labels.size


@given(labels=LABELS, data=st.data())
def test_the_names_of_the_cells_do_not_matter_only_their_order(labels, data) -> None:
    labels = np.array(labels)
    blocks = data.draw(st.integers(1, labels.size))

    found = equipartition(labels, blocks)

    np.testing.assert_array_equal(found, equipartition(labels * 1000 - 7, blocks))


@pytest.mark.parametrize("blocks", [0, 4])
def test_more_blocks_than_records_are_refused(blocks: int) -> None:
    with pytest.raises(ParameterError, match=f"blocks must be between 1 and the number of records, got {blocks}"):
        equipartition(np.array([0, 1, 1]), blocks)
