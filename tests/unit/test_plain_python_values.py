"""Numbers of NumPy and days of Python are taken where a number or its text is; what is no list is told so."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import ParameterError

BOUNDS = {"minimum": dt.date(2024, 1, 1), "maximum": "2024-12-31", "required": True}
SCHEMA = lw.Schema.load(
    {
        "fields": [
            {"name": "day", "type": "date", "constraints": BOUNDS},
            {"name": "n", "type": "integer", "constraints": {"minimum": np.int64(1), "maximum": np.int64(9)}},
        ]
    }
)
ROWS = pl.DataFrame({"day": [dt.date(2024, 2, 3)] * 50, "n": [3] * 49 + [77]})


@pytest.fixture(scope="module")
def release():
    return lw.synthesize(ROWS, SCHEMA, epsilon=100, mechanism="Independent", expected_rows=np.int64(50))


def test_numbers_of_numpy_and_days_of_python_are_plain_values(release):
    assert (SCHEMA["day"].minimum, SCHEMA["n"].maximum) == ("2024-01-01", 9)
    assert lw.Schema.load(SCHEMA.to_dict()) == SCHEMA
    assert (release.sample(np.int64(3)).height, release.certificate.to_dict()["expected_rows"]) == (3, 50)


def test_names_that_are_no_list_are_told_to_be_one(release):
    with pytest.raises(ParameterError, match="to count several columns together, give a list of them"):
        release.query("day", "n")


def test_a_table_is_checked_before_a_release_column_by_column():
    found = SCHEMA.check(ROWS)

    assert found.select("column", "cells", "missing", "out_of_bounds", "misfit").rows() == [
        ("day", 50, 0, 0, 0),
        ("n", 50, 0, 1, 0),
    ]
