"""Identifiers of rare kinds: two that differ name two privacy units, whatever holds them."""

import decimal
import uuid

import numpy as np
import pandas as pd
import pytest

from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

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


def test_rows_without_an_identifier_and_with_one_that_cannot_be_read_are_one_unit_together():
    identifiers = pd.Series([(1, 2), None, "", [3]], dtype=object)

    assert code_table(pd.DataFrame({"id": identifiers, "x": np.arange(4)}), SCHEMA).units == 1


@pytest.mark.parametrize("kind", ["string", "integer"])
def test_a_whole_number_is_one_person_however_it_is_stored(kind, tmp_path):
    fields = [SCHEMA.to_dict()["fields"][0] | {"type": kind}, SCHEMA.to_dict()["fields"][1]]
    schema = Schema.from_dict({"fields": fields, "privacyUnit": {"field": "id", "maxRows": 1}})
    mixed = pd.Series([7, 7.0, "7", np.float32(7), decimal.Decimal("7.0"), "7.0", -0.0, 0], dtype=object)
    for name, ids in {"whole": [7, 8], "as floats": [7.0, None]}.items():
        pd.DataFrame({"id": ids, "x": [1, 2]}).to_csv(tmp_path / f"{name}.csv", index=False)

    assert code_table(pd.DataFrame({"id": mixed, "x": np.arange(8)}), schema).units == 2
    assert code_table(tmp_path, schema).units == 3  # 7, 8 and none


def test_a_name_that_only_looks_like_a_number_is_a_name():
    table = pd.DataFrame({"id": ["7", "07", "7.00", "07.0", "1.7.0", "7.0a"], "x": np.arange(6)})

    assert code_table(table, SCHEMA).units == 6
