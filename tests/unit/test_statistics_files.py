"""Files of SPSS, Stata and SAS: the codes of their cells, and their code books as schemas."""

import dataclasses
import datetime as dt

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import lapwing as lw
from helpers.naive_codes import naive_code
from helpers.nasty_cells import CELLS, FIELDS
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.schemas import Schema

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
        found = all_codes(code_table(tmp_path / f"rows.{suffix}", schema), schema)["x"].tolist()
        assert found == [naive_code(cell, field) for cell in cells], field


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
    assert (age.type, age.special, age.description) == ("number", (99,), "Age in years (99 = 99 or older)")
    assert (sex.type, sex.categories, sex.missing_values) == ("integer", (1, 2), ("", "9"))
    assert sex.description == "Sex of the person (1 = male; 2 = female)"
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
    assert (u.categories, u.missing_values, u.description) == ((1, 2), ("", ".a"), "1 = yes; 2 = no")
    assert (n.type, x.type) == ("integer", "number")
    assert len(schema.questions) == 1
    assert "whether the labelled codes are all" in schema.questions[0]
    assert all_codes(code_table(tmp_path / "a.dta", Schema(fields=(u,))), Schema(fields=(u,)))["u"].tolist() == [
        0,
        2,
        1,
    ]


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
    schema = lw.Schema.load(
        {"fields": [{"name": "p", "type": "integer", "constraints": {"minimum": 200, "maximum": 300}}]}
    )
    assert all_codes(code_table(tmp_path / "rows.dta", schema), schema)["p"].tolist() == [40, 41, 101]
