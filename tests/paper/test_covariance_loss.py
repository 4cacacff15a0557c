"""Sections 3 and 4 of "Covariance's Loss is Privacy's Gain": lemmas and theorems on rows, each shown able to fail.

A bound is able to fail if rows are given that break a third of it.
"""

import math

import numpy as np
import pytest

from helpers.cases import spread
from helpers.moment_losses import moment_loss, separated_rows
from lapwing.anonymous.covariance_loss import (
    block_means,
    covariance_loss,
    theorem_partition,
)
from lapwing.errors import ParameterError
from lapwing.maths.lattice_net import NetChoice, anonymous_net, nearest_lattice_points, net_size_bound
from lapwing.theorems.covariance_loss import (
    lemma_3_3,
    net_loss,
    proposition_3_14,
    remark_3_13,
    theorem_1_2,
    theorem_3_10,
    theorem_4_1,
)

UNIT = 2**40


def rows_of_the_ball(rng, rows, columns):
    x = rng.normal(size=(rows, columns)) * rng.random(columns) * 3
    return x / np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True))


def boolean_rows(rng, rows, columns):
    return (rng.random((rows, columns)) < rng.random(columns)) / math.sqrt(columns)


CASES = [
    (maker(np.random.default_rng(seed), 60, 5), np.random.default_rng(seed).integers(0, 8, 60))
    for seed in range(4)
    for maker in (rows_of_the_ball, boolean_rows)
]


def conditional_mean(x, labels):
    return block_means(x, labels)[1][np.unique(labels, return_inverse=True)[1]]


def leading_projection(second_moment, t):
    leading = np.linalg.eigh(second_moment)[1][:, ::-1][:, :t]
    return leading @ leading.T


def net_cells(x, choice):
    """Return the nearest-point partition in the span of the leading eigenvectors, and that span's projection."""
    leading = np.linalg.eigh(x.T @ x)[1][:, ::-1][:, : choice.dimensions]
    z = np.rint(x @ leading * UNIT).astype(np.int64)
    points = nearest_lattice_points(z, choice.spacing(UNIT), choice.budget(UNIT))
    return np.unique(points, axis=0, return_inverse=True)[1].reshape(-1), leading @ leading.T


def cross(axes):
    """Return the 2 * axes vectors of a cross polytope, opposite ones next to each other."""
    return np.repeat(np.eye(axes), 2, axis=0) * np.tile([1.0, -1.0], axes)[:, None]


# ------------------------------------------------------------------------------------------------- Section 3.1 to 3.4


@pytest.mark.parametrize(("x", "labels"), CASES)
def test_law_of_total_covariance(x, labels) -> None:
    y = conditional_mean(x, labels)

    lost = x.T @ x / len(x) - y.T @ y / len(x)

    np.testing.assert_allclose(lost, (x - y).T @ (x - y) / len(x), atol=1e-14)
    np.testing.assert_allclose(lost, np.cov(x.T, bias=True) - np.cov(y.T, bias=True), atol=1e-14)
    assert np.linalg.eigvalsh(lost).min() > -1e-12


def sides_of_lemma_3_2(x, labels, projection):
    y, rest = conditional_mean(x, labels), np.eye(x.shape[1]) - projection
    inside = (((x - y) @ projection) ** 2).sum(axis=1).mean()
    return covariance_loss(x, labels), inside + np.linalg.norm(rest @ (x.T @ x) @ rest) / len(x)


@spread((("x", "labels"), CASES), ("t", [0, 1, 3, 5]))
def test_lemma_3_2_decomposes_the_loss(x, labels, t: int) -> None:
    for projection in (leading_projection(x.T @ x, t), np.diag(np.arange(5) < t).astype(float)):
        loss, bound = sides_of_lemma_3_2(x, labels, projection)

        assert loss <= bound * (1 + 1e-12)


def test_lemma_3_2_is_attained() -> None:
    loss, bound = sides_of_lemma_3_2(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2, dtype=int), np.diag([0.0, 1.0]))

    assert loss == pytest.approx(bound)


@spread((("x", "labels"), CASES), ("t", [0, 1, 2, 5]))
def test_lemma_3_3_with_half_of_its_bound(x, labels, t: int) -> None:
    rest = np.eye(5) - leading_projection(x.T @ x, t)

    outside = np.linalg.norm(rest @ (x.T @ x / len(x)) @ rest)

    assert outside <= lemma_3_3(t, 5) + 1e-12


@pytest.mark.parametrize("t", [1, 2, 5])
def test_half_of_lemma_3_3_is_attained(t: int) -> None:
    second_moment = np.eye(2 * t) / (2 * t)
    rest = np.eye(2 * t) - leading_projection(second_moment, t)

    assert np.linalg.norm(rest @ second_moment @ rest) == pytest.approx(lemma_3_3(t, 2 * t))


