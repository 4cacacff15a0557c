"""The laws of the exact samplers, at false-alarm rate 1e-9; and the same tests reject what is slightly wrong.

10^6 draws a law; `-m full` draws 10^7.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import SeededBits
from helpers.noise_laws import FALSE_ALARM, alarm, binomial, chi_square, gaussian_law, laplace_law
from lapwing.noise import bernoulli, inverse_cdf
from lapwing.noise.bernoulli import accept_exp, bernoulli_exp, bernoulli_exp_multiples, decide, multiple_exponents
from lapwing.noise.bits import SystemBits
from lapwing.noise.enclosures import Complement, Exponential, LaplaceTail
from lapwing.noise.gaussian import discrete_gaussian
from lapwing.noise.geometric import geometric, survivors
from lapwing.noise.inverse_cdf import Table
from lapwing.noise.laplace import discrete_laplace, discrete_laplace_at_least, laplace_with_words
from lapwing.noise.selection import exponential_mechanism

BITS = SystemBits()
SCALES = ["1/3", "1", "10", "100", "1000", "10000", "1000000000000", "22/7"]
SIGMAS = ["1/2", "1", "10", "33", "100", "1000", "10000", "1000000000000"]
SIZES = [1_000_000, pytest.param(10_000_000, marks=pytest.mark.full)]
LONG_SCALE = Fraction(10**61 + 7, 3 * 10**60 + 1)  # about 10 / 3, by numbers of 61 digits


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", SCALES)
def test_laplace_draws_follow_the_discrete_laplace_law(scale: str, size: int) -> None:
    draws = discrete_laplace(Fraction(scale), size, BITS)

    assert alarm(draws, laplace_law(float(Fraction(scale)))) > FALSE_ALARM


@pytest.mark.parametrize("error", ["1.01", "0.99"])
@pytest.mark.parametrize("scale", ["1", "10", "100", "1000", "10000", "1000000000000"])
def test_a_laplace_scale_wrong_by_one_percent_is_noticed(scale: str, error: str) -> None:
    draws = discrete_laplace(Fraction(scale) * Fraction(error), 4_000_000, SeededBits(1))

    assert alarm(draws, laplace_law(float(Fraction(scale)))) < FALSE_ALARM


def test_a_scale_of_numbers_with_sixty_digits_follows_its_law() -> None:
    laplace = discrete_laplace(LONG_SCALE, 500_000, BITS)
    gaussian = discrete_gaussian(LONG_SCALE, 500_000, BITS)

    assert alarm(laplace, laplace_law(float(LONG_SCALE))) > FALSE_ALARM
    assert alarm(gaussian, gaussian_law(math.sqrt(LONG_SCALE))) > FALSE_ALARM


def test_tiny_scales_give_zero_as_often_as_the_law_says() -> None:
    draws = discrete_laplace(Fraction(1, 10), 1_000_000, BITS)
    q = math.exp(-10)

    assert binomial(int((draws != 0).sum()), draws.size, 2 * q / (1 + q)) > FALSE_ALARM
    assert not discrete_laplace(Fraction(1, 1000), 100_000, BITS).any()
    assert not discrete_gaussian(Fraction(1, 1000), 100_000, BITS).any()


@pytest.mark.parametrize("scale", ["1/3", "1", "10", "300"])
def test_words_of_eight_bits_give_the_same_law_by_refinement(scale: str) -> None:
    draws = laplace_with_words(Fraction(scale), 100_000, SeededBits(2), word_bits=8)

    assert alarm(draws, laplace_law(float(Fraction(scale)))) > FALSE_ALARM


@pytest.mark.parametrize("scale", ["1/3", "1", "10", "300"])
def test_words_of_eight_bits_without_refinement_break_the_law(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(table: Table, word: int, bits: object) -> int:
        return int(np.searchsorted(table.words, np.uint64(word)))

    monkeypatch.setattr(inverse_cdf, "_refine", give_up)

    draws = laplace_with_words(Fraction(scale), 100_000, SeededBits(2), word_bits=8)

    assert alarm(draws, laplace_law(float(Fraction(scale)))) < FALSE_ALARM


def test_counting_zero_for_both_signs_would_be_noticed() -> None:
    magnitudes = geometric(Exponential(Fraction(1, 10)), 1_000_000, SeededBits(3))
    signs = np.where(SeededBits(4).words(magnitudes.size) >> np.uint64(63), 1, -1)

    assert alarm(magnitudes * signs, laplace_law(10.0)) < FALSE_ALARM


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("sigma", SIGMAS)
def test_gaussian_draws_follow_the_discrete_gaussian_law(sigma: str, size: int) -> None:
    draws = discrete_gaussian(Fraction(sigma) ** 2, size, BITS)

    assert alarm(draws, gaussian_law(float(Fraction(sigma)))) > FALSE_ALARM


@pytest.mark.parametrize("error", ["1.01", "0.99"])
@pytest.mark.parametrize("sigma", ["1", "10", "100", "1000", "10000", "1000000000000"])
def test_a_gaussian_sigma_wrong_by_one_percent_is_noticed(sigma: str, error: str) -> None:
    draws = discrete_gaussian((Fraction(sigma) * Fraction(error)) ** 2, 2_000_000, SeededBits(5))

    assert alarm(draws, gaussian_law(float(Fraction(sigma)))) < FALSE_ALARM


@pytest.mark.parametrize("x", ["1/1000", "1/2", "1", "5", "12"])
def test_common_exponents_are_accepted_as_often_as_the_law_says(x: str) -> None:
    accepted = bernoulli_exp(Fraction(x), 1_000_000, BITS)

    assert binomial(int(accepted.sum()), accepted.size, math.exp(-Fraction(x))) > FALSE_ALARM


def test_exponents_of_their_own_are_accepted_as_often_as_the_law_says() -> None:
    multiples = np.tile(np.array([0, 1, 7, 50, 300, 1 << 63], dtype=np.uint64), 200_000)

    accepted = bernoulli_exp_multiples(multiples, Fraction(1, 30), BITS)

    for multiple in np.unique(multiples):
        hits = accepted[multiples == multiple]
        assert binomial(int(hits.sum()), hits.size, math.exp(-int(multiple) / 30)) > FALSE_ALARM


def test_exponents_that_the_filter_leaves_open_follow_the_same_law() -> None:
    multiples = np.tile(np.array([1, 3, 9], dtype=np.uint64), 5_000)
    exponents = multiple_exponents(multiples, Fraction(1, 4))

    accepted = accept_exp(exponents, lambda i: Fraction(int(multiples[i]), 4), SeededBits(6), slack=1 << 33)

    for multiple in (1, 3, 9):
        hits = accepted[multiples == multiple]
        assert binomial(int(hits.sum()), hits.size, math.exp(-multiple / 4)) > FALSE_ALARM


def test_a_decision_by_words_of_eight_bits_follows_the_same_law() -> None:
    bits = SeededBits(7)
    x = Fraction(10, 3)

    accepted = sum(decide(x, int(word >> np.uint64(56)), bits, word_bits=8) for word in bits.words(20_000))

    assert binomial(accepted, 20_000, math.exp(-x)) > FALSE_ALARM


def test_a_filter_that_decides_within_its_error_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true_exp = bernoulli.approximate_exp
    monkeypatch.setattr(bernoulli, "approximate_exp", lambda exponents: true_exp(exponents) & ~((1 << 28) - 1))

    accepted = bernoulli_exp_multiples(np.full(1_000_000, 10, dtype=np.uint64), Fraction(1, 30), SeededBits(8))

    assert binomial(int(accepted.sum()), accepted.size, math.exp(-1 / 3)) < FALSE_ALARM


@pytest.mark.parametrize("threshold", [-40, -3, 0, 1, 25])
def test_conditional_noise_follows_the_law_above_its_threshold(threshold: int) -> None:
    draws = discrete_laplace_at_least(threshold, Fraction(6), 300_000, BITS)
    law = laplace_law(6.0)
    cells = range(threshold, threshold + 30)
    above = 1 - law.below(threshold)
    probabilities = np.array([(law.below(z + 1) - law.below(z)) / above for z in cells])

    observed = np.bincount(np.minimum(draws - threshold, 30), minlength=31)
    p_value = chi_square(observed, np.append(probabilities, 1 - probabilities.sum()))

    assert draws.min() >= threshold
    assert p_value > FALSE_ALARM


@pytest.mark.parametrize("threshold", [-2, 0, 1, 2, 4])
def test_survivors_among_four_empties_are_each_subset_as_often_as_trial_by_trial(threshold: int) -> None:
    scale = Fraction(3, 2)
    trials = 8_000
    probability = 1 - laplace_law(1.5).below(threshold)
    subsets = list(itertools.product([0, 1], repeat=4))

    drawn = [survivors(4, LaplaceTail(scale, threshold), BITS) for _ in range(trials)]
    observed = np.bincount([sum(8 >> int(rank) for rank in ranks) for ranks in drawn], minlength=16)

    expected = np.array([probability ** sum(s) * (1 - probability) ** (4 - sum(s)) for s in subsets])
    assert chi_square(observed, expected) > FALSE_ALARM


@pytest.mark.parametrize(
    ("population", "threshold"), [(10**6, 3), (10**6, 30), (10**6, -4), (10**9, 60), (1 << 80, 230)]
)
def test_survivors_among_many_empties_are_binomial_and_evenly_placed(population: int, threshold: int) -> None:
    scale = Fraction(5)
    probability = 1 - laplace_law(5.0).below(threshold) if threshold < 1 else laplace_law(5.0).below(1 - threshold)

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


def test_gaps_of_a_rare_success_follow_the_geometric_law() -> None:
    success = LaplaceTail(Fraction(2), 9)
    probability = math.exp(-4.5) / (1 + math.exp(-0.5))

    gaps = geometric(Complement(success), 500_000, BITS)
    cuts = [round(math.log1p(-part / 20) / math.log1p(-probability)) for part in range(1, 20)]
    below = [-math.expm1(cut * math.log1p(-probability)) for cut in cuts]

    observed = np.bincount(np.searchsorted(cuts, gaps, side="right"), minlength=20)
    assert chi_square(observed, np.diff([0.0, *below, 1.0])) > FALSE_ALARM


@pytest.mark.parametrize("runs", [10_000, pytest.param(300_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("scores", [[0, 3], [5, 5, -2], [-(2**63), 2**63 - 1, 2**63 - 4, 2**63 - 2]])
def test_the_exponential_mechanism_follows_its_law(scores: list[int], runs: int) -> None:
    weights = np.array([math.exp(-(max(scores) - score) / 6) for score in scores])
    array = np.array(scores, dtype=np.int64)

    chosen = [exponential_mechanism(array, Fraction(1), 3, BITS) for _ in range(runs)]

    observed = np.bincount(chosen, minlength=len(scores))
    assert chi_square(observed, weights / weights.sum()) > FALSE_ALARM


def test_an_exponential_mechanism_without_the_factor_two_would_be_noticed() -> None:
    weights = np.array([1.0, math.exp(-1 / 2)])

    chosen = [exponential_mechanism(np.array([3, 0]), Fraction(2), 3, SeededBits(k)) for k in range(4_000)]

    assert chi_square(np.bincount(chosen, minlength=2), weights / weights.sum()) < FALSE_ALARM
