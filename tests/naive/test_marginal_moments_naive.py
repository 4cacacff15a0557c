"""Marginals against their definition: every set of columns, row by row, in fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.cases import spread
from lapwing.judge import moments as module
from lapwing.judge.moments import marginal_errors, marginal_moments

# Sums of some dozen products of numbers below 1.
ROUNDING = 1e-14


def naive_moments(rows, weights, way):
    """Return for each set of columns the weighted share of rows that has them all, as fractions."""
    exact = [[Fraction(value) for value in row] for row in np.asarray(rows, dtype=float).tolist()]
    masses = [Fraction(weight) for weight in weights]
    return [
        sum(mass * math.prod(row[column] for column in columns) for row, mass in zip(exact, masses, strict=True))
        / sum(masses)
        for columns in itertools.combinations(range(len(exact[0])), way)
    ]


def naive_error(first, second):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / len(first))


@spread(("seed", range(12)), ("way", [1, 2, 3]))
def test_marginals_of_a_table_are_the_shares_of_rows_that_have_all_columns(seed, way, monkeypatch):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (1 + 5 * seed, 3 + seed % 5), dtype=np.uint8)
    monkeypatch.setattr(module, "_BLOCK", 1 + seed)

    (found,) = marginal_moments(rows, ways=(way,))

    assert found.tolist() == [float(share) for share in naive_moments(rows, [1] * len(rows), way)]


@pytest.mark.parametrize("seed", range(12))
def test_errors_between_a_table_and_a_mixture_are_formula_1_2(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    columns = 3 + seed % 5
    rows, model = rng.integers(0, 2, (40, columns), dtype=np.uint8), rng.random((1 + seed, columns))
    weights = rng.integers(0, 4, 1 + seed) + (np.arange(1 + seed) == 0)
    monkeypatch.setattr(module, "_BLOCK", 1 + 3 * seed)

    found = marginal_errors(rows, model, other_weights=weights)

    expected = [
        naive_error(naive_moments(rows, [1] * 40, way), naive_moments(model, weights.tolist(), way))
        for way in (1, 2, 3)
    ]
    assert found == pytest.approx(expected, abs=ROUNDING)
