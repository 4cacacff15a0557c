"""Enclosures, thresholds and filters, against decimal arithmetic of 200 digits and exact decisions, for all inputs."""

import decimal
import math
from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.bits import SeededBits
from lapwing.kernel.noise.bernoulli import (
    EXPONENT_BITS,
    EXPONENT_CLIP,
    accept_exp,
    approximate_exp,
    decide,
    multiple_exponents,
)
from lapwing.kernel.noise.enclosures import Complement, Exponential, LaplaceTail, exp_minus, power
from lapwing.kernel.noise.gaussian import make_proposal, proposal_exponents
from lapwing.kernel.noise.geometric import Digit, geometric, geometric_chunk
from lapwing.kernel.noise.inverse_cdf import GUIDED_SIZE, draw, make_table, thresholds
from lapwing.kernel.noise.laplace import Sign

CONTEXT = decimal.Context(prec=200, Emax=10**12, Emin=-(10**12))
LIMIT = 1 << 62

positive = st.builds(Fraction, st.integers(1, 10**65), st.integers(1, 10**65))
moderate = st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 10**4))


@pytest.fixture(scope="module", autouse=True)
def two_hundred_digits():
    """Make every decimal operation of this file one of 200 digits."""
    with decimal.localcontext(CONTEXT):
        yield


def as_decimal(x: Fraction) -> decimal.Decimal:
    """Return a rational to 200 digits."""
    return decimal.Decimal(x.numerator) / decimal.Decimal(x.denominator)


def decimal_exp(x: Fraction) -> decimal.Decimal:
    """Return exp(-x) to about 190 digits; 0 where it is below 10^-400."""
    return decimal.Decimal(0) if x > 1000 else (-as_decimal(x)).exp()


@given(x=positive | moderate, precision=st.integers(1, 400))
def test_exp_minus_encloses_the_exponential_closely(x: Fraction, precision: int) -> None:
    lo, hi = exp_minus(x, precision)

    scaled = decimal_exp(x) * (1 << precision)
    assert lo <= scaled + decimal.Decimal("1e-60")
    assert scaled <= hi + decimal.Decimal("1e-60")
    assert 0 <= lo <= hi <= 1 << precision
    assert hi - lo <= 2


@given(x=moderate, squarings=st.integers(0, 40))
def test_powers_enclose_the_power(x: Fraction, squarings: int) -> None:
    lo, hi = power(exp_minus(x, 200), squarings, 200)

    true_lo, true_hi = exp_minus(x * 2**squarings, 260)
    assert lo <= true_hi >> 60
    assert true_lo >> 60 <= hi


@given(scale=moderate, threshold=st.integers(-300, 300))
def test_tails_enclose_the_probability(scale: Fraction, threshold: int) -> None:
    lo, hi = LaplaceTail(scale, threshold).enclose(128)

    q = decimal_exp(1 / scale)
    if threshold >= 1:
        tail = decimal_exp(threshold / scale) / (1 + q)
    else:
        tail = 1 - decimal_exp((1 - threshold) / scale) / (1 + q)
    scaled = tail * (1 << 128)
    assert lo - 1 <= scaled <= hi + 1
    assert hi - lo <= 8


@given(scale=positive | moderate, place=st.integers(0, 6), is_last=st.booleans(), bits=st.sampled_from([8, 64, 128]))
@settings(max_examples=40)
def test_thresholds_are_the_rounded_distribution_values(scale: Fraction, place: int, is_last: bool, bits: int) -> None:
    found = thresholds(Digit(Exponential(1 / scale), place, is_last), bits)

    u = Fraction(256**place) / scale
    for r in (1, 2, 100, 255, 256)[: 5 if is_last else 4]:
        whole = 1 if is_last else 1 - decimal_exp(256 * u)
        if whole == 0 or u < Fraction(1, 10**60):
            continue  # too close to 1 for 200 digits
        value = (1 - decimal_exp(r * u)) / whole
        scaled = value * (1 << bits)
        expected = min(int(scaled.to_integral_value(decimal.ROUND_FLOOR)), (1 << bits) - 1)
        assert found[r - 1] == expected


