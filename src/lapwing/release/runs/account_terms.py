"""Accounts of a ledger as their owner opens and changes them, where policies allow it: for commands and the studio."""

import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from lapwing.errors import BudgetError
from lapwing.kernel.budget import accounts
from lapwing.kernel.budget.accounts import Balance, delta_text
from lapwing.kernel.budget.budget import Budget, Notion, Number, as_text
from lapwing.kernel.budget.chain import SELECTION_UNITS, UNITS, Entry, tampering_error
from lapwing.kernel.budget.conversions import certificate_epsilons, epsilon_for
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.budget.store import Place, is_address, store_of
from lapwing.on_demand import extra

POPULATION: Final = "population"  # of the details of an account's first entry


def open_account(
    ledger: Place,
    dataset: str,
    *,
    unit: Notion,
    limit: Number,
    delta: Number | None,
    selection_delta: Number | None,
    relation: str,
    privacy_unit: str,
    policy: Path | None = None,
    population: str | None = None,
) -> Balance:
    """Open the account of a data set for good; the ledger is made where there is none.

    policy: a file of rules that is kept in the account; population: whose data these are, kept likewise, so that what
    is spent on its accounts is summed; the others are those of `Ledger.init`.
    """
    # Checked here too, so that a refused account does not leave a new ledger file behind.
    accounts.check_name("the name of a data set", dataset)
    terms = accounts.checked_terms(unit, delta, relation, privacy_unit)
    allowance = Fraction(accounts.allowance_units(selection_delta, unit, terms["delta"]), SELECTION_UNITS)
    stated = None if terms["delta"] is None else Fraction(terms["delta"]) - allowance
    kept = None if policy is None else extra("policy").read_policy(policy)
    named = {"neighbours": relation, "privacyUnits": privacy_unit}
    policies = extra("policy").in_force() if kept is None else (*extra("policy").in_force(), kept)
    extra("policy").check_limit(_amount(limit, unit, stated), allowance, policies, dataset, named)
    notes: dict[str, object] = {} if kept is None else {extra("policy").KEY: kept.to_dict()}
    if population is not None:
        accounts.check_name("the population", population)
        notes[POPULATION] = population
        if store_of(ledger).exists(ledger):
            book = Ledger.open(ledger)
            held = [book.balance(each) for each in _of_population(book, population)]
            _check_kind([(relation, privacy_unit), *[(each.relation, each.privacy_unit) for each in held]])
    return Ledger.create_or_open(ledger).init(
        dataset,
        unit=unit,
        limit=limit,
        delta=terms["delta"],
        selection_delta=selection_delta,
        relation=relation,
        privacy_unit=privacy_unit,
        notes=notes,
    )


def everywhere(place: str) -> str:
    """Return the address of a database as it is, and the path of a file as it is from every folder."""
    return place if is_address(place) else os.path.abspath(place)


def change_limit(ledger: Place, dataset: str | None, limit: Number) -> Balance:
    """Change the limit of a data set, as far as policies allow a higher one."""
    book = Ledger.open(ledger)
    held = book.balance(dataset)
    wanted = _amount(limit, held.unit, held.limit_delta)
    if wanted.amount > held.limit:
        policies = (*extra("policy").in_force(), *extra("policy").recorded_policy(book.opening(held.dataset)))
        terms: Mapping[str, str] = {}
        extra("policy").check_limit(wanted, held.selection_delta, policies, held.dataset, terms)
    return book.set_limit(held.dataset, limit)


def _amount(limit: Number, unit: Notion, delta: Fraction | None) -> Budget:
    """Return a limit as the ledger counts it."""
    return Budget(unit, Fraction(accounts.limit_units(limit, unit, delta), UNITS[unit]))


def promise_text(balance: Balance) -> str:
    """Say what everything together promises, the deltas of selections included; of a "zcdp" account."""
    if balance.delta is None or balance.limit_delta is None:
        return f"rho {as_text(balance.limit)}, but for a chance of {delta_text(balance.selection_delta)}"
    step = Fraction(1, 10**6)
    epsilon = 0 if balance.limit == 0 else -(-epsilon_for(balance.limit, balance.limit_delta) // step) * step
    return f"epsilon {as_text(Fraction(epsilon))} at delta {delta_text(balance.delta)}"


def together(found: Sequence[Balance]) -> str:
    """Say how far whoever is in the tables of several accounts is protected, by what was spent on all of them.

    The δ of selections are added.
    """
    _check_kind([(each.relation, each.privacy_unit) for each in found])
    names = ", ".join(each.dataset for each in found)
    selections = sum((each.selection_spent for each in found), Fraction(0))
    chance = f", and except with probability {as_text(selections)}" if selections else ""
    return f"Whoever is in all of {names}: {sum_text([Budget(each.unit, each.spent) for each in found])}{chance}."


def sum_text(budgets: Sequence[Budget]) -> str:
    """Return what budgets come to as text.

    Pure ε adds up; where one is in ρ, so does ρ, to which a pure ε adds its half square.
    """
    if all(each.notion == "pure" for each in budgets):
        return f"epsilon {as_text(sum((each.epsilon for each in budgets), Fraction(0)))}"
    rho = sum((each.as_zcdp().rho for each in budgets), Fraction(0))
    told = "; ".join(
        f"epsilon {as_text(epsilon)} at delta {float(delta):g}" for delta, epsilon in certificate_epsilons(rho)
    )
    return f"rho {as_text(rho)} ({told})"


def by_population(book: Ledger, names: Sequence[str]) -> Iterator[str]:
    """Say of each population of these data sets that has several accounts what was spent on all of them together."""
    for each in dict.fromkeys(population_of(book.opening(name)) for name in names):
        found = [] if each is None else _of_population(book, each)
        if len(found) > 1:
            yield f"Population {each}. {together([book.balance(name) for name in found])}"


def population_of(opened: Entry) -> str | None:
    """Return whose data an account is for, from the entry that opened it; None where its owner did not say."""
    kept = opened.details.get(POPULATION)
    if kept is None or isinstance(kept, str):
        return kept
    raise tampering_error(f"the population in entry {opened.number}")


def _of_population(book: Ledger, population: str) -> list[str]:
    """Return the data sets of a population."""
    return [each for each in book.datasets() if population_of(book.opening(each)) == population]


def _check_kind(terms: Sequence[tuple[str, str]]) -> None:
    """Refuse accounts that do not add up, by relation and privacy unit of each."""
    if len({(relation, unit == "row") for relation, unit in terms}) > 1:
        raise BudgetError(
            "budgets add up under one neighbour relation, and for rows or for people; name accounts of one kind",
            code="LW418",
        )
