"""Tables are opened, read cell by cell, and written: frames, files and folders, or refused in one sentence."""

import csv
import datetime as dt
import gzip
import os
import random
import subprocess
import sys
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from helpers import make
from lapwing.errors import DataError
from lapwing.rows import files, formats, threads
from lapwing.rows.entry import source_of
from lapwing.rows.files import FilesReader, FileStamps, open_file
from lapwing.rows.formats import CsvFile
from lapwing.rows.out.writers import to_frame_kind, write_rows
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.fields import PrivacyUnit
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(make.schema({"sex": ["f", "m"], "age": (0, 99)}))
ROWS = {"sex": ["f", "m", None], "extra": ["x", "y", "z"], "age": [7, 8, None]}
CODES = {"sex": [0, 1, 2], "age": [7, 8, 100]}


def codes(data, schema=SCHEMA):
    return {name: found.tolist() for name, found in all_codes(code_table(data, schema), schema).items()}


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
    flags = make.schema({f"flag {number}": bool for number in range(8)})

    message = refusal(pl.DataFrame({"secret": [1]}), Schema.from_dict(flags))

    assert message.startswith(
        'the table has no column "flag 0", "flag 1", "flag 2", "flag 3", "flag 4" and 3 more; rename'
    )


def test_the_column_of_the_privacy_unit_is_needed_and_other_identifiers_are_not():
    columns = {"person": "id", "visit": "id", "sex": ["f", "m"], "age": (0, 99)}
    schema = Schema.from_dict(make.schema(columns, privacyUnit={"field": "person", "maxRows": 1}))

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


@pytest.mark.parametrize("kind", [*NESTED, "a file"])
def test_a_nested_column_is_refused(kind, tmp_path):
    NESTED["a Polars list"].write_parquet(tmp_path / "rows.parquet")

    said = refusal(NESTED.get(kind, tmp_path))

    assert said == 'column "age" holds several values per cell; unnest it into plain columns'


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


def framed(column):
    frame = {"pandas": pd.DataFrame, "pyarrow": pa.table, "polars": pl.DataFrame}[type(column).__module__.split(".")[0]]
    return frame({"sex": column, "age": column})


@pytest.mark.parametrize("kind", RARE)
def test_types_that_no_field_holds_are_misfits(kind):
    assert codes(framed(RARE[kind])) == {"sex": [2, 2, 2], "age": [100, 100, 100]}


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
    assert codes(framed(READABLE[kind]))["age"] == [7, 8, 100]


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
    schema = Schema.from_dict(make.schema({"age": (-20, 99)}, missingValues=["", "-9", "m"]))
    cells = ["7", "-9", " -9", "", None]
    path = tmp_path / "rows.csv"
    path.write_text("age,x\n7,\n-9,\n -9,\n,\n,\n")

    for table in (path, pl.DataFrame({"age": cells}), pd.DataFrame({"age": cells}), pa.table({"age": cells})):
        assert codes(table, schema) == {"age": [27, 120, 11, 120, 120]}


# ------------------------------ which cells come out of a CSV file is what Python's own parser says, however it is cut


SIGNS = ["a", "b", "1", ",", ",", "\n", "\n", "\r\n", "\r", '"', '""', " ", "\t", "\0", "é", "\u2028", "\x0b", "x,y\n"]
PLAIN = [sign for sign in SIGNS if not set(sign) & set('"\r\0')]


def by_python(path, separator, columns):
    """Return the cells of some columns by Python's parser, row by row: the rule, in its simplest form."""
    with path.open(encoding="utf-8-sig", errors="backslashreplace", newline="") as stream:
        lines = list(csv.reader(stream, delimiter=separator))
    while lines and not lines[0]:
        lines.pop(0)
    names, rows = lines[0], lines[1:]
    rows = [row or [""] for row in rows] if len(names) == 1 else [row for row in rows if row]
    return {name: [row[at] if at < len(row) else None for row in rows] for name, at in columns.items()}