@spread(("choice", [NetChoice(1, 0.51), NetChoice(2, 0.5), NetChoice(3, 0.7)]), (("x", "labels"), CASES))
def test_lemma_3_6_in_each_row_and_in_mean_square(x, labels, choice: NetChoice) -> None:
    cells, projection = net_cells(x, choice)

    moved = np.linalg.norm((x - conditional_mean(x, cells)) @ projection, axis=1)

    assert moved.max() <= 2 * choice.alpha
    assert (moved**2).mean() <= choice.alpha**2


def test_a_third_of_lemma_3_6_fails() -> None:
    # Both nearest to alpha, the one from inside, the other at the end of the ball.
    choice = NetChoice(1, 0.501)
    x = np.array([[0.2506]] * 9 + [[1.0]])
    even = np.array([[0.2506], [1.0]])

    cells, even_cells = net_cells(x, choice)[0], net_cells(even, choice)[0]

    assert cells.max() == even_cells.max() == 0
    assert np.abs(x - conditional_mean(x, cells)).max() > 2 * choice.alpha / 3
    assert ((even - conditional_mean(even, even_cells)) ** 2).mean() > choice.alpha**2 / 3


@pytest.mark.parametrize("cells", [1, 10, 50, 200, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_1_2_holds_for_the_net_cells(cells: int, seed: int) -> None:
    x = rows_of_the_ball(np.random.default_rng(seed), 3000, 8)
    choice = anonymous_net(cells, 8)

    labels, _ = net_cells(x, choice)

    assert labels.max() < cells
    assert covariance_loss(x, labels) <= net_loss(choice, 8) == theorem_1_2(cells, 8)


@pytest.mark.parametrize(("cells", "axes"), [(10, 2), (100, 4), (1000, 6)])
def test_a_third_of_theorem_1_2_fails(cells: int, axes: int) -> None:
    # Half of the axes lead, and the cell of what is left holds the rest.
    x = cross(axes)

    labels, _ = net_cells(x, anonymous_net(cells, axes))

    assert covariance_loss(x, labels) > theorem_1_2(cells, axes) / 3


# ------------------------------------------------------------------------------------------------- Section 3.5 to 4.1


@pytest.mark.parametrize(("x", "labels"), CASES)
def test_lemma_3_8_finer_partitions_lose_less(x, labels) -> None:
    finer = 2 * labels + (np.arange(labels.size) % 2)

    assert covariance_loss(x, finer) <= covariance_loss(x, labels)


@spread((("x", "labels"), CASES), ("merged", [2, 4, 8]))
def test_lemma_3_9_merging_costs_at_most_the_share(x, labels, merged: int) -> None:
    coarse = np.where(labels < merged, 0, labels)

    more = covariance_loss(x, coarse) - covariance_loss(x, labels)

    assert -1e-12 <= more <= np.mean(labels < merged)


def test_a_third_of_lemma_3_9_fails() -> None:
    x = np.array([[1.0], [-1.0], [0.0], [0.0]])

    more = covariance_loss(x, np.array([0, 0, 2, 3])) - covariance_loss(x, np.arange(4))

    assert more == pytest.approx(1 / 2)


@spread((("x", "labels"), CASES), ("degree", [1, 2, 3, 4, 6]))
def test_theorem_3_10_with_d_times_d_minus_1_halves(x, labels, degree: int) -> None:
    for blocks in (labels, labels // 3, np.zeros_like(labels)):
        bound = theorem_3_10(covariance_loss(x, blocks), degree)

        assert moment_loss(x, blocks, degree) <= bound + 1e-12


@pytest.mark.parametrize("degree", [2, 3, 4, 6])
def test_the_factor_of_theorem_3_10_is_attained_and_below_the_paper_s(degree: int) -> None:
    x = np.array([[1.0], [0.9999]])
    loss = covariance_loss(x, np.zeros(2, dtype=int))

    lost = moment_loss(x, np.zeros(2, dtype=int), degree)

    bound = theorem_3_10(loss, degree)
    assert lost == pytest.approx(bound, rel=1e-3)
    assert bound <= 2 ** (degree - 2) * (2**degree - degree - 1) * loss <= 4**degree * loss


@spread((("x", "labels"), CASES), ("degree", [1, 2, 3, 4, 6]))
def test_remark_3_13_with_2_to_the_d_minus_2(x, labels, degree: int) -> None:
    for blocks in (labels, labels // 3, np.zeros_like(labels)):
        bound = remark_3_13(covariance_loss(x, blocks), degree)

        assert moment_loss(x - x.mean(axis=0), blocks, degree) <= bound + 1e-12


@pytest.mark.parametrize("degree", [2, 3, 4, 6])
def test_the_factor_of_remark_3_13_is_attained_and_below_the_paper_s(degree: int) -> None:
    x = np.array([[1.0], [0.9999]] + [[-1.0]] * 5000)
    labels = np.minimum(np.arange(len(x)) // 2, 1)
    loss = covariance_loss(x, labels)

    lost = moment_loss(x - x.mean(axis=0), labels, degree)

    bound = remark_3_13(loss, degree)
    assert lost == pytest.approx(bound, rel=1e-2)
    assert bound <= 8**degree * loss


@pytest.mark.parametrize(("degree", "attained"), [(2, 0.7), (3, 0.19), (4, 0.23)])
def test_no_two_laws_have_central_moments_further_apart_than_the_cut(degree: int, attained: float) -> None:
    furthest = 0.0
    for share in np.linspace(0.01, 0.5, 25):
        x = np.array([[1.0]] * round(1000 * share) + [[-1.0]] * (1000 - round(1000 * share)))
        lost = moment_loss(x - x.mean(axis=0), np.zeros(1000, dtype=int), degree)
        furthest = max(furthest, lost)

    cut = remark_3_13(1.0, degree)
    assert attained * cut <= furthest <= cut + 1e-12


@spread(("degree", [2, 3, 4]), ("blocks", [50, 130, 1000, 2000]), ("maker", [rows_of_the_ball, boolean_rows]))
def test_theorem_4_1_holds_whether_or_not_k_divides_n(maker, blocks: int, degree: int) -> None:
    x = maker(np.random.default_rng(blocks), 4000, 6)

    labels = theorem_partition(x, blocks)

    assert moment_loss(x, labels, degree) <= theorem_4_1(blocks, 6, degree)


@pytest.mark.parametrize(("blocks", "axes"), [(1, 1), (100, 2), (10_000, 4)])
def test_a_third_of_theorem_4_1_fails(blocks: int, axes: int) -> None:
    x = np.tile(cross(axes), (blocks, 1))

    labels = theorem_partition(x, blocks)

    assert covariance_loss(x, labels) > theorem_4_1(blocks, axes, 2) / 3


def test_the_share_of_the_pool_is_in_the_bound() -> None:
    choice = anonymous_net(1000, 20)
    share = math.floor(net_size_bound(choice.dimensions, choice.alpha)) / 10**6

    rounding = theorem_4_1(10**6, 20, 2) - theorem_1_2(1000, 20) - share

    assert share < 1000 / 10**6
    assert rounding == pytest.approx(2 * choice.alpha * 2**-22 * math.sqrt(20 * 3), rel=1e-3)
    assert theorem_4_1(5, 3, 2) == 1


# ------------------------------------------------------------------------------------------------------- Section 3.8


def nearest_pairs(x):
    """Return a partition that joins the nearest rows that are left, pair by pair."""
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    labels, left = np.empty(len(x), dtype=int), set(range(len(x)))
    for i, j in sorted(((i, j) for i in left for j in left if i < j), key=lambda pair: distances[pair]):
        if {i, j} <= left:
            labels[[i, j]] = i
            left -= {i, j}
    return labels


@pytest.mark.parametrize("blocks", [1, 5, 40, 150])
def test_proposition_3_14_no_partition_loses_less(blocks: int) -> None:
    rng = np.random.default_rng(blocks)
    x = separated_rows(blocks, 100, rng)

    partitions = [theorem_partition(x, blocks), nearest_pairs(x)]
    partitions += [rng.integers(0, blocks, 2 * blocks) for _ in range(5)]
    # One large block and the others of one row each lose as little as any can in sum.
    partitions += [np.minimum(np.arange(2 * blocks), blocks - 1)]

    losses = [covariance_loss(x, labels) for labels in partitions]
    assert min(losses) > proposition_3_14(blocks)


def test_rows_that_are_not_separated_lose_less_than_proposition_3_14() -> None:
    x = np.repeat(separated_rows(20, 100, np.random.default_rng(0))[:20], 2, axis=0)

    assert covariance_loss(x, np.arange(40) // 2) < proposition_3_14(20)


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ParameterError, match="must be at least 0 and a degree at least 1, got -1 and 2"):
        theorem_3_10(-1, 2)
    with pytest.raises(ParameterError, match="must be at least 0 and a degree at least 1, got 1 and 0"):
        theorem_3_10(1, 0)
    with pytest.raises(ParameterError, match="a partition needs at least 1 block, got 0"):
        theorem_4_1(0, 3, 2)
    with pytest.raises(ParameterError, match="a net's loss needs columns and noise of at least 0, got 3 and -1"):
        net_loss(NetChoice(1, 0.5), 3, -1)
