"""The arena's tables: what rivals are given says the same as the native rows, and nothing else."""

import polars as pl
import pytest

from helpers.arena import codings, tables
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
