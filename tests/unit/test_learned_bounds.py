"""Bounds learned from noisy counts: what is found, what is not, and what is said about it."""

from datetime import date, datetime
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.learned_runs import learned, planted_bounds
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.release.runs.learned.bounds import learn_bounds
from lapwing.release.runs.learned.settings import opened_schema
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import MAGNITUDE_VALUES, magnitude_codes
from lapwing.schema.schemas import Schema

PLENTY = Budget.pure(10**6)

EXACT = {
    "ages": ("integer", [17, 40, 90], (17, 90)),
    "large whole numbers": ("integer", [12285, 1_490_400], (12_000, 1_499_999)),
    "whole numbers of both signs": ("integer", [-345, -3, 0, 1260], (-349, 1299)),
    "negative whole numbers": ("integer", [-1260, -345], (-1299, -340)),
    "zero alone": ("integer", [0], (0, 0)),
    "one value": ("integer", [7], (7, 7)),
    "large whole numbers of both signs": ("integer", [-(2**62), 2**62], (-(2**52), 2**52 - 1)),
    "prices": ("number", [0.0, 1.25, 99.9], (0, 100)),
    "tiny numbers": ("number", [-0.00123, 0.5], (-0.0013, 0.51)),
    "what is as good as zero": ("number", [1e-14, 3.0], (0, 3.1)),
    "huge numbers": ("number", [1e18, 3e25], (1e18, 1e19)),
    "days": ("date", [date(2001, 2, 3), date(2010, 12, 5)], ("2001-02-01", "2010-12-31")),
    "a sentinel": ("date", [date(1999, 5, 5), date(9999, 12, 31)], ("1999-05-01", "9999-12-31")),
    "old days": ("date", [date(1066, 10, 14), date(1815, 6, 18)], ("1066-01-01", "1815-06-30")),
    "moments": ("datetime", [datetime(2020, 2, 3, 23, 59)], ("2020-02-01", "2020-02-29")),
}


@pytest.mark.parametrize(("kind", "values", "bounds"), EXACT.values(), ids=EXACT.keys())
def test_without_noise_the_bounds_are_the_outer_ends_of_the_outermost_cells(kind, values, bounds) -> None:
    data = pl.DataFrame({"x": [each for each in values for _ in range(300)]})

    found, room = learned(data, {"fields": [{"name": "x", "type": kind}]}, PLENTY, ZeroNoiseBits())

    (field,) = found.fields
    assert (field.minimum, field.maximum) == bounds
    assert field.provenance == "dp"
    assert room.batches == 2
    assert sum(answer.question.cost.amount for answer in room.answers) == PLENTY.amount


@pytest.mark.parametrize("values", [[], [None] * 50], ids=["no rows", "all missing"])
def test_a_column_without_values_stays_blank(values) -> None:
    data = pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64)})

    found, room = learned(data, {"fields": [{"name": "x", "type": "integer"}]}, PLENTY, ZeroNoiseBits())

    assert found.fields[0].blank == ("minimum", "maximum")
    assert found.notes[0].code == ("unread_as_it_was" if values else "bounds_hidden")
    assert found.statements[0].value == 0
    assert room.batches == 2
    assert len(room.answers) == 1


def test_one_row_is_found_where_the_budget_is_huge_and_hidden_where_it_is_small() -> None:
    draft, data = {"fields": [{"name": "x", "type": "integer"}]}, pl.DataFrame({"x": [42]})

    found, _ = learned(data, draft, PLENTY, ZeroNoiseBits())
    hidden, _ = learned(data, draft, Budget.pure(1), ZeroNoiseBits())

    assert (found.fields[0].minimum, found.fields[0].maximum) == (42, 42)
    assert hidden.fields[0].blank


LIMITS = {
    "integer": ([3, 12, 47, 200, 5000], {"minimum": 10, "maximum": 480}, (12, 209)),
    "number": ([-3.0, 0.123, 0.5], {"minimum": 0.1, "maximum": 0.126}, (0.12, 0.126)),
    "within a cell": ([0.125, 3.4], {"minimum": 0.1234, "maximum": 3.45}, (0.1234, 3.45)),
    "date": ([date(2000, 1, 9), date(2000, 5, 9)], {"minimum": "2000-01-05", "maximum": "2000-05-20"}, None),
}


