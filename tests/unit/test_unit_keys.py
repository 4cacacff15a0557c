"""Which identifiers are one privacy unit: whole numbers by exact value, however stored; other texts as they are."""

import decimal
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.rows.cells import Numbers, Texts, Times
from lapwing.rows.codec import encode
from lapwing.rows.source import code_table
from lapwing.rows.units import UnitNumbers
from lapwing.schema.fields import Field
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


WHOLE = st.one_of(st.integers(-(2**70), 2**70), st.integers(2**53 - 3, 2**53 + 3), st.integers(-9, 9))
WAYS = {
    "as it is": str,
    "with a point": lambda number: f"{number}.0",
    "with zeros": lambda number: f" {number}.000 ",
    "by an exponent": lambda number: f"{number}0e-1",
    "as a fraction": lambda number: f"{number}.50",
}


def names(kind, *columns):
    units = UnitNumbers(Field(name="who", type=kind, identifier=True))
    for column in columns:
        units.add(column)
    found = units.names().to_list()
    # The two ways in which a unit is told must agree.
    assert len(set(zip(found, units.numbers().tolist(), strict=True))) == len(set(found))
    return found


@given(st.lists(st.tuples(WHOLE, st.sampled_from(sorted(WAYS))), min_size=1, max_size=9))
def test_texts_of_an_integer_field_are_one_unit_where_they_are_one_whole_number(cells):
    texts = [WAYS[way](number) for number, way in cells]

    found = names("integer", Texts(pl.Series(texts)))

    for one, at in zip(texts, found, strict=True):
        for other, there in zip(texts, found, strict=True):
            is_whole = Decimal(one) == int(Decimal(one))
            assert (at == there) == (Decimal(one) == Decimal(other) if is_whole else one == other)


@pytest.mark.parametrize("kind", ["integer", "string"])
def test_numbers_from_2_to_the_63_are_one_unit_as_floats_integers_and_texts(kind):
    floats = Numbers(np.array([2.0**63, 1e20, -(2.0**63)]))
    integers = Numbers(np.array([2**63, 2**63 + 1], dtype=np.uint64))
    texts = Texts(pl.Series(["9223372036854775808.0", "9223372036854775809", "-9223372036854775808", "1" + "0" * 20]))

    found = names(kind, floats, integers, texts)

    assert found[0] == found[3] == found[5]
    assert found[4] == found[6] != found[0]
    assert found[2] == found[7]
    assert found[1] == found[8]


@pytest.mark.parametrize("kind", ["integer", "string"])
def test_a_day_is_one_unit_as_a_date_and_as_its_text_and_not_a_number(kind):
    days = Times(np.array([0, 86_400_000_000, 0]), np.array([False, False, True]))
    texts = Texts(pl.Series(["1970-01-01", "1970-01-02", None]))

    found = names(kind, days, texts, Numbers(np.array([86_400_000_000])))

    assert found[:3] == found[3:6]
    assert len(set(found[:3])) == 3
    assert found[6] not in found[:6]


def test_an_integer_column_reads_whole_numbers_above_2_to_the_53_exactly():
    field = Field(name="x", type="integer", minimum=2**53, maximum=2**53 + 9)
    cells = [
        "9007199254740993.0",
        "9007199254740993",
        "9007199254740993.",
        "9007199254740992.0",
        "9.007199254740992e15",  # how floats are written, and read: 9.007199254740993e15 is the same one
        "9.007199254740993e15",
    ]

    assert encode(Texts(pl.Series(cells)), field).tolist() == [1, 1, 1, 0, 0, 0]
