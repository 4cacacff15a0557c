"""Files of other programs: the same codes as from typed tables, whatever a cell is, and code books as schemas."""

import dataclasses
import datetime as dt
import gzip
import json
import sys
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import feather

from helpers import make
from helpers.naive_codes import naive_code
from helpers.nasty_cells import CELLS, FIELDS
from lapwing.errors import DataError, LapwingError, LapwingWarning, SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.extras.connect.tables.workbooks import ExcelFile
from lapwing.extras.evaluate.internal.schemas import check_table, draft_schema
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.reading import Dialect
from lapwing.schema.schemas import Schema
from lapwing.schema.values import described

FRAME = pl.DataFrame(
    {
        "age": [31, 45, None, 7],
        "sex": ["f", "m", "m", None],
        "day": [dt.date(2010, 12, 31), None, dt.date(2001, 2, 3), dt.date(2020, 2, 29)],
        "income": [1234.5, 0.0, None, 62.8],
    }
)
DAYS = ("2000-01-01", "2029-12-31")
SCHEMA = Schema.from_dict(make.schema({"age": (0, 120), "sex": ["f", "m"], "day": DAYS, "income": (0.0, 10.0**4)}))


def codes(data, schema=SCHEMA):
    return {name: found.tolist() for name, found in all_codes(code_table(data, schema), schema).items()}


def write_excel(frame, path, sheet=None, before=()):
    book = openpyxl.Workbook()
    book.active.title = "first"
    page = book.active if sheet is None else book.create_sheet(sheet, 0)
    for row in [*before, frame.columns, *frame.rows()]:
        page.append(row)
    book.save(path)


