"""The bound on all pairs' cells: which errors it counts, what it says, and where it says nothing."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from helpers.bits import SeededBits
from helpers.flag_tables import FLAG, KIND, MIXED, WIDE, flags, frame_of_flags, latent_rows, mixed_rows
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.vectors.certified_pairs import (
    MeasuredPairs,
    error_bound,
    known_range,
    least_square,
    measured_moments,
    noise_quantile,
    pair_statements,
    pair_weights,
)
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.schemas import Schema

FLAGS = frame_of_flags(latent_rows(np.random.default_rng(1), 2000, 4))
TWO_FLAGS = Schema.from_dict({"fields": [FLAG, {**FLAG, "name": "f1"}, WIDE, KIND]})
TERMS = Terms(relation="add-remove")


def coordinates_of(answers):
    return next(answer.question.coordinates for answer in answers if isinstance(answer.question, SecondMoment))


def test_weighted_errors_of_moments_are_those_of_all_pairs_cells():
    """Between two released models, of which one stands for the rows: their cells are known exactly."""
    data = mixed_rows(500).with_columns(f1=mixed_rows(500, seed=2)["f0"]).select("f0", "f1", "wide", "kind")
    models, answers = zip(*(run(Microaggregation(directions=2), data, TWO_FLAGS) for _ in range(2)), strict=True)
    coordinates = coordinates_of(answers[0])
    one, other = (measured_moments(answers[0], TERMS, model) for model in models)

    of_moments = sum(
        float(mine.weights @ (mine.released - yours.released) ** 2) for mine, yours in zip(one, other, strict=True)
    )

    of_cells, cells = 0.0, 0
    groupings = dict(zip(coordinates.columns, coordinates.groupings, strict=True))
    for pair in itertools.combinations(coordinates.columns, 2):
        tables = [marginal(model, pair, [groupings[name] for name in pair]) / model.rows for model in models]
        of_cells += float(((tables[0] - tables[1]) ** 2).sum())
        cells += math.prod(
            groupings[name].groups - (not TWO_FLAGS.field(name).domain.missing) for name in pair
        )  # without cells of misfits
    assert of_moments == pytest.approx(of_cells)
    assert pair_weights(coordinates)[2] == cells


def test_a_release_states_its_error_over_all_pairs_and_a_plan_what_noise_makes_of_it():
    release = lw.synthesize(FLAGS, flags(4), epsilon=10, mechanism="microaggregation", seed=1)
    planned = lw.plan(flags(4), expected_rows=2000, epsilon=10, mechanism="microaggregation")

    (stated,) = [each for each in release.certificate.accuracy if each.code == "error_of_all_halved_pairs"]
    (noise,) = [each for each in planned.accuracy if each.code == "noise_over_all_pairs"]

    said = "With 95 % probability the model's root-mean-square error over all pairs' cells is at most"
    rows = "of the rows; what is neither of a column's two values counts as half of each."
    assert stated.text == f"{said} {stated.value:.4g} {rows}"
    assert noise.value < stated.value < 10 * noise.value
    assert f"Certified error: with {stated.text.removeprefix('With ')}" in release.certificate.text()
    assert stated in release.accuracy().statements
    assert (stated.confidence, stated.basis) == (0.95, "certificate")


def test_numbers_on_a_line_have_products_and_no_cells():
    data = frame_of(np.random.default_rng(1).random((2000, 3)))

    release = lw.synthesize(
        data, unit_columns(3), epsilon=10, mechanism=lw.Microaggregation(numbers="means", directions=1), seed=1
    )

    kinds = [each.code for each in release.certificate.accuracy]
    assert "error_of_all_products" in kinds
    assert "error_of_all_pairs" not in kinds


@pytest.mark.parametrize("rows", [0, 1, 50])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1000000"])
@pytest.mark.parametrize("settings", [{"directions": 1}, {"convex_set": "ball", "directions": 1}])
def test_nothing_is_stated_that_any_two_tables_keep(rows, epsilon, settings):
    in_box = len(settings) == 1
    schema, data = (MIXED, mixed_rows(50)) if in_box else (unit_columns(2), frame_of(np.eye(2)[[0, 1] * 25]))

    model, answers = run(Microaggregation(**settings), data.head(rows), schema, budget=Budget.pure(Fraction(epsilon)))
    stated = pair_statements(answers, TERMS, model, np.random.default_rng(1))

    assert bool(stated) == (in_box and epsilon == "1000000" and rows > 0)
    assert all(each.value < 0.1 for each in stated)


def test_the_paper_s_constants_state_products():
    terms = Terms(relation="replace-one", rows=2000)
    model, answers = run(
        Microaggregation(variant="paper"), FLAGS, flags(4), relation="replace-one", budget=Budget.pure(5)
    )

    (stated,) = pair_statements(answers, terms, model, np.random.default_rng(1))

    assert stated.code == "error_of_all_products"


def test_all_totals_narrow_the_number_of_rows():
    data = mixed_rows(3000)
    _, answers = run(Microaggregation(directions=1), data, MIXED, bits=SeededBits(1))

    failure = Fraction(1, 20)
    first = next(answer for answer in answers if answer.question.kind in ("MarginalCounts", "CellSums"))
    alone = known_range([first], TERMS, failure)

    low, high = known_range(answers, TERMS, failure)

    assert low <= 3000 <= high
    assert high - low < alone[1] - alone[0]
    assert known_range(answers, Terms(relation="replace-one", rows=7), Fraction(1, 20)) == (7.0, 7.0)
    assert known_range((), TERMS, Fraction(1, 20)) == (0.0, math.inf)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("parameter", [Fraction(1, 10**9), Fraction(2), Fraction(900)])
def test_quantiles_that_are_not_simulated_are_wider(kind, parameter, monkeypatch):
    ones, law, failure = np.ones(1000), NoiseLaw(kind, parameter), Fraction(1, 50)
    part, rng = MeasuredPairs(ones, ones, ones / 4, law), np.random.default_rng(1)
    simulated = noise_quantile([part], failure, rng), least_square(part, failure, rng)

    monkeypatch.setattr("lapwing.mechanisms.shared.vectors.certified_pairs.MOST_DRAWN", 1000)
    bounded = noise_quantile([part], failure, rng), least_square(part, failure, rng)

    middle = math.sqrt(250) * law.sd  # of tiny Gaussian noise far above the truth, 0
    assert bounded[1] <= simulated[1] <= middle**2
    assert simulated[0] <= bounded[0] <= 1.5 * middle
    assert simulated[0] >= middle or parameter < 1


def test_a_range_of_rows_costs_no_more_than_its_worst_end():
    rng, law = np.random.default_rng(1), NoiseLaw("laplace", Fraction(20))
    part = MeasuredPairs(rng.random(50), 1000 * rng.random(50), np.ones(50), law, 1, rng.random(50))
    bounds = [
        error_bound([part], (end, end), Fraction(1, 20), np.random.default_rng(2)) for end in (900.0, 1000.0, 1100.0)
    ]

    whole = error_bound([part], (900.0, 1100.0), Fraction(1, 20), np.random.default_rng(2))

    assert max(bounds) <= whole * (1 + 1e-12)
    assert math.isinf(error_bound([part], (0.0, 5.0), Fraction(1, 20), rng))
