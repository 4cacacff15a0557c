"""Microaggregation: its partitions, its means, its models, and what its releases keep."""

import itertools
import math
from itertools import combinations_with_replacement

import numpy as np
import polars as pl
import pytest
from scipy.optimize import isotonic_regression

import lapwing as lw
from helpers.bits import SeededBits, ZeroNoiseBits
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
from helpers.moment_losses import moment_distance, moment_loss, separated_rows
from helpers.pmm_runs import frame_of, refused, run, unit_columns
from helpers.transcripts import cut_after
from helpers.vectors import Rows, all_rows, coordinates_of, cut_cells, exact, sums_asked
from lapwing.anonymous.covariance_loss import covariance_loss
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.answer import damped_means
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.vectors.means import rake_means, weighted_mean
from lapwing.mechanisms.shared.vectors.row_vectors import projector, row_coordinates
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.mechanisms.vectors.microaggregation.model import totals_of_details
from lapwing.model.model import Bernoulli
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

PAPER = Microaggregation(variant="paper")
FLAGS = frame_of_flags(latent_rows(np.random.default_rng(1), 400, 4))


def asked(answers):
    """Return what was asked, in order, in short."""
    return [getattr(answer.question, "summed", answer.question.kind) for answer in answers]


# --------------------------------------------------------------------------------------------- questions and budget
@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ({"relation": "replace-one"}, ["vectors"]),
        ({"expected_rows": 100}, ["rows", "vectors"]),
        ({}, ["rows", "vectors"] * 2),  # the first answers told how many rows there are
    ],
)
def test_no_second_moment_is_bought_where_noise_alone_would_pass_any_eigenvalue(terms, expected):
    _, answers = run(Microaggregation(), FLAGS.head(100), flags(4), budget=Budget.pure("0.01"), **terms)

    assert asked(answers) == expected


def test_the_paper_s_constants_are_refused_where_its_proof_does_not_reach(tmp_path):
    cases = [
        ("variant='paper' is for replace-one neighbours with one row per unit and a public number of rows; use", {}),
        ("variant='paper' is for pure epsilon; leave delta out, or", {"neighbours": "replace-one", "rho": "0.5"}),
    ]

    for place, (message, settings) in enumerate(cases):
        folder = tmp_path / str(place)
        folder.mkdir()
        refused(folder, PAPER, flags(4), ParameterError, message, data=FLAGS, **settings)
    public = Budget.pure(1), Terms(relation="replace-one", rows=400)
    private = Budget.pure(1), Terms(relation="replace-one", max_rows=2, expected_rows=400)
    for convex_set in ("ball", "simplex"):
        mechanism = Microaggregation(variant="paper", convex_set=convex_set)
        with pytest.raises(ParameterError, match=r"^variant='paper' is for convex_set='box'; use"):
            mechanism.questions(flags(4), *public, np.random.default_rng(1))
    with pytest.raises(ParameterError, match="with one row per unit and a public number of rows; use"):
        PAPER.questions(flags(4), *private, np.random.default_rng(1))


def test_more_cells_than_fit_in_memory_are_refused_before_the_debit(tmp_path):
    message = r"4096 bins along 3 directions are 6.87e\+10 cells, above the .* whose laws fit in memory"

    refused(tmp_path, Microaggregation(directions=3, bins=4096), flags(4), CapacityError, message, data=FLAGS)


def test_more_than_2000_columns_are_refused_before_the_debit(tmp_path):
    data = pl.DataFrame({f"f{i}": [True] for i in range(2001)})
    message = r"2001 coordinates are above 2000 \(their second moment would take 31 MiB\); leave columns out"

    refused(tmp_path, Microaggregation(), flags(2001), CapacityError, message, data=data)


