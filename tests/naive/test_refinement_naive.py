"""Finer and finer cells against slow twins: one dense least squares, and trees that look at every cell by itself."""

import itertools
import math

import numpy as np
import pytest

from helpers.cases import spread
from lapwing.numerics.refinement import (
    EMPTY_DEVIATIONS,
    EVEN_DEVIATIONS,
    FAR_DEVIATIONS,
    NEAR_SPREADS,
    SPLITS,
    Counted,
    least_squares_counts,
    settled_masses,
)


def staged(seed, *, cells=40, stages=3):
    """Return stages of nested cells, their counts and different noise."""
    rng = np.random.default_rng(seed)
    codes = int(rng.integers(cells, 50 * cells))
    starts, found = np.zeros(1, dtype=np.int64), []
    for part in range(1, stages + 1):
        starts = np.unique(np.concatenate((starts, rng.integers(0, codes, cells * part // stages))))
        found.append(starts)
    truth = rng.dirichlet(np.full(starts.size, 0.2)) * 5000
    return [
        Counted(each, members(each, starts) @ truth + rng.normal(0, sd, each.size), sd)
        for each, sd in zip(found, rng.uniform(1, 60, stages), strict=True)
    ], codes


def members(above, finest):
    """Return a matrix that says which of the finest cells lie in which of the coarser ones."""
    rows = [[start <= cell < stop for cell in finest.tolist()] for start, stop in ends(above)]
    return np.array(rows, dtype=np.float64)


def ends(starts):
    return list(itertools.pairwise([*starts.tolist(), math.inf]))


def naive_least_squares(stages):
    """Solve the whole system at once: every count is a sum of finest cells, weighted by its precision."""
    finest = stages[-1].starts
    system = np.concatenate([members(stage.starts, finest) / stage.sd for stage in stages])
    counts = np.concatenate([stage.counts / stage.sd for stage in stages])
    return np.linalg.lstsq(system, counts, rcond=None)[0]


@spread(("seed", range(12)), ("stages", [1, 2, 3, 5]))
def test_least_squares_is_that_of_the_whole_system(seed, stages) -> None:
    made, _ = staged(seed, stages=stages)

    np.testing.assert_allclose(least_squares_counts(made), naive_least_squares(made), rtol=1e-7, atol=1e-6)


def test_the_whole_system_notices_a_wrong_weight() -> None:
    made, _ = staged(3)
    wrong = [Counted(made[0].starts, made[0].counts, made[0].sd * 1.2), *made[1:]]

    assert np.abs(least_squares_counts(wrong) - naive_least_squares(made)).max() > 0.01


def naive_masses(stages, codes, total):
    """Return the mean over all trees, each walked by recursion, with what is far told by a first pass."""
    sure = naive_pass(stages, codes, total, [4.0] * (stages[-1].starts.size + 1))
    return naive_pass(stages, codes, total, naive_empty(sure, [*stages[-1].starts.tolist(), codes]))


def naive_pass(stages, codes, total, empty):
    """Return the mean over all trees of one pass."""
    estimates = naive_least_squares(stages).tolist()
    whole = (0, len(estimates))
    trees = [naive_tree(stages, codes, estimates, number, whole, total, 0, empty) for number in range(len(SPLITS))]
    return np.mean(trees, axis=0)


def naive_empty(masses, edges):
    """Return what counts as empty for a half that ends at each edge: more by the distance in standard deviations."""
    cells = list(zip(edges[:-1], edges[1:], masses.tolist(), strict=True))
    total = sum(mass for _, _, mass in cells)
    mean = sum(mass * (start + stop) / 2 for start, stop, mass in cells) / total
    # The second moment of a uniform law from start to stop about the mean.
    second = [((stop - mean) ** 3 - (start - mean) ** 3) / (3 * (stop - start)) for start, stop, _ in cells]
    spread = math.sqrt(sum(mass * each for (_, _, mass), each in zip(cells, second, strict=True)) / total)
    near = NEAR_SPREADS * max(spread, 1.0)
    return [EMPTY_DEVIATIONS + FAR_DEVIATIONS * math.log2(max(abs(edge - mean) / near, 1.0)) for edge in edges]


def naive_tree(stages, codes, estimates, number, part, mass, depth, empty):
    """Return the masses of the cells of one part, which has this mass, in one tree."""
    first, last = part
    if last - first == 1:
        return [mass]
    share = SPLITS[number] if depth % 2 else SPLITS[(len(SPLITS) - number) % len(SPLITS)]
    middle = first + min(max(1, round(share * (last - first))), last - first - 1)
    left, right = sum(estimates[first:middle]), sum(estimates[middle:last])
    noise = [naive_noise(stages, codes, *half) for half in ((first, middle), (middle, last))]
    given = naive_share(stages, codes, (first, middle, last), mass, (left, right), noise, (empty[first], empty[last]))
    return [
        *naive_tree(stages, codes, estimates, number, (first, middle), given, depth + 1, empty),
        *naive_tree(stages, codes, estimates, number, (middle, last), mass - given, depth + 1, empty),
    ]


def naive_share(stages, codes, places, mass, estimates, noise, empty):
    """Return the mass of the left half."""
    edges = [*stages[-1].starts.tolist(), codes]
    start, cut, stop = (edges[place] for place in places)
    even = mass * (cut - start) / (stop - start)
    nearest = min(max(0.0, (mass + estimates[0] - estimates[1]) / 2), mass)
    both = math.sqrt(noise[0] ** 2 + noise[1] ** 2)
    if 2 * abs(nearest - even) < EVEN_DEVIATIONS * both:
        return even
    lesser = estimates.index(min(estimates))
    if mass > min(empty) * both and estimates[lesser] < empty[lesser] * noise[lesser]:
        return 0.0 if lesser == 0 else mass
    return nearest


def naive_noise(stages, codes, first, last):
    """Return the noise in some finest cells: each stage's cells that touch them are added, their precisions summed."""
    edges = [*stages[-1].starts.tolist(), codes]
    precision = 0.0
    for stage in stages:
        touching = [1 for start, stop in ends(stage.starts) if start < edges[last] and stop > edges[first]]
        precision += 1 / (len(touching) * stage.sd**2)
    return precision**-0.5


@spread(("seed", range(10)), ("stages", [1, 2, 3]), ("total", [200.0, 5000.0]))
def test_masses_are_those_of_trees_walked_cell_by_cell(seed, stages, total) -> None:
    made, codes = staged(seed, stages=stages)

    np.testing.assert_allclose(settled_masses(made, codes, total), naive_masses(made, codes, total), atol=1e-6)


@pytest.mark.parametrize("number", [0, 5])
def test_the_slow_trees_notice_a_tree_that_is_left_out(number) -> None:
    made, codes = staged(4)
    whole = naive_masses(made, codes, 5000.0)
    empty = naive_empty(naive_pass(made, codes, 5000.0, [4.0] * (made[-1].starts.size + 1)), [*made[-1].starts, codes])

    estimates = naive_least_squares(made).tolist()
    alone = naive_tree(made, codes, estimates, number, (0, len(estimates)), 5000.0, 0, empty)

    less = (whole * len(SPLITS) - np.array(alone)) / (len(SPLITS) - 1)
    assert np.abs(less - settled_masses(made, codes, 5000.0)).max() > 1
