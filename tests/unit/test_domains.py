"""Codes of a field: how many, of what width, and in which order."""

from typing import Any

import numpy as np
import pytest

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain


def domain(**settings: Any) -> Domain:
    return Field(name="x", **settings).domain


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (255, np.uint8),
        (256, np.uint16),
        (2**16 - 1, np.uint16),
        (2**16, np.uint32),
        (2**32 - 1, np.uint32),
        (2**32, np.int64),
    ],
)
def test_codes_have_the_smallest_width_that_holds_the_last_one(values: int, dtype: type) -> None:
    codes = Domain(values, 0, missing=True, ordered=True, continuous=False)

    assert codes.dtype == np.dtype(dtype)
    assert np.array([codes.last]).astype(codes.dtype)[0] == codes.last


@pytest.mark.parametrize(("values", "specials"), [(0, 0), (2**53 + 1, 0), (3, -1)])
def test_impossible_domains_are_refused(values: int, specials: int) -> None:
    with pytest.raises(SchemaError, match="a domain"):
        Domain(values, specials, missing=False, ordered=True, continuous=False)


def test_numbers_are_continuous_without_a_resolution() -> None:
    assert domain(type="number", minimum=0, maximum=1) == Domain(2**32, 0, True, True, True)


def test_a_number_of_one_value_has_one_code() -> None:
    assert domain(type="number", minimum=2.5, maximum=2.5, required=True) == Domain(1, 0, False, True, True)


@pytest.mark.parametrize(
    ("minimum", "maximum", "resolution", "values"),
    [(0, 1, 0.1, 11), (0.1, 0.3, 0.1, 3), (0, 1, 0.3, 4), (0, 10**6, 0.01, 10**8 + 1), (-1, 1, 5, 1)],
)
def test_multiples_of_a_resolution_are_counted_exactly(
    minimum: float, maximum: float, resolution: float, values: int
) -> None:
    assert domain(type="number", minimum=minimum, maximum=maximum, resolution=resolution) == Domain(
        values, 0, True, True, False
    )


@pytest.mark.parametrize(
    ("maximum", "resolution", "values"),
    [
        ("2010-12-31", "day", 365),
        ("2010-12-31", "hour", 8760),
        ("2010-12-31", None, 365 * 86_400),
        ("2010-12-31T00:00:00", "hour", 8737),
        ("2010-12-31T23:59", "minute", 365 * 1440),
    ],
)
def test_a_datetime_maximum_without_a_time_includes_that_day(maximum: str, resolution: str | None, values: int) -> None:
    assert domain(type="datetime", minimum="2010-01-01", maximum=maximum, resolution=resolution).values == values


def test_special_values_are_reserved_codes() -> None:
    assert domain(type="number", minimum=0, maximum=1, special=(-1, 99.5)) == Domain(2**32, 2, True, True, True)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 2**53}, "more than 2\\*\\*53 values"),
        ({"type": "number", "minimum": 0, "maximum": 1e15, "resolution": 1e-9}, "too large for resolution"),
        ({"type": "number", "minimum": -1.7e308, "maximum": 1.7e308}, "too far apart"),
        ({"type": "date", "minimum": "2010-01-02", "maximum": "2010-01-01"}, "above maximum .* swap them"),
        ({"type": "number", "minimum": 1, "maximum": 0.5}, "above maximum"),
    ],
)
def test_ranges_without_a_usable_domain_are_refused(settings: dict[str, Any], rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        Field(name="x", **settings)


@pytest.mark.parametrize("kind", ["integer", "number", "date", "datetime", "string"])
def test_an_open_domain_is_an_error_only_when_it_is_asked_for(kind: Any) -> None:
    field = Field(name="age", type=kind)

    with pytest.raises(SchemaError, match='field "age": '):
        _ = field.domain
