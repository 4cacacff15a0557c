"""The samplers at every number of draws from one to a million: a faster way for many, or for one, has the same law."""

import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.noise_laws import FALSE_ALARM, binomial, chi_square, laplace_law
from helpers.residuals import law_flags, looks_independent
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.geometric import CHUNK, survivors
from lapwing.kernel.noise.inverse_cdf import GUIDED_SIZE
from lapwing.kernel.noise.laplace import discrete_laplace, discrete_laplace_at_least
from lapwing.kernel.noise.selection import exponential_mechanism
from lapwing.kernel.noise.weighted import weighted_draws
from lapwing.kernel.noise_law import NoiseLaw

BITS = SystemBits()
SIZES = [*(10**power for power in range(7)), GUIDED_SIZE - 1, GUIDED_SIZE, CHUNK, CHUNK + 1]
"""Numbers of draws of one call."""

LAWS = [
    NoiseLaw("laplace", Fraction(2, 3)),
    NoiseLaw("laplace", Fraction(40)),
    NoiseLaw("laplace", Fraction(10**7)),
    NoiseLaw("gaussian", Fraction(1, 4)),
    NoiseLaw("gaussian", Fraction(100)),
    NoiseLaw("gaussian", Fraction(10**14)),
]


def calls(size, most=3000):
    """Return how often so many draws are asked for."""
    return max(1, min(most, 20_000 // size))


@pytest.mark.parametrize("size", [*SIZES, pytest.param(10**7, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "law",
    [pytest.param(law, marks=[pytest.mark.full] if law.parameter >= 10**7 else []) for law in LAWS],
    ids=lambda law: f"{law.kind} {float(law.parameter):g}",
)
def test_draws_have_their_law_however_many_are_asked_for(law, size):
    draw = discrete_laplace if law.kind == "laplace" else discrete_gaussian

    assert law_flags(np.stack([draw(law.parameter, size, BITS) for _ in range(calls(size))]), law) == []


@pytest.mark.parametrize("law", [LAWS[1], LAWS[4]], ids=["laplace", "gaussian"])
def test_the_first_and_the_last_draw_of_a_long_call_have_the_law(law):
    draw = discrete_laplace if law.kind == "laplace" else discrete_gaussian
    ends = [draw(law.parameter, CHUNK + 1, BITS)[[0, CHUNK - 1, CHUNK]] for _ in range(300)]

    assert [flag for place in range(3) for flag in law_flags(np.array(ends)[:, [place]], law)] == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("threshold", [-3, 0, 4])
def test_draws_from_a_threshold_on_have_the_conditional_law(threshold, size):
    scale = Fraction(5)
    found = [discrete_laplace_at_least(threshold, scale, size, BITS) for _ in range(calls(size))]
    drawn = np.concatenate(found)
    law = laplace_law(float(scale))
    inner = [law.below(threshold + step) - law.below(threshold) for step in range(1, 20)]
    probabilities = np.diff([0.0, *inner, 1 - law.below(threshold)]) / (1 - law.below(threshold))

    assert drawn.min() >= threshold
    assert chi_square(np.bincount(np.minimum(drawn - threshold, 19), minlength=20), probabilities) > FALSE_ALARM


@pytest.mark.parametrize("population", [*SIZES, 10**12])
def test_survivors_are_as_many_as_they_should_and_lie_anywhere(population):
    scale = Fraction(5) if population <= 10**6 else Fraction(1)
    threshold = 3 if population <= 10**6 else 18
    probability = laplace_law(float(scale)).below(1 - threshold)
    ranks = [survivors(population, LaplaceTail(scale, threshold), BITS) for _ in range(calls(population, 800))]
    drawn = np.concatenate(ranks)
    parts = min(population, 10)
    widths = np.diff([population * part // parts for part in range(parts + 1)])

    if population <= 10**6:
        assert binomial(drawn.size, population * len(ranks), probability) > FALSE_ALARM
    assert abs(drawn.size - population * len(ranks) * probability) < 8 * math.sqrt(
        population * len(ranks) * probability
    )
    places = np.bincount([int(rank) * parts // population for rank in drawn], minlength=parts)
    if population >= 10:
        assert chi_square(places, widths / population) > FALSE_ALARM


@pytest.mark.parametrize("candidates", [2, *(10**power for power in range(1, 7))])
@pytest.mark.parametrize("best", ["first", "last"])
def test_choices_have_their_law_among_any_number_of_candidates(candidates, best):
    """Every other candidate is worse by so much that it is chosen with a probability smaller by a factor e."""
    scores = np.full(candidates, 10, dtype=np.int64)
    scores[best == "first" :: 2] = 8
    runs = 1500 if candidates < 10**5 else 200
    chosen = np.array([exponential_mechanism(scores, Fraction(1), 1, BITS) for _ in range(runs)])
    worse = np.count_nonzero(scores == 8)
    rare = worse / math.e / (candidates - worse + worse / math.e)

    assert binomial(int((scores[chosen] == 8).sum()), runs, rare) > FALSE_ALARM
    if candidates >= 1000:
        assert chi_square(np.bincount(chosen * 5 // candidates, minlength=5), np.full(5, 0.2)) > FALSE_ALARM


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kinds", [2, 1000])
def test_weighted_draws_have_their_weights_and_know_nothing_of_each_other(kinds, size):
    weights = np.arange(1, kinds + 1)
    drawn = np.concatenate([weighted_draws(weights, size, BITS) for _ in range(calls(size))])
    cuts = np.searchsorted(np.cumsum(weights), np.linspace(0, weights.sum(), 11)[1:-1])
    observed = np.bincount(np.searchsorted(cuts, drawn, side="left"), minlength=10)
    ends = np.concatenate(([0], np.cumsum(weights)[cuts], [weights.sum()]))

    assert chi_square(observed, np.diff(ends) / weights.sum()) > FALSE_ALARM
    assert looks_independent(drawn)
