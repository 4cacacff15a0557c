"""Whatever is wrong with a table, the exception leads to no value of it: not by text, chain, arguments or frames."""

import gzip
import io
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing.rows.source
from helpers import canary
from helpers.canary import NUMBER, TEXT
from lapwing.errors import DataError, LapwingError
from lapwing.release.runs.learned.settings import opened_schema
from lapwing.rows.entry import private_boundary
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "id", "type": "string", "role": "identifier"},
            {"name": "city", "type": "string", "categories": ["Graz", "Wien"]},
            {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 10}},
        ],
        "privacyUnit": {"field": "id", "maxRows": 2},
    }
)
OPENED = opened_schema(
    replace(SCHEMA, fields=(SCHEMA.fields[0], Field(name="city", type="string"), SCHEMA.fields[2]), is_draft=True),
    ("city", "pay"),
    {},
)
ROWS = {"id": [TEXT, "b", None], "city": ["Graz", TEXT, TEXT], "pay": [NUMBER, 1.0, None]}


class Angry:
    """A cell that fails, telling what it holds, however it is looked at."""

    def __str__(self):
        raise ValueError(TEXT)

    __repr__ = __bool__ = __float__ = __int__ = __len__ = __str__

    def __eq__(self, other):
        raise ValueError(TEXT)

    def __hash__(self):
        raise ValueError(TEXT)


class AngryNumber(int):
    def __int__(self):
        raise OverflowError(TEXT)

    bit_length = __int__


class AngryText(str):
    __slots__ = ()

    def __str__(self):
        raise UnicodeError(TEXT)


def fails(cell):
    raise ValueError(f"cannot convert {cell} {TEXT}")


def broken_parquet(folder):
    path = folder / "broken.parquet"
    pl.DataFrame({**ROWS, "pay": [NUMBER] * 3}).write_parquet(path, compression="uncompressed")
    content = bytearray(path.read_bytes())
    middle = content.find(TEXT.encode()) - 20
    content[middle : middle + 15] = b"\xff" * 15
    path.write_bytes(content)
    return path


