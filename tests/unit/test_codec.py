"""Cells as codes and back: of every kind of column, of units, and of public files."""

import datetime as dt
import decimal
import math
import uuid
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.resolved import FIELDS
from lapwing.mechanisms.adaptive.one_way import FIRST_CELLS, first_cells
from lapwing.mechanisms.shared.one_way import VALUE_BY_VALUE, is_refined, landmark_codes, public_cells
from lapwing.rows.cells import Numbers, Texts, Times, texts
from lapwing.rows.codec import encode, encoder
from lapwing.rows.frames import series_cells
from lapwing.rows.out.decode import decode
from lapwing.rows.source import code_table
from lapwing.rows.units import UnitNumbers
from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes
from lapwing.schema.schemas import Schema


def codes_of(field, *cells):
    """Return codes of text cells, the shape in which a CSV file gives every cell."""
    return encode(texts(cells), field).tolist()


UNIT = Field(name="x", type="number", minimum=0, maximum=1)
AGE = Field(name="age", type="integer", minimum=0, maximum=120, special=(-1, 999))


def test_what_is_not_finite_is_the_last_code_and_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for field in (UNIT, AGE, Field(name="x", type="number", minimum=0, maximum=1, resolution=0.1)):
            codes = encode(Numbers(np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 2.0**63, -(2.0**63)])), field)

            assert codes[:3].tolist() == [field.domain.last] * 3
            assert set(codes[3:].tolist()) == {0, field.domain.values - 1}


def test_a_special_value_at_the_end_of_64_bits_is_not_met_by_larger_numbers():
    field = Field(name="x", type="integer", minimum=0, maximum=9, special=(2**63 - 1, -(2**63)))

    assert encode(Numbers(np.array([2.0**63, -(2.0**63)])), field).tolist() == [9, 0]
    assert encode(Numbers(np.array([2**63], dtype=np.uint64)), field).tolist() == [9]
    assert encode(Numbers(np.array([2**63 - 1, -(2**63)])), field).tolist() == [10, 11]


def test_masked_cells_are_missing_whatever_lies_under_the_mask():
    nulls = np.array([False, True])

    assert encode(Numbers(np.array([5, 5]), nulls), AGE).tolist() == [5, 123]
    assert encode(Numbers(np.array([True, True]), nulls), Field(name="x", type="boolean")).tolist() == [1, 2]
    assert encode(
        Times(np.array([0, 0]), nulls), Field(name="x", type="date", minimum="1970-01-01", maximum="1970-01-02")
    ).tolist() == [0, 2]


