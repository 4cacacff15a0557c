"""Codes of a field: how many, in which order, bounds, steps, keys, special codes, cuts; and rows that keep to them."""

import datetime as dt
import itertools
import json
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.scalars import parse_date, parse_datetime
from lapwing.schema.schemas import Schema
from lapwing.schema.values import (
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
    own = field(type="integer", minimum=-3.0, maximum=2**60 / 2**58).range
    found = (own.lo, own.hi)

    assert found == (-3, 4)
    assert [type(bound) for bound in found] == [int, int]


def test_datetime_bounds_are_microseconds_and_end_with_the_last_unit() -> None:
    own = field(type="datetime", minimum="2010-01-01", maximum="2010-12-31", resolution="hour").range
    found = (own.lo, own.hi)

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

    assert (own.domain.values, own.range.hi) == (values, last)


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
        _ = field(**settings).range


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


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (254, np.uint8),
        (255, np.uint16),
        (2**16 - 2, np.uint16),
        (2**16 - 1, np.uint32),
        (2**32 - 2, np.uint32),
        (2**32 - 1, np.int64),
    ],
)
def test_codes_have_the_smallest_width_that_holds_that_of_misfits(values: int, dtype: type) -> None:
    codes = Domain(values, 0, missing=True, ordered=True, continuous=False)

    assert codes.dtype == np.dtype(dtype)
    assert np.array([codes.misfit]).astype(codes.dtype)[0] == codes.misfit == codes.last + 1


@pytest.mark.parametrize(("values", "specials"), [(0, 0), (2**53 + 1, 0), (3, -1)])
def test_impossible_domains_are_refused(values: int, specials: int) -> None:
    with pytest.raises(SchemaError, match="a domain"):
        Domain(values, specials, missing=False, ordered=True, continuous=False)


def test_numbers_are_continuous_without_a_resolution_one_value_has_one_code_and_special_ones_have_their_own() -> None:
    assert field(type="number", minimum=0, maximum=1).domain == Domain(2**32, 0, True, True, True)
    assert field(type="number", minimum=2.5, maximum=2.5, required=True).domain == Domain(1, 0, False, True, True)
    assert field(type="number", minimum=0, maximum=1, special=(-1, 99.5)).domain == Domain(2**32, 2, True, True, True)


