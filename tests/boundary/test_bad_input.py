"""Bad tables and targets are refused in one clear sentence, and no planted value shows anywhere.

The rest of issue 2's list of bad input is in test_odd_input.py and test_bad_settings.py.
"""

import contextlib
import os
import shutil
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers import planted_values as canary
from helpers.bad_input import FORMS, assert_hidden, assert_refused, command, in_form, save_schema, synthesize
from helpers.planted_values import TEXT, table, watched
from lapwing.errors import DataError


@pytest.mark.parametrize("form", [form for form in FORMS if form != "two files"])
def test_a_column_that_is_not_there_is_refused(place, capfd, form):
    data = in_form(table().drop("age"), form, place)
    save_schema()

    outcome = synthesize(data)

    assert_refused(outcome, DataError, 'no column "age"')
    if isinstance(data, Path):
        assert 'no column "age"' in command(data).error
    assert_hidden(outcome, capfd, place, [place / "data.csv", place / "data.parquet"])


@pytest.mark.parametrize("form", ["polars", "lazy", "pandas", "arrow", "parquet"])
@pytest.mark.parametrize("cell", [[TEXT], {"inner": TEXT}], ids=["list", "record"])
def test_a_nested_column_is_refused(place, capfd, form, cell):
    data = in_form(table().with_columns(pl.Series("sex", [cell] * 40)), form, place)
    save_schema()

    outcome = synthesize(data)

    if form == "pandas":
        assert outcome.error is None, "an object column may hold anything: its cells are misfits"
    else:
        assert_refused(outcome, DataError, 'column "sex" holds several values per cell')
    if isinstance(data, Path):
        assert "several values per cell" in command(data).error
    assert_hidden(outcome, capfd, place, [place / "data.parquet"])


@pytest.mark.parametrize(
    "data",
    [42, TEXT.encode(), [1, 2], [], None, {"age": [canary.WHOLE]}, {TEXT}, pl.Series("age", [canary.WHOLE]), object()],
    ids=["number", "bytes", "list", "nothing in a list", "none", "mapping", "set", "series", "object"],
)
def test_what_is_no_table_is_refused(place, capfd, data):
    outcome = synthesize(data)

    assert_refused(outcome, DataError, "is not a table")
    assert_hidden(outcome, capfd, place)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("data.parquet", TEXT.encode() * 100, "cannot be read as Parquet"),
        ("data.parquet", b"", "cannot be read as Parquet"),
        ("data.parquet", b"PAR1" + TEXT.encode() * 10 + b"PAR1", "cannot be read as Parquet"),
        ("data.csv", b"", "is empty"),
        ("data.csv", TEXT.encode() + b"," + TEXT.encode() + b"\n", "no column"),
        ("data.csv", b"\x00" * 100 + TEXT.encode(), "begins with zero bytes"),
        ("data.xlsx", TEXT.encode(), "cannot be read as an Excel or OpenDocument workbook"),
        ("data.sav", TEXT.encode(), "cannot be read as one of SPSS"),
        ("data.arrow", TEXT.encode(), "cannot be read as"),
        ("data.docx", TEXT.encode(), "of no known kind"),
        ("data", TEXT.encode(), "of no known kind"),
        ("data.csv.gz", TEXT.encode(), "cannot be read as text"),
        ("data.csv", b"person,age,age,height,sex,smokes,born,seen\n" + TEXT.encode(), 'more than one column "age"'),
    ],
)
def test_a_file_that_is_no_table_is_refused(place, capfd, name, content, says):
    Path(name).write_bytes(content)
    save_schema()

    outcome = synthesize(name)

    assert_refused(outcome, DataError, says)
    assert says in command(name).error
    assert_hidden(outcome, capfd, place, [place / name])


def test_a_truncated_parquet_file_is_refused(place, capfd):
    data = in_form(table(2000), "parquet", place)
    data.write_bytes(data.read_bytes()[:-100])
    save_schema()

    outcome = synthesize(data)

    assert_refused(outcome, DataError, "cannot be read as Parquet")
    assert "cannot be read as Parquet" in command(data).error
    assert_hidden(outcome, capfd, place, [data])


@pytest.mark.parametrize("data", ["nowhere.csv", "nowhere/*.parquet", ".", ""])
def test_a_file_that_is_not_there_is_refused(place, capfd, data):
    save_schema()

    outcome = synthesize(data)

    assert_refused(outcome, DataError, "give the path of")
    assert "give the path of" in command(data).error
    assert_hidden(outcome, capfd, place)


def test_columns_of_one_name_are_refused(place, capfd):
    data = table().to_pandas().rename(columns={"height": "age"})

    outcome = synthesize(data)

    assert_refused(outcome, DataError, "column")
    assert_hidden(outcome, capfd, place)


