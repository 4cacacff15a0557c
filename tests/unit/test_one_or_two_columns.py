"""One or two columns by default: single values stay, cells follow the rows, and the stated distance holds."""

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.extras.evaluate.metrics.samples import wasserstein_line

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.CertificateWarning")

ROWS = 5000


def number(name, low, high, kind="number", *, required=True, **more):
    bounds = {"minimum": low, "maximum": high, "required": required}
    return {"name": name, "type": kind, "constraints": bounds, **more}


def released(frame, *fields, epsilon=1, **more):
    return lw.synthesize(frame, {"fields": list(fields)}, epsilon=epsilon, expected_rows=frame.height, **more)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


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
        (stated,) = [each.value for each in release.certificate.accuracy if each.kind == "distance"]
        rows = release.sample(200_000, seed=1)
        distance = wasserstein_line(frame["x"] / 250, rows["x"] / 250)
        assert distance < stated + 0.5 / 200_000**0.5  # and what so many rows drawn differ by
        assert stated < 0.05


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
    assert [grade.word for grade in verdict.grades if grade.ways == 2] != ["none"]
    assert "how columns depend on each other" not in verdict.not_for
    assert "No budget" not in verdict.better
    assert not [each for each in release.certificate.warnings if "relations" in each.code]
    assert np.corrcoef(release.sample().to_numpy().T)[0, 1] > 0.9
