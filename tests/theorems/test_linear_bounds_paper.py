"""Theorems 2.2 and 2.3 of "Privacy of Synthetic Data" as calculators: constants by exact laws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.errors import ParameterError
from lapwing.maths.noise_tails import sum_tail
from lapwing.theorems.linear_statistics import (
    QueryFamily,
    corollary_2_4,
    lemma_3_2,
    lemma_3_3,
    theorem_2_2,
    theorem_2_3,
)

PAIRS = QueryFamily(statistics=481, values="zero-one", tables=120)


def deviation(rows, chance, delta, width):
    """Return the exact probability that a mean of rows 0/1 values times the width is farther than delta from its own.

    Differences of delta itself count as inside; rounding is kept out by a hundred millionth of a row.
    """
    reach = delta * rows / width + 1e-8
    centre = rows * chance
    return binom.cdf(math.ceil(centre - reach) - 1, rows, chance) + binom.sf(math.floor(centre + reach), rows, chance)


CHANCES = np.linspace(0.01, 0.99, 99)


@pytest.mark.parametrize("delta", [0.5, 0.2, 0.1, 0.03])
@pytest.mark.parametrize("share", [0.02, 1e-4])
def test_signed_values_need_our_constant_and_break_the_paper_s(delta, share):
    ours = lemma_3_2(QueryFamily(statistics=10), delta=delta, gamma=10 * share)
    printed = math.ceil(math.log(1 / share) / delta**2)

    kept = max(deviation(ours, chance, delta, 2) for chance in CHANCES)
    broken = deviation(printed, 0.5, delta, 2)

    assert kept <= share
    assert broken > share


@pytest.mark.parametrize("delta", [0.5, 0.2, 0.1, 0.03])
@pytest.mark.parametrize("share", [0.2, 0.02, 1e-4])
def test_zero_one_values_need_no_more_than_the_paper_says(delta, share):
    rows = lemma_3_2(QueryFamily(statistics=1, values="zero-one"), delta=delta, gamma=share)

    worst = max(deviation(rows, chance, delta, 1) for chance in CHANCES)

    assert rows == math.ceil(math.log(1 / share) / delta**2)
    assert worst <= share


def test_a_third_of_those_rows_is_too_few():
    rows = lemma_3_2(QueryFamily(statistics=1, values="zero-one"), delta=0.03, gamma=1e-4)

    assert deviation(rows // 3, 0.5, 0.03, 1) > 1e-4


FAMILIES = {
    "signed": (QueryFamily(statistics=4), lambda rng: rng.choice([-1, 1], 4)),
    "zero-one": (QueryFamily(statistics=4, values="zero-one"), lambda rng: rng.integers(0, 2, 4)),
    "two tables of two cells": (
        QueryFamily(statistics=5, values="zero-one", tables=2),
        lambda rng: np.eye(2)[rng.integers(0, 2, 2)].ravel(),
    ),
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_no_pair_of_records_changes_the_sums_by_more_than_the_sensitivity_and_one_attains_it(kind):
    family, draw = FAMILIES[kind]
    rng = np.random.default_rng(1)
    records = np.unique([draw(rng) for _ in range(200)], axis=0)

    added = max(np.abs(record).sum() for record in records)
    replaced = max(np.abs(one - other).sum() for one, other in itertools.product(records, records))

    assert added == family.sensitivity("add-remove")
    assert replaced == family.sensitivity("replace-one")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
def test_noise_of_the_theorem_s_scale_stays_below_delta_for_all_statistics(neighbours, epsilon):
    gamma, delta = 0.05, 0.05
    rows = theorem_2_2(PAIRS, neighbours, epsilon=epsilon, delta=delta, gamma=gamma)
    scale = Fraction(PAIRS.sensitivity(neighbours)) / Fraction(epsilon)

    # The smallest whole number that all noise stays within, from the exact law.
    largest = sum_tail("laplace", scale, 1, Fraction(gamma) / PAIRS.statistics)
    moved = largest / rows if neighbours == "replace-one" else 2 * largest / (rows - largest)

    assert moved <= delta
    assert moved > 0.9 * delta or epsilon == 50


def test_quotients_of_noisy_numbers_stay_within_the_bound():
    rows, noise = 50, 7
    every = itertools.product(range(-rows, rows + 1, 5), range(-noise, noise + 1), range(-noise, noise + 1))

    worst = max(abs(sums / rows - (sums + z) / (rows + other)) for sums, z, other in every)

    assert worst <= 2 * noise / (rows - noise)
    assert worst == pytest.approx(2 * noise / (rows - noise), rel=1e-9)


def test_theorem_2_2_is_the_printed_formula_for_signed_values_and_replace_one_neighbours():
    rows = theorem_2_2(QueryFamily(statistics=100), "replace-one", epsilon=0.5, delta=0.1, gamma=0.1)

    printed = 2 / (0.1 * 0.5) * 100 * math.log(100 / 0.1)
    assert printed <= rows <= printed + 0.5 / 0.1 + 1  # half a unit more, because noise is whole


SETTINGS = {"epsilon": 1.0, "delta": 0.1, "gamma": 0.1, "K": 2.0}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_corollary_2_4_counts_every_pattern_of_every_set_of_columns(neighbours):
    p, d = 5, 2
    sets = [each for size in range(1, d + 1) for each in itertools.combinations(range(p), size)]
    patterns = [(each, bits) for each in sets for bits in itertools.product((0, 1), repeat=len(each))]
    records = list(itertools.product((0, 1), repeat=p))
    holds = np.array([[all(r[c] == b for c, b in zip(*pattern, strict=True)) for pattern in patterns] for r in records])

    found = corollary_2_4(p, d, neighbours, **SETTINGS)

    family = QueryFamily(statistics=len(patterns) + 1, values="zero-one", tables=len(sets))
    changes = np.abs(holds[:, None].astype(int) - holds[None]).sum(axis=2).max()
    assert found == theorem_2_3(family, neighbours, **SETTINGS)
    assert family.sensitivity("add-remove") == holds.sum(axis=1).max()
    assert family.sensitivity("replace-one") == changes


def test_corollary_2_4_for_the_papers_statistics_is_not_enough_for_all_marginals():
    # One statistic per set, "all are 1": of three columns a cell with zeros in it is a signed sum of eight of them.
    p, d = 3, 3
    sets = [each for size in range(d + 1) for each in itertools.combinations(range(p), size)]
    error = {each: (-1) ** len(each) * 0.01 for each in sets}

    none_is_1 = sum((-1) ** len(each) * error[each] for each in sets)

    assert max(map(abs, error.values())) == 0.01
    assert none_is_1 == pytest.approx(0.08)


def test_corollary_2_4_needs_a_larger_order_than_f_log_f():
    # delta = epsilon = 2 / sqrt(g) for n = g F log F: both vanish as g grows, and neither can where g is constant.
    for p in (20, 100, 1000):
        sets = p + math.comb(p, 2)
        for growth in (64, 1024):
            size = 6 / math.sqrt(growth)
            needs = corollary_2_4(p, 2, "add-remove", epsilon=size, delta=size / 2, gamma=0.1, K=1)
            assert needs.draws <= needs.rows <= growth * sets * math.log(sets)
        at_printed = corollary_2_4(p, 2, "add-remove", epsilon=1, delta=0.5, gamma=0.1, K=1)
        assert at_printed.rows > sets * math.log(sets)


@pytest.mark.parametrize("degree", [0, 4])
def test_corollary_2_4_refuses_marginals_that_are_not_there(degree):
    with pytest.raises(ParameterError, match=f"^d must be from 1 to p=3, got {degree}"):
        corollary_2_4(3, degree, "add-remove", **SETTINGS)


def test_points_are_proportional_to_the_condition_number_and_the_number_of_statistics():
    assert lemma_3_3(QueryFamily(statistics=20), delta=0.1, gamma=0.1, K=1) == 20_000
    assert lemma_3_3(QueryFamily(statistics=20), delta=0.1, gamma=0.1, K=7.5) == 150_000
    assert lemma_3_3(QueryFamily(statistics=60), delta=0.1, gamma=0.1, K=1) == 60_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: QueryFamily(statistics=0), "a family needs at least 1 statistic, got 0"),
        (lambda: QueryFamily(statistics=3, values="real"), "values must be one of signed, zero-one, got 'real'"),
        (
            lambda: QueryFamily(statistics=3, tables=1),
            "tables must be at least 1 and have zero-one values, got 1 with 'signed'",
        ),
        (
            lambda: PAIRS.sensitivity("swap"),
            "neighbours must be one of add-remove, replace-one, got 'swap'",
        ),
        (lambda: lemma_3_2(PAIRS, delta=0.6, gamma=0.1), "delta must be above 0 and at most 1/2, got 0.6"),
        (lambda: lemma_3_2(PAIRS, delta=0.1, gamma=0.25), "gamma must be above 0 and below 1/4, got 0.25"),
        (
            lambda: lemma_3_3(PAIRS, delta=0.1, gamma=0.1, K=0.9),
            "K must be finite and at least 1, got 0.9",
        ),
        (
            lambda: theorem_2_2(PAIRS, "add-remove", epsilon=0, delta=0.1, gamma=0.1),
            "epsilon must be finite and above 0, got 0",
        ),
    ],
)
def test_numbers_out_of_range_are_refused(call, message):
    with pytest.raises(ParameterError) as refusal:
        call()

    assert str(refusal.value) == message
