"""Draws by whole weights: which word gives which index. Their law: `tests/statistical/test_exact_laws.py`."""

import numpy as np
import pytest

from helpers.bits import CountingBits, ScriptedBits
from lapwing.errors import ParameterError
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.weighted import LARGEST_TOTAL, weighted_draws


def test_every_offset_belongs_to_its_own_weight():
    weights = np.array([2, 0, 3, 1])

    drawn = weighted_draws(weights, 6, ScriptedBits(list(range(6))))

    assert drawn.tolist() == [0, 0, 2, 2, 2, 3]


def test_a_word_of_the_incomplete_round_is_replaced_and_not_folded():
    weights = np.array([2**61, 2**60])  # 2^64 is 5 rounds and a third

    drawn = weighted_draws(weights, 2, ScriptedBits([2**64 - 1, 5, 15 * 2**60 - 1]))

    assert drawn.tolist() == [0, 1]


def test_a_draw_takes_one_word_where_none_is_left_out():
    bits = CountingBits(SystemBits())

    weighted_draws(np.array([3, 1]), 1000, bits)

    assert bits.count == 1000


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.array([1.0]), "weights must be a one-dimensional array of int64, none below 0; convert them"),
        (np.array([[1]]), "weights must be a one-dimensional array of int64, none below 0; convert them"),
        (np.array([], dtype=np.int64), "weights must be a one-dimensional array of int64, none below 0; convert them"),
        (np.array([2, -1]), "weights must be a one-dimensional array of int64, none below 0; convert them"),
        (np.array([0, 0]), r"weights must sum to a number from 1 to 2\*\*62; scale them"),
        (np.array([LARGEST_TOTAL, 1]), r"weights must sum to a number from 1 to 2\*\*62; scale them"),
        (np.array([2**62, 2**62, 2**62, 2**62]), r"weights must sum to a number from 1 to 2\*\*62; scale them"),
    ],
)
def test_weights_out_of_range_are_refused(weights, message):
    with pytest.raises(ParameterError, match=message):
        weighted_draws(weights, 1, SystemBits())


def test_a_negative_number_of_draws_is_refused():
    with pytest.raises(ParameterError, match="size must be at least 0, got -1"):
        weighted_draws(np.array([1]), -1, SystemBits())
