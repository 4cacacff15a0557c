import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers.saved import small_saved
from lapwing.judge.report.promise import chance, pairs_of, percent_up
from lapwing.kernel.budget.budget import Budget

ALARMS = (0.001, 0.01, 0.05, 0.1, 0.5)
ROUNDING = 1e-12


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

    bound = chance([(delta, epsilon)], ALARMS)
    assert bound.right == pytest.approx(right, abs=ROUNDING)
    assert bound.found == pytest.approx(best, abs=ROUNDING)


def test_nothing_is_ruled_out_without_a_promise_and_all_with_an_empty_budget():
    assert chance([], ALARMS) == chance([(0.0, 1e6)], ALARMS)
    assert chance([]).right == 1.0
    assert chance([(0.0, 0.0)], ALARMS).right == 0.5
    assert chance([(0.0, 0.0)], ALARMS).found == pytest.approx(ALARMS, abs=ROUNDING)


def test_the_bound_for_rho_is_above_what_the_gaussian_mechanism_gives_away_and_below_twice_as_much():
    certificate = small_saved().certificate
    rho = float(certificate.total.rho)

    found = chance(pairs_of(certificate)).right - 0.5
    exact = math.erf(math.sqrt(2 * rho) / 2 / math.sqrt(2)) / 2  # two normal laws sqrt(2 rho) deviations apart

    assert exact < found < 2 * exact


def test_releases_add_up_and_units_do_so_in_epsilon_and_squared_in_rho():
    zcdp = small_saved().certificate
    pure = replace(
        zcdp,
        lines=(),
        total=Budget("pure", Fraction(0)),
        requested_epsilon=Fraction(1),
        requested_delta=None,
        epsilons=(),
    )

    assert pairs_of(pure, releases=3, units=5) == [(0.0, 0.0)]
    assert pairs_of(zcdp, releases=9) == pairs_of(zcdp, units=3)
    rights = [chance(pairs_of(zcdp, releases=count)).right for count in (1, 2, 5, 10**12)]
    assert rights == sorted(rights)
    assert rights[0] < rights[1] < rights[-1] == 1.0


def test_percentages_are_rounded_up():
    for share in np.random.default_rng(0).random(200):
        text = percent_up(share)
        assert float(text.removesuffix(" %")) >= 100 * share
        assert float(text.removesuffix(" %")) - 100 * share < 0.1 + ROUNDING
