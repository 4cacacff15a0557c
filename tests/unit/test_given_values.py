"""What rows out show of the values that condition rows give, and which kinds of tables may give them."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from lapwing.rows.given import given_rows
from lapwing.schema.schemas import Schema

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.LapwingWarning")
"""Few atoms match the conditions here; PerformanceWarnings of Polars stay errors."""

YEAR = {"minimum": "2020-01-01", "maximum": "2020-12-31", "required": True}


def _number(name, maximum, **more):
    return {"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": maximum, "required": True}, **more}


STEPPED = {
    "fields": [
        _number("p", 2, resolution=0.25),
        _number("q", 4, resolution=0.5),
        {"name": "m", "type": "date", "constraints": YEAR, "resolution": "month"},
        {"name": "e", "type": "date", "constraints": YEAR},
        {"name": "n", "type": "integer", "constraints": {"minimum": 0, "maximum": 900}, "resolution": 100},
        _number("x", 1),
    ],
    "rules": [{"sum": {"p": 2}, "equals": "q"}, {"order": ["m", "e"]}],
}


@pytest.fixture(scope="module")
def stepped():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "p": rng.integers(0, 9, 300) / 4,
            "q": rng.integers(0, 9, 300) / 2,
            "m": pd.Timestamp("2020-02-01"),
            "e": pd.Timestamp("2020-06-05"),
            "n": rng.integers(0, 10, 300) * 100,
            "x": rng.random(300),
        }
    )
    return lw.synthesize(table, STEPPED, epsilon=4, mechanism="independent", seed=1)


def test_a_value_between_two_steps_shows_its_step_so_that_no_rule_breaks(stepped):
    where = pd.DataFrame({"p": [0.3, 1.0, 0.7], "m": pd.to_datetime(["2020-03-20"] * 3), "n": [140, 160, 300]})
    where["e"] = pd.to_datetime(["2020-03-10"] * 3)

    rows = stepped.sample(where=where, seed=1)

    assert rows["p"].tolist() == [0.25, 1.0, 0.75]
    assert rows["n"].tolist() == [100, 200, 300]
    assert (2 * rows["p"] == rows["q"]).all()
    assert (rows["m"] <= rows["e"]).all()


def test_values_on_the_steps_and_numbers_without_steps_stay_to_the_last_digit(stepped):
    given = {"p": [0.25, 1.75], "m": [date(2020, 3, 1), date(2020, 7, 1)], "x": [0.1234567890123456, 5e-300]}

    rows = stepped.sample(where=pl.DataFrame(given), seed=1)

    assert rows["x"].tolist() == given["x"]
    assert rows["p"].tolist() == given["p"]
    assert rows["m"].dt.date.tolist() == given["m"]


def test_a_number_that_a_rule_determines_shows_what_other_rows_of_its_cell_show():
    fields = [{"name": "a", "type": "string", "categories": ["u", "v"]}, _number("x", 1)]
    schema = Schema.load({"fields": fields, "rules": [{"determines": ["a"], "column": "x"}]})

    found = given_rows(pl.DataFrame({"x": [0.4, 0.4 + 1e-12]}), schema)

    assert found.codes["x"][0] == found.codes["x"][1]
    assert found.values["x"][0] == found.values["x"][1]


def test_rows_out_keep_the_index_of_a_pandas_frame_of_conditions(stepped):
    where = pd.DataFrame({"p": [0.25, 0.5, 1.0]}, index=pd.Index([7, 9, 8], name="case"))

    assert stepped.sample(where=where).index.equals(where.index)
    assert stepped.support(where).index.equals(where.index)
    assert stepped.sample(where=pl.DataFrame({"p": [0.25]})).index.tolist() == [0]
