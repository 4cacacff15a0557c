"""Tables are opened, or refused with one sentence that names schema and file and nothing else."""

import gzip
import os

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lapwing.errors import DataError
from lapwing.rows.entry import source_of
from lapwing.rows.source import code_table
from lapwing.schema.fields import PrivacyUnit
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        ]
    }
)
ROWS = {"sex": ["f", "m", None], "extra": ["x", "y", "z"], "age": [7, 8, None]}
CODES = {"sex": [0, 1, 2], "age": [7, 8, 100]}


def codes(data, schema=SCHEMA):
    chunks = list(code_table(data, schema).chunks())
    return {name: np.concatenate([chunk[name] for chunk in chunks]).tolist() for name in chunks[0]}


def refusal(data, schema=SCHEMA):
    with pytest.raises(DataError) as caught:
        source_of(data).open(schema)
    return str(caught.value)


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "rows.parquet"
    pl.DataFrame(ROWS).write_parquet(path)
    return path


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "rows.csv"
    pl.DataFrame(ROWS).write_csv(path)
    return path


# ------------------------------------------------------------------------------------------------ kinds of tables


def test_the_kind_of_each_table_is_known(parquet):
    frame = pl.DataFrame(ROWS)
    tables = {
        "pandas": [pd.DataFrame(ROWS)],
        "polars": [frame, frame.lazy(), nw.from_native(frame)],
        "pyarrow": [pa.table(ROWS), pa.RecordBatch.from_pydict(ROWS)],
        "path": [parquet, str(parquet), [parquet], (str(parquet),)],
    }

    for kind, members in tables.items():
        for table in members:
            assert source_of(table).kind == kind
            assert codes(table) == CODES


def test_a_subclass_of_a_data_frame_is_a_data_frame():
    class Frame(pd.DataFrame):
        pass

    assert codes(Frame(ROWS)) == CODES


@pytest.mark.parametrize("data", [None, 3, {"sex": ["f"]}, [], [1, 2], [{"sex": "f"}], pd.Series([1]), pl.Series([1])])
def test_what_is_no_table_is_refused(data):
    assert refusal(data) == (
        f"data of type {type(data).__name__} is not a table; give a pandas, Polars, PyArrow, DuckDB or Spark table, "
        "a lapwing.Query, or the path of a .parquet or .csv file"
    )


# ------------------------------------------------------------------------------------------------------- columns


def test_columns_that_the_schema_does_not_name_are_never_read():
    query = pl.LazyFrame(ROWS).with_columns(extra=pl.col("extra").cast(pl.Int64))

    assert codes(query) == CODES


def test_absent_columns_are_named_by_their_fields():
    assert refusal(pl.DataFrame({"sex": ["f"], "secret": [1]})) == (
        'the table has no column "age"; rename its columns, or rename or drop the field'
    )


def test_of_many_absent_columns_five_are_named():
    fields = [{"name": f"flag {i}", "type": "boolean"} for i in range(8)]

    message = refusal(pl.DataFrame({"secret": [1]}), Schema.from_dict({"fields": fields}))

    assert message.startswith(
        'the table has no column "flag 0", "flag 1", "flag 2", "flag 3", "flag 4" and 3 more; rename'
    )


def test_the_column_of_the_privacy_unit_is_needed_and_other_identifiers_are_not():
    fields = [{"name": name, "type": "integer", "role": "identifier"} for name in ("person", "visit")]
    schema = Schema.from_dict(
        {"fields": fields + SCHEMA.to_dict()["fields"], "privacyUnit": {"field": "person", "maxRows": 1}}
    )

    assert schema.privacy_unit == PrivacyUnit("person", 1)
    assert 'no column "person";' in refusal(pl.DataFrame(ROWS), schema)
    assert codes(pl.DataFrame({**ROWS, "person": [1, 2, 3]}), schema) == CODES


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("sex,age,age\nf,1,2\n")

    assert refusal(pd.DataFrame([["f", 1, 2]], columns=["sex", "age", "age"])).startswith(
        'the table has more than one column "age"; rename or drop'
    )
    assert 'has more than one column "age"' in refusal(path)


