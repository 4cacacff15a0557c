import datetime as dt

import pandas as pd
import polars as pl
import pytest

from lapwing.errors import DataError, SchemaError
from lapwing.extras.evaluate.internal.schemas import draft_schema

TABLE = pl.DataFrame(
    {
        "age": [37],
        "height": [1.72],
        "name": ["canary"],
        "smokes": [True],
        "born": [dt.date(1980, 1, 1)],
        "seen": [dt.datetime(2020, 1, 1, 12)],
        "ward": pl.Series(["canary"], dtype=pl.Categorical),
    }
)
TYPES = {
    "age": "integer",
    "height": "number",
    "name": "string",
    "smokes": "boolean",
    "born": "date",
    "seen": "datetime",
    "ward": "string",
}


def types_of(data):
    return {field.name: field.type for field in draft_schema(data).value.fields}


@pytest.mark.parametrize(
    "convert",
    [lambda t: t, pl.DataFrame.lazy, pl.DataFrame.to_arrow, lambda t: t.to_arrow().to_batches()[0]],
    ids=["eager", "lazy", "arrow", "batch"],
)
def test_types_are_those_of_the_columns(convert):
    assert types_of(convert(TABLE)) == TYPES


def test_parquet_keeps_types_and_those_of_csv_are_guessed(tmp_path):
    TABLE.write_parquet(tmp_path / "t.parquet")
    TABLE.write_csv(tmp_path / "t.csv")

    assert types_of(tmp_path / "t.parquet") == TYPES
    assert types_of([tmp_path / "t.csv"]) == TYPES


@pytest.mark.parametrize(
    ("cells", "guess"),
    [
        (["3", "", " -4 "], "integer"),
        (["3", "4.5", "1e3"], "number"),
        (["3", "4.0"], "number"),
        (["3", "?"], "integer"),
        (["3", "x"], "string"),
        (["true", "False"], "boolean"),
        (["true", "1"], "string"),
        (["2020-01-01", ""], "date"),
        (["2020-01-01", "2020-01-01T12:00"], "datetime"),
        (["2020-01-32"], "string"),
        (["", ""], "string"),
        ([], "string"),
        (["1"] * 40_000 + ["x"], "string"),
    ],
)
def test_the_guess_is_the_narrowest_type_that_every_cell_fits(tmp_path, cells, guess):
    (tmp_path / "t.csv").write_text("\n".join(["cell,more", *(f"{cell},x" for cell in cells)]))

    assert types_of(tmp_path / "t.csv") == {"cell": guess, "more": "string"}
    assert draft_schema(tmp_path / "t.csv").value.fields[0].minimum is None


def test_a_draft_holds_no_value_of_the_table_and_leaves_every_domain_blank():
    schema = draft_schema(TABLE).value

    assert schema.is_draft
    assert "canary" not in str(schema.to_dict())
    assert all(field.minimum is field.maximum is field.categories is None for field in schema.fields)
    assert {field.provenance for field in schema.fields} == {"drafted"}


def test_an_internal_result_does_not_print_itself():
    assert repr(draft_schema(TABLE)) == "Internal()"


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (pl.DataFrame({"a": [[1]]}), DataError, 'column "a" is of type List'),
        (pl.DataFrame({"a": [b"x"]}), DataError, 'column "a" is of type Binary'),
        (pl.DataFrame(), DataError, "has no column"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), DataError, "columns of the table cannot be read"),
        (pd.DataFrame({0: [1]}), SchemaError, "needs a name"),
        ("nowhere.csv", DataError, "does not exist"),
        (42, DataError, "not a table"),
    ],
)
def test_what_cannot_be_drafted_is_refused(data, error, says):
    with pytest.raises(error, match=says):
        draft_schema(data)
