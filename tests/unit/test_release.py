"""A release: what it holds, its replicates, and its frames in estimators of others."""

import dataclasses
import functools
import re
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import lapwing as lw
from conftest import EXAMPLES, SHARED_DATA
from helpers.saved import changed

SCHEMA = {
    "fields": [
        {"name": "id", "type": "integer", "role": "identifier"},
        {"name": "count", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}},
        {"name": "kind", "type": "string", "categories": ["a", "b"], "constraints": {"required": True}},
        {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 2, "required": True}},
    ]
}
DATA = pl.DataFrame(
    {"id": range(90), "count": [5, None, 700] * 30, "kind": ["a"] * 60 + ["b"] * 30, "size": [0.5, 1.5] * 45}
)


@pytest.fixture(scope="module")
def release():
    return lw.synthesize(DATA, SCHEMA, epsilon=20, mechanism="Independent", seed=3, misfits=1)


def test_the_same_seed_gives_the_same_rows_and_no_seed_others(release):
    unseeded = lw.synthesize(DATA, SCHEMA, epsilon=20)

    assert release.sample(50).equals(release.sample(50))
    assert release.sample(50, seed=1).equals(release.sample(50, seed=1))
    assert not release.sample(50, seed=1).equals(release.sample(50, seed=2))
    assert not unseeded.sample(50).equals(unseeded.sample(50))


def test_rows_meet_their_conditions(release):
    rows = release.sample(40, where={"kind": ["b"], "size": lw.between(1, 2), "count": None})

    assert rows["kind"].unique().to_list() == ["b"]
    assert rows["size"].min() >= 1 - 1e-9
    assert rows["count"].null_count() == 40


def test_a_query_adds_up_to_the_released_rows_and_keeps_a_column_called_count(release):
    table = release.query(["count", "kind"])

    assert table.columns == ["count", "kind", "count_", "share", "lower", "upper", "basis"]
    assert table["count_"].sum() == pytest.approx(release.model.rows)
    assert table["share"].sum() == pytest.approx(1)
    assert "missing" in table["count"].to_list()
    assert "misfit" not in table["kind"].to_list()


def test_an_interval_lies_around_its_noisy_count(release):
    table = release.query("kind", confidence=0.9)
    noisy = release.noisy[1].counts

    # Laplace noise of scale 3/20 is 0 with probability .997.
    assert table["lower"].to_list() == table["upper"].to_list() == noisy[:2].tolist()
    assert table["basis"].to_list() == ["1 noisy count"] * 2
    wider = release.query("kind", confidence=0.9999)
    assert (wider["upper"] - wider["lower"]).to_list() == [2, 2]


def test_cells_that_no_answer_covers_have_no_interval(release):
    table = release.query(["kind", "size"], groups=2)

    assert table["lower"].null_count() == table["upper"].null_count() == table.height == 4
    assert table["basis"].unique().to_list() == ["no noisy answer covers it"]


def test_a_column_called_like_an_end_of_the_interval_keeps_its_name():
    schema = {"fields": [{"name": name, "type": "boolean"} for name in ("lower", "basis")]}
    data = pl.DataFrame({"lower": [True, False] * 20, "basis": [True] * 40})

    table = lw.synthesize(data, schema, epsilon=9, mechanism="Independent").query(["lower", "basis"])

    assert table.columns == ["lower", "basis", "count", "share", "lower_", "upper", "basis_"]


def test_runs_end_where_a_column_was_counted():
    schema = {"fields": [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}}]}
    data = pl.DataFrame({"x": range(1000)})
    release = lw.synthesize(data, schema, epsilon=9, mechanism=lw.Independent(groups=37))

    tenths, measured = release.query("x", groups=10), release.query("x", groups="measured")

    assert tenths.height == 10 + 1
    assert measured.height == release.noisy[0].counts.size
    for table in (tenths, measured):
        assert table["lower"].null_count() == 0
        assert table["count"].sum() == pytest.approx(release.model.rows)


def test_a_public_number_of_rows_bounds_the_intervals():
    schema = {"fields": [{"name": "x", "type": "boolean"}]}
    data = pl.DataFrame({"x": [True] * 30})

    table = lw.synthesize(data, schema, epsilon=0.05, neighbours="replace-one", mechanism="Independent").query("x")

    assert table["lower"].min() >= 0
    assert table["upper"].max() <= 30


