"""At a glance: where a figure lies between its references, and words that claim no more."""

import math

import numpy as np
import pytest

from helpers.findings import compared, findings, schema_of
from lapwing.judge.findings import PREDICTION
from lapwing.judge.glance import WORDS, glance, glance_table, standing
from lapwing.judge.metrics import bootstrap_rows, independent_columns
from lapwing.judge.prediction.downstream import Downstream

FLAGS = schema_of(*({"name": name, "type": "boolean"} for name in "abc"))


def flags(seed, rows=4000, noise=0.1):
    """Return rows in which b and c mostly repeat a."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, rows)
    return {name: np.where(rng.random(rows) < noise, rng.integers(0, 2, rows), first) for name in "abc"}


@pytest.mark.parametrize(
    ("synthetic", "place", "verdict"),
    [
        (0.01, -0.1, "closer"),
        (0.1, 0.0, "fresh"),
        (0.14, 0.04, "fresh"),
        (0.16, 0.06, "most"),
        (0.43, 0.33, "most"),
        (0.44, 0.34, "part"),
        (0.99, 0.89, "part"),
        (1.05, 0.95, "none"),
        (1.19, 1.09, "none"),
        (1.25, 1.15, "worse"),
    ],
)
def test_the_verdict_follows_the_place_by_the_stated_thresholds(synthetic, place, verdict):
    found = standing(compared(synthetic, 0.1, 1.1))

    assert found.place == pytest.approx(place, abs=0.011)
    assert (found.verdict, found.words) == (verdict, WORDS[verdict])


def test_a_score_that_is_best_at_1000_is_placed_like_a_distance():
    found = standing(compared(850, 950, 550, best=1000))

    assert (found.place, found.verdict, found.times) == (0.25, "most", 3)


def test_an_estimate_is_judged_by_its_less_favourable_end():
    exact, unsure = (standing(compared(0.3, 0.1, 1.1, errors=(error, 0, 0))) for error in (0.0, 0.1))

    assert (exact.verdict, unsure.verdict) == ("most", "part")
    assert exact.place == unsure.place == pytest.approx(0.2)
    assert unsure.place_error == pytest.approx(0.1)


def test_an_uncertain_figure_is_not_called_worse_than_independent_columns():
    assert standing(compared(1.3, 0.1, 1.1, errors=(0.1, 0, 0))).verdict == "none"
    assert standing(compared(1.3, 0.1, 1.1, errors=(0.01, 0, 0))).verdict == "worse"


@pytest.mark.parametrize(
    ("synthetic", "words"),
    [
        (0.04, "closer than a resample"),
        (0.1, "as close as a resample"),
        (0.15, "as close as a resample"),
        (0.3, "3 times as far as a resample"),
        (2.0, "20 times as far as a resample"),
    ],
)
def test_a_figure_that_sees_no_dependence_is_judged_beside_a_fresh_sample_alone(synthetic, words):
    found = standing(compared(synthetic, 0.1, 0.0))

    assert (found.place, found.words) == (None, words)


def test_noise_between_the_references_gives_no_place():
    assert standing(compared(0.3, 0.1, 0.8)).place is not None
    assert standing(compared(0.3, 0.1, 0.8, errors=(0, 0.3, 0.3))).place is None


@pytest.mark.parametrize("times", [math.sqrt(2), 1.9, math.e - 0.01])
def test_rows_of_new_people_are_never_called_far_from_the_real_ones(times):
    verdicts = {standing(compared(0.1 * times, 0.1, 0.1 * lazy)).verdict for lazy in (times + 0.01, 2.9)}

    assert verdicts <= {"fresh", "sparse"}


def test_new_rows_in_sparse_tables_are_too_few_to_tell_and_not_without_dependence():
    rng = np.random.default_rng(5)
    schema = schema_of(
        *({"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 255}} for name in "ab")
    )
    laws = [rng.integers(0, 128, 1200) for _ in range(2)]
    real, new = ({"a": law, "b": np.minimum(law + rng.integers(0, 128, 1200), 255)} for law in laws)

    found = {each.metric.key: each for each in glance(findings(schema, real, new)).standings}

    assert found["total_variation_2"].words == "too few rows to tell from a resample"


def test_equal_tables_are_as_close_as_a_fresh_sample_where_that_is_at_no_distance():
    assert standing(compared(0.0, 0.0, 0.0)).verdict == "fresh"
    assert standing(compared(1e-17, 7e-17, 0.0)).verdict == "fresh"
    assert standing(compared(0.1, 0.0, 0.0)).words == "much farther than a resample"


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_figure_that_is_no_number_is_left_out(wrong):
    assert standing(compared(wrong, 0.1, 1.0)) is None
    assert standing(compared(0.1, 0.1, 1.0, errors=(wrong, 0, 0))).verdict == "fresh"


def test_a_prediction_is_judged_by_its_place_alone():
    # 0.9 loses less than 1.5 times what 0.93 does: not a resample for that.
    found = standing(compared(0.9, 0.93, 0.5, best=1.0, key=PREDICTION))

    assert found.verdict == "most"
    assert found.place == pytest.approx(0.03 / 0.43)


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

    assert fresh.headline.startswith("Pairs of columns are as close to the real ones as a resample")
    assert lazy.headline.startswith("Pairs of columns are no better than independent columns")
    assert {each.verdict for each in lazy.standings if each.place is not None} == {"none"}


def test_the_headline_names_the_least_favourable_figure():
    bad = compared(0.9, 0.1, 1.1, title="a bad figure")

    found = glance(findings(FLAGS, flags(1), flags(1), metrics=[bad]))

    assert 'The least favourable figure, "a bad figure", is at 80 %.' in found.headline


def test_copied_rows_raise_a_caution_and_so_do_notes_and_worse_figures():
    worse = compared(2.0, 0.1, 1.1, title="an awful figure")

    found = glance(findings(FLAGS, flags(1), flags(1), metrics=[worse], notes=("The column x is empty.",)))

    assert any("copied rows" in caution for caution in found.cautions)
    assert "Worse than independent columns: an awful figure." in found.cautions
    assert found.cautions[0] == "The column x is empty."


def test_one_column_has_a_headline_of_its_own():
    schema = schema_of({"name": "a", "type": "boolean"})

    found = glance(findings(schema, {"a": np.array([0, 1])}, {"a": np.array([0, 1])}))

    assert found.headline.startswith("Tables of one column, mean: ")
    assert found.details[0] == "Compared: 2 synthetic rows with 2 real ones, in 1 column."


def test_the_table_has_a_line_for_each_figure_with_its_error_and_place():
    figure = compared(0.3, 0.1, 1.1, errors=(0.01, 0, 0))

    heading, *lines = glance_table(glance(findings(FLAGS, flags(1), flags(2), metrics=[figure])))

    assert len(heading) == 6
    assert ("a figure", "0.3 ± 0.01", "0.1", "1.1", "20 %", "most of the dependence kept") in lines


def test_a_figure_without_place_that_independent_columns_reach_says_so():
    assert (
        standing(compared(0.25, 0.1, 0.2)).words
        == "too few rows to tell from a resample, and no closer than independent columns"
    )
    assert "independent" not in standing(compared(0.15, 0.1, 0.2)).words
    assert "independent" not in standing(compared(0.25, 0.1, 0.0)).words
