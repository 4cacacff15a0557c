"""Tables that are changed while their rows are in use: files are refused, frames stay as they were given."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest

from lapwing.errors import DataError
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict({"fields": [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}]})
ROWS = pl.DataFrame({"x": [3, 4] * 500})
OTHERS = pl.DataFrame({"x": [4, 3] * 700})
GIVEN = {
    "CSV": ("csv", lambda path: path),
    "Parquet": ("parquet", lambda path: path),
    "a list": ("parquet", lambda path: [path, path]),
    "a folder": ("csv", lambda path: path.parent),
    "a dataset": ("parquet", ds.dataset),
    "several datasets": ("parquet", lambda path: ds.dataset([ds.dataset(path), ds.dataset(path)])),
}


def write(path, rows):
    rows.write_csv(path) if path.suffix == ".csv" else rows.write_parquet(path)


def replaced(path, rows):
    write(path.with_stem("other"), rows)
    os.replace(path.with_stem("other"), path)


def written_again(path, rows):
    before = path.stat().st_mtime_ns
    write(path, rows)
    os.utime(path, ns=(before, before + 1))  # as soon as a clock may tell


def taken_away(path, _):
    path.unlink()


@pytest.mark.parametrize("rows", [ROWS, OTHERS], ids=["the same rows", "others"])
@pytest.mark.parametrize("change", [replaced, written_again, taken_away])
@pytest.mark.parametrize("given", GIVEN)
def test_files_that_change_between_two_passes_are_refused_whatever_is_in_them(given, change, rows, tmp_path):
    kind, form = GIVEN[given]
    path = tmp_path / f"rows.{kind}"
    write(path, ROWS)
    source = code_table(form(path), SCHEMA, chunk_rows=100)
    times = 2 if given in {"a list", "several datasets"} else 1
    assert source.count([()])[0].tolist() == [1000 * times]

    change(path, rows)

    with pytest.raises(DataError, match=r"^file .*rows\..* was changed while its rows were in use; let nobody"):
        source.count([()])


@pytest.mark.parametrize("given", ["CSV", "Parquet", "a dataset"])
def test_a_file_that_changes_within_a_pass_is_refused_at_its_end(given, tmp_path):
    kind, form = GIVEN[given]
    path = tmp_path / f"rows.{kind}"
    write(path, ROWS)
    chunks = code_table(form(path), SCHEMA, chunk_rows=100).chunks()
    next(chunks)

    os.utime(path, ns=(0, 0))

    with pytest.raises(DataError, match="was changed while its rows were in use"):
        list(chunks)


def changed_polars(frame):
    frame[0, "x"] = 9
    frame.extend(frame)
    frame.drop_in_place("x")


def changed_pandas(frame):
    frame.loc[len(frame)] = 9
    if int(pd.__version__.partition(".")[0]) > 2:  # the one before shares what is written in place
        frame.iloc[0, 0] = 9
    frame["x"] = 1


@pytest.mark.parametrize(
    ("frame", "change"), [(ROWS.clone(), changed_polars), (ROWS.to_pandas(), changed_pandas)], ids=["Polars", "pandas"]
)
def test_a_frame_that_is_changed_in_place_is_read_as_it_was_given(frame, change):
    source = code_table(frame, SCHEMA, chunk_rows=100)

    change(frame)

    found = np.concatenate([chunk["x"] for chunk in source.chunks()])
    assert found.tolist() == ROWS["x"].to_list()
