"""One or two columns by default: single values stay, cells follow the rows, and the stated distance holds."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from lapwing.extras.evaluate.metrics.samples import wasserstein_line

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.CertificateWarning")

ROWS = 5000
SAMPLING = 4 * (0.25 / ROWS) ** 0.5
"""Four standard deviations of a share among so many rows drawn."""


def number(name, low, high, kind="number", *, required=True, **more):
    bounds = {"minimum": low, "maximum": high, "required": required}
    return {"name": name, "type": kind, "constraints": bounds, **more}


def released(frame, *fields, epsilon=1, **more):
    return lw.synthesize(frame, {"fields": list(fields)}, epsilon=epsilon, expected_rows=frame.height, **more)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("epsilon", [1, 10])
def test_zeros_of_most_rows_stay_zeros(rng, epsilon):
    cost = np.where(rng.random(ROWS) < 0.7, 0.0, rng.lognormal(7, 1.2, ROWS).clip(1, 100_000))
    rows = released(pl.DataFrame({"cost": cost}), number("cost", 0, 100_000), epsilon=epsilon).sample()
    noise = 40 / (epsilon * ROWS)  # some standard deviations of what is left of the noise, as a share
    assert abs(float((rows["cost"] == 0).mean()) - float((cost == 0).mean())) < SAMPLING + noise


def test_midnights_stay_midnights(rng):
    days = [dt.datetime(2021, 1, 1) + dt.timedelta(days=int(day)) for day in rng.choice([3, 40, 200, 300], ROWS)]
    field = make.field("seen", ("2021-01-01T00:00:00", "2021-12-31T23:59:59"))
    rows = released(pl.DataFrame({"seen": days}), field).sample()
    assert float(rows["seen"].is_in(days).mean()) > 0.99  # noise may fill a cell with a few


def test_whole_thousands_stay_beside_another_number(rng):
    income = rng.choice([0, 1000, 2000, 50_000], ROWS)
    frame = pl.DataFrame({"income": income, "score": rng.normal(50, 10, ROWS).clip(0, 100)})
    rows = released(frame, number("income", 0, 10**6, "integer"), number("score", 0, 100), epsilon=10).sample()
    assert float(rows["income"].is_in([0, 1000, 2000, 50_000]).mean()) > 0.95


def test_missing_and_special_values_keep_their_shares(rng):
    draws = rng.random(ROWS)
    values = [
        None if draw < 0.2 else -9.0 if draw < 0.4 else float(value)
        for draw, value in zip(draws, rng.normal(50, 10, ROWS).clip(0, 100), strict=True)
    ]
    frame = pl.DataFrame({"x": values, "y": rng.normal(50, 10, ROWS).clip(0, 100)})
    rows = released(frame, number("x", 0, 100, required=False, special=[-9]), number("y", 0, 100), epsilon=2).sample()
    assert abs(rows["x"].null_count() / rows.height - 0.2) < SAMPLING + 0.02
    assert abs(int((rows["x"] == -9).sum()) / rows.height - 0.2) < SAMPLING + 0.02


def test_nothing_is_missing_or_special_where_no_row_is(rng):
    frame = pl.DataFrame({"x": rng.normal(50, 10, ROWS).clip(0, 100)})
    rows = released(frame, number("x", 0, 100, required=False, special=[-9])).sample()
    assert rows["x"].null_count() == 0
    assert not (rows["x"] == -9).any()


def test_cells_that_fit_nothing_end_the_release():
    frame = pl.DataFrame({"x": [f"{row % 50} mm" for row in range(ROWS)], "y": np.arange(ROWS) % 70})
    with pytest.raises(lw.LapwingError, match="LW118"):
        released(frame, number("x", 0, 99, "integer"), number("y", 0, 99, "integer"))


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_the_stated_distance_of_one_column_holds(rng, budget, kind):
    cells = rng.normal(60, 15, ROWS).clip(0, 250)
    frame = pl.DataFrame({"x": np.rint(cells).astype(int) if kind == "integer" else cells})
    field = number("x", 0, 250, kind)
    for _ in range(5):
        release = released(frame, field, **budget)
        (stated,) = [each.value for each in release.certificate.accuracy if each.code == "distance"]
        rows = release.sample(200_000, seed=1)
        distance = wasserstein_line(frame["x"] / 250, rows["x"] / 250)
        assert distance < stated + 0.5 / 200_000**0.5  # and what so many rows drawn differ by
        assert stated < 0.05


@pytest.mark.parametrize("columns", [["v"], ["v", "w"]])
def test_categories_have_a_stated_distance_too(rng, columns):
    fields = [{"name": name, "type": "string", "categories": ["a", "b", "c"]} for name in columns]
    frame = pl.DataFrame({name: rng.choice(["a", "b", "c"], ROWS, p=[0.7, 0.2, 0.1]) for name in columns})
    release = released(frame, *fields)
    (stated,) = [each.value for each in release.certificate.accuracy if each.code == "distance"]
    assert 0 < stated < 0.2


@pytest.mark.parametrize("columns", [1, 2])
def test_it_is_about_as_near_as_the_best_of_the_others(rng, columns):
    places = np.array([[0.2, 0.3], [0.7, 0.72], [0.71, 0.2]])[rng.integers(0, 3, ROWS), :columns]
    points = (places + 0.01 * rng.standard_normal((ROWS, columns))).clip(0, 1)
    fields = [number(f"x{place}", 0, 1) for place in range(columns)]
    frame = pl.DataFrame({f"x{place}": points[:, place] for place in range(columns)})

    def mean_distance(mechanism):
        found = []
        for seed in range(8):
            rows = released(frame, *fields, mechanism=mechanism, seed=seed).sample().to_numpy()
            found.append(np.mean([wasserstein_line(points[:, at], rows[:, at]) for at in range(columns)]))
        return float(np.mean(found))

    best = min(mean_distance(mechanism) for mechanism in (lw.PMM(), lw.KDTree()))
    assert mean_distance(None) < 2.5 * best + 1e-4  # by noise alone in fewer than one run of 10,000


def test_a_setting_of_tables_or_particles_asks_for_them():
    frame = pl.DataFrame({"x": np.arange(ROWS) % 90})
    field = number("x", 0, 99, "integer")
    kinds = [
        {each.question.kind for each in released(frame, field, mechanism=mechanism).noisy}
        for mechanism in (lw.Adaptive(), lw.Adaptive(particles=1000))
    ]
    assert kinds == [{"MarginalCounts", "TreeCounts"}, {"MarginalCounts"}]


def test_what_is_said_of_two_columns_knows_that_cells_of_both_were_counted(rng):
    points = rng.normal([[3, 3], [14, 12]], 1, (ROWS, 2, 2)).reshape(-1, 2).clip(0, 20)
    frame = pl.DataFrame(points, schema=["x", "y"], orient="row")

    release = released(frame, number("x", 0, 20), number("y", 0, 20))
    verdict = release.certificate.verdict

    assert (verdict.learnt, verdict.pairs) == (1, 1)
    assert verdict.relations != "unknown"
    assert "not_for_relations" not in [each.code for each in verdict.not_for]
    assert not [each for each in release.certificate.warnings if "relations" in each.code]
    assert np.corrcoef(release.sample().to_numpy().T)[0, 1] > 0.9
