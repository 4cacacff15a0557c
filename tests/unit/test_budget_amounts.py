"""Amounts of budget, and the reading of epsilon, delta and rho."""

import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.budget import Budget, as_text, exact_number, read_request, requested_budget


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        ("1e-9", Fraction(1, 10**9)),
        (" 0.25 ", Fraction(1, 4)),
        ("2/3", Fraction(2, 3)),
        (Fraction(2, 3), Fraction(2, 3)),
        (3, Fraction(3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(2), Fraction(2)),
    ],
)
def test_a_number_is_read_as_it_is_written(value: object, exact: Fraction) -> None:
    read = exact_number("epsilon", value)

    assert read == exact


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "nan", "inf", "one", "", "1/0", "1e99999999", "9" * 1000, True, None, [1], 1j],
)
def test_anything_but_a_finite_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon must be a "):
        exact_number("epsilon", value)


@pytest.mark.parametrize(
    ("number", "text"),
    [("0", "0"), ("0.05", "0.05"), ("-1/8", "-0.125"), ("1/7", "1/7"), ("12.5", "12.5"), ("1e-9", "0.000000001")],
)
def test_numbers_are_written_exactly(number: str, text: str) -> None:
    written = as_text(Fraction(number))

    assert written == text
    assert Fraction(written) == Fraction(number)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epsilon": 0}, "epsilon must be above 0, got 0"),
        ({"epsilon": -1.5}, "epsilon must be above 0, got -1.5"),
        ({"epsilon": math.nan}, "epsilon must be a finite number, got 'nan'"),
        ({"epsilon": math.inf}, "epsilon must be a finite number, got 'inf'"),
        ({"epsilon": True}, "epsilon must be a number, got the truth value True"),
        ({"epsilon": "much"}, "epsilon must be a finite number, got 'much'"),
        ({"epsilon": 1e10}, "epsilon must lie between 0.000000001 and 10^9, got 10000000000.0"),
        ({"epsilon": 1e-10}, "epsilon must lie between 0.000000001 and 10^9, got 1e-10"),
        ({"rho": 0}, "rho must be above 0, got 0"),
        ({"rho": "1e-13"}, "rho must lie between 0.000000000001 and 10^9, got 1e-13"),
        ({}, "exactly one of epsilon and rho must be given, got neither"),
        ({"delta": 1e-9}, "exactly one of epsilon and rho must be given, got neither"),
        ({"epsilon": 1, "rho": 1}, "exactly one of epsilon and rho must be given, got both"),
        ({"rho": 1, "delta": 1e-9}, "delta goes with epsilon, not with rho"),
        ({"epsilon": 1, "delta": 1}, "delta must be at least 0 and below 1, got 1"),
        ({"epsilon": 1, "delta": -1e-9}, "delta must be at least 0 and below 1, got -1e-09"),
        ({"epsilon": 1, "delta": math.nan}, "delta must be a finite number, got 'nan'"),
        ({"epsilon": 1, "delta": "1e-400"}, "delta must lie between 1e-300 and 1 to convert a budget, got 0"),
        ({"epsilon": "1e-9", "delta": "1e-300"}, "epsilon 1e-9 with delta 1e-300 is worth less than rho 1e-12"),
    ],
)
def test_a_bad_setting_is_refused_in_one_sentence(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError) as caught:
        requested_budget(**settings)  # type: ignore[arg-type]

    message = str(caught.value)
    assert message.startswith(sentence)
    assert "; " in message
    assert "\n" not in message


def test_epsilon_alone_is_pure_and_zero_delta_changes_nothing() -> None:
    alone = read_request(epsilon=0.1)
    with_zero = read_request(epsilon=0.1, delta=0)

    assert alone.budget == Budget("pure", Fraction(1, 10))
    assert alone == with_zero
    assert alone.delta is None


def test_epsilon_with_delta_is_paid_in_rho_and_remembers_what_was_asked() -> None:
    request = read_request(epsilon=1, delta=1e-9)

    assert request.budget.notion == "zcdp"
    assert 0 < request.budget.rho < Fraction(1, 2)
    assert (request.epsilon, request.delta, request.rho) == (1, Fraction(1, 10**9), None)


def test_shares_sum_to_the_whole_exactly() -> None:
    whole = Budget.pure("0.1")

    parts = whole.split([1] * 7 + [Fraction(1, 3)])

    assert sum((part.amount for part in parts), Fraction(0)) == whole.amount
    assert len(parts) == 8


@pytest.mark.parametrize("shares", [[], [0, 0], [1, -1]])
def test_shares_that_divide_nothing_are_refused(shares: list[int]) -> None:
    with pytest.raises(ParameterError, match="shares of a budget must be at least 0 and not all 0"):
        Budget.pure(1).split(shares)


def test_a_budget_never_gets_negative() -> None:
    with pytest.raises(BudgetError, match=r"epsilon 0\.1 cannot pay epsilon 0\.2"):
        _ = Budget.pure(0.1) - Budget.pure(0.2)
    with pytest.raises(BudgetError, match="cannot be negative"):
        Budget("pure", Fraction(-1))


def test_the_two_notions_do_not_mix() -> None:
    pure, zcdp = Budget.pure(1), Budget.zcdp(1)

    with pytest.raises(BudgetError, match="cannot be added"):
        _ = pure + zcdp
    with pytest.raises(ParameterError, match="no epsilon"):
        _ = zcdp.epsilon
    with pytest.raises(ParameterError, match="no rho"):
        _ = pure.rho
    assert pure.as_zcdp() == Budget.zcdp("1/2")
    assert zcdp.as_zcdp() == zcdp


def test_a_float_cannot_slip_in_as_an_amount() -> None:
    with pytest.raises(ParameterError, match="must be a Fraction, got a float"):
        Budget("pure", 0.1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must be 'pure' or 'zcdp'"):
        Budget("renyi", Fraction(1))  # type: ignore[arg-type]
