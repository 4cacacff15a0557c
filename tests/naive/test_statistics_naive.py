"""Compiled statistics against Polars on the tables themselves."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lapwing.model.statistics.expressions import compile_statistic
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

ADULT = {
    "age >= 65 and sex == 'Female'": (pl.col("age") >= 65) & (pl.col("sex") == "Female"),
    "25 <= age < 65 and not hours_per_week > 40": pl.col("age").is_between(25, 64) & (pl.col("hours_per_week") <= 40),
    "education in ('Masters', 'Doctorate') or capital_gain > 0": pl.col("education").is_in(["Masters", "Doctorate"])
    | (pl.col("capital_gain") > 0),
    "capital_gain > 10 * capital_loss + 50": pl.col("capital_gain") > 10 * pl.col("capital_loss").cast(pl.Int64) + 50,
    "workclass not in ('Private', 'State-gov')": ~pl.col("workclass").is_in(["Private", "State-gov"]),
}
NHANES = {
    "Height >= 170": pl.col("Height") >= 170,
    "Height < 170": pl.col("Height") < 170,
    "Weight <= 80 and not BMI > 25": (pl.col("Weight") <= 80) & ~(pl.col("BMI") > 25).fill_null(value=False),
    "Poverty == 5": pl.col("Poverty") == 5,
    "Testosterone is None": pl.col("Testosterone").is_null(),
    "Diabetes != 'No'": pl.col("Diabetes") != "No",
    "BPSysAve - BPDiaAve > 60": pl.col("BPSysAve") - pl.col("BPDiaAve") > 60,
    "abs(BPSys2 - BPSys3) >= 10 or Pulse > 100": ((pl.col("BPSys2") - pl.col("BPSys3")).abs() >= 10).fill_null(
        value=False
    )
    | (pl.col("Pulse") > 100).fill_null(value=False),
}
EUSILC = {
    "py010n > 0": pl.col("py010n") > 0,
    "hy040n == 0 and hsize > 2": (pl.col("hy040n") == 0) & (pl.col("hsize") > 2),
    "pl030 == '1' and age < 30": (pl.col("pl030") == "1") & (pl.col("age") < 30),
    "py010n + py050n >= 20000.5": pl.col("py010n") + pl.col("py050n") >= 20000.5,
}
NUMBERS = {
    "(age - 40) * (hours_per_week - 40) / 12800": (pl.col("age") - 40) * (pl.col("hours_per_week") - 40) / 12800,
    "min(capital_gain, 9999) / 9999 - (sex == 'Male') / 4": pl.min_horizontal("capital_gain", pl.lit(9999)) / 9999
    - (pl.col("sex") == "Male").cast(pl.Float64).fill_null(0) / 4,
}


def coded(folder: Path) -> tuple[Schema, pl.DataFrame, dict[str, np.ndarray]]:
    table = pl.read_parquet(folder / "data.parquet")
    document = Schema.load(str(folder / "schema.json"))
    schema = Schema(fields=document.fields)  # every row counts, whoever's it is
    parts = list(code_table(table, schema).chunks())
    return schema, table, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@pytest.mark.parametrize(
    ("name", "texts"), [("adult", ADULT), ("nhanes", NHANES), ("eusilc", EUSILC)], ids=["adult", "nhanes", "eusilc"]
)
def test_indicators_count_what_polars_counts_in_the_table_itself(shared_data, name, texts):
    schema, table, codes = coded(shared_data / name)

    for text, condition in texts.items():
        statistic = compile_statistic(text, schema)
        expected = table.select(condition.fill_null(value=False).alias("it"))["it"].to_numpy()

        values = statistic.values(codes)

        assert (statistic.bits, values.sum()) == (0, expected.sum()), text
        assert np.array_equal(values == 1, expected), text
        assert 0 < values.sum() < len(values), text


def test_numbers_are_those_of_polars_to_the_nearest_unit(shared_data):
    schema, table, codes = coded(shared_data / "adult")

    for text, number in NUMBERS.items():
        expected = table.select(number.cast(pl.Float64).fill_null(0).alias("it"))["it"].to_numpy()

        values = compile_statistic(text, schema).values(codes)

        assert np.abs(values / 2**16 - expected).max() < 3 / 2**16, text


def test_all_two_way_cells_of_a_binary_table_are_those_of_polars(shared_data):
    schema, table, codes = coded(shared_data / "nltcs")
    first, second = (field.name for field in schema.columns[:2])  # the second is "getting in/out of bed"

    both = compile_statistic(f"{first} == 1 and `{second}` == 1", schema).values(codes)
    either = compile_statistic(f"{first} == 1 or `{second}` >= 0.5", schema).values(codes)

    numbers = table.select(first, second).to_numpy().sum(axis=1)
    assert both.sum() == (numbers == 2).sum()
    assert either.sum() == (numbers >= 1).sum()
    assert compile_statistic(f"({first} + `{second}`) / 2", schema).values(codes).sum() == numbers.sum() * 2**15