def test_answers_show_every_noisy_count_with_its_noise(release):
    answers = release.answers

    cells = sum(answer.whole.size for answer in release.noisy)
    assert answers.height == cells
    assert answers["noisy_count"].sum() == sum(int(answer.whole.sum()) for answer in release.noisy)
    assert answers["noise"].unique().to_list() == ["laplace 3/20"]
    assert (answers["noise_sd"] == release.noisy[0].noise.sd).all()


def test_a_saved_release_is_the_same_release(release, tmp_path):
    release.save(tmp_path / "r.lapwing")

    again = lw.load(tmp_path / "r.lapwing")

    assert again.certificate == release.certificate
    assert again.sample(20, seed=2).equals(release.sample(20, seed=2))
    assert again.answers.equals(release.answers)
    assert np.array_equal(again.model.weights, release.model.weights)


@pytest.mark.parametrize(
    ("kind", "frame"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table), ("path", pl.DataFrame)],
)
def test_a_saved_release_gives_rows_in_the_kind_of_frame_that_is_asked_for(release, tmp_path, kind, frame):
    release.save(tmp_path / "r.lapwing")

    assert isinstance(lw.load(tmp_path / "r.lapwing", kind=kind).sample(3), frame)


def test_an_unknown_kind_of_frame_is_refused(tmp_path):
    with pytest.raises(lw.ParameterError, match=r"kind must be one of pandas, polars, .* duckdb, spark, got 'modin'"):
        lw.load(tmp_path / "r.lapwing", kind="modin")


def test_a_saved_release_holds_no_value_of_the_table(tmp_path):
    data = DATA.with_columns(kind=pl.lit("canary-7431"))

    lw.synthesize(data, SCHEMA, epsilon=1, misfits=1).save(tmp_path / "r.lapwing")

    import zipfile

    with zipfile.ZipFile(tmp_path / "r.lapwing") as file:
        assert all(b"canary" not in file.read(name) for name in file.namelist())


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        ({"epsilon": 10}, []),
        ({"epsilon": 10.5}, ["weak_epsilon"]),
        ({"epsilon": 1, "delta": 1e-3}, []),
        ({"epsilon": 1, "delta": 0.01}, ["weak_delta"]),
        ({"rho": 2}, ["weak_epsilon"]),
        ({"epsilon": 99.5}, ["weak_epsilon"]),
        ({"epsilon": 100}, ["no_epsilon"]),
        ({"epsilon": 10**6}, ["no_epsilon"]),
        ({"epsilon": 1, "delta": 0.5}, ["no_delta"]),
        ({"epsilon": 1, "delta": 0.1}, ["no_delta"]),
    ],
)
def test_a_weak_promise_is_warned_of(budget, says):
    warnings = lw.synthesize(DATA, SCHEMA, **budget).certificate.warnings

    assert [each.code for each in warnings if {"epsilon", "delta"} & {*each.fields}] == says


def test_the_number_of_rows_is_kept_under_replace_one():
    release = lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism="Independent", neighbours="replace-one", misfits=1)

    assert release.model.rows == release.certificate.public_rows == 90
    assert release.noisy[0].noise.parameter == 6


def test_the_root_package_names_what_it_exports():
    assert set(lw.__all__) <= set(dir(lw))
    for name in lw.__all__:
        assert getattr(lw, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonesuch'"):
        lw.nonesuch  # noqa: B018


@pytest.mark.parametrize(("kind", "needed"), [("pandas", "pandas"), ("spark", "pyspark")])
def test_rows_in_frames_of_a_library_that_is_missing_name_it_and_the_way_out(
    kind, needed, release, tmp_path, monkeypatch
):
    release.save(tmp_path / "r.lapwing")
    loaded = lw.load(tmp_path / "r.lapwing", kind=kind)
    for module in [name for name in sys.modules if name.split(".")[0] == needed]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, needed, None)

    with pytest.raises(lw.LapwingError, match=f"need {needed}.*, which is not installed; install it, or load"):
        loaded.sample(3)


