"""Bounds, lists and dictionaries learned from noisy answers: what is found, what is not, and what is said about it."""

from datetime import date, datetime
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import make
from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.learned_runs import TINY, Planted, learned, planted_bounds
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.release.runs.learned.bounds import LearnedBounds, learn_bounds
from lapwing.release.runs.learned.categories import learn_categories, prune_dictionaries
from lapwing.release.runs.learned.domains import learned_fields, needs_selection, unlisted_name, with_bounds
from lapwing.release.runs.learned.settings import opened_schema
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import MAGNITUDE_VALUES, magnitude_codes
from lapwing.schema.schemas import Schema

# -------------------------------------------------------------------------------------------- bounds from noisy counts


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

    found, room = learned(data, make.schema({"x": kind}), PLENTY, ZeroNoiseBits())

    (field,) = found.fields
    assert (field.minimum, field.maximum) == bounds
    assert field.provenance == "dp"
    assert room.batches == 2
    assert sum(answer.question.cost.amount for answer in room.answers) == PLENTY.amount


@pytest.mark.parametrize("values", [[], [None] * 50], ids=["no rows", "all missing"])
def test_a_column_without_values_stays_blank(values) -> None:
    data = pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64)})

    found, room = learned(data, make.schema({"x": "integer"}), PLENTY, ZeroNoiseBits())

    assert found.fields[0].blank == ("minimum", "maximum")
    assert found.notes[0].code == ("unread_as_it_was" if values else "bounds_hidden")
    assert found.statements[0].value == 0
    assert room.batches == 2
    assert len(room.answers) == 1


def test_one_row_is_found_where_the_budget_is_huge_and_hidden_where_it_is_small() -> None:
    draft, data = make.schema({"x": "integer"}), pl.DataFrame({"x": [42]})

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
    draft = make.schema({"x": "integer"})

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
    draft = make.schema({"x": "number", "n": "integer"}, draft=True)
    found, room = learned(data, draft, Budget.zcdp("0.02"), SeededBits(1))
    replay = ReplayCurator(room.terms, room.answers)
    opened = opened_schema(Schema.load_draft(draft), ["x", "n"], {})

    again = learn_bounds(replay, opened, ["x", "n"], Budget.zcdp("0.02").split([1, 1]), quantile=Fraction(0), limits={})

    assert replay.is_exhausted
    assert [(each.minimum, each.maximum) for each in again] == [
        (field.minimum, field.maximum) for field in found.fields
    ]


# -------------------------------------------- lists from the texts that occur, and dictionaries pruned to what is used


ONE = Budget.pure(1)
TOWNS = make.schema({"town": "string"})


def selected(texts, prefixes):
    """Return what is learned about codes whose selections are planted."""
    draft = Schema.load_draft(make.schema({"dx": "string"}, draft=True))
    planted = {("dx", length): counts for length, counts in texts.items()}
    (found,) = learn_categories(
        Planted(texts=planted), opened_schema(draft, ["dx"], {}), ["dx"], [ONE], [TINY], prefixes={"dx": prefixes}
    )
    return found


def test_frequent_texts_are_listed_and_all_others_have_a_category() -> None:
    data = pl.DataFrame({"town": ["Uri"] * 400 + ["Bern"] * 300 + [f"rare {place}" for place in range(50)] + [None]})

    found, room = learned(data, TOWNS, Budget.pure(1), SeededBits(2))

    (field,) = found.fields
    assert field.categories == ("Bern", "Uri", "(other)")
    assert (field.unlisted, field.provenance) == ("(other)", "dp")
    assert [type(answer.question) for answer in room.answers] == [CategorySelection]
    (chunk,) = code_table(data, Schema(fields=found.fields)).chunks()
    assert (chunk["town"] == field.categories.index("(other)")).sum() == 50


@pytest.mark.parametrize("taken", ["(other)", "(other 2)"])
def test_the_name_for_unlisted_texts_is_no_text_that_is_listed(taken) -> None:
    data = pl.DataFrame({"town": ["(other)"] * 500 + [taken] * 500})

    found, _ = learned(data, TOWNS, PLENTY, ZeroNoiseBits())

    (field,) = found.fields
    assert field.unlisted == unlisted_name(("(other)", taken))
    assert set(field.categories) == {"(other)", taken, field.unlisted}


def test_a_prefix_is_listed_where_rows_remain_that_nothing_longer_lists() -> None:
    found = selected(
        {
            None: {"250": 900, "250.01": 500, "401": 800},
            3: {"250": 1400, "401": 1500, "V58": 300},
            1: {"2": 1400, "4": 1500, "V": 900},
        },
        (1, 3),
    )

    # 250 and 2 hold no more than what is listed below them; 401 has 700 rows of other codes, V58 and V many.
    assert found.categories == ("250", "250.01", "401")
    assert found.prefixes == ("401", "V", "V58")


def pruned(entries, counts, *, lengths=()):
    """Return what is kept of a dictionary with planted counts."""
    draft = Schema.load_draft(make.schema({"dx": "string"}, draft=True))
    opened = opened_schema(draft, ["dx"], {"dx": tuple(entries)})
    codes = {place: counts.get(entry, 0) for place, entry in enumerate(opened.field("dx").categories)}
    (found,) = prune_dictionaries(Planted(codes={"dx": codes}), opened, ["dx"], [ONE], prefixes={"dx": lengths})
    return found


def test_a_dictionary_is_pruned_to_the_entries_that_noise_does_not_explain() -> None:
    found = pruned([f"town {place}" for place in range(1000)], {"town 7": 400, "town 3": 300, "town 5": 4})

    assert found.categories == ("town 3", "town 7")
    assert 4 < found.noticed < 300


