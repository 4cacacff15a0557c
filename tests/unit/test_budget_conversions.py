"""Conversions: their ranges, their rounding, and that they stay on the safe side."""

import time
from fractions import Fraction

import pytest

from lapwing.errors import ParameterError
from lapwing.kernel.budget import conversions
from lapwing.kernel.budget.conversions import CERTIFICATE_DELTAS, certificate_epsilons, epsilon_for, rho_for

NINE = Fraction(1, 10**9)
TWELVE = Fraction(1, 10**12)


@pytest.mark.parametrize("rho", ["1e-9", "1e-3", "0.5", "30", "1e3"])
@pytest.mark.parametrize("delta", ["1e-30", "1e-9", "1e-3", "0.5"])
def test_extreme_arguments_convert_and_come_back_within_one_step(rho: str, delta: str) -> None:
    exact_rho, exact_delta = Fraction(rho), Fraction(delta)

    epsilon = epsilon_for(exact_rho, exact_delta)

    assert (epsilon * 10**9).denominator == 1
    if epsilon > 0:
        back = rho_for(epsilon, exact_delta)
        assert (back * 10**12).denominator == 1
        # One step of epsilon is 1e-9; d rho / d epsilon = 1 / alpha is at most 1.
        assert exact_rho - TWELVE <= back <= exact_rho + NINE


def test_what_rho_for_grants_never_exceeds_the_request() -> None:
    for epsilon in ("0.001", "0.1", "1", "7.5", "100"):
        for delta in ("1e-30", "1e-9", "0.1"):
            granted = rho_for(Fraction(epsilon), Fraction(delta))

            assert epsilon_for(granted, Fraction(delta)) <= Fraction(epsilon)
            # And not one step more would have fitted: the result is sharp as well as safe.
            assert epsilon_for(granted + 10 * NINE, Fraction(delta)) > Fraction(epsilon)


def test_no_rho_costs_no_epsilon_and_a_tiny_grant_is_zero() -> None:
    assert epsilon_for(Fraction(0), Fraction(1, 10**6)) == 0
    assert rho_for(Fraction(1, 10**9), Fraction(1, 10**30)) == 0


def test_a_delta_that_covers_everything_leaves_epsilon_zero() -> None:
    assert epsilon_for(Fraction(1, 10**9), Fraction(1, 2)) == 0


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1), Fraction(2), Fraction(1, 10**301)])
def test_a_delta_that_converts_nothing_is_refused(delta: Fraction) -> None:
    for convert in (epsilon_for, rho_for):
        with pytest.raises(ParameterError, match="delta must lie between 1e-300 and 1"):
            convert(Fraction(1), delta)


@pytest.mark.parametrize("amount", [Fraction(-1), Fraction(10**9 + 1)])
def test_an_amount_outside_the_range_is_refused(amount: Fraction) -> None:
    with pytest.raises(ParameterError, match="rho must lie between 0 and"):
        epsilon_for(amount, NINE)
    with pytest.raises(ParameterError, match="epsilon must lie between 0 and"):
        rho_for(amount, NINE)
    with pytest.raises(ParameterError, match="epsilon must be above 0"):
        rho_for(Fraction(0), NINE)


def test_the_certificate_lists_three_deltas() -> None:
    listed = certificate_epsilons(Fraction(1, 2))

    assert tuple(delta for delta, _ in listed) == CERTIFICATE_DELTAS
    assert [epsilon for _, epsilon in listed] == sorted(epsilon for _, epsilon in listed)


def test_a_bad_search_costs_sharpness_and_never_safety(monkeypatch: pytest.MonkeyPatch) -> None:
    epsilon, rho = epsilon_for(Fraction(1, 2), NINE), rho_for(Fraction(1), NINE)

    for log_order in (-30.0, 0.0, 30.0):
        monkeypatch.setattr(conversions, "_LOG_ORDER", log_order)

        # With both ends equal or crossed the search returns exp(-log_order) whatever the arguments are.
        assert epsilon_for(Fraction(1, 2), NINE) >= epsilon
        assert rho_for(Fraction(1), NINE) <= rho


def test_a_conversion_takes_less_than_twenty_milliseconds() -> None:
    start = time.process_time()

    for _ in range(20):
        epsilon_for(Fraction(1, 2), NINE)
        rho_for(Fraction(1), NINE)

    # 40 conversions of at most 20 ms; measured: 0.3 ms each.
    assert time.process_time() - start < 0.8