REPLICATES_SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 7}},
        {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}},
        {"name": "tall", "type": "boolean", "constraints": {"required": True}},
        {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}},
    ]
}
ROWS = 400
REPLICATES_DATA = pl.DataFrame(
    {
        "age": [None if row % 8 == 7 else row % 8 for row in range(ROWS)],
        "sex": ["f", "m", "m", "m"] * (ROWS // 4),
        "tall": [row % 8 > 3 for row in range(ROWS)],
        "pay": [(row % 100) / 100 for row in range(ROWS)],
    }
)


@pytest.fixture(scope="module")
def replicates_release():
    return lw.synthesize(REPLICATES_DATA, REPLICATES_SCHEMA, epsilon=60, mechanism="Independent", seed=1)


@pytest.fixture(scope="module")
def replicates(replicates_release):
    return replicates_release.replicates(6, seed=2)


def test_each_replicate_has_the_rows_and_types_of_the_release(replicates_release, replicates):
    frames = list(replicates.frames())

    assert len(replicates) == len(frames) == 6
    assert {frame.height for frame in frames} == {replicates_release.model.rows}
    assert {tuple(frame.schema.items()) for frame in frames} == {tuple(replicates_release.sample(1).schema.items())}
    assert repr(replicates) == f"Replicates(6 of {replicates_release.model.rows} rows)"
    assert {frame.height for frame in replicates_release.replicates(4, rows=7).frames()} == {7}


def test_replicates_show_the_sampling_error_that_rows_of_one_release_do_not(replicates_release, replicates):
    boys = replicates.proportion("sex == 'm'")
    released = [replicates_release.sample(seed=seed)["sex"].eq("m").mean() for seed in range(6)]

    # At this epsilon noise is small beside sampling: sqrt(.75 * .25 / 400) = .0217, known to 30 % from 6 replicates.
    assert 0.006 < boys.standard_error < 0.06
    assert max(released) - min(released) < 0.005


def test_noise_is_simulated_too():
    replicates_release = lw.synthesize(REPLICATES_DATA, REPLICATES_SCHEMA, epsilon=0.1, mechanism="Independent")

    tall = replicates_release.replicates(40, rows=400).proportion("tall")

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
    data = pd.DataFrame(REPLICATES_DATA.to_dict(as_series=False))
    replicates = lw.synthesize(data, REPLICATES_SCHEMA, epsilon=9, mechanism="Independent").replicates(4, rows=50)
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
    data = REPLICATES_DATA.select("pay", "tall")
    schema = {"fields": [field for field in REPLICATES_SCHEMA["fields"] if field["name"] in data.columns]}
    replicates_release = lw.synthesize(data, schema, rho=0.5, mechanism=mechanism, neighbours=neighbours)

    replicates = replicates_release.replicates(4, rows=100)

    assert 0 <= replicates.mean("pay").estimate <= 1


def test_each_simulated_row_is_its_own_unit():
    schema = {
        "fields": [{"name": "person", "type": "string", "role": "identifier"}, {"name": "tall", "type": "boolean"}],
        "privacyUnit": {"field": "person", "maxRows": 2},
    }
    data = pl.DataFrame({"person": [f"p{row // 3}" for row in range(300)], "tall": [True, False, False] * 100})
    replicates_release = lw.synthesize(data, schema, epsilon=100, mechanism="Independent")

    # Two of three rows of each person are used; were units lost, replicates would keep two rows in all.
    assert replicates_release.model.rows == pytest.approx(200, abs=5)
    assert replicates_release.replicates(4).mean("tall").standard_error < 0.2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"m": 3}, "m must be a whole number from 4 to 10000, got 3"),
        ({"m": True}, "m must be a whole number from 4 to 10000, got True"),
        ({"m": 4, "rows": 0}, "the number of rows must be a whole number from 1 to 2**40, got 0; give one such as"),
        ({"m": 4, "seed": -1}, "seed must be a whole number from 0 to 2**128 - 1, got -1; it draws rows, never noise"),
    ],
)
def test_settings_outside_their_range_are_refused(replicates_release, arguments, message):
    with pytest.raises(lw.ParameterError, match=re.escape(message)):
        replicates_release.replicates(**arguments)


@pytest.mark.parametrize("settings", [{"convex_set": "callable clipped"}, {"listed": ["age < 3", "callable f"]}])
def test_settings_that_were_code_are_refused(replicates_release, settings):
    certificate = dataclasses.replace(replicates_release.certificate, settings=settings)
    coded = changed(replicates_release, certificate=certificate)

    with pytest.raises(lw.ParameterError) as refused:
        coded.replicates(4)

    (name,), (value,) = settings, settings.values()
    assert str(refused.value) == (
        f"the setting {name} was code or a table ({value}), and a release keeps its name only; replicates need "
        "settings that are plain values"
    )


