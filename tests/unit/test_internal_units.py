"""Rows per privacy unit, counted for the owner: as a release counts and cuts them."""

import polars as pl
import pytest

from lapwing.errors import DataError, SchemaError
from lapwing.extras.evaluate.internal.schemas import check_units
from lapwing.release.marked import Internal
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

FIELDS = [{"name": "id", "type": "string", "role": "identifier"}, {"name": "flag", "type": "boolean"}]


def schema_of(max_rows):
    return Schema.from_dict({"fields": FIELDS, "privacyUnit": {"field": "id", "maxRows": max_rows}})


def table(ids):
    return pl.DataFrame({"id": pl.Series(ids, dtype=pl.String), "flag": [True] * len(ids)})


IDS = ["a"] * 7 + ["b"] * 2 + ["7", "7.0", "07", "7"] + [None, "", None]


def test_units_are_counted_as_a_release_tells_them_apart():
    found = check_units(table(IDS), schema_of(2))

    assert isinstance(found, Internal)
    assert (found.value.rows, found.value.units, found.value.rows_without) == (16, 5, 3)
    assert (found.value.largest, found.value.mean) == (7, 16 / 5)


@pytest.mark.parametrize("max_rows", [1, 2, 3, 4, 100])
def test_what_each_max_rows_would_keep_is_what_a_release_keeps(max_rows):
    found = check_units(table(IDS), schema_of(max_rows)).value

    assert [limit for limit, _ in found.kept] == sorted({1, 2, 3, 5, 10, max_rows})
    for limit, kept in found.kept:
        assert code_table(table(IDS), schema_of(limit)).rows == kept
    assert found.dropped_share == 1 - dict(found.kept)[max_rows] / 16


def test_units_whose_rows_lie_in_several_files_are_one(tmp_path):
    paths = [tmp_path / name for name in ("1.parquet", "2.parquet")]
    for path in paths:
        table(IDS).write_parquet(path)

    found = check_units(paths, schema_of(2)).value

    assert (found.rows, found.units, found.largest) == (32, 5, 14)


def test_a_schema_without_unit_and_a_table_without_its_column_are_refused():
    with pytest.raises(SchemaError, match="the schema has no privacyUnit, so every row is a unit; name one"):
        check_units(table(IDS), Schema.from_dict({"fields": FIELDS}))
    with pytest.raises(DataError, match='no column "id"'):
        check_units(table(IDS).drop("id"), schema_of(2))
