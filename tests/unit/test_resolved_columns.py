"""Columns at several resolutions, for every kind of field."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from helpers.resolved import FIELDS, SIZES, answer_of, column_of, dense_laws
from lapwing.kernel.questions.questions import RECORDS
from lapwing.mechanisms.adaptive.candidates import resolved_column
from lapwing.mechanisms.adaptive.one_way import OneWayTable, one_way_table
from lapwing.mechanisms.shared.one_way import one_way_grouping
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, identity

EVERY_FIELD = pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS.keys())
HOWS = (
    {},
    {"sd": 300.0, "rows": 500, "total": 600.0},
    {"sd": 20.0, "rows": 1, "total": 1.0},
    {"sd": 0.0, "rows": 5000, "shape": 0.05},
)
EVERY_FIELD_SOMEHOW = pytest.mark.parametrize(
    ("field", "how"), list(zip(FIELDS.values(), itertools.cycle(HOWS), strict=False)), ids=FIELDS
)


def codes_near(field):
    """Return codes on both sides of every boundary of the counted cells, and all reserved codes."""
    domain = field.domain
    starts, stops, _ = one_way_grouping(field, 128).pieces()
    inner = (starts + stops) // 2
    return np.unique(np.concatenate((starts, inner, stops - 1, np.arange(domain.values, domain.size))))


def run_edges(column):
    """Return all ends of pieces of a column's laws."""
    return np.unique(
        np.concatenate([part for laws in (column.base, column.within) for part in (laws.starts, laws.stops)])
    )


@EVERY_FIELD_SOMEHOW
def test_axis_sizes_agree_with_the_public_groupings(field, how) -> None:
    column = column_of(field, **how)

    assert column.name == field.name
    assert column.has_misfit == field.required
    assert len(column.axis.levels) == len(column.groupings)
    for size, grouping in zip(column.axis.sizes, column.groupings, strict=True):
        assert grouping.groups == size + int(field.required)
        assert (grouping.values, grouping.reserved) == (field.domain.values, field.domain.reserved)
        assert RECORDS.read(Grouping, RECORDS.write(grouping)) == grouping
    assert column.axis.sizes[0] == column.axis.base.size == column.within.count


@EVERY_FIELD_SOMEHOW
def test_levels_of_the_axis_say_what_the_groupings_do_to_codes(field, how) -> None:
    column, codes = column_of(field, **how), codes_near(field)
    codes = codes[codes < field.domain.last + int(field.domain.missing)]

    finest = column.groupings[0].apply(codes)

    for level, grouping in zip(column.axis.levels, column.groupings, strict=True):
        assert grouping.apply(codes).tolist() == level[finest].tolist()


@EVERY_FIELD_SOMEHOW
def test_groups_are_few_and_reserved_codes_stay_alone(field, how) -> None:
    column, domain = column_of(field, **how), field.domain

    reserved = np.arange(domain.values, domain.size)
    for size, grouping in zip((512,) * column.common + SIZES, column.groupings, strict=False):
        assert grouping.regular <= size
        assert grouping.apply(reserved).tolist() == list(range(grouping.regular, grouping.groups))
    assert column.groupings[-1].regular <= SIZES[-1]
    for fine, coarse in itertools.pairwise(column.groupings):
        assert coarse.regular < fine.regular


@EVERY_FIELD_SOMEHOW
def test_no_law_reaches_the_misfit_code(field, how) -> None:
    column, domain = column_of(field, **how), field.domain

    largest = max(int(laws.stops.max()) for laws in (column.base, column.within))
    most = domain.size if domain.missing else domain.last
    assert largest <= most if domain.ordered else largest == most  # the end of an ordered column may be out of reach


@EVERY_FIELD_SOMEHOW
def test_the_law_of_a_group_stays_inside_the_group(field, how) -> None:
    column = column_of(field, **how)

    for codes in (column.within.starts, column.within.stops - 1):
        assert column.groupings[0].apply(codes).tolist() == column.within.law_of_piece.tolist()


