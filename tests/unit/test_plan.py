"""lw.plan: cost lines as released, errors as proved, and nothing that needs a row."""

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.model.certificate.certificate import Statement
from lapwing.model.certificate.cost_lines import PlannedRelease

ROWS = 300
UNIT = {"type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
POINTS = {"fields": [{"name": "x", **UNIT}, {"name": "y", **UNIT}]}
MIXED = {
    "fields": [
        {"name": "id", "type": "integer", "role": "identifier"},
        {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
        {"name": "size", "type": "number", "constraints": {"minimum": -1, "maximum": 1}, "special": [99]},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 30, "required": True}},
    ]
}
OWNED = {**MIXED, "privacyUnit": {"field": "id", "maxRows": 3}}


def table(rows=ROWS, **columns):
    rng = np.random.default_rng(5)
    made = {
        "id": np.arange(rows) // 2,
        "kind": rng.choice(["a", "b", "c"], rows),
        "size": rng.uniform(-1, 1, rows),
        "age": rng.integers(0, 31, rows),
        "x": rng.random(rows),
        "y": rng.random(rows),
    }
    return pl.DataFrame(made | columns)


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.5"}], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_mean_variation_of_independent_columns_stays_below_its_bound(budget, neighbours):
    schema = {"fields": [MIXED["fields"][3]]}
    data = table(rows=200).select("age")
    own = np.bincount(data["age"].to_numpy(), minlength=31) / 200
    settings = {"mechanism": "Independent", "neighbours": neighbours, **budget}

    bound = lw.plan(schema, expected_rows=200, **settings).accuracy[0].value
    found = []
    for seed in range(40):
        drawn = (
            lw.synthesize(data, schema, seed=seed, misfits=1, **settings).sample(40_000, seed=seed)["age"].to_numpy()
        )
        found.append(np.abs(np.bincount(drawn, minlength=31) / 40_000 - own).sum() / 2)

    # The drawn rows themselves err by about sqrt(31 / 40000) / 2 = 0.014.
    assert np.mean(found) <= bound + 0.014
    assert bound <= 8 * np.mean(found)


def test_a_tree_has_the_simulated_bound_with_its_error_and_the_published_one():
    planned = lw.plan(POINTS, expected_rows=200_000, epsilon=1, mechanism=lw.PMM())

    expected, simulated, _, published = planned.accuracy
    codes = tuple(each.code for each in planned.accuracy)
    assert codes == ("expected_distance", "simulated_bound", "largest_cell", "published_bound")
    assert "standard error" in simulated.text
    # All levels of a tree that shrinks: twice the noise, and above what the first levels alone bound.
    assert expected.value < published.value < simulated.value
    assert "Theorem 4.3" in published.text


@pytest.mark.parametrize(("columns", "rows"), [(1, 1000), (2, 2000)])
def test_the_mean_distance_of_a_tree_stays_below_its_bound(columns, rows):
    schema = {"fields": POINTS["fields"][:columns]}
    data = table(rows=rows)

    bound = lw.plan(schema, expected_rows=rows, epsilon=1, mechanism=lw.PMM()).accuracy[0].value
    found = []
    for seed in range(10):
        release = lw.synthesize(data, schema, epsilon=1, expected_rows=rows, seed=seed, mechanism=lw.PMM())
        drawn = release.sample(rows, seed=seed)
        # The distance of one column is at most that of the points.
        found.append(np.abs(np.sort(drawn["x"].to_numpy()) - np.sort(data["x"].to_numpy())).mean())

    assert np.mean(found) <= bound <= 0.3


@pytest.mark.parametrize("schema", [OWNED, MIXED], ids=["three rows", "one row"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.5"}], ids=str)
def test_the_published_bound_counts_what_a_unit_can_change(schema, neighbours, budget):
    first = {**schema, "fields": schema["fields"][:1] + schema["fields"][2:3]}
    mechanism = lw.PMM(variant="paper", depth=4)

    planned = lw.plan(first, expected_rows=100_000, mechanism=mechanism, neighbours=neighbours, **budget)

    # The greedy bound at the plan's own, rounded shares is the same theorem.
    assert planned.accuracy[-1].value == pytest.approx(planned.accuracy[0].value, rel=1e-3)


def test_a_delta_is_compared_with_pure_epsilon_and_back():
    pure = lw.plan(POINTS, expected_rows=10_000, epsilon=1).delta_gain
    approximate = lw.plan(POINTS, expected_rows=10_000, epsilon=1, delta="1e-9").delta_gain

    assert pure == approximate
    assert pure.delta == 1e-9
    assert pure.pure < pure.with_delta


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"expected_rows": 0, "epsilon": 1}, "expected_rows must be a whole number from 1"),
        ({"expected_rows": None, "epsilon": 1}, "a plan needs expected_rows"),
        ({"expected_rows": "many", "epsilon": 1}, "expected_rows must be a whole number from 1"),
        ({"expected_rows": 10}, "exactly one of epsilon and rho"),
        ({"expected_rows": 10, "epsilon": 1, "neighbours": "nearby"}, "neighbours must be one of"),
        ({"expected_rows": 10, "epsilon": 1, "mechanism": "nonesuch"}, "there is no mechanism"),
    ],
)
def test_settings_that_no_release_takes_are_refused(settings, message):
    with pytest.raises(lw.ParameterError, match=message):
        lw.plan(POINTS, **settings)


def test_a_tree_that_does_not_fit_is_refused_with_the_depth_that_fits():
    with pytest.raises(lw.CapacityError, match="depth=10 fits"):
        lw.plan(POINTS, expected_rows=10, epsilon=1, mechanism=lw.PMM(depth=20, max_nodes=2**11))


@pytest.mark.parametrize("accuracy", [(), (Statement("expected_cell_noise"),)])
def test_a_mechanism_that_plans_no_figure_of_its_error_is_refused_when_it_plans(accuracy):
    with pytest.raises(lw.ParameterError, match="must begin with a statement that has a value") as refused:
        PlannedRelease(questions=(), accuracy=accuracy)

    assert refused.value.code == "LW304"
