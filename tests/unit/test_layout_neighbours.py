"""Which of two neighbouring frames was released does not show in the types of rows: a missing cell changes none."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lapwing as lw
from helpers.sorted_columns import NUMPY, PANDAS, SCHEMA, TABLE, cells, types
from lapwing.rows.entry import source_of
from lapwing.rows.layouts import layout_of


@pytest.fixture(scope="module")
def release():
    """Return a release of a Polars frame, in which cells are missing."""
    return lw.synthesize(TABLE, SCHEMA, epsilon=1000, mechanism="Independent", seed=1)


NEIGHBOURS = {
    "a number": ("hours", [1, 2, 3], [1, 2, None]),
    "a short number": ("hours", np.array([1, 2, 3], dtype="int8"), [1, 2, None]),
    "a number that must be there": ("age", [1, 2, 3], [1, 2, None]),
    "a number that is a text": ("age", [1, 2, 3], [1, 2, "?"]),
    "true or false": ("flag", [True, False, True], [True, False, None]),
    "true or false that must be there": ("sure", [True, False, True], [True, False, None]),
    "a number that is true or false": ("sure", [1, 0, 1], [1, 0, None]),
    "the only number that is true or false": ("flag", [1, None, None], [None, None, None]),
    "the only number": ("hours", [1, None, None], [None, None, None]),
    "the only moment": ("seen", np.array(["2001-01-01", "NaT", "NaT"], "datetime64[us]"), [None, None, None]),
    "a text": ("town", ["Ales", "Borg", "Ales"], ["Ales", "Borg", None]),
    "the only text": ("town", ["Ales", None, None], [None, None, None]),
    "a real": ("share", [0.5, 0.25, 1.0], [0.5, 0.25, None]),
    "a real that is whole": ("share", [0, 1, 1], [0, 1, 0.5]),
    "a moment": ("seen", [dt.datetime(2001, 1, 1)] * 3, [dt.datetime(2001, 1, 1)] * 2 + [None]),
    "a category": ("town", pd.Categorical(["Ales", "Borg", "Ales"]), pd.Categorical(["Ales", "Borg", None])),
    "the only category": ("town", pd.Categorical(["Ales", None, None]), pd.Categorical([None, None, None])),
    "a nullable number": ("hours", pd.array([1, 2, 3], "Int16"), pd.array([1, 2, None], "Int16")),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_types_are_the_same_whether_a_cell_of_the_input_is_missing_or_not(release, name):
    column, one, other = NEIGHBOURS[name]
    frames = [PANDAS.head(3).assign(**{column: pd.Series(each)}) for each in (one, other)]

    found = [replace(release, layouts={"": layout_of(source_of(frame), SCHEMA)}) for frame in frames]

    assert found[0].layout == found[1].layout
    first, second = (each.sample(20, seed=1) for each in found)
    pd.testing.assert_frame_equal(first, second)


def test_most_of_these_neighbours_have_other_types_themselves():
    changed = {
        name
        for name, (_, one, other) in NEIGHBOURS.items()
        if pd.Series(one).dtype != pd.Series(other).dtype
    }  # fmt: skip

    assert {"a number", "a short number", "true or false", "a number that is a text", "a real that is whole"} <= changed


def test_types_are_the_same_for_every_number_of_rows_and_seed(release):
    found = [types(release.sample(n, seed=seed, like=PANDAS)) for n in (0, 1, 2, 50) for seed in range(5)]

    assert all(each == NUMPY for each in found)


def test_types_are_the_same_whether_any_cell_of_the_input_is_missing_and_whether_any_row_is():
    whole = pd.DataFrame(cells(every=0)).astype(dict.fromkeys(["day", "seen"], "datetime64[us]"))
    release = lw.synthesize(whole, SCHEMA, epsilon=1000, mechanism="Independent", seed=1)

    rows = release.sample(50)

    assert not rows.isna().any(axis=None)
    assert types(whole)["hours"] == "int64"
    assert types(rows) == NUMPY


def test_rows_for_conditions_come_in_the_layout_too(release):
    given = release.sample(where=pd.DataFrame({"hours": pd.array([1, None], "Int64")}, index=[7, 9]), like=PANDAS)

    assert types(given) == NUMPY
    assert given["hours"].isna().tolist() == [False, True]
    assert given.index.tolist() == [7, 9]
