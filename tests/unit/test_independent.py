"""Independent: what it asks, what it makes of the answers, and how good that is."""

from fractions import Fraction

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

KIND = Field(name="kind", type="string", categories=("a", "b", "c"))


def table(counts, field=KIND, scale=1):
    question = MarginalCounts(columns=(field.name,), groupings=(identity(field.domain),), cost=Budget.pure(1))
    return NoisyCounts(question, np.array(counts, dtype=np.int64), NoiseLaw("laplace", Fraction(scale)))


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
