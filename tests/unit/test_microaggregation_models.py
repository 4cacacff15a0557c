"""What models of Microaggregation stand for: laws, convex sets, degenerate tables, and releases without noise."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import isotonic_regression

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.cases import spread
from helpers.flag_tables import (
    FLAG,
    KIND,
    MIXED,
    WIDE,
    flags,
    frame_of_flags,
    latent_rows,
    mixed_rows,
    mixture,
    moments,
)
from helpers.models import dense
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.kernel.budget.budget import Budget
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.model.model import Bernoulli
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

RICH = Budget.pure(1000)
PAPER = Microaggregation(variant="paper")
ROWS = mixed_rows(600)


def exact_moments(rows):
    """Return the shares of rows in which each flag, and each two of them, are True."""
    return rows.mean(axis=0), off_diagonal(rows.T.astype(float) @ rows / len(rows))


def off_diagonal(products):
    """Return the entries of two different columns."""
    return products[~np.eye(len(products), dtype=bool)]


def shares(model, schema, name):
    """Return the chance of each code of a column under a model."""
    found = marginal(model, [name], [identity(schema.field(name).domain)])
    return found / found.sum()


# ------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("mechanism", [Microaggregation(directions=2), Microaggregation(numbers="means"), PAPER])
@pytest.mark.parametrize("seed", range(1))
def test_laws_are_normalised_and_never_give_a_misfit(mechanism, seed):
    few = {"name": "few", "type": "integer", "constraints": {"minimum": 0, "maximum": 40, "required": True}}
    maybe = {"name": "maybe", "type": "boolean"}
    schema = Schema.from_dict({"fields": [*MIXED.to_dict()["fields"], few, maybe]})
    data = ROWS.with_columns(few=pl.lit("99"), maybe=pl.Series([None, "true", "x"] * 200, dtype=pl.String))

    model, _ = run(mechanism, data, schema, relation="replace-one", bits=SeededBits(seed), budget=Budget.pure(20))

    model.validate(schema)
    assert isinstance(model.laws["f0"], Bernoulli)
    for field in schema.columns:
        for atom in range(model.atoms):
            law = dense(model.laws[field.name], atom, field.domain.size)
            assert law.sum() == pytest.approx(1.0)
            assert (law >= 0).all()
            assert field.domain.missing or law[field.domain.last] == 0


@pytest.mark.parametrize("numbers", ["intervals", "means"])
def test_missing_and_special_values_keep_their_shares(numbers):
    model, _ = run(Microaggregation(numbers=numbers), ROWS, MIXED, budget=RICH, bits=ZeroNoiseBits())

    found = shares(model, MIXED, "wide")
    assert found[1000] == pytest.approx((ROWS["wide"] == "5000").sum() / 600, abs=0.002)
    assert found[1001] == pytest.approx(ROWS["wide"].is_null().mean(), abs=0.002)
    assert shares(model, MIXED, "kind")[:5] == pytest.approx(
        [(ROWS["kind"] == each).mean() for each in "abcde"], abs=0.002
    )


def test_intervals_keep_the_fine_shares_of_a_wide_column_and_means_only_its_mean():
    one = Schema.from_dict({"fields": [WIDE, FLAG]})
    data = pl.DataFrame({"wide": ["0", "17", "17", "999"] * 100, "f0": [True] * 400})

    intervals, _ = run(Microaggregation(), data, one, budget=RICH, bits=ZeroNoiseBits())
    means, _ = run(Microaggregation(numbers="means", directions=0), data, one, budget=RICH, bits=ZeroNoiseBits())

    found = shares(intervals, one, "wide")
    assert [found[0], found[10:24].sum(), found[990:].sum()] == pytest.approx([0.25, 0.5, 0.25], abs=0.01)
    found = shares(means, one, "wide")
    assert np.flatnonzero(found > 1e-9).tolist() == [round((0 + 17 + 17 + 999) / 4)]


@pytest.mark.parametrize("settings", [{}, {"variant": "paper", "damping": 1}], ids=str)
def test_misfits_are_spread_over_the_values_of_a_required_flag(settings):
    data = pl.DataFrame({"f0": ["true"] * 500 + ["?"] * 500, "f1": ["true"] * 1000})

    model, _ = run(
        Microaggregation(**settings), data, flags(2), relation="replace-one", budget=RICH, bits=ZeroNoiseBits()
    )

    first, _ = moments(model)
    # Zeros of both codings: the middle of the centred one, False of the other.
    assert first == pytest.approx([0.5 if settings else 0.75, 1.0], abs=0.01)
    assert model.rows == 1000


# ------------------------------------------------------------------------------------------------------ convex sets


def means_of(model, schema):
    """Return the mean of each column in each atom, on a line from -1 to 1."""
    found = np.empty((model.atoms, len(schema.columns)))
    for place, field in enumerate(schema.columns):
        law = model.laws[field.name]
        if isinstance(law, Bernoulli):
            found[:, place] = 2 * law.p - 1
        else:
            starts, offsets = law.laws.starts[: model.atoms], law.laws.offsets
            assert (np.diff(offsets) == 1).all()  # points
            found[:, place] = 2 * starts / (field.domain.values - 1) - 1
    return found


NUMBERS = unit_columns(3)


def half_space(points):
    """Return the nearest points of the box in which the first coordinate is at most the second."""
    middle = (points[:, 0] + points[:, 1]) / 2
    found, outside = points.copy(), points[:, 0] > points[:, 1]
    found[outside, 0] = found[outside, 1] = middle[outside]
    return found


def rising(points):
    """Return the nearest points of the box whose coordinates do not fall."""
    return np.array([isotonic_regression(point).x for point in points]).reshape(points.shape)


SETS = {
    "ball": ("ball", lambda means: (means**2).sum(axis=1) <= 1),
    "simplex": ("simplex", lambda means: np.abs((means + 1).sum(axis=1) / 2 - 1) < 1e-6),
    "half-space": (half_space, lambda means: means[:, 0] <= means[:, 1] + 1e-6),
    "cone": (rising, lambda means: (np.diff(means, axis=1) >= -1e-6).all(axis=1)),
    "corner": (lambda points: np.clip(points, -1, -0.5), lambda means: (means <= -0.5 + 1e-6).all(axis=1)),
}


@pytest.mark.parametrize("budget", [Budget.pure(1), Budget.zcdp(3)], ids=str)
@pytest.mark.parametrize("name", SETS)
def test_the_mean_of_each_cell_lies_in_the_convex_set(name, budget):
    convex_set, is_inside = SETS[name]
    points = np.random.default_rng(1).beta([2, 1, 1], [1, 1, 3], (2000, 3))
    mechanism = Microaggregation(convex_set=convex_set, directions=2)

    model, _ = run(mechanism, frame_of(points), NUMBERS, budget=budget, bits=SeededBits(2))

    means = means_of(model, NUMBERS)
    assert model.atoms > 1
    assert np.abs(means).max() <= 1
    slack = 1 - 1e-6 if name == "ball" else 1.0  # a ball's mean is rounded to the next code
    assert is_inside(slack * means if name == "ball" else means).all()


# ------------------------------------------------------------------------------------------------- degenerate tables


@spread(
    ("rows", [0, 1, 2, 3]),
    ("relation", ["add-remove", "replace-one"]),
    ("mechanism", [Microaggregation(), Microaggregation(directions=2, bins=2), PAPER]),
)
def test_any_number_of_rows_gives_rows_of_the_schema(mechanism, relation, rows):
    if mechanism == PAPER and relation == "add-remove":
        relation = "replace-one"
    for schema, data in ((flags(3), frame_of_flags(np.ones((rows, 3)))), (MIXED, ROWS.head(rows))):
        for seed in range(3):
            model, _ = run(mechanism, data, schema, relation=relation, bits=SeededBits(seed))
            model.validate(schema)
            assert model.rows == rows if relation == "replace-one" else model.rows >= 0
            assert model.weights.sum() == pytest.approx(1.0)


def test_constant_columns_and_equal_rows_stay_what_they_are():
    sole = {"name": "sole", "type": "integer", "constraints": {"minimum": 4, "maximum": 4, "required": True}}
    schema = Schema.from_dict({"fields": [FLAG, sole, KIND]})
    data = pl.DataFrame({"f0": [True] * 500, "sole": [4] * 500, "kind": ["c"] * 500})

    for settings in ({}, {"directions": 2}, {"numbers": "means", "directions": 2}):
        model, _ = run(Microaggregation(**settings), data, schema, budget=RICH)
        assert shares(model, schema, "f0")[1] == pytest.approx(1.0, abs=0.01)
        assert shares(model, schema, "sole")[0] == pytest.approx(1.0)
        assert shares(model, schema, "kind")[2] == pytest.approx(1.0, abs=0.01)


def test_cells_that_are_no_numbers_are_missing_or_misfits_and_never_a_mean():
    maybe = {"name": "x1", "type": "number", "constraints": {"minimum": 0, "maximum": 1}}
    schema = Schema.from_dict({"fields": [unit_columns(1).to_dict()["fields"][0], maybe]})
    odd = [float("nan"), float("inf"), -float("inf"), 0.5, 0.5]
    data = pl.DataFrame({"x0": odd * 100, "x1": [float("nan"), 0.25, 0.25, 0.25, float("nan")] * 100})

    for numbers in ("intervals", "means"):
        model, _ = run(Microaggregation(numbers=numbers), data, schema, budget=RICH, bits=ZeroNoiseBits())
        model.validate(schema)
        assert np.isfinite(model.weights).all()


# ------------------------------------------------------------------------------------------------------ without noise


@pytest.mark.parametrize("settings", [{}, {"directions": 3, "bins": 4}, {"directions": 4}], ids=str)
@pytest.mark.parametrize("seed", range(1))
def test_without_noise_means_are_exact_and_second_moments_nearly(settings, seed):
    rows = latent_rows(np.random.default_rng(seed), 20_000, 8)
    exact_first, exact_second = exact_moments(rows)

    model, _ = run(
        Microaggregation(**settings),
        frame_of_flags(rows),
        flags(8),
        relation="replace-one",
        budget=RICH,
        bits=ZeroNoiseBits(),
    )

    first, second = moments(model)
    assert model.rows == 20_000
    assert model.atoms > 8
    assert first == pytest.approx(exact_first, abs=1e-6)
    assert off_diagonal(second) == pytest.approx(exact_second, abs=5e-4)


def test_the_fit_to_the_second_moment_and_the_calibration_are_what_brings_it_near():
    rows = latent_rows(np.random.default_rng(4), 20_000, 8)
    exact_first, exact_second = exact_moments(rows)
    errors = {}
    for calibrate, fit in ((True, True), (True, False), (False, False), (False, True)):
        mechanism = Microaggregation(calibrate=calibrate, fit_moments=fit, one_way_share=0.9)
        noisy = [
            moments(run(mechanism, frame_of_flags(rows), flags(8), budget=Budget.pure(4), bits=SeededBits(seed))[0])
            for seed in range(4)
        ]
        errors[calibrate, fit] = [
            np.sqrt(np.mean([(first - exact_first) ** 2 for first, _ in noisy])),
            np.sqrt(np.mean([(off_diagonal(second) - exact_second) ** 2 for _, second in noisy])),
        ]

    assert errors[True, True][0] < errors[False, False][0] / 2
    assert errors[True, False][0] < errors[False, False][0] / 2
    assert errors[True, True][1] < errors[True, False][1] / 2
    assert errors[False, True][1] < errors[False, False][1]


@pytest.mark.parametrize(("seed", "epsilon"), [(0, 1), (1, 100)])
def test_independent_columns_are_one_cell(seed, epsilon):
    rows = np.random.default_rng(seed).random((20_000, 12)) < np.linspace(0.05, 0.9, 12)

    model, answers = run(
        Microaggregation(), frame_of_flags(rows), flags(12), budget=Budget.pure(epsilon), bits=SeededBits(seed)
    )

    assert model.atoms == 1
    assert max(getattr(answer.question, "cells", 1) for answer in answers) == 1
    assert moments(model)[0] == pytest.approx(rows.mean(axis=0), abs=0.02)


def test_without_noise_the_paper_s_cells_keep_their_means_where_damping_is_small():
    rows = latent_rows(np.random.default_rng(5), 60_000, 5)
    exact_first, _ = exact_moments(rows)

    model, _ = run(
        Microaggregation(variant="paper", damping=1),
        frame_of_flags(rows),
        flags(5),
        relation="replace-one",
        bits=ZeroNoiseBits(),
    )

    weights, _ = mixture(model)
    assert model.atoms > 4
    assert weights * 60_000 == pytest.approx(np.rint(weights * 60_000), abs=1e-6)
    assert moments(model)[0] == pytest.approx(exact_first, abs=1e-5)
