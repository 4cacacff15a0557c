"""Code of scikit-learn and pandas that runs on the real frame runs on the synthetic one, and finds the same types."""

import functools
import warnings

import numpy as np
import pandas as pd
import polars as pl
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

QUICK = ("bundled", "bank-marketing", "diabetes130", "mimic-demo-admissions", "nhanes", "rhc-icu")
"""Have columns of every kind between them, with and without missing cells."""

TABLES = [
    pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full])
    for name in sorted(each.parent.name for each in SHARED_DATA.glob("*/schema.json")) or QUICK[:1]
]
ROWS = 200
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
    real = pl.scan_parquet(data).select(each.name for each in schema.fields).head(2 * ROWS).collect().to_pandas()
    release = lw.synthesize(real, schema, epsilon=100, mechanism="Independent", seed=1)
    return real, release, release.sample(ROWS, seed=1)


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
    real, rows = real.astype(listed), release.sample(ROWS, seed=1, like=rows.astype(listed))
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
