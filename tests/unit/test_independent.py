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


def test_the_law_is_the_table_on_the_simplex():
    law = one_way_law(table([30, 10, -5, 0]), KIND.domain, 40.0)

    assert law.starts.tolist() == [0, 1]
    assert law.probabilities == pytest.approx([0.75, 0.25])


def test_the_misfit_code_gets_no_mass():
    flag = Field(name="flag", type="boolean", required=True)

    law = one_way_law(table([10, 10, 80], flag), flag.domain, 100.0)

    assert law.stops.max() <= flag.domain.last
    assert law.probabilities == pytest.approx([0.5, 0.5])


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


def test_the_error_of_a_column_is_within_its_documented_bound():
    """Expected total variation at most k d / (ε n); 30 releases keep the mean well below it."""
    rng = np.random.default_rng(5)
    schema = Schema.from_dict(
        {"fields": [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 63, "required": True}}]}
    )
    data = pl.DataFrame({"x": rng.binomial(63, 0.3, 2000)})
    exact = np.bincount(data["x"], minlength=64) / 2000
    errors = []

    for _ in range(30):
        table = lw.synthesize(data, schema, epsilon=1).query(["x"], groups=64)
        errors.append(np.abs(table["share"].to_numpy() - exact).sum() / 2)

    assert np.mean(errors) <= 65 * 1 / (1 * 2000)


def test_the_certificate_counts_noisy_tables_of_one_noise_in_words_that_agree():
    table = pl.DataFrame({"a": [True, False], "b": [False, True]})
    fields = [{"name": name, "type": "boolean"} for name in table.columns]

    texts = [
        lw.synthesize(table.select(names), {"fields": chosen}, epsilon=1, mechanism="Independent")
        .certificate.accuracy[0]
        .text
        for names, chosen in ((["a"], fields[:1]), (["a", "b"], fields))
    ]

    assert texts[0].startswith("Each count of 1 noisy table carries discrete laplace noise with mean 0 and a ")
    assert texts[1].startswith("Each count of 2 noisy tables carries discrete laplace noise with mean 0 and a ")
