"""Priors of KDTree and PMM against plain Python: cell by cell from the root, one number at a time."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.cells import answered, counts_asked, splits_asked
from helpers.small_trees import cube_splits, summed_upwards
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.mechanisms.shared.trees.shrinkage import shrunk_fit
from lapwing.mechanisms.trees.kd_tree.cells import halving_tree
from lapwing.mechanisms.trees.kd_tree.prior import leaning_cells
from lapwing.mechanisms.trees.pmm.mechanism import counted_prior
from lapwing.rows.source import code_table
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 12}, "special": [99]},
            {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
        ]
    }
)
PARTS, WIDTHS = (0.5, 0.25, 0.25), (0.025, 0.0002, 0.0002)


def normal(gap, variance):
    return math.exp(-(gap**2) / (2 * variance)) / math.sqrt(variance)


def chances(half, law):
    """Return how likely each guess is, then nothing and all."""
    whole, left, variance, guesses, _ = half
    one_sided, parts, widths = law
    found = [
        (1 - one_sided) * part * heard * normal(left - centre * whole, variance + (width + spread) * whole**2 + 1e-12)
        for part, width, (centre, spread, heard) in zip(parts, widths, guesses, strict=True)
    ]
    near = variance + (0.075 * whole) ** 2 + 1e-12
    found += [one_sided / 2 * normal(left - end, near) for end in (0.0, whole)]
    return [each / sum(found) for each in found]


def law_of(halves, above, seen):
    """Return the law of a level, by expectation-maximisation over its cells."""
    law, memory = above, 1 + seen / 2
    told = [whole**2 / (whole**2 + 4 * variance) if whole else 0.0 for whole, _, variance, _, _ in halves]
    for _ in range(15):
        likely = [chances(half, law) for half in halves]
        sizes, widths = [], []
        for place, width in enumerate(law[2]):
            size = total = 0.0
            for weight, (whole, left, variance, guesses, _), each in zip(told, halves, likely, strict=True):
                centre, spread, _ = guesses[place]
                wide = width * whole**2
                kept = wide / (wide + variance + spread * whole**2) if whole else 1.0
                off = ((kept * (left - centre * whole)) ** 2 + (1 - kept) * wide) / whole**2 if whole else 0.0
                size += weight * each[place]
                total += weight * each[place] * off
            guess, cells = (above[2][place], memory / 5) if place else (0.025, 0.2)
            sizes.append(size)
            widths.append(min(max((total + guess * cells) / (size + cells), 1e-7), 1 / 12))
        sided = sum(weight * (each[-1] + each[-2]) for weight, each in zip(told, likely, strict=True))
        parts = [size + part * memory for size, part in zip(sizes, above[1], strict=True)]
        law = (sided + 0.3) / (sum(told) + 1), [part / sum(parts) for part in parts], widths
    return law, seen + sum(told)


def left_of(half, law):
    """Return the left half's count: a mean of what each law expects, at most one deviation from where it was."""
    whole, left, variance, guesses, own = half
    *around, none, every = chances(half, law)
    means = []
    for width, (centre, spread, _) in zip(law[2], guesses, strict=True):
        wide = (width + spread) * whole**2
        kept = wide / (wide + variance) if wide + variance else 1.0
        means.append(centre * whole + kept * (left - centre * whole))
    near = (0.075 * whole) ** 2
    nearly = near / (near + variance) if near + variance else 1.0
    if own is None:
        ends = none * nearly * left + every * (whole + nearly * (left - whole))
        expected = around[0] * means[0] + ends
    else:
        expected = (around[0] + none + every) * own
    expected += sum(chance * mean for chance, mean in zip(around[1:], means[1:], strict=True))
    clipped, far = min(max(left, 0.0), whole), math.sqrt(variance)
    own = clipped if own is None else own
    return min(max(expected, min(own, clipped - far), 0.0), max(own, clipped + far), whole)


def half_of(mass, one, two, variances, priors, even, own):
    """Return a cell that is divided: priors: rows of each in its first half and in it."""
    share = variances[0] / sum(variances)
    guesses = [(even, 0.0, 1.0)]
    for inside, rows in priors:
        centre = (inside + even) / (rows + 1)
        guesses.append((centre, centre * (1 - centre) / (rows + 2), rows / (rows + 1)))
    return mass, one + (mass - one - two) * share, variances[1] * share, guesses, own


