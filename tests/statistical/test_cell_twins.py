"""The law of larger trees of cells, against draws of the explicit algorithm, in which every cell has its own noise.

Two samples of the splits of each level, of all splits, and of their places, at false-alarm rate 1e-9.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import lapwing.kernel.questions.split_decisions.answer as splitting
from helpers.bits import SeededBits
from helpers.cells import (
    ADD_REMOVE,
    coded,
    explicit_splits,
    halving_counts,
    splits_asked,
    splits_per_level,
    tree_over,
    whole_numbers,
)
from helpers.noise_laws import FALSE_ALARM
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.questions.shared.cell_rows import CellRows
from lapwing.kernel.questions.split_decisions.answer import _decide_splits

SYSTEM = SystemBits()
LARGE = [
    ("paper", 6, 4, 3, Fraction(2)),
    ("paper", 8, 4, 12, Fraction(1)),
    ("privtree", 6, 6, 0, Fraction(1)),
]


def large_statistics(draw, first, levels, runs):
    """Return, over runs, the splits of each level, all splits, and how often each first cell and last pair is split."""
    splits, firsts, seconds = [], np.zeros(1 << first, dtype=np.int64), np.zeros(1 << first + 1, dtype=np.int64)
    for _ in range(runs):
        split = draw()
        splits.append([each.sum() for each in split])
        firsts += split[0]
        seconds += split[1]
    splits = np.array(splits)
    return [*splits.T, splits.sum(axis=1)], [firsts, seconds]


def large_pair(rule, first, levels, threshold, epsilon):
    """Return how the room and how the explicit algorithm draw the splits of one larger tree."""
    rng = np.random.default_rng(9)
    depth = first + levels
    rows = np.minimum((rng.exponential(0.02, 300) * 2**depth).astype(int), 2**depth - 1).tolist()
    schema = whole_numbers(x=1 << depth)
    question = splits_asked(tree_over(schema, first), rule=rule, threshold=threshold, epsilon=epsilon)
    stored = CellRows.of(question.tree, coded(schema, [(row,) for row in rows]))
    scale, counts = question.noise("add-remove", 1).parameter, halving_counts(rows, depth)

    def real(bits):
        return splits_per_level(_decide_splits(question, stored, ADD_REMOVE, bits).tree, range(first, depth))

    def explicit(bits):
        return explicit_splits(
            counts,
            first,
            rule=rule,
            threshold=threshold,
            scale=float(scale),
            noise=lambda size: discrete_laplace(scale, size, bits),
        )

    return real, explicit


def two_sample_alarm(one, other):
    """Return the least p-value, times their number, that two lots of runs have the same statistics."""
    p_values = []
    for first, second in zip(one[0], other[0], strict=True):
        edges = np.unique(np.quantile(np.concatenate((first, second)), np.linspace(0, 1, 9)[1:-1]))
        bins = [
            np.bincount(np.searchsorted(edges, each, side="right"), minlength=len(edges) + 1)
            for each in (first, second)
        ]
        p_values.append(homogeneous(bins))
    p_values += [homogeneous(pair) for pair in zip(one[1], other[1], strict=True)]
    return min(p_values) * len(p_values)


def homogeneous(bins):
    table = np.array(bins)
    rare = table.sum(axis=0) < 40
    table = np.column_stack((table[:, ~rare], table[:, rare].sum(axis=1)))
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table, correction=False).pvalue) if table.shape[1] > 1 else 1.0


@pytest.mark.parametrize("runs", [150, pytest.param(5000, marks=pytest.mark.full)])
@pytest.mark.parametrize("case", LARGE)
def test_splits_of_larger_trees_are_those_of_the_explicit_algorithm(case, runs):
    real, explicit = large_pair(*case)

    one, other = (large_statistics(lambda draw=draw: draw(SYSTEM), *case[1:3], runs) for draw in (real, explicit))

    assert two_sample_alarm(one, other) > FALSE_ALARM


def empty_cells_are_skipped(patch):
    patch.setattr(splitting, "survivors", lambda population, success, bits: np.empty(0, dtype=np.int64))


def the_sampler_is_wrong_by_a_fifth(patch):
    patch.setattr(splitting, "LaplaceTail", lambda scale, least: LaplaceTail(scale * Fraction(6, 5), least))


@pytest.mark.parametrize(
    ("case", "plant"),
    [
        (LARGE[0], empty_cells_are_skipped),
        (LARGE[1], empty_cells_are_skipped),
        (LARGE[1], the_sampler_is_wrong_by_a_fifth),
    ],
)
def test_a_wrong_sampler_is_noticed_beside_the_explicit_algorithm(case, plant, monkeypatch):
    real, explicit = large_pair(*case)
    bits = SeededBits(7)
    other = large_statistics(lambda: explicit(bits), *case[1:3], 150)
    plant(monkeypatch)

    one = large_statistics(lambda: real(bits), *case[1:3], 150)

    assert two_sample_alarm(one, other) < FALSE_ALARM
