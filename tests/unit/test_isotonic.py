"""Isotonic regression in absolute error, and covering negative counts on a line."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms.psmm.mechanism import cover_line, isotonic_l1

SEQUENCES = st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 4)), min_size=1, max_size=6)


def error(result, values, weights):
    return int((weights * np.abs(result - values)).sum())


@given(SEQUENCES)
def test_no_other_sequence_is_nearer(pairs):
    values, weights = (np.array(each, dtype=np.int64) for each in zip(*pairs, strict=True))

    result = isotonic_l1(values, weights)

    others = itertools.combinations_with_replacement(sorted(set(values.tolist())), len(values))
    assert (np.diff(result) >= 0).all()
    assert error(result, values, weights) == min(error(np.array(other), values, weights) for other in others)


def test_the_values_of_the_result_are_values_of_the_sequence():
    values = np.random.default_rng(1).integers(-(10**15), 10**15, 2000)

    result = isotonic_l1(values, np.ones(2000, dtype=np.int64))

    assert result.dtype == np.int64
    assert np.isin(result, values).all()


@pytest.mark.parametrize(
    ("counts", "lengths", "covered"),
    [
        ([7], [], [7]),
        ([-7], [], [-7]),
        ([0, 0], [1], [0, 0]),
        ([3, -1, -1], [1, 1], [1, 0, 0]),
        ([2, -1, 2], [1, 9], [1, 0, 2]),
        ([2, -1, 2], [9, 1], [2, 0, 1]),
        ([-2, 1, -2], [1, 9], [-1, 0, -2]),
        ([1, -1, 1, -1], [1, 5, 1], [0, 0, 0, 0]),
    ],
)
def test_negative_counts_on_a_line_are_covered_from_the_nearest(counts, lengths, covered):
    result = cover_line(np.array(counts, dtype=np.int64), np.array(lengths, dtype=np.int64))

    assert result.tolist() == covered


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=40))
def test_a_covered_line_keeps_its_sum_and_has_one_sign(counts):
    counts = np.array(counts, dtype=np.int64)

    result = cover_line(counts, np.ones(counts.size - 1, dtype=np.int64))

    assert result.sum() == counts.sum()
    assert (result * np.sign(counts.sum()) >= 0).all()
    assert counts.sum() != 0 or not result.any()