class Cells:
    """The cells of a tree of codes, from its leaves alone."""

    def __init__(self, noisy, priors):
        self.tree, self.priors = noisy.question.tree, priors
        named = zip(*(each.tolist() for each in noisy.leaves), noisy.counts.tolist(), strict=True)
        self.leaves = {(level, *cell): count for level, cell, count in named}

    def run(self, node, place):
        nested, depth = self.tree.hierarchies[place], self.tree.schedule[: node[0]].count(place)
        return int(nested.starts(depth)[node[1 + place]]), int(nested.stops(depth)[node[1 + place]])

    def rows(self, node, prior):
        return [
            row
            for row in prior
            if all(start <= code < stop for code, (start, stop) in zip(row, self.runs(node), strict=True))
        ]

    def runs(self, node):
        return [self.run(node, place) for place in range(len(self.tree.columns))]

    def below(self, node):
        axis = self.tree.schedule[node[0]]
        nested, depth = self.tree.hierarchies[axis], self.tree.schedule[: node[0] + 1].count(axis)
        runs = [run for run, parent in enumerate(nested.parents(depth).tolist()) if parent == node[1 + axis]]
        return [(node[0] + 1, *[run if place == axis else old for place, old in enumerate(node[1:])]) for run in runs]

    def counts(self, node):
        if node in self.leaves:
            return [self.leaves[node]]
        return [count for each in self.below(node) for count in self.counts(each)]

    def even(self, node, first):
        axis = self.tree.schedule[node[0]]
        (start, stop), (_, middle) = self.run(node, axis), self.run(first, axis)
        return (middle - start) / (stop - start) if stop <= self.tree.hierarchies[axis].values else 0.5


def fitted_cells(noisy, priors, total, threshold):
    """Return the weights of leaves and of the finest cells, by name."""
    cells = Cells(noisy, priors)
    root = (0, *[0] * len(cells.tree.columns))
    masses, law, seen = {root: total}, (0.3, PARTS[: 1 + len(priors)], WIDTHS[: 1 + len(priors)]), 0.0
    law = law[0], [0.5, *[0.5 / len(priors)] * len(priors)], law[2]
    any_full = max(cells.counts(root)) >= threshold
    while level := [node for node in masses if node not in cells.leaves]:
        parents = [node for node in level if node[0] == min(each[0] for each in level)]
        halves = {}
        for node in parents:
            first, *others = cells.below(node)
            if not others:
                masses[first] = masses.pop(node)
                continue
            one, two = cells.counts(first), cells.counts(others[0])
            full = [max(each) >= threshold or not any_full for each in (one, two)]
            mass = masses[node]
            own = min(max((mass + sum(one) - sum(two)) / 2, 0.0), mass) if full[0] == full[1] else mass * full[0]
            told = [(len(cells.rows(first, prior)), len(cells.rows(node, prior))) for prior in priors]
            variances = [len(each) * noisy.noise.sd**2 for each in (one, two)]
            halves[node] = half_of(mass, sum(one), sum(two), variances, told, cells.even(node, first), own)
        if halves:
            law, seen = law_of(list(halves.values()), law, seen)
        for node, half in halves.items():
            first, second = cells.below(node)
            masses[first] = left_of(half, law)
            masses[second] = masses.pop(node) - masses[first]
    return inside(cells, masses, law, seen)


def inside(cells, masses, law, seen):
    """Spread a part of each leaf as the priors' rows lie in it."""
    found = dict.fromkeys(masses, 0.0)
    for leaf, mass in masses.items():
        found[leaf] += mass
        for prior, part in zip(cells.priors, law[1][1:], strict=True):
            rows = cells.rows(leaf, prior)
            for row in rows:
                moved = part * seen / (seen + 1) * mass / (len(rows) + 1)
                runs = zip(cells.tree.hierarchies, row, strict=True)
                name = (cells.tree.depth, *[int((nested.cuts <= code).sum()) for nested, code in runs])
                found[leaf] -= moved
                found[name] = found.get(name, 0.0) + moved
    return found


