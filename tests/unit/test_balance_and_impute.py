"""Rows with as many of each value as are wanted, and tables of one's own whose gaps a model fills."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw
from helpers.command import lapwing

SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}},
        {"name": "job", "type": "string", "categories": ["a", "b", "c"]},
        {"name": "ill", "type": "boolean", "constraints": {"required": True}},
    ]
}


@pytest.fixture(scope="module")
def release() -> lw.Release:
    """Who is old is ill, and has the job c; few are."""
    rng = np.random.default_rng(1)
    age = rng.choice(10, 4000, p=[0.18] * 5 + [0.02] * 5)
    job = np.where(age > 4, "c", np.where(age > 2, "b", "a")).astype(object)
    job[::20] = None
    rows = pl.DataFrame({"age": age, "job": job.tolist(), "ill": age > 4})
    return lw.synthesize(rows, SCHEMA, epsilon=50, seed=1)


def test_each_value_has_its_share_in_random_order_and_the_rest_follows_it(release: lw.Release) -> None:
    rows = release.sample(1000, seed=1, balance={"ill": "equal"})
    shares = release.sample(900, seed=1, balance={"job": {"a": 2, "c": 1}})

    assert rows["ill"].sum() == 500
    assert (rows["ill"] == (rows["age"] > 4)).mean() > 0.9
    assert 0 < rows["ill"][:100].sum() < 100
    assert dict(shares["job"].value_counts().iter_rows()) == {"a": 600, "c": 300}
    assert release.sample(balance={"ill": "equal"}).height == release.model.rows
    assert rows.equals(release.sample(1000, seed=1, balance={"ill": "equal"}))


@pytest.mark.parametrize(
    "balance",
    [
        *(
            {"job": each}
            for each in ({}, {"a": 0, "b": 0}, {"a": 10**400}, {"a": 1e308, "b": 1e308}, {"a": float("nan")})
        ),
        [("job", "equal")],
        {},
        {"age": "equal"},
        {"ill": "even"},
        {"ill": {True: -1}},
        {"other": "equal"},
        {"ill": "equal", "job": "equal"},
    ],
)
def test_a_balance_of_something_else_is_refused(release: lw.Release, balance: dict) -> None:
    with pytest.raises(lw.LapwingError, match="balance must map one column") as caught:
        release.sample(10, balance=balance)

    assert caught.value.code == "LW325"


def test_balance_and_where_are_not_both_taken(release: lw.Release) -> None:
    with pytest.raises(lw.LapwingError, match="leave one of them out"):
        release.sample(10, where={"age": 1}, balance={"ill": "equal"})


@pytest.mark.parametrize("library", [pl.DataFrame, pd.DataFrame, pa.table])
def test_gaps_are_drawn_given_their_row_and_what_is_there_stays(release: lw.Release, library: type) -> None:
    age = [9, None, 1, None] * 50
    ill = [None, True, None, None] * 50
    cells = {"ill": ill, "age": age}
    if library is pd.DataFrame:
        cells = {"ill": pd.array(ill, dtype="boolean"), "age": pd.array(age, dtype="Int64")}

    filled = release.impute(library(cells), seed=2)

    assert type(filled) is type(library({"x": [1]}))
    found = pl.DataFrame(filled.to_dict("list")) if library is pd.DataFrame else pl.DataFrame(filled)
    assert found.columns == ["ill", "age"]
    assert found["ill"].null_count() == found["age"].null_count() == 0
    kept = np.array([each is not None for each in age])
    assert found["age"].to_numpy()[kept].tolist() == [each for each in age if each is not None]
    assert ((found["age"] > 4) == found["ill"]).mean() > 0.85


def test_a_required_column_may_have_gaps_and_another_may_be_filled_as_missing(release: lw.Release) -> None:
    filled = release.impute(pl.DataFrame({"age": [1] * 500, "job": pl.Series([None] * 500, dtype=pl.String)}), seed=1)

    assert 0 < filled["job"].null_count() < 100
    assert set(filled["job"].drop_nulls()) <= {"a", "b", "c"}


def test_rows_of_pandas_keep_their_index_and_a_file_is_read(release: lw.Release, tmp_path) -> None:
    frame = pd.DataFrame({"age": [1.0, None]}, index=["x", "y"])
    frame.to_csv(tmp_path / "own.csv", index=False)

    assert release.impute(frame).index.tolist() == ["x", "y"]
    assert release.impute(str(tmp_path / "own.csv"))["age"].null_count() == 0


def test_a_value_outside_the_schema_is_refused(release: lw.Release) -> None:
    with pytest.raises(lw.LapwingError, match='condition row 2: column "age" must be'):
        release.impute(pl.DataFrame({"age": [1, 99]}))


def test_the_command_balances_a_column(release: lw.Release, tmp_path) -> None:
    release.save(tmp_path / "m.lapwing")

    done = lapwing(
        "sample", str(tmp_path / "m.lapwing"), "--rows", "100", "--balance", "job", "-o", str(tmp_path / "o.csv")
    )
    refused = lapwing("sample", str(tmp_path / "m.lapwing"), "--rows", "9", "--balance", "job", "--where", "age=1")

    assert done.status == 0
    assert sorted(pl.read_csv(tmp_path / "o.csv")["job"].value_counts()["count"]) == [33, 33, 34]
    assert refused.status == 2 or "LW325" in refused.err
