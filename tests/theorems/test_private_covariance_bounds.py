"""Sections 4.2, 4.3 and 5 of "Covariance's Loss is Privacy's Gain": noise, draws and rounding, each shown able to fail.

A bound is able to fail if a release is given that breaks a third of it.
"""

import itertools
import math

import numpy as np
import pytest

from helpers.moment_losses import moment_distance, moment_loss
from lapwing.anonymous.covariance_loss import block_means
from lapwing.errors import ParameterError
from lapwing.maths.lattice_net import NetChoice, lattice_points, lattice_ranks, nearest_lattice_points, private_net
from lapwing.theorems.covariance_loss import (
    ReleaseNoise,
    centred_marginal_error,
    lemma_2_1,
    lemma_4_3,
    marginal_error,
    net_loss,
    noise_of_sums,
    theorem_3_10,
    theorem_5_5,
    theorem_5_8,
    theorem_5_9,
)

UNIT = 2**40
RUNS = 60


def in_the_ball(y):
    return y / np.maximum(1, np.linalg.norm(y, axis=-1, keepdims=True))


def rows_of_the_ball(rng, rows, columns):
    return in_the_ball(rng.normal(size=(rows, columns)) * rng.random(columns))


def root_mean_square(values):
    return math.sqrt(np.mean(np.square(values)))


def cells_of_noisy_eigenvectors(x, noise, choice):
    """Return the net cell of each row, numbered over the whole net, and how many cells there are."""
    leading = np.linalg.eigh(x.T @ x / len(x) + noise)[1][:, ::-1][:, : choice.dimensions]
    net = lattice_points(choice.dimensions, choice.budget(UNIT), 10**5)
    z = np.rint(x @ leading * UNIT).astype(np.int64)
    return lattice_ranks(nearest_lattice_points(z, choice.spacing(UNIT), choice.budget(UNIT)), net), len(net)


def mirrored(upper):
    return np.triu(upper) + np.triu(upper, 1).T


def sums_of_cells(x, labels, cells):
    counts = np.bincount(labels, minlength=cells)
    return counts, np.column_stack([np.bincount(labels, column, minlength=cells) for column in x.T])


def clipped(weights):
    positive = np.maximum(weights, 0)
    return positive / positive.sum()


# ------------------------------------------------------------------------------------------------ Theorems 5.1 and 5.2


@pytest.mark.parametrize("scale", [0.0, 0.003, 0.03])
@pytest.mark.parametrize("degree", [2, 3])
def test_theorem_5_1_holds_with_any_noise_on_the_second_moment(scale: float, degree: int) -> None:
    rng = np.random.default_rng(degree)
    x, choice = rows_of_the_ball(rng, 2000, 5), NetChoice(3, 0.6)

    for _ in range(10):
        noise = mirrored(rng.laplace(0, 1, (5, 5)) * scale)
        labels, _ = cells_of_noisy_eigenvectors(x, noise, choice)

        bound = theorem_3_10(net_loss(choice, 5, float(np.linalg.norm(noise))), degree)
        assert moment_loss(x, labels, degree) <= bound


def test_a_third_of_the_noise_of_lemma_5_2_fails() -> None:
    # The noise lets the second axis lead, though the first has more of the rows.
    second_moment, noise = np.diag([0.55, 0.45]), np.diag([-0.0501, 0.0501])
    leading = np.linalg.eigh(second_moment + noise)[1][:, ::-1][:, :1]
    rest = np.eye(2) - leading @ leading.T

    more = np.linalg.norm(rest @ second_moment @ rest) - 0.5

    choice = NetChoice(1, 0.1)
    bound = net_loss(choice, 2, float(np.linalg.norm(noise))) - net_loss(choice, 2)
    assert bound / 3 < more <= bound


def test_a_net_of_all_eigenvectors_does_not_mind_noise() -> None:
    assert net_loss(NetChoice(3, 0.5), 3, 7.0) == 0.25
    assert net_loss(NetChoice(2, 0.5), 3, 7.0) == 1
    assert net_loss(NetChoice(0, 1.0), 3) == 1
    assert net_loss(NetChoice(0, 1.0), 0) == 0


# ------------------------------------------------------------------------------------------------ Theorems 5.5 and 5.9


