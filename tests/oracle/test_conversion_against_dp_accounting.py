"""The conversions against Google's dp-accounting, in an environment of its own.

python3.11 -m venv /tmp/oracle
/tmp/oracle/bin/python -m pip install --require-hashes -r requirements/oracle-dp-accounting.txt
PYTHONPATH=src /tmp/oracle/bin/python -m pytest tests/oracle/test_conversion_against_dp_accounting.py
"""

import math
from fractions import Fraction

import pytest

from lapwing.kernel.budget.conversions import epsilon_for, rho_for

dp_accounting = pytest.importorskip("dp_accounting", reason="needs requirements/oracle-dp-accounting.txt")
rdp = pytest.importorskip("dp_accounting.rdp")
pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

pytestmark = pytest.mark.oracle

RHOS = ["1e-6", "1e-3", "0.05", "0.5", "2", "50"]
DELTAS = ["1e-3", "1e-6", "1e-9", "1e-12"]


def oracle_epsilon(rho: str, delta: str) -> float:
    """Return the oracle's epsilon on a fine grid of orders: ln(alpha - 1) from ln(0.02) to ln(10^5), 20,000 steps."""
    orders = [1 + math.exp(math.log(0.02) + step * math.log(5e6) / 20_000) for step in range(20_001)]
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_accounting.ZCDpEvent(float(rho)))
    return float(accountant.get_epsilon(float(delta)))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_for_agrees_with_the_oracle(rho: str, delta: str) -> None:
    theirs = oracle_epsilon(rho, delta)

    ours = float(epsilon_for(Fraction(rho), Fraction(delta)))

    # Their grid of orders can only be worse than our optimum: by 1e-6 at most, its steps being 0.08 % of alpha - 1.
    # Where delta^2 > 1 - exp(-alpha rho) they use the bound by the KL divergence and reach exactly 0, which we do not.
    assert theirs == 0 or theirs - 1e-6 * (1 + theirs) <= ours <= theirs + 1.1e-9


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", ["1e-3", "0.05", "0.5", "2"])
def test_rho_for_undoes_the_oracle(rho: str, delta: str) -> None:
    epsilon = oracle_epsilon(rho, delta)

    back = float(rho_for(Fraction(str(epsilon)), Fraction(delta)))

    # d rho / d epsilon is below 1, so the tolerances are those above.
    assert float(rho) - 2e-12 <= back <= float(rho) + 1e-6 * (1 + epsilon)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("sigma", [0.7, 1.0, 4.0, 30.0])
def test_the_promise_holds_for_the_gaussian_mechanisms_whose_rho_it_is(sigma: float, delta: str) -> None:
    rho = 1 / (2 * Fraction(str(sigma)) ** 2)
    tight = dp_accounting.get_epsilon_gaussian(sigma, float(delta))
    discrete = pld.from_discrete_gaussian_mechanism(sigma, pessimistic_estimate=False)

    promised = float(epsilon_for(rho, Fraction(delta)))

    # zCDP forgets the exact law, so the promise is above the tight value, and by no more than 30 %.
    assert tight < promised < 1.3 * tight
    assert discrete.get_epsilon_for_delta(float(delta)) <= promised