@pytest.mark.parametrize("convex_set", ["ball", "simplex"])
@pytest.mark.parametrize(
    ("field", "message"),
    [
        (WIDE, 'column "wide" has missing or special values, which no (ball|simplex) has; require it in the schema'),
        (KIND, 'column "kind" must be one coordinate in a (ball|simplex), but has categories'),
    ],
)
def test_columns_that_no_ball_and_no_simplex_has_are_refused_before_the_debit(tmp_path, convex_set, field, message):
    schema = Schema.from_dict({"fields": [*unit_columns(1).to_dict()["fields"], field]})
    data = mixed_rows(50).with_columns(x0=0.5)

    refused(tmp_path, Microaggregation(convex_set=convex_set), schema, ParameterError, message, data=data)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (lambda points: points[:, :2], r"convex_set must return an array of finite numbers of shape \(8, 3\)"),
        (lambda points: points * np.nan, "convex_set must return an array of finite numbers"),
        (lambda points: [[0.0], *points.tolist()], "convex_set must return an array of finite numbers"),
        (lambda points: points * 1j, "convex_set must return an array of finite numbers"),
        (lambda _: "a", "convex_set must return an array of finite numbers"),
        (lambda points: points * 10, "convex_set returned points outside the box of the schema"),
        (lambda points: points * 0 + 3, "convex_set returned points outside the box of the schema"),
        (lambda points: points / 3, "convex_set moved points that it returned itself, so it is no projection"),
    ],
)
def test_a_callable_that_is_no_projection_is_refused_before_the_debit(tmp_path, own, message):
    data = frame_of(np.random.default_rng(1).random((50, 3)))

    refused(tmp_path, Microaggregation(convex_set=own), unit_columns(3), ParameterError, message, data=data)


@pytest.mark.parametrize("field", [WIDE, KIND], ids=["missing and special", "categories"])
def test_a_callable_is_refused_for_columns_that_are_not_one_coordinate(tmp_path, field):
    schema = Schema.from_dict({"fields": [FLAG, field]})
    own = Microaggregation(convex_set=lambda points: np.clip(points, -1, 1))
    message = f'column "{field["name"]}" must be one coordinate under a convex_set of one\'s own'

    refused(tmp_path, own, schema, ParameterError, message, data=mixed_rows(50))


RICH = Budget.pure(1000)
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


SAVED_FLAGS, SAVED_ROWS = frame_of_flags(latent_rows(np.random.default_rng(1), 400, 4)), mixed_rows(300)


def halves(points):
    """Return the nearest points of the cube of half the side."""
    return np.clip(points, -0.5, 0.5)


@pytest.mark.parametrize(
    "mechanism", [Microaggregation(directions=2), Microaggregation(numbers="means", calibrate=False), PAPER], ids=str
)
def test_an_interrupted_release_is_taken_up_after_any_answer_with_the_same_result(tmp_path, mechanism):
    whole, data = tmp_path / "whole.jsonl", SAVED_ROWS
    release = lw.synthesize(
        data, MIXED, epsilon=50, mechanism=mechanism, neighbours="replace-one", misfits=1, transcript=whole, seed=3
    )
    lines = whole.read_text().splitlines(keepends=True)

    for kept in range(1, len(lines) + 1):
        path = tmp_path / f"{kept}.jsonl"
        path.write_text(cut_after(whole, kept - 1))
        again = lw.resume(path, data)
        known = [each.to_dict() for each in release.noisy]
        assert [each.to_dict() for each in again.noisy][: kept - 1] == known[: kept - 1]
    assert again.sample(40, seed=1).equals(release.sample(40, seed=1))
    assert again.model.weights.tolist() == release.model.weights.tolist()


def test_a_release_in_a_set_of_one_s_own_cannot_be_taken_up_again(tmp_path):
    path = tmp_path / "t.jsonl"
    lw.synthesize(SAVED_FLAGS, flags(4), epsilon=1, mechanism=Microaggregation(convex_set=halves), transcript=path)

    with pytest.raises(ParameterError, match=r"^convex_set must be box.*, got 'callable halves'; .* cannot be resumed"):
        lw.resume(path, SAVED_FLAGS)


DATA = mixed_rows(3000)
POOLED_FLAG = {"name": "f0", "type": "boolean", "constraints": {"required": True}}
SCHEMA = Schema.from_dict({"fields": [POOLED_FLAG, WIDE, KIND]})


@pytest.mark.parametrize("coding", ["centred", "unit"])
def test_raking_reaches_any_mean_and_stays_in_the_box(coding):
    coordinates = row_coordinates(SCHEMA, "intervals", 4, coding=coding)
    rng, project = np.random.default_rng(1), projector(coordinates)
    means = project(rng.normal(0.2, 0.6, (40, coordinates.size)))
    weights = rng.dirichlet(np.ones(40))
    aim = project(rng.normal(0.2, 0.6, (1, coordinates.size)))[0]

    found = rake_means(means, weights, aim, coordinates)

    assert weighted_mean(found, weights) == pytest.approx(aim, abs=2e-3)
    assert np.abs(project(found) - found).max() < 1e-12