def test_dropped_entries_fold_into_the_longest_prefix_that_noise_does_not_explain() -> None:
    entries = [f"A1{place}" for place in range(10)] + [f"A2{place}" for place in range(10)] + ["B10", "B11", "C1"]
    counts = dict.fromkeys(entries[:10], 4) | {"A20": 500, "A21": 2, "A22": 2, "C1": 4}

    found = pruned(entries, counts, lengths=(1, 2))

    assert found.categories == ("A20",)
    assert found.prefixes == ("A1",)


def test_no_row_of_a_pruned_dictionary_is_lost() -> None:
    data = pl.DataFrame({"town": ["Uri"] * 300 + ["Zug", "Glarus", "elsewhere"]})

    found, room = learned(data, TOWNS, Budget.pure(2), ZeroNoiseBits(), dictionaries={"town": ("Uri", "Zug", "Glarus")})

    (field,) = found.fields
    assert field.categories == ("Uri", "(other)")
    assert [type(answer.question) for answer in room.answers] == [MarginalCounts]
    (chunk,) = code_table(data, Schema(fields=found.fields)).chunks()
    assert chunk["town"].tolist() == [0] * 300 + [1] * 3


# ------------------------------------------- fields of several kinds together, from the budget to statements and notes


MIXED = make.schema(
    {
        "age": "integer",
        "income": make.field("income", "number", scale="log"),
        "day": make.field("day", "date", resolution="month"),
        "town": "string",
        "grade": ["a", "b", "c"],
        "job": "string",
    }
)
JOBS = {"job": ("baker", "clerk", "nurse")}
BUDGETS = {"pure": Budget.pure(4), "zcdp": Budget.zcdp("0.5")}
EITHER = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())


CELLS = {
    "age": [30, 44],
    "income": [1500.0, 23000.0],
    "day": ["2020-02-02", "2021-03-03"],
    "town": ["Uri", "Zug"],
    "grade": ["a", "b"],
    "job": ["clerk", "nurse"],
}
MIXED_ROWS = pl.DataFrame({name: cells * 500 for name, cells in CELLS.items()})


@EITHER
def test_every_field_gets_an_equal_share_and_all_is_spent(budget) -> None:
    found, room = learned(MIXED_ROWS, MIXED, budget, SeededBits(1), dictionaries=JOBS)

    spent: dict[str, Fraction] = {}
    for answer in room.answers:
        (name,) = answer.question.columns
        spent[name] = spent.get(name, Fraction(0)) + answer.question.cost.amount
    assert set(spent.values()) == {budget.amount / 6}
    assert [field.name for field in found.fields] == [each["name"] for each in MIXED["fields"]]
    assert {field.provenance for field in found.fields} == {"dp"}
    assert not Schema(fields=found.fields).is_draft


@EITHER
def test_the_answers_alone_give_the_same_fields_statements_and_notes(budget) -> None:
    found, room = learned(MIXED_ROWS, MIXED, budget, SeededBits(1), dictionaries=JOBS, quantile="0.01")
    original = Schema.load_draft({"draft": True} | MIXED)
    names = [field.name for field in original.fields]
    replay = ReplayCurator(room.terms, room.answers)

    again = learned_fields(
        replay,
        opened_schema(original, names, JOBS),
        original,
        names,
        budget,
        TINY,
        quantile=Fraction(1, 100),
        dictionaries=JOBS,
    )

    assert replay.is_exhausted
    assert again == found


@pytest.mark.parametrize(
    ("field", "needs"),
    [
        (Field(name="x", type="string"), True),
        (Field(name="x", type="string", categories=("a",)), False),
        (Field(name="job", type="string"), False),
        (Field(name="x", type="integer"), False),
    ],
    ids=["open texts", "a list", "a dictionary", "numbers"],
)
def test_only_open_texts_need_a_selection(field, needs) -> None:
    assert needs_selection(field, JOBS) is needs


ALIGNED = {
    "outwards": (Field(name="x", type="number", resolution=0.25), (1.1, 9.1), (1, 9.25)),
    "whole steps": (Field(name="x", type="integer", resolution=50), (-12, 99), (-50, 100)),
    "from a known minimum": (Field(name="x", type="integer", minimum=7, resolution=10), (12, 30), (7, 37)),
    "inside known bounds": (Field(name="x", type="integer", minimum=0, maximum=95, resolution=10), (12, 95), (10, 95)),
    "in decimals": (Field(name="x", type="number", resolution=0.1), (0.3, 0.72), (0.3, 0.8)),
}


@pytest.mark.parametrize(("field", "found", "bounds"), ALIGNED.values(), ids=ALIGNED.keys())
def test_bounds_lie_on_the_grid_of_the_resolution(field, found, bounds) -> None:
    made = with_bounds(field, LearnedBounds(minimum=found[0], maximum=found[1], is_found=True, unseen=0))

    assert (made.minimum, made.maximum) == bounds


@EITHER
def test_a_real_table_is_read_almost_whole_under_what_was_learned(adult_path, budget) -> None:
    data = pl.read_parquet(adult_path)
    kinds = {pl.String: "string", pl.Int64: "integer", pl.Float64: "number"}
    names = [name for name in data.columns if type(data[name].dtype) in kinds][:8]
    draft = {"fields": [{"name": name, "type": kinds[type(data[name].dtype)]} for name in names]}
    generous = Budget(budget.notion, budget.amount * 20)

    found, _ = learned(data, draft, generous, SeededBits(7))

    assert not any(field.blank for field in found.fields)
    (first, *_) = code_table(data, Schema(fields=found.fields)).chunks()
    for field in found.fields:
        assert (first[field.name] == field.domain.last).mean() < 0.01