@EVERY_FIELD_SOMEHOW
def test_laws_of_groups_mixed_by_their_masses_are_the_law_of_the_column(field, how) -> None:
    column = column_of(field, **how)
    edges = run_edges(column)

    mixed = (column.axis.base / column.axis.base.sum()) @ dense_laws(column.within, edges)

    np.testing.assert_allclose(mixed, dense_laws(column.base, edges)[0], rtol=1e-9, atol=1e-15)


@EVERY_FIELD_SOMEHOW
def test_every_group_and_category_keeps_some_mass_and_the_masses_are_records(field, how) -> None:
    column, total = column_of(field, **how), how.get("total", 5000.0)

    cells = one_way_grouping(field, 128).groups
    values = column.axis.base.size - field.domain.specials - int(field.domain.missing)
    least = min(0.03, 0.01 * total / cells)
    assert column.axis.base[:values].min() >= least * (1 - 1e-9)
    assert column.axis.base.min() >= 0
    assert total * (1 - 1e-9) <= column.axis.base.sum() <= 1.01 * total
    law = dense_laws(column.base, run_edges(column))[0]
    assert field.domain.ordered or (law[:values] > 0).all()


@pytest.mark.parametrize("rows", [2000, 100_000])
def test_values_beyond_those_with_rows_have_none_unless_noise_hides_it(rows) -> None:
    field = Field(name="x", type="integer", minimum=0, maximum=100, required=True)
    rng = np.random.default_rng(1)
    true = np.bincount(np.clip(rng.normal(20, 5, rows).round(), 0, 100).astype(int), minlength=101)
    counts = np.append(true, 0) + rng.normal(0, 10, 102)

    column = resolved_column(OneWayTable(identity(field.domain), counts, 10.0), field, rows, (32, 16))
    law = dense_laws(column.base, np.arange(102))[0]

    mean = law @ np.arange(101)
    assert law[60:].sum() < 0.001
    assert abs(mean - 20) < 0.5
    assert (law @ np.square(np.arange(101) - mean)) ** 0.5 < 1.3 * 5


def test_an_empty_group_beside_zeros_has_its_rows_near_them() -> None:
    field = Field(name="x", type="integer", minimum=0, maximum=500, required=True)
    counts = np.zeros(502)
    counts[0], counts[400] = 90_000, 10_000

    column = resolved_column(OneWayTable(identity(field.domain), counts, 5.0), field, 1e5, (32, 16))

    middle = next(
        group for group in range(column.within.count) if column.groupings[0].apply(np.array([200]))[0] == group
    )
    own = column.within.law_of_piece == middle
    places, shares = column.within.starts[own], column.within.probabilities[own]
    assert places.max() > 300
    assert shares @ places / shares.sum() < 400


def test_a_special_or_missing_state_within_two_deviations_of_noise_has_no_rows() -> None:
    field = FIELDS["integer, special and missing"]
    answer = answer_of(field, sd=5.0)
    states = field.domain.specials + 1
    counts = answer.counts.copy()
    first = answer.question.groupings[0].regular
    counts[first : first + states] = [9, 11, *[10] * (states - 2)]

    column = resolved_column(one_way_table([replace(answer, whole=counts)]), field, 5000.0, SIZES)

    assert states >= 3
    assert column.axis.base[-states] == 0
    assert (column.axis.base[-states + 1 :] > 0).all()
    assert (dense_laws(column.base, run_edges(column))[0][-states:] > 0).tolist() == [False, *[True] * (states - 1)]


@pytest.mark.parametrize("seed", range(5))
def test_without_noise_the_law_is_the_table(seed) -> None:
    field = FIELDS["few categories"]
    answer = answer_of(field, sd=0.0, seed=seed, shape=3.0)
    total = float(answer.counts[:-1].sum())

    column = column_of(field, total=total, sd=0.0, seed=seed, shape=3.0)

    assert column.axis.base.tolist() == pytest.approx(answer.counts[:-1].tolist())
    assert column.base.probabilities.tolist() == pytest.approx((answer.counts[:-1] / total).tolist())