def test_a_release_of_0_rows_is_refused(replicates_release):
    empty = changed(replicates_release, model=dataclasses.replace(replicates_release.model, rows=0))

    with pytest.raises(lw.ParameterError, match="stands for 0 rows, and no sample of it can be simulated; spend more"):
        empty.replicates(4)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda each: each.mean("sex"), "column 'sex' holds no numbers; use proportion with a condition, or estimate"),
        (lambda each: each.regression("pay", ["age", "pay"]), "regressors must be distinct columns beside the"),
        (lambda each: each.proportion("pay"), 'a condition is true or false, got "pay"; write for example age=30..40'),
        (lambda each: each.mean("age", confidence=2), "confidence must be above 0 and below 1, got 2.0; 0.95 is usual"),
        (
            lambda each: each.estimate(lambda frame: dict.fromkeys(frame["age"].head(1).cast(pl.String), 1.0)),
            "an estimate must give the same names for every frame; give 0 where nothing is found",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(replicates, ask, message):
    with pytest.raises(lw.ParameterError, match=re.escape(message)):
        ask(replicates)


QUICK = ("bundled", "bank-marketing", "diabetes130", "mimic-demo-admissions", "nhanes", "rhc-icu")
"""Have columns of every kind between them, with and without missing cells."""
TABLES = [
    pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full])
    for name in sorted(each.parent.name for each in SHARED_DATA.glob("*/schema.json")) or QUICK[:1]
]
FRAMES_ROWS = 200
MOST_COLUMNS = 20
MOST_CLASSES = 60
numbers = make_column_selector(dtype_include=["number", "bool"])
lists = make_column_selector(dtype_exclude=["number", "bool", "datetime"])


def paths(name):
    """Return the paths of a table and of its schema; of the bundled sample where there is no other."""
    if name == "bundled":
        return EXAMPLES / "adult.parquet", EXAMPLES / "adult.schema.json"
    return SHARED_DATA / name / "data.parquet", SHARED_DATA / name / "schema.json"


@functools.cache
def table(name):
    """Return the first rows as pandas knows them, a release of these, and rows of it; of some of the columns."""
    data, path = paths(name)
    fields = lw.Schema.load(path).columns
    schema = lw.Schema(fields=fields[:: 1 + len(fields) // MOST_COLUMNS])
    real = pl.scan_parquet(data).select(each.name for each in schema.fields).head(2 * FRAMES_ROWS).collect().to_pandas()
    release = lw.synthesize(real, schema, epsilon=100, mechanism="Independent", seed=1)
    return real, release, release.sample(FRAMES_ROWS, seed=1)


def with_two_values(*frames):
    """Return frames of the columns that have two values or more in each."""
    return [each[[name for name in each if min(one[name].nunique() for one in frames) > 1]] for each in frames]


def target_of(*frames):
    """Return a column that can be predicted: of several classes in each frame, and never missing there."""

    def is_one(name):
        return all(2 <= each[name].nunique() <= MOST_CLASSES and not each[name].hasnans for each in frames)

    return next(filter(is_one, reversed(frames[0].columns)), None)


def transformer(x):
    """Return the preparation that most tutorials show."""
    texts = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", max_categories=20)
    )
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            ("texts", texts, lists),
        ]
    )


def encoded(frame):
    """Encode lists by themselves, and make numbers of everything, as statsmodels asks for."""
    listed = lists(frame)
    if listed:
        assert OneHotEncoder(handle_unknown="ignore").fit_transform(frame[listed]).shape[0] == len(frame)
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit_transform(frame[listed])
    assert np.asarray(pd.get_dummies(frame[[*numbers(frame), *listed]], dtype=float)).dtype != object


def summarised(frame, target):
    """Count, join and describe."""
    counts = frame.groupby(target, observed=True).size().rename("rows").reset_index()
    assert len(frame.merge(counts, on=target)) == len(frame)
    frame.groupby(target, observed=True)[numbers(frame.drop(columns=target))].mean()
    frame.describe(include="all")
    frame.select_dtypes("number").corr()


