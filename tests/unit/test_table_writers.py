"""Rows out: the kinds of frame, and files that are streamed."""

import datetime as dt
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lapwing.errors import DataError
from lapwing.rows.out.writers import to_frame_kind, write_rows

FRAME = pl.DataFrame(
    {
        "number": [0.5, None],
        "count": [3, None],
        "flag": [True, None],
        "text": ['a,b\n"c"', None],
        "day": [dt.date(2020, 2, 29), None],
        "moment": [dt.datetime(2020, 2, 29, 1, 2, 3, 4), None],
    },
    schema_overrides={"moment": pl.Datetime("us")},
)


def test_pandas_gets_nullable_types():
    frame = to_frame_kind(FRAME, "pandas")

    assert isinstance(frame, pd.DataFrame)
    assert [str(kind) for kind in frame.dtypes] == [
        "Float64", "Int64", "boolean", "string", "datetime64[us]", "datetime64[us]",
    ]  # fmt: skip
    assert frame.iloc[0].tolist() == [0.5, 3, True, 'a,b\n"c"', pd.Timestamp("2020-02-29"), FRAME["moment"][0]]
    assert frame.isna().iloc[1].all()


def test_pandas_frames_may_be_written_to():
    frame = to_frame_kind(FRAME, "pandas")

    frame.loc[1, "number"] = 2.0
    frame.loc[1, "count"] = 2

    assert frame["number"].tolist() == [0.5, 2.0]
    assert FRAME["number"].to_list() == [0.5, None]


def test_pyarrow_and_polars_get_their_own():
    assert to_frame_kind(FRAME, "pyarrow").column("text").type == pa.large_string()
    assert to_frame_kind(FRAME, "polars") is FRAME
    assert to_frame_kind(FRAME, "path") is FRAME


def test_pandas_needs_no_pyarrow_and_nothing_imports_pandas_by_itself():
    program = """
import sys
class Missing:  # None in sys.modules would be taken for PyArrow by pandas 2.3.0
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
import polars as pl
import lapwing.rows.source, lapwing.rows.out.writers, lapwing.rows.out.decode
assert "pandas" not in sys.modules and "scipy" not in sys.modules
import pandas as pd
from lapwing.schema.schemas import Schema
schema = Schema.from_dict({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
cells = ["f", None, "m"]
for column in (pd.Series(cells), pd.Series(cells, dtype="string"), pd.Categorical(cells)):
    source = lapwing.rows.source.code_table(pd.DataFrame({"sex": column}), schema)
    assert [chunk["sex"].tolist() for chunk in source.chunks()] == [[0, 2, 1]]
frame = lapwing.rows.out.writers.to_frame_kind(pl.DataFrame({"a": ["x", None], "b": [1, None]}), "pandas")
assert [str(kind) for kind in frame.dtypes] == ["string", "Int64"]
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_frames_are_written_one_after_the_other(format, tmp_path):
    path = tmp_path / f"rows.{format}"
    path.write_text("an earlier file, longer than the new one" * 100)
    frames = [FRAME, FRAME.clear(), FRAME.reverse()]

    write_rows(iter(frames), path, format)

    whole = pl.concat(frames)
    if format == "parquet":
        assert pl.read_parquet(path).equals(whole)
    else:
        assert pl.read_csv(path, schema=FRAME.schema).equals(whole)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_frame_without_rows_makes_a_file_with_columns(format, tmp_path):
    path = tmp_path / f"rows.{format}"

    write_rows(iter([FRAME.clear()]), path, format)

    read = pl.read_parquet(path) if format == "parquet" else pl.read_csv(path)
    assert read.columns == FRAME.columns
    assert read.height == 0


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("target", "reason"),
    [("missing/rows", "No such file or directory"), ("", "Is a directory"), ("/dev/full", "No space left on device")],
)
def test_a_target_that_cannot_be_written_is_named_with_the_systems_reason(format, target, reason, tmp_path):
    path = tmp_path / target

    with pytest.raises(DataError) as caught:
        write_rows(iter([FRAME]), path, format)

    assert str(caught.value).startswith(f"{path} cannot be written ({reason}); ")
    assert caught.value.__context__ is None


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("error", [DataError("no more rows"), KeyboardInterrupt()])
def test_an_error_in_drawing_rows_comes_through(error, format, tmp_path):
    def frames():
        yield FRAME
        raise error

    with pytest.raises(type(error)):
        write_rows(frames(), tmp_path / "rows", format)
