"""The ledger against a plain model, for random sequences of debits and limits."""

import math
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.budget.budget import Budget
from lapwing.budget.ledger import Ledger
from lapwing.errors import BudgetError

TERMS = {"relation": "replace-one", "privacy_unit": "person_id:3"}
STEP = {"pure": 10**9, "zcdp": 10**12}

amounts = st.fractions(min_value=Fraction(1, 10**10), max_value=2, max_denominator=10**13)
budgets = st.builds(Budget, st.sampled_from(["pure", "zcdp"]), amounts)
debits = st.tuples(st.integers(0, 9), budgets)
limits = st.tuples(st.just(0), st.fractions(min_value=0, max_value=4, max_denominator=10**13))


class Model:
    """What a ledger of one data set should do, in exact sums over a dictionary."""

    def __init__(self, unit: str, limit: Fraction) -> None:
        self.unit, self.limit = unit, limit
        self.paid: dict[int, tuple[Fraction, Budget]] = {}

    @property
    def spent(self) -> Fraction:
        return sum((cost for cost, _ in self.paid.values()), Fraction(0))

    def debit(self, number: int, budget: Budget) -> bool:
        """Pay for a release and return whether that is allowed."""
        if self.unit == "pure" and budget.notion == "zcdp":
            return False
        if number in self.paid:
            return self.paid[number][1] == budget
        exact = budget.amount if budget.notion == self.unit else budget.amount**2 / 2
        cost = Fraction(math.ceil(exact * STEP[self.unit]), STEP[self.unit])
        if self.spent + cost > self.limit:
            return False
        self.paid[number] = (cost, budget)
        return True

    def set_limit(self, limit: Fraction) -> bool:
        """Change the limit and return whether that is allowed."""
        rounded = Fraction(math.floor(limit * STEP[self.unit]), STEP[self.unit])
        if rounded < self.spent:
            return False
        self.limit = rounded
        return True


@settings(max_examples=60)
@given(st.sampled_from(["pure", "zcdp"]), st.lists(debits | limits, max_size=12))
def test_no_sequence_of_debits_and_limits_ever_overspends(
    unit: str, steps: list[tuple[int, Budget | Fraction]]
) -> None:
    model = Model(unit, Fraction(3))
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create_or_open(Path(folder, "budget.db"))
        ledger.init("data", unit=unit, limit=3, **TERMS)

        for number, value in steps:
            if isinstance(value, Budget):
                allowed = model.debit(number, value)
                done = agrees(lambda n=number, v=value: ledger.debit("data", f"r{n}", v, **TERMS, description={}))
            else:
                allowed = model.set_limit(value)
                done = agrees(lambda v=value: ledger.set_limit("data", v))

            balance = ledger.balance("data")
            assert done == allowed
            assert (balance.limit, balance.spent) == (model.limit, model.spent)
            assert 0 <= balance.spent <= balance.limit
        ledger.verify()


def agrees(action: Callable[[], object]) -> bool:
    """Return whether the ledger does what it is asked."""
    try:
        action()
    except BudgetError:
        return False
    return True
