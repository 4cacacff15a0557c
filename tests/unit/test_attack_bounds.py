"""What the best attack finds under a promise: never above the bounds, and never below what an attack attains."""

import math
from fractions import Fraction

import pytest
from scipy.stats import norm

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.model.certificate.attack import most_found
from lapwing.present.attacks import attack_fact

ALARMS = [0.0, 1e-4, 0.01, 0.1, 0.5, 0.9, 1.0]


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
@pytest.mark.parametrize("alarms", ALARMS)
def test_randomized_response_attains_the_bound_of_pure_promises(epsilon, alarms):
    """Its likelihood ratio is e**ε or e**-ε: the trade-off is two straight lines."""
    e = math.exp(float(epsilon))
    attained = min(alarms * e, 1 - (1 - alarms) / e)

    assert most_found(Budget.pure(epsilon), alarms) == pytest.approx(attained)


@pytest.mark.parametrize("rho", ["0.0001", "0.015", "0.5", "8"])
@pytest.mark.parametrize("alarms", ALARMS)
def test_gaussian_noise_never_finds_more_than_its_rho_allows(rho, alarms):
    attained = norm.cdf(norm.ppf(alarms) + math.sqrt(2 * float(rho)))
    found = most_found(Budget.zcdp(rho), alarms)

    assert attained <= found + 1e-12
    assert found <= max(2.2 * attained, 1e-4)


def test_the_delta_of_lists_counts():
    assert most_found(Budget.pure(1), 0.0, Fraction(1, 100)) == pytest.approx(0.01)
    assert most_found(Budget.zcdp("0.015"), 0.01, Fraction(1, 100)) > most_found(Budget.zcdp("0.015"), 0.01)


@pytest.mark.parametrize("alarms", [-0.1, 1.1, math.nan])
def test_what_is_no_probability_is_refused(alarms):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        most_found(Budget.pure(1), alarms)


def test_the_sentence_names_the_unit_and_the_relation():
    said = attack_fact(Budget.pure(1), Fraction(0), "add-remove", "patient:3").text

    assert "that a value of patient is in the table" in said
    assert "in at most 2.8 % of cases at 1 % false alarms or 27.2 % of cases at 10 % false alarms" in said
    assert "two versions of a row" in attack_fact(Budget.pure(1), Fraction(0), "replace-one", "row").text
