"""LinearStatistics: its statistics and weights, its densities, and what its releases keep."""

import sys

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import lapwing as lw
from helpers import make
from helpers.cases import spread
from helpers.even_densities import max_entropy_density, minimax_density
from helpers.flag_tables import FLAG, flags, frame_of_flags, latent_rows
from helpers.pmm_runs import refused, run
from lapwing.errors import CapacityError, LapwingError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics as Question
from lapwing.kernel.questions.questions import RECORDS
from lapwing.mechanisms.registry import settings_of
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.mechanisms.vectors.linear_statistics import mechanism as linear
from lapwing.mechanisms.vectors.linear_statistics import statistics
from lapwing.mechanisms.vectors.linear_statistics.mechanism import LinearStatistics
from lapwing.mechanisms.vectors.linear_statistics.points import points_of
from lapwing.mechanisms.vectors.linear_statistics.statistics import weighted_statistics
from lapwing.model.sampling.marginals import marginal
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

ROWS = latent_rows(np.random.default_rng(1), 400, 4).astype(np.int64)
FOUR = flags(4)
NAMES = [field.name for field in FOUR.columns]


def shares_of(model, schema, names):
    """Return the released share of each cell, without the misfit groups."""
    counts = marginal(model, names, [identity(schema.field(name).domain) for name in names])
    return counts[tuple(slice(0, schema.field(name).domain.values) for name in names)] / model.rows


# -------------------------------------------------------------------------------------------------------- settings
def test_a_workload_that_is_too_large_is_refused_before_any_row_is_read():
    many = flags(110)

    with pytest.raises(
        CapacityError, match="degree=2 over 110 columns is 5995 tables, above 5000; use a smaller degree"
    ):
        lw.plan(many, expected_rows=1000, epsilon=1, mechanism=LinearStatistics())


# ------------------------------------------------------------------------------------------------ what is asked
@pytest.mark.parametrize("budget", [Budget.pure(1), Budget.zcdp("0.5")], ids=lambda budget: budget.notion)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_every_statistic_has_the_same_noise_and_the_budget_is_spent_exactly(relation, budget):
    mechanism = LinearStatistics(statistics=("f0 and f1", "(f0 + f1 + f2) / 3"), mu="independent", points=50)

    _, answers = run(mechanism, frame_of_flags(ROWS), FOUR, budget=budget, relation=relation)

    asked = answers[4:]
    assert [answer.question.kind for answer in asked] == ["MarginalCounts"] * 6 + ["LinearStatistics"]
    deviations = [answer.tables[0].sd for answer in asked]
    assert max(deviations) == pytest.approx(min(deviations), rel=1e-3)  # whole numbers, or multiples of 2**-16
    assert sum(answer.question.cost.amount for answer in answers) == budget.amount


def test_the_number_of_rows_is_bought_only_where_nothing_else_tells_it():
    mechanism = LinearStatistics(statistics=("f0",), degree=0, mu="uniform", points=50)

    _, private = run(mechanism, frame_of_flags(ROWS), FOUR, relation="add-remove")
    _, public = run(mechanism, frame_of_flags(ROWS), FOUR, relation="replace-one")

    assert [answer.question.columns for answer in private] == [("f0",), ()]
    assert [answer.question.kind for answer in public] == ["LinearStatistics"]


# ------------------------------------------------------------------------------------------------------ solutions
@pytest.mark.parametrize("variant", ["default", "paper"])
@pytest.mark.parametrize("mu", ["microaggregation", "adaptive", "independent", "uniform"])
def test_with_much_budget_the_tables_of_two_columns_come_out(mu, variant):
    mechanism = LinearStatistics(mu=mu, variant=variant, points=300)

    model, _ = run(mechanism, frame_of_flags(ROWS), FOUR, budget=Budget.pure(10_000))

    for place in range(3):
        pair = NAMES[place : place + 2]
        true = np.zeros((2, 2))
        np.add.at(true, (ROWS[:, place], ROWS[:, place + 1]), 1 / len(ROWS))
        assert np.abs(shares_of(model, FOUR, pair) - true).max() < 0.01
    assert model.rows == len(ROWS)


@spread(
    ("variant", ["default", "paper"]),
    (
        "mechanism",
        [
            LinearStatistics(statistics=("f0",), degree=0, points=30),
            LinearStatistics(points=1),
            LinearStatistics(points=2, mu="uniform", degree=3),
            LinearStatistics(statistics=("f0", "f0", "not f0"), degree=0, points=5),
        ],
    ),
    ("epsilon", ["0.001", "1000"]),
    ("rows", [0, 1, 400]),
)
def test_degenerate_inputs_give_a_valid_density(mechanism, variant, epsilon, rows):
    frame = frame_of_flags(ROWS[:rows])

    model, _ = run(
        LinearStatistics(**{**settings_of(mechanism), "variant": variant}), frame, FOUR, budget=Budget.pure(epsilon)
    )

    assert np.isfinite(model.weights).all()
    assert model.weights.sum() == pytest.approx(1.0)
    model.validate(FOUR)


