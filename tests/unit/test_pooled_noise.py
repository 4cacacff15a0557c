"""The mean of noisy numbers of one quantity: its reach against the definition, and under stops at the worst moment."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from helpers.bits import SeededBits
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.maths.pooled_noise import NoisyNumber, pooled_number

LAWS = {kind: NoiseLaw(kind, Fraction(9, 2)) for kind in ("laplace", "gaussian")}
DRAW = {"laplace": discrete_laplace, "gaussian": discrete_gaussian}
FALSE_ALARMS = 1e-9


def number(law, terms, value=0.0):
    return NoisyNumber(float(value), law.kind, law.parameter, terms, law.sd)


def log_mean_exponential(law, terms, x):
    """Return log E exp(x S), by adding up the law; Gaussian: that of the real variable, which is never less."""
    if law.kind == "gaussian":
        return terms * float(law.parameter) * x * x / 2
    if x >= 1 / law.parameter:
        return math.inf
    z = np.arange(-4000, 4001)
    logs = -np.abs(z) / float(law.parameter)
    return terms * float(np.logaddexp.reduce(x * z + logs) - np.logaddexp.reduce(logs))


@pytest.mark.parametrize("kind", LAWS)
def test_the_reach_solves_the_equation_of_the_supermartingale(kind):
    law = LAWS[kind]
    numbers = [number(law, terms) for terms in (6, 2, 40)]
    weights = [6 / each.terms for each in numbers]
    unit = math.sqrt(6) * law.sd
    xs = [6.0 * 2 ** (-place / 4) for place in range(96)]
    shares = [x * math.exp(-((x / 1.4) ** 2) / 2) for x in xs]

    growth = [
        sum(
            log_mean_exponential(law, each.terms, x * weight / unit)
            for each, weight in zip(numbers, weights, strict=True)
        )
        for x in xs
    ]

    def mean(reach):
        parts = zip(xs, shares, growth, strict=True)
        return sum(share / sum(shares) * math.cosh(min(x * reach, 600.0)) * math.exp(-each) for x, share, each in parts)

    exact = brentq(lambda reach: mean(reach) - 20, 0.1, 60)
    _, reach = pooled_number(numbers, Fraction(1, 20))
    assert reach == pytest.approx(exact * unit / sum(weights), rel=1e-6)


def test_numbers_are_weighed_by_their_variance():
    law = LAWS["gaussian"]

    mean, _ = pooled_number([number(law, 1, 100), number(law, 4, 200)], Fraction(1, 20))

    assert mean == pytest.approx(120)


@pytest.mark.parametrize("kind", LAWS)
def test_whoever_stops_when_it_is_worst_seldom_wins(kind):
    law, failure, runs = LAWS[kind], Fraction(1, 4), 2000
    terms = [1 + place % 3 for place in range(120)]
    noise = DRAW[kind](law.parameter, runs * sum(terms), SeededBits(1)).reshape(runs, -1)
    firsts = np.concatenate(([0], np.cumsum(terms)[:-1]))
    sums = np.add.reduceat(noise, firsts, axis=1)
    weights = 1 / np.array(terms)
    means = np.cumsum(sums * weights, axis=1) / np.cumsum(weights)
    numbers = [number(law, each) for each in terms]
    reach = np.array([pooled_number(numbers[: place + 1], failure)[1] for place in range(len(terms))])

    wins = int((np.abs(means) > reach).any(axis=1).sum())
    wins_of_more_noise = int((1.5 * np.abs(means) > reach).any(axis=1).sum())

    assert binom.sf(wins - 1, runs, 1 / 4) > FALSE_ALARMS
    assert binom.sf(wins_of_more_noise - 1, runs, 1 / 4) < FALSE_ALARMS  # less is caught by the equation above


@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(1, 100), Fraction(10**15)])
def test_noise_of_every_size_has_a_reach(scale):
    law = NoiseLaw("laplace", scale)

    mean, reach = pooled_number([number(law, 3, 7), number(law, 5, 7)], Fraction(1, 10**6))

    assert mean == pytest.approx(7)
    assert law.sd <= reach < 100 * max(law.sd, 0.01)


def test_a_later_number_of_far_less_noise_is_used_or_nothing_is_said():
    rough = NoiseLaw("laplace", Fraction(10**4))

    near, far = (
        pooled_number([number(rough, 1), number(NoiseLaw("laplace", scale), 1)], Fraction(1, 20))[1]
        for scale in (Fraction(10), Fraction(1, 10**6))
    )

    assert near < 15 * 10 * math.sqrt(2)
    assert far == math.inf