def write_json(frame, path):
    lines = [
        json.dumps({key: cell for key, cell in row.items() if cell is not None}, default=str)
        for row in frame.rows(named=True)
    ]
    content = "\n\n".join(lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def pandas_of(frame):
    return pd.DataFrame(
        {
            name: pd.Series(frame[name].to_list(), dtype=object if frame[name].dtype == pl.Date else None)
            for name in frame.columns
        }
    )


WRITERS = {
    "rows.arrow": FRAME.write_ipc,
    "rows.feather": lambda path: feather.write_feather(FRAME.to_arrow(), path, compression="lz4"),
    "rows.jsonl": lambda path: write_json(FRAME, path),
    "rows.ndjson.gz": lambda path: write_json(FRAME, path),
    "rows.xlsx": lambda path: write_excel(FRAME, path),
    "rows.sav": lambda path: pyreadstat.write_sav(pandas_of(FRAME), path),
    "rows.zsav": lambda path: pyreadstat.write_sav(pandas_of(FRAME), path, compress=True),
    "rows.dta": lambda path: pyreadstat.write_dta(pandas_of(FRAME), path),
    "rows.xpt": lambda path: pyreadstat.write_xport(pandas_of(FRAME), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_has_the_codes_of_the_frame_in_it_and_a_draft_finds_its_types(tmp_path, name):
    WRITERS[name](tmp_path / name)

    drafted = draft_schema(tmp_path / name).value

    assert codes(tmp_path / name) == codes(FRAME)
    assert [field.type for field in drafted.fields] == ["integer", "string", "date", "number"]
    assert [fit.misfit for fit in check_table(tmp_path / name, SCHEMA).value] == [0] * 4


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_none_is_told_by_name_and_kind_alone(tmp_path, name):
    (tmp_path / name).write_bytes(b"secret" * 99)
    if "json" in name and not name.endswith(".gz"):
        assert codes(tmp_path / name) == {"age": [121], "sex": [2], "day": [10958], "income": [2**32]}
        return

    with pytest.raises(DataError, match=r'^file ".*cannot be read as ') as raised:
        code_table(tmp_path / name, SCHEMA)

    assert "secret" not in str(raised.value)
    assert raised.value.__context__ is None


# -- JSON lines.


def test_no_line_of_json_makes_an_error_and_what_is_no_object_is_unreadable(tmp_path):
    schema = Schema.from_dict(make.schema({"x": make.field("x", (0.0, 4.0), resolution=1), "y": bool}))
    lines = {
        '{"x": 1, "y": true}': (1, 1),
        '{"x": "1", "y": "yes"}': (1, 1),
        "{}": (5, 2),
        '{"x": [1], "y": {"a": 1}}': (5, 2),
        "[1]": (5, 2),
        '{"x": 1': (5, 2),
        "[" * 10**5: (5, 2),
        '{"x": ' + "9" * 10**4 + "}": (4, 2),
        '{"x": -1e999, "y": NaN}': (0, 2),
        '{"x": 1e99999999999999999999}': (4, 2),
        '{"x": Infinity, "x": 2}': (2, 2),
        '{"x": "\\ud800", "y": false}': (5, 0),
        '{"x": 3, "y": "\udcff"}': (3, 2),
    }
    (tmp_path / "rows.jsonl").write_bytes("\r\n".join(lines).encode("utf-8", "surrogateescape"))

    found = codes(tmp_path / "rows.jsonl", schema)

    assert list(zip(found["x"], found["y"], strict=True)) == list(lines.values())


def test_the_columns_of_json_lines_are_those_asked_for_and_of_a_draft_all_keys(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"b": 1}\n{"a": "x", "b": 2}\n')

    assert [field.name for field in draft_schema(tmp_path / "rows.jsonl").value.fields] == ["b", "a"]
    assert codes(tmp_path / "rows.jsonl")["age"] == [121, 121]


# -- Workbooks.


@pytest.mark.parametrize("header", [True, False])
def test_that_there_are_other_sheets_is_said_where_none_is_named(tmp_path, header):
    write_excel(FRAME, tmp_path / "rows.xlsx", "Daten")
    names = [] if header else FRAME.columns

    with pytest.warns(LapwingWarning, match='has 2 sheets, of which the first is read; name another .*"sheet"'):
        ExcelFile(tmp_path / "rows.xlsx", Dialect(header=header), names)
    ExcelFile(tmp_path / "rows.xlsx", Dialect(header=header, sheet="Daten"), names)


def test_the_dialect_names_the_sheet_and_the_rows_before_the_names(tmp_path):
    write_excel(FRAME, tmp_path / "rows.xlsx", "Daten", [["Bericht"], []])
    written = SCHEMA.to_dict()
    schema = Schema.from_dict(written | {"dialect": {"sheet": "Daten", "skipRows": 1}})

    assert codes(tmp_path / "rows.xlsx", schema) == codes(FRAME)
    with pytest.raises(DataError, match='has no sheet "none"; name one of its sheets in "dialect"'):
        codes(tmp_path / "rows.xlsx", Schema.from_dict(written | {"dialect": {"sheet": "none"}}))
    with pytest.raises(DataError, match='has no column "age"'):
        codes(tmp_path / "rows.xlsx", Schema.from_dict(written | {"dialect": {"sheet": "first"}}))
    with pytest.raises(SchemaError, match="dialect: sheet must be a text that is not empty, got 1"):
        Schema.from_dict(written | {"dialect": {"sheet": 1}})


def test_a_number_of_a_workbook_is_one_however_texts_beside_it_are_written(tmp_path):
    frame = pl.DataFrame({"x": [62.8, 1234.5, "62,8", "62.8", True, None]}, strict=False, schema={"x": pl.Object})
    write_excel(frame.with_columns(row=pl.Series(range(6))), tmp_path / "rows.xlsx")
    field = make.field("x", (0.0, 2000.0), resolution=0.1, decimalChar=",", groupChar=".")
    schema = Schema.from_dict({"fields": [field]})

    wanted = [628, 12345, 628, 20001, 10, 20001]
    assert codes(tmp_path / "rows.xlsx", schema)["x"] == wanted
    assert codes(frame.to_pandas(), schema)["x"] == wanted


ODS = """<?xml version="1.0"?><office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>
<table:table table:name="A">
<table:table-row><table:table-cell office:value-type="string"><text:p>x</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="float" office:value="3"><text:p>3</text:p></table:table-cell>
</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"""


ODS_MANIFEST = """<?xml version="1.0"?><manifest:manifest
 xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"></manifest:manifest>"""


def test_a_sheet_of_libreoffice_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "rows.ods", "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("content.xml", ODS.replace("\n", ""))
        file.writestr("META-INF/manifest.xml", ODS_MANIFEST)

    assert codes(tmp_path / "rows.ods", Schema.from_dict(make.schema({"x": (0, 9)}))) == {"x": [3]}


# -- Arrow.


def test_text_of_an_arrow_file_that_is_no_utf_8_has_the_codes_of_other_files(tmp_path):
    data = pa.array([b"f", b"\xff", b"m"]).buffers()
    texts = pa.Array.from_buffers(pa.string(), 3, data)
    feather.write_feather(pa.table({"sex": texts}), tmp_path / "rows.feather")
    schema = Schema(fields=(SCHEMA.field("sex"),))

    assert codes(tmp_path / "rows.feather", schema) == {"sex": [0, 2, 1]}


def test_files_of_a_folder_are_read_in_order_each_by_its_own_format_and_code_books_beside_them_are_not(tmp_path):
    for number, name in enumerate(["a.arrow", "b.arrow", "c.parquet", "d.jsonl", "e.csv", "f.feather"]):
        part = FRAME.slice(number % 4, 1)
        write = {
            "parquet": part.write_parquet,
            "csv": part.write_csv,
            "jsonl": lambda path, part=part: write_json(part, path),
        }
        write.get(name.partition(".")[2], part.write_ipc)(tmp_path / name)
    pyreadstat.write_sav(pandas_of(FRAME), tmp_path / "g.sav")

    assert codes(tmp_path) == codes(pl.concat([FRAME, FRAME.slice(0, 2)]))


@pytest.mark.parametrize(("name", "module"), [("rows.xlsx", "python_calamine"), ("rows.sav", "pyreadstat")])
def test_a_package_that_is_not_installed_is_named_with_the_way_to_install_it(tmp_path, monkeypatch, name, module):
    WRITERS[name](tmp_path / name)
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(LapwingError, match=r'not installed; run .*pip install .*\[connect\]"') as raised:
        code_table(tmp_path / name, SCHEMA)

    assert raised.value.code == "LW701"


# ------------------------------------------------------------------------------------------------- SPSS, Stata and SAS


STATISTICS = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}


def _is_held(cell, suffix):
    """Return whether a file holds a cell as it is: no end of blanks, no zero byte, days of the calendar of 1582."""
    if isinstance(cell, str):
        return cell == cell.rstrip(" ") and "\0" not in cell and len(cell.encode()) <= 200
    if isinstance(cell, dt.date):
        return not isinstance(cell, dt.datetime) or not cell.microsecond
    if suffix == "xpt" and cell is not None:  # numbers of IBM: 56 bits, up to 10^75
        return np.isfinite(cell) and (cell == 0 or 1e-70 < abs(cell) < 1e70) and float(cell) == cell
    if suffix == "dta" and cell is not None:
        return np.isfinite(cell) and abs(cell) < 1e307
    return cell is None or np.isfinite(cell)


@pytest.mark.parametrize("kind", ["floats", "integers", "texts", "dates", "moments"])
@pytest.mark.parametrize("suffix", STATISTICS)
def test_nasty_cells_have_the_same_codes_in_files_of_statistics(suffix, kind, tmp_path):
    cells = [cell for cell in CELLS[kind] if _is_held(cell, suffix)]
    if kind in {"floats", "integers"}:
        cells = [cell if cell is None else float(cell) for cell in cells]
    column = pd.Series(cells, dtype="float64" if kind in {"floats", "integers"} else object)
    STATISTICS[suffix](pd.DataFrame({"x": column}), tmp_path / f"rows.{suffix}")

    for field in (dataclasses.replace(field, name="x") for field in FIELDS):
        schema = Schema(fields=(field,))
        found = codes(tmp_path / f"rows.{suffix}", schema)["x"]
        assert found == [naive_code(cell, field) for cell in cells], field


ODD = [b"z\xc3Q\xff", b"\xff\xfe\x80\x81", b"z\x00\x00Q", b"\xe2\x82\xc3(", b"\x1b$B+"]


@pytest.mark.parametrize("bad", ODD)
@pytest.mark.parametrize("encoding", [None, "latin-1", "shift_jis"])
@pytest.mark.parametrize("suffix", [*STATISTICS, "old.dta"])
def test_no_bytes_of_a_text_end_the_reading_of_a_file_of_statistics(suffix, encoding, bad, tmp_path):
    frame = pd.DataFrame({"s": ["f", "m"] * 150, "n": [1.0, 2.0, 3.0] * 100})
    frame.loc[7, "s"] = "wxyz"
    path = tmp_path / f"rows.{suffix}"
    old = {"version": 13} if suffix == "old.dta" else {}
    STATISTICS[suffix[-3:]](frame, path, **old)
    schema = Schema.from_dict({**make.schema({"s": ["f", "m"], "n": (0, 9)}), "dialect": {"encoding": encoding}})
    before = codes(path, schema)

    content = path.read_bytes()
    assert content.count(b"wxyz") == 1
    path.write_bytes(content.replace(b"wxyz", bad))

    assert codes(path, schema) == before


@pytest.mark.parametrize(("encoding", "version"), [("cp1252", 13), ("utf-8", 15), ("cp1251", 15)])
def test_texts_of_statistics_are_in_the_encoding_of_their_program_or_in_the_one_that_is_named(
    encoding, version, tmp_path
):
    town = "Köln" if encoding != "cp1251" else "Орёл"
    pyreadstat.write_dta(
        pd.DataFrame({"town": ["q" * len(town.encode(encoding)), "x"]}), tmp_path / "t.dta", version=version
    )
    content = (tmp_path / "t.dta").read_bytes()
    (tmp_path / "t.dta").write_bytes(content.replace(b"q" * len(town.encode(encoding)), town.encode(encoding)))
    dialect = {"dialect": {"encoding": encoding}} if encoding == "cp1251" else {}

    schema = Schema.from_dict({**make.schema({"town": [town, "x"]}), **dialect})

    assert codes(tmp_path / "t.dta", schema) == {"town": [0, 1]}


STUDY = pd.DataFrame(
    {
        "age": [31.0, 99.0, -3.0, 45.5],
        "sex": [1.0, 2.0, 9.0, None],
        "town": ["Ulm", "REF", "Bonn", ""],
        "grade": [1.0, 3.0, 2.0, 1.0],
        "at": pd.to_datetime(["2020-01-01 10:30:00", "1600-02-29", None, "2021-12-31 23:59:59"], format="mixed").astype(
            "datetime64[us]"
        ),
        "hour": [dt.time(1, 2)] * 4,
    }
)
GRADES = {1: "good", 2: "fair", 3: "bad"}


def write_study(path):
    pyreadstat.write_sav(
        STUDY,
        path,
        file_label="A study",
        column_labels={"age": "Age in years", "sex": "Sex of the person"},
        variable_value_labels={
            "age": {99: "99 or older"},
            "sex": {1: "male", 2: "female", 9: "refused"},
            "grade": GRADES,
        },
        missing_ranges={"age": [{"lo": -9, "hi": -1}], "sex": [9], "town": ["REF"]},
        variable_measure={"age": "scale", "sex": "nominal", "grade": "ordinal"},
        variable_format={"sex": "F1.0", "grade": "F1.0"},
    )


def test_the_code_book_of_spss_becomes_a_schema_and_what_it_calls_missing_is(tmp_path):
    write_study(tmp_path / "study.sav")

    found = read_foreign(tmp_path / "study.sav")
    schema = found.schema

    assert (found.format, schema.name, schema.is_draft) == ("SPSS file", "A study", True)
    age, sex, town, grade, at = schema.fields
    assert (age.type, age.special, described(age)) == ("number", (99,), "Age in years (99 = 99 or older)")
    assert (sex.type, sex.categories, sex.missing_values) == ("integer", (1, 2), ("", "9"))
    assert described(sex) == "Sex of the person (1 = male; 2 = female)"
    assert (town.type, town.missing_values, town.blank) == ("string", ("", "REF"), ("categories",))
    assert (grade.categories, grade.ordered) == ((1, 2, 3), True)
    assert (at.type, at.blank) == ("datetime", ("minimum", "maximum"))
    assert any("from -9 to -1" in note for note in found.notes)
    assert any("times of day" in note and "hour" in note for note in found.notes)


def test_the_code_book_of_stata_leaves_open_whether_labelled_codes_are_all(tmp_path):
    frame = pd.DataFrame({"u": [1, "a", 2], "n": np.array([1, 2, 3], dtype="int8"), "x": [0.5, 1.5, None]})
    labels = {"u": {1: "yes", 2: "no", "a": "refused"}}
    pyreadstat.write_dta(frame, tmp_path / "a.dta", variable_value_labels=labels, missing_user_values={"u": ["a"]})

    schema = read_foreign(tmp_path / "a.dta").schema

    u, n, x = schema.fields
    assert (u.categories, u.missing_values, described(u)) == ((1, 2), ("", ".a"), "1 = yes; 2 = no")
    assert (n.type, x.type) == ("integer", "number")
    assert len(schema.questions) == 1
    assert "whether the labelled codes are all" in schema.questions[0]
    assert codes(tmp_path / "a.dta", Schema(fields=(u,)))["u"] == [0, 2, 1]


@pytest.mark.parametrize("content", [None, b"x" * 999])
@pytest.mark.parametrize("name", ["a.sav", "a.dta", "a.sas7bdat", "a.xpt"])
def test_what_is_no_code_book_is_refused_by_name(tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    wanted = "does not exist" if content is None else "cannot be read as a file of"
    with pytest.raises(SchemaError, match=wanted):
        read_foreign(tmp_path / name)


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("%tq", "count quarters"), ("%th", "count half-years"), ("%tw", "count weeks"),
        ("%tbnyse", "count days of a business calendar"), ("%ty", "without decimals"),
    ],
)  # fmt: skip
def test_other_periods_of_stata_are_whole_numbers_and_named(written, named, tmp_path):
    pyreadstat.write_dta(
        pd.DataFrame({"p": [240.0, 241.0, None]}), tmp_path / "rows.dta", variable_format={"p": written}
    )

    converted = read_foreign(tmp_path / "rows.dta")

    assert converted.schema.field("p").type == "integer"
    assert any(named in note for note in converted.notes)
    schema = Schema.from_dict(make.schema({"p": (200, 300)}))
    assert codes(tmp_path / "rows.dta", schema)["p"] == [40, 41, 101]