def test_wide_columns_show_other_values_than_the_points_unless_a_statistic_reads_them():
    schema = Schema.from_dict(
        {
            "fields": [
                make.field("x", (0.0, 1.0), required=True),
                FLAG,
            ]
        }
    )
    rng = np.random.default_rng(2)
    data = pl.DataFrame({"x": rng.random(500), "f0": rng.integers(2, size=500) == 1})

    spread, exact = (
        lw.synthesize(data, schema, epsilon=10, mechanism=LinearStatistics(points=20, statistics=each), seed=1)
        for each in ((), ("x > 0.123",))
    )

    assert spread.sample(200, seed=1)["x"].round(6).n_unique() > 100
    assert exact.sample(200, seed=1)["x"].round(6).n_unique() <= 20


def test_a_collapsed_density_is_told():
    alike = frame_of_flags(np.zeros((400, 4)))

    release = lw.synthesize(alike, FOUR, epsilon=100, mechanism=LinearStatistics(mu="uniform", points=200), seed=1)

    assert any("the density has collapsed: " in str(warning) for warning in release.certificate.warnings)


# --------------------------------------------------------------------------------------------------- public points
def test_public_rows_as_a_frame_a_path_and_a_callable_give_the_points(tmp_path):
    public = frame_of_flags(np.array([[0, 0, 1, 1], [1, 1, 0, 0]]))
    public.write_parquet(tmp_path / "public.parquet")
    mus = (public, str(tmp_path / "public.parquet"), lambda points, rng: public)

    for mu in mus:
        mechanism = LinearStatistics(mu=mu, mix_uniform=0.0, points=40)
        release = lw.synthesize(frame_of_flags(ROWS), FOUR, epsilon=1, mechanism=mechanism, seed=1)

        points = np.stack(list(points_of(release.model).values()), axis=1)
        assert {tuple(point) for point in points.tolist()} <= {(0, 0, 1, 1), (1, 1, 0, 0)}
        assert any("is public is the caller's claim" in claim.text for claim in release.certificate.assumed)
        assert "Assumed: that mu" in release.certificate.text()
        assert {line.question for line in release.certificate.lines} == {"MisfitRows", "MarginalCounts"}


def test_public_rows_that_do_not_fit_the_schema_are_left_out_and_refused_where_none_is_left():
    odd = pl.DataFrame({name: ["perhaps", "true"] for name in NAMES})

    mechanism = LinearStatistics(mu=odd, mix_uniform=0.0, points=10)
    release = lw.synthesize(frame_of_flags(ROWS), FOUR, epsilon=1, mechanism=mechanism, seed=1)

    assert all((codes == 1).all() for codes in points_of(release.model).values())
    with pytest.raises(ParameterError, match="mu has no row that fits the schema; give public rows of the schema's"):
        lw.synthesize(frame_of_flags(ROWS), FOUR, epsilon=1, mechanism=LinearStatistics(mu=odd[:1]), seed=1)


def test_the_private_table_itself_is_no_public_one(tmp_path):
    data = frame_of_flags(ROWS)
    data.write_parquet(tmp_path / "data.parquet")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "data.parquet")

    for mu, table in ((data, data), (str(tmp_path / "link.parquet"), tmp_path / "data.parquet")):
        with pytest.raises(ParameterError, match="mu is the private table itself, but must be public; name another"):
            lw.synthesize(table, FOUR, epsilon=1, mechanism=LinearStatistics(mu=mu))


def test_a_statistic_that_no_point_has_leaves_the_points_as_they_are():
    public = frame_of_flags(np.zeros((2, 4)))
    mechanism = LinearStatistics(statistics=("f0",), degree=0, mu=public, mix_uniform=0.0, points=3)

    release = lw.synthesize(frame_of_flags(ROWS), FOUR, epsilon=1, mechanism=mechanism)

    assert release.model.weights.tolist() == [pytest.approx(1 / 3)] * 3


def test_a_release_with_a_public_frame_cannot_be_resumed_but_one_with_a_path_can(tmp_path):
    public, data = frame_of_flags(ROWS[:50]), frame_of_flags(ROWS)
    public.write_parquet(tmp_path / "public.parquet")
    for name, mu in (("frame", public), ("path", tmp_path / "public.parquet")):
        mechanism = LinearStatistics(mu=mu, points=20)
        lw.synthesize(data, FOUR, epsilon=1, mechanism=mechanism, transcript=tmp_path / f"{name}.jsonl", seed=1)

    with pytest.raises(
        ParameterError, match="mu was 'a frame of 50 rows', which is kept in no file, so a release with"
    ):
        lw.resume(tmp_path / "frame.jsonl", data)
    assert lw.resume(tmp_path / "path.jsonl", data).model.atoms == 20


