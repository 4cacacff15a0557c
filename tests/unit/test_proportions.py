import math

import numpy as np
import pytest
from scipy.stats import binomtest

from lapwing.errors import ParameterError
from lapwing.judge.metrics import excess, wilson


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 40), (3, 40), (20, 40), (40, 40), (999, 1000)])
def test_wilson_intervals_are_those_of_scipy(successes, trials, confidence):
    found = wilson(successes, trials, confidence=confidence)

    theirs = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert found.rate == successes / trials
    # Both are a few roundings of numbers below 1.
    assert found.lower == pytest.approx(theirs.low, abs=1e-12)
    assert found.upper == pytest.approx(theirs.high, abs=1e-12)


@pytest.mark.parametrize(("successes", "trials"), [(2.5, 10), (1, 7.3), (7, 9)])
def test_both_ends_solve_wilsons_equation(successes, trials):
    found = wilson(successes, trials)

    for end in found.interval:
        # 1.959964 is the 97.5 % quantile of the normal law; rounding it costs 1e-7.
        assert abs(found.rate - end) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / trials), rel=1e-6)


@pytest.mark.parametrize(("successes", "trials"), [(1, 0), (-1, 5), (6, 5), (math.nan, 5), (1, math.nan)])
def test_impossible_counts_are_refused(successes, trials):
    with pytest.raises(ParameterError, match="successes must be from 0 to trials"):
        wilson(successes, trials)


@pytest.mark.parametrize("confidence", [0, 1, 1.5])
def test_impossible_confidence_is_refused(confidence):
    with pytest.raises(ParameterError, match="confidence must be"):
        wilson(1, 2, confidence=confidence)


def test_equal_rates_leave_nothing_beyond_the_control():
    value, (lower, upper) = excess(wilson(30, 100), wilson(300, 1000))

    assert value == pytest.approx(0, abs=1e-15)
    assert lower < 0 < upper


def test_an_attack_that_always_succeeds_takes_all_that_was_left():
    value, (lower, upper) = excess(wilson(50, 50), wilson(20, 50))

    assert (value, upper) == (1, 1)
    assert 0.8 < lower < 1


def test_a_worse_attack_is_below_zero():
    assert excess(wilson(10, 100), wilson(60, 100))[1][1] < 0


def test_where_every_control_succeeds_nothing_was_left():
    assert excess(wilson(5, 5), wilson(5, 5)) is None


@pytest.mark.parametrize("trials", [1, 2, 7])
def test_the_interval_holds_the_value_for_all_small_counts(trials):
    for successes in range(trials + 1):
        for controls in range(trials):
            value, (lower, upper) = excess(wilson(successes, trials), wilson(controls, trials))

            assert lower <= value + 1e-12
            assert value <= upper + 1e-12
            assert upper <= 1


@pytest.mark.parametrize(("attack", "control"), [(0.3, 0.3), (0.95, 0.9), (0.5, 0.2), (0.04, 0.02)])
def test_intervals_cover_the_truth_as_often_as_they_say(attack, control):
    rng = np.random.default_rng([7, int(100 * attack)])
    truth = (attack - control) / (1 - control)

    pairs = zip(rng.binomial(500, attack, 2000), rng.binomial(500, control, 2000), strict=True)
    found = [excess(wilson(int(a), 500), wilson(int(b), 500))[1] for a, b in pairs]

    # Standard deviation of a share of 2000 at 0.95: 0.005. Four of them, and half a percent for the approximation.
    assert abs(np.mean([lower <= truth <= upper for lower, upper in found]) - 0.95) < 0.025
