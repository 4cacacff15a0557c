"""Cells mean what they are written as: days by their own clock, single precision, and whole numbers beyond 2**53."""

import datetime as dt
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lapwing as lw
from lapwing.extras.evaluate.internal.schemas import draft_schema
from lapwing.extras.evaluate.internal.suggestions import suggest
from lapwing.rows.source import coded_table

DAYS = [dt.date(2020, 1, 1), dt.date(2020, 3, 29), dt.date(2020, 7, 1), None, dt.date(2020, 12, 31)]
DAY = {"name": "v", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}}
LISTED = {"name": "v", "type": "date", "categories": [str(day) for day in DAYS if day]}


def midnights(zone):
    """Return the midnights that begin the days in a zone."""
    return [None if day is None else dt.datetime.combine(day, dt.time(), ZoneInfo(zone)) for day in DAYS]


def in_polars(zone):
    """Return the midnights as a Polars column of that zone."""
    naive = pl.Series("v", [day and dt.datetime.combine(day, dt.time()) for day in DAYS])
    return naive.dt.replace_time_zone(zone).to_frame()


CONTAINERS = {
    "polars": in_polars,
    "milliseconds": lambda zone: in_polars(zone).with_columns(pl.col("v").dt.cast_time_unit("ms")),
    "polars, lazy": lambda zone: in_polars(zone).lazy(),
    "pandas": lambda zone: pd.DataFrame({"v": in_polars(zone)["v"].to_pandas()}),
    "pandas, categories": lambda zone: pd.DataFrame({"v": in_polars(zone)["v"].to_pandas().astype("category")}),
    "pandas, Arrow": lambda zone: in_polars(zone).to_arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "objects": lambda zone: pd.DataFrame({"v": pd.Series(midnights(zone), dtype=object)}),
    "arrow": lambda zone: in_polars(zone).to_arrow(),
    "objects among others": lambda zone: pd.DataFrame({"v": pd.Series([*midnights(zone), "no day"], dtype=object)}),
    "texts": lambda zone: pl.DataFrame({"v": [day and day.isoformat() for day in midnights(zone)]}),
}


def codes(data, field):
    """Return the codes of the one column of a table."""
    with coded_table(data, lw.Schema.load({"fields": [{**field, "provenance": "public"}]})) as source:
        return np.concatenate([chunk["v"] for chunk in source.chunks()]).tolist()


