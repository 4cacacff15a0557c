"""What the owner chose for a release, read as the settings of one; and whether ledger and policies would allow it."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

from lapwing.errors import BudgetError, DataError, LapwingError, SchemaError
from lapwing.extras.office.policy import Policy, check_spending, in_force, naming_people, recorded_policy
from lapwing.extras.studio.jobs import Choices, Job
from lapwing.kernel.budget import accounts
from lapwing.kernel.budget.accounts import Balance
from lapwing.kernel.budget.chain import UNITS
from lapwing.kernel.budget.ledger import Ledger
from lapwing.model.certificate.cost_lines import budget_text
from lapwing.release.runs.reading import read_settings
from lapwing.release.runs.settings import Settings, spending_of
from lapwing.schema.changes import open_keys

_MOST_LETTERS: Final = 200
_MOST_DIGITS: Final = 40
MISFITS: Final = "0.1"
"""The share of misfits that ends a release, as everywhere."""


def number_in(text: str) -> Any:  # noqa: ANN401 - whoever takes the number refuses what is none
    """Return a whole number as people write it, ``50,000`` too; None where nothing is written, other texts as they are.

    >>> number_in("50,000"), number_in(" "), number_in("many")
    (50000, None, 'many')
    """
    plain = "".join(each for each in text if each not in " ,._'\u00a0\u202f")
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) <= _MOST_DIGITS else text.strip() or None


def settings_of(job: Job, choices: Choices) -> Settings:
    """Return the settings of the release that choices ask for, or refuse them; no row is read."""
    schema = job.schema
    if schema is None:
        raise DataError("this table has no schema yet; make one in the room Schema", code="LW115")
    left = sum(1 for field in schema.columns if open_keys(field))
    if schema.is_draft and left:
        way_out = "say what they can hold, or have it learned, in the room Schema"
        raise SchemaError(f"the schema is a draft, and open columns are {left}; {way_out}", code="LW203")
    return read_settings(
        schema,
        epsilon=choices.epsilon.strip(),
        delta=choices.delta.strip() or None,
        rho=None,
        mechanism=choices.mechanism or None,
        neighbours=choices.neighbours,
        expected_rows=number_in(choices.expected_rows),
        seed=None,
        misfits=MISFITS,
    )


def budget_words(settings: Settings) -> str:
    """Return the budget in the words that it was asked for in."""
    request = settings.request
    return budget_text(request.budget, request.epsilon, request.delta)


def stamp_of(settings: Settings, job: Job) -> str:
    """Return what stands for all that a page says of a release before it is begun; another one once that changes."""
    choices = job.choices
    said = (choices.expected_rows, choices.ledger, choices.dataset)
    asked = (budget_words(settings), settings.name, settings.relation, settings.schema.fingerprint)
    return hashlib.sha256(json.dumps([*asked, *said]).encode()).hexdigest()[:16]


def ledger_of(job: Job) -> Path | None:
    """Return the ledger that was chosen; None where none was."""
    return job.place.parent.parent / job.choices.ledger if job.choices.ledger else None


def left_after(account: Balance, settings: Settings) -> Fraction:
    """Return what an account would have left; below 0 where the release costs too much."""
    return account.left - _cost(account, settings)


def _cost(account: Balance, settings: Settings) -> Fraction:
    """Return what a release costs in an account."""
    return Fraction(accounts.cost_units(account, settings.request.budget), UNITS[account.unit])


def refusal_of(settings: Settings, job: Job) -> str:
    """Say why ledger or policies would refuse a release, before anything is done; empty where they would not."""
    place, choices = ledger_of(job), job.choices
    try:
        _check_names(job)
        with naming_people(preparedBy=choices.prepared_by, approvedBy=choices.approved_by):
            if place is None:
                check_spending(spending_of(settings), in_force())
                return ""
            book = Ledger.open(place)
            account = book.balance(choices.dataset or None)
            accounts.check_release_terms(account, settings.relation, settings.schema.unit_label)
            if left_after(account, settings) < 0:
                raise BudgetError(_too_much(account, settings), code="LW401")
            accounts.check_selections(account, settings.selection_delta)
            opened, entries = book.opening(account.dataset), partial(book.history, account.dataset)
            check_spending(spending_of(settings), in_force(), opened=opened, entries=entries)
    except LapwingError as error:
        return str(error)
    return ""


def _too_much(account: Balance, settings: Settings) -> str:
    """Say that a release costs more than is left."""
    delta = account.limit_delta if settings.request.delta is None else None
    gain = f"; with δ = {accounts.delta_text(delta)} in the room Plan it costs far less" if delta else ""
    asked, cost = budget_words(settings), account.describe(_cost(account, settings))
    return (
        f"{account.dataset} has {account.describe(account.left)} left of its limit {account.describe(account.limit)}, "
        f"and this release of {asked} costs {cost}; ask for less in the room Plan, or raise the limit in the room "
        f"Budget{gain}"
    )


def policies_of(job: Job) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Return the policies in force, of this process and of the account: the file of each, and its rules by key."""
    dataset = job.choices.dataset or None
    return tuple(
        (policy.file, tuple((key, _plain(value)) for key, value in policy.of(dataset).items()))
        for policy in _policies(job)
    )


def _policies(job: Job) -> tuple[Policy, ...]:
    """Return the policies in force, of this process and of the account."""
    place = ledger_of(job)
    kept = () if place is None else recorded_policy(Ledger.open(place).opening(job.choices.dataset or None))
    return (*in_force(), *kept)


def _check_names(job: Job) -> None:
    """Refuse what `check_spending` would for want of names, and say where they are written here."""
    there = {"preparedBy": job.choices.prepared_by, "approvedBy": job.choices.approved_by}
    for policy in _policies(job):
        if not all(there[who] for who in policy.of(job.choices.dataset or None).get("needsNames", ())):
            said = "wants names on the certificate; write who prepared and who approved it in the room Release"
            raise policy.refusal("needsNames", said)


def _plain(value: object) -> str:
    """Return the value of a rule in words."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def with_choices(choices: Choices, form: dict[str, str], *names: str) -> Choices:
    """Return choices with what a form says of some of them, which need not be right."""
    return replace(choices, **{name: _in_one_line(form[name]) for name in names if name in form})


def _in_one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text).strip()[:_MOST_LETTERS]
