"""Columns at several resolutions, for every kind of field."""

import itertools

import numpy as np
import pytest

from helpers.resolved import FIELDS, SIZES, answer_of, column_of, dense_laws
from lapwing.kernel.questions.questions import RECORDS
from lapwing.mechanisms.adaptive.columns import OneWayTable, resolved_column
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
def test_no_law_reaches_the_misfit_code(field, how) -> None:
    column, domain = column_of(field, **how), field.domain

    largest = max(int(laws.stops.max()) for laws in (column.base, column.within))
    most = domain.size if domain.missing else domain.last
    assert largest <= most if domain.ordered else largest == most  # the end of an ordered column may be out of reach


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


@pytest.mark.parametrize("seed", range(5))
def test_without_noise_the_law_is_the_table(seed) -> None:
    field = FIELDS["few categories"]
    answer = answer_of(field, sd=0.0, seed=seed, shape=3.0)
    total = float(answer.counts[:-1].sum())

    column = column_of(field, total=total, sd=0.0, seed=seed, shape=3.0)

    assert column.axis.base.tolist() == pytest.approx(answer.counts[:-1].tolist())
    assert column.base.probabilities.tolist() == pytest.approx((answer.counts[:-1] / total).tolist())


@pytest.mark.parametrize(("name", "is_smoother"), [("date", True), ("integer categories", False)])
def test_noise_between_neighbours_is_taken_out_of_ordered_columns_only(name, is_smoother) -> None:
    column = column_of(FIELDS[name], rows=20_000, total=20_000.0, sd=30.0, shape=1e6)
    raw = answer_of(FIELDS[name], rows=20_000, sd=30.0, shape=1e6).counts

    kept = column.base.probabilities[: raw.size - 1] * 20_000

    assert (np.std(kept) < 0.5 * np.std(raw[:-1])) == is_smoother


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