def test_dates_take_moments_and_moments_take_dates():
    day = Field(name="x", type="date", minimum="2020-01-01", maximum="2020-12-31")
    hour = Field(name="x", type="datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="hour")

    assert codes_of(day, "2020-01-02T23:59:59", "2020-01-02", "2021-05-05", "2019-12-31T23:59") == [1, 1, 365, 0]
    assert codes_of(hour, "2020-01-01", "2020-01-01T01:59:59.9", "2020-12-31T23:30", "2021-01-01") == [0, 1, 8783, 8783]
    assert codes_of(hour, "2020-01-01T02:00:00+02:00", "2019-12-31T19:00-0500", "2020-01-01T00:00Z") == [0, 0, 0]
    assert encode(Numbers(np.array([18262])), day).tolist() == [day.domain.last]


def test_the_input_is_not_changed():
    values = np.array([-5.0, np.nan, 0.5])
    values.flags.writeable = False

    encode(Numbers(values), UNIT)
    encode(Numbers(values), AGE)

    assert values[0] == -5.0


def test_a_million_categories_are_looked_up_in_bulk():
    field = Field(name="x", type="integer", categories=tuple(range(10**6, 0, -1)))
    encode_chunk = encoder(field)

    codes = encode_chunk(Numbers(np.array([1, 10**6, 0, 5])))

    assert codes.tolist() == [10**6 - 1, 0, 10**6, 10**6 - 5]


EDGES = [-(2**63), -(2**62), -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 2**31, 2**62, 2**63 - 1]


@pytest.mark.parametrize(
    "listed", [(3, 1, 5), (0,), (-7, 8), (5, 2**62, -(2**63)), (2**63 - 1, 2**63 - 2), (-(2**63), 1 - 2**63)]
)
def test_whole_numbers_are_looked_up_as_a_dictionary_would(listed):
    field = Field(name="n", type="integer", categories=listed)
    codes = {value: place for place, value in enumerate(listed)}
    cells = np.array([*EDGES, *listed], dtype=np.int64)
    expected = [codes.get(value, field.domain.last) for value in cells.tolist()]
    assert encode(Numbers(cells), field).tolist() == expected
    assert encode(Texts(pl.Series([str(value) for value in cells.tolist()])), field).tolist() == expected


def test_texts_that_only_mean_a_category_get_its_code_however_often_they_occur():
    field = Field(name="flag", type="boolean")
    texts = ["yes", " no", "TRUE", "maybe", None, "1.0", "f", "", "true", "false"]
    codes = [1, 0, 1, 2, 2, 1, 0, 2, 1, 0]
    order = np.random.default_rng(1).integers(0, len(texts), 500)
    cells = pl.Series([texts[place] for place in order], dtype=pl.String)
    assert encode(Texts(cells), field).tolist() == [codes[place] for place in order]


def values_of(field, codes):
    frame = decode({field.name: np.array(codes)}, Schema(fields=(field,)))
    assert frame.columns == [field.name]
    return frame[field.name]


EXAMPLES = [
    (Field(name="x", type="integer", minimum=-3, maximum=5, special=(99,)), [0, 8, 9, 10], [-3, 5, 99, None], pl.Int64),
    (Field(name="x", type="integer", categories=(7, 3)), [1, 0, 2], [3, 7, None], pl.Int64),
    (Field(name="x", type="number", categories=(7, 2.5)), [1, 0, 2], [2.5, 7.0, None], pl.Float64),
    (Field(name="x", type="string", categories=("b", "a")), [1, 0, 2], ["a", "b", None], pl.String),
    (Field(name="x", type="boolean"), [0, 1, 2], [False, True, None], pl.Boolean),
    (Field(name="x", type="boolean", categories=(True, False)), [0, 1, 2], [True, False, None], pl.Boolean),
    (
        Field(name="x", type="date", minimum="2020-02-28", maximum="2020-03-01", special=("1900-01-01",)),
        [0, 1, 2, 3, 4],
        [dt.date(2020, 2, 28), dt.date(2020, 2, 29), dt.date(2020, 3, 1), dt.date(1900, 1, 1), None],
        pl.Date,
    ),
    (Field(name="x", type="date", categories=("2020-02-29",)), [0, 1], [dt.date(2020, 2, 29), None], pl.Date),
    (
        Field(name="x", type="datetime", minimum="2020-02-28T06:00:00", maximum="2020-02-28", resolution="hour"),
        [0, 17, 18],
        [dt.datetime(2020, 2, 28, 6), dt.datetime(2020, 2, 28, 23), None],
        pl.Datetime("us"),
    ),
    (
        Field(name="x", type="datetime", categories=("2020-02-29T01:02:03",)),
        [0, 1],
        [dt.datetime(2020, 2, 29, 1, 2, 3), None],
        pl.Datetime("us"),
    ),
    (
        Field(name="x", type="number", minimum=0, maximum=1, resolution=0.01, special=(-1.5,)),
        [29, 57, 58, 100, 101, 102],
        [0.29, 0.57, 0.58, 1.0, -1.5, None],
        pl.Float64,
    ),
    (Field(name="x", type="number", minimum=2.5, maximum=2.5), [0, 1], [2.5, None], pl.Float64),
    (
        Field(name="x", type="number", minimum=-1, maximum=3, special=(-9,)),
        [0, 2**30, 2**32 - 1, 2**32, 2**32 + 1],
        [-1.0, 0.0, 3.0, -9.0, None],
        pl.Float64,
    ),
    (
        Field(name="x", type="integer", minimum=-150, maximum=1020, resolution=100, special=(0,)),
        [0, 1, 2, 11, 12, 13],
        [-150, -50, 50, 950, 0, None],
        pl.Int64,
    ),
    (
        Field(name="x", type="integer", minimum=-(2**63), maximum=2**63 - 1, resolution=2**62),
        [0, 1, 2, 3, 4],
        [-(2**63), -(2**62), 0, 2**62, None],
        pl.Int64,
    ),
    (
        Field(name="x", type="string", categories=("b1", "a", "b2"), hierarchy=Prefixes((1,))),
        [0, 1, 2, 3],
        ["b1", "b2", "a", None],
        pl.String,
    ),
]


@pytest.mark.parametrize(("field", "codes", "values", "dtype"), EXAMPLES)
def test_codes_become_values_of_the_fields_type(field, codes, values, dtype):
    column = values_of(field, codes)

    assert column.to_list() == values
    assert column.dtype == dtype
    assert encode(series_cells(column), field).tolist() == codes


@pytest.mark.parametrize("ends", [(-1, 1), (0, 300), (-1e6, 1e6), (0, 7e-9), (1e9, 1e9 + 7), (-3e12, 11)])
def test_real_numbers_have_the_fewest_decimals_that_lie_in_their_cell(ends):
    lo, hi = ends
    field = Field(name="x", type="number", minimum=lo, maximum=hi, special=(5e13,))
    codes = np.random.default_rng(1).integers(1, 2**32 - 1, 300)

    values = values_of(field, codes).to_list()

    cell = Fraction(hi) / 2**32 - Fraction(lo) / 2**32
    for code, value in zip(codes.tolist(), values, strict=True):
        start, slack = Fraction(lo) + code * cell, max(cell / 1000, Fraction(math.ulp(max(abs(lo), abs(hi)))))
        assert start - slack <= Fraction(value) < start + cell + slack
        coarser = Fraction(10) ** (1 - decimals_of(value))
        inside = -(-start // coarser) * coarser
        assert not start + slack <= inside < start + cell - slack
    assert values_of(field, [2**32, 2**32 + 1]).to_list() == [5e13, None]


def decimals_of(value):
    """Return the place of the last digit of a float as it is written: 2 of 0.25, -3 of 7000."""
    return -Decimal(repr(value)).normalize().as_tuple().exponent


EXACT = [
    (0, 1, ()),
    (-1, 0, ()),
    (-0.1, 0.2, ()),
    (-3.5, 9.3, ()),
    (-7.3, 11.9, ()),
    (5, 6, ()),
    (-1e308, 7e307, ()),
    (-1e-300, 1, ()),
    (-1, 1e-300, ()),
    (0, 5e-324, ()),
    (-0.1, 0.2, (0,)),
    (0, 8, (0, 8)),
    (-2, -1, (0,)),
]


@pytest.mark.parametrize(("lo", "hi", "special"), EXACT)
def test_minimum_zero_and_maximum_are_shown_exactly_and_only_where_they_are_regular(lo, hi, special):
    field = Field(name="x", type="number", minimum=lo, maximum=hi, special=special)
    known = [float(x) for x in (lo, 0.0, hi) if lo <= x <= hi]

    codes = encode(Numbers(np.array(known)), field).astype(np.int64)
    values = values_of(field, codes).to_numpy()

    # Where zero shares its cell with a bound, both are shown as zero.
    cell = (hi - lo) / 2**32
    near_zero = [
        0.0 if 0.0 in known and x not in special and abs(x) < cell and codes[at] == codes[known.index(0.0)] else x
        for at, x in enumerate(known)
    ]
    assert values.tolist() == near_zero
    assert (encode(Numbers(values), field) == codes).all()
    assert not np.signbit(values[values == 0.0]).any()


def test_no_value_is_minus_zero():
    # The float that ends the cell below zero's lies above zero, so that minus zero is in that cell.
    field = Field(name="x", type="number", minimum=-3.5, maximum=9.3)
    zero = encode(Numbers(np.array([0.0])), field).astype(np.int64)[0]

    values = values_of(field, np.repeat(zero + np.arange(-2, 3), 3000)).to_numpy()

    assert (values == 0.0).sum() > 3000
    assert not np.signbit(values[values == 0.0]).any()


@pytest.mark.parametrize(
    ("lo", "hi"),
    [(0, 1), (-1000, 1000), (0.1, 0.3), (1e9, 1e9 + 1), (0, 1e-300), (-1e308, 7e307), (0, 5e-324), (-1e-12, 1e12)],
)
def test_real_numbers_never_leave_the_bounds_whatever_the_scale(lo, hi):
    field = Field(name="x", type="number", minimum=lo, maximum=hi)
    codes = np.concatenate([np.zeros(500), np.full(500, 2**32 - 1), np.linspace(0, 2**32 - 1, 999)]).astype(np.int64)

    values = values_of(field, codes).to_numpy()

    assert values.min() >= lo
    assert values.max() <= hi
    assert np.isfinite(values).all()
    ulp = np.spacing(max(abs(lo), abs(hi))) / (hi - lo)
    off = np.abs(encode(Numbers(values), field).astype(np.int64) - codes)
    assert off.max() <= max(1, 4 * ulp * 2**32)


def test_identifiers_are_fresh_numbers_that_count_on():
    schema = Schema(
        fields=(
            Field(name="person", type="string", identifier=True),
            Field(name="flag", type="boolean"),
            Field(name="visit", type="integer", identifier=True),
        )
    )

    frame = decode({"flag": np.array([1, 0])}, schema, first_row=10)

    assert frame.to_dict(as_series=False) == {"person": ["11", "12"], "flag": [True, False], "visit": [11, 12]}
    assert frame.dtypes == [pl.String, pl.Boolean, pl.Int64]


def test_the_misfit_code_is_never_shown():
    field = Field(name="x", type="boolean", required=True)

    with pytest.raises(AssertionError, match="misfit"):
        values_of(field, [0, 2])


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


CODES = tuple(f"{one}{two}{three}" for one in "ABCDEF" for two in "0123456789" for three in "0123456789")
DECLARED = {
    "amounts": Field(name="x", type="number", minimum=-200_000, maximum=1_000_000, scale="log"),
    "whole amounts": Field(name="x", type="integer", minimum=-5, maximum=10**6, scale="log", required=True),
    "codes": Field(name="x", type="string", categories=CODES, hierarchy=Prefixes(lengths=(1, 2))),
    "many branches": Field(
        name="x",
        type="string",
        categories=tuple(f"{place:04d}" for place in range(3000)),
        hierarchy=Prefixes(lengths=(3,)),
    ),
}
WIDE = {name: field for name, field in (FIELDS | DECLARED).items() if is_refined(field)}
EVERY_WIDE = pytest.mark.parametrize("field", WIDE.values(), ids=WIDE.keys())


def starts_of(grouping):
    return grouping.pieces()[0][: grouping.regular]


@pytest.mark.parametrize(
    ("field", "is_wide"),
    [
        (Field(name="x", type="integer", minimum=1, maximum=VALUE_BY_VALUE), False),
        (Field(name="x", type="integer", minimum=0, maximum=VALUE_BY_VALUE), True),
        (Field(name="x", type="integer", minimum=1, maximum=VALUE_BY_VALUE, scale="log"), False),
        (Field(name="x", type="integer", minimum=0, maximum=VALUE_BY_VALUE, scale="log"), True),
        (Field(name="x", type="number", minimum=0, maximum=1), True),
        (FIELDS["many categories"], False),
        (FIELDS["many ordered categories"], True),
        (DECLARED["codes"], False),
    ],
)
def test_ordered_columns_of_many_values_are_refined(field, is_wide) -> None:
    assert is_refined(field) == is_wide


# --------------------------------------------------------------------------------------------------------- landmarks
@pytest.mark.parametrize(
    ("given_as", "values"),
    [
        ({"type": "integer", "minimum": -7, "maximum": 5000}, (-7, 0, 5000)),
        ({"type": "integer", "minimum": 3, "maximum": 5000}, (3, 5000)),
        ({"type": "integer", "minimum": -5000, "maximum": 0}, (-5000, 0)),
        ({"type": "integer", "minimum": -500, "maximum": 10**5, "resolution": 100}, (-500, 0, 10**5)),
        ({"type": "number", "minimum": -1.5, "maximum": 1e6}, (-1.5, 0.0, 1e6)),
        ({"type": "number", "minimum": -200_000, "maximum": 1_000_000}, (-200_000, 0, 1_000_000)),
        ({"type": "number", "minimum": -0.1, "maximum": 0.7}, (-0.1, 0.0, 0.7)),
        ({"type": "number", "minimum": 0, "maximum": 40.0}, (0, 40)),
        ({"type": "number", "minimum": -99.95, "maximum": 100, "resolution": 0.05}, (-99.95, 0, 100)),
        ({"type": "number", "minimum": -1.5, "maximum": 1e6, "scale": "log"}, (-1.5, 0.0, 1e6)),
    ],
)
def test_minimum_zero_and_maximum_are_alone_in_the_cells_that_the_codec_gives_them(given_as, values) -> None:
    field = Field(name="x", **given_as)
    schema = Schema(fields=(field,))
    (chunk,) = code_table(pl.DataFrame({"x": [float(value) for value in values]}), schema).chunks()

    codes = chunk["x"].astype(np.int64)

    assert sorted(set(landmark_codes(field))) == sorted(set(codes.tolist()))
    groups = public_cells(field, 16).apply(np.concatenate((codes, codes - 1, codes + 1)).clip(0, field.domain.last))
    alone, near = groups[: codes.size], groups[codes.size :]
    assert len(set(alone.tolist())) == codes.size
    at_ends = np.concatenate((codes - 1, codes + 1)).clip(0, field.domain.last)
    assert not (set(alone.tolist()) & set(near[~np.isin(at_ends, codes)].tolist()))


# ------------------------------------------------------------------------------------------------------------- cells
@EVERY_WIDE
def test_cells_are_a_function_of_the_public_domain(field) -> None:
    again = replace(field, description="another text", provenance="public", name="y")

    assert first_cells(field) == first_cells(again)
    assert public_cells(field, 16) == public_cells(again, 16)


def test_declared_cuts_are_kept_tier_by_tier_as_long_as_they_fit() -> None:
    codes = DECLARED["codes"]

    starts = starts_of(public_cells(codes, FIRST_CELLS))

    # 5 + 54 cuts before the branches of both tiers.
    assert starts.tolist() == list(range(0, 600, 10))


def test_of_a_first_tier_that_is_too_large_every_so_manieth_cut_is_kept() -> None:
    branches = DECLARED["many branches"]

    starts = starts_of(public_cells(branches, FIRST_CELLS))

    assert starts.size == 128
    assert not (starts % 10).any()
    assert np.diff(starts).max() <= 2 * np.diff(starts).min()
