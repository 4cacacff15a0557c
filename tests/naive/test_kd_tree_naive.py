"""KDTree against Algorithms 2 and 3 of the paper, and against the rule of PrivTree, by recursion over boxes and points.

The tree starts at the root, so that every cell that exists decides; both versions take the noise from the same words,
level by level. Corrected as the specification says: a cell stops at edges <= s2, and the noise is that of the levels
that decide.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import SeededBits
from helpers.boxes import atoms, centre, fitted_boxes, halves, inside, longest_edge, whole_box
from helpers.cases import spread
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.mechanisms.shared.trees.cell_levels import epsilon_of
from lapwing.mechanisms.trees.kd_tree.mechanism import KDTree
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import evenly

ROWS = 80


def points_of(seed, d, rows=ROWS):
    rng = np.random.default_rng(seed)
    return np.clip(np.where(rng.random((rows, 1)) < 0.6, rng.normal(0.3, 0.03, (rows, d)), rng.random((rows, d))), 0, 1)


def levels_below(edge, d, fine):
    """Return how many cuts in turn bring all edges of a cube down to `fine`: h' - h."""
    return d * max(0, math.ceil(math.log2(edge / fine)))


def is_split(variant, count, decided, noise, *, tau, scale):
    """Return one decision, from the words of the specification."""
    if variant == "paper":
        return count + noise > tau
    step = math.ceil(float(scale) * math.log(2))
    return max(tau - step, count - step * decided) + noise > tau


def adaptive_binning(points, d, fine, variant, tau, scale, bits):
    """Return the leaves of the tree with their exact counts, level by level."""
    waiting, leaves, depth = [(whole_box(d), points.tolist())], [], 0
    while waiting:
        if longest_edge(waiting[0][0]) <= fine:
            return leaves + [(box, len(rows)) for box, rows in waiting]
        noise = discrete_laplace(scale, len(waiting), bits).tolist()
        below = []
        for (box, rows), more in zip(waiting, noise, strict=True):
            if not is_split(variant, len(rows), depth, more, tau=tau, scale=scale):
                leaves.append((box, len(rows)))
                continue
            below += [(half, [row for row in rows if inside(row, half)]) for half in halves(box, depth % d)]
        waiting, depth = below, depth + 1
    return leaves


CASES = [
    ("paper", 1, 1 / 16, 6, Budget.pure(4)),
    ("paper", 2, 0.125, 20.7, Budget.pure(2)),
    ("paper", 2, 0.1, 5, Budget.zcdp(2)),
    ("paper", 3, 0.25, -3, Budget.pure(6)),
    ("default", 1, 2**-7, 4, Budget.pure(2)),
    ("default", 2, 2**-6, 0, Budget.pure(2)),
    ("default", 2, 0.03, 9.2, Budget.zcdp("0.5")),
    ("default", 3, 0.125, 2, Budget.pure(3)),
]


@spread(
    (("variant", "d", "fine", "tau", "budget"), CASES),
    ("relation", ["add-remove", "replace-one"]),
    ("placement", [None, "centre"]),
)
def test_leaves_and_weights_are_those_of_recursion(variant, d, fine, tau, budget, relation, placement):
    points, share = points_of(d, d), Fraction(2, 5)
    mechanism = KDTree(
        variant=variant,
        coarse=1.0,
        fine=fine,
        tau=tau,
        threshold=3,
        split_share=0.4,
        placement=placement,
    )

    model, answers = run(
        mechanism, frame_of(points), unit_columns(d), budget=budget, relation=relation, bits=SeededBits(5)
    )

    bits, touched = SeededBits(5), 2 if relation == "replace-one" else 1
    paths = levels_below(1.0, d, fine) if variant == "paper" else 3
    if budget.notion == "zcdp":
        paths = paths // 2 + 1  # half of the span of the losses
    leaves = adaptive_binning(
        points, d, fine, variant, math.floor(tau), paths * touched / epsilon_of(budget * share), bits
    )
    epsilon = epsilon_of(budget * (1 - share))
    if variant == "default" and budget.notion == "zcdp":
        noise = discrete_gaussian(touched / epsilon**2, len(leaves), bits).tolist()
    else:
        noise = discrete_laplace(touched / epsilon, len(leaves), bits).tolist()
    noisy = {box: count + more for (box, count), more in zip(leaves, noise, strict=True)}
    kept = {box: count for box, count in noisy.items() if count >= 3}
    expected = noisy if variant == "default" else kept
    total = ROWS if relation == "replace-one" else max(0, sum(expected.values()))
    if variant == "default":
        expected = fitted_boxes(whole_box(d), noisy, lambda box, depth: halves(box, depth % d), total, 3)
    assert len(leaves) > 4
    assert len(answers) == 2
    assert atoms(model, d) == pytest.approx(
        {
            centre(box) if placement == "centre" or variant == "paper" else box: weight
            for box, weight in expected.items()
        }
    )
    assert model.rows == total


@pytest.mark.parametrize("variant", ["default", "paper"])
@pytest.mark.parametrize(("d", "coarse", "fine"), [(1, 0.25, 1 / 64), (2, 0.5, 1 / 16), (2, 0.3, 0.1), (3, 0.5, 0.25)])
def test_without_noise_the_tree_and_its_counts_are_exact_below_any_free_levels(variant, d, coarse, fine):
    points = points_of(d + 10, d)
    mechanism = KDTree(variant=variant, coarse=coarse, fine=fine, tau=5, threshold=1, placement="uniform")

    model, _ = run(mechanism, frame_of(points), unit_columns(d), budget=Budget.pure(10**6))

    expected, waiting = {}, [(whole_box(d), points.tolist(), 0, 0)]
    while waiting:
        box, rows, depth, decided = waiting.pop()
        if longest_edge(box) > coarse:
            waiting += [
                (half, [row for row in rows if inside(row, half)], depth + 1, 0) for half in halves(box, depth % d)
            ]
        elif longest_edge(box) > fine and is_split(variant, len(rows), decided, 0, tau=5, scale=Fraction(1, 10**5)):
            waiting += [
                (half, [row for row in rows if inside(row, half)], depth + 1, decided + 1)
                for half in halves(box, depth % d)
            ]
        elif rows:
            expected[box] = len(rows)
    assert atoms(model, d) == pytest.approx(expected)
    assert model.rows == ROWS


@pytest.mark.parametrize("fine", [0.25, 2**-5])
def test_released_rows_lie_in_the_leaves_in_proportion(fine):
    points, schema = points_of(3, 1), unit_columns(1)

    model, _ = run(KDTree(coarse=1.0, fine=fine), frame_of(points), schema, bits=SeededBits(2))

    cells = marginal(model, ["x0"], [evenly(schema.columns[0].domain, 2**10)])[: 2**10]
    scaled = cells * model.weights.sum() / model.rows
    for ((low, high),), weight in atoms(model, 1).items():
        part = scaled[round(low * 2**10) : round(high * 2**10)]
        assert part == pytest.approx(np.full(part.size, weight / part.size))
