"""Budgets and conversions for all inputs."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.kernel.budget.budget import Budget, as_text, exact_number, requested_budget
from lapwing.kernel.budget.conversions import epsilon_for, rho_for

amounts = st.fractions(min_value=Fraction(1, 10**6), max_value=1000, max_denominator=10**9)
deltas = st.integers(1, 290).map(lambda power: Fraction(1, 10**power)) | st.fractions(
    min_value=Fraction(1, 100), max_value=Fraction(99, 100)
)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e200, max_value=1e200))
def test_a_float_and_its_text_are_the_same_number(value: float) -> None:
    read = exact_number("x", value)

    assert read == exact_number("x", str(value))
    assert float(read) == value


@given(st.fractions())
def test_exact_text_reads_back(number: Fraction) -> None:
    assert Fraction(as_text(number)) == number


@given(amounts, st.lists(st.fractions(min_value=0, max_value=100), min_size=1, max_size=20).filter(any))
def test_parts_sum_to_the_whole(amount: Fraction, shares: list[Fraction]) -> None:
    parts = Budget("zcdp", amount).split(shares)

    assert sum((part.rho for part in parts), Fraction(0)) == amount
    assert all(part.rho * sum(shares) == amount * share for part, share in zip(parts, shares, strict=True))


@given(st.lists(amounts, min_size=1, max_size=10))
def test_adding_and_taking_away_leave_no_trace(parts: list[Fraction]) -> None:
    total = Budget("pure", Fraction(0))
    for part in parts:
        total += Budget("pure", part)
    for part in parts:
        total -= Budget("pure", part)

    assert total.amount == 0


@settings(max_examples=200)
@given(amounts, deltas)
def test_a_granted_rho_never_promises_more_than_was_asked(epsilon: Fraction, delta: Fraction) -> None:
    granted = rho_for(epsilon, delta)

    # One step of 1e-9 is the rounding of epsilon_for itself.
    assert epsilon_for(granted, delta) < epsilon + Fraction(1, 10**9)


@settings(max_examples=200)
@given(amounts, amounts, deltas)
def test_more_rho_never_means_less_epsilon(one: Fraction, other: Fraction, delta: Fraction) -> None:
    low, high = sorted((one, other))

    assert epsilon_for(low, delta) <= epsilon_for(high, delta)
    assert rho_for(low, delta) <= rho_for(high, delta)


@given(st.floats(min_value=0.01, max_value=100), st.sampled_from([0, 1e-3, 1e-9]))
def test_a_request_means_the_same_as_float_and_as_text(epsilon: float, delta: float) -> None:
    assert requested_budget(epsilon=epsilon, delta=delta) == requested_budget(epsilon=str(epsilon), delta=str(delta))
