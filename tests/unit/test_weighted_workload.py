"""Adaptive's workload with weights: how much more is spent on what matters more."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.pmm_runs import run
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.mechanisms.registry import make_mechanism, settings_of

NAMES = [f"x{place}" for place in range(5)]
SCHEMA = lw.Schema.load({"fields": [{"name": name, "type": "boolean"} for name in NAMES]})


def table(rows):
    rng = np.random.default_rng(3)
    return pl.DataFrame({name: rng.random(rows) < 0.3 for name in NAMES})


def spent(workload, rows, **settings):
    """Return what each table of several columns cost."""
    asked = lw.Adaptive(particles=400, resolutions=(2,), workload=workload, **settings)
    _, answers = run(asked, table(rows), SCHEMA, budget=Budget.zcdp("0.2"))
    questions = [each.question for each in answers if not isinstance(each, Selection)]
    return {each.columns: each.cost.amount for each in questions if len(each.columns) > 1}


def test_where_all_pairs_are_asked_for_at_once_costs_are_as_the_weights():
    found = spent({"x0": 2, ("x1", "x2"): 7, ("x3", "x4"): 1}, 20_000, rounds=1)

    unit = found["x3", "x4"]
    # The last table gets what rounding left.
    assert {columns: round(float(cost / unit), 3) for columns, cost in found.items()} == {
        **dict.fromkeys([("x0", name) for name in NAMES[1:]], 2),
        **dict.fromkeys([("x1", "x3"), ("x1", "x4"), ("x2", "x3"), ("x2", "x4"), ("x3", "x4")], 1),
        ("x1", "x2"): 7,
    }


@pytest.mark.parametrize(("weight", "turns"), [(2, 2), (100, 3)])
def test_where_tables_are_chosen_the_weight_says_how_many_turns_are_its_own(weight, turns):
    """There are four pairs with x0, and four are chosen."""
    found = list(spent({"x0": weight}, 200, rounds=1))[:4]

    assert len(found) == 4
    assert sum("x0" in columns for columns in found) >= turns


def test_no_weight_is_four_and_weights_come_back_from_a_file():
    mechanism = lw.Adaptive(workload={"x0": 4, ("x1", "x2"): 3})

    assert mechanism.workload == lw.Adaptive(workload=("x0", (("x1", "x2"), 3))).workload
    assert settings_of(mechanism)["workload"] == ["x0", [["x1", "x2"], 3]]
    assert make_mechanism("adaptive", settings_of(mechanism)) == mechanism
    assert make_mechanism("adaptive", {"workload": '["x0", [["x1", "x2"], 3]]'}) == mechanism


@pytest.mark.parametrize("weight", [0, -1, 101, 1.5, True, None, Fraction(3)])
def test_a_weight_is_a_whole_number_from_1_to_100(weight):
    with pytest.raises(ParameterError, match="weight of 'x0' in workload must be a whole number from 1 to 100"):
        lw.Adaptive(workload={"x0": weight})
