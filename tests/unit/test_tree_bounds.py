"""Bounds of trees: the theorems' formulas, and the simulated bounds against distances that were really measured."""

import math

import numpy as np
import pytest

from helpers.small_trees import cube_deltas, cube_diameters, cube_splits, summed_upwards
from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.trees.budget import default_shares, optimal_shares, paper_scales, paper_shares
from lapwing.mechanisms.shared.trees.model import fair_rounding
from lapwing.mechanisms.shared.trees.simulation import (
    NoiseTree,
    cell_diameters,
    noise_variance,
    simulate_noise,
    simulated_bound,
    stopped_bound,
    tree_deltas,
)
from lapwing.mechanisms.shared.trees.trees import AxisSplit, tree_least_squares
from lapwing.mechanisms.trees.pmm.consistency import consistent_counts
from lapwing.theorems.pmm import theorem_4_2, theorem_4_3

DEPTH = 6


def line_tree(shares, epsilon=1.0, kind="laplace"):
    """Return the halved interval with Laplace noise of scale 1 / (share ε), or that number as a Gaussian's variance."""
    parameters = tuple(math.inf if share == 0 else 1 / (float(share) * epsilon) for share in shares)
    depth = len(shares) - 1
    return NoiseTree(
        splits=tuple(cube_splits(depth)), diameters=tuple(cube_diameters(depth)), kind=kind, parameters=parameters
    )


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_deltas_of_a_cube_are_those_of_the_specification(dimension: int) -> None:
    sides = [
        [
            np.full(2 ** len(range(axis, level, dimension)), 0.5 ** len(range(axis, level, dimension)))
            for axis in range(dimension)
        ]
        for level in range(8)
    ]

    deltas = tree_deltas(cube_splits(7, dimension), [cell_diameters(lengths) for lengths in sides])

    assert deltas == cube_deltas(7, dimension)


def test_deltas_count_only_cells_that_divide() -> None:
    splits = [AxisSplit(0, np.array([0, 0])), AxisSplit(0, np.array([0, 0, 1]))]

    deltas = tree_deltas(splits, [np.array([1.0]), np.array([0.6, 0.4]), np.array([0.3, 0.3, 0.4])])

    assert deltas == [1.0, 1.0, 0.6]


def test_diameters_are_the_largest_sides_of_cells() -> None:
    sides = [np.array([0.5, 0.2, 0.3]), np.array([0.25, 0.25])]

    diameters = cell_diameters(sides)

    whole = np.broadcast_to(diameters, (3, 2))
    assert [[max(sides[0][i], sides[1][j]) for j in range(2)] for i in range(3)] == whole.tolist()


@pytest.mark.parametrize("root", ["noisy", "exact"])
def test_theorem_4_3_is_theorem_4_2_at_the_optimal_scales(root: str) -> None:
    deltas = cube_deltas(8, 2)

    bound = theorem_4_3(deltas, 0.5, n=1000, resolution=0.1, root=root)

    first = 1 if root == "exact" else 0
    total = math.fsum(math.sqrt(delta) for delta in deltas[first:])
    assert bound == pytest.approx((1 + first) * 2 * math.sqrt(2) / (0.5 * 1000) * total**2 + 0.1)


def test_no_other_scales_of_the_same_cost_have_a_smaller_bound() -> None:
    deltas = cube_deltas(8, 2)
    best = theorem_4_3(deltas, 0.5, n=1000, resolution=0.1)
    rng = np.random.default_rng(1)

    for _ in range(200):
        parts = np.exp(rng.normal(0, 0.2, 9)) / paper_scales(deltas, "pure", 0.5)
        scales = 1 / (0.5 * parts / parts.sum())

        assert theorem_4_2(deltas, scales.tolist(), n=1000, resolution=0.1) > best


def measured_transport(leaf, final, splits):
    """Exact 1-Wasserstein distance between the cells' left ends on the line, both normalised."""
    before, after = np.cumsum(leaf) / leaf.sum(), np.cumsum(final) / final.sum()
    return np.abs(before - after).sum() / len(leaf)


def released(exact, tree, rng):
    noise = [
        None if math.isinf(parameter) else simulate_noise(tree.kind, parameter, counts.shape, rng).astype(np.int64)
        for parameter, counts in zip(tree.parameters, exact, strict=True)
    ]
    noisy = [None if extra is None else counts + extra for counts, extra in zip(exact, noise, strict=True)]
    return fair_rounding(tree_least_squares(noisy, tree.splits, tree.variances), tree.splits, rng)