def damped_release(x, choice, noise, level):
    """Return the paper's weights and means; ``noise`` draws Laplace variables of (second moment, weights, means)."""
    labels, cells = cells_of_noisy_eigenvectors(x, mirrored(noise(0, (x.shape[1], x.shape[1]))), choice)
    counts, sums = sums_of_cells(x, labels, cells)
    weights = clipped(counts / len(x) + noise(1, cells))
    means = in_the_ball(sums / np.maximum(counts, level)[:, None] + noise(2, sums.shape))
    return weights, means


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("scales", [(0.01, 0.001, 0.02), (0.0, 0.0, 0.0), (0.1, 0.02, 0.2)])
def test_theorem_5_5_holds_for_damped_noisy_means(scales, degree: int) -> None:
    rng = np.random.default_rng(degree)
    x, choice, level = rows_of_the_ball(rng, 2000, 4), NetChoice(2, 0.4), 30

    errors = [
        moment_distance(
            x, *damped_release(x, choice, lambda i, shape: rng.laplace(0, 1, shape) * scales[i], level)[::-1], degree
        )
        for _ in range(RUNS)
    ]

    cells = len(lattice_points(2, choice.budget(UNIT), 10**5))
    noise = ReleaseNoise(
        second_moment=math.sqrt(2) * 4 * scales[0],
        weights=math.sqrt(cells * (cells + 1)) * scales[1],
        means=math.sqrt(2 * 4) * scales[2],
        damping=cells * level / 2000,
    )
    assert root_mean_square(errors) <= theorem_5_5(choice, noise, 4, degree)


def quiet(**sizes):
    return ReleaseNoise(**({"second_moment": 0.0, "weights": 0.0, "means": 0.0, "damping": 0.0} | sizes))


def test_each_term_of_theorem_5_5_is_attained_or_half_attained() -> None:
    # Degree 1 has no covariance term; each release has one kind of error.
    choice, x, even = NetChoice(1, 0.5), np.array([[1.0], [-1.0]]), np.array([0.5, 0.5])

    moved = moment_distance(x, x - [[0.2], [0.0]], even, 1)
    moved_cubes = moment_distance(np.ones((1, 1)), np.full((1, 1), 0.999), np.ones(1), 3)
    weighed = moment_distance(x, x, np.array([0.6, 0.4]), 1)
    # One row in a cell whose level is 2: s * b / n = 1 * 2 / 2.
    damped = moment_distance(x, x * [[0.5], [1.0]], even, 1)

    assert moved == pytest.approx(theorem_5_5(choice, quiet(means=0.5 * 0.2), 1, 1))
    assert weighed == pytest.approx(theorem_5_5(choice, quiet(weights=0.2), 1, 1) / 2)
    assert moved_cubes == pytest.approx(theorem_5_5(NetChoice(1, 1e-9), quiet(means=0.001), 1, 3), rel=2e-3)
    assert damped == pytest.approx(theorem_5_5(choice, quiet(damping=1.0), 1, 1))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_theorem_5_5_is_cut_off_at_what_any_two_laws_have(degree: int) -> None:
    loud = ReleaseNoise(second_moment=9.0, weights=9.0, means=9.0, damping=9.0)

    assert theorem_5_5(NetChoice(1, 0.5), loud, 3, degree) == (2 if degree % 2 else math.sqrt(2))


def test_the_paper_s_noise_has_the_sizes_that_its_draws_have() -> None:
    rng = np.random.default_rng(0)
    n, p, epsilon = 10**5, 6, 0.7
    choice = private_net(n, p)
    level = math.sqrt(p * math.sqrt(n) / epsilon)
    cells = math.floor(((1 / choice.alpha + 0.5) * math.sqrt(2 * math.e * math.pi)) ** choice.dimensions)

    found = theorem_5_8(n, p, epsilon)

    second = [np.linalg.norm(mirrored(rng.laplace(0, 6 * p / (n * epsilon), (p, p)))) for _ in range(5000)]
    weights = np.abs(rng.laplace(0, 6 / (n * epsilon), (5000, cells))).sum(axis=1)
    means = np.linalg.norm(rng.laplace(0, 12 * math.sqrt(p) / (level * epsilon), (5000, p)), axis=1)
    # 5000 draws give the root of a mean square of Laplace variables within 3 %.
    assert found.second_moment == pytest.approx(root_mean_square(second), rel=0.03)
    assert found.weights == pytest.approx(root_mean_square(weights), rel=0.03)
    assert found.means == pytest.approx(root_mean_square(means), rel=0.03)
    assert found.damping == pytest.approx(cells * level / n)