@pytest.mark.parametrize("columns", [range(7), [(TEXT, name) for name in table().columns]], ids=["numbers", "levels"])
def test_column_names_that_are_no_text_are_refused(place, capfd, columns):
    data = table().to_pandas()
    data.columns = pd.MultiIndex.from_tuples(columns) if isinstance(columns, list) else columns

    outcome = synthesize(data)

    assert_refused(outcome, DataError, "column names that are not text")
    assert_hidden(outcome, capfd, place)


def failing_queries():
    def fail(frame):
        raise ValueError(TEXT)

    lazy = table().lazy()
    return {
        "cast": lazy.with_columns(age=pl.col("sex").cast(pl.Int64)),
        "function": lazy.with_columns(pl.col("age").map_batches(fail, return_dtype=pl.Int64)),
        "missing column": lazy.with_columns(age=pl.col(TEXT)).drop("sex"),
        "date": lazy.with_columns(born=pl.col("sex").str.to_date("%Y", strict=True)),
    }


@pytest.mark.parametrize("name", failing_queries())
def test_a_query_that_fails_on_a_value_does_not_show_it(place, capfd, name):
    outcome = synthesize(failing_queries()[name])

    assert_refused(outcome, DataError, "the lazy frame cannot be run")
    assert_hidden(outcome, capfd, place)


@pytest.mark.parametrize(
    ("option", "target"),
    [
        ("-o", "/proc/out.csv"),
        ("-o", "folder.csv"),
        ("-o", "nowhere/out.csv"),
        ("--model", "/proc/m.lapwing"),
        ("--certificate", "/dev/full"),
        ("--transcript", "/proc/t.jsonl"),
        ("-o", "data.parquet"),
    ],
)
def test_a_target_that_cannot_be_written_is_refused(place, capfd, option, target):
    data = in_form(table(), "parquet", place)
    save_schema()
    Path("folder.csv").mkdir()

    said = command(data, "s.json", "--epsilon", "1", option, target)

    assert said.status == 1
    assert (target if target != "nowhere/out.csv" else "the folder nowhere does not exist") in said.error
    assert_hidden(watched(lambda: None), capfd, place, [data])


@contextlib.contextmanager
def as_ordinary_user():
    """Do without root's right to write everywhere."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="a folder cannot be made read-only here")
def test_a_read_only_folder_is_refused(capfd, monkeypatch):
    place = Path(tempfile.mkdtemp(prefix="lapwing-read-only-", dir="/tmp"))  # pytest's folders are for root alone
    monkeypatch.chdir(place)
    data = in_form(table(), "parquet", place)
    save_schema()
    assert command(data, "s.json", "--epsilon", "1", "--no-certificate").status == 0
    place.chmod(0o555)

    with as_ordinary_user():
        said = command(data)
    place.chmod(0o700)

    assert "out.csv cannot be written (Permission denied)" in said.error
    assert_hidden(watched(lambda: None), capfd, place, [data])
    shutil.rmtree(place)


@pytest.mark.parametrize("target", ["/proc/m.lapwing", "nowhere/m.lapwing", "folder"])
def test_a_model_that_cannot_be_saved_is_one_sentence(place, capfd, target):
    release = synthesize(table()).value
    Path("folder").mkdir()

    outcome = watched(lambda: release.save(target))

    assert_refused(outcome, DataError, "cannot be written")
    assert_hidden(outcome, capfd, place)


# -------------------------------------------------------------------------------------------- the harness itself


LEAKING_CODE = """
def leak(rows, how):
    if how == "text":
        raise ValueError(str(rows[0, 0]))
    if how == "chain":
        try:
            int(rows[0, 0])
        except ValueError:
            raise KeyError("column") from None
    if how == "frame":
        raise KeyError("column")
    if how == "closure":
        look = lambda found=rows: found
        del rows
        raise KeyError("column")
"""


@pytest.mark.parametrize("how", ["text", "chain", "frame", "closure"])
def test_a_planted_leak_in_an_exception_is_found(how):
    planted = {}
    exec(compile(LEAKING_CODE, str(canary.PACKAGE / "planted.py"), "exec"), planted)
    rows = table()

    outcome = watched(lambda: planted["leak"](rows, how))

    assert TEXT in canary.traces_in_exception(outcome.error)


def test_a_planted_leak_in_a_file_is_found(place):
    table().write_parquet("rows.parquet")
    with zipfile.ZipFile("m.lapwing", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", TEXT)
    np.save("counts.npy", np.array([canary.WHOLE]))

    found = canary.traces_in_files(place, but=set())

    assert {line.split(":")[0] for line in found} == {"rows.parquet", "m.lapwing", "counts.npy"}


def test_a_planted_leak_in_a_warning_is_found():
    outcome = watched(lambda: warnings.warn(TEXT, stacklevel=1))

    assert canary.traces_in(outcome.warned) == [TEXT]
