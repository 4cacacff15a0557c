"""The law of an ordered column against a slow twin: one least squares, runs and trees looked at one by one."""

import itertools
import math

import numpy as np
import pytest

from helpers.cases import spread
from helpers.refined_counts import fitted_counts
from lapwing.mechanisms.adaptive.one_way import (
    ATOM_DEVIATIONS,
    EMPTY_DEVIATIONS,
    NEXT_DEVIATIONS,
    SPLITS,
    SURE_DEVIATIONS,
    CellCounts,
    denoised_masses,
    finest_starts,
)


def staged(seed, *, cells=24, stages=3):
    """Return stages of cells that need not be nested, their counts and different noise; rows crowd in one part."""
    rng = np.random.default_rng(seed)
    codes = int(rng.integers(cells, 50 * cells))
    found = [
        np.unique(np.append(0, rng.integers(0, codes, int(rng.integers(1, 2 * cells // stages)))))
        for _ in range(stages)
    ]
    finest = np.unique(np.concatenate(found))
    truth = rng.dirichlet(np.full(finest.size, 0.2)) * 5000 * (np.arange(finest.size) < finest.size * 0.7)
    return [
        CellCounts(each, members(each, finest) @ truth + rng.normal(0, sd, each.size), sd)
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
    return np.linalg.lstsq(*naive_system(stages), rcond=None)[0]


def naive_system(stages):
    finest = finest_starts(stages)
    system = np.concatenate([members(stage.starts, finest) / stage.sd for stage in stages])
    return system, np.concatenate([stage.counts / stage.sd for stage in stages])


@spread(("seed", range(12)), ("stages", [1, 2, 3, 5]))
def test_least_squares_is_that_of_the_whole_system(seed, stages) -> None:
    made, _ = staged(seed, stages=stages)

    np.testing.assert_allclose(fitted_counts(made)[0], naive_least_squares(made), rtol=1e-6, atol=1e-6)


def test_the_whole_system_notices_a_wrong_weight() -> None:
    made, _ = staged(4)
    wrong = [CellCounts(made[0].starts, made[0].counts, made[0].sd * 2), *made[1:]]

    assert np.abs(fitted_counts(wrong)[0] - naive_least_squares(made)).max() > 0.01


def naive_masses(stages, codes, total, trees=SPLITS):
    """Return the masses of the finest cells, as the notes of `settled_masses` say."""
    edges = [*finest_starts(stages).tolist(), codes]
    system, counts = naive_system(stages)
    first = naive_settled(system, counts, edges, total, trees, is_supported=False)
    kept = [place for place, mass in enumerate(first) if mass > 0]
    lengths = [0.0]
    for place in kept:
        lengths.append(lengths[-1] + edges[place + 1] - edges[place])
    found = [0.0] * len(first)
    for place, mass in zip(
        kept, naive_settled(system[:, kept], counts, lengths, total, trees, is_supported=True), strict=True
    ):
        found[place] = mass
    return np.array(found)


def naive_settled(system, counts, edges, total, trees, *, is_supported):
    """Return atoms, and trees over the support."""
    estimates = np.linalg.lstsq(system, counts, rcond=None)[0]
    covariance = np.linalg.inv(system.T @ system)
    cells = len(estimates)

    def noise(first, last):
        inside = np.array([float(first <= cell < last) for cell in range(cells)])
        return math.sqrt(inside @ covariance @ inside)

    atoms = naive_atoms(estimates, edges, noise)
    atoms = atoms * min(1.0, total / max(atoms.sum(), 1e-9))
    rest = total - atoms.sum()
    if atoms.any() and rest < EMPTY_DEVIATIONS * noise(0, cells):
        return atoms * total / atoms.sum()
    left = estimates - atoms

    def over(first, last):
        return left[first:last].sum() / noise(first, last)

    first, last = (0, cells) if is_supported else naive_support(over, edges, np.flatnonzero(atoms).tolist())
    found = [naive_tree(left, edges, noise, share, (first, last), rest, 0) for share in naive_shares(trees)]
    others = np.concatenate([np.zeros(first), np.mean(found, axis=0), np.zeros(cells - last)])
    is_sure = [estimates[cell] > ATOM_DEVIATIONS * noise(cell, cell + 1) for cell in range(cells)]
    return atoms + naive_levels(others.tolist(), edges, is_sure)


def naive_levels(masses, edges, is_sure):
    """Share what runs of unsure single codes have; a single one has no more than the density of cells beside it."""
    found, width = list(masses), [round(after - before) for before, after in itertools.pairwise(edges)]
    is_alone = [one == 1 and not sure for one, sure in zip(width, is_sure, strict=True)]
    if max(width) == 1:
        return np.array(found)
    first = 0
    for alone, run in itertools.groupby(is_alone):
        last = first + len(list(run))
        beside = [each for each in (first - 1, last) if 0 <= each < len(masses) and width[each] > 1]
        if alone and last - first > 1:
            found[first:last] = [sum(masses[first:last]) / (last - first)] * (last - first)
        elif alone and beside:
            around, wide = sum(masses[each] for each in beside), sum(width[each] for each in beside)
            more = max(0.0, masses[first] - around / wide)
            found[first] -= more
            for each in beside:
                found[each] += more * (masses[each] / around if around else width[each] / wide)
        first = last
    return np.array(found)


def naive_atoms(estimates, edges, noise):
    """Return what each cell has beyond both its neighbours, looked at one by one."""
    found = []
    for place, own in enumerate(estimates.tolist()):
        around = 0.0
        for other in (place - 1, place + 1):
            if 0 <= other < len(estimates) and estimates[other] > EMPTY_DEVIATIONS * noise(other, other + 1):
                width = edges[other + 1] - edges[other]
                around = max(around, estimates[other] / width * (edges[place + 1] - edges[place]))
        is_atom = own - around > max(ATOM_DEVIATIONS * noise(place, place + 1), around)
        found.append(own - around if is_atom else 0.0)
    return np.array(found)


def naive_support(over, edges, atoms):
    """Return the ends of the rows: the hull of sure runs and atoms, and as many steps as have more than noise."""
    cells = len(edges) - 1
    runs = {(first, last): over(first, last) for first in range(cells) for last in range(first + 1, cells + 1)}
    chosen = []
    while runs:
        best = max(runs.values())
        if best <= (SURE_DEVIATIONS if chosen else 0):
            break
        near = [run for run, sure in runs.items() if sure >= max(best - 1, 1e-9)]
        run = min(near, key=lambda each: (edges[each[1]] - edges[each[0]], each))
        chosen.append(run)
        runs = {each: sure for each, sure in runs.items() if each[1] <= run[0] or each[0] >= run[1]}
    if not chosen:
        return 0, cells
    first = min([run[0] for run in chosen] + atoms)
    last = max([run[1] for run in chosen] + [atom + 1 for atom in atoms])
    while first > 0:
        reach = edges[first] - (edges[last] - edges[first])
        start = min([place for place in range(first) if edges[place] >= reach] + [first - 1])
        if over(start, first) < NEXT_DEVIATIONS:
            break
        first = start
    while last < cells:
        reach = edges[last] + (edges[last] - edges[first])
        stop = max([place for place in range(last + 1, cells + 1) if edges[place] <= reach] + [last + 1])
        if over(last, stop) < NEXT_DEVIATIONS:
            break
        last = stop
    return first, last


def naive_shares(trees):
    """Return for each tree the shares at even and odd depths."""
    return [(SPLITS[-SPLITS.index(each) % len(SPLITS)], each) for each in trees]


def naive_tree(estimates, edges, noise, shares, part, mass, depth):
    """Return the masses of the cells of one part, which has this mass, in one tree."""
    first, last = part
    if last - first == 1:
        return [mass]
    middle = first + min(max(1, round(shares[depth % 2] * (last - first))), last - first - 1)
    halves = sum(estimates[first:middle]), sum(estimates[middle:last])
    even = mass * (edges[middle] - edges[first]) / (edges[last] - edges[first])
    given = naive_share(mass, halves, (noise(first, middle), noise(middle, last)), even, depth)
    return [
        *naive_tree(estimates, edges, noise, shares, (first, middle), given, depth + 1),
        *naive_tree(estimates, edges, noise, shares, (middle, last), mass - given, depth + 1),
    ]


def naive_share(mass, estimates, noise, even, depth):
    """Return the mass of the left half."""
    weights = [1 / each**2 for each in noise]
    # The least squares of left and right that sum to the mass.
    nearest = (weights[0] * estimates[0] + weights[1] * (mass - estimates[1])) / sum(weights)
    nearest = min(max(0.0, nearest), mass)
    both = math.sqrt(noise[0] ** 2 + noise[1] ** 2)
    halves_at_this_depth = 2**depth
    if 2 * abs(nearest - even) < math.sqrt(2 * math.log(halves_at_this_depth)) * both:
        return even
    seen = [each > EMPTY_DEVIATIONS * sd for each, sd in zip(estimates, noise, strict=True)]
    if mass > EMPTY_DEVIATIONS * both:
        if seen == [True, False] and estimates[0] > estimates[1]:
            return mass
        if seen == [False, True] and estimates[1] >= estimates[0]:
            return 0.0
    return nearest


@spread(("seed", range(10)), ("stages", [1, 2, 3]), ("total", [200.0, 5000.0]))
def test_masses_are_those_of_runs_and_trees_looked_at_one_by_one(seed, stages, total) -> None:
    made, codes = staged(seed, stages=stages)

    np.testing.assert_allclose(denoised_masses(made, codes, total), naive_masses(made, codes, total), atol=1e-4)


@pytest.mark.parametrize("number", [1, 5])
def test_the_slow_trees_notice_a_tree_that_is_left_out(number) -> None:
    made, codes = staged(4)

    less = naive_masses(made, codes, 5000.0, [*SPLITS[:number], *SPLITS[number + 1 :]])

    assert np.abs(less - denoised_masses(made, codes, 5000.0)).max() > 1
