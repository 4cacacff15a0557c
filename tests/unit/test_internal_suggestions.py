import datetime as dt
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers.command import lapwing
from lapwing.extras.evaluate.internal.schemas import draft_schema
from lapwing.extras.evaluate.internal.suggestions import suggest

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


def test_columns_whose_values_may_name_rows_are_told_apart():
    found = suggest(TABLE, draft_schema(TABLE).value).value

    assert {each.name for each in found if any("identifier" in advice for advice in each.advice)} == {
        *("person", "row", "days")
    }
    assert {each.name for each in found if each.answer == "id"} == {"person", "row"}  # amounts of days are no names


@pytest.mark.parametrize(
    ("values", "rows", "says"),
    [
        (95, 128, "many"),
        (95, 190, "few"),
        (101, 10_000, "many"),
        (12, 12, "few"),
    ],
)
def test_texts_are_few_or_many_by_their_share_of_the_rows(values, rows, says):
    cells = [f"town {chr(97 + row % values // 26)}{chr(97 + row % values % 26)}" for row in range(rows)]

    assert f"{says} texts: " in said(pl.DataFrame({"x": cells}), "x")


@pytest.mark.parametrize(
    ("numbers", "says", "is_said"),
    [
        ([*range(0, 98, 2)] * 4 + [99] * 9, "99 may be a code", True),
        ([*range(0, 98, 2)] * 4 + [97] * 9, "may be a code", False),
        ([*range(0, 18, 2)] * 9 + [9, 11, 13, 15, 19] * 9, "may be a code", False),
        ([-1] * 9 + [*range(20)] * 4, "-1 may be a code", True),
        ([-1] * 9 + [-7] + [*range(20)] * 4, "may be a code", False),
        ([*range(20)] * 4 + [500] * 9, "500 may be a code", True),
        ([0] * 60 + [*range(1, 20), 10**6], 'scale "log"', False),
        ([1] * 60 + [*range(1, 20), 10**6], 'scale "log"', True),
        ([each + 0.000012 for each in range(20)], "all in steps of 1e-06", True),
        ([each + 0.0000001 for each in range(20)], "only whole numbers", True),
        ([each + 0.00000123 for each in range(20)], "in steps of", False),
        ([each * 1e-9 / 3 for each in range(100)], "only whole numbers", False),
    ],
)
def test_codes_sizes_and_steps_of_numbers_are_told(numbers, says, is_said):
    assert (says in said(pl.DataFrame({"x": numbers}), "x")) == is_said


@pytest.mark.parametrize("written", ["1e999", "-1e999", "9" * 400])
def test_a_number_that_reads_as_infinite_is_none(written, tmp_path):
    (tmp_path / "d.csv").write_text(f"v\n{written}\n" + "5\n7.5\n" * 30)

    found = suggested(tmp_path / "d.csv")["v"]

    assert (found.missing, found.within) == (1, "0 to 10")


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (
            ["3", "41", "NA", ""],
            'numbers but for a few texts: type integer, and those texts into missingValues, such as ["", "NA"]',
        ),
        (["3", "4.5", "?", "n/a"], 'type number, and those texts into missingValues, such as ["", "?", "n/a"]'),
        ([*map(str, range(99)), "canary", "NA"], 'into missingValues, such as ["", "NA"] (codes'),
        ([*map(str, range(99)), "canary"], 'into missingValues beside "" (codes'),
        (["2011-12-31", "2012-01-31", "."], "dates but for a few texts: type date, and those texts into missingValues"),
        (["2011-12-31 12:00", "2012-01-31", "NULL"], "dates but for a few texts: type datetime"),
        (["2011-12-31", "2012-01-31"], "all are dates: type date"),
        (["31.12.2011", "1.2.2012", "NA"], "look like dates: write them as 2011-12-31"),
        (["12/31/2011", "1/2/2012 10:30"], "look like dates"),
        (["12/31/11", "1/2/12"], "look like dates"),
        (["2011/12/31", "2012/1/2"], "look like dates"),
    ],
)
def test_texts_that_are_numbers_or_dates_are_told_so_and_nothing_that_is_said_of_texts(cells, says):
    found = said(pl.DataFrame({"x": cells}), "x")

    assert says in found
    assert "many texts" not in found
    assert "few texts: list" not in found
    assert "canary" not in found


