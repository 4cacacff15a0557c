"""Slow twins of the samplers, written from Canonne, Kamath and Steinke (2020), and laws by full enumeration.

The twins use rational numbers and fair integers only, no enclosures and no tables.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from helpers.bits import ScriptedBits, SeededBits
from helpers.noise_laws import FALSE_ALARM, alarm, gaussian_law, laplace_law
from lapwing.noise.bits import BitSource, SystemBits
from lapwing.noise.enclosures import Exponential
from lapwing.noise.gaussian import discrete_gaussian
from lapwing.noise.geometric import Digit
from lapwing.noise.inverse_cdf import Law, Table, draw, make_table
from lapwing.noise.laplace import Sign, discrete_laplace
from lapwing.noise.selection import exponential_mechanism

DRAWS = 6_000


class Naive:
    """Algorithms 1 to 3 of the paper, one draw at a time."""

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        self._pool: list[int] = []

    def _word(self) -> int:
        if not self._pool:
            self._pool = self._bits.words(4096).tolist()
        return self._pool.pop()

    def below(self, bound: int) -> int:
        """Return a uniform integer below a bound, by rejection."""
        while True:
            number = self._word() & ((1 << bound.bit_length()) - 1)
            if number < bound:
                return number

    def bernoulli(self, p: Fraction) -> bool:
        return self.below(p.denominator) < p.numerator

    def bernoulli_exp(self, x: Fraction) -> bool:
        """Algorithm 1."""
        while x > 1:
            if not self.bernoulli_exp(Fraction(1)):
                return False
            x -= 1
        k = 1
        while self.bernoulli(x / k):
            k += 1
        return k % 2 == 1

    def laplace(self, scale: Fraction) -> int:
        """Algorithm 2, with scale t / s."""
        t, s = scale.numerator, scale.denominator
        while True:
            remainder = self.below(t)
            if not self.bernoulli_exp(Fraction(remainder, t)):
                continue
            rounds = 0
            while self.bernoulli_exp(Fraction(1)):
                rounds += 1
            magnitude = (remainder + t * rounds) // s
            negative = self.bernoulli(Fraction(1, 2))
            if not (negative and magnitude == 0):
                return -magnitude if negative else magnitude

    def gaussian(self, sigma_squared: Fraction) -> int:
        """Algorithm 3."""
        t = math.isqrt(sigma_squared.numerator // sigma_squared.denominator) + 1
        while True:
            proposal = self.laplace(Fraction(t))
            if self.bernoulli_exp((abs(proposal) - sigma_squared / t) ** 2 / (2 * sigma_squared)):
                return proposal


def two_samples(first: np.ndarray, second: np.ndarray) -> float:
    """Return a chi-square p-value for equal laws, in bins of about equal size."""
    edges = np.unique(np.quantile(np.concatenate([first, second]), np.linspace(0.05, 0.95, 19)).round())
    samples = (first, second)
    table = np.array([np.bincount(np.searchsorted(edges, sample), minlength=edges.size + 1) for sample in samples])
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table).pvalue)


@pytest.mark.parametrize("scale", ["1/3", "1", "25/4", "100"])
def test_laplace_draws_agree_with_the_naive_sampler(scale: str) -> None:
    naive = Naive(SystemBits())

    slow = np.array([naive.laplace(Fraction(scale)) for _ in range(DRAWS)])
    fast = discrete_laplace(Fraction(scale), 20 * DRAWS, SystemBits())

    assert alarm(slow, laplace_law(float(Fraction(scale)))) > FALSE_ALARM
    assert two_samples(slow, fast) > FALSE_ALARM


@pytest.mark.parametrize("sigma_squared", ["1/4", "2", "75/2", "2500"])
def test_gaussian_draws_agree_with_the_naive_sampler(sigma_squared: str) -> None:
    naive = Naive(SystemBits())

    slow = np.array([naive.gaussian(Fraction(sigma_squared)) for _ in range(DRAWS // 2)])
    fast = discrete_gaussian(Fraction(sigma_squared), 20 * DRAWS, SystemBits())

    assert alarm(slow, gaussian_law(math.sqrt(Fraction(sigma_squared)))) > FALSE_ALARM
    assert two_samples(slow, fast) > FALSE_ALARM


def test_the_comparison_of_samples_notices_another_scale() -> None:
    naive = Naive(SeededBits(1))

    slow = np.array([naive.laplace(Fraction(25, 4)) for _ in range(DRAWS)])
    fast = discrete_laplace(Fraction(15, 2), 20 * DRAWS, SeededBits(2))

    assert two_samples(slow, fast) < FALSE_ALARM


def test_selections_agree_with_one_candidate_at_a_time() -> None:
    scores, epsilon = [2, 0, 5, -3], Fraction(3, 2)
    naive = Naive(SystemBits())

    def slow() -> int:
        while True:
            candidate = naive.below(4)
            if naive.bernoulli_exp(epsilon * (5 - scores[candidate]) / 2):
                return candidate

    one_by_one = np.array([slow() for _ in range(DRAWS)])
    batched = np.array([exponential_mechanism(np.array(scores), epsilon, 1, SystemBits()) for _ in range(2 * DRAWS)])

    assert two_samples(one_by_one, batched) > FALSE_ALARM


def enumerated(table: Table, depth: int, sampler: Callable[..., np.ndarray]) -> tuple[np.ndarray, float]:
    """Return the exact outcome probabilities over all scripts of `depth` words, and the undecided probability."""
    counts = np.zeros(table.words.size + 1)
    undecided = 0
    size = 1 << table.word_bits
    for script in itertools.product(range(size), repeat=depth):
        bits = ScriptedBits([word << 64 - table.word_bits for word in script])
        try:
            counts[sampler(table, 1, bits)[0]] += 1
        except AssertionError:
            undecided += 1
    return counts / size**depth, undecided / size**depth


@pytest.mark.parametrize(
    "law",
    [Sign(Exponential(Fraction(1, 3))), Sign(Exponential(Fraction(9))), Digit(Exponential(Fraction(1, 2)), 0, True)],
)
def test_all_words_of_four_bits_together_make_up_the_law(law: Law) -> None:
    """Every script of three words is drawn once: each outcome has its probability up to the undecided rest."""
    lower, _ = law.cumulative(80)
    cumulative = np.array([0.0, *[end / 2**80 for end in lower], 1.0])

    found, undecided = enumerated(make_table(law, 4), 3, draw)

    exact = np.diff(cumulative)
    assert undecided <= (len(lower) + 1) / 16**3
    assert (found <= exact + 1e-12).all()
    assert (exact <= found + undecided + 1e-12).all()


def test_without_refinement_words_of_four_bits_miss_the_law() -> None:
    law = Digit(Exponential(Fraction(1, 2)), 0, True)
    lower, _ = law.cumulative(80)
    exact = np.diff(np.array([0.0, *[end / 2**80 for end in lower], 1.0]))

    def first_word_only(table: Table, size: int, bits: BitSource) -> np.ndarray:
        return np.searchsorted(table.words, bits.words(size) >> np.uint64(60))

    found, undecided = enumerated(make_table(law, 4), 1, first_word_only)

    assert undecided == 0
    assert np.abs(found - exact).max() > 0.01
