"""Long runs of the samplers follow their laws, at false-alarm rate 1e-9; what is wrong by one percent does not.

That single draws have exactly their laws is shown in `test_exact_laws.py`; here are a million at a time, in chunks.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import SeededBits
from helpers.noise_laws import FALSE_ALARM, alarm, binomial, chi_square, gaussian_law, laplace_law
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.geometric import survivors
from lapwing.kernel.noise.laplace import discrete_laplace, discrete_laplace_at_least

BITS = SystemBits()
DRAWS = 1_000_000
LARGE = "1000000000000"


@pytest.mark.parametrize("scale", ["22/7", "100", LARGE])
def test_laplace_draws_follow_the_discrete_laplace_law(scale: str) -> None:
    draws = discrete_laplace(Fraction(scale), DRAWS, BITS)

    assert alarm(draws, laplace_law(float(Fraction(scale)))) > FALSE_ALARM


@pytest.mark.parametrize("scale", ["100", LARGE])
def test_a_laplace_scale_wrong_by_one_percent_is_noticed(scale: str) -> None:
    draws = discrete_laplace(Fraction(scale) * Fraction("1.01"), 4 * DRAWS, SeededBits(1))

    assert alarm(draws, laplace_law(float(Fraction(scale)))) < FALSE_ALARM


@pytest.mark.parametrize("sigma", ["1/2", "33", LARGE])
def test_gaussian_draws_follow_the_discrete_gaussian_law(sigma: str) -> None:
    draws = discrete_gaussian(Fraction(sigma) ** 2, DRAWS, BITS)

    assert alarm(draws, gaussian_law(float(Fraction(sigma)))) > FALSE_ALARM


@pytest.mark.parametrize("sigma", ["33", LARGE])
def test_a_gaussian_sigma_wrong_by_one_percent_is_noticed(sigma: str) -> None:
    draws = discrete_gaussian((Fraction(sigma) * Fraction("1.01")) ** 2, 2 * DRAWS, SeededBits(5))

    assert alarm(draws, gaussian_law(float(Fraction(sigma)))) < FALSE_ALARM


@pytest.mark.parametrize(("population", "threshold"), [(10**6, 3), (1 << 80, 230)])
def test_survivors_among_many_empties_are_binomial_and_evenly_placed(population: int, threshold: int) -> None:
    scale = Fraction(5)
    probability = laplace_law(5.0).below(1 - threshold)

    ranks = survivors(population, LaplaceTail(scale, threshold), BITS)
    places = np.bincount([int(rank) * 10 // population for rank in ranks], minlength=10)

    if population < 1 << 60:
        assert binomial(ranks.size, population, probability) > FALSE_ALARM
    else:
        assert abs(ranks.size - population * probability) < 7 * math.sqrt(population * probability)
    assert chi_square(places, np.full(10, 0.1)) > FALSE_ALARM


def test_implicit_empties_follow_the_law_of_explicit_empties() -> None:
    """Survivors and their conditional noise, against noise on every empty cell and then the threshold."""
    scale, threshold, population = Fraction(4), 6, 1_000_000
    ranks = survivors(population, LaplaceTail(scale, threshold), BITS)
    implicit = discrete_laplace_at_least(threshold, scale, ranks.size, BITS)
    every = discrete_laplace(scale, population, BITS)
    explicit = every[every >= threshold]

    table = np.array([np.bincount(np.minimum(values - threshold, 25), minlength=26) for values in (implicit, explicit)])
    table = np.column_stack([table, population - table.sum(axis=1)])

    pooled = table.sum(axis=0) / table.sum()
    assert chi_square(table.ravel(), np.concatenate([pooled, pooled]) / 2) > FALSE_ALARM