@pytest.mark.parametrize("degree", [1, 2])
def test_theorem_5_9_falls_with_more_rows_and_more_budget(degree: int) -> None:
    bounds = [theorem_5_9(rows, 8, epsilon, degree) for epsilon in (0.5, 5.0) for rows in (10**9, 10**12, 10**15)]

    assert bounds[:3] == sorted(bounds[:3], reverse=True)
    assert all(more < less for less, more in zip(bounds[:3], bounds[3:], strict=True))
    assert theorem_5_9(2, 8, 1.0, 2) == math.sqrt(2)


# ----------------------------------------------------------------------------------------------- noisy sums by counts


@pytest.mark.parametrize("level", [5, 30, 200])
def test_the_noise_of_sums_covers_small_and_large_cells(level: int) -> None:
    rng = np.random.default_rng(level)
    counts = np.array([0, 1, 3, 20, 40, 100, 836])
    directions = in_the_ball(rng.normal(size=(7, 5)) * 9)
    costs = []

    for _ in range(2000):
        eta, nu = rng.normal(0, 4, 7), rng.normal(0, 6 / math.sqrt(5), (7, 5))
        means = in_the_ball((counts[:, None] * directions + nu) / np.maximum(counts + eta, level)[:, None])
        costs.append((counts / 1000 * np.linalg.norm(means - directions, axis=1)).sum())

    found = noise_of_sums(
        n=1000,
        s=7,
        b=level,
        second_moment=0.1,
        count_noise=4,
        count_noise_squared=math.sqrt(3) * 16,
        sum_noise=6,
    )
    assert root_mean_square(costs) <= found.means + found.damping / 4
    assert found.second_moment == 0.1
    assert found.weights == pytest.approx(7 * 4 / 1000)


def test_a_third_of_the_noise_of_sums_fails() -> None:
    rng = np.random.default_rng(0)
    nu = rng.normal(0, 6 / math.sqrt(50), (2000, 10, 50))
    cost = np.linalg.norm(nu / 100, axis=2).mean(axis=1)

    found = noise_of_sums(n=1000, s=10, b=1, second_moment=0, count_noise=0, count_noise_squared=0, sum_noise=6)

    assert root_mean_square(cost) > (found.means + found.damping / 4) / 3
    assert root_mean_square(cost) <= found.means + found.damping / 4


# ------------------------------------------------------------------------------------------ draws, rounding, marginals


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_lemma_4_3_and_theorems_4_4_and_5_10_for_drawn_rows(degree: int) -> None:
    rng = np.random.default_rng(degree)
    x, points = rows_of_the_ball(rng, 50, 4), np.eye(4)
    weights = np.full(4, 0.25)

    errors = [moment_distance(x, points[rng.integers(0, 4, 20)], np.full(20, 1 / 20), degree) for _ in range(500)]

    bound = lemma_4_3(moment_distance(x, points, weights, degree), 20)
    assert bound / 3 < root_mean_square(errors) <= bound


def squared_marginal_errors(x, shares, degree):
    """Return the squared error of each d-way marginal, where ``shares`` gives a column set's share."""
    sets = itertools.combinations(range(x.shape[1]), degree)
    return [(x[:, list(columns)].prod(axis=1).mean() - shares(list(columns))) ** 2 for columns in sets]


def boolean_case(seed):
    rng = np.random.default_rng(seed)
    x = (rng.random((200, 6)) < rng.random(6)) * (rng.random((200, 1)) < 0.8)
    weights, means = block_means(x.astype(float), rng.integers(0, 5, 200))
    return rng, x.astype(float), weights, means


@pytest.mark.parametrize("degree", [1, 2, 3, 6])
@pytest.mark.parametrize("rows", [5, 100])
def test_theorems_4_6_and_5_11_for_rounded_draws(degree: int, rows: int) -> None:
    rng, x, weights, means = boolean_case(degree)

    squares = []
    for _ in range(300):
        drawn = (rng.random((rows, 6)) < means[rng.choice(5, rows, p=weights)]).astype(float)
        squares.append(
            np.mean(squared_marginal_errors(x, lambda columns, z=drawn: z[:, columns].prod(axis=1).mean(), degree))
        )

    moments = moment_distance(x / math.sqrt(6), means / math.sqrt(6), weights, degree)
    assert math.sqrt(np.mean(squares)) <= marginal_error(moments, 6, degree, rows)