def test_a_mu_that_is_no_name_is_the_path_of_a_table():
    with pytest.raises(
        ParameterError, match=r"^mu must be one of microaggregation, adaptive, independent, uniform, or the path"
    ):
        lw.synthesize(frame_of_flags(ROWS), FOUR, epsilon=1, mechanism=LinearStatistics(mu="microagregation"))


# ------------------------------------------------------------------------------------------------- row functions
def both(row):
    return row["f0"] and row["f1"]


def test_a_row_function_is_released_and_listed_as_assumed(tmp_path):
    mechanism = LinearStatistics(statistics=(lw.row_function(both, bounds=(0, 1)),), degree=1, points=200)

    release = lw.synthesize(frame_of_flags(ROWS), FOUR, epsilon=10_000, mechanism=mechanism, seed=1)
    release.save(tmp_path / "release.lapwing")
    back = lw.load(tmp_path / "release.lapwing")

    line = release.certified_errors().row(-1, named=True)
    assert line["statistic"] == "both"
    assert line["released"] == pytest.approx((ROWS[:, 0] & ROWS[:, 1]).mean(), abs=0.01)
    assert any(claim.text.startswith("that both keeps no state") for claim in release.certificate.assumed)
    assert back.certificate.assumed == release.certificate.assumed
    assert back.certified_errors().row(-1, named=True)["released"] is None
    assert back.certified_errors()[:-1].equals(release.certified_errors()[:-1])


def test_a_release_with_a_row_function_cannot_be_resumed(tmp_path):
    mechanism = LinearStatistics(statistics=(lw.row_function(both),), degree=1, points=20)
    lw.synthesize(frame_of_flags(ROWS), FOUR, epsilon=1, mechanism=mechanism, transcript=tmp_path / "t.jsonl")

    with pytest.raises(
        ParameterError, match="a row function is kept in no file, so a release with one cannot be resumed"
    ):
        lw.resume(tmp_path / "t.jsonl", frame_of_flags(ROWS))


def test_a_question_without_its_function_is_not_answered():
    schema = Schema.from_dict({"fields": [FLAG]})
    values = {
        "kind": "LinearStatistics",
        "columns": ["f0"],
        "groupings": [RECORDS.write(identity(schema.field("f0").domain))],
        "statistics": [{"kind": "row function", "text": "f", "columns": ["f0"], "lower": 0, "upper": 1}],
        "cost": {"notion": "pure", "amount": "1"},
    }

    class Asking(Mechanism):
        def run(self, curator, schema, budget, rng):
            return curator.ask(Question.from_dict(values))

    with pytest.raises(ParameterError, match="a row function is kept in no file"):
        run(Asking(), pl.DataFrame({"f0": [True]}), schema)


# ------------------------------------------------------------------------------------------------ certified errors
def test_certified_errors_bound_the_errors_of_every_statistic():
    mechanism = LinearStatistics(statistics=("f0 and f3",), points=300)

    release = lw.synthesize(frame_of_flags(ROWS), FOUR, epsilon=5, mechanism=mechanism, seed=1)
    found = release.certified_errors(confidence=0.99)

    true = []
    for first in range(4):
        for second in range(first + 1, 4):
            table = np.zeros((3, 3))
            np.add.at(table, (ROWS[:, first], ROWS[:, second]), 1 / len(ROWS))
            true += table.ravel().tolist()
    true.append((ROWS[:, 0] & ROWS[:, 3]).mean())
    errors = np.abs(np.array(true) - found["released"].to_numpy())
    assert (errors <= found["largest_error"].to_numpy()).all()
    assert found["statistic"][0] == "f0=false, f1=false"
    assert found["statistic"][-1] == "f0 and f3"


def test_the_certificate_names_the_largest_certified_error_of_each_table_and_statistic():
    release = lw.synthesize(
        frame_of_flags(ROWS), FOUR, epsilon=5, mechanism=LinearStatistics(statistics=("f0",), points=100), seed=1
    )

    kinds = [statement.code for statement in release.certificate.accuracy]
    values = {statement.code: statement.value for statement in release.certificate.accuracy}
    assert kinds.count("certified_error_of_table") == 6
    assert (
        "\nCertified error: no statistic of the workload is further from the table's than 0."
        in release.certificate.text()
    )
    assert values["certified_error"] == pytest.approx(release.certified_errors()["largest_error"].max())
    assert values["spread_of_weights"] == pytest.approx(100 / values["effective_points"])


