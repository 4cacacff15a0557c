"""Blocks of equal size from any cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.anonymous.covariance_loss import equipartition
from lapwing.errors import ParameterError

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
