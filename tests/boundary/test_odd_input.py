"""Odd input gives a valid release, and no planted value shows anywhere; commands run the default mechanism."""

import itertools
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from helpers import planted_values as canary
from helpers.bad_input import FORMS, assert_hidden, command, in_form, save_schema, synthesize
from helpers.planted_values import SCHEMA, TEXT, table, watched


class Unprintable:
    """A cell that gives itself away when it is printed or compared."""

    def __repr__(self):
        raise ValueError(TEXT)

    __str__ = __repr__
    __eq__ = __float__ = __int__ = __hash__ = lambda self, *_: repr(self)


def odd_tables():
    whole = table()
    text = pl.DataFrame({name: [TEXT] * 30 for name in whole.columns})
    return {
        "empty": whole[:0],
        "one row": whole[:1],
        "constant columns": pl.concat([whole[:1]] * 30),
        "nothing but missing": whole.select(
            pl.lit(None, dtype=kind).alias(name) for name, kind in whole.schema.items()
        ),
        "text in every column": text,
        "more columns than the schema": whole.with_columns(pl.lit(TEXT).alias(TEXT)),
        "nested column that the schema does not name": whole.with_columns(pl.lit([[TEXT]]).alias("other")),
        "columns in another order": whole.select(reversed(whole.columns)),
        "numbers far out": whole.with_columns(age=pl.lit(canary.WHOLE), height=pl.lit(float("inf"))),
        "not a number": whole.with_columns(age=pl.lit(float("nan")), height=pl.lit(float("nan"))),
        "moments in another zone": whole.with_columns(pl.col("seen").dt.replace_time_zone("Asia/Tokyo")),
    }


@pytest.mark.parametrize(
    ("name", "form"),
    [
        (name, form)
        for place, name in enumerate(odd_tables())
        for form in (FORMS[place % len(FORMS)], FORMS[(place + 3) % len(FORMS)])
    ],
)
def test_an_odd_table_gives_a_valid_release_in_python(place, capfd, name, form):
    frame = odd_tables()[name]
    if form in ("csv", "two files") and any(dtype.is_nested() for dtype in frame.dtypes):
        frame = frame.drop("other")
    data = in_form(frame, form, place)

    outcome = synthesize(data, mechanism="Independent")

    assert outcome.error is None, outcome.error
    rows = outcome.value.sample(50)
    assert len(rows) == 50
    assert list(rows.columns if hasattr(rows, "columns") and form != "arrow" else rows.column_names) == [
        field["name"] for field in SCHEMA["fields"]
    ]
    assert canary.traces_in(repr(outcome.value) + str(rows)) == []
    outcome.value.save("m.lapwing")
    assert_hidden(outcome, capfd, place, data if isinstance(data, list) else [data] if isinstance(data, Path) else [])


@pytest.mark.parametrize(("name", "form"), list(zip(odd_tables(), itertools.cycle(["csv", "parquet"]), strict=False)))
def test_an_odd_table_gives_a_valid_release_on_the_command_line(place, capfd, name, form):
    frame = odd_tables()[name]
    if form == "csv" and any(dtype.is_nested() for dtype in frame.dtypes):
        frame = frame.drop("other")
    data = in_form(frame, form, place)
    save_schema()

    said = command(data, "s.json", "--epsilon", "1", "--model", "m.lapwing", "--transcript", "t.jsonl")

    assert said.status == 0, said.err
    assert_hidden(watched(lambda: None), capfd, place, [data])


@pytest.mark.parametrize(
    "content",
    [
        f"person,age,height,sex,smokes,born,seen\n{TEXT}\n{TEXT},1,2\n",
        f'person,age,height,sex,smokes,born,seen\n"{TEXT},1,2,f,true,,\n"{TEXT}',
        f"person,age,height,sex,smokes,born,seen\n{TEXT},1,2,f,true,,,{TEXT},{TEXT}\n\n\n",
        f"person,age,height,sex,smokes,born,seen\n{TEXT}\x00,\x00,{TEXT},f,1,1,1\n",
        f"person,age,height,sex,smokes,born,seen\r{TEXT},1,1,f,true,,\r",
        f"\ufeffperson,age,height,sex,smokes,born,seen\n{TEXT},1,1,f,true,,\n",
        f"person,age,height,sex,smokes,born,seen\n{TEXT * 30_000},1,1,f,true,,\n",
    ],
    ids=["ragged", "open quote", "too long", "zeros", "carriage returns", "byte order mark", "huge cell"],
)
def test_a_ragged_csv_file_gives_a_valid_release(place, capfd, content):
    Path("data.csv").write_text(content, newline="")
    save_schema()

    outcome = synthesize("data.csv", mechanism="Independent")
    said = command("data.csv")

    assert outcome.error is None, outcome.error
    assert said.status == 0, said.err
    assert_hidden(outcome, capfd, place, [place / "data.csv"])


def test_bytes_that_are_no_text_give_a_valid_release(place, capfd):
    Path("data.csv").write_bytes(
        b"person,age,height,sex,smokes,born,seen\n\xff\xfe\x80" + TEXT.encode() + b",\xc3,1,f,,,\n"
    )

    outcome = synthesize("data.csv", mechanism="Independent")

    assert outcome.error is None
    assert_hidden(outcome, capfd, place, [place / "data.csv"])


def test_cells_of_unknown_types_give_a_valid_release(place, capfd):
    cells = [Unprintable(), {TEXT: 1}, b"CANARY", object(), 10**400, complex(1, 1), TEXT]
    data = pd.DataFrame({field["name"]: pd.Series(cells, dtype=object) for field in SCHEMA["fields"]})

    outcome = synthesize(data, mechanism="Independent")

    assert outcome.error is None, outcome.error
    assert_hidden(outcome, capfd, place)


def test_a_million_categories_give_a_valid_release(place, capfd):
    schema = {"fields": [{"name": "sex", "type": "string", "categories": [f"c{number}" for number in range(10**6)]}]}
    data = in_form(table().select("sex"), "parquet", place)
    save_schema(schema)

    said = command(data)

    assert said.status == 0, said.err
    assert_hidden(watched(lambda: None), capfd, place, [data, place / "s.json"])