def two_way_program(seed, points, scale):
    """Return the cells of all two-way tables of eight dependent bits at points, noisy shares, and true shares."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((3000, 8)) < np.where(rng.random((3000, 1)) < 0.4, 0.8, 0.15)).astype(int)
    drawn = np.vstack([rows[: points // 2], rng.integers(0, 2, (points - points // 2, 8))])
    cells = [(i, j, a, b) for i in range(8) for j in range(i) for a in (0, 1) for b in (0, 1)]

    def values(table):
        return np.array([(table[:, i] == a) & (table[:, j] == b) for i, j, a, b in cells], dtype=float)

    truth = values(rows).mean(axis=1)
    return csr_array(values(drawn)), truth + rng.laplace(0, scale, len(cells)), truth


def test_both_solvers_agree_within_their_gaps_and_the_program_fits_the_noisy_targets_best():
    matrix, targets, _ = two_way_program(1, 400, 0.02)

    best, even = minimax_density(matrix, targets), max_entropy_density(matrix, targets, 0.02 * np.sqrt(2))

    assert best.error <= even.error + best.gap
    assert even.error - even.gap <= best.error + 1e-9
    assert best.error - best.gap == pytest.approx(best.error, abs=1e-6)
    # The bound says something: four fifths of the best error are proved.
    assert even.error - even.gap > 0.8 * best.error


def test_points_with_the_same_statistics_share_their_weight():
    matrix = csr_array(np.array([[0.0, 1.0, 0.0, 1.0, 1.0], [0.5, -0.5, 0.5, 0.5, -0.5]]))

    weights = minimax_density(matrix, np.array([0.6, 0.0])).weights

    assert weights[[0, 2]] == pytest.approx([weights[0]] * 2, abs=1e-6)
    assert weights[[1, 4]] == pytest.approx([0.25] * 2, abs=1e-6)


WEIGHTED_ROWS = 400
SCHEMA = Schema.from_dict(make.schema({"a": bool, "b": bool, "c": ["x", "y", "z"], "n": (0, 999)}, required=True))


def table():
    rng = np.random.default_rng(1)
    a = rng.random(WEIGHTED_ROWS) < 0.3
    numbers = rng.integers(0, 1000, WEIGHTED_ROWS)
    return pl.DataFrame(
        {"a": a, "b": a ^ (rng.random(WEIGHTED_ROWS) < 0.1), "c": np.array(["x", "y", "z"])[numbers % 3], "n": numbers}
    )


def codes():
    return {name: each.astype(np.int64) for name, each in all_codes(code_table(table(), SCHEMA), SCHEMA).items()}


def test_products_that_would_take_too_long_are_left_out(monkeypatch):
    release = lw.synthesize(table(), SCHEMA, mechanism="Microaggregation", rho=1)
    whole, _ = weighted_statistics(release.noisy, codes(), SCHEMA, (1.0, WEIGHTED_ROWS))
    monkeypatch.setattr(statistics, "MOST_PRODUCTS", WEIGHTED_ROWS)

    fewer, _ = weighted_statistics(release.noisy, codes(), SCHEMA, (1.0, WEIGHTED_ROWS))

    assert 0 < fewer.shape[0] < whole.shape[0]


def test_where_the_points_cost_most_pairs_come_far_nearer_to_the_table(monkeypatch):
    truths = {"fields": [{**SCHEMA.to_dict()["fields"][0], "name": f"t{place}"} for place in range(8)]}
    rng = np.random.default_rng(3)
    hidden = rng.random(2000) < 0.5
    rows = pl.DataFrame({f"t{i}": hidden ^ (rng.random(2000) < 0.05 * (i + 1)) for i in range(8)})

    def error():
        release = lw.synthesize(rows, truths, mechanism=lw.LinearStatistics(points=1000, mu_share=0.9), rho=0.02)
        pairs = [(f"t{i}", f"t{j}") for i in range(8) for j in range(i) if (i + j) % 3 == 0]
        return np.mean([np.abs(release.query(list(pair))["count"] - true_counts(rows, pair)).mean() for pair in pairs])

    with_all = [error() for _ in range(8)]
    monkeypatch.setattr(linear, "weighted_statistics", lambda *asked: None)
    without = [error() for _ in range(8)]

    assert np.mean(with_all) < 0.85 * np.mean(without)  # of 30 runs each: 16.8 (sd 3.6) and 33.8 (7.0)


def true_counts(rows, pair):
    one, other = (rows[name].to_numpy().astype(int) for name in pair)
    return np.bincount(2 * one + other, minlength=4)


def test_the_linear_program_is_refused_before_the_debit_where_its_extra_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)

    refused(
        tmp_path,
        LinearStatistics(variant="paper", points=50),
        FOUR,
        LapwingError,
        r"variant='paper' needs highspy; run",
    )
