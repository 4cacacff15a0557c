"""Algorithm 1, steps 1-6: blocks of equal size from net cells."""

import itertools
import math

import numpy as np
import pytest

from lapwing.anonymous.covariance_loss import equipartition, theorem_partition
from lapwing.errors import ParameterError
from lapwing.maths.lattice_net import anonymous_net


def unit_rows(rng, rows, columns):
    x = rng.normal(size=(rows, columns)) * np.linspace(3, 1, columns)
    return x / np.linalg.norm(x, axis=1, keepdims=True) * rng.random((rows, 1))


def partition_by_definition(x, blocks):
    """Return the paper's partition with the net enumerated, in floating point."""
    choice = anonymous_net(math.isqrt(blocks), x.shape[1])
    t, alpha = choice.dimensions, choice.alpha
    leading = np.linalg.eigh(x.T @ x / len(x))[1][:, ::-1][:, :t]
    side = np.arange(-math.isqrt(math.floor(t / alpha**2)), math.isqrt(math.floor(t / alpha**2)) + 1)
    net = [k for k in itertools.product(side, repeat=t) if sum(each**2 for each in k) <= t / alpha**2]
    distances = ((x @ leading)[:, None, :] - alpha / math.sqrt(t) * np.array(net)) ** 2
    return equipartition(distances.sum(axis=2).argmin(axis=1), blocks)


@pytest.mark.parametrize("blocks", [100, 2500, 10_000, 14_999])
def test_blocks_are_those_of_the_definition(blocks: int) -> None:
    x = unit_rows(np.random.default_rng(blocks), 15_000, 6)

    found = theorem_partition(x, blocks)

    np.testing.assert_array_equal(found, partition_by_definition(x, blocks))


@pytest.mark.parametrize("blocks", [1, 2, 7, 99, 100, 101, 333, 999, 1000])
def test_no_block_is_below_its_share(blocks: int) -> None:
    x = unit_rows(np.random.default_rng(blocks), 1000, 3)

    found = theorem_partition(x, blocks)

    sizes = np.bincount(found)
    assert sizes.size == blocks
    assert set(sizes.tolist()) <= {1000 // blocks, -(-1000 // blocks)}


def test_rows_beyond_the_unit_ball_are_refused() -> None:
    with pytest.raises(ParameterError, match="must have a norm of at most 1; scale them first"):
        theorem_partition(np.array([[1.0, 0.01]]), 1)
