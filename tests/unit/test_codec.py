"""The codes of single cells, rule by rule."""

import warnings

import numpy as np
import polars as pl
import pytest

from lapwing.rows.cells import Numbers, Texts, Times, texts
from lapwing.rows.codec import encode, encoder
from lapwing.schema.fields import Field


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


def test_specials_are_found_before_clamping():
    assert codes_of(AGE, "-1", "999", "-2", "998", "1000") == [121, 122, 0, 120, 120]
    assert encode(Numbers(np.array([-1.0, 999.0, -1.5])), AGE).tolist() == [121, 122, 123]
    assert encode(Numbers(np.array([2**64 - 1], dtype=np.uint64)), AGE).tolist() == [120]


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


def test_booleans_count_as_numbers_in_number_fields_and_by_name_in_lists():
    flags = Numbers(np.array([False, True]))

    assert encode(flags, AGE).tolist() == [0, 1]
    assert encode(flags, UNIT).tolist() == [0, 2**32 - 1]
    assert encode(flags, Field(name="x", type="string", categories=("True", "False"))).tolist() == [1, 0]
    assert encode(flags, Field(name="x", type="integer", categories=(1, 0))).tolist() == [1, 0]
    assert encode(flags, Field(name="x", type="string", categories=("a", "b"))).tolist() == [2, 2]


def test_boolean_fields_know_several_names_in_any_case():
    field = Field(name="x", type="boolean")

    assert codes_of(field, "true", "T", " Yes", "1", "1.0", "y") == [1] * 6
    assert codes_of(field, "FALSE", "f", "no", "0", "-0.0", "N") == [0] * 6
    assert codes_of(field, "2", "maybe", "0.5", "inf") == [2] * 4


def test_texts_in_a_list_are_names_first_and_numbers_second():
    field = Field(name="x", type="string", categories=("1", "1.0", "2", "007", "3.50"))

    assert codes_of(field, "1", "1.0", "2", "2.0", "007", "3.50") == [0, 1, 2, 2, 3, 4]
    assert codes_of(field, "7", "3.5", " 2", "2.00", "+2", "x") == [5, 5, 2, 5, 5, 5]
    assert encode(Numbers(np.array([1.0, 2.0, 7.0])), field).tolist() == [0, 2, 5]


def test_dates_take_moments_and_moments_take_dates():
    day = Field(name="x", type="date", minimum="2020-01-01", maximum="2020-12-31")
    hour = Field(name="x", type="datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="hour")

    assert codes_of(day, "2020-01-02T23:59:59", "2020-01-02", "2021-05-05", "2019-12-31T23:59") == [1, 1, 365, 0]
    assert codes_of(hour, "2020-01-01", "2020-01-01T01:59:59.9", "2020-12-31T23:30", "2021-01-01") == [0, 1, 8783, 8783]
    assert codes_of(hour, "2020-01-01T02:00:00+02:00", "2019-12-31T19:00-0500", "2020-01-01T00:00Z") == [0, 0, 0]
    assert encode(Numbers(np.array([18262])), day).tolist() == [day.domain.last]


def test_a_text_for_missing_wins_over_its_reading_as_a_number():
    field = Field(name="x", type="integer", minimum=-20, maximum=0, missing_values=("-9",))

    assert codes_of(field, "-9", "-9.0", "", "-8") == [21, 11, 21, 12]


def test_an_empty_text_may_be_a_category_where_it_is_not_missing():
    field = Field(name="x", type="string", categories=("a", ""), missing_values=("-",))

    assert codes_of(field, "", "a", "-", None) == [1, 0, 2, 2]


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
