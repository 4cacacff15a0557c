"""LinearStatistics: settings, what it asks and refuses, degenerate inputs, public points and certified errors."""

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.flag_tables import FLAG, flags, frame_of_flags, latent_rows
from helpers.pmm_runs import run
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics as Question
from lapwing.kernel.questions.questions import RECORDS
from lapwing.mechanisms.vectors.linear_statistics.mechanism import LinearStatistics
from lapwing.mechanisms.vectors.linear_statistics.workload import points_of
from lapwing.model.sampling.marginals import marginal
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


# ------------------------------------------------------------------------------------------------------ solutions


@pytest.mark.parametrize("solver", ["max-entropy", "interior-point"])
@pytest.mark.parametrize("mu", ["microaggregation", "tree", "product", "uniform"])
def test_with_much_budget_the_tables_of_two_columns_come_out(mu, solver):
    mechanism = LinearStatistics(mu=mu, solver=solver, points=300)

    model, _ = run(mechanism, frame_of_flags(ROWS), FOUR, budget=Budget.pure(10_000))

    for place in range(3):
        pair = NAMES[place : place + 2]
        true = np.zeros((2, 2))
        np.add.at(true, (ROWS[:, place], ROWS[:, place + 1]), 1 / len(ROWS))
        assert np.abs(shares_of(model, FOUR, pair) - true).max() < 0.01
    assert model.rows == len(ROWS)


# --------------------------------------------------------------------------------------------------- public points


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
    assert any(claim.startswith("that both keeps no state") for claim in release.certificate.assumed)
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

    class Asking:
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
