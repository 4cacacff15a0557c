"""A plan asks what the release asks, at the same costs, whatever the mechanism, relation and budget."""

import pytest

import lapwing as lw
from lapwing.mechanisms.registry import MECHANISMS
from mechanism_checks import fitting

MADE = [made for each in MECHANISMS.values() for made in (each.small(), each()) if made != lw.PrivateSampling()]
"""Of which the budgets pay for forty rows."""


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-9"}, {"rho": 500}], ids=str)
@pytest.mark.parametrize("mechanism", MADE, ids=repr)
def test_a_plan_asks_what_the_release_asks(mechanism, budget):
    data, schema = fitting(mechanism)
    for relation in mechanism.relations:
        settings = {"mechanism": mechanism, "neighbours": relation, "expected_rows": data.height, **budget}

        planned = lw.plan(schema, **settings)
        made = lw.synthesize(data, schema, seed=1, **settings).certificate

        # Which tables Adaptive chooses hangs on answers; how many misfits there are and one-way tables come first.
        first = 6 if mechanism.name == "Adaptive" and "rho" in budget else None
        assert planned.lines[:first] == made.lines[:first]
        assert planned.total.amount >= made.total.amount
        assert (planned.privacy_unit, dict(planned.settings)) == (made.privacy_unit, dict(made.settings))