@pytest.mark.parametrize("field", [DAY, LISTED], ids=["bounds", "list"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_day_is_that_of_the_cells_own_clock(container, zone, field):
    assert codes(CONTAINERS[container](zone), field)[: len(DAYS)] == codes(pl.DataFrame({"v": DAYS}), field)


def test_a_file_and_a_query_keep_the_day_too(tmp_path):
    in_polars("Europe/Berlin").write_parquet(tmp_path / "t.parquet")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Europe/Berlin'")
    relation = connection.from_arrow(in_polars("Europe/Berlin").to_arrow())

    for data in (str(tmp_path / "t.parquet"), relation):
        assert codes(data, DAY) == codes(pl.DataFrame({"v": DAYS}), DAY)


def test_a_moment_is_one_of_utc_in_every_container():
    moment = {"name": "v", "type": "datetime", "resolution": "hour"}
    moment["constraints"] = {"minimum": "2019-12-31T00:00:00", "maximum": "2020-12-31T23:00:00"}
    utc = pl.DataFrame({"v": [day and day.astimezone(dt.UTC).replace(tzinfo=None) for day in midnights("Asia/Tokyo")]})

    for made in CONTAINERS.values():
        assert codes(made("Asia/Tokyo"), moment)[: len(DAYS)] == codes(utc, moment)


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Pacific/Kiritimati"])
def test_no_moment_of_a_zone_is_too_far_for_any_library(unit, zone):
    ends = [2**63 - 1, -(2**63) + 1, 2**62, -(2**62), 0]
    column = (
        pl.Series("v", ends, dtype=pl.Int64)
        .cast(pl.Datetime(unit))
        .dt.replace_time_zone("UTC")
        .cast(pl.Datetime(unit, zone))
    )
    arrow = pa.table({"v": pa.array(ends, pa.timestamp(unit, zone))})
    tables = [column.to_frame(), column.to_frame().lazy(), arrow, arrow.to_pandas(types_mapper=pd.ArrowDtype)]
    tables += [
        pd.DataFrame(
            {"v": pd.Series(np.array(ends, dtype=f"datetime64[{unit}]")).dt.tz_localize("UTC").dt.tz_convert(zone)}
        )
    ]

    found = [codes(table, DAY) for table in tables]

    assert all(each == found[0] for each in found)
    assert found[0][:4] == [365, 0, 365, 0]


def test_units_named_by_moments_are_the_same_people_in_every_container():
    fields = [{"name": "v", "type": "string", "role": "identifier"}, {"name": "x", "type": "boolean"}]
    schema = lw.Schema.load({"fields": fields, "privacyUnit": {"field": "v", "maxRows": 1}})
    twice = [*midnights("Europe/Berlin"), *(day and day.astimezone(dt.UTC) for day in midnights("Europe/Berlin"))]
    objects = pd.DataFrame({"v": pd.Series(twice, dtype=object), "x": True})

    with coded_table(objects, schema) as source:
        rows = sum(len(chunk["x"]) for chunk in source.chunks())

    assert rows == len(set(twice))  # all without an identifier are one


DECIMALS = [-0.1, 0.2, 99.9, None, 1e-7]
NUMBER = {"name": "v", "type": "number", "special": [-0.1, 99.9], "resolution": 0.1}
NUMBER["constraints"] = {"minimum": 0, "maximum": 1}
LIST = {"name": "v", "type": "number", "categories": [-0.1, 0.2, 99.9, 1e-7]}
SHORT = pl.DataFrame({"v": pl.Series(DECIMALS, dtype=pl.Float32)})
SINGLE = {
    "polars": SHORT,
    "pandas": SHORT.to_pandas(),
    "nullable": SHORT.to_pandas().astype("Float32"),
    "pandas, Arrow": SHORT.to_arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "arrow": SHORT.to_arrow(),
    "duckdb": duckdb.connect().from_arrow(SHORT.to_arrow()),
}


@pytest.mark.parametrize("field", [NUMBER, LIST], ids=["specials", "list"])
@pytest.mark.parametrize("container", SINGLE)
def test_a_single_precision_cell_is_the_decimal_that_it_is_written_as(container, field):
    assert codes(SINGLE[container], field) == codes(pl.DataFrame({"v": DECIMALS}), field)


def test_a_half_precision_cell_is_too():
    halves = pd.DataFrame({"v": np.array([-0.1, 0.2, 99.9], dtype=np.float16)})

    assert codes(halves, LIST) == [0, 1, 2]


BIG = [-(2**63), -(2**53) - 1, 2**53 + 1, 2**62 + 1, 2**63 - 1]


@pytest.mark.parametrize(
    "field",
    [
        {"categories": BIG},
        {"constraints": {"minimum": 2**60, "maximum": 2**60 + 4}},
        {"constraints": {"minimum": 0, "maximum": 100}, "special": [2**53 + 1]},
    ],
)
def test_whole_numbers_beyond_floats_come_back_exactly_in_pandas(field):
    schema = lw.Schema.load({"fields": [{"name": "v", "type": "integer", "provenance": "public", **field}]})
    values = field.get("categories") or [field["constraints"]["minimum"] + 1, *field.get("special", [])]
    frame = pd.DataFrame({"v": np.resize(np.array(values), 600)})
    release = lw.synthesize(frame, schema, epsilon=10_000, mechanism="Independent", seed=1)

    for rows in (release.sample(), release.sample(like=frame)):
        assert {int(value) for value in rows["v"].dropna()} == set(values)


def test_small_whole_numbers_stay_numpys():
    schema = lw.Schema.load({"fields": [{**DAY, "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}]})
    release = lw.synthesize(pd.DataFrame({"v": [1, 2] * 50}), schema, epsilon=10, mechanism="Independent", seed=1)

    assert release.sample(5)["v"].dtype == np.float64


@pytest.mark.parametrize(
    ("field", "ends"),
    [
        ({"type": "integer"}, (1, 9)),
        ({"type": "year"}, (1, 9)),
        ({"type": "number", "resolution": 0.5}, (0.5, 9.5)),
        ({"type": "number"}, (0, 10)),
    ],
)
def test_exclusive_bounds_are_bounds(field, ends):
    constraints = {"exclusiveMinimum": 0, "exclusiveMaximum": 10}
    found = lw.Schema.load({"fields": [{"name": "v", "provenance": "public", **field, "constraints": constraints}]})

    assert (found.field("v").minimum, found.field("v").maximum) == ends


def test_exclusive_days_are_the_next_ones_and_two_lower_bounds_are_refused():
    bounds = {"exclusiveMinimum": "2019-12-31", "exclusiveMaximum": "2020-03-01"}
    found = lw.Schema.load({"fields": [{**DAY, "constraints": bounds}]}).field("v")

    assert (found.minimum, found.maximum) == ("2020-01-01", "2020-02-29")
    with pytest.raises(lw.SchemaError, match="exclusiveMinimum and minimum"):
        lw.Schema.load({"fields": [{**DAY, "constraints": {**bounds, "minimum": "2019-01-01"}}]})


def test_run_end_encoded_columns_hold_one_value_per_cell():
    values = pa.array(["a", "a", "b", None])
    field = {"name": "v", "type": "string", "categories": ["a", "b"]}

    assert codes(pa.table({"v": pc.run_end_encode(values)}), field) == codes(pa.table({"v": values}), field)


def test_a_file_in_arrows_stream_form_is_read(tmp_path):
    table = pa.table({"v": ["a", "b", "a"]})
    with pa.ipc.new_stream(tmp_path / "t.arrow", table.schema) as out:
        out.write_table(table)

    assert codes(str(tmp_path / "t.arrow"), {"name": "v", "type": "string", "categories": ["a", "b"]}) == [0, 1, 0]


def test_codes_declared_as_missing_are_values_where_the_schema_lists_them(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"v": [1.0, -9.0, -8.0], "t": ["a", "zz", "b"]})
    ranges = {"v": [-9, -8], "t": ["zz"]}
    pyreadstat.write_sav(frame, tmp_path / "t.sav", missing_ranges=ranges)
    numbers = {"name": "v", "type": "number", "constraints": {"minimum": 0, "maximum": 2}, "special": [-9]}
    bare = {key: value for key, value in numbers.items() if key != "special"}

    assert codes(tmp_path / "t.sav", numbers) == codes(pl.DataFrame({"v": [1.0, -9.0, None]}), numbers)
    assert codes(tmp_path / "t.sav", bare) == codes(pl.DataFrame({"v": [1.0, None, None]}), bare)


@pytest.mark.parametrize("start", [10**18, -(2**63), 2**53])
@pytest.mark.parametrize("container", ["polars", "csv", "pandas"])
def test_a_look_tells_whole_numbers_beyond_floats_apart(container, start, tmp_path):
    frame = pl.DataFrame({"v": [start + k % 37 for k in range(1000)]})
    frame.write_csv(tmp_path / "t.csv")
    data = {"polars": frame, "csv": str(tmp_path / "t.csv"), "pandas": frame.to_pandas()}[container]

    (found,) = suggest(data, draft_schema(data).value).value

    assert (found.cells, found.missing, found.distinct) == (1000, 0, 37)
