"""The combining rule of replicates, where its premises hold exactly."""

import numpy as np
import pytest
from scipy.stats import binom, t

from lapwing.errors import ParameterError
from lapwing.maths.bootstrap_interval import combine_estimates

FALSE_ALARMS = 1e-9


def test_the_interval_is_centred_on_twice_the_estimate_less_the_mean_of_the_replicates():
    at_model, simulated = np.array([3.0, 5.0, 4.0, 4.0, 4.0]), np.array([5.0, 6.0, 4.0, 6.0, 7.0])

    found = combine_estimates(at_model, simulated, 0.9)

    error = np.sqrt(1.2 * np.var(simulated, ddof=1))
    assert found.estimate == pytest.approx(4 - 1.6)
    assert found.standard_error == pytest.approx(error)
    assert (found.upper - found.lower) / 2 == pytest.approx(t.ppf(0.95, 4) * error)
    assert found.confidence == 0.9


@pytest.mark.parametrize("drawing", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("replicates", [4, 20])
def test_it_covers_where_errors_are_normal_however_large_bias_and_drawing_are(drawing, replicates):
    rng = np.random.default_rng(1)
    runs, truth, bias = 5000, 10.0, 3.0
    model = truth + bias + rng.normal(size=(runs, 1))
    at_model = model + np.sqrt(drawing) * rng.normal(size=(runs, replicates))
    simulated = model + bias + np.sqrt(1 + drawing) * rng.normal(size=(runs, replicates))

    found = [combine_estimates(*each, 0.9) for each in zip(at_model, simulated, strict=True)]
    covered = sum(each.lower <= truth <= each.upper for each in found)
    shorter = sum(abs(each.estimate - truth) <= 0.8 * (each.upper - each.estimate) for each in found)

    assert covered >= binom.ppf(FALSE_ALARMS, runs, 0.9)
    if drawing == 0:
        # Exact then: the test would notice intervals that are a fifth too short, or too long.
        assert covered <= binom.isf(FALSE_ALARMS, runs, 0.9)
        assert shorter < binom.ppf(FALSE_ALARMS, runs, 0.9)


@pytest.mark.parametrize(
    ("at_model", "simulated", "confidence", "message"),
    [
        ([1.0] * 3, [1.0] * 3, 0.9, "an interval needs at least 4 estimates of either kind, got 3"),
        ([1.0] * 4, [1.0] * 5, 0.9, "an interval needs at least 4 estimates of either kind, got 5"),
        ([1.0] * 4, [1.0] * 4, 1.0, "confidence must be above 0 and below 1, got 1.0; 0.95 is usual"),
        (
            [1.0, np.nan, 1.0, 1.0],
            [1.0, np.inf, 1.0, 1.0],
            0.9,
            "the estimate is no finite number on 2 of 8 samples; estimate something that every sample has, or draw "
            "more rows",
        ),
    ],
)
def test_what_cannot_be_combined_is_refused(at_model, simulated, confidence, message):
    with pytest.raises(ParameterError) as refused:
        combine_estimates(np.array(at_model), np.array(simulated), confidence)

    assert str(refused.value) == message
