"""lw.anonymize on real tables: what comes out fits the schema, and no row of numbers is rare."""

import polars as pl
import pytest

import lapwing as lw
from helpers.anonymous_groups import rare_rows
from lapwing.extras.evaluate.internal.schemas import check_table


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("tarragona", {}),
        ("tarragona", {"variant": "paper"}),
        ("mimic-demo-admissions", {}),
        ("mimic-demo-admissions", {"output": "shuffle"}),
        ("teacher-climate", {"categories": "mode", "improve": False}),
        ("icu-physionet2012", {"improve": False}),
    ],
)
def test_rows_out_fit_the_schema(shared_data, name, settings):
    data, schema = shared_data / name / "data.parquet", lw.Schema.load(shared_data / name / "schema.json")

    made = lw.anonymize(data, schema, 10, seed=1, **settings)

    fits = check_table(made.data, schema).value
    assert [(fit.name, fit.misfit, fit.clamped) for fit in fits if fit.misfit or fit.clamped] == []
    assert made.data.columns == [field.name for field in schema.fields]
    assert 0 < made.information_loss < 100
    assert 0 < made.covariance_loss < 1


def test_missing_cells_of_a_real_table_stay_as_many(shared_data):
    folder = shared_data / "mimic-demo-admissions"

    made = lw.anonymize(folder / "data.parquet", folder / "schema.json", 10, seed=1, output="shuffle")

    # At most five rows of a patient are used.
    real = pl.read_parquet(folder / "data.parquet")["deathtime"].null_count()
    assert real - 10 <= made.data["deathtime"].null_count() <= real
    assert made.unit == "subject_id:5"


def test_no_row_of_tarragona_is_rare_afterwards(shared_data):
    folder = shared_data / "tarragona"
    real = pl.read_parquet(folder / "data.parquet")

    made = lw.anonymize(folder / "data.parquet", folder / "schema.json", 5, seed=1)

    assert rare_rows(made.data, made.data.columns, 5) == 0
    assert rare_rows(real, real.columns, 5) == real.height
    # What the issue asks of k = 5; MDAV loses 22.46.
    assert made.information_loss <= 21.0
