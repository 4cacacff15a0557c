"""The arena's tables: what rivals are given says the same as the native rows, and nothing else."""

import numpy as np
import polars as pl
import pytest

from helpers.arena import codings, measures, tables
from lapwing.schema.schemas import Schema

SMALL = ("icu-physionet2012", "mimic-demo-admissions", "nist-ma2019", "tarragona")
FIELDS = [
    {"name": "flag", "type": "boolean"},
    {"name": "wide", "type": "integer", "constraints": {"minimum": 0, "maximum": 999, "required": True}},
    {"name": "height", "type": "number", "constraints": {"minimum": -1, "maximum": 1}, "special": [-9]},
    {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(40)]},
]
CODING = codings.coding_of(Schema.from_dict({"fields": FIELDS}))


def test_numbers_have_32_parts_and_categories_and_what_is_not_regular_codes_of_their_own():
    assert CODING.domain == {"flag": 3, "wide": 32, "height": 34, "day": 33, "place": 41}


def test_codes_come_back_as_values_that_have_them():
    rng = np.random.default_rng(1)
    codes = pl.DataFrame({name: rng.integers(size, size=500) for name, size in CODING.domain.items()})

    rows = CODING.decode(codes)

    assert CODING.encode(rows).equals(codes.cast(pl.Int32))
    assert rows.equals(CODING.decode(codes))
    assert not rows.equals(CODING.decode(codes, seed=1))


@pytest.mark.parametrize("code", [-1, 32])
def test_a_code_outside_the_domain_is_refused(code):
    codes = pl.DataFrame({name: [0] for name in CODING.domain}).with_columns(wide=pl.lit(code))

    with pytest.raises(ValueError, match="column wide has codes outside 0 to 31"):
        CODING.decode(codes)


def test_the_schema_of_codes_allows_exactly_the_codes():
    schema = Schema.from_dict(CODING.schema_of_codes)

    assert {field.name: field.domain.values for field in schema.columns} == CODING.domain
    assert [field.name for field in schema.columns if not field.domain.ordered] == ["flag", "place"]


@pytest.mark.parametrize("name", SMALL)
def test_a_shared_table_is_split_and_coded(shared_data, tmp_path, name):
    table = tables.made(name, tmp_path)

    train, held, codes = (pl.read_parquet(path) for path in (table.train, table.held, table.codes))
    source = pl.read_parquet(shared_data / name / "data.parquet").select(train.columns)
    columns = list(train.columns)
    assert pl.concat([train, held]).sort(columns).equals(source.sort(columns))
    assert codes.columns == columns == list(table.domain) == [field["name"] for field in table.schema["fields"]]
    assert all(codes[column].min() >= 0 and codes[column].max() < size for column, size in table.domain.items())
    assert table._coding.encode(table.decode(codes)).equals(codes)
    assert table._coding.encode(held).equals(pl.read_parquet(table.held_codes))
    assert table.schema["target"] in columns


def test_declared_rules_are_part_of_the_schema_and_real_rows_keep_them(shared_data, tmp_path):
    table = tables.made("mimic-demo-admissions", tmp_path)

    found = measures.measured(table.train, table.held, table.held, table.schema)

    assert len(table.schema["rules"]) == 8
    assert found["broken_rules"] == found["broken_rules_train"] == 0
