"""Releases added up by Lapwing and by Google's dp-accounting, together with one of another tool.

Runs in the environment of ``test_conversion_against_dp_accounting.py``.
"""

import json
import math
from fractions import Fraction
from importlib.resources import files

import pytest

import lapwing as lw
from lapwing.kernel.budget.conversions import epsilon_for

dp_accounting = pytest.importorskip("dp_accounting", reason="needs requirements/oracle-dp-accounting.txt")
rdp = pytest.importorskip("dp_accounting.rdp")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

ADULT = files("lapwing") / "examples" / "adult.parquet"
SCHEMA = files("lapwing") / "examples" / "adult.schema.json"
ORDERS = [1 + math.exp(math.log(0.02) + step * math.log(5e6) / 20_000) for step in range(20_001)]


def paid(**asked):
    return lw.synthesize(str(ADULT), str(SCHEMA), mechanism="independent", seed=1, **asked).certificate


def accountant(found, *others):
    """Return dp-accounting's accountant of what a file says, and of more events."""
    relation = getattr(dp_accounting.NeighboringRelation, found["relation"])
    kept = rdp.RdpAccountant(ORDERS, relation)
    own = [getattr(dp_accounting, each["event"])(each["rho"], each["xi"]) for each in found["events"]]
    kept.compose(dp_accounting.ComposedDpEvent([*own, *others]))
    return kept


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_five_releases_of_two_tools_come_to_the_same_epsilon(neighbours):
    ours = [paid(neighbours=neighbours, **asked) for asked in ({"rho": "0.1"}, {"rho": "1/30"}, {"epsilon": "0.5"})]
    found = json.loads(json.dumps(ours[0].compose(*ours[1:])))
    theirs = [dp_accounting.ZCDpEvent(0.02), dp_accounting.GaussianDpEvent(10.0)]  # the second is 0.005-zCDP

    alone, all_five = accountant(found), accountant(found, *theirs)

    rho = sum(Fraction(each["rho"]) for each in found["events"])
    for pair in found["epsilons"]:
        delta, epsilon = Fraction(pair["delta"]["exact"]), float(Fraction(pair["epsilon"]["exact"]))
        assert pair["by"] == "addition" or alone.get_epsilon(float(delta)) == pytest.approx(epsilon, rel=2e-6)
        assert epsilon <= alone.get_epsilon(float(delta)) * (1 + 1e-9) + 2e-9
        expected = float(epsilon_for(rho + Fraction(25, 1000), delta))
        assert all_five.get_epsilon(float(delta)) == pytest.approx(expected, rel=2e-6)