def test_other_columns_may_be_there_twice(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(",x,x,sex,age\n0,1,1,f,7\n1,1,1,m,8\n2,1,1,,\n")

    assert codes(path) == CODES


def test_column_names_that_are_no_text_are_refused():
    assert refusal(pd.DataFrame({0: ["f"], "sex": ["f"], "age": [1]})) == (
        "the table has column names that are not text; rename its columns"
    )


NESTED = {
    "a Polars list": pl.DataFrame({"sex": ["f"], "age": [[1]]}),
    "a Polars struct": pl.DataFrame({"sex": ["f"], "age": [{"a": 1}]}),
    "a Polars array": pl.DataFrame({"sex": ["f"], "age": pl.Series([[1]], dtype=pl.Array(pl.Int64, 1))}),
    "a lazy list": pl.LazyFrame({"sex": ["f"], "age": [[1]]}),
    "an Arrow list": pa.table({"sex": ["f"], "age": [[1]]}),
    "an Arrow map": pa.table({"sex": ["f"], "age": pa.array([{"a": 1}], type=pa.map_(pa.string(), pa.int64()))}),
    "an Arrow dictionary of lists": pa.table(
        {"sex": ["f"], "age": pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([[1]]))}
    ),
    "pandas with an Arrow list": pd.DataFrame(
        {"sex": ["f"], "age": pd.arrays.ArrowExtensionArray(pa.array([[1]]))}
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", NESTED)
def test_a_nested_column_is_refused(kind):
    assert refusal(NESTED[kind]) == 'column "age" holds several values per cell; unnest it into plain columns'


def test_a_nested_column_in_a_file_is_refused(tmp_path):
    NESTED["a Polars list"].write_parquet(tmp_path / "rows.parquet")

    assert refusal(tmp_path) == 'column "age" holds several values per cell; unnest it into plain columns'


def test_lists_as_cells_of_an_object_column_are_misfits():
    assert codes(pd.DataFrame({"sex": ["f", ["f"], {"f": 1}], "age": [1, [1], (2,)]})) == {
        "sex": [0, 2, 2],
        "age": [1, 100, 100],
    }


RARE = {
    "Polars time": pl.Series([None, 1, 2]).cast(pl.Time),
    "Polars duration": pl.Series([None, 1, 2]).cast(pl.Duration),
    "Polars null": pl.Series([None, None, None]),
    "Arrow duration": pa.array([None, 1, 2], type=pa.duration("s")),
    "Arrow interval": pa.array([None, (1, 2, 3), (1, 2, 3)], type=pa.month_day_nano_interval()),
    "Arrow uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([None, b"x" * 16, b"y" * 16], pa.binary(16))),
    "pandas duration": pd.Series(pd.to_timedelta([None, 1, 2])),
    "pandas period": pd.Series(pd.PeriodIndex(["2020", "2021", None], freq="Y")),
    "pandas interval": pd.Series(pd.IntervalIndex.from_tuples([(0, 1), (1, 2), None])),
    "pandas complex": pd.Series([1j, 2j, 3j]),
    "pandas empty category": pd.Series(pd.Categorical([None, None, None])),
}


@pytest.mark.parametrize("kind", RARE)
def test_types_that_no_field_holds_are_misfits(kind):
    column = RARE[kind]
    frame = {"pandas": pd.DataFrame, "pyarrow": pa.table, "polars": pl.DataFrame}[type(column).__module__.split(".")[0]]

    assert codes(frame({"sex": column, "age": column})) == {"sex": [2, 2, 2], "age": [100, 100, 100]}


READABLE = {
    "Polars categorical": pl.Series(["7", "8", None], dtype=pl.Categorical),
    "Polars enum": pl.Series(["7", "8", None], dtype=pl.Enum(["8", "7"])),
    "Polars binary": pl.Series([b"7", b"8", b"\xff"]),
    "Polars 128 bits": pl.Series([7, 8, None], dtype=pl.Int128),
    "Polars half": pl.Series([7, 8, None], dtype=pl.Float16),
    "Polars byte": pl.Series([7, 8, None], dtype=pl.UInt8),
    "Arrow decimal of 256 bits": pa.array([7, 8, None]).cast(pa.decimal256(40, 3)),
    "Arrow text view": pa.array(["7", "8", None], type=pa.string_view()),
    "Arrow bool8 as number": pa.array([7, 8, None], type=pa.int8()),
    "pandas sparse": pd.Series(pd.arrays.SparseArray([7.0, 8.0, np.nan])),
    "pandas category of numbers": pd.Series(pd.Categorical([7, 8, None])),
    "pandas small": pd.Series([7, 8, None], dtype="Int8"),
    "pandas half": pd.Series([7, 8, np.nan], dtype="float16"),
    "pandas long double": pd.Series([7, 8, np.nan], dtype="longdouble"),
}


@pytest.mark.parametrize("kind", READABLE)
def test_rarer_types_are_read_by_their_values(kind):
    column = READABLE[kind]
    frame = {"pandas": pd.DataFrame, "pyarrow": pa.table, "polars": pl.DataFrame}[type(column).__module__.split(".")[0]]

    assert codes(frame({"sex": column, "age": column}))["age"] == [7, 8, 100]


# --------------------------------------------------------------------------------------------------------- files


def test_lists_folders_and_patterns_are_read_in_the_order_of_names(tmp_path):
    for number in (2, 1, 3):
        pl.DataFrame({"sex": ["f"], "age": [number]}).write_parquet(tmp_path / f"part-{number}.parquet")
    (tmp_path / ".hidden.parquet").write_text("no table")
    (tmp_path / "_metadata.parquet").write_text("no table")
    (tmp_path / "notes.txt").write_text("no table")

    assert codes(tmp_path)["age"] == [1, 2, 3]
    assert codes(str(tmp_path / "part-*.parquet"))["age"] == [1, 2, 3]
    assert codes([tmp_path / "part-3.parquet", str(tmp_path / "part-[12].parquet")])["age"] == [3, 1, 2]


def test_files_of_both_kinds_make_one_table(parquet, text):
    assert parquet.parent == text.parent
    assert codes(parquet.parent)["age"] == [7, 8, 100] * 2


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path):
    path = tmp_path / "rows[1].parquet"
    pl.DataFrame(ROWS).write_parquet(path)

    assert codes(path) == CODES


def test_suffixes_may_be_in_capitals_and_text_may_be_zipped_or_tab_separated(tmp_path):
    content = pl.DataFrame(ROWS).write_csv()
    (tmp_path / "A.CSV").write_text(content)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(content.encode()))
    (tmp_path / "c.tsv").write_text(content.replace(",", "\t"))
    pl.DataFrame(ROWS).write_parquet(tmp_path / "d.PQ")

    for path in tmp_path.iterdir():
        assert codes(path) == CODES