def test_finer_tables_say_what_they_add_up_to_and_of_other_columns_nothing():
    _, answers = run(Microaggregation(intervals=4, directions=1), DATA, SCHEMA, bits=ZeroNoiseBits())
    detail, rows, sums = answers[:3]
    coordinates = sums.question.coordinates

    found = totals_of_details(coordinates, [detail])

    is_wide = coordinates.owners == 1
    assert found.sums[is_wide].tolist() == sums.values[0][is_wide].tolist()
    assert found.rows == rows.values[0] == 3000
    assert np.isfinite(found.sums_sd[is_wide]).all()
    assert np.isinf(found.sums_sd[~is_wide]).all()
    assert found.sums_sd[is_wide].max() > found.sums_sd[is_wide].min()  # listed codes are single counts


def test_one_row_among_two_to_the_31_moves_a_mean_by_no_more_than_the_sensitivity():
    coordinates = coordinates_of(("line of 5",), coding="unit", bits=12)
    question = sums_asked(coordinates, summed="damped means", damping=1000)
    rows = 2**31

    means = [
        damped_means(np.array([[ones * coordinates.unit]]), np.array([rows]), damping=1000, unit=2**12, bits=MEAN_BITS)
        for ones in (rows - 1, rows)
    ]

    assert abs(int(means[1][0, 0] - means[0][0, 0])) <= question.sensitivity("replace-one", 1).l1


# One, and four numbers of which all but the first may move in both of the cells that a row leaves and enters.
SHAPES = {"one number": 1, "four numbers": 4}


@pytest.mark.parametrize("max_rows", [1, 2])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("damping", [1, 2**22, 2**31])
@pytest.mark.parametrize("numbers", SHAPES.values(), ids=SHAPES)
def test_the_worst_neighbours_of_tiny_cells_are_within_the_sensitivity(numbers, damping, relation, max_rows):
    coordinates = coordinates_of(("line",) * numbers)
    cells = cut_cells(np.eye(numbers, 1, dtype=np.int64), [0])
    question = sums_asked(coordinates, cells, "damped means", damping=damping)
    rows = [tuple(row) for row in all_rows(coordinates).tolist() if max(row) < 2]  # all of them fit
    units = [unit for size in range(max_rows + 1) for unit in combinations_with_replacement(rows, size)]
    known = {}

    def means(table):
        if table not in known:
            known[table] = exact(question, Rows(coordinates, table)).reshape(-1)
        return known[table]

    bound = question.sensitivity(relation, max_rows)
    for rest in [(), *((row,) for row in rows)]:
        found = np.array([means(tuple(sorted(rest + unit))) for unit in units])
        before = found[:1] if relation == "add-remove" else found
        moved = np.abs(before[:, None] - found[None])
        assert moved.sum(axis=2).max() <= bound.l1
        assert (moved**2).sum(axis=2).max() <= bound.l2_squared


def moment(points, weights, degree):
    """Return the weighted d-th moment, entry by entry."""
    columns = range(points.shape[1])
    entries = [
        sum(w * math.prod(y[i] for i in index) for w, y in zip(weights, points, strict=True))
        for index in itertools.product(columns, repeat=degree)
    ]
    return np.array(entries)


def small_case(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(12, 3)), rng.integers(5, 9, 12)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_the_distance_of_moments_is_that_of_all_entries(degree: int) -> None:
    rng = np.random.default_rng(degree)
    x, labels = small_case(degree)
    points, weights = rng.normal(size=(4, 3)), rng.random(4)

    found = moment_distance(x, points, weights, degree)

    wanted = moment(x, np.full(12, 1 / 12), degree) - moment(points, weights, degree)
    assert found == pytest.approx(np.linalg.norm(wanted))
    # Columns of zeros change no entry, and take the other path where the tensor is too large to write out.
    wide = np.pad(x, ((0, 0), (20, 30)))
    assert moment_loss(wide, labels, degree) == pytest.approx(moment_loss(x, labels, degree), rel=1e-6, abs=1e-15)


def test_rows_without_columns_and_blocks_of_one_row_lose_nothing() -> None:
    x, _ = small_case(0)

    assert covariance_loss(np.zeros((3, 0)), np.zeros(3, dtype=int)) == 0
    assert covariance_loss(x, np.arange(12)) == 0


def test_separated_rows_lie_in_the_ball_and_far_from_each_other() -> None:
    x = separated_rows(20, 70, np.random.default_rng(0))

    apart = np.linalg.norm(x[:, None] - x, axis=2)[~np.eye(40, dtype=bool)]
    assert apart.min() > 0.5
    assert np.linalg.norm(x, axis=1).max() <= 1
