"""What releases of one table cost together in a process that keeps no ledger: remembered, and told of.

As in a ledger, tables are never compared: releases add up whose columns are the same, or some of them, under one
relation, and of rows or of people.
"""

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from lapwing.errors import LapwingWarning, ParameterError, SpendingWarning, warn
from lapwing.kernel.budget.accounts import delta_text
from lapwing.kernel.budget.budget import Budget, as_text
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.kernel.terms import Relation
from lapwing.release.runs.shares import USUAL_DELTA

_LOCK: Final = threading.Lock()
_STEP: Final = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaccountedRun:
    """What one run without a ledger cost: of which columns, and under which terms; delta: that it was asked for at.

    selected: the δ of its selections.
    """

    columns: frozenset[str]
    relation: Relation
    is_of_rows: bool
    budget: Budget
    delta: Fraction | None
    selected: Fraction

    def adds_to(self, other: "UnaccountedRun") -> bool:
        """Return whether both are of one table, as far as can be told without looking at any."""
        alike = (self.relation, self.is_of_rows) == (other.relation, other.is_of_rows)
        return alike and (self.columns <= other.columns or other.columns <= self.columns)


_SPENT: Final[dict[str, UnaccountedRun]] = {}
_UNTOLD: Final[dict[str, str]] = {}


def remember(release_id: str, spent: UnaccountedRun) -> None:
    """Remember what a run is paid for without a ledger, once however often it is resumed."""
    with _LOCK:
        if release_id in _SPENT:
            return
        _SPENT[release_id] = spent
        alike = {each: other for each, other in _SPENT.items() if other.adds_to(spent)}
        if len(alike) > 1:
            _UNTOLD[release_id] = _run_text(spent, alike)


def tell() -> None:
    """Warn of what was not yet told; a filter that makes errors of warnings loses no release."""
    with _LOCK:
        said = [*_UNTOLD.values()]
        _UNTOLD.clear()
    for each in said:
        with suppress(LapwingWarning):
            warn(SpendingWarning(each, code="LW908"))


def _run_text(last: UnaccountedRun, alike: Mapping[str, UnaccountedRun]) -> str:
    sums = _sum_budgets(last, [*alike.values()])
    return (
        f"{len(alike)} releases of these columns were paid for in this process and none is in a ledger; if they are of "
        f"the same people, they cost {sums} together; give a ledger, which adds up and keeps a limit"
    )


def _sum_budgets(last: UnaccountedRun, alike: list[UnaccountedRun]) -> str:
    """Return the sum of budgets in ε, at the δ of the last one where ρ adds up; the δ of selections are added."""
    if all(each.budget.notion == "pure" for each in alike):
        return f"epsilon {as_text(sum((each.budget.epsilon for each in alike), Fraction(0)))}"
    rho = sum((each.budget.as_zcdp().rho for each in alike), Fraction(0))
    delta = (last.delta or Fraction(USUAL_DELTA)) - last.selected
    try:
        epsilon = -(-epsilon_for(rho, delta) // _STEP) * _STEP
    except ParameterError:
        return f"rho {as_text(rho)}"  # too much to be converted
    whole = delta + sum((each.selected for each in alike), Fraction(0))
    return f"epsilon {as_text(Fraction(epsilon))} at delta {delta_text(whole)}"