@pytest.mark.parametrize("rows", [100, 2000])
@pytest.mark.parametrize("shape", ["spread", "one cell"])
def test_measured_distances_keep_to_all_bounds(rows: int, shape: str) -> None:
    rng = np.random.default_rng(7)
    tree = line_tree(default_shares(cube_deltas(DEPTH), 4, "pure"))
    leaf = np.zeros(2**DEPTH, dtype=np.int64)
    if shape == "one cell":
        leaf[20] = rows
    else:
        leaf += rng.multinomial(rows, np.full(2**DEPTH, 2.0**-DEPTH))
    exact = summed_upwards(leaf, tree.splits)

    finals = [released(exact, tree, rng) for _ in range(300)]
    finals = [final for final in finals if final[0].item() > 0]
    distances = np.array([measured_transport(leaf, final[-1], tree.splits) for final in finals])

    bound = stopped_bound(cube_deltas(DEPTH), tree.variances, [1.0] * DEPTH + [0.0], rows=rows)
    sharper = simulated_bound(tree, rows=rows, simulations=2000, rng=rng) - tree.resolution
    # Six standard errors of the mean distance.
    assert distances.mean() <= sharper + 6 * distances.std() / math.sqrt(300)
    assert sharper < bound


def test_the_papers_version_keeps_to_its_theorem() -> None:
    rng = np.random.default_rng(3)
    deltas = cube_deltas(DEPTH)
    tree = line_tree(paper_shares(deltas, "pure"))
    leaf = rng.multinomial(500, np.full(2**DEPTH, 2.0**-DEPTH))
    exact = summed_upwards(leaf, tree.splits)

    distances = []
    for _ in range(100):
        noisy = [
            counts + simulate_noise("laplace", scale, counts.shape, rng).astype(np.int64)
            for counts, scale in zip(exact, tree.parameters, strict=True)
        ]
        distances.append(measured_transport(leaf, consistent_counts(noisy, tree.splits)[-1], tree.splits))

    assert np.mean(distances) < theorem_4_3(deltas, 1.0, n=500, resolution=0.0)


@pytest.mark.parametrize(
    ("kind", "parameter"), [("laplace", 0.4), ("laplace", 7.0), ("gaussian", 0.3), ("gaussian", 40.0)]
)
def test_simulated_noise_has_the_discrete_law(kind: str, parameter: float) -> None:
    draws = simulate_noise(kind, parameter, (200_000,), np.random.default_rng(1))

    support = np.arange(-200, 201)
    weights = np.exp(-np.abs(support) / parameter if kind == "laplace" else -(support**2) / (2 * parameter))
    law = weights / weights.sum()
    observed = np.array([(draws == value).mean() for value in support])
    # Each frequency at 6.5 standard errors.
    assert (np.abs(observed - law) <= 6.5 * np.sqrt(np.maximum(law, 1e-9) / len(draws)) + 1e-5).all()
    true_variance = float((law * support**2).sum())
    assert noise_variance(kind, parameter) >= true_variance * (1 - 1e-9)
    assert kind == "gaussian" or noise_variance(kind, parameter) == pytest.approx(true_variance, rel=1e-9)


def test_chunks_do_not_change_what_is_simulated() -> None:
    tree = line_tree(optimal_shares(cube_deltas(13), "pure"))
    assert tree.nodes * 200 > 2**20

    mean = simulated_bound(tree, rows=1.0, simulations=200, rng=np.random.default_rng(1)) - tree.resolution
    again = simulated_bound(tree, rows=1.0, simulations=200, rng=np.random.default_rng(1)) - tree.resolution

    assert mean == again
    bound = stopped_bound(cube_deltas(13), tree.variances, [1e9] * 13 + [0.0], rows=1.0)
    assert 0.6 * bound < mean < bound


def test_a_bound_needs_a_simulation_and_rows() -> None:
    rng = np.random.default_rng(1)

    with pytest.raises(ParameterError, match="simulations must be"):
        simulated_bound(line_tree([1.0]), rows=1.0, simulations=0, rng=rng)
    with pytest.raises(ParameterError, match="rows must be"):
        simulated_bound(line_tree([1.0]), rows=0.0, simulations=1, rng=rng)
    with pytest.raises(ParameterError, match="rows must be"):
        stopped_bound([1.0], [1.0], [0.0], rows=-1)
    with pytest.raises(ParameterError, match="n must be"):
        theorem_4_2([1.0], [1.0], n=math.nan, resolution=0.0)


def test_a_noise_tree_needs_all_levels() -> None:
    with pytest.raises(ParameterError, match="2 diameters and noise parameters"):
        NoiseTree(splits=tuple(cube_splits(1)), diameters=(np.ones(1),), kind="laplace", parameters=(1.0, 1.0))
