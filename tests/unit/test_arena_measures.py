"""The arena's measures of tables whose figures are known."""

import numpy as np
import polars as pl
import pytest

from helpers.arena import measures

MIXED = {
    "fields": [
        {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120, "required": True}},
        {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(50)]},
        {"name": "ill", "type": "boolean", "constraints": {"required": True}},
    ],
    "target": "ill",
    "rules": [{"when": {"age": {"maximum": 17}}, "then": {"ill": False}}],
}
DISTANCES = [f"tv{ways}_{cells}" for ways in (1, 2, 3) for cells in ("wide", "narrow", "native")]


def mixed(rows, seed):
    rng = np.random.default_rng(seed)
    x, age = rng.random(rows), rng.integers(18, 100, rows)
    ill = (x + age / 100 + rng.normal(0, 0.2, rows)) > 1
    place = pl.Series([f"p{number}" for number in rng.integers(50, size=rows)])
    return pl.DataFrame({"x": x, "age": age, "place": place, "ill": ill})


def test_a_copy_of_the_train_rows_has_no_error_and_is_found_out():
    train, held = mixed(800, 1), mixed(400, 2)

    found = measures.measured(train, held, train, MIXED)

    zero = [*DISTANCES, "mean_error", "sd_error", "pearson_error", "auc_trees_gap", "auc_linear_gap"]
    assert {name: found[name] for name in zero} == dict.fromkeys(zero, 0.0)
    assert found["nist_k3"] == 1000
    assert found["audit_advantage"] == 1
    assert found["broken_rules"] == found["misfits"] == 0
    assert min(found["auc_trees"], found["auc_linear"]) > 0.8


def test_fresh_rows_of_the_same_law_are_not_found_out():
    """All pass the chance level once in twenty at most; with these seeds they do not."""
    train, held = mixed(800, 1), mixed(400, 2)

    found = measures.measured(train, held, mixed(800, 3), MIXED)

    assert found["audit_advantage"] < found["audit_chance"] == pytest.approx(np.sqrt(np.log(20) / 2 * 1200 / 320_000))
    assert 0 < found["tv1_wide"] < found["tv2_wide"] < found["tv3_wide"] < 1
    assert found["tv2_wide"] < found["tv2_narrow"]


def test_a_target_of_one_class_in_the_rows_out_teaches_nothing():
    train, held = mixed(400, 1), mixed(400, 2)

    found = measures.measured(train, held, train.with_columns(ill=pl.lit(True)), MIXED)

    assert found["auc_trees"] == found["auc_linear"] == 0.5
    assert found["auc_trees_gap"] > 0.2


def test_no_rows_out_are_refused():
    train = mixed(40, 1)

    with pytest.raises(ValueError, match="there are no synthetic rows"):
        measures.measured(train, train, train.head(0), MIXED)
