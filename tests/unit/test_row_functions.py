"""Code of the caller's in a statistic: one record at a time, clipped, and nothing it does gets out."""

import datetime as dt
import math
import warnings

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.question import RowStatistic
from lapwing.model.statistics.expressions import compile_statistic
from lapwing.rows.out.decode import records
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

SCHEMA = Schema(
    fields=(
        Field(name="k", type="integer", minimum=0, maximum=9, special=(-1,)),
        Field(name="x", type="number", minimum=-1, maximum=3),
        Field(name="step", type="number", minimum=0.1, maximum=0.7, resolution=0.1, required=True),
        Field(name="id", type="string", identifier=True),
        Field(name="word", type="string", categories=("a", "b"), required=True),
        Field(name="flag", type="boolean"),
        Field(name="day", type="date", minimum="2020-01-10", maximum="2020-12-31", resolution="month"),
        Field(name="at", type="datetime", minimum="2020-01-01", maximum="2020-01-02", resolution="hour"),
    )
)
FIRST = {"k": 3, "x": 0, "step": 2, "word": 1, "flag": 0, "day": 1, "at": 25}


def coded(*rows):
    return {name: np.array([row[name] for row in rows]) for name in FIRST}


def values_of(f, codes, bounds=(-1, 1)):
    statistic = compile_statistic(lw.row_function(f, bounds), SCHEMA)
    return statistic.values_of_records(records(codes, SCHEMA)).tolist()


class Quit(BaseException):
    """Not even an Exception."""


def raises(error):
    def f(record):
        raise error

    return f


def deep(record):
    return deep(record)


class Truthy:
    def __bool__(self):
        return True

    def __float__(self):
        return 1.0


class Sly(float):
    def __lt__(self, other):
        raise Quit


def test_a_record_holds_the_values_of_all_modelled_columns_in_order():
    (record,) = records(coded(FIRST), SCHEMA)

    assert list(record) == ["k", "x", "step", "word", "flag", "day", "at"]
    assert record == {
        "k": 3,
        "x": -1.0,
        "step": 0.3,
        "word": "b",
        "flag": False,
        "day": dt.date(2020, 2, 1),
        "at": dt.datetime(2020, 1, 2, 1),
    }
    assert [type(each) for each in record.values()] == [int, float, float, str, bool, dt.date, dt.datetime]


def test_special_values_are_themselves_and_missing_and_misfits_are_none():
    special = {**FIRST, "k": 10}
    last = {field.name: field.domain.last for field in SCHEMA.columns}

    first, second = records(coded(special, last), SCHEMA)

    assert first["k"] == -1
    assert set(second.values()) == {None}


def test_a_record_is_a_function_of_its_own_row_and_a_fresh_dict():
    rng = np.random.default_rng(0)
    codes = {field.name: rng.integers(0, field.domain.size, 20_000) for field in SCHEMA.columns}

    together = list(records(codes, SCHEMA))

    for place in (0, 1, 2**14 - 1, 2**14, 19_999):
        alone = list(records({name: each[place : place + 1] for name, each in codes.items()}, SCHEMA))
        assert alone == [together[place]]
    assert len({id(record) for record in together}) == 20_000


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (0.5, 2**15),
        (True, 2**16),
        (False, 0),
        (1, 2**16),
        (7, 2**16),
        (-1e300, -(2**16)),
        (10**400, 2**16),
        (1 / 3, 21845),
        (np.float64(0.25), 2**14),
        (np.float32(-0.25), -(2**14)),
        (np.int8(-1), -(2**16)),
        (np.bool_(True), 2**16),
    ],
)
def test_numbers_are_clipped_and_rounded(result, expected):
    assert values_of(lambda record: result, coded(FIRST)) == [expected]


@pytest.mark.parametrize(
    "result",
    [math.nan, math.inf, -math.inf, np.float64("inf"), None, "0.5", b"1", 1j, [1], np.array([0.5]), Truthy(), Sly(0.5)],
)
def test_what_is_no_finite_number_becomes_the_lower_bound(result):
    assert values_of(lambda record: result, coded(FIRST), bounds=(-0.25, 0.75)) == [-(2**14)]


@pytest.mark.parametrize(
    "f",
    [
        raises(ValueError("age 34")),
        raises(SystemExit(3)),
        raises(MemoryError()),
        raises(GeneratorExit()),
        raises(StopIteration()),
        raises(Quit()),
        lambda record: record["no such column"],
        lambda record: 1 / 0,
        lambda: 0,
        deep,
    ],
)
def test_whatever_a_function_raises_its_row_gets_the_lower_bound_and_the_next_one_its_own(f):
    def sometimes(record):
        return f(record) if record["k"] == 3 else 0.5

    assert values_of(sometimes, coded(FIRST, {**FIRST, "k": 4}, FIRST)) == [-(2**16), 2**15, -(2**16)]


def test_only_an_interrupt_by_the_operator_ends_the_run():
    with pytest.raises(KeyboardInterrupt):
        values_of(raises(KeyboardInterrupt()), coded(FIRST))


def test_warnings_are_not_shown_and_the_filters_are_as_before():
    def loud(record):
        warnings.warn(f"k is {record['k']}", UserWarning, stacklevel=1)
        return float(np.float64(1) / np.float64(record["k"] - 3) > 0)

    before = list(warnings.filters)

    with warnings.catch_warnings(record=True) as shown, np.errstate(all="raise"):
        warnings.simplefilter("always")
        found = values_of(loud, coded(FIRST))

    assert (found, shown) == ([2**16], [])
    assert warnings.filters == before


def test_what_a_function_does_to_its_record_stays_there():
    def greedy(record):
        kept = record.pop("k")
        record.clear()
        return kept / 9

    codes = coded(FIRST, FIRST)

    assert values_of(greedy, codes) == values_of(greedy, codes) == [21845, 21845]
    assert codes["k"].tolist() == [3, 3]


def test_bounds_that_are_no_multiples_are_rounded_inwards():
    statistic = compile_statistic(lw.row_function(lambda record: record["k"] - 4, bounds=(-0.1, 0.3)), SCHEMA)

    found = statistic.values_of_records(records(coded(FIRST, {**FIRST, "k": 9}), SCHEMA))

    assert (statistic.lower, statistic.upper, statistic.bits) == (-6553, 19660, 16)
    assert found.tolist() == [-6553, 19660]
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    "bounds", [(1, -1), (0, 0), (-2, 1), (0, math.nan), (0, math.inf), (False, True), (0,), 3, None, ("0", "1")]
)
def test_bounds_increase_within_minus_one_to_one(bounds):
    with pytest.raises(
        ParameterError, match=r"must be two numbers -1 <= lower < upper <= 1, got .*; divide the function"
    ):
        lw.row_function(len, bounds)


def test_bounds_closer_than_a_multiple_are_refused():
    with pytest.raises(ParameterError, match=r"a row function needs bounds -1 <= lower < upper <= 1, in 2\*\*-16"):
        compile_statistic(lw.row_function(len, bounds=(0, 1e-6)), SCHEMA)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(
        ParameterError, match="row_function takes a function of one record, got a str; write expressions"
    ):
        lw.row_function("age > 3")


def test_a_row_function_that_was_read_back_has_no_code():
    statistic = compile_statistic(lw.row_function(len), SCHEMA)

    again = RowStatistic.from_dict(statistic.to_dict())

    assert (again.text, again.columns, again.lower, again.upper) == ("len", statistic.columns, -(2**16), 2**16)
    with pytest.raises(ParameterError, match="the function 'len' is not part of a record; give it again"):
        again.values_of_records([])
