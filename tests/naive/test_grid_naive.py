"""Grid against Algorithm 1 as the paper prints it: every cell is counted, gets its noise, and is kept or left out.

The slow version draws the noise of cells with rows from the same words; the noise of the empty cells comes from the
exact sampler, whose survivors it counts off one by one.
"""

from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import SeededBits
from helpers.boxes import atoms, centre, fitted_boxes, grid_boxes, halves, inside, whole_box
from helpers.cases import spread
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise.geometric import survivors
from lapwing.kernel.noise.laplace import discrete_laplace, discrete_laplace_at_least
from lapwing.mechanisms.shared.trees.cell_levels import epsilon_of
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid


def points_of(seed, d, rows=60):
    return np.random.default_rng(seed).beta(2, 5, (rows, d))


def counted(points, boxes):
    return {box: sum(inside(point, box) for point in points.tolist()) for box in boxes}


def scale_of(budget, relation):
    """Return the scale of the noise: 1 / epsilon, twice that under replace-one neighbours."""
    return (2 if relation == "replace-one" else 1) / epsilon_of(budget)


def algorithm_1(points, boxes, threshold, scale, bits):
    """Return the kept cells with their noisy counts."""
    counts = counted(points, boxes)
    full, empty = [box for box in boxes if counts[box]], [box for box in boxes if not counts[box]]
    noise = discrete_laplace(scale, len(full), bits).tolist()
    kept = {box: counts[box] + more for box, more in zip(full, noise, strict=True) if counts[box] + more >= threshold}
    chosen = survivors(len(empty), LaplaceTail(scale, threshold), bits).tolist()
    values = discrete_laplace_at_least(threshold, scale, len(chosen), bits).tolist()
    return kept | {empty[rank]: value for rank, value in zip(chosen, values, strict=True)}


@spread(
    ("placement", [None, "uniform"]),
    (("d", "width", "threshold"), [(1, 1.0, 1), (1, 1 / 32, 2), (2, 0.25, 1), (2, 0.125, 4), (3, 0.5, 3)]),
    ("relation", ["add-remove", "replace-one"]),
    ("budget", [Budget.pure(1), Budget.zcdp("0.3")]),
)
def test_kept_cells_and_their_counts_are_those_of_algorithm_1(d, width, threshold, placement, relation, budget):
    points, seed = points_of(d, d), round(100 * width) + threshold
    mechanism = Grid(width=width, threshold=threshold, variant="paper", placement=placement)

    model, _ = run(
        mechanism, frame_of(points), unit_columns(d), budget=budget, relation=relation, bits=SeededBits(seed)
    )

    kept = algorithm_1(points, grid_boxes(d, width), threshold, scale_of(budget, relation), SeededBits(seed))
    expected = {centre(box) if placement is None else box: count for box, count in kept.items()}
    assert len(expected) > 0
    assert atoms(model, d) == expected
    assert model.rows == (60 if relation == "replace-one" else sum(kept.values()))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("d", "width", "threshold"), [(1, 1 / 16, None), (2, 0.125, 3), (2, 0.25, 1), (3, 0.5, None)])
def test_the_fit_is_that_of_all_noisy_counts_node_by_node(d, width, threshold, relation):
    points, budget = points_of(d, d, 100), Budget.pure(Fraction(1, 2))
    mechanism = Grid(width=width, threshold=threshold)

    model, (answer,) = run(
        mechanism,
        frame_of(points),
        unit_columns(d),
        budget=budget,
        relation=relation,
        bits=SeededBits(d),
        expected_rows=100,
    )

    boxes, bits, scale = grid_boxes(d, width), SeededBits(d), scale_of(budget, relation)
    counts = counted(points, boxes)
    full, empty = [box for box in boxes if counts[box]], [box for box in boxes if not counts[box]]
    noise = [*discrete_laplace(scale, len(full), bits), *discrete_laplace(scale, len(empty), bits)]
    noisy = {box: counts[box] + int(more) for box, more in zip(full + empty, noise, strict=True)}
    total = 100 if relation == "replace-one" else max(0, sum(noisy.values()))
    least = threshold or int(scale)
    expected = fitted_boxes(whole_box(d), noisy, lambda box, depth: halves(box, depth % d), total, least)
    assert sorted(answer.counts.tolist()) == sorted(noisy.values())
    assert atoms(model, d) == pytest.approx(expected)
    assert model.rows == total