def by_lapwing(path, separator, columns, rows=5):
    file = CsvFile(path, separator)
    found = {name: [] for name in columns}
    for cells in file.chunks(list(columns), rows):
        assert 1 <= len(cells[next(iter(columns))]) <= rows
        for name in columns:
            found[name] += cells[name].values.to_list()
    return found


@pytest.mark.parametrize("block", [1, 2, 7, 2**18])
@pytest.mark.parametrize(
    "header", ["p", "p,q", "\n\r\np,q,r", '"p",q\r\n"x\ny",z'], ids=["one", "two", "gap", "quoted"]
)
def test_cells_are_those_of_pythons_parser(tmp_path, monkeypatch, header, block):
    monkeypatch.setattr(formats, "_BLOCK", block)
    path = tmp_path / "rows.csv"
    columns = {"p": 0} if header == "p" else {"q": 1, "p": 0}
    rng = random.Random(block)
    for trial in range(60):
        signs = PLAIN if trial % 2 else SIGNS
        text = header + "\n" + "".join(rng.choice(signs) for _ in range(rng.randrange(60)))
        path.write_text(text, encoding="utf-8", newline="")
        assert by_lapwing(path, ",", columns) == by_python(path, ",", columns), repr(text)


def test_long_and_short_lines_give_their_first_cells_and_missing_ones(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("p\tq\tr\n1\t2\t3\t4\n5\n\n \n6\t\t7\n8\t9", newline="")
    assert by_lapwing(path, "\t", {"q": 1}) == {"q": ["2", None, None, "", "9"]}
    assert by_lapwing(path, "\t", {"r": 2, "p": 0}) == by_python(path, "\t", {"r": 2, "p": 0})


def test_a_file_larger_than_its_blocks_is_read_whole_and_in_order_by_many_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "workers", lambda: 4)
    monkeypatch.setattr(formats, "_BLOCK", 300)
    path = tmp_path / "rows.csv"
    lines = [f'{row},"t{row}, and\nmore"' if row % 97 == 0 else f"{row},t{row}" for row in range(4000)]
    path.write_text("\n".join(["p,q", *lines]), newline="")
    assert by_lapwing(path, ",", {"p": 0, "q": 1}, rows=50) == by_python(path, ",", {"p": 0, "q": 1})


