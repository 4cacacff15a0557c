"""Identifiers of rare kinds: two that differ name two privacy units, whatever holds them."""

import uuid

import numpy as np
import pandas as pd
import pytest

from lapwing.schema.schemas import Schema
from lapwing.table.source import code_table

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "id", "type": "string", "role": "identifier"},
            {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
        ],
        "privacyUnit": {"field": "id", "maxRows": 1},
    }
)


@pytest.mark.parametrize(
    "identifiers",
    [
        [uuid.UUID(int=number << 64) for number in range(20)],
        [2**100 + number for number in range(20)],
        [bytes([200 + number, 7]) for number in range(20)],
        [chr(0xD800 + number) for number in range(20)],
    ],
    ids=["UUIDs", "long integers", "bytes that are no text", "half surrogate pairs"],
)
def test_each_identifier_of_a_rare_kind_is_a_unit_of_its_own(identifiers):
    table = pd.DataFrame({"id": pd.Series(identifiers * 2, dtype=object), "x": np.arange(40)})

    source = code_table(table, SCHEMA)

    assert source.units == 20
    assert source.rows == 20


def test_identifiers_that_cannot_be_read_are_one_unit_together():
    table = pd.DataFrame({"id": pd.Series([(1, number) for number in range(5)], dtype=object), "x": np.arange(5)})

    assert code_table(table, SCHEMA).units == 1


def test_names_in_a_file_of_another_encoding_stay_apart(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("id,x\nMüller,1\nMöller,2\nMäller,3\nMüller,4\n".encode("latin-1"))

    source = code_table(path, SCHEMA)

    assert source.units == 3
    assert source.rows == 3
