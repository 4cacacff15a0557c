"""What models of Microaggregation stand for: laws, convex sets, degenerate tables, and releases without noise."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import isotonic_regression

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.flag_tables import (
    MIXED,
    flags,
    frame_of_flags,
    latent_rows,
    mixed_rows,
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
PAPER = Microaggregation(constants="paper")
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


@pytest.mark.parametrize("settings", [{}, {"constants": "paper", "damping": 1}], ids=str)
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