def test_a_third_of_theorem_4_6_fails_for_the_draw_and_for_the_moments() -> None:
    half = np.full((1, 3), 0.5)
    x = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    rng = np.random.default_rng(0)

    drawn = [rng.integers(0, 2, (10, 3)).mean(axis=0) for _ in range(2000)]
    biased = np.mean(squared_marginal_errors(x, lambda columns: half[:, columns].prod(axis=1).mean(), 2))

    assert root_mean_square(np.array(drawn) - 0.5) > marginal_error(0.0, 3, 1, 10) / 3
    moments = moment_distance(x / math.sqrt(3), half / math.sqrt(3), np.ones(1), 2)
    assert math.sqrt(biased) > marginal_error(moments, 3, 2, 10**12) / 3


@pytest.mark.parametrize("degree", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", range(3))
def test_the_coding_by_minus_and_plus_1_bounds_the_same_marginals(seed: int, degree: int) -> None:
    _, x, weights, means = boolean_case(seed)

    squares = squared_marginal_errors(x, lambda columns: (weights * means[:, columns].prod(axis=1)).sum(), degree)

    coded, points = (2 * x - 1) / math.sqrt(6), (2 * means - 1) / math.sqrt(6)
    errors = [moment_distance(coded, points, weights, r) for r in range(1, degree + 1)]
    assert math.sqrt(np.mean(squares)) <= centred_marginal_error(errors, 6, 10**12)
    assert centred_marginal_error(errors, 6, 10) > centred_marginal_error(errors, 6, 10**12)


def test_a_third_of_the_centred_bound_fails() -> None:
    x, points = np.ones((1, 4)), np.zeros((1, 4))
    error = moment_distance((2 * x - 1) / 2, (2 * points - 1) / 2, np.ones(1), 1)

    assert error == 2
    # Every column's share is wrong by 1.
    assert centred_marginal_error([error], 4, 10**12) == 1
    assert centred_marginal_error([error / 3], 4, 10**12) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("columns", "degree"), [(4, 2), (10, 5), (30, 3)])
def test_lemma_2_1_bounds_the_share_of_distinct_indices(columns: int, degree: int) -> None:
    tuples = columns**degree / math.perm(columns, degree)

    assert lemma_2_1(columns, degree) == pytest.approx(math.sqrt(tuples))
    assert tuples <= 2**degree


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ParameterError, match="the noise of means must be finite and at least 0, got -1"):
        quiet(means=-1)
    with pytest.raises(ParameterError, match="the noise of weights must be finite and at least 0, got nan"):
        quiet(weights=math.nan)
    with pytest.raises(
        ParameterError, match="at least 1 row, at least 1 column and a finite epsilon above 0, got 10, 3 and 0"
    ):
        theorem_5_8(10, 3, 0)
    with pytest.raises(ParameterError, match="rows and a divisor above 0 and at least 1 cell, got 10, 1 and 0"):
        noise_of_sums(n=10, s=0, b=1, second_moment=0, count_noise=0, count_noise_squared=0, sum_noise=0)
    with pytest.raises(ParameterError, match="m must be at least 1, got 0"):
        lemma_4_3(0.1, 0)
    with pytest.raises(ParameterError, match="between 1 and columns=3 and at least 1 row, got degree 4 and 9 rows"):
        marginal_error(0.1, 3, 4, 9)
    with pytest.raises(ParameterError, match="between 1 and columns=3 and at least 1 row, got degree 0 and 9 rows"):
        centred_marginal_error([], 3, 9)


def test_noise_on_counts_costs_by_itself_by_its_square_and_by_what_it_adds_to_the_sums() -> None:
    noise = noise_of_sums(n=100, s=3, b=2, second_moment=0.5, count_noise=3, count_noise_squared=22, sum_noise=12)

    assert (noise.weights, noise.damping) == (0.09, 0.06)
    assert noise.means == pytest.approx(3 * (3 + 22 / 2 + (1 + 3 / 2) * 12) / 100)