def test_a_missing_file_is_named(tmp_path):
    way_out = "; give the path of a .parquet or .csv file, or of a folder of such files"

    assert refusal("/no/such.parquet") == f'file "/no/such.parquet" does not exist{way_out}'
    assert refusal("/no/such-*.parquet") == f'no file matches "/no/such-*.parquet"{way_out}'
    assert refusal(tmp_path) == f"folder {quote(str(tmp_path))} holds no .parquet or .csv file{way_out}"


def test_an_unknown_suffix_is_refused(tmp_path):
    path = tmp_path / "rows.docx"
    path.write_text("no table")

    assert refusal(path) == (
        f"file {quote(str(path))} is of no known kind; "
        "its name must end in one of .parquet, .pq, .arrow, .feather, .ipc, .csv, .csv.gz, .tsv, .tsv.gz, .jsonl, "
        ".jsonl.gz, .ndjson, .ndjson.gz, .xlsx, .xls, .xlsm, .xlsb, .ods, .sav, .zsav, .dta, .sas7bdat, .xpt"
    )


def test_a_file_in_the_wrong_format_is_refused(tmp_path):
    as_parquet, as_zip = tmp_path / "rows.parquet", tmp_path / "rows.csv.gz"
    for path in (as_parquet, as_zip):
        path.write_text("sex,age\nf,1\n")

    damaged = "it is damaged, or something else than its name or type says"
    assert refusal(as_parquet) == f"file {quote(str(as_parquet))} cannot be read as Parquet ({damaged})"
    assert refusal(as_zip) == f"file {quote(str(as_zip))} cannot be read as text (it is not in gzip's format)"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused(text):
    text.chmod(0)

    assert refusal(text) == f"file {quote(str(text))} cannot be read as text (permission denied)"


