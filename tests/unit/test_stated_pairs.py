"""A certificate states no (δ, ε) that its total is not worth, whoever worked it out."""

from fractions import Fraction

import pytest

import lapwing as lw
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for, rho_for
from lapwing.model.certificate.promise import check_pairs

RHO = Fraction(1, 10)
STEP = Fraction(1, 10**9)
AT, OWN = Fraction(1, 10**6), Fraction(1, 10**7)
NOTHING = (None, None)
WORTH = epsilon_for(RHO, AT - OWN)
REQUEST = (Fraction(1), AT)
GRANTED = rho_for(Fraction(1), AT - OWN)


def stated(epsilon, *, rho=RHO, request=NOTHING, delta=OWN):
    """Check one pair at a δ, of which selections have a part."""
    check_pairs(((AT, epsilon),), Budget.zcdp(rho), delta, request)


def test_what_the_total_is_worth_and_more_may_be_stated():
    stated(WORTH)
    stated(WORTH + 1)


@pytest.mark.parametrize("epsilon", [WORTH - STEP, epsilon_for(RHO, AT), Fraction(0)], ids=["less", "whole δ", "0"])
def test_less_than_the_total_is_worth_beside_selections_is_refused(epsilon):
    assert epsilon < WORTH

    with pytest.raises(lw.ParameterError, match="must not be below what its total is worth"):
        stated(epsilon)


def test_a_request_holds_where_it_grants_the_total_and_nowhere_else():
    stated(Fraction(1), rho=GRANTED, request=REQUEST)

    for rho, request in ((GRANTED + Fraction(1, 10**6), REQUEST), (GRANTED * 2, (Fraction(1), AT))):
        with pytest.raises(lw.ParameterError, match="must not be below"):
            stated(Fraction(1), rho=rho, request=request)
    with pytest.raises(lw.ParameterError, match="must not be below"):
        stated(Fraction(1, 2), rho=GRANTED, request=REQUEST)


def test_selections_must_leave_some_of_each_delta():
    with pytest.raises(lw.ParameterError, match="part of the delta"):
        stated(Fraction(100), delta=AT)