@pytest.mark.parametrize("coarse", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_leaves_lean_towards_priors_as_by_hand(seed, coarse):
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame(
        {"size": rng.choice(["1", "2", "3", "9", "99", None], 120), "kind": rng.choice(["a", "a", "b"], 120)}
    )
    source, tree = code_table(rows, SCHEMA), halving_tree(SCHEMA, 0.05, coarse)
    tree = answered(splits_asked(tree, threshold=4, epsilon=Fraction(4)), source, SeededBits(seed)).tree
    noisy = answered(counts_asked(tree, threshold=None, epsilon=Fraction(1)), source, SeededBits(seed + 9))
    priors = [
        {"size": rng.choice([1, 2, 2, 3, 9, 13, 14], 50), "kind": rng.integers(0, 2, 50)},
        {"size": rng.integers(0, 15, 30), "kind": rng.integers(0, 3, 30)},
    ][: 1 + seed % 2]

    (levels, runs), weights = leaning_cells(noisy, priors, 120.0, 2.0)

    expected = fitted_cells(
        noisy, [list(zip(each["size"].tolist(), each["kind"].tolist(), strict=True)) for each in priors], 120.0, 2.0
    )
    found = {}
    for level, cell, weight in zip(levels.tolist(), runs.tolist(), weights.tolist(), strict=True):
        found[level, *cell] = found.get((level, *cell), 0.0) + weight
    assert found == pytest.approx(expected, abs=1e-6)
    assert sum(found.values()) == pytest.approx(120)


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_of_all_levels_leans_towards_a_prior_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    depth, sd = 4, 6.0
    leaves, told = rng.poisson(20 * rng.random(2**depth)), rng.poisson(9, 2**depth).astype(float)
    noisy = leaves + np.rint(rng.normal(0, sd, leaves.size)).astype(np.int64)
    splits = cube_splits(depth)
    prior = [each.astype(float) for each in summed_upwards(told, splits)]
    shares = [np.full(split.parents, 0.5) for split in splits]
    root = np.array([int(leaves.sum())])

    fit = shrunk_fit(
        [root, *[None] * (depth - 1), noisy], splits, [0.0, *[math.inf] * (depth - 1), sd**2], shares, [prior]
    )

    masses, law, seen = [float(root[0])], (0.3, [0.5, 0.5], WIDTHS[:2]), 0.0
    for level in range(depth):
        size = 2 ** (depth - level - 1)
        sums = noisy.reshape(-1, size).sum(axis=1).tolist()
        halves = [
            half_of(
                *(mass, sums[2 * at], sums[2 * at + 1], [size * sd**2] * 2),
                *([(prior[level + 1][2 * at], prior[level][at])], 0.5, None),
            )
            for at, mass in enumerate(masses)
        ]
        law, seen = law_of(halves, law, seen)
        lefts = [left_of(half, law) for half in halves]
        masses = [part for left, mass in zip(lefts, masses, strict=True) for part in (left, mass - left)]
        assert fit[level + 1] == pytest.approx(masses, abs=1e-6)


def test_the_rows_of_a_prior_are_counted_in_the_cells_of_a_tree():
    domains = [column.domain for column in SCHEMA.columns]
    nested = tuple(hierarchy(domain, depth) for domain, depth in zip(domains, (3, 1), strict=True))
    question = TreeCounts(
        columns=("size", "kind"),
        hierarchies=nested,
        schedule=(0, 1, 0, 0),
        notion="pure",
        amounts=(None,) * 4 + (Fraction(1),),
    )
    rng = np.random.default_rng(1)
    codes = {"size": rng.integers(0, 15, 99), "kind": rng.integers(0, 3, 99)}

    for level, counts in enumerate(counted_prior(question, codes)):
        expected = np.zeros(question.shapes[level])
        for row in zip(codes["size"], codes["kind"], strict=True):
            depths = [question.schedule[:level].count(place) for place in (0, 1)]
            expected[
                tuple(
                    int(((each.starts(depth) <= code) & (code < each.stops(depth))).argmax())
                    for each, depth, code in zip(nested, depths, row, strict=True)
                )
            ] += 1
        assert np.array_equal(counts, expected)