@pytest.mark.parametrize(
    "cells",
    [
        ["north", "NA"],
        ["true", "false", "NA"],
        ["1", "2", "3", "north"],
        [*map(str, range(90)), *(f"V{code}" for code in range(6))],
        ["1.2.99999", "3.40.20"],
        ["2011-13-31", "2011-12-32"],
    ],
    ids=["names", "truths", "a code", "codes", "versions", "no days"],
)
def test_texts_that_are_no_numbers_and_no_dates_are_not_taken_for_them(cells):
    found = said(pl.DataFrame({"x": cells}), "x")

    assert re.search("(few|many) texts: ", found)
    assert "type " not in found
    assert "dates" not in found


def test_only_markers_of_the_public_list_are_named_as_what_may_stand_for_missing():
    found = suggested(pl.DataFrame({"ward": ["north", "?", "Unknown", "canary", "un-known"]}))["ward"]

    assert "may stand for missing: ? Unknown" in found.advice
    assert "canary" not in str(found)
    assert "may stand" not in said(TABLE, "ward")


def test_moments_that_are_all_at_midnight_are_days():
    days = [dt.datetime(2019, 7, 1) + dt.timedelta(days=day) for day in range(9)]

    assert "all at midnight: type date" in said(pl.DataFrame({"seen": days}), "seen")
    assert "midnight" not in said(pl.DataFrame({"seen": [*days, dt.datetime(2020, 1, 1, 0, 1)]}), "seen")
    assert "midnight" not in said(TABLE, "born")


def test_a_column_may_be_required_where_no_cell_is_empty_nor_holds_a_marker():
    cells = {"full": ["a", "b"], "blank": ["a", ""], "null": ["a", None], "marked": ["a", "NA"], "number": [1, 2]}
    found = suggested(pl.DataFrame(cells))

    names = [name for name in cells if "no cell is empty: required, if none can be" in found[name].advice]

    assert names == ["full", "number"]


@pytest.mark.parametrize(("sign", "named"), [(";", '";"'), ("\t", "the tab"), ("|", '"|"')])
def test_a_lone_column_whose_name_is_a_line_of_names_is_asked_for_the_separator(sign, named):
    name = sign.join(["ID", "Age"])
    table = pl.DataFrame({name: [sign.join(["1", "30"]), sign.join(["2", "40"])]})

    assert suggested(table)[name].advice == (f"is {named} the separator of the file? read the file with it",)
    assert "separator" not in said(table.with_columns(other=1), name)


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
        # A text may be called missing; a number of a typed table is a value of its own.
        alike = {name: replace(found[name], answer=found[name].answer.replace("missing", "special")) for name in names}
        assert alike == {name: expected[name] for name in names}


def test_cells_that_cannot_be_read_are_counted_as_empty():
    found = suggested(pl.DataFrame({"x": [1.0, float("nan"), float("inf"), None, -3.0]}))["x"]

    assert (found.cells, found.missing, found.distinct, found.within) == (5, 3, 2, "-10 to 1")


def test_rows_beyond_the_first_million_are_looked_at():
    found = suggested(pl.DataFrame({"x": np.r_[np.zeros(2**20, dtype=np.int64), [7]]}))["x"]

    assert (found.cells, found.distinct) == (2**20 + 1, 2)


def test_a_table_without_rows_is_no_error():
    assert suggested(TABLE.clear())["ward"].advice == ("no row",)


def test_the_command_prints_suggestions_as_internal_and_the_draft_holds_none_of_them(tmp_path):
    TABLE.write_parquet(tmp_path / "t.parquet")

    ran = lapwing("schema", "draft", tmp_path / "t.parquet", "-o", tmp_path / "s.json")

    assert ran.status == 0
    assert ran.out.startswith("\ninternal - do not publish\n")
    assert "- few texts: list all that can occur, from a code book: ward" in ran.out
    assert "--epsilon E --delta D -o NEW.json` learns them (a list of texts needs the delta)" in ran.err
    drafted = (tmp_path / "s.json").read_text()
    assert "10000" not in drafted
    assert drafted.count('"provenance": "drafted"') == len(TABLE.columns)
