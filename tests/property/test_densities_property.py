"""Every program, degenerate ones too, has a valid density with a gap that holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from helpers.even_densities import max_entropy_density, minimax_density
from lapwing.mechanisms.vectors.linear_statistics.densities import effective_points, least_error

# Values of statistics are multiples of 2^-16 in [-1, 1]; targets are integers over a number of rows.
VALUES = st.sampled_from([0.0, 0.0, 1.0, 1.0, -1.0, 0.5, 2.0**-16])
TARGETS = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-3, 3), st.floats(-1e6, 1e6))


@st.composite
def programs(draw):
    """Return a matrix and targets: one statistic or many, one point, equal rows and columns, far targets."""
    shape = draw(st.tuples(st.integers(1, 8), st.integers(1, 6)))
    return draw(arrays(np.float64, shape, elements=VALUES)), draw(arrays(np.float64, shape[0], elements=TARGETS))


def densities(matrix, targets, noise=0.1):
    """Return the answers of all solvers."""
    sparse = csr_array(matrix)
    return [minimax_density(sparse, targets), max_entropy_density(sparse, targets, noise)]


@settings(max_examples=60)
@given(programs())
def test_every_answer_is_a_density_with_its_error_and_a_gap_that_holds_for_the_others(program):
    matrix, targets = program

    found = densities(matrix, targets)

    size = max(1.0, np.abs(targets).max())
    for density in found:
        assert density.weights.shape == (matrix.shape[1],)
        assert (density.weights >= 0).all()
        assert density.weights.sum() == pytest.approx(1, abs=1e-12)
        assert density.error == pytest.approx(np.abs(matrix @ density.weights - targets).max(), rel=1e-12)
        assert 0 <= density.gap <= density.error
        assert 1 - 1e-9 <= effective_points(density.weights) <= matrix.shape[1] + 1e-9
        # No density is better than any solver's proved bound.
        assert all(density.error - density.gap <= other.error + 1e-12 * size for other in found)


@settings(max_examples=100)
@given(programs(), st.data())
def test_any_multipliers_give_a_bound_below_the_error_of_any_density(program, data):
    matrix, targets = program
    y = data.draw(arrays(np.float64, len(targets), elements=st.floats(-10, 10)))
    raw = data.draw(arrays(np.float64, matrix.shape[1], elements=st.floats(0.01, 1)))

    bound = least_error(csr_array(matrix), targets, y)

    assert bound <= np.abs(matrix @ (raw / raw.sum()) - targets).max()


@settings(max_examples=40)
@given(st.integers(1, 8), st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_one_point_takes_all_the_weight_whatever_the_noise(statistics, target, noise):
    matrix, targets = csr_array(np.ones((statistics, 1))), np.full(statistics, target)

    found = [minimax_density(matrix, targets), max_entropy_density(matrix, targets, noise)]

    for density in found:
        assert density.weights.tolist() == [1.0]
        assert density.error == pytest.approx(abs(1 - target))
        assert effective_points(density.weights) == 1.0


@settings(max_examples=30)
@given(st.floats(0.01, 100), st.integers(1, 5))
def test_statistics_that_contradict_each_other_are_met_half_way(distance, copies):
    # The same statistic, answered 0.5 - distance and 0.5 + distance.
    matrix = csr_array(np.tile([0.0, 1.0, 1.0, 0.0], (2 * copies, 1)))
    targets = np.repeat([0.5 - distance, 0.5 + distance], copies)

    best, even = minimax_density(matrix, targets), max_entropy_density(matrix, targets, 0.1)

    assert best.error == pytest.approx(distance, rel=1e-5)
    assert best.gap <= 1e-5 * distance
    assert even.weights == pytest.approx([0.25] * 4, abs=1e-6)
