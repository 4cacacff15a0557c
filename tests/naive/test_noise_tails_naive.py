"""Tails of noise and of sums of it, against brute force and simulation."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from scipy.special import erfcinv, gammaincc

from lapwing.errors import ParameterError
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.maths.noise_tails import gamma_tails, sum_tail

FAILURES = (0.5, 0.1, 0.05, 0.01, 1e-6)
LAWS = {
    "laplace": (Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(7), Fraction(9), Fraction(40)),
    "gaussian": (Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(15), Fraction(17), Fraction(900)),
}


def law_of_sum(kind, parameter, terms):
    """Return P(S = z), z from -reach to reach, by convolving one term after the other."""
    spread = float(parameter) if kind == "laplace" else math.sqrt(parameter)
    z = np.arange(-math.ceil(60 * spread) - 3, math.ceil(60 * spread) + 4, dtype=float)
    masses = np.exp(-np.abs(z) / spread if kind == "laplace" else -(z**2) / (2 * spread**2))
    masses /= masses.sum()
    law = np.ones(1)
    for _ in range(terms):
        law = np.convolve(law, masses)
    return law


def smallest(law, failure):
    """Return the smallest k with P(|S| > k) <= failure."""
    middle = law.size // 2
    beyond = 2 * np.cumsum(law[:middle:-1])[::-1]
    return int(np.count_nonzero(beyond > failure))


@pytest.mark.parametrize("kind", LAWS)
def test_the_tail_of_one_value_is_the_smallest(kind):
    for parameter in LAWS[kind]:
        law = law_of_sum(kind, parameter, 1)
        for failure in FAILURES:
            assert sum_tail(kind, parameter, 1, failure) == smallest(law, failure)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("terms", [2, 3, 8])
def test_the_tail_of_a_sum_is_never_too_small_and_hardly_too_large(kind, terms):
    for parameter in LAWS[kind]:
        law = law_of_sum(kind, parameter, terms)
        for failure in FAILURES:
            least = smallest(law, failure)

            assert least <= sum_tail(kind, parameter, terms, failure) <= least * (1 + 1 / 700) + 2


def test_a_laplace_tail_is_rational_arithmetic_at_the_edge():
    # P(|Z| > 6) = 2 q^7 / (1 + q): a failure just below it needs 7.
    q = math.exp(-1 / 3)
    edge = 2 * q**7 / (1 + q)

    assert sum_tail("laplace", Fraction(3), 1, edge * (1 + 1e-12)) == 6
    assert sum_tail("laplace", Fraction(3), 1, edge * (1 - 1e-12)) == 7


@pytest.mark.parametrize("scale", [Fraction(2**40), Fraction(2**100, 3)])
def test_wide_noise_has_the_tails_of_the_real_laws(scale):
    assert sum_tail("laplace", scale, 1, 0.05) == pytest.approx(float(scale) * math.log(20), rel=1e-9)
    assert sum_tail("gaussian", scale, 1, 0.05) == pytest.approx(math.sqrt(scale) * 1.959963984540054, rel=1e-9, abs=1)
    # P(|L_1 + L_2| > y) = exp(-y) (1 + y / 2) is .05 at y = 4.1130.
    assert sum_tail("laplace", scale, 2, 0.05) == pytest.approx(float(scale) * 4.1130032807, rel=1e-6)
    assert sum_tail("gaussian", scale, 9, 0.05) == pytest.approx(3 * sum_tail("gaussian", scale, 1, 0.05), rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "parameter"),
    [("laplace", Fraction(5)), ("laplace", Fraction(50)), ("gaussian", Fraction(5)), ("gaussian", Fraction(500))],
)
def test_a_sum_of_many_terms_has_a_gaussian_tail(kind, parameter):
    terms = 50_000
    sd = math.sqrt(parameter if kind == "gaussian" else 2) * (1 if kind == "gaussian" else float(parameter))

    assert sum_tail(kind, parameter, terms, 0.05) == pytest.approx(1.96 * sd * math.sqrt(terms), rel=0.01)


def test_noise_that_is_nearly_always_zero_adds_nothing():
    assert sum_tail("laplace", Fraction(1, 1000), 2**26, 1e-9) == 0
    assert sum_tail("gaussian", Fraction(1, 10**400), 2**26, 1e-9) == 0


def test_tiny_failures_have_tails_too():
    assert sum_tail("laplace", Fraction(10), 1, 1e-300) == 6908
    assert sum_tail("laplace", Fraction(10), 3, 1e-20) > sum_tail("laplace", Fraction(10), 1, 1e-20)
    assert sum_tail("gaussian", Fraction(10), 3, 1e-20) >= sum_tail("gaussian", Fraction(30), 1, 1e-20)


@pytest.mark.parametrize("kind", LAWS)
def test_simulated_sums_leave_the_tail_as_often_as_promised(kind):
    draw = discrete_laplace if kind == "laplace" else discrete_gaussian
    parameter, terms, runs, failure = Fraction(12), 5, 100_000, 0.05
    sums = draw(parameter, terms * runs, SystemBits()).reshape(runs, terms).sum(axis=1)

    outside = np.count_nonzero(np.abs(sums) > sum_tail(kind, parameter, terms, failure))

    # 6.1 standard deviations (one-sided false alarm below 1e-9); a scale 20 % too small would give 9 % or more.
    assert abs(outside / runs - failure) < 6.1 * math.sqrt(failure / runs) + (0.01 if kind == "gaussian" else 0.001)
    assert np.count_nonzero(np.abs(sums) > 0.8 * sum_tail(kind, parameter, terms, failure)) / runs > 0.08


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Fraction(0), 0.1), "a noise parameter must be above 0 and at most 2**120, got 0"),
        ((Fraction(1), 0.0), "a failure probability must be from 1e-300 to below 1, got 0.0; lower confidence"),
        ((Fraction(1), 1.0), "a failure probability must be from 1e-300 to below 1, got 1.0; lower confidence"),
    ],
)
def test_values_outside_their_range_are_refused(arguments, message):
    for kind in ("laplace", "gaussian"):
        with pytest.raises(ParameterError) as refused:
            sum_tail(kind, arguments[0], 1, arguments[1])

        assert str(refused.value) == message


def test_a_sum_of_no_terms_is_refused():
    with pytest.raises(ParameterError) as refused:
        sum_tail("laplace", Fraction(1), 0, 0.1)

    assert str(refused.value) == "a sum of noise has from 1 to 2**30 terms, got 0; count the noisy numbers"


@pytest.mark.parametrize("failure", [0.9, 0.5, 0.05, 1e-3, 1e-9, 1e-30, 1e-300])
def test_the_reach_of_a_gaussian_is_scipys(failure):
    reach = -NormalDist().inv_cdf(failure / 2) / math.sqrt(2)

    assert reach == pytest.approx(float(erfcinv(failure)), rel=1e-14)


@pytest.mark.parametrize("reach", [1e-3, 0.5, 1.0, 30.0, 300.0, 700.0, 701.0])
def test_tails_of_gamma_variables_are_scipys(reach):
    shapes = np.arange(1.0, 12_001.0)

    assert gamma_tails(shapes, reach) == pytest.approx(gammaincc(shapes, reach), rel=1e-11, abs=1e-300)
