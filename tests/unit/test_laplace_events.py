"""Log-likelihood ratios of what discrete Laplace noise shows, against sums of its probabilities."""

import itertools
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest

from lapwing.kernel.noise_law import log_tail, tail_ratio, value_ratio

SCALES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(7)]
PLACES = [-9, -2, -1, 0, 1, 2, 8]
CONTEXT = Context(prec=70)


def masses(scale, reach=1500):
    """Return the probabilities of all values up to a reach, beyond which less than 1e-80 lies."""
    with localcontext(CONTEXT):
        q = (-Decimal(scale.denominator) / scale.numerator).exp()
        return {value: (1 - q) / (1 + q) * q ** abs(value) for value in range(-reach, reach + 1)}


def log_ratio(one, other):
    with localcontext(CONTEXT):
        return Fraction((one / other).ln())


@pytest.mark.parametrize("scale", SCALES)
def test_the_ratio_of_tails_is_that_of_summed_probabilities_and_never_nearer_to_zero(scale):
    chances = masses(scale)
    with localcontext(CONTEXT):
        tails = {least: sum(p for value, p in chances.items() if value >= least) for least in PLACES}

    for one, other in itertools.product(PLACES, repeat=2):
        told, true = tail_ratio(scale, one, other), log_ratio(tails[one], tails[other])

        assert log_tail(scale, one) == pytest.approx(float(tails[one].ln()), rel=1e-9)
        assert abs(told - true) < Fraction(1, 10**39)
        assert abs(told) >= abs(true) - Fraction(1, 10**60)  # rounding of 70 digits in the sums


@pytest.mark.parametrize("scale", SCALES)
def test_the_ratio_of_values_is_that_of_their_probabilities(scale):
    chances = masses(scale)

    for shown, one, other in itertools.product(PLACES, repeat=3):
        told, true = value_ratio(scale, shown, one, other), log_ratio(chances[shown - one], chances[shown - other])

        assert abs(told - true) < Fraction(1, 10**60)


def test_the_event_below_a_threshold_is_that_of_the_mirrored_noise():
    chances = masses(Fraction(2))
    with localcontext(CONTEXT):
        below = {least: sum(p for value, p in chances.items() if value < least) for least in PLACES}

    for one, other in itertools.product(PLACES, repeat=2):
        told = tail_ratio(Fraction(2), 1 - one, 1 - other)

        assert abs(told - log_ratio(below[one], below[other])) < Fraction(1, 10**39)


def test_ratios_above_zero_are_exact_fractions():
    assert tail_ratio(Fraction(7, 3), 0, 5) == Fraction(15, 7)
    assert tail_ratio(Fraction(7, 3), 10**18, 3) == Fraction(3, 7) * (3 - 10**18)
    assert tail_ratio(Fraction(7, 3), -4, -4) == 0


def test_one_row_never_loses_more_than_the_inverse_of_the_scale():
    for scale, least in itertools.product([Fraction(1, 40), *SCALES, Fraction(2**50)], range(-60, 60)):
        assert 0 < tail_ratio(scale, least, least + 1) <= 1 / scale
        assert -1 / scale <= tail_ratio(scale, least + 1, least) < 0


def test_ratios_of_huge_scales_and_thresholds_are_found():
    assert tail_ratio(Fraction(2**50), -(2**60), 2**60) > 2**9
    assert abs(tail_ratio(Fraction(1, 10**6), -(2**40), -5)) <= Fraction(1, 10**39)