def test_a_text_file_without_the_columns_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("sex\n")

    assert refusal(path).startswith(f"file {quote(str(path))} has no column ")


# ---------------------------------------------------------------------------------------------------- text files


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"sex,age\nf,7\nm,8\n,\n", "plain"),
        (b"sex,age\r\nf,7\r\nm,8\r\n,\r\n", "line ends of Windows"),
        (b"\xef\xbb\xbfsex,age\nf,7\nm,8\n,\n", "byte order mark"),
        ("sex,age\nf,7\nm,8\n,\n".encode("utf-16"), "UTF-16"),
        (b"\n\nsex,age\n\nf,7\n\nm,8\n\n,\n\n\n", "empty lines are no rows"),
        (b'"sex","age"\n"f","7"\n"m","8"\n"",""', "quotes, and no end of line"),
        (b"sex,age\nf,7,9,9\nm,8,\n?\n", "lines too long and too short"),
        (b"age,z,sex\n7,,f\n8,,m\n\xff\xfe,\xff,\xff", "bytes that are no text"),
        (b'sex,age\nf,7\n"m",8\n"f"x, "8"y\n', "quotes inside a cell"),
        (b'sex,age\nf,7\nm,8\n"f\n"",9\nm,9\n', "a quote that never ends"),
        (b"sex,age\nf,7\nm,8\nf\x00,9\x00\n", "null bytes"),
    ],
)
def test_odd_text_is_read_cell_by_cell(content, expected, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)

    assert codes(path) == CODES, expected


def test_a_cell_longer_than_the_parsers_own_limit_is_a_misfit(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(f"sex,age\nf,7\nm,8\n{'x' * 300_000},{'9' * 300_000}\n")

    assert codes(path) == {"sex": [0, 1, 2], "age": [7, 8, 99]}


def test_a_table_without_rows_has_no_chunks(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("sex,age\n")
    empty = pl.DataFrame(ROWS).clear()

    for table in (path, empty, empty.lazy(), empty.to_arrow(), pd.DataFrame({"sex": [], "age": []})):
        assert code_table(table, SCHEMA).rows == 0


def test_the_schemas_texts_for_missing_are_missing_in_every_kind_of_table(tmp_path):
    schema = Schema.from_dict(
        {**SCHEMA.to_dict(), "missingValues": ["", "-9", "m"]}
        | {
            "fields": [{"name": "age", "type": "integer", "constraints": {"minimum": -20, "maximum": 99}}],
        }
    )
    cells = ["7", "-9", " -9", "", None]
    path = tmp_path / "rows.csv"
    path.write_text("age,x\n7,\n-9,\n -9,\n,\n,\n")

    for table in (path, pl.DataFrame({"age": cells}), pd.DataFrame({"age": cells}), pa.table({"age": cells})):
        assert codes(table, schema) == {"age": [27, 120, 11, 120, 120]}
