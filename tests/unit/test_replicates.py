"""Replicates of a release: what is simulated, what is returned, what is refused."""

import dataclasses

import pandas as pd
import polars as pl
import pytest

import lapwing as lw

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


def test_replicates_show_the_sampling_error_that_rows_of_one_release_do_not(release, replicates):
    boys = replicates.proportion("sex == 'm'")
    released = [release.sample(seed=seed)["sex"].eq("m").mean() for seed in range(6)]

    # At this epsilon noise is small beside sampling: sqrt(.75 * .25 / 400) = .0217, known to 30 % from 6 replicates.
    assert 0.006 < boys.standard_error < 0.06
    assert max(released) - min(released) < 0.005


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
    coded = dataclasses.replace(release, certificate=certificate)

    with pytest.raises(lw.ParameterError) as refused:
        coded.replicates(4)

    (name,), (value,) = settings, settings.values()
    assert str(refused.value) == (
        f"the setting {name} was code or a table ({value}), and a release keeps its name only; replicates need "
        "settings that are plain values"
    )


def test_a_release_of_0_rows_is_refused(release):
    empty = dataclasses.replace(release, model=dataclasses.replace(release.model, rows=0))

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
