"""What a report says of the promise: the same chances as the certificate, from one function."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import lapwing as lw
from helpers.saved import small_saved
from lapwing.extras.evaluate.report.promise import promise_section
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.model.certificate.attack import most_found, most_right, up
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.present.attacks import detail_facts
from lapwing.present.document import Table

ALARMS = (0.001, 0.01, 0.05, 0.1, 0.5)
ROUNDING = 1e-12
DELTAS = [Fraction(1, 10**power) for power in (1, 2, 3, 4, 6, 9)]
SCHEMA = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
DATA = pl.DataFrame({"flag": [True, False] * 50})


def worst_pair(epsilon, delta):
    """Return the two laws on four outcomes that meet (epsilon, delta) with equality everywhere."""
    rest = (1 - delta) / (1 + math.exp(epsilon))
    return np.array([delta, rest * math.exp(epsilon), rest, 0]), np.array([0, rest, rest * math.exp(epsilon), delta])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1])
def test_the_bounds_are_those_of_the_worst_pair_of_laws(epsilon, delta):
    with_row, without = worst_pair(epsilon, delta)

    # Neyman and Pearson: outcomes are accused in the order of their likelihood ratio, the last one by a coin.
    alarms, found = np.cumsum([0, *without]), np.cumsum([0, *with_row])
    best = [float(np.interp(alarm, alarms, found)) if alarm > 0 else 0 for alarm in ALARMS]
    right = float(np.maximum(with_row, without).sum() / 2)

    total, lists = Budget.pure(str(epsilon)), Fraction(str(delta))
    assert most_right(total, lists) == pytest.approx(right, abs=ROUNDING)
    assert [most_found(total, alarm, lists) for alarm in ALARMS] == pytest.approx(best, abs=ROUNDING)


def test_nothing_is_ruled_out_by_a_huge_budget_and_all_by_an_empty_one():
    assert most_right(Budget.pure(10**6)) == most_right(Budget.zcdp(10**6)) == 1.0
    assert most_right(Budget("pure", Fraction(0))) == most_right(Budget("zcdp", Fraction(0))) == 0.5
    assert most_right(Budget("zcdp", Fraction(0)), Fraction(1, 10)) == 0.55


@pytest.mark.parametrize("rho", ["1e-6", "0.0001", "0.015", "0.5", "8"])
def test_the_bounds_for_rho_lie_between_gaussian_noise_and_every_epsilon_at_some_delta(rho):
    total, amount = Budget.zcdp(rho), Fraction(rho)
    pairs = [(float(delta), float(epsilon_for(amount, delta))) for delta in DELTAS]
    most = [min((1 + d * math.exp(-e)) / (1 + math.exp(-e)) for d, e in pairs)]
    most += [min(math.exp(min(e, 700)) * f + d for d, e in pairs) for f in ALARMS]

    found = [most_right(total), *(most_found(total, alarm) for alarm in ALARMS)]

    reach = math.sqrt(2 * float(amount))  # two normal laws, so many deviations apart
    least = [norm.cdf(reach / 2), *(norm.cdf(norm.ppf(alarm) + reach) for alarm in ALARMS)]
    # A list of orders is off by less than 0.2 % from all of them.
    assert all(low <= each <= 1.002 * high for low, each, high in zip(least, found, most, strict=True))


@pytest.mark.parametrize("asked", [{"epsilon": 1}, {"epsilon": 3, "delta": "1e-6"}, {"rho": "0.4"}], ids=str)
def test_certificate_and_report_state_one_number_for_one_attack(asked):
    release = lw.synthesize(DATA, SCHEMA, seed=1, mechanism=lw.Independent.small(), **asked)
    certificate = release.certificate

    (accusing, guessing) = [each for each in promise_section(certificate).folded if isinstance(each, Table)]
    curve = next(detail_facts(certificate.total, certificate.delta, ())).text
    of_certificate = {alarm: found for found, alarm in re.findall(r"([\d.]+ %) at ([\d.]+ %)", curve)}

    assert len(accusing.lines) == 4
    assert all(of_certificate[alarm] == found for alarm, found in accusing.lines)
    assert guessing.lines[0][1] == up(most_right(certificate.total))
    assert [row[1] for row in guessing.lines] == sorted((row[1] for row in guessing.lines), key=lambda x: float(x[:-2]))


def test_lists_of_texts_count_in_the_report_and_say_nothing_of_several_units():
    paid = small_saved().certificate
    certificate = replace(paid, delta=Fraction(1, 100), epsilons=(), requested=RequestedBudget(rho=paid.total.amount))

    accusing, guessing = [each for each in promise_section(certificate).folded if isinstance(each, Table)]

    assert accusing.lines[0][1] == up(most_found(certificate.total, 0.001, Fraction(1, 100)))
    assert {row[2] for row in guessing.lines} == {"-"}


def test_percentages_are_rounded_up():
    for share in np.random.default_rng(0).random(200):
        text = up(share)
        assert float(text.removesuffix(" %")) >= 100 * share
        assert float(text.removesuffix(" %")) - 100 * share < 0.1 + ROUNDING
