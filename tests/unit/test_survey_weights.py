"""Survey weights: in the schema, in weighted totals of a model and of noisy answers, and in comparisons."""

import dataclasses
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import ParameterError, SchemaError
from lapwing.extras.evaluate.metrics.declared import compare_weighted
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.maths.noise_tails import weighted_sum_tail
from lapwing.model.evidence import AskedTable, intervals
from lapwing.model.laws import laws_from_probabilities, point_laws
from lapwing.model.model import Bernoulli, Indexed, ReleasedModel, Spans, narrow
from lapwing.model.sampling.marginals import marginal, mean_weights, weighted_marginal
from lapwing.schema.fields import weights_at
from lapwing.schema.groupings.grouping import cut, identity
from lapwing.schema.schemas import Schema

SEX = {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}
WEIGHT = {"name": "w", "type": "integer", "constraints": {"minimum": 1, "maximum": 40}}


def schema_of(weight="w", **changes) -> Schema:
    return Schema.from_dict({"weight": weight, "fields": [SEX, AGE, WEIGHT | changes]})


@pytest.mark.parametrize(
    ("weight", "changes", "says"),
    [
        (7, {}, "must be the name of a field"),
        ("ww", {}, "no field is called"),
        ("sex", {}, "must be an integer or a number"),
        ("w", {"constraints": {"minimum": -1, "maximum": 4}}, "at least 0"),
        ("w", {"categories": [1, 2], "constraints": {}}, "without categories"),
        ("w", {"role": "identifier"}, "is an identifier"),
    ],
)
def test_a_weight_that_cannot_be_one_is_refused(weight, changes, says) -> None:
    with pytest.raises(SchemaError, match=says):
        schema_of(weight, **changes)


LAWS = {
    "points": Indexed(narrow(np.arange(6) % 3), point_laws([0, 3, 40])),
    "histogram": Indexed(
        narrow(np.zeros(6, dtype=np.int64)),
        laws_from_probabilities(np.array([0, 10, 40]), np.array([10, 40, 41]), np.array([[0.2, 0.5, 0.3]])),
    ),
    "spans": Spans(np.array([0, 1, 2, 30, 39, 40], dtype=np.uint8), np.array([9, 2, 41, 41, 40, 41], dtype=np.uint8)),
    "coins": Bernoulli(np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])),
}


@pytest.mark.parametrize("kind", list(LAWS))
def test_weighted_totals_of_a_model_are_sums_over_the_weight_s_own_values(kind) -> None:
    schema = schema_of()
    sex = Indexed(narrow(np.array([0, 1, 1, 0, 1, 0])), point_laws([0, 1]))
    model = ReleasedModel(weights=np.array([1.0, 2, 3, 4, 5, 6]), rows=700, laws={"sex": sex, "w": LAWS[kind]})
    weight, cells = schema.field("w"), identity(schema.field("sex").domain)

    joint = marginal(model, ["sex", "w"], [cells, identity(weight.domain)])
    expected = joint @ weights_at(weight, np.arange(weight.domain.size))

    np.testing.assert_allclose(weighted_marginal(model, weight, ["sex"], [cells]), expected, rtol=1e-12)
    assert mean_weights(LAWS[kind], weight).shape == (6,)


def test_weighted_totals_without_a_weight_are_refused_with_a_way_out() -> None:
    release = lw.synthesize(people(50), dataclasses.replace(schema_of(), weight=None), epsilon=1, seed=0)

    with pytest.raises(ParameterError, match='under "weight" in the schema'):
        release.query("sex", weighted=True)


def people(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], rows)
    return pl.DataFrame(
        {"sex": sex, "age": rng.integers(0, 100, rows), "w": np.where(sex == "f", 10, 30) + rng.integers(0, 5, rows)}
    )


