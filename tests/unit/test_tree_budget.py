"""Budgets of trees: exact sums, formulas of spec 01, the optimum against a search over all subsets of levels."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from helpers.small_trees import cube_deltas
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.mechanisms.shared.trees import budget as share_search
from lapwing.mechanisms.shared.trees.budget import (
    DEEP_SHARE,
    SHARE_UNITS,
    bound_factor,
    chosen_depth,
    default_shares,
    optimal_shares,
    paper_scales,
    paper_shares,
)

NOTIONS = ("pure", "zcdp")
ROOTS = ("noisy", "exact")
cubes = pytest.mark.parametrize("dimension", [1, 2, 3])
notions = pytest.mark.parametrize("notion", NOTIONS)
roots = pytest.mark.parametrize("root", ROOTS)


def factor(deltas, shares, notion, root):
    """Return the bound's noise part; an exact root has no noise, so its level leaves the sum."""
    if root == "noisy":
        return bound_factor(deltas, shares, notion)
    # Level 1 as if it were a root without weight, and its own weight added by hand.
    power = 2 if notion == "pure" else 1
    spread, total = math.inf, 0.0
    for delta, share in zip(reversed(deltas[1:]), reversed(shares[1:]), strict=True):
        precision = float(share) ** power + (0 if math.isinf(spread) else 1 / (2 * spread))
        spread = 1 / precision
        total += delta * math.sqrt(spread / 2)
    return total


@cubes
@notions
@roots
def test_shares_sum_to_the_budget_exactly(dimension: int, notion: str, root: str) -> None:
    deltas = cube_deltas(14, dimension)
    budget = Budget(notion, Fraction(7, 10))

    for shares in (
        paper_shares(deltas, notion, root),
        optimal_shares(deltas, notion, root),
        default_shares(deltas, 8, notion, root),
    ):
        costs = [budget * share for share in shares if share]

        assert sum(costs[1:], costs[0]) == budget
        assert all((share * SHARE_UNITS).denominator == 1 and share >= 0 for share in shares)
        assert shares[-1] > 0
        assert root == "noisy" or shares[0] == 0


@roots
def test_the_papers_scales_spend_epsilon_and_no_more(root: str) -> None:
    deltas = cube_deltas(10, 2)
    first = 1 if root == "exact" else 0

    scales = paper_scales(deltas, "pure", 0.5, root)

    # Spec 01: Σ 1/σ_j, or Σ_{j>=1} 2/σ_j with an exact root.
    assert math.fsum((1 + first) / scale for scale in scales[first:]) == pytest.approx(0.5, rel=1e-12)
    total = math.fsum(math.sqrt(delta) for delta in deltas[first:])
    assert scales[first:] == pytest.approx(
        [(1 + first) * total / (0.5 * math.sqrt(delta)) for delta in deltas[first:]], rel=1e-12
    )
    assert scales[:first] == [0.0] * first


@roots
def test_the_papers_gaussian_scales_are_those_of_the_specification(root: str) -> None:
    deltas = cube_deltas(10, 3)
    first = 1 if root == "exact" else 0

    scales = paper_scales(deltas, "zcdp", 0.5, root)

    assert math.fsum((1 + first) / (2 * scale**2) for scale in scales[first:]) == pytest.approx(0.5, rel=1e-12)
    total = math.fsum(delta ** (2 / 3) for delta in deltas[first:])
    assert [scale**2 for scale in scales[first:]] == pytest.approx(
        [(1 + first) * delta ** (-2 / 3) * total / (2 * 0.5) for delta in deltas[first:]], rel=1e-12
    )


