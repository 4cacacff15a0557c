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


def naive_atoms(stages, codes, total):
    """Return what each cell has beyond both its neighbours, looked at one by one."""
    edges, estimates = [*stages[-1].starts.tolist(), codes], naive_least_squares(stages).tolist()
    sd = math.sqrt(1 / sum(len(estimates) / (stage.starts.size * stage.sd**2) for stage in stages))
    found = []
    for place, own in enumerate(estimates):
        around = 0.0
        for other in (place - 1, place + 1):
            if 0 <= other < len(estimates) and estimates[other] > EMPTY_DEVIATIONS * sd:
                width = edges[other + 1] - edges[other]
                around = max(around, estimates[other] / width * (edges[place + 1] - edges[place]))
        found.append(own - around if own - around > max(4 * sd, around) else 0.0)
    return np.array(found) * min(1.0, total / max(sum(found), 1e-9))


def naive_masses(stages, codes, total):
    """Return the atoms, and the mean over all trees of the rest, with what is far told by a first pass."""
    atoms, edges = naive_atoms(stages, codes, total), [*stages[-1].starts.tolist(), codes]
    estimates, rest = (naive_least_squares(stages) - atoms).tolist(), max(0.0, total - atoms.sum())
    sure = atoms
    if rest > EMPTY_DEVIATIONS * naive_noise(stages, codes, 0, len(edges) - 1) or not atoms.any():
        sure = atoms + naive_pass(stages, codes, estimates, rest, [(4.0, edge, False) for edge in edges])
    return atoms + naive_pass(stages, codes, estimates, rest, naive_ends(sure, edges))


def naive_pass(stages, codes, estimates, total, ends):
    """Return the mean over all trees of one pass."""
    whole = (0, len(estimates))
    trees = [naive_tree(stages, codes, estimates, number, whole, total, 0, ends) for number in range(len(SPLITS))]
    return np.mean(trees, axis=0)


def naive_ends(masses, edges):
    """Return for a half that ends at each edge what counts as empty, its place in the tails, and whether it is far."""
    cells = list(zip(edges[:-1], edges[1:], masses.tolist(), strict=True))
    total = sum(mass for _, _, mass in cells)
    mean = sum(mass * (start + stop) / 2 for start, stop, mass in cells) / total
    # The second moment of a uniform law from start to stop about the mean.
    second = [((stop - mean) ** 3 - (start - mean) ** 3) / (3 * (stop - start)) for start, stop, _ in cells]
    spread = math.sqrt(sum(mass * each for (_, _, mass), each in zip(cells, second, strict=True)) / total)
    near = NEAR_SPREADS * max(spread, 1.0)
    found = []
    for edge in edges:
        away = abs(edge - mean)
        # Beyond near the density is (near / distance)**2; its integral from near on is added.
        place = away if away <= near else near + near**2 * (1 / near - 1 / away)
        empty = EMPTY_DEVIATIONS + FAR_DEVIATIONS * math.log2(max(away / near, 1.0))
        found.append((empty, math.copysign(place, edge - mean), away > near))
    return found


def naive_tree(stages, codes, estimates, number, part, mass, depth, ends):
    """Return the masses of the cells of one part, which has this mass, in one tree."""
    first, last = part
    if last - first == 1:
        return [mass]
    share = SPLITS[number] if depth % 2 else SPLITS[(len(SPLITS) - number) % len(SPLITS)]
    middle = first + min(max(1, round(share * (last - first))), last - first - 1)
    halves = sum(estimates[first:middle]), sum(estimates[middle:last])
    noise = [naive_noise(stages, codes, *half) for half in ((first, middle), (middle, last))]
    given = naive_share([ends[place] for place in (first, middle, last)], mass, halves, noise)
    return [
        *naive_tree(stages, codes, estimates, number, (first, middle), given, depth + 1, ends),
        *naive_tree(stages, codes, estimates, number, (middle, last), mass - given, depth + 1, ends),
    ]


def naive_share(ends, mass, estimates, noise):
    """Return the mass of the left half."""
    (left_empty, start, left_far), (_, cut, _), (right_empty, stop, right_far) = ends
    is_far = left_far or right_far
    even = mass * (cut - start) / (stop - start)
    weights = [1 / each**2 for each in noise]
    # The least squares of left and right that sum to the mass.
    nearest = (weights[0] * estimates[0] + weights[1] * (mass - estimates[1])) / sum(weights)
    nearest = min(max(0.0, nearest), mass)
    both = math.sqrt(noise[0] ** 2 + noise[1] ** 2)
    is_even = 2 * abs(nearest - even) < EVEN_DEVIATIONS * both
    if is_even and not is_far:
        return even
    seen = [each > empty * sd for each, empty, sd in zip(estimates, (left_empty, right_empty), noise, strict=True)]
    if mass > min(left_empty, right_empty) * both:
        if seen == [True, False] and estimates[0] > estimates[1]:
            return mass
        if seen == [False, True] and estimates[1] >= estimates[0]:
            return 0.0
    if is_even or (is_far and seen == [False, False]):
        return even
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
    atoms, edges = naive_atoms(made, codes, 5000.0), [*made[-1].starts.tolist(), codes]
    estimates, rest = (naive_least_squares(made) - atoms).tolist(), max(0.0, 5000.0 - atoms.sum())
    sure = atoms + naive_pass(made, codes, estimates, rest, [(4.0, edge, False) for edge in edges])

    alone = naive_tree(made, codes, estimates, number, (0, len(estimates)), rest, 0, naive_ends(sure, edges))

    less = atoms + ((whole - atoms) * len(SPLITS) - np.array(alone)) / (len(SPLITS) - 1)
    assert np.abs(less - settled_masses(made, codes, 5000.0)).max() > 1
