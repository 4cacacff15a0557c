"""Survey weights: in the schema, in weighted totals of a model and of noisy answers, and in comparisons."""

import dataclasses
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import ParameterError, SchemaError
from lapwing.extras.evaluate.metrics.declared import compare_weighted, weighted_figures, weighted_record
from lapwing.extras.evaluate.report.tables import weighted_lines, weighted_section
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.maths.noise_tails import weighted_sum_tail
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.model.evidence import AskedTable, intervals
from lapwing.model.laws import laws_from_probabilities, point_laws
from lapwing.model.model import Bernoulli, Indexed, ReleasedModel, Spans, narrow
from lapwing.model.sampling.marginals import marginal, mean_weights, weighted_marginal
from lapwing.schema.fields import Field, weights_at
from lapwing.schema.groupings.grouping import identity, interval_grouping
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


def test_codes_of_special_and_missing_weights_stand_for_nobody() -> None:
    field = Field(name="w", type="number", minimum=0.5, maximum=2.5, resolution=0.5, special=(9.0,))

    assert weights_at(field, np.arange(field.domain.size)).tolist() == [0.5, 1.0, 1.5, 2.0, 2.5, 0.0, 0.0]


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


@pytest.mark.parametrize(
    ("changes", "column", "says"),
    [({}, "w", "is the weight itself"), ({"weight": None}, "sex", 'under "weight" in the schema')],
)
def test_weighted_totals_without_a_weight_or_of_it_are_refused(changes: dict, column: str, says: str) -> None:
    release = lw.synthesize(people(50), dataclasses.replace(schema_of(), **changes), epsilon=1, seed=0)

    with pytest.raises(ParameterError, match=says):
        release.query(column, weighted=True)


def people(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], rows)
    return pl.DataFrame(
        {"sex": sex, "age": rng.integers(0, 100, rows), "w": np.where(sex == "f", 10, 30) + rng.integers(0, 5, rows)}
    )


def test_weighted_totals_of_a_release_are_near_the_true_ones() -> None:
    data = people(3000)
    table = lw.synthesize(data, schema_of(), epsilon=20, seed=0).query("sex", weighted=True)
    true = data.group_by("sex").agg(pl.col("w").sum()).sort("sex")["w"].to_numpy()

    assert table.columns == ["sex", "total", "share", "lower", "upper", "basis"]
    np.testing.assert_allclose(table["total"].to_numpy(), true, rtol=0.05)
    assert table["share"].sum() == pytest.approx(1)


def answered(codes, schema, law, rng, cuts):
    """Return a noisy table of sex and weight in some groups of weights."""
    weight = schema.field("w")
    groupings = (identity(schema.field("sex").domain), interval_grouping(weight.domain, np.array(cuts)))
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


def test_intervals_without_noise_to_speak_of_are_those_of_the_groups_alone() -> None:
    schema, rng = schema_of(), np.random.default_rng(5)
    codes = {"sex": np.zeros(100, dtype=np.int64), "w": np.arange(100) % 40}
    tiny = NoiseLaw("laplace", Fraction(1, 100))
    answer = answered(codes, schema, tiny, rng, list(range(1, 40)))
    sex = identity(schema.field("sex").domain)

    found = intervals([answer], AskedTable(["sex"], [sex]), Fraction(1, 20), weight=schema.field("w"))

    total = int((codes["w"] + 1).sum())
    assert found.lower[0] == pytest.approx(total, abs=3)
    assert found.upper[0] == pytest.approx(total, abs=3)


def test_a_table_without_the_weight_gives_no_interval() -> None:
    schema = schema_of()
    sex = identity(schema.field("sex").domain)
    question = MarginalCounts(columns=("sex",), groupings=(sex,), cost=Budget.pure(1))
    answer = NoisyCounts(question, np.array([5, 5, 0]), NoiseLaw("laplace", Fraction(1)))

    found = intervals([answer], AskedTable(["sex"], [sex]), Fraction(1, 20), weight=schema.field("w"))

    assert not found.terms.any()


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


def test_adaptive_prefers_tables_with_the_weight_as_its_workload_does() -> None:
    schema = schema_of()
    plain = dataclasses.replace(schema, weight=None)

    def wanted(mechanism: Adaptive, of: Schema) -> object:
        return mechanism.priorities(of)

    assert wanted(Adaptive(), schema) == wanted(Adaptive(workload=("w",)), plain)
    assert wanted(Adaptive(), plain) == ()


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


def test_without_a_weight_nothing_is_compared() -> None:
    real = coded(20)

    assert compare_weighted(real, {"synthetic": real}, dataclasses.replace(schema_of(), weight=None)) is None
    assert weighted_record(None) is None


def test_the_weight_survives_saving_and_is_part_of_the_fingerprint(tmp_path) -> None:
    schema = schema_of()
    schema.save(tmp_path / "schema.json")

    assert Schema.load(tmp_path / "schema.json") == schema
    assert schema.weight == "w"
    assert schema.fingerprint != dataclasses.replace(schema, weight=None).fingerprint


def test_a_draft_may_leave_the_bounds_of_its_weight_open() -> None:
    blank = {"name": "w", "type": "number"}

    assert Schema.load_draft({"weight": "w", "fields": [SEX, blank]}).weight == "w"


def test_records_figures_and_section_hold_every_column_but_the_weight() -> None:
    real = coded(400)
    others = {name: coded(400, seed) for seed, name in enumerate(("synthetic", "bootstrap", "independent"), 1)}
    found = compare_weighted(real, others, schema_of())

    record, figures = weighted_record(found), weighted_figures(found)
    section = weighted_section(found, {"sex": 0.1, "age": 0.2})

    assert [each["column"] for each in record["columns"]] == ["sex", "age"]
    assert len(record["columns"][1]["cells"]) == 20
    assert [each.metric.key for each in figures] == [
        "weighted_total_error",
        "weighted_variation",
        "weighted_mean_error",
    ]
    assert {line[0] for line in section.parts[1].lines} == {"sex", "age"}
    assert section.folded[0].lines
    assert [line[0] for line in weighted_lines(found, 1)] == ["total weight", "age"]