def predicted(train, test, target):
    """Fit on one frame and predict on another."""
    x, y = train.drop(columns=target), train[target].astype(str)
    prepared = transformer(x).fit(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # with a few steps, as here
        for model in (LogisticRegression(max_iter=5), RandomForestClassifier(n_estimators=3, random_state=1)):
            guesses = model.fit(prepared.transform(x), y).predict(prepared.transform(test.drop(columns=target)))
            assert set(guesses) <= set(y)


def regressed(train, test):
    """Fit numbers on one frame, and predict those of another; every table with two of them has this."""
    names = numbers(train)
    if len(names) > 1:
        y = SimpleImputer().fit_transform(train[[names[-1]]])
        prepared = transformer(train[names[:-1]]).fit(train[names[:-1]])
        guesses = LinearRegression().fit(prepared.transform(train[names[:-1]]), y).predict(prepared.transform(test))
        assert guesses.shape == (len(test), 1)
        assert np.isfinite(guesses).all()


def boosted(train, test, target):
    """Let a booster find out by itself which columns are categories."""
    x, y = train.drop(columns=target), train[target].astype(str)
    booster = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=4, categorical_features="from_dtype")
    with threadpool_limits(1):  # its threads would wait for each other, beside other tests
        assert len(booster.fit(x, y).predict(test[list(x.columns)])) == len(test)


def family(dtype):
    """Return the sort of a type: widths of numbers aside, and whether a whole number may be missing."""
    return "number" if dtype.kind in "iuf" else str(dtype)


@pytest.mark.parametrize("name", TABLES)
def test_code_that_runs_on_the_real_frame_runs_on_the_synthetic_one(name):
    real, _, rows = table(name)
    real, rows = with_two_values(real, rows)
    target = target_of(real, rows)

    for train, test in ((real, rows), (rows, real)):
        encoded(train)
        regressed(train, test)
    if target is not None:
        for frame in (real, rows):
            summarised(frame, target)
        for train, test in ((real, rows), (rows, real)):
            predicted(train, test, target)


@pytest.mark.parametrize("name", TABLES)
def test_each_column_is_of_the_real_ones_sort_and_stays_so_beside_it(name):
    real, _, rows = table(name)

    both = pd.concat([real, rows])

    assert [family(dtype) for dtype in rows.dtypes] == [family(dtype) for dtype in real.dtypes]
    assert [family(dtype) for dtype in both.dtypes] == [family(dtype) for dtype in real.dtypes]


@pytest.mark.parametrize("name", TABLES)
def test_categories_are_found_by_boosters(name):
    real, release, rows = table(name)
    listed = {name: "category" for name in lists(real) if rows[name].nunique() <= MOST_CLASSES}
    real, rows = real.astype(listed), release.sample(FRAMES_ROWS, seed=1, like=rows.astype(listed))
    target = target_of(real, rows)

    assert [family(dtype) for dtype in rows.dtypes] == [family(dtype) for dtype in real.dtypes]
    # What XGBoost, LightGBM and CatBoost take.
    assert all(pd.api.types.is_numeric_dtype(kind) or str(kind) in {"bool", "category"} for kind in taken(rows).dtypes)
    real, rows = with_two_values(taken(real), taken(rows))
    if target in real.columns:
        boosted(real, rows, target)
        boosted(rows, real, target)


def taken(frame):
    return frame[[*numbers(frame), *frame.select_dtypes("category").columns]]


NONE = {
    "the number of rows": ("sample", [{"n": each} for each in (-1, 2.5, True, "3")]),
    "seed must be a whole number": ("sample", [{"n": 3, "seed": each} for each in (-1, 1.5, True, 2**128, "7")]),
    "a column name or a list": ("query", [{"columns": each} for each in ([], ["kind", "kind"], 5, [5])]),
    "groups must be at least 2": ("query", [{"columns": "size", "groups": each} for each in (1, True, 1.5, "all")]),
    "confidence must be above": ("query", [{"columns": "kind", "confidence": each} for each in (0, 1, -0.5, 95)]),
    "no noisy answer counted": ("query", [{"columns": ["kind", "size"], "groups": "measured"}]),
}


@pytest.mark.parametrize("words", NONE)
def test_arguments_that_mean_nothing_are_refused(release, words):
    method, calls = NONE[words]
    for call in calls:
        with pytest.raises(lw.ParameterError, match=words):
            getattr(release, method)(**call)