@pytest.mark.parametrize(("kind", "case"), LIMITS.items(), ids=LIMITS.keys())
def test_bounds_that_are_known_are_only_narrowed(kind, case) -> None:
    values, limits, bounds = case
    kind = "number" if kind == "within a cell" else kind
    data = pl.DataFrame({"x": values * 300})

    found, _ = learned(data, {"fields": [{"name": "x", "type": kind, "constraints": limits}]}, PLENTY, ZeroNoiseBits())

    (field,) = found.fields
    assert (field.minimum, field.maximum) == (bounds or (limits["minimum"], limits["maximum"]))


def test_a_quantile_leaves_out_so_many_rows_at_each_end_and_no_more() -> None:
    values = [*range(10, 100)] * 100
    draft = {"fields": [{"name": "x", "type": "integer"}]}

    found, _ = learned(pl.DataFrame({"x": values}), draft, Budget.pure(50), SeededBits(4), quantile="0.1")

    (field,) = found.fields
    assert 10 + 7 <= field.minimum <= 10 + 9
    assert 99 - 9 <= field.maximum <= 99 - 7


def test_a_bound_moves_outwards_while_noise_may_hide_more_than_a_hundredth_of_the_rows() -> None:
    codes = {int(magnitude_codes(np.array([23_000]))[0]): 1000}

    tight, wide = (planted_bounds("integer", codes, Budget.pure(epsilon)).maximum for epsilon in (100, "0.5"))

    assert tight == 23_999
    assert wide > 90_000


def test_where_the_second_round_finds_nothing_the_ends_of_the_decade_are_taken() -> None:
    codes = {int(code): 1000 for code in magnitude_codes(np.array([30, 40]))}

    found = planted_bounds("integer", codes, Budget.pure(1), rounds=1)

    assert found.is_found
    assert (found.minimum, found.maximum) == (10, 99)


@given(
    codes=st.dictionaries(st.integers(0, MAGNITUDE_VALUES - 1), st.integers(1, 2000), max_size=8),
    kind=st.sampled_from(["integer", "number"]),
    quantile=st.sampled_from(["0", "0.01", "0.2"]),
    epsilon=st.sampled_from(["0.1", "2", "1000"]),
)
def test_bounds_are_in_order_and_make_a_field(codes, kind, quantile, epsilon) -> None:
    found = planted_bounds(kind, codes, Budget.pure(epsilon), quantile=quantile)

    assert found.unseen >= 0
    if found.is_found:
        field = Field(name="x", type=kind, minimum=found.minimum, maximum=found.maximum)
        assert field.domain.values >= 1


@given(values=st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=9), quantile=st.just("0"))
def test_with_a_budget_without_noise_every_value_lies_inside_and_each_end_is_a_neighbour(values, quantile) -> None:
    codes: dict[int, int] = {}
    for code in magnitude_codes(np.array(values)).tolist():
        codes[code] = codes.get(code, 0) + 1

    found = planted_bounds("integer", codes, PLENTY, quantile=quantile)

    assert found.minimum <= min(values) <= max(values) <= found.maximum
    assert found.unseen == 0
    assert abs(found.minimum - min(values)) <= max(0, abs(min(values)) // 10)
    assert abs(found.maximum - max(values)) <= max(0, abs(max(values)) // 10)


def test_the_answers_alone_give_the_same_bounds() -> None:
    rng = np.random.default_rng(5)
    data = pl.DataFrame({"x": rng.normal(50, 9, 4000), "n": rng.poisson(3, 4000)})
    draft = {"draft": True, "fields": [{"name": "x", "type": "number"}, {"name": "n", "type": "integer"}]}
    found, room = learned(data, draft, Budget.zcdp("0.02"), SeededBits(1))
    replay = ReplayCurator(room.terms, room.answers)
    opened = opened_schema(Schema.load_draft(draft), ["x", "n"], {})

    again = learn_bounds(replay, opened, ["x", "n"], Budget.zcdp("0.02").split([1, 1]), quantile=Fraction(0), limits={})

    assert replay.is_exhausted
    assert [(each.minimum, each.maximum) for each in again] == [
        (field.minimum, field.maximum) for field in found.fields
    ]