def best_over_subsets(deltas, notion, root):
    """Try every set of levels, each from equal shares, with a general-purpose minimiser."""
    first = 1 if root == "exact" else 0
    inner = range(first, len(deltas) - 1)
    best = math.inf
    for size in range(len(inner) + 1):
        for chosen in itertools.combinations(inner, size):
            levels = [*chosen, len(deltas) - 1]

            def bound(logits, levels=levels):
                shares = np.zeros(len(deltas))
                parts = np.exp(np.append(logits, 0.0))
                shares[levels] = parts / parts.sum()
                return factor(deltas, shares.tolist(), notion, root)

            result = optimize.minimize(bound, np.zeros(size), method="BFGS") if size else None
            best = min(best, bound(np.zeros(0)) if result is None else result.fun)
    return best


@notions
@roots
@pytest.mark.parametrize("deltas", [cube_deltas(5), cube_deltas(5, 2), [1.0, 3.0, 0.2, 5.0, 0.1, 2.0]], ids=str)
def test_the_optimum_is_that_of_a_search_over_all_subsets(deltas: list, notion: str, root: str) -> None:
    shares = optimal_shares(deltas, notion, root)

    best = best_over_subsets(deltas, notion, root)
    # Both stop within 10^-5 of the minimum; the next local minimum is usually some 10^-3 away.
    assert factor(deltas, shares, notion, root) == pytest.approx(best, rel=1e-5)


@cubes
@pytest.mark.parametrize("notion", NOTIONS)
def test_deep_levels_share_a_tenth(dimension: int, notion: str) -> None:
    shares = default_shares(cube_deltas(20, dimension), 9, notion)

    # A deep share of 1/20 is rounded to the nearest 2^-20.
    assert len(shares) == 14
    assert [abs(shares[level] - DEEP_SHARE / 2) < Fraction(1, 2**20) for level in (11, 13)] == [True] * 2
    assert [shares[level] for level in (10, 12)] == [0, 0]
    assert abs(float(sum(shares[:10])) - 0.9) < 2e-6


@notions
@roots
def test_the_depth_is_that_of_trying_every_depth(notion: str, root: str) -> None:
    deltas = cube_deltas(16, 2)
    resolutions = np.array([2.0 ** -(level // 2) for level in range(17)])
    spent = 0.9 if notion == "pure" else math.sqrt(0.9)
    noise_parts = np.array(
        [
            factor(deltas[: r + 1], optimal_shares(deltas[: r + 1], notion, root), notion, root) / spent
            if r or root == "noisy"
            else 0.0
            for r in range(17)
        ]
    )

    for noise in np.logspace(-7, 0, 60):
        tried = noise * noise_parts + resolutions

        # The rule reads the optimum off a grid, to within 0.1 %.
        assert tried[chosen_depth(deltas, resolutions.tolist(), noise, notion, root)] <= tried.min() * 1.001


@notions
@cubes
def test_the_dynamic_programme_finds_the_optimum_it_promises(notion: str, dimension: int) -> None:
    power = 2 if notion == "pure" else 1
    weights = np.array(cube_deltas(24, dimension))
    values = share_search.value_functions(tuple(weights.tolist()), power)

    start = share_search.traced(values, weights, power)
    reached = share_search.factors(start[None], weights, power)[0]
    refined = share_search.factors(share_search.refined(start[None], weights, power), weights, power)[0]

    # A grid of 129 states: half a percent from the promise, and so is the promise from the minimum.
    assert reached == pytest.approx(values[-1, 0], rel=5e-3)
    assert refined == pytest.approx(values[-1, 0], rel=5e-3)
    assert refined <= reached


@pytest.mark.parametrize("deltas", [[], [1.0, -1.0], [1.0, math.nan], [math.inf], [1.0] * 200], ids=len)
def test_impossible_deltas_are_refused(deltas: list) -> None:
    with pytest.raises(ParameterError, match="deltas must be"):
        optimal_shares(deltas, "pure")


@pytest.mark.parametrize("depth", [-1, 3])
def test_a_depth_outside_the_tree_is_refused(depth: int) -> None:
    with pytest.raises(ParameterError, match="from 0 to 2"):
        default_shares([1.0, 1.0, 1.0], depth, "pure")
