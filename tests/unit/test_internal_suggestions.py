import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers.command import lapwing
from lapwing.internal.draft import draft_schema
from lapwing.internal.suggestions import MOST_ROWS, suggest

ROWS = 400
EVERY = np.arange(ROWS)
TABLE = pl.DataFrame(
    {
        "person": [f"canary{row // 2}" for row in EVERY],
        "row": EVERY + 5_000,
        "ward": [("north", "south")[row % 2] for row in EVERY],
        "code": EVERY % 3,
        "score": np.where(EVERY % 20 == 0, -1, 20 + EVERY % 60),
        "days": np.where(EVERY % 2 == 0, 0, EVERY),
        "income": 10.0 + 1e7 * (EVERY == 7) + EVERY / 1024,
        "price": np.round(EVERY / 4, 2),
        "born": [dt.date(1987, 1, 1) + dt.timedelta(days=int(row)) for row in EVERY],
        "same": ["x"] * ROWS,
        "empty": pl.Series([None] * ROWS, dtype=pl.Int64),
    }
)


def suggested(data):
    return {each.name: each for each in suggest(data, draft_schema(data).value).value}


def said(data, name):
    return " | ".join(suggested(data)[name].advice)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("person", "if they name people"),
        ("row", "nearly every row has a value of its own"),
        ("ward", "few texts: list all that can occur"),
        ("code", "few numbers: if they are codes"),
        ("score", "-1 may be a code and no number"),
        ("days", "many zeros among other numbers"),
        ("income", 'scale "log"'),
        ("price", "all in steps of 0.01"),
        ("same", "one value only"),
        ("empty", "no cell can be read"),
    ],
)
def test_each_column_is_told_what_its_field_may_need(name, says):
    assert says in said(TABLE, name)


def test_a_column_with_nothing_odd_about_it_gets_no_advice():
    assert suggested(pl.DataFrame({"age": [20 + row % 50 for row in range(ROWS)]}))["age"].advice == ()


def test_ranges_are_shown_by_powers_of_ten_and_decades_only():
    found = suggested(TABLE)

    assert [found[name].within for name in ("row", "score", "income", "born", "ward")] == [
        *("0 to 10000", "-1 to 100", "0 to 1e+08", "1980 to 1989", "")
    ]


def test_no_text_of_a_cell_is_in_a_suggestion():
    assert "canary" not in str(suggested(TABLE)) + str(suggested(TABLE.select("person", "ward")))
    assert "north" not in str(suggested(TABLE))


def test_files_and_frames_of_every_kind_say_the_same(tmp_path):
    TABLE.write_parquet(tmp_path / "t.parquet")
    TABLE.write_csv(tmp_path / "t.csv")
    frames = [
        TABLE.lazy(),
        TABLE.to_arrow(),
        TABLE.drop("born").to_pandas(),
        tmp_path / "t.parquet",
        tmp_path / "t.csv",
    ]

    expected = suggested(TABLE)

    for frame in frames:
        names = set(expected) - {"empty"} - ({"born"} if isinstance(frame, pd.DataFrame) else set())
        found = suggested(frame)
        assert {name: found[name] for name in names} == {name: expected[name] for name in names}


def test_cells_that_cannot_be_read_are_counted_as_empty():
    found = suggested(pl.DataFrame({"x": [1.0, float("nan"), float("inf"), None, -3.0]}))["x"]

    assert (found.cells, found.missing, found.distinct, found.within) == (5, 3, 2, "-10 to 1")


def test_only_the_first_rows_are_looked_at():
    found = suggested(pl.DataFrame({"x": np.r_[np.zeros(MOST_ROWS, dtype=np.int64), [7]]}))["x"]

    assert (found.cells, found.distinct) == (MOST_ROWS, 1)


def test_a_table_without_rows_is_no_error():
    assert suggested(TABLE.clear())["ward"].advice == ("no row",)


def test_the_command_prints_suggestions_as_internal_and_the_draft_holds_none_of_them(tmp_path):
    TABLE.write_parquet(tmp_path / "t.parquet")

    ran = lapwing("schema", "draft", tmp_path / "t.parquet", "-o", tmp_path / "s.json")

    assert ran.status == 0
    assert ran.out.startswith("\ninternal - do not publish\n")
    assert "- few texts: list all that can occur, from a code book: ward" in ran.out
    assert "`lapwing schema learn" in ran.err
    drafted = (tmp_path / "s.json").read_text()
    assert "10000" not in drafted
    assert drafted.count('"provenance": "drafted"') == len(TABLE.columns)