def test_masses_that_are_given_are_taken_as_they_are() -> None:
    field = FIELDS["date"]
    answer = answer_of(field, sd=200.0)
    masses = np.zeros(answer.counts.size)
    masses[[3, 4, 57]], masses[-1] = (1000.0, 500.0, 2500.0), 1000.0
    table = OneWayTable(answer.question.groupings[0], answer.counts.astype(np.float64), 200.0, masses)

    column = resolved_column(table, field, 5000.0, SIZES)

    starts, _, _ = table.grouping.pieces()
    edges = np.unique(np.concatenate((starts, column.base.starts, column.base.stops)))
    found = dense_laws(column.base, edges)[0]
    shares = [found[np.searchsorted(edges, starts[place])] for place in (3, 4, 57, -1)]
    # Groups that got nothing keep 0.03 records each: 16 of them at most.
    assert shares == pytest.approx([0.2, 0.1, 0.5, 0.2], abs=16 * 0.03 / 5000)
    assert column.sd == pytest.approx(200.0 * (masses.size / column.axis.base.size) ** 0.5)


def test_a_state_within_the_noise_of_its_own_count_has_no_rows() -> None:
    field = FIELDS["date"]
    answer = answer_of(field, sd=1.0)
    masses = np.zeros(answer.counts.size)
    masses[3], masses[-1] = 4990.0, 9.0
    table = OneWayTable(answer.question.groupings[0], answer.counts.astype(np.float64), 1.0, masses, state_sd=5.0)

    absent, present = (resolved_column(each, field, 5000.0, SIZES) for each in (table, replace(table, state_sd=4.0)))

    assert absent.axis.base[-1] == 0
    assert present.axis.base[-1] == pytest.approx(9.0)


@pytest.mark.parametrize(("name", "is_smoother"), [("date", True), ("integer categories", False)])
def test_noise_between_neighbours_is_taken_out_of_ordered_columns_only(name, is_smoother) -> None:
    column = column_of(FIELDS[name], rows=20_000, total=20_000.0, sd=30.0, shape=1e6)
    raw = answer_of(FIELDS[name], rows=20_000, sd=30.0, shape=1e6).counts

    kept = column.base.probabilities[: raw.size - 1] * 20_000

    assert (np.std(kept) < 0.5 * np.std(raw[:-1])) == is_smoother


def test_ordered_columns_get_runs_and_others_get_leaders() -> None:
    ordered = column_of(FIELDS["many ordered categories"]).groupings[0]
    unordered = column_of(FIELDS["many categories"], shape=0.001).groupings[0]

    assert ordered.kind == "cuts"
    assert unordered.kind == "table"
    assert np.bincount(unordered.table).max() > 9000


def test_values_that_do_not_stand_out_of_the_noise_share_a_group() -> None:
    field = FIELDS["integer categories"]

    quiet, noisy = (column_of(field, sd=sd, rows=4000, shape=2.0) for sd in (1.0, 400.0))

    # Integer categories are not ordered unless the schema says so.
    assert [grouping.regular for grouping in quiet.groupings] == [40, 16, 8, 4]
    assert quiet.common == 1
    assert noisy.groupings[0].regular < 8
    assert noisy.common == 0


def test_the_noise_of_a_group_grows_with_the_cells_it_holds() -> None:
    few = column_of(FIELDS["few categories"], sd=5.0)
    many = column_of(FIELDS["many categories"], sd=5.0)

    assert few.sd == pytest.approx(5.0)
    assert many.sd == pytest.approx(5.0 * (10_001 / many.axis.base.size) ** 0.5)


