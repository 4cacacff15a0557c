"""What the owner chose for a release, read as the settings of one; and whether ledger and policies would allow it."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from lapwing.errors import BudgetError, DataError, LapwingError, ParameterError
from lapwing.kernel.budget import accounts
from lapwing.kernel.budget.accounts import Balance
from lapwing.kernel.budget.chain import UNITS
from lapwing.kernel.budget.ledger import Ledger
from lapwing.model.certificate.cost_lines import asked_text
from lapwing.runs.policy import check_spending, in_force, named, recorded
from lapwing.runs.settings import Settings, read_settings, spending_of
from lapwing.studio.jobs import Choices, Job

MISFITS: Final = "0.1"
"""The share of misfits that ends a release, as everywhere."""


def whole_number(setting: str, text: str) -> int | None:
    """Read a whole number above 0 as people write it, ``50,000`` too; None where nothing is written."""
    plain = "".join(each for each in text if each not in " ,._'\u00a0\u202f")
    if not plain:
        return None
    if not (plain.isascii() and plain.isdigit() and len(plain) <= 12 and int(plain) > 0):
        raise ParameterError(f"{setting} must be a whole number above 0, got {text[:40]!r}; write 50000", code="LW315")
    return int(plain)


def settings_of(job: Job, choices: Choices) -> Settings:
    """Return the settings of the release that choices ask for, or refuse them; no row is read."""
    schema = job.schema
    if schema is None:
        raise DataError("this table has no schema yet; make one in the room Schema", code="LW115")
    return read_settings(
        schema,
        epsilon=choices.epsilon.strip(),
        delta=choices.delta.strip() or None,
        rho=None,
        mechanism=choices.mechanism or None,
        neighbours=choices.neighbours,
        expected_rows=whole_number("the number of rows", choices.expected_rows),
        seed=None,
        misfits=MISFITS,
    )


def asked_for(settings: Settings) -> str:
    """Return the budget in the words that it was asked for in."""
    request = settings.request
    return asked_text(request.budget, request.epsilon, request.delta)


def ledger_of(job: Job) -> Path | None:
    """Return the ledger that was chosen; None where none was."""
    return job.place.parent.parent / job.choices.ledger if job.choices.ledger else None


def left_after(account: Balance, settings: Settings) -> Fraction:
    """Return what an account would have left; below 0 where the release costs too much."""
    return account.left - Fraction(accounts.cost_units(account, settings.request.budget), UNITS[account.unit])


def refusal_of(settings: Settings, job: Job) -> str:
    """Say why ledger or policies would refuse a release, before anything is done; empty where they would not."""
    place, choices = ledger_of(job), job.choices
    try:
        with named(preparedBy=choices.prepared_by, approvedBy=choices.approved_by):
            if place is None:
                check_spending(spending_of(settings), in_force(), None)
                return ""
            book = Ledger.open(place)
            account = book.balance(choices.dataset or None)
            accounts.check_release_terms(account, settings.relation, settings.schema.unit_label)
            if left_after(account, settings) < 0:
                raise BudgetError(_too_much(account, settings), code="LW401")
            accounts.check_selections(account, settings.selection_delta)
            check_spending(
                spending_of(settings), in_force(), account.dataset, entries=book.history(account.dataset)
            )
    except LapwingError as error:
        return str(error)
    return ""


def _too_much(account: Balance, settings: Settings) -> str:
    """Say that a release costs more than is left."""
    return (
        f"the data set {account.dataset!r} has {account.describe(account.left)} left of its limit "
        f"{account.describe(account.limit)}, and this release asks for {asked_for(settings)}; ask for less in the room "
        "Plan, or raise the limit in the room Budget"
    )


def policies_of(job: Job) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the policies in force, of this process and of the account, each with its rules in words."""
    place = ledger_of(job)
    kept = () if place is None else recorded(Ledger.open(place).history(job.choices.dataset or None))
    return tuple((each.file, _rules(each.of(job.choices.dataset or None))) for each in (*in_force(), *kept))


def _rules(rules: "object") -> tuple[str, ...]:
    return tuple(f"{key}: {_plain(value)}" for key, value in dict(rules).items())  # type: ignore[call-overload]


def _plain(value: object) -> str:
    """Return the value of a rule in words."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def with_choices(choices: Choices, form: dict[str, str], *names: str) -> Choices:
    """Return choices with what a form says of some of them, which need not be right."""
    return replace(choices, **{name: form[name].strip()[:200] for name in names if name in form})