def test_bytes_that_are_no_text_stay_apart(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\xef\xbb\xbfp,q\n\xff,1\n\xfe,2\n\xed\xa0\x80,3\n")
    found = by_lapwing(path, ",", {"p": 0, "q": 1})
    assert found == by_python(path, ",", {"p": 0, "q": 1})
    assert len(set(found["p"])) == 3


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_lines_without_quotes_are_not_given_to_the_slow_parser(tmp_path, monkeypatch, end):
    path = tmp_path / "rows.csv"
    pl.DataFrame({"p": range(1000), "q": ["text"] * 1000}).write_csv(path, line_terminator=end)
    monkeypatch.setattr(CsvFile, "_parsed", lambda *_: pytest.fail("parsed line by line"))
    assert by_lapwing(path, ",", {"q": 1, "p": 0}, rows=999)["p"] == [str(row) for row in range(1000)]


# ------------------------------------------------------------------------- folders of many files are read as one table


TOWNS = Schema.from_dict(make.schema({"n": (0, 9999), "town": ["Bern", "Chur"]}))


def written(folder: Path, files: int, rows: int = 3) -> pl.DataFrame:
    folder.mkdir()
    frame = pl.DataFrame({"n": range(files * rows), "town": ["Bern", "Chur", None] * (files * rows // 3)})
    for number in range(files):
        frame[number * rows : (number + 1) * rows].write_parquet(folder / f"{number:04}.parquet")
    return frame


def numbers(data):
    return all_codes(code_table(data, TOWNS), TOWNS)["n"].tolist()


def test_many_files_are_read_in_order_with_few_of_them_open(tmp_path):
    frame = written(tmp_path / "rows", 400)
    paths = sorted((tmp_path / "rows").iterdir())
    reader = FilesReader([open_file(path) for path in paths], FileStamps(paths))
    before, most, heights = len(os.listdir("/proc/self/fd")), 0, []
    for cells in reader.chunks(["n"], 2**18):
        heights.append(len(cells["n"]))
        most = max(most, len(os.listdir("/proc/self/fd")))
    assert reader.known_rows == sum(heights) == 1200
    assert most - before < 60
    assert numbers(tmp_path / "rows") == frame["n"].to_list()


def test_small_files_are_coded_together_and_never_more_rows_than_asked(tmp_path):
    written(tmp_path / "rows", 50)
    paths = sorted((tmp_path / "rows").iterdir())
    reader = FilesReader([open_file(path) for path in paths], FileStamps(paths))
    assert [len(cells["n"]) for cells in reader.chunks(["n"], 2**18)] == [150]
    assert [len(cells["n"]) for cells in reader.chunks(["n"], 40)] == [40, 2] * 3 + [24]


def test_files_of_different_types_keep_their_order_and_their_own_reading(tmp_path):
    written(tmp_path / "rows", 6)
    pl.DataFrame({"n": ["500", "x"], "town": ["Bern", "Bern"]}).write_parquet(tmp_path / "rows" / "0002a.parquet")
    pl.DataFrame({"town": ["Chur"], "more": [1.5], "n": [77]}).write_parquet(tmp_path / "rows" / "0003a.parquet")
    (tmp_path / "rows" / "0004a.csv").write_text("town,n\nBern,88\n")
    pl.DataFrame({"n": [], "town": []}, schema={"n": pl.Int64, "town": pl.String}).write_parquet(
        tmp_path / "rows" / "0000.parquet"
    )
    assert numbers(tmp_path / "rows") == [*range(3, 9), 500, 10000, *range(9, 12), 77, *range(12, 15), 88, 15, 16, 17]


def test_the_one_file_that_cannot_be_read_is_named(tmp_path):
    folder = tmp_path / "rows"
    written(folder, 5, rows=3000)
    bad = folder / "0003.parquet"
    whole = bytearray(bad.read_bytes())
    whole[8 : len(whole) // 2] = np.random.default_rng(1).bytes(len(whole) // 2 - 8)
    bad.write_bytes(whole)
    source = code_table(folder, TOWNS, chunk_rows=100)
    with pytest.raises(DataError) as found:
        list(source.chunks())
    assert str(found.value).startswith(f"file {quote(str(bad))} cannot be read as Parquet")
    assert found.value.__context__ is None


def test_wide_files_are_read_in_parts_and_give_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_WINDOW_BYTES", 8 * 100 * 60)  # 60 rows of 100 columns
    names = [f"n{column}" for column in range(100)]
    frame = pl.DataFrame(np.arange(90)[:, None] + np.arange(100), names)
    frame[:80].write_parquet(tmp_path / "one.parquet", row_group_size=80)
    frame[80:].write_parquet(tmp_path / "two.parquet")
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    reader = FilesReader([open_file(path) for path in paths], FileStamps(paths))

    parts = [cells["n99"].values for cells in reader.chunks(names, 2**18)]

    assert [len(part) for part in parts] == [60, 20, 10]
    assert np.concatenate(parts).tolist() == frame["n99"].to_list()


READ = """
import sys
from pathlib import Path
from lapwing.rows.files import open_file
def peak():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) // 1024
file = open_file(Path(sys.argv[1]))
before = peak()
rows = sum(len(cells["n0"]) for cells in file.chunks(file.names, 2**14))
print(rows, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_a_wide_file_of_one_row_group_is_not_held_in_memory(tmp_path):
    same = pl.Series(np.arange(2**18) % 7)
    pl.DataFrame({f"n{column}": same for column in range(600)}).write_parquet(tmp_path / "wide.parquet")

    done = subprocess.run([sys.executable, "-c", READ, tmp_path / "wide.parquet"], capture_output=True, check=True)

    rows, megabytes = map(int, done.stdout.split())
    assert rows == 2**18
    assert megabytes < 700  # all cells at once are 1,258, and with what is read ahead more


# ----------------------------------------------------------- rows out: the kinds of frame, and files that are streamed


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
