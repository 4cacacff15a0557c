"""The law of draws by whole weights, at false-alarm rate 1e-9; the same test rejects weights wrong by a fifth."""

import numpy as np
import pytest

from helpers.bits import CountingBits, ScriptedBits
from helpers.noise_laws import FALSE_ALARM, chi_square
from lapwing.errors import ParameterError
from lapwing.noise.bits import SystemBits
from lapwing.noise.weighted import LARGEST_TOTAL, weighted_draws

DRAWS = 50_000
LAWS = [[1, 2, 3, 4], [7], [0, 5, 0, 1], [2**60, 2**60, 2**59 + 1], list(range(1, 300))]


@pytest.mark.parametrize("weights", LAWS, ids=len)
def test_draws_follow_their_weights(weights):
    drawn = weighted_draws(np.array(weights), DRAWS, SystemBits())

    observed = np.bincount(drawn, minlength=len(weights))
    assert drawn.size == DRAWS
    assert observed[np.array(weights) == 0].sum() == 0
    kept = np.flatnonzero(weights)
    if kept.size > 1:
        shares = np.array(weights, dtype=float)[kept] / sum(weights)
        assert chi_square(observed[kept], shares) > FALSE_ALARM


@pytest.mark.parametrize("weights", LAWS[::4], ids=len)
def test_a_weight_wrong_by_a_fifth_is_noticed(weights):
    wrong = np.array(weights) * 5
    wrong[-1] = wrong[-1] * 6 // 5
    wrong[: wrong.size // 2] = wrong[: wrong.size // 2] * 6 // 5

    observed = np.bincount(weighted_draws(wrong, DRAWS, SystemBits()), minlength=len(weights))

    assert chi_square(observed, np.array(weights) / sum(weights)) < FALSE_ALARM


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
