import datetime as dt

import polars as pl
import pytest

from lapwing.errors import DataError
from lapwing.extras.evaluate.internal.schemas import FieldFit, check_table, draft_schema
from lapwing.schema.schemas import Schema

FIELDS = {
    "age": {"type": "integer", "constraints": {"minimum": 0, "maximum": 120}, "special": [999]},
    "height": {"type": "number", "constraints": {"minimum": 0.5, "maximum": 2.5}},
    "sex": {"type": "string", "categories": ["f", "m"]},
    "born": {"type": "date", "constraints": {"minimum": "1900-01-01", "maximum": "2020-12-31"}},
    "seen": {"type": "datetime", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    "pay": {"type": "integer", "constraints": {"minimum": -50, "maximum": 1020}, "resolution": 100},
    "month": {"type": "date", "constraints": {"minimum": "2020-01-10", "maximum": "2020-03-10"}, "resolution": "month"},
    "year": {
        "type": "datetime",
        "constraints": {"minimum": "2019-01-10", "maximum": "2020-03-10"},
        "resolution": "year",
    },
    "week": {"type": "date", "constraints": {"minimum": "2020-01-10", "maximum": "2020-03-10"}, "resolution": "week"},
}


def fit(name, cells, *, required=False):
    field = {"name": name, **FIELDS[name]}
    field["constraints"] = {**field.get("constraints", {}), "required": required}
    (found,) = check_table(pl.DataFrame({name: cells}), Schema.from_dict({"fields": [field]})).value
    return found


def counts(found):
    return found.cells, found.missing, found.clamped, found.misfit


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("age", [0, 120, 999, None], (4, 1, 0, 0)),
        ("age", [-1, 121, 37], (3, 0, 2, 0)),
        ("age", [0.5, float("nan"), float("inf"), 200.0], (4, 1, 1, 2)),
        ("age", ["37", "121", "999", "", "N/A", None], (6, 2, 1, 1)),
        ("height", [0.5, 2.5, 0.4999999, 2.5000001, None], (5, 1, 2, 0)),
        ("height", ["1.7", "-inf", "9", "tall"], (4, 0, 1, 2)),
        ("sex", ["f", "m", "x", "", None], (5, 2, 0, 1)),
        ("born", [dt.date(1899, 12, 31), dt.date(1900, 1, 1), dt.date(2020, 12, 31), None], (4, 1, 1, 0)),
        ("born", ["1900-01-01", "2021-01-01", "yesterday"], (3, 0, 1, 1)),
        ("seen", [dt.datetime(2020, 12, 31, 23, 59, 59), dt.datetime(2021, 1, 1), None], (3, 1, 1, 0)),
        ("pay", [-50, -51, 1020, 1021, 3, None], (6, 1, 2, 0)),
        ("month", ["2020-01-10", "2020-01-09", "2020-03-10", "2020-03-11", ""], (5, 1, 2, 0)),
        ("year", ["2019-01-10", "2019-01-09", "2020-03-10T23:59", "2020-03-11", ""], (5, 1, 2, 0)),
        ("week", ["2020-01-10", "2020-01-09", "2020-03-10", "2020-03-11", ""], (5, 1, 2, 0)),
        ("seen", ["2020-12-31T23:59:59.5", "2019-01-01 00:00", "noon"], (3, 0, 1, 1)),
    ],
)
def test_cells_are_counted_by_how_they_fit(name, cells, expected, required):
    assert counts(fit(name, cells, required=required)) == expected


def test_a_text_for_missing_is_missing():
    schema = Schema.from_dict({"missingValues": ["", "?"], "fields": [{"name": "sex", **FIELDS["sex"]}]})

    (found,) = check_table(pl.DataFrame({"sex": ["f", "?", "x"]}), schema).value

    assert found == FieldFit(name="sex", cells=3, missing=1, clamped=0, special=0, misfit=1)


def test_a_missing_column_is_refused_and_any_value_of_its_type_fits_what_a_draft_leaves_open():
    whole = Schema.from_dict({"fields": [{"name": "sex", **FIELDS["sex"]}]})
    draft = draft_schema(pl.DataFrame({"age": [1]})).value

    with pytest.raises(DataError, match='no column "sex"'):
        check_table(pl.DataFrame({"age": [1]}), whole)

    (fit,) = check_table(pl.DataFrame({"age": ["1", "62,8", "NA", None]}), draft).value
    assert (fit.cells, fit.missing, fit.misfit) == (4, 1, 2)
    assert fit.cure == 'write "type": "number", "decimalChar": "," in its field; list "NA" in missingValues'
