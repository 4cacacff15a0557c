"""At a glance: where a figure lies between its references, and words that claim no more."""

import math

import numpy as np
import pytest

from helpers.findings import compared, findings, schema_of
from lapwing.extras.evaluate.metrics.findings import PREDICTION
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.metrics.metric import bootstrap_rows, independent_columns
from lapwing.extras.evaluate.metrics.prediction.downstream import Downstream
from lapwing.extras.evaluate.metrics.standing import standing
from lapwing.extras.evaluate.words import say

FLAGS = schema_of(*({"name": name, "type": "boolean"} for name in "abc"))


def flags(seed, rows=4000, noise=0.1):
    """Return rows in which b and c mostly repeat a."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, rows)
    return {name: np.where(rng.random(rows) < noise, rng.integers(0, 2, rows), first) for name in "abc"}


@pytest.mark.parametrize(
    ("figures", "settings", "place", "verdict"),
    [
        ((0.01, 0.1, 1.1), {}, -0.1, "closer"),
        ((0.1, 0.1, 1.1), {}, 0.0, "fresh"),
        ((0.14, 0.1, 1.1), {}, 0.04, "fresh"),
        ((0.16, 0.1, 1.1), {}, 0.06, "most"),
        ((0.43, 0.1, 1.1), {}, 0.33, "most"),
        ((0.44, 0.1, 1.1), {}, 0.34, "part"),
        ((0.99, 0.1, 1.1), {}, 0.89, "part"),
        ((1.05, 0.1, 1.1), {}, 0.95, "none"),
        ((1.19, 0.1, 1.1), {}, 1.09, "none"),
        ((1.25, 0.1, 1.1), {}, 1.15, "worse"),
        # A score that is best at 1000 is placed like a distance.
        ((850, 950, 550), {"best": 1000}, 0.25, "most"),
        # An estimate is judged by its less favourable end, and is worse only beyond its error.
        ((0.3, 0.1, 1.1), {"errors": (0.1, 0, 0)}, 0.2, "part"),
        ((1.3, 0.1, 1.1), {"errors": (0.1, 0, 0)}, 1.2, "none"),
        ((1.3, 0.1, 1.1), {"errors": (0.01, 0, 0)}, 1.2, "worse"),
        # A prediction is judged by its place alone: 0.9 loses less than 1.5 times what 0.93 does.
        ((0.9, 0.93, 0.5), {"best": 1.0, "key": PREDICTION}, 0.07, "most"),
    ],
)
def test_the_verdict_follows_the_place_by_the_stated_thresholds(figures, settings, place, verdict):
    found = standing(compared(*figures, **settings))

    assert found.place == pytest.approx(place, abs=0.011)
    assert (found.verdict, found.words) == (verdict, say(f"standing.{verdict}"))


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ((0.04, 0.1, 0.0), "closer than a resample"),
        ((0.1, 0.1, 0.0), "as close as a resample"),
        ((0.15, 0.1, 0.0), "as close as a resample"),
        ((0.3, 0.1, 0.0), "3 times as far as a resample"),
        ((2.0, 0.1, 0.0), "20 times as far as a resample"),
        ((0.0, 0.0, 0.0), "as close as a resample"),
        ((1e-17, 7e-17, 0.0), "as close as a resample"),
        ((0.1, 0.0, 0.0), "much farther than a resample"),
        ((0.25, 0.1, 0.2), "too few rows to distinguish from a resample, and no closer than independent columns"),
        ((0.15, 0.1, 0.2), "as close as a resample"),
    ],
)
def test_without_a_place_a_figure_is_judged_beside_a_resample_alone(figures, words):
    found = standing(compared(*figures))

    assert (found.place, found.words) == (None, words)


@pytest.mark.parametrize("times", [math.sqrt(2), 1.9, math.e - 0.01])
def test_rows_of_new_people_are_never_called_far_from_the_real_ones(times):
    verdicts = {standing(compared(0.1 * times, 0.1, 0.1 * lazy)).verdict for lazy in (times + 0.01, 2.9)}

    assert verdicts <= {"fresh", "sparse"}


@pytest.mark.parametrize(
    ("ceiling", "words"), [(0.9, "50 % of what real rows teach is lost"), (0.52, "too little to lose")]
)
def test_a_prediction_says_what_is_lost_where_there_is_something_to_lose(ceiling, words):
    rows = flags(1)
    area = Downstream(target="a", auc=0.7, ceiling=ceiling)

    found = glance(findings(FLAGS, rows, flags(2), downstream=area))

    assert any(words in detail for detail in found.details)
    assert any(each.metric.key == PREDICTION for each in found.standings) == (ceiling == 0.9)


def test_a_fresh_sample_is_called_one_and_shuffled_columns_no_better_than_such():
    rng = np.random.default_rng(3)
    rows = flags(1)

    fresh, lazy = (glance(findings(FLAGS, rows, each(rows, rng))) for each in (bootstrap_rows, independent_columns))

    assert fresh.headline.endswith("still strong; nine in ten are off by 0.01 at most.")
    assert "Single columns good" in lazy.headline
    assert "Relations weak: 0 of 3 strong ones are still strong" in lazy.headline
    assert any(each.startswith("Least favourable of them") for each in lazy.details)
    assert {each.verdict for each in lazy.standings if each.place is not None} == {"none"}
