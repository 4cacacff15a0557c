"""Bounds learned from noisy counts: what is found, what is not, and what is said about it."""

import itertools
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.learned_runs import Planted, learned, planted_bounds
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.runs.learned.bounds import SHARES, learn_bounds
from lapwing.runs.learned.grids import search_grid
from lapwing.runs.learned.opened import opened_field, opened_schema
from lapwing.schema.fields import Field
from lapwing.schema.ranges import MAGNITUDE_VALUES, magnitude_codes
from lapwing.schema.schemas import Schema

PLENTY = Budget.pure(10**6)
ZERO = MAGNITUDE_VALUES // 2

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
    assert "the noise hides" in found.notes[0]
    assert found.statements[0].value == 0
    assert room.batches == 2
    assert len(room.answers) == 1


def test_one_row_is_found_where_the_budget_is_huge_and_hidden_where_it_is_small() -> None:
    draft, data = {"fields": [{"name": "x", "type": "integer"}]}, pl.DataFrame({"x": [42]})

    found, _ = learned(data, draft, PLENTY, ZeroNoiseBits())
    hidden, _ = learned(data, draft, Budget.pure(1), ZeroNoiseBits())

    assert (found.fields[0].minimum, found.fields[0].maximum) == (42, 42)
    assert hidden.fields[0].blank


def test_special_values_are_no_part_of_the_search() -> None:
    draft = {"fields": [{"name": "x", "type": "integer", "special": [-9999]}]}

    found, _ = learned(pl.DataFrame({"x": [-9999, 5, 6] * 100}), draft, PLENTY, ZeroNoiseBits())

    assert (found.fields[0].minimum, found.fields[0].maximum) == (5, 6)


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


def test_rows_beyond_known_bounds_are_not_counted_as_found() -> None:
    fields = [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}]

    found, _ = learned(pl.DataFrame({"x": [1000] * 300}), {"fields": fields}, PLENTY, ZeroNoiseBits())

    assert found.fields[0].minimum == 0
    assert "keeps its bounds" in found.notes[0]


def test_a_quantile_leaves_out_so_many_rows_at_each_end_and_no_more() -> None:
    values = [*range(10, 100)] * 100
    draft = {"fields": [{"name": "x", "type": "integer"}]}

    found, _ = learned(pl.DataFrame({"x": values}), draft, Budget.pure(50), SeededBits(4), quantile="0.1")

    (field,) = found.fields
    assert 10 + 7 <= field.minimum <= 10 + 9
    assert 99 - 9 <= field.maximum <= 99 - 7


def test_a_quantile_may_leave_out_whole_decades() -> None:
    values = [5] * 4 + [50] * 992 + [5000] * 4
    draft = {"fields": [{"name": "x", "type": "integer"}]}

    found, _ = learned(pl.DataFrame({"x": values}), draft, PLENTY, ZeroNoiseBits(), quantile="0.005")

    assert (found.fields[0].minimum, found.fields[0].maximum) == (50, 50)


def test_rows_in_a_decade_that_is_left_out_count_against_the_quantile() -> None:
    values = [50] * 992 + [95] * 4 + [5000] * 4
    draft = {"fields": [{"name": "x", "type": "integer"}]}

    four, none = (
        learned(pl.DataFrame({"x": values}), draft, PLENTY, ZeroNoiseBits(), quantile=quantile)[0].fields[0].maximum
        for quantile in ("0.009", "0.006")
    )

    assert (four, none) == (50, 95)


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


def test_few_rows_in_the_next_decade_are_noticed_though_empty_decades_lie_beyond() -> None:
    one_group = {ZERO + 1 + 90 * 14 + 3: 1000, ZERO + 1 + 90 * 16 + 3: 25}

    found = planted_bounds("number", one_group, Budget.pure(1))

    assert found.maximum >= 1.3 * 10**4
    assert planted_bounds("number", one_group, Budget.pure("0.5")).maximum < 10**3


def test_rows_that_thin_out_over_many_cells_are_reached() -> None:
    codes = {ZERO + 1 + 90 * 14 + step: 60 if step < 40 else 3 for step in range(70)}

    found = planted_bounds("number", codes, Budget.pure(1))

    assert found.maximum >= 60


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


@pytest.mark.parametrize("values", [[2**62], [-(2**63)], [-(2**62), 2**62]], ids=["high", "low", "both"])
def test_integers_beyond_what_a_field_can_hold_are_told(values) -> None:
    found, _ = learned(
        pl.DataFrame({"x": values * 300}), {"fields": [{"name": "x", "type": "integer"}]}, PLENTY, ZeroNoiseBits()
    )

    (field,) = found.fields
    assert field.domain.values <= 2**53
    assert "reach the end of what is searched" in found.notes[0]


def test_all_fields_are_asked_for_in_two_batches() -> None:
    names = ["a", "b", "c"]
    curator = Planted(codes={name: {ZERO: 10**6} for name in names})
    draft = Schema.load_draft({"draft": True, "fields": [{"name": name, "type": "integer"} for name in names]})

    found = learn_bounds(
        curator, opened_schema(draft, names, {}), names, [Budget.pure(1)] * 3, quantile=Fraction(0), limits={}
    )

    assert curator.rounds == 10**9 - 2
    assert [(each.minimum, each.maximum) for each in found] == [(0, 0)] * 3
    assert sum(SHARES) == 1


def test_cells_of_integers_hold_one_each_or_more() -> None:
    grid = search_grid(opened_field(Field(name="x", type="integer")), (None, None))

    cells = [grid.bounds(int(first), int(stop)) for first, stop in zip(grid.fine, grid.fine[1:], strict=False)]

    assert all(low <= high for low, high in cells)
    assert all(high + 1 == low for (_, high), (low, _) in itertools.pairwise(cells) if abs(low) < 2**52)
    assert set(grid.coarse[:-1]) <= set(grid.fine)
