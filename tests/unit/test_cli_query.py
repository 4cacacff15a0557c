"""query: the table, its intervals, and what it says where there are none."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing

SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
        {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}},
        {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    ]
}
DATA = pl.DataFrame(
    {
        "age": [value % 90 for value in range(400)],
        "sex": ["f", "m"] * 200,
        "day": [dt.date(2020, 1, 1) + dt.timedelta(days=row % 366) for row in range(400)],
    }
)


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Return what saves a release in the working folder, and gives its path."""
    monkeypatch.chdir(tmp_path)

    def save(mechanism):
        lw.synthesize(DATA, SCHEMA, epsilon=50, mechanism=mechanism).save("m.lapwing")
        return Path("m.lapwing")

    return save


@pytest.fixture
def model(saved):
    return saved("Independent")


def test_query_says_on_one_line_where_no_interval_is_known(model):
    apart = lapwing("query", model, "--column", "sex", "--column", "age", "--groups", "3")
    quiet = lapwing("--quiet", "query", model, "--column", "sex", "--column", "age")

    assert apart.err == "lapwing: no noisy answer covers 6 of 6 cells\n"
    assert all(line.endswith("-      -  no noisy answer covers it") for line in apart.out.splitlines()[1:])
    assert (quiet.status, quiet.err) == (0, "")


def test_query_says_how_to_see_cells_that_were_counted(saved):
    model = saved(lw.PMM(depth=6))

    said = lapwing("query", model, "--column", "day")

    assert said.err.startswith("lapwing: no noisy answer covers ")
    assert said.err.endswith(" of 21 cells; --groups measured shows the cells that were counted\n")
    assert lapwing("query", model, "--column", "day", "--groups", "measured").err == ""
