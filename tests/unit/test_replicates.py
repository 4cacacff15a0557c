"""Replicates of a release: what is simulated, what is returned, what is refused."""

import dataclasses

import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from helpers.saved import changed

SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 7}},
        {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}},
        {"name": "tall", "type": "boolean", "constraints": {"required": True}},
        {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}},
    ]
}
ROWS = 400
DATA = pl.DataFrame(
    {
        "age": [None if row % 8 == 7 else row % 8 for row in range(ROWS)],
        "sex": ["f", "m", "m", "m"] * (ROWS // 4),
        "tall": [row % 8 > 3 for row in range(ROWS)],
        "pay": [(row % 100) / 100 for row in range(ROWS)],
    }
)


@pytest.fixture(scope="module")
def release():
    return lw.synthesize(DATA, SCHEMA, epsilon=60, mechanism="Independent", seed=1)


@pytest.fixture(scope="module")
def replicates(release):
    return release.replicates(6, seed=2)


def test_each_replicate_has_the_rows_and_types_of_the_release(release, replicates):
    frames = list(replicates.frames())

    assert len(replicates) == len(frames) == 6
    assert {frame.height for frame in frames} == {release.model.rows}
    assert {tuple(frame.schema.items()) for frame in frames} == {tuple(release.sample(1).schema.items())}
    assert repr(replicates) == f"Replicates(6 of {release.model.rows} rows)"
    assert {frame.height for frame in release.replicates(4, rows=7).frames()} == {7}


def test_replicates_show_the_sampling_error_that_rows_of_one_release_do_not(release, replicates):
    boys = replicates.proportion("sex == 'm'")
    released = [release.sample(seed=seed)["sex"].eq("m").mean() for seed in range(6)]

    # At this epsilon noise is small beside sampling: sqrt(.75 * .25 / 400) = .0217, known to 30 % from 6 replicates.
    assert 0.006 < boys.standard_error < 0.06
    assert max(released) - min(released) < 0.005


def test_noise_is_simulated_too():
    release = lw.synthesize(DATA, SCHEMA, epsilon=0.1, mechanism="Independent")

    tall = release.replicates(40, rows=400).proportion("tall")

    # Sampling alone: sqrt(.25 / 400) = .025. Laplace noise of scale 40 on two counts of some 200 rows: about .1.
    assert tall.standard_error > 0.035


def test_estimates_are_about_those_of_the_table(replicates):
    mean, share = replicates.mean("age"), replicates.proportion("tall and sex == 'm'")
    lines = replicates.regression("pay", ["tall", "age"])

    assert mean.estimate == pytest.approx(3, abs=0.4)
    assert share.estimate == pytest.approx(0.375, abs=0.1)  # as if the columns were independent, as this model says
    assert list(lines) == ["intercept", "tall", "age"]
    assert lines["age"].estimate == pytest.approx(0, abs=0.1)
    assert mean.lower < mean.estimate < mean.upper
    assert mean.confidence == 0.95
    assert replicates.mean("age", confidence=0.5).upper < mean.upper


def test_a_function_is_given_frames_of_the_release_and_may_return_several_numbers():
    data = pd.DataFrame(DATA.to_dict(as_series=False))
    replicates = lw.synthesize(data, SCHEMA, epsilon=9, mechanism="Independent").replicates(4, rows=50)
    seen = []

    def quartiles(frame):
        seen.append(type(frame))
        return {"low": frame["pay"].quantile(0.25), "high": frame["pay"].quantile(0.75)}

    found = replicates.estimate(quartiles)

    assert set(seen) == {pd.DataFrame}
    assert list(found) == ["low", "high"]
    assert found["low"].estimate < found["high"].estimate
    assert replicates.estimate(lambda frame: frame["pay"].mean()) == replicates.mean("pay")


@pytest.mark.parametrize("mechanism", [lw.PMM(depth=4), lw.Grid(width=0.5, threshold=3), lw.KDTree()])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_other_mechanisms_and_relations_are_replicated(mechanism, neighbours):
    data = DATA.select("pay", "tall")
    schema = {"fields": [field for field in SCHEMA["fields"] if field["name"] in data.columns]}
    release = lw.synthesize(data, schema, rho=0.5, mechanism=mechanism, neighbours=neighbours)

    replicates = release.replicates(4, rows=100)

    assert 0 <= replicates.mean("pay").estimate <= 1


def test_each_simulated_row_is_its_own_unit():
    schema = {
        "fields": [{"name": "person", "type": "string", "role": "identifier"}, {"name": "tall", "type": "boolean"}],
        "privacyUnit": {"field": "person", "maxRows": 2},
    }
    data = pl.DataFrame({"person": [f"p{row // 3}" for row in range(300)], "tall": [True, False, False] * 100})
    release = lw.synthesize(data, schema, epsilon=100, mechanism="Independent")

    # Two of three rows of each person are used; were units lost, replicates would keep two rows in all.
    assert release.model.rows == pytest.approx(200, abs=5)
    assert release.replicates(4).mean("tall").standard_error < 0.2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"m": 3}, "m must be a whole number from 4 to 10000, got 3"),
        ({"m": True}, "m must be a whole number from 4 to 10000, got True"),
        (
            {"m": 4, "rows": 0},
            "the number of rows must be a whole number from 1 to 2**40, got 0; give one such as 1000",
        ),
        ({"m": 4, "seed": -1}, "seed must be a whole number from 0 to 2**128 - 1, got -1; it draws rows, never noise"),
    ],
)
def test_settings_outside_their_range_are_refused(release, arguments, message):
    with pytest.raises(lw.ParameterError) as refused:
        release.replicates(**arguments)

    assert str(refused.value) == message


@pytest.mark.parametrize("settings", [{"convex_set": "callable clipped"}, {"listed": ["age < 3", "callable f"]}])
def test_settings_that_were_code_are_refused(release, settings):
    certificate = dataclasses.replace(release.certificate, settings=settings)
    coded = changed(release, certificate=certificate)

    with pytest.raises(lw.ParameterError) as refused:
        coded.replicates(4)

    (name,), (value,) = settings, settings.values()
    assert str(refused.value) == (
        f"the setting {name} was code or a table ({value}), and a release keeps its name only; replicates need "
        "settings that are plain values"
    )


def test_a_release_of_0_rows_is_refused(release):
    empty = changed(release, model=dataclasses.replace(release.model, rows=0))

    with pytest.raises(lw.ParameterError) as refused:
        empty.replicates(4)

    assert str(refused.value) == (
        "the release stands for 0 rows, and no sample of it can be simulated; spend more budget"
    )


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda each: each.mean("sex"),
            "column 'sex' holds no numbers; use proportion with a condition, or estimate with a function",
        ),
        (
            lambda each: each.regression("pay", ["age", "pay"]),
            "regressors must be distinct columns beside the outcome, got ['age', 'pay']; name each once",
        ),
        (
            lambda each: each.proportion("pay"),
            "a condition is true or false, got 'pay'; compare it with a constant",
        ),
        (lambda each: each.mean("age", confidence=2), "confidence must be above 0 and below 1, got 2.0; 0.95 is usual"),
        (
            lambda each: each.estimate(lambda frame: dict.fromkeys(frame["age"].head(1).cast(pl.String), 1.0)),
            "an estimate must give the same names for every frame; give 0 where nothing is found",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(replicates, ask, message):
    with pytest.raises(lw.ParameterError) as refused:
        ask(replicates)

    assert str(refused.value) == message