def cut_off(name, content):
    def make(folder):
        path = folder / name
        path.write_bytes(content[: len(content) // 2])
        return path

    return make


def written(name, text):
    def make(folder):
        path = folder / name
        path.write_text(text)
        return path

    return make


def parquet_bytes():
    stream = io.BytesIO()
    pl.DataFrame(ROWS).write_parquet(stream)
    return stream.getvalue()


BAD_TABLES = {
    "a query with failing Python code": lambda _: pl.LazyFrame(ROWS).with_columns(
        pl.col("pay").map_elements(fails, return_dtype=pl.Float64)
    ),
    "a query with a cast that fails": lambda _: pl.LazyFrame(ROWS).with_columns(pl.col("city").cast(pl.Int64)),
    "a query on a column that is not there": lambda _: pl.LazyFrame(ROWS).filter(pl.col(TEXT) > 1),
    "a query on a number that is no date": lambda _: pl.LazyFrame(ROWS).with_columns(pl.col("id").str.to_date("%Y")),
    "cells that fail": lambda _: pd.DataFrame({**ROWS, "city": [Angry(), "Graz", TEXT]}),
    "numbers that fail": lambda _: pd.DataFrame({**ROWS, "pay": pd.Series([AngryNumber(3), 1, TEXT], dtype=object)}),
    "text that fails": lambda _: pd.DataFrame({**ROWS, "city": pd.Series([AngryText(TEXT)] * 3, dtype=object)}),
    "ids that fail": lambda _: pd.DataFrame({**ROWS, "id": pd.Series([AngryText(TEXT)] * 3, dtype=object)}),
    "half surrogates": lambda _: pd.DataFrame({**ROWS, "city": pd.Series(["\ud800" + TEXT] * 3, dtype=object)}),
    "lists in the column's type": lambda _: pl.DataFrame({**ROWS, "city": [[TEXT]] * 3}),
    "lists in Arrow": lambda _: pa.table({**ROWS, "city": [[TEXT]] * 3}),
    "lists as cells": lambda _: pd.DataFrame({**ROWS, "city": [[TEXT], {TEXT: 1}, {TEXT}]}),
    "no such column": lambda _: pl.DataFrame({"id": [TEXT], "city": [TEXT], TEXT: [NUMBER]}),
    "a column twice": lambda _: pd.DataFrame([[TEXT, TEXT, TEXT, NUMBER]], columns=["id", "city", "city", "pay"]),
    "names that are no text": lambda _: pd.DataFrame([[TEXT, TEXT, NUMBER]]),
    "no header": written("table.csv", f"{TEXT},{TEXT},3\n{TEXT},{TEXT},3\n"),
    "text named Parquet": written("table.parquet", f"id,city,pay\n{TEXT},{TEXT},{NUMBER}\n" * 9),
    "a Parquet file cut off": cut_off("table.parquet", parquet_bytes()),
    "a Parquet file with a broken page": broken_parquet,
    "a Parquet file named CSV": cut_off("table.csv", parquet_bytes() * 2),
    "a zip cut off": cut_off("table.csv.gz", gzip.compress(f"id,city,pay\n{TEXT},{TEXT},3\n".encode() * 10_000)),
    "text that is no zip": written("table.csv.gz", f"id,city,pay\n{TEXT},{TEXT},{NUMBER}\n"),
    "a quote that never ends": written("table.csv", f'id,city,pay\n{TEXT},"{TEXT},{NUMBER}\n{TEXT},Graz,1\n'),
    "quotes in odd places": written("table.csv", f'id,city,pay\n"{TEXT}" x,a"{TEXT}"b,{NUMBER}\n,"","",,\n'),
    "a dict": lambda _: {"id": TEXT, "city": TEXT, "pay": NUMBER},
    "a list of rows": lambda _: [{"id": TEXT, "city": TEXT, "pay": NUMBER}],
    "a series": lambda _: pd.Series([TEXT, TEXT]),
    "an array": lambda _: np.array([[TEXT, TEXT]]),
    "nothing": lambda _: None,
}

ODD_TABLES = (
    "lists as cells",
    "cells that fail",
    "numbers that fail",
    "text that fails",
    "half surrogates",
    "quotes in odd places",
    "a quote that never ends",
)


@private_boundary
def public_count(data, schema):
    """Stand for any public call that reads rows."""
    source = code_table(data, schema)
    tables = [((field.name, identity(field.domain)),) for field in schema.columns if field.domain.values < 10]
    told = [
        sum(map(len, source.texts(field.name))) for field in schema.columns if field.open and field.type == "string"
    ]
    return source.rows, source.units, source.count([*tables, ()]), told


def error_of(table, schema):
    """Return what counting a table raises, if anything."""
    try:
        public_count(table, schema)
    except BaseException as error:
        return error
    return None


@pytest.mark.parametrize("schema", [SCHEMA, OPENED], ids=["bounded", "opened"])
@pytest.mark.parametrize("what", BAD_TABLES)
def test_a_bad_table_gives_counts_or_an_error_without_any_value(what, schema, tmp_path, capfd):
    table = BAD_TABLES[what](tmp_path)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        error = error_of(table, schema)

    if error is not None:
        assert isinstance(error, DataError)
        assert canary.leaks(error) == []
        assert len(str(error).splitlines()) == 1
    streams = capfd.readouterr()
    assert shown == []
    assert (streams.out, streams.err) == ("", "")


@pytest.mark.parametrize("what", ["a query with failing Python code", "a Parquet file cut off"])
def test_tables_that_cannot_be_read_at_all_are_refused(what, tmp_path):
    table = BAD_TABLES[what](tmp_path)

    with pytest.raises(DataError, match="cannot be"):
        public_count(table, SCHEMA)


@pytest.mark.parametrize("what", ODD_TABLES)
def test_odd_cells_are_misfits_and_no_error(what, tmp_path):
    table = BAD_TABLES[what](tmp_path)

    rows, units, counts, _ = public_count(table, SCHEMA)

    assert rows >= 1
    assert units >= 1
    assert counts[0].sum() == rows
    assert public_count(table, OPENED)[3] == [rows]


def test_an_error_of_our_own_making_leads_to_no_row(monkeypatch):
    def broken(field):
        return fails

    monkeypatch.setattr(lapwing.rows.source, "encoder", broken)

    with pytest.raises(LapwingError) as caught:
        public_count(pl.DataFrame(ROWS), SCHEMA)

    assert canary.leaks(caught.value) == []


def test_an_error_while_texts_are_read_again_leads_to_no_row(monkeypatch):
    monkeypatch.setattr(lapwing.rows.source, "open_texts", fails)

    with pytest.raises(LapwingError) as caught:
        public_count(pl.DataFrame(ROWS), OPENED)

    assert canary.leaks(caught.value) == []


def test_without_the_boundary_the_same_error_leads_to_rows():
    """The search bites: a reader's frames do hold the table."""
    frame = pl.DataFrame({**ROWS, "city": [TEXT] * 3}).with_columns(city=pl.Series([[TEXT]] * 3))

    with pytest.raises(DataError) as caught:
        public_count.__wrapped__(frame, SCHEMA)

    assert any(leak.startswith("code_table.data") for leak in canary.leaks(caught.value))


def test_raw_cells_and_sources_show_nothing_when_printed():
    source = code_table(pl.DataFrame(ROWS), SCHEMA)
    cells = lapwing.rows.cells.texts([TEXT])

    assert TEXT not in f"{source!r} {cells!r} {cells}"


def test_a_cached_source_does_not_keep_the_table_alive():
    frame = pd.DataFrame(ROWS)
    source = code_table(frame, SCHEMA)

    assert not canary.holds_canary([source])
    assert canary.holds_canary([frame])
    assert source.rows == 3