@given(scale=moderate, place=st.integers(0, 3), seed=st.integers(0, 2**32), bits=st.sampled_from([8, 11, 16, 64]))
@settings(max_examples=40)
def test_guided_draws_are_the_comparisons_of_the_definition(scale: Fraction, place: int, seed: int, bits: int) -> None:
    law = Digit(Exponential(1 / scale), place, True)
    size = GUIDED_SIZE + 100
    words = [int(word) >> 64 - bits for word in SeededBits(seed).words(size)]

    outcomes = draw(make_table(law, bits), size, SeededBits(seed))

    ends = thresholds(law, bits)
    for word, outcome in zip(words, outcomes.tolist(), strict=True):
        below = bisect_left(ends, word)
        tied = sum(end == word for end in ends[below : below + 300])
        assert below <= outcome <= below + tied


@given(ratio=st.sampled_from([Fraction(1, 3), Fraction(1, 40), Fraction(1, 1000)]), seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_wide_and_narrow_draws_agree(ratio: Fraction, seed: int) -> None:
    """Beyond 2^62 the digits are joined as Python integers; with as many places, the numbers are the same."""
    narrow = geometric(Exponential(ratio), 500, SeededBits(seed), limit=LIMIT)
    wide = geometric_chunk(Exponential(ratio), 500, SeededBits(seed), LIMIT + 1, 64)

    assert wide.tolist() == narrow.tolist()


@given(exponents=st.lists(st.integers(0, EXPONENT_CLIP << EXPONENT_BITS), min_size=1, max_size=200))
def test_the_fixed_point_exponential_errs_by_less_than_fifty_units(exponents: list[int]) -> None:
    found = approximate_exp(np.array(exponents, dtype=np.int64)).tolist()

    for exponent, value in zip(exponents, found, strict=True):
        exact = exp_minus(Fraction(exponent, 1 << EXPONENT_BITS), 64)[0]
        assert abs((value << 32) - exact) < 50 << 32


def distance(exponent: int, exact: Fraction) -> Fraction:
    """Return |exp(-exponent / 2^40) - exp(-x)| in units of 2^-24."""
    ours = exp_minus(Fraction(exponent, 1 << EXPONENT_BITS), 64)[0]
    true = exp_minus(exact, 64)[0]
    return Fraction(abs(ours - true), 1 << 40)


@given(
    multiples=st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 1000), min_size=1, max_size=50),
    unit=positive | moderate | st.builds(Fraction, st.integers(1, 2**30), st.integers(1, 2**70)),
)
def test_exponents_of_multiples_are_as_close_as_the_filter_needs(multiples: list[int], unit: Fraction) -> None:
    found = multiple_exponents(np.array(multiples, dtype=np.uint64), unit)

    assert found.min() >= 0
    for multiple, exponent in zip(multiples, found.tolist(), strict=True):
        assert distance(exponent, multiple * unit) < 1


@given(
    sigma=moderate | st.builds(Fraction, st.integers(1, 1 << 55), st.integers(1, 3)) | st.sampled_from([Fraction(33)]),
    parts=st.lists(st.integers(0, 20 * 2**20), min_size=1, max_size=50),
)
def test_exponents_of_gaussian_proposals_are_as_close_as_the_filter_needs(sigma: Fraction, parts: list[int]) -> None:
    proposal = make_proposal(sigma**2)
    magnitudes = np.array([0, *[min(part * proposal.scale >> 20, LIMIT) for part in parts]], dtype=np.int64)

    found = proposal_exponents(proposal, magnitudes)

    assert found.min() >= 0
    for magnitude, exponent in zip(magnitudes.tolist(), found.tolist(), strict=True):
        assert distance(exponent, proposal.exponent(magnitude)) < 1


@given(unit=moderate, seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_the_filter_decides_as_the_exact_comparison_does(unit: Fraction, seed: int) -> None:
    multiples = np.arange(500, dtype=np.uint64)
    words = SeededBits(seed).words(500)

    accepted = accept_exp(multiple_exponents(multiples, unit), lambda i: int(multiples[i]) * unit, SeededBits(seed))

    exact = [decide(index * unit, int(word), SeededBits(0)) for index, word in enumerate(words)]
    assert accepted.tolist() == exact


@given(scale=moderate)
def test_signs_and_complements_are_consistent(scale: Fraction) -> None:
    q = Exponential(1 / scale)

    lower, width = Sign(q).cumulative(128)
    mirrored = Complement(Complement(q)).enclose(128)

    value = float(lower[0]) / 2**128
    assert math.isclose(value, 1 / (1 + math.exp(-1 / scale)), rel_tol=1e-12)  # a few roundings of doubles
    assert width <= 4
    assert mirrored == q.enclose(128)
