"""What a privacy audit of the tables found: one cell, or one setting of the user's, decided over rows or errors."""

import csv
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from lapwing.rows.frames import series_cells
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

LISTED = Schema.from_dict({"fields": [{"name": "x", "type": "string", "categories": ["a", "5", "\ufffd"]}]})
WHOLE = Schema.from_dict(
    {"fields": [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}}]}
)
REAL = Schema.from_dict({"fields": [{"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 3}}]})
ONE_ROW_EACH = {"privacyUnit": {"field": "p", "maxRows": 1}}
MISFIT, LAST_WHOLE = 3, 10


def codes(data, schema=LISTED):
    return [code for chunk in code_table(data, schema).chunks() for code in chunk["x"].tolist()]


WRITERS = {
    "Polars": lambda cells, path: pl.DataFrame({"x": cells}).write_csv(path),
    "pandas": lambda cells, path: pd.DataFrame({"x": cells}).to_csv(path, index=False),
    "PyArrow": lambda cells, path: pyarrow.csv.write_csv(pa.table({"x": cells}), path),
    "R": lambda cells, path: path.write_text("\r\n".join(["x", *(cell or "" for cell in cells), ""]), newline=""),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_an_empty_line_of_a_file_with_one_column_is_a_row(writer, tmp_path):
    path = tmp_path / "rows.csv"

    WRITERS[writer](["a", None, "5", None], path)

    assert codes(path) == [0, MISFIT, 1, MISFIT]


def test_the_public_number_of_rows_of_one_column_does_not_depend_on_which_cells_are_missing(tmp_path):
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("\nx\na\na\na\n")
    other.write_text("\nx\na\n\n\n")

    assert code_table(one, LISTED).rows == code_table(other, LISTED).rows == 3


def test_an_empty_line_of_one_column_is_the_category_of_empty_text_where_the_schema_has_one(tmp_path):
    schema = Schema.from_dict(
        {"fields": [{"name": "x", "type": "string", "categories": ["a", ""]}], "missingValues": ["NA"]}
    )
    path = tmp_path / "rows.csv"
    path.write_text("x\na\n\nNA\n")

    assert codes(path, schema) == [0, 1, 2]


def test_empty_lines_between_rows_of_several_columns_are_no_rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n\na,1\n\n,\n\n")

    assert codes(path) == [0, MISFIT]


def test_the_parsers_limit_is_not_lowered_while_another_thread_may_be_reading(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\na,1\n")
    before = csv.field_size_limit()

    try:
        csv.field_size_limit(10)
        code_table(path, LISTED)
        after = csv.field_size_limit()
    finally:
        csv.field_size_limit(before)

    assert after == 2**31 - 1


def test_people_without_identifier_share_one_unit_whose_cut_moves_when_one_of_them_leaves():
    """The docs warn of this: add-remove protects such a person at twice the budget."""
    person = {"name": "p", "type": "string", "role": "identifier"}
    schema = Schema.from_dict({**LISTED.to_dict(), "fields": [person, *LISTED.to_dict()["fields"]]} | ONE_ROW_EACH)

    def kept(cells):
        return codes(
            pl.DataFrame({"p": [None] * len(cells), "x": cells}, schema={"p": pl.String, "x": pl.String}), schema
        )

    both = kept(["a", "5"])
    alone = [kept(["a"]), kept(["5"])]
    assert sorted(alone) == [[0], [1]]
    assert both in alone  # where the used row leaves, the other moves up


DURATIONS = [np.timedelta64(5, unit) for unit in ("Y", "M", "D", "h", "s", "ms", "us", "ns", "as")]


@pytest.mark.parametrize("cell", [*DURATIONS, np.timedelta64(5), np.timedelta64("NaT")], ids=repr)
@pytest.mark.parametrize("column", [partial(pd.Series, dtype=object), partial(pl.Series, dtype=pl.Object)])
def test_a_duration_among_objects_is_a_misfit(column, cell):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[column.func.__module__.split(".")[0]]
    rows = frame({"x": column([cell, "5"])})

    assert codes(rows) == [MISFIT, 1]
    assert codes(rows, WHOLE) == [LAST_WHOLE, 5]


@pytest.mark.parametrize("dtype", [pl.Duration("ms"), pl.Duration("us"), pl.Duration("ns"), pl.Time])
def test_durations_and_times_of_day_are_misfits_and_their_nulls_are_missing(dtype):
    long = 2**62 if dtype != pl.Time else 86_399_999_999_999
    column = pl.Series("x", [None, long, 1], dtype=pl.Int64).cast(dtype)

    assert series_cells(column).values.is_null().to_list() == [True, False, False]
    assert codes(pl.DataFrame({"x": column})) == [MISFIT] * 3
    assert codes(pl.DataFrame({"x": column}), WHOLE) == [LAST_WHOLE] * 3


def invalid_text(kind):
    """Return Arrow text whose second cell is no UTF-8, and which starts inside its buffers."""
    stored = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    chunk = pa.array([b"5", b"a", b"\xff", None, b"\xce" + b"z" * 20 + b"\xff", b"5"], stored[kind]).view(kind)
    return pa.chunked_array([chunk.slice(1), chunk.slice(0, 1)])


ARROW_FRAMES = {
    "text": lambda: pa.table({"x": invalid_text(pa.string())}),
    "large text": lambda: pa.table({"x": invalid_text(pa.large_string())}),
    "text view": lambda: pa.table({"x": invalid_text(pa.string_view())}),
    "dictionary": lambda: pa.table(
        {"x": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 4, 4]), invalid_text(pa.string()).chunk(0))}
    ),
    "pandas": lambda: pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(invalid_text(pa.string()))}),
}


@pytest.mark.parametrize("form", ARROW_FRAMES)
def test_arrow_text_that_is_no_utf8_is_read_like_bytes_that_are_none(form, capfd):
    found = codes(ARROW_FRAMES[form]())

    assert found == [0, MISFIT, MISFIT, MISFIT, 1, 1]
    assert found == codes(pl.DataFrame({"x": [b"a", b"\xff", None, b"\xce" + b"z" * 20 + b"\xff", b"5", b"5"]}))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("mode", ["raise", "warn", "print", "ignore"])
def test_numpys_settings_decide_over_no_error_and_no_code(mode, capfd):
    cells = [5e-324, 1e308, -1e308, np.inf, np.nan, 1.0]
    tables = [
        pd.DataFrame({"x": cells}),
        pd.DataFrame({"x": np.array([*cells[:5], np.longdouble("1e4000")])}),
        pd.DataFrame({"x": np.array(cells, dtype=object)}),
        pl.DataFrame({"x": [str(cell) for cell in cells]}),
    ]
    expected = [[codes(table, schema) for schema in (REAL, WHOLE)] for table in tables]

    with np.errstate(all=mode):
        found = [[codes(table, schema) for schema in (REAL, WHOLE)] for table in tables]

    assert found == expected
    assert capfd.readouterr() == ("", "")
