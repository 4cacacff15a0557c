"""ε in other words: what stands there is what the laws of the noise say, and never better than the accounting."""

import math
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from scipy.stats import norm

import lapwing as lw
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for, rho_for
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.model.certificate.attack import RARE, gaussian_bound, most_found, tail, trade_off, up
from lapwing.present.attacks import attack_fact, detail_facts
from lapwing.present.certificates import detailed_text

SCHEMA = {"fields": [{"name": name, "type": "boolean"} for name in ("smoker", "insured", "urban")]}
ROWS = pl.DataFrame({name: [True, False] * 200 for name in ("smoker", "insured", "urban")})


def certificate(**budget):
    return lw.synthesize(ROWS, SCHEMA, mechanism="Adaptive", seed=1, **budget).certificate


def words_of(own):
    return [fact.line for fact in detail_facts(own.total, own.delta, own.lines)]


@pytest.mark.parametrize("least", [1, 2, 10])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("parameter", ["0.3", "4", "100"])
def test_tails_are_sums_over_the_law(kind, parameter, least):
    law = NoiseLaw(kind, Fraction(parameter))
    scale = float(law.parameter)
    weights = {
        z: math.exp(-abs(z) / scale) if kind == "laplace" else math.exp(-(z**2) / (2 * scale))
        for z in range(-4000, 4001)
    }
    expected = math.fsum(weight for z, weight in weights.items() if z >= least) / math.fsum(weights.values())

    assert tail(law, least) == pytest.approx(expected, rel=1e-9)


def test_wide_gaussian_noise_is_close_to_the_integral():
    law = NoiseLaw("gaussian", Fraction(10**10))
    assert tail(law, 10) == pytest.approx(norm.sf(9.5 / 1e5), rel=1e-6)


@pytest.mark.parametrize("rho", ["0.0001", "0.015", "0.5", "8"])
def test_the_gaussian_bound_covers_gaussian_noise_and_every_attack_that_rho_allows(rho):
    total = Budget.zcdp(rho)
    mu = gaussian_bound(total)

    assert math.sqrt(2 * float(rho)) <= mu <= 2 * math.sqrt(2 * float(rho))
    for alarms in (RARE, 1e-4, 0.0123, 0.1, 0.37, 0.5, 0.9):
        assert most_found(total, alarms) <= norm.cdf(norm.ppf(alarms) + mu) + 1e-9


@pytest.mark.parametrize("epsilon", ["0.1", "1", "6"])
def test_the_gaussian_bound_of_pure_promises_touches_them_where_both_errors_are_equal(epsilon):
    total, mu = Budget.pure(epsilon), gaussian_bound(Budget.pure(epsilon))
    equal = 1 / (1 + math.exp(float(epsilon)))

    assert most_found(total, equal) == pytest.approx(norm.cdf(norm.ppf(equal) + mu))
    for alarms in (1e-9, 1e-4, 0.01, 0.3, 0.8):
        assert most_found(total, alarms) <= norm.cdf(norm.ppf(alarms) + mu) + 1e-12


def test_the_gaussian_bound_of_a_promise_that_is_none_is_no_smaller_than_the_truth():
    near, far = gaussian_bound(Budget.pure(599)), gaussian_bound(Budget.pure(1000))
    assert near < far
    assert far >= 2 * math.sqrt(2 * 1000 - math.log(2 * math.pi * 2000))


def test_the_trade_off_rises_and_lists_of_texts_make_it_worse():
    curve = trade_off(Budget.zcdp("0.015"))
    worse = trade_off(Budget.zcdp("0.015"), Fraction(1, 100))

    assert [found for _, found in curve] == sorted(found for _, found in curve)
    assert all(alarms < found < more for (alarms, found), (_, more) in zip(curve, worse, strict=True))


def test_eight_deltas_are_those_of_the_conversion():
    own = certificate(epsilon=1, delta="1e-9")
    line = next(each for each in words_of(own) if each.startswith("Epsilon at delta: "))
    shown = dict(reversed(part.split(" at ")) for part in line.removeprefix("Epsilon at delta: ")[:-1].split(", "))

    assert len(shown) == 8
    for delta, epsilon in shown.items():
        exact = float(epsilon_for(own.total.rho, Fraction(delta)))
        assert exact <= float(epsilon) <= exact * 1.01 + 1e-3


def test_deltas_below_that_of_lists_promise_nothing():
    own = certificate(epsilon=1, delta="1e-3")
    said = [fact.line for fact in detail_facts(own.total, Fraction(1, 10**5), own.lines)]
    line = next(each for each in said if each.startswith("Epsilon at delta: "))

    assert line.count(" at 0.") + line.count(" at 1e") == 2


def test_pure_promises_hold_at_every_delta():
    assert "Epsilon at every delta: 2." in words_of(certificate(epsilon=2))


def test_small_cells_are_told_by_kind_of_table():
    own = certificate(epsilon=1, delta="1e-9")
    lines = [fact.text for fact in detail_facts(own.total, own.delta, own.lines) if fact.key == "small_cells"]
    law = next(line.noise for line in own.lines if len(line.columns) == 1)

    assert "noisy tables of 1 column (noise sd" in lines[0]
    assert "noisy tables of 2 columns (noise sd" in lines[1]
    assert f"counted as 0 or less in {100 * tail(law, 1):.0f} %" in lines[0]
    assert f"as 10 or more in {100 * tail(law, 10):.0f} %" in lines[0]


def test_the_sentences_stand_with_the_details_of_a_certificate():
    own = certificate(epsilon=1)
    said = detailed_text(own).splitlines()
    assert attack_fact(own.total, own.delta, own.relation, own.privacy_unit).line in said
    assert any(line.startswith("Gaussian: ") and "1.233." in line for line in said)


def test_the_figures_of_the_page_for_agencies_are_those_of_the_accounting():
    rows = [
        [cell.strip().removesuffix(" %").removesuffix(" % of cases") for cell in line.strip("|").split("|")]
        for line in (Path(__file__).parents[2] / "docs" / "agencies.md").read_text().splitlines()
        if line.startswith("| ") and line[2].isdigit()
    ]
    cells, attacks = rows[:3], rows[3:]

    law = NoiseLaw("gaussian", Fraction(25))
    for count, none, many in cells:
        at_most_none = 1 - tail(law, 1) if count == "0" else tail(law, int(count))
        assert (none, many) == (f"{100 * at_most_none:.0f}", f"{100 * tail(law, 10 - int(count)):.0f}")
    assert len(attacks) == 4
    for epsilon, pure, concentrated in attacks:
        rho = rho_for(Fraction(epsilon), Fraction(1, 10**9))
        for shown, total in ((pure, Budget.pure(epsilon)), (concentrated, Budget.zcdp(str(rho)))):
            assert float(shown) == float(up(most_found(total, 0.01)).removesuffix(" %"))