def answered(codes, schema, law, rng, cuts):
    """Return a noisy table of sex and weight in some groups of weights."""
    weight = schema.field("w")
    groupings = (identity(schema.field("sex").domain), cut(weight.domain, np.array(cuts)))
    exact = np.zeros(tuple(each.groups for each in groupings), dtype=np.int64)
    np.add.at(exact, tuple(each.apply(codes[name]) for each, name in zip(groupings, ("sex", "w"), strict=True)), 1)
    question = MarginalCounts(columns=("sex", "w"), groupings=groupings, cost=Budget.pure(1))
    scale = float(law.parameter)
    if law.kind == "gaussian":
        noise = np.rint(rng.normal(0, scale**0.5, exact.shape))
    else:
        noise = rng.geometric(1 - np.exp(-1 / scale), (2, *exact.shape))
        noise = noise[0] - noise[1]
    return NoisyCounts(question, exact + noise.astype(np.int64), law)


@pytest.mark.parametrize("law", [NoiseLaw("gaussian", Fraction(100)), NoiseLaw("laplace", Fraction(5))], ids=str)
def test_intervals_hold_the_true_weighted_totals_as_often_as_they_say(law) -> None:
    schema, rng = schema_of(), np.random.default_rng(5)
    codes = {"sex": np.arange(4000) % 2, "w": (np.arange(4000) * 7) % 41}
    true = np.bincount(codes["sex"], weights_at(schema.field("w"), codes["w"]), 3)
    sex = identity(schema.field("sex").domain)
    missed, runs, width = 0, 300, 0.0
    for _ in range(runs):
        answer = answered(codes, schema, law, rng, [5, 10, 20, 30])
        found = intervals([answer], AskedTable(["sex"], [sex]), Fraction(1, 5), weight=schema.field("w"))
        missed += int((found.lower > true).sum() + (found.upper < true).sum())
        width += float(np.mean(found.upper[:2] - found.lower[:2])) / runs

    assert found.terms.tolist() == [5, 5, 5]
    assert missed <= 0.2 * 3 * runs
    # Groups of up to ten weights around twenty: no wider than noise and groups make it.
    assert 0 < width < 2 * true[0]


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_a_weighted_tail_is_never_passed_more_often_than_it_says(kind) -> None:
    rng, factors, terms = np.random.default_rng(8), np.array([1.0, 7.0, 0.0, 2.5]), np.array([3, 2, 9, 40])
    many = np.repeat(factors, terms)
    if kind == "gaussian":
        noise = np.rint(rng.normal(0, 6, (20_000, many.size)))
    else:
        noise = rng.geometric(1 - np.exp(-1 / 6), (20_000, many.size)) - rng.geometric(
            1 - np.exp(-1 / 6), (20_000, many.size)
        )
    tail = weighted_sum_tail(kind, Fraction(36 if kind == "gaussian" else 6), factors, terms, 0.05)
    passed = float((np.abs(noise @ many) > tail).mean())

    assert passed < 0.05
    assert float((np.abs(noise @ many) > tail / 2).mean()) > 0.05


def coded(rows, seed=0):
    rng = np.random.default_rng(seed)
    return {"sex": rng.integers(0, 2, rows), "age": rng.integers(0, 101, rows), "w": rng.integers(0, 41, rows)}


def test_weighted_errors_are_those_of_polars() -> None:
    schema, real, other = schema_of(), coded(500), coded(300, seed=9)
    found = compare_weighted(real, {"synthetic": other}, schema)

    def weighted(codes):
        return pl.DataFrame(codes).with_columns(pl.when(pl.col("w") < 40).then(pl.col("w") + 1).otherwise(0).alias("w"))

    totals = [
        weighted(codes).group_by("sex").agg(pl.col("w").sum()).sort("sex")["w"].to_numpy() for codes in (real, other)
    ]
    scaled = totals[1] * 500 / 300
    means = [
        (table["age"] * table["w"]).sum() / table["w"].sum()
        for table in (weighted(codes).filter(pl.col("age") < 100) for codes in (real, other))
    ]

    assert found.columns[0].real[:2] == pytest.approx(totals[0])
    assert found.columns[0].total_error("synthetic") == pytest.approx(
        np.abs(scaled - totals[0]).sum() / totals[0].sum()
    )
    assert np.sign(found.columns[1].means["synthetic"]) == np.sign(means[1] - means[0])
    assert 25 < (means[1] - means[0]) / found.columns[1].means["synthetic"] < 32  # the deviation of ages from 0 to 99
