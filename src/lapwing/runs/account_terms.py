"""Accounts of a ledger as their owner opens and changes them, where policies allow it: for commands and the studio."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from lapwing.errors import BudgetError
from lapwing.kernel.budget import accounts
from lapwing.kernel.budget.accounts import Balance
from lapwing.kernel.budget.budget import Budget, Notion, Number, as_text
from lapwing.kernel.budget.chain import SELECTION_UNITS, UNITS
from lapwing.kernel.budget.conversions import certificate_epsilons
from lapwing.kernel.budget.ledger import Ledger
from lapwing.runs.policy import KEY, check_limit, in_force, read_policy, recorded


def open_account(
    ledger: Path,
    dataset: str,
    *,
    unit: Notion,
    limit: Number,
    delta: Number | None,
    selection_delta: Number | None,
    relation: str,
    privacy_unit: str,
    policy: Path | None = None,
) -> Balance:
    """Open the account of a data set for good; the ledger is made where there is none.

    policy: a file of rules that is kept in the account; the others are those of `Ledger.init`.
    """
    # Checked here too, so that a refused account does not leave a new ledger file behind.
    accounts.check_name("the name of a data set", dataset)
    terms = accounts.checked_terms(unit, delta, relation, privacy_unit)
    allowance = Fraction(accounts.allowance_units(selection_delta, unit, terms["delta"]), SELECTION_UNITS)
    stated = None if terms["delta"] is None else Fraction(terms["delta"]) - allowance
    kept = None if policy is None else read_policy(policy)
    named = {"neighbours": relation, "privacyUnits": privacy_unit}
    policies = in_force() if kept is None else (*in_force(), kept)
    check_limit(_amount(limit, unit, stated), allowance, policies, dataset, named)
    return Ledger.create_or_open(ledger).init(
        dataset,
        unit=unit,
        limit=limit,
        delta=terms["delta"],
        selection_delta=selection_delta,
        relation=relation,
        privacy_unit=privacy_unit,
        notes=None if kept is None else {KEY: kept.to_dict()},
    )


def change_limit(ledger: Path, dataset: str | None, limit: Number) -> Balance:
    """Change the limit of a data set, as far as policies allow a higher one."""
    book = Ledger.open(ledger)
    held = book.balance(dataset)
    wanted = _amount(limit, held.unit, held.limit_delta)
    if wanted.amount > held.limit:
        policies = (*in_force(), *recorded(book.history(held.dataset)))
        terms: Mapping[str, str] = {}
        check_limit(wanted, held.selection_delta, policies, held.dataset, terms)
    return book.set_limit(held.dataset, limit)


def _amount(limit: Number, unit: Notion, delta: Fraction | None) -> Budget:
    """Return a limit as the ledger counts it."""
    return Budget(unit, Fraction(accounts.limit_units(limit, unit, delta), UNITS[unit]))


def together(found: Sequence[Balance]) -> str:
    """Say how far whoever is in the tables of several accounts is protected, by what was spent on all of them.

    Pure ε adds up; where an account counts in ρ, so does ρ, to which a pure ε adds its half square. The δ of selections
    are added.
    """
    if len({each.relation for each in found}) > 1 or len({each.privacy_unit == "row" for each in found}) > 1:
        raise BudgetError(
            "budgets add up under one neighbour relation, and for rows or for people; name accounts of one kind",
            code="LW418",
        )
    names = ", ".join(each.dataset for each in found)
    selections = sum((each.selection_spent for each in found), Fraction(0))
    chance = f", and except with probability {as_text(selections)}" if selections else ""
    if all(each.unit == "pure" for each in found):
        epsilon = sum((each.spent for each in found), Fraction(0))
        return f"Whoever is in all of {names}: epsilon {as_text(epsilon)}{chance}."
    rho = sum((each.spent if each.unit == "zcdp" else each.spent**2 / 2 for each in found), Fraction(0))
    told = "; ".join(
        f"epsilon {as_text(epsilon)} at delta {float(delta):g}" for delta, epsilon in certificate_epsilons(rho)
    )
    return f"Whoever is in all of {names}: rho {as_text(rho)} ({told}){chance}."