@pytest.mark.parametrize(
    ("minimum", "maximum", "resolution", "values"),
    [(0, 1, 0.1, 11), (0.1, 0.3, 0.1, 3), (0, 1, 0.3, 4), (0, 10**6, 0.01, 10**8 + 1), (-1, 1, 5, 1)],
)
def test_multiples_of_a_resolution_are_counted_exactly(
    minimum: float, maximum: float, resolution: float, values: int
) -> None:
    assert field(type="number", minimum=minimum, maximum=maximum, resolution=resolution).domain == Domain(
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
    assert field(type="datetime", minimum="2010-01-01", maximum=maximum, resolution=resolution).domain.values == values


def log(kind="integer", **settings):
    return field(type=kind, scale="log", **settings)


@pytest.mark.parametrize(
    ("field", "cuts"),
    [
        (log(minimum=0, maximum=20), ((1,), (2, 4, 8, 16))),
        (log(minimum=-20, maximum=0), ((20,), (5, 13, 17, 19))),
        (log(minimum=-3, maximum=20), ((3, 4), (2, 5, 7, 11, 19))),
        (log(minimum=5, maximum=20), ((3, 11),)),
        (log(minimum=0, maximum=1), ((1,),)),
        (log(minimum=7, maximum=7), ()),
        (log(minimum=0, maximum=2000, resolution=100), ((1,), (2, 4, 8, 16))),
        (log(minimum=-250, maximum=500, resolution=100), ((2, 3), (1, 4, 6))),
        (log("number", minimum=-0.85, maximum=0, resolution=0.1), ((8,), (1, 5, 7))),
        (log("number", minimum=-0.2, maximum=0.2, resolution=0.1), ((2, 3), (1, 4))),
    ],
)
def test_codes_are_cut_around_zero_and_at_powers_of_two(field, cuts) -> None:
    assert field.domain.cuts == cuts


@pytest.mark.parametrize("bounds", [(0, 10**6), (-(10**6), 10**6), (-7.3, 1e5), (0.25, 8), (-9, -0.5), (-1e-3, 1e300)])
def test_every_run_of_real_numbers_lies_on_one_side_of_zero_and_within_an_octave(bounds) -> None:
    domain = log("number", minimum=bounds[0], maximum=bounds[1]).domain
    low, high = map(float, bounds)
    cell = (high - low) / 2**32
    zero = (0 - low) / cell

    cuts = sorted(code for tier in domain.cuts for code in tier)
    edges = [0, *cuts, 2**32]

    for start, stop in itertools.pairwise(edges):
        if stop == start + 1:
            continue
        near, far = sorted((abs(start + 0.5 - zero), abs(stop - 0.5 - zero)))
        assert (start + 0.5 > zero) == (stop - 0.5 > zero)
        assert far < 2 * near + 2, (start, stop)
    assert len(cuts) <= 2 * 33 + 2


def test_the_scale_changes_nothing_else_and_is_written_only_where_it_is_log() -> None:
    scales = ({}, {"scale": "linear"}, {"scale": "log"})
    schemas = [Schema.from_dict({"fields": [make.field("x", (0, 9), **scale)]}) for scale in scales]

    written = [schema.to_dict()["fields"][0].get("scale") for schema in schemas]
    domains = [schema.columns[0].domain for schema in schemas]

    assert written == [None, None, "log"]
    assert schemas[0] == schemas[1] != schemas[2]
    assert Schema.from_dict(json.loads(json.dumps(schemas[2].to_dict()))) == schemas[2]
    assert (domains[0].values, domains[0].cuts) == (domains[2].values, ())
    assert domains[2].cuts == ((1,), (2, 4, 8))


# ------------------------------------------------------------------------- a release of columns of every declared kind


MONTH = ("2019-12-15", "2021-03-10")
COLUMNS = {
    "income": make.field("income", (-1000, 10**6), resolution=100, scale="log", special=[0]),
    "spent": make.field("spent", (-3.5, 9.3), scale="log"),
    "code": make.field("code", ["b1", "a1", "b2", "a2"], hierarchy={"prefixes": [1]}),
    **{step: make.field(step, MONTH, resolution=step) for step in ("week", "month")},
    "year": make.field("year", MONTH, resolution="year", type="datetime"),
}
KINDS = make.schema(COLUMNS)
DATA = pl.DataFrame(
    {
        "income": [0, 0, 1234, None] * 100,
        "spent": [0.0, 0.0, 9.3, 2.125] * 100,
        "code": ["b1", "b2", "a1", None] * 100,
        "week": [dt.date(2020, 1, 1), dt.date(2020, 2, 1)] * 200,
        "month": [dt.date(2019, 12, 20), dt.date(2020, 2, 10)] * 200,
        "year": [dt.datetime(2020, 6, 1, 5), dt.datetime(2021, 1, 1)] * 200,
    }
)


@pytest.mark.parametrize("mechanism", ["Independent", "Adaptive"])
def test_rows_out_keep_to_what_the_schema_declares(mechanism: str) -> None:
    release = lw.synthesize(DATA, KINDS, epsilon=500, mechanism=mechanism, seed=1)

    rows = release.sample(400, seed=2)

    income = rows["income"].drop_nulls()
    assert ((income == 0) | ((income + 1000) % 100 == 0)).all()
    # At this budget the shares of common values are right to a few rows.
    assert (income == 0).sum() == pytest.approx(200, abs=40)
    assert (rows["spent"] == 0.0).sum() == pytest.approx(200, abs=40)
    assert (rows["spent"] == 9.3).sum() == pytest.approx(100, abs=40)
    assert set(rows["code"].drop_nulls()) <= {"a1", "a2", "b1", "b2"}
    assert all((day - dt.date(2019, 12, 15)).days % 7 == 0 for day in rows["week"].drop_nulls())
    assert set(rows["month"].drop_nulls()) >= {dt.date(2019, 12, 15), dt.date(2020, 2, 1)}
    assert all(day.day == 1 or day == dt.date(2019, 12, 15) for day in rows["month"].drop_nulls())
    assert set(rows["year"].drop_nulls()) <= {
        dt.datetime(2019, 12, 15),
        dt.datetime(2020, 1, 1),
        dt.datetime(2021, 1, 1),
    }


def test_conditions_and_labels_name_what_rows_show() -> None:
    release = lw.synthesize(DATA, KINDS, epsilon=500, mechanism="Independent", seed=1)

    zero = release.sample(50, where={"spent": 0, "income": 0, "month": "2020-02-15"}, seed=3)
    upwards = release.sample(50, where={"spent": lw.between(0, 9.3), "year": lw.between("2020-01-01", "2020-12-31")})
    labels = release.query(["month"])["month"].to_list()

    assert set(zero["spent"]) == {0.0}
    assert set(zero["income"]) == {0}
    assert set(zero["month"]) == {dt.date(2020, 2, 1)}
    assert upwards["spent"].min() >= 0
    assert set(upwards["year"]) == {dt.datetime(2020, 1, 1)}
    assert labels[:3] == ["2019-12", "2020-01", "2020-02"]


def test_a_saved_release_of_these_columns_is_read_back(tmp_path) -> None:
    release = lw.synthesize(DATA, KINDS, epsilon=5, mechanism="Independent", seed=1)

    release.save(tmp_path / "kinds.lapwing")
    again = lw.load(tmp_path / "kinds.lapwing")

    assert again.sample(100, seed=4).equals(release.sample(100, seed=4))


def test_codes_of_cells_do_not_depend_on_the_scale_or_the_order_of_the_list() -> None:
    linear = [{key: value for key, value in field.items() if key != "scale"} for field in KINDS["fields"]]

    one, two = (lw.Schema.load({"fields": fields}) for fields in (KINDS["fields"], linear))

    for a, b in zip(one.columns, two.columns, strict=True):
        assert (a.domain.values, a.domain.size, a.domain.dtype) == (b.domain.values, b.domain.size, b.domain.dtype)
    assert np.array_equal(one.field("code").categories, ("b1", "b2", "a1", "a2"))