@pytest.mark.parametrize("sizes", [(16, 8, 4), (3, 2), (2,), (1,)])
@pytest.mark.parametrize("name", ["integer, wide", "many categories", "boolean", "date"])
def test_levels_are_as_coarse_as_asked_for(name, sizes) -> None:
    column = column_of(FIELDS[name], sizes=sizes)

    assert column.common == int(name == "many categories" and len(sizes) > 1)
    assert 1 <= len(column.groupings) - column.common - int(column.has_presence) <= len(sizes)
    assert column.groupings[-1 - int(column.has_presence)].regular <= sizes[-1]


@EVERY_FIELD
def test_the_last_level_tells_only_what_is_missing_or_special_where_anything_can_be(field) -> None:
    column = column_of(field)

    others = field.domain.reserved - int(field.required)
    assert column.has_presence == (others > 0 and field.domain.values > 1)
    assert [grouping.regular == 1 for grouping in column.groupings[:-1]] == [False] * (len(column.groupings) - 1)
    if column.has_presence:
        assert column.groupings[-1].regular == 1
        assert column.axis.sizes[-1] == 1 + others


@pytest.mark.parametrize("sizes", [(1,), (2, 1)])
def test_levels_that_already_have_one_regular_group_get_no_other(sizes) -> None:
    column = column_of(FIELDS["date"], sizes=sizes)

    assert [grouping.regular for grouping in column.groupings] == list(sizes)
    assert not column.has_presence


def test_numbers_keep_their_ends_and_zero_on_their_own_also_between_the_cells_of_real_ones() -> None:
    grouping = one_way_grouping(FIELDS["number, continuous"], 128)

    starts, stops, _ = grouping.pieces()
    zero = int(1.5 / (1e6 + 1.5) * 2**32)
    assert {0, zero, 2**32 - 1} <= set(starts[stops - starts == 1].tolist())


def test_whole_numbers_keep_their_ends_and_zero_on_their_own() -> None:
    grouping = one_way_grouping(FIELDS["integer, wide"], 128)

    starts, stops, _ = grouping.pieces()
    alone = set(starts[stops - starts == 1].tolist())
    assert {0, 10, 10**9 + 10} <= alone
    assert 128 <= grouping.regular <= 133


def test_zero_has_no_cell_where_it_is_out_of_bounds() -> None:
    grouping = one_way_grouping(FIELDS["integer, special"], 128)

    starts, stops, _ = grouping.pieces()
    assert starts[stops - starts == 1].tolist() == [0, 499, 500, 501, 502, 503]


@pytest.mark.parametrize(("values", "sd"), [(11, 10.0), (11, 60.0), (16, 25.0), (6, 60.0)])
def test_a_few_rare_values_do_not_come_back_many_times_as_wide_as_they_were(values, sd) -> None:
    field = Field(name="x", type="integer", minimum=0, maximum=values - 1, required=True)
    counts = np.zeros(values)
    counts[:3] = 19_960, 38, 2
    true = np.sqrt(np.cov(np.arange(values), fweights=counts.astype(int)))
    found = []
    for seed in range(20):
        noisy = np.append(counts + np.rint(np.random.default_rng(seed).normal(0, sd, values)), 0)
        table = OneWayTable(grouping=identity(field.domain), counts=noisy, sd=sd)
        masses = resolved_column(table, field, 20_000.0, SIZES).axis.base
        found.append(np.sqrt(np.cov(np.arange(values), aweights=masses, ddof=0)))

    assert np.mean(found) < 1.5 * true


def test_values_that_most_rows_share_alike_are_only_projected() -> None:
    field = Field(name="x", type="integer", minimum=0, maximum=15, required=True)
    noisy = np.append(1250.0 + np.rint(np.random.default_rng(1).normal(0, 80, 16)), 0)
    table = OneWayTable(grouping=identity(field.domain), counts=noisy, sd=80.0)

    masses = resolved_column(table, field, 20_000.0, SIZES).axis.base

    np.testing.assert_allclose(masses, noisy[:16] + (20_000 - noisy[:16].sum()) / 16)
