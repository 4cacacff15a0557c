import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.judge.moments import marginal_errors, marginal_moments


def bits(rows, columns, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (rows, columns), dtype=np.uint8)


def test_a_table_has_error_0_to_itself_in_another_order_and_twice():
    table = bits(20_000, 7)
    order = np.random.default_rng(1).permutation(20_000)

    errors = marginal_errors(table, np.tile(table[order], (2, 1)))

    assert errors == (0.0, 0.0, 0.0)


def test_weights_count_a_row_as_often_as_repeating_it():
    table, times = bits(50, 5), np.random.default_rng(2).integers(0, 4, 50)

    weighted = marginal_moments(table, weights=times)
    repeated = marginal_moments(np.repeat(table, times, axis=0))

    for one, other in zip(weighted, repeated, strict=True):
        assert one == pytest.approx(other, abs=1e-14)  # sums of 50 numbers below 1


def test_long_draws_from_a_mixture_come_near_it():
    rng = np.random.default_rng(3)
    weights, model = np.array([0.2, 0.3, 0.5]), rng.random((3, 6))
    drawn = rng.random((200_000, 6)) < model[rng.choice(3, 200_000, p=weights)]

    errors = marginal_errors(drawn, model, other_weights=weights)

    assert max(errors) < 0.005  # a share of 200,000 rows has a standard error below .0012


def test_flipping_a_column_changes_the_marginals_that_hold_it_only():
    table = bits(100, 4)
    flipped = table.copy()
    flipped[:, 3] ^= 1

    before, after = marginal_moments(table, ways=(2,))[0], marginal_moments(flipped, ways=(2,))[0]

    changed = [(0, 3), (1, 3), (2, 3)]
    sets = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert [pair for pair, a, b in zip(sets, before, after, strict=True) if a != b] == changed


def test_the_arrays_are_not_changed():
    table, weights = bits(10, 3).astype(float), np.ones(10)
    before = table.copy()

    marginal_moments(table, weights=weights)

    assert (table == before).all()
    assert (weights == 1).all()


@pytest.mark.parametrize("value", [2, -1, np.nan, np.inf])
def test_what_is_neither_a_code_nor_a_probability_is_refused_without_quoting_it(value):
    table = bits(10, 3).astype(float)
    table[4, 1] = value

    with pytest.raises(ParameterError, match=r"^rows must be codes 0 and 1 or probabilities; code missing values or"):
        marginal_moments(table)


def test_bad_settings_are_refused():
    table = bits(10, 2)

    with pytest.raises(ParameterError, match="ways must be 1, 2 or 3 and at most the 2 columns, got 3"):
        marginal_moments(table)
    for ways in ([0], [4], [True], [1.5], ["1"]):
        with pytest.raises(ParameterError, match="ways must be 1, 2 or 3 and at most the 2 columns, got"):
            marginal_moments(table, ways=ways)
    with pytest.raises(ParameterError, match="both tables need the same columns, got 2 and 3 columns"):
        marginal_errors(table, bits(10, 3), ways=(1,))
    with pytest.raises(ParameterError, match="others must be a non-empty array of numbers with 2 axes, got uint8"):
        marginal_errors(table, table[:0], ways=(1,))
    with pytest.raises(ParameterError, match="rows must be a non-empty array of numbers with 2 axes, got <U1 with 1"):
        marginal_moments(["a"])
    with pytest.raises(ParameterError, match="weights must be one for each point"):
        marginal_moments(table, ways=(1,), weights=[1.0])
