"""Independent: what it asks, what it makes of the answers, and how good that is."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.mechanisms.shared.one_way import one_way_grouping, one_way_law, pooled_total
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

AGE = Field(name="age", type="integer", minimum=-100, maximum=9999, required=True)
KIND = Field(name="kind", type="string", categories=("a", "b", "c"))


def table(counts, field=KIND, scale=1):
    question = MarginalCounts(columns=(field.name,), groupings=(identity(field.domain),), cost=Budget.pure(1))
    return NoisyCounts(question, np.array(counts, dtype=np.int64), NoiseLaw("laplace", Fraction(scale)))


def test_columns_with_few_values_are_counted_value_by_value():
    few = Field(name="few", type="integer", minimum=0, maximum=255)

    assert one_way_grouping(few, 128) == identity(few.domain)
    assert one_way_grouping(KIND, 2) == identity(KIND.domain)


def test_minimum_zero_and_maximum_of_whole_numbers_stand_alone():
    grouping = one_way_grouping(AGE, 16)
    codes = np.arange(AGE.domain.size)
    groups = grouping.apply(codes)

    for value in (-100, 0, 9999):
        assert (groups == groups[value + 100]).sum() == 1
    assert grouping.regular <= 16 + 2 * 3


def test_a_public_number_of_rows_is_used_as_it_is():
    assert pooled_total([table([5, 5, 5, 5])], 7) == 7.0


def test_noisy_totals_are_pooled_by_precision_and_never_negative():
    precise, coarse = table([10, 10, 10, 10], scale=1), table([100, 100, 100, 100], scale=1000)

    assert pooled_total([precise, coarse], None) == pytest.approx(40, abs=0.01)
    assert pooled_total([table([-10, -10, -10, -10])], None) == 0.0


def test_nothing_known_gives_the_uniform_law():
    flag = Field(name="flag", type="boolean", required=True)

    law = one_way_law(table([-1, -1, 80], flag), flag.domain, 80.0)

    assert (law.starts.tolist(), law.stops.tolist()) == ([0], [2])


def test_one_way_tables_of_adult_are_within_the_target(adult_path, adult_schema_path):
    """A mean total variation of at most 0.02 at ε = 1; columns of up to 1,024 values as they are."""
    schema = Schema.load(adult_schema_path)
    small = [(column.name, identity(column.domain)) for column in schema.columns if column.domain.values <= 1024]
    release = lw.synthesize(adult_path, schema, epsilon=1, seed=1)
    rows = pl.concat(list(release.frames()))

    real, synthetic = (code_table(data, schema).count([(each,) for each in small]) for data in (adult_path, rows))

    distances = [np.abs(a / a.sum() - b / b.sum()).sum() / 2 for a, b in zip(real, synthetic, strict=True)]
    assert len(distances) >= 11
    assert np.mean(distances) <= 0.02
