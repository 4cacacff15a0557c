"""Which identifiers are one unit: whole numbers by their exact value, however stored; other texts as they are."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.rows.cells import Numbers, Texts, Times
from lapwing.rows.codec import encode
from lapwing.rows.units import UnitNumbers
from lapwing.schema.fields import Field

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
