"""The ledger against a plain model, for random sequences of debits (with selections or without) and limits."""

import math
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.errors import BudgetError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger

TERMS = {"relation": "replace-one", "privacy_unit": "person_id:3"}
STEP = {"pure": 10**9, "zcdp": 10**12}
DELTA_STEP = 10**18
ALLOWANCE = Fraction(1, 1000)

amounts = st.fractions(min_value=Fraction(1, 10**10), max_value=2, max_denominator=10**13)
budgets = st.builds(Budget, st.sampled_from(["pure", "zcdp"]), amounts)
deltas = st.just(Fraction(0)) | st.fractions(min_value=0, max_value=ALLOWANCE * 2, max_denominator=10**20)
debits = st.tuples(st.integers(0, 9), budgets, deltas)
limits = st.tuples(st.just(0), st.fractions(min_value=0, max_value=4, max_denominator=10**13), st.just(Fraction(0)))


class Model:
    """What a ledger of one data set should do, in exact sums over a dictionary."""

    def __init__(self, unit: str, limit: Fraction, allowance: Fraction) -> None:
        self.unit, self.limit, self.allowance = unit, limit, allowance
        self.paid: dict[int, tuple[Budget, Fraction]] = {}
        self.spent = self.selection_spent = Fraction(0)

    def debit(self, number: int, budget: Budget, delta: Fraction) -> bool:
        """Pay for a release and return whether that is allowed."""
        if self.unit == "pure" and budget.notion == "zcdp":
            return False
        if number in self.paid:
            return self.paid[number] == (budget, delta)
        exact = budget.amount if budget.notion == self.unit else budget.amount**2 / 2
        cost = Fraction(math.ceil(exact * STEP[self.unit]), STEP[self.unit])
        selected = Fraction(math.ceil(delta * DELTA_STEP), DELTA_STEP)
        if self.spent + cost > self.limit or self.selection_spent + selected > self.allowance:
            return False
        self.paid[number] = (budget, delta)
        self.spent += cost
        self.selection_spent += selected
        return True

    def set_limit(self, limit: Fraction) -> bool:
        """Change the limit and return whether that is allowed."""
        rounded = Fraction(math.floor(limit * STEP[self.unit]), STEP[self.unit])
        if rounded < self.spent:
            return False
        self.limit = rounded
        return True


@settings(max_examples=60)
@given(
    st.sampled_from([("pure", Fraction(0)), ("zcdp", Fraction(0)), ("zcdp", ALLOWANCE)]),
    st.lists(debits | limits, max_size=12),
)
def test_no_sequence_of_debits_and_limits_ever_overspends(
    terms: tuple[str, Fraction], steps: list[tuple[int, Budget | Fraction, Fraction]]
) -> None:
    unit, allowance = terms
    model = Model(unit, Fraction(3), allowance)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create_or_open(Path(folder, "budget.db"))
        ledger.init("data", unit=unit, limit=3, selection_delta=allowance, **TERMS)

        for number, value, delta in steps:
            if isinstance(value, Budget):
                allowed = model.debit(number, value, delta)
                done = agrees(partial(ledger.debit, "data", f"r{number}", value, **TERMS, description={}, delta=delta))
            else:
                allowed = model.set_limit(value)
                done = agrees(partial(ledger.set_limit, "data", value))

            balance = ledger.balance("data")
            assert done == allowed
            assert (balance.limit, balance.spent) == (model.limit, model.spent)
            assert (balance.selection_delta, balance.selection_spent) == (allowance, model.selection_spent)
            assert 0 <= balance.spent <= balance.limit
            assert 0 <= balance.selection_spent <= allowance
        ledger.verify()


def agrees(action: Callable[[], object]) -> bool:
    """Return whether the ledger does what it is asked."""
    try:
        action()
    except BudgetError:
        return False
    return True
