"""What the codec asks of a field: bounds, steps, category keys, special codes."""

from datetime import datetime
from typing import Any

import pytest

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.scalars import parse_date, parse_datetime
from lapwing.schema.values import (
    bounds,
    category_key,
    category_positions,
    exact_cells,
    special_codes,
    special_numbers,
)


def field(**settings: Any) -> Field:
    return Field(name="x", **settings)


def microseconds(text: str) -> int:
    return round(datetime.fromisoformat(text + "+00:00").timestamp() * 10**6)


def test_integer_bounds_are_ints_however_they_were_written() -> None:
    found = bounds(field(type="integer", minimum=-3.0, maximum=2**60 / 2**58))

    assert found == (-3, 4)
    assert [type(bound) for bound in found] == [int, int]


def test_datetime_bounds_are_microseconds_and_end_with_the_last_unit() -> None:
    found = bounds(field(type="datetime", minimum="2010-01-01", maximum="2010-12-31", resolution="hour"))

    assert found == (microseconds("2010-01-01T00:00:00"), microseconds("2010-12-31T23:00:00"))


@pytest.mark.parametrize(
    ("settings", "values", "last"),
    [
        ({"type": "integer", "minimum": -50, "maximum": 1020, "resolution": 100}, 11, 950),
        ({"type": "integer", "minimum": 5, "maximum": 9, "resolution": 100}, 1, 5),
        ({"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1, "resolution": 2**62}, 4, 2**62),
        ({"type": "date", "minimum": "1970-01-01", "maximum": "1970-01-14", "resolution": "week"}, 2, 7),
        ({"type": "date", "minimum": "1970-01-01", "maximum": "1970-01-15", "resolution": "week"}, 3, 14),
        ({"type": "date", "minimum": "1970-01-31", "maximum": "1970-02-01", "resolution": "month"}, 2, 31),
        ({"type": "date", "minimum": "1970-01-10", "maximum": "1970-01-11", "resolution": "month"}, 1, 9),
        ({"type": "date", "minimum": "1969-12-31", "maximum": "1971-01-01", "resolution": "year"}, 3, 365),
        ({"type": "date", "minimum": "0001-01-01", "maximum": "9999-12-31", "resolution": "month"}, 12 * 9999, 2932866),
    ],
)
def test_the_last_code_is_the_last_step_that_does_not_pass_the_maximum(
    settings: dict[str, Any], values: int, last: int
) -> None:
    own = field(**settings)

    assert (own.domain.values, bounds(own)[1]) == (values, last)


def test_exact_cells_are_those_of_the_bounds_and_zero_where_these_are_regular() -> None:
    one = exact_cells(field(type="number", minimum=-1, maximum=1, special=(1,)))
    positive = exact_cells(field(type="number", minimum=2, maximum=4))
    point = exact_cells(field(type="number", minimum=2, maximum=2))

    assert one == {0: -1.0, 2**31: 0.0}
    assert positive == {0: 2.0, 2**32 - 1: 4.0}
    assert point == {0: 2.0}


@pytest.mark.parametrize(
    "settings", [{"type": "boolean"}, {"type": "string", "categories": ("a",)}, {"type": "integer", "categories": (1,)}]
)
def test_lists_of_values_have_no_bounds(settings: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="bounds apply to numbers and dates without categories"):
        bounds(field(**settings))


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (1.0, "1"),
        (True, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e22, "1" + 22 * "0"),
        (2**53 + 1, "9007199254740993"),
        ("1.0", "1.0"),
        (" a ", " a "),
    ],
)
def test_values_that_are_the_same_have_one_key(value: Any, key: str) -> None:
    assert category_key(value) == key


def test_categories_of_a_string_field_may_be_numbers() -> None:
    answers = field(type="string", categories=(1, 2.5, 3))

    assert answers.categories == (1.0, 2.5, 3.0)
    assert category_positions(answers) == {"1": 0, "2.5": 1, "3": 2}


def test_special_dates_are_numbers_in_code_space() -> None:
    day = field(type="date", minimum="2010-01-01", maximum="2010-01-02", special=("1970-01-02",))
    time = field(type="datetime", minimum="2010-01-01", maximum="2010-01-02", special=("1970-01-01T00:00:01",))

    assert (special_codes(day), special_numbers(time)) == ({1: 2}, (10**6,))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2010-13-01",
            "2010-02-30",
            "20100101",
            "2010-W01-1",
            "10-01-01",
            "2010-1-1",
            "0000-01-01",
            "",
            " 2010-01-01",
        ),
        *("2010-01-01T24:00", "2010-01-01T00:00Z", "2010-01-01T00:00+01:00", "2010-01-01T00", "٢٠١٠-01-01", None, 5),
    ],
)
def test_other_texts_are_no_times(text: object) -> None:
    assert (parse_date(text), parse_datetime(text)) == (None, None)


def test_special_codes_are_in_the_order_of_the_schema() -> None:
    codes = special_codes(field(type="number", minimum=0, maximum=1, special=(99, -1.5)))

    assert list(codes.items()) == [(99.0, 2**32), (-1.5, 2**32 + 1)]
