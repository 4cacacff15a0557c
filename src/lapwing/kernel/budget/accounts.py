"""The accounts of the ledger: their terms, their whole-number units, and the refusals."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lapwing.errors import BudgetError, ParameterError, ReleaseMismatchError
from lapwing.kernel.budget import chain
from lapwing.kernel.budget.budget import Budget, Notion, Number, as_text, exact_number
from lapwing.kernel.budget.chain import SELECTION_UNITS, UNITS, Entry, canonical_json, tampering_error
from lapwing.kernel.budget.conversions import epsilon_for, rho_for
from lapwing.kernel.budget.store import Session

_RELATIONS = ("add-remove", "replace-one")
_PRIVACY_UNIT = re.compile(r"row|.+:[1-9][0-9]{0,8}")
_NAME_LENGTH = 200
CODE = "code"
"""In the description of a debit: the fingerprint of the code that began the release; other code may resume it."""
DRAWING = "drawing"
"""Stands among the digests of a release's answers before the noise of those behind it is drawn."""
_LARGEST_LIMIT = 10**6
"""In epsilon or rho; it also keeps every number of units within SQLite's 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The state of one data set's budget, with the terms that were fixed when it was opened.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    unit : {"pure", "zcdp"}
        Whether the account is kept in epsilon or in rho.
    delta : Fraction or None
        The delta at which the owner states limits of a "zcdp" account; None where they are given as rho.
    relation : str
        The neighbour relation, "add-remove" or "replace-one".
    privacy_unit : str
        "row" or "FIELD:MAXROWS".
    limit, spent : Fraction
        In epsilon or rho, as ``unit`` says.
    selection_delta, selection_spent : Fraction
        The most that the deltas of selections may sum to, and their sum so far; 0 where selections are not allowed.
    """

    dataset: str
    unit: Notion
    delta: Fraction | None
    relation: str
    privacy_unit: str
    limit: Fraction
    spent: Fraction
    selection_delta: Fraction
    selection_spent: Fraction

    @property
    def left(self) -> Fraction:
        """What may still be spent: limit minus spent, never negative."""
        return self.limit - self.spent

    @property
    def selection_left(self) -> Fraction:
        """What the deltas of further selections may sum to, never negative."""
        return self.selection_delta - self.selection_spent

    @property
    def limit_delta(self) -> Fraction | None:
        """The delta at which a limit in epsilon is converted: what selections leave of ``delta``."""
        return None if self.delta is None else self.delta - self.selection_delta

    def describe(self, amount: Fraction) -> str:
        """Write an amount of this account for a person.

        Where limits are stated at a delta, the text adds the epsilon that a release may ask for at ``limit_delta``.
        """
        if self.unit == "pure":
            return f"epsilon {as_text(amount)}"
        text = f"rho {as_text(amount)}"
        delta = self.limit_delta
        if delta is None or amount == 0:
            return text
        step = Fraction(1, 10**6)
        asked = epsilon_for(amount, delta) // step * step
        # Asking for what is written here must not cost more than is written here.
        if asked > 0 and rho_for(asked, delta) > amount:
            asked -= step
        return f"{text} (epsilon {as_text(asked)} at delta {delta_text(delta)})"

    def describe_left(self) -> str:
        """Write what may still be spent, for the end of a refusal."""
        text = f"{self.describe(self.left)} left"
        return f"{text}, and delta {delta_text(self.selection_left)} for selections" if self.selection_delta else text


def delta_text(delta: Fraction) -> str:
    """Write a delta for a person: short where that is exact, else in all digits."""
    short = f"{float(delta):g}"
    return short if Fraction(short) == delta else as_text(delta)


def check_name(setting: str, value: str) -> None:
    """Refuse a name that could not be told apart on a screen or would not fit a line."""
    if not 0 < len(value) <= _NAME_LENGTH or not value.isprintable() or value != value.strip():
        raise ParameterError(
            f"{setting} must be 1 to {_NAME_LENGTH} printable characters without blanks around, "
            f"got {value[:_NAME_LENGTH]!r}; choose a plain name",
            code="LW412",
        )


def checked_terms(unit: Notion, delta: Number | None, relation: str, privacy_unit: str) -> dict[str, str | None]:
    """Return the terms of a new account as text, or refuse them."""
    if unit not in UNITS:
        raise ParameterError(
            f"the unit of a ledger must be pure or zcdp, got {unit!r}; choose one of them", code="LW412"
        )
    if relation not in _RELATIONS:
        raise ParameterError(
            f"the neighbour relation must be {' or '.join(_RELATIONS)}, got {relation!r}; choose one of them",
            code="LW412",
        )
    if _PRIVACY_UNIT.fullmatch(privacy_unit) is None or not privacy_unit.isprintable():
        raise ParameterError(
            f"the privacy unit must be row or FIELD:MAXROWS, got {privacy_unit[:_NAME_LENGTH]!r}; "
            "write for example person_id:3",
            code="LW412",
        )
    exact_delta = exact_number("delta", 0 if delta is None else delta)
    if not 0 <= exact_delta < 1:
        raise ParameterError(
            f"delta must be at least 0 and below 1, got {delta}; give a small number such as 1e-9", code="LW412"
        )
    if unit == "pure" and exact_delta != 0:
        raise ParameterError(
            "a ledger in pure epsilon has no delta; leave delta out, or choose the unit zcdp", code="LW412"
        )
    stated = None if exact_delta == 0 else as_text(exact_delta)
    return {"unit": unit, "delta": stated, "relation": relation, "privacy_unit": privacy_unit}


def allowance_units(selection_delta: Number | None, unit: Notion, delta: str | None) -> int:
    """Return what selections may spend in whole units, rounded down, or refuse it; the rest are the account's terms."""
    exact = exact_number("selection_delta", 0 if selection_delta is None else selection_delta)
    units = math.floor(exact * SELECTION_UNITS)
    if not 0 <= exact < 1 or (units == 0) != (exact == 0):
        raise ParameterError(
            f"selection_delta must be 0, or at least 1e-18 and below 1, got {selection_delta}; "
            "give a small number such as 1e-9",
            code="LW412",
        )
    if unit == "pure" and units:
        raise ParameterError(
            "a ledger in pure epsilon has no delta, and so no selections; leave selection_delta out, or choose the "
            "unit zcdp",
            code="LW412",
        )
    if delta is not None and exact >= Fraction(delta):
        raise ParameterError(
            f"selection_delta must be below delta, of which it is a part, got {selection_delta} of "
            f"{delta_text(Fraction(delta))}; half of delta is a good choice",
            code="LW412",
        )
    return units


def limit_units(limit: Number, unit: Notion, delta: Fraction | None) -> int:
    """Return a limit in whole units, rounded down; with a ``delta`` the limit is an epsilon and becomes a rho."""
    exact = exact_number("limit", limit)
    if not 0 <= exact <= _LARGEST_LIMIT:
        raise ParameterError(f"limit must lie between 0 and 10^6, got {limit}; give a number such as 1", code="LW409")
    if delta is not None and exact > 0:
        exact = rho_for(exact, delta)
    return math.floor(exact * UNITS[unit])


def cost_units(account: Balance, budget: Budget) -> int:
    """Return what ``budget`` costs in whole units of ``account``, rounded up."""
    if account.unit == "zcdp":
        return math.ceil(budget.as_zcdp().rho * UNITS["zcdp"])
    if budget.notion != "pure":
        raise BudgetError(
            f"data set {account.dataset!r} is kept in pure epsilon and a zcdp release cannot be paid from it; ask for "
            "epsilon without delta, or keep the data set in a ledger of unit zcdp "
            f"({account.describe_left()})",
            code="LW408",
        )
    return math.ceil(budget.epsilon * UNITS["pure"])


def debit_details(budget: Budget, delta: Fraction, description: Mapping[str, object]) -> dict[str, object]:
    """Return what a debit records beside its cost, or refuse what cannot be recorded."""
    if budget.amount == 0:
        raise ParameterError("a debit must be above 0, got 0; nothing can be released for nothing", code="LW419")
    if not 0 <= delta < 1:
        raise ParameterError(
            f"the delta of selections must be at least 0 and below 1, got {delta}; give a smaller one", code="LW419"
        )
    details: dict[str, object] = {"budget": [budget.notion, as_text(budget.amount)], "description": dict(description)}
    if delta > 0:
        details |= {"selection_delta": as_text(delta), "selection_units": _selection_cost(delta)}
    try:
        text = canonical_json(details)
    except (TypeError, ValueError):
        text = None
    if text is None:
        raise ParameterError(
            "the description of a debit must hold text, numbers, lists and mappings only", code="LW419"
        )
    # As it will be read back: a tuple is a list then, and the same debit must be found equal.
    read: dict[str, object] = json.loads(text)
    return read


def check_release_terms(account: Balance, relation: str, privacy_unit: str) -> None:
    """Refuse a release under other terms than the account's: their costs would not add up to one guarantee."""
    if account.relation != relation:
        raise BudgetError(
            f"data set {account.dataset!r} is accounted under the neighbour relation {account.relation} and this "
            f"release asks for {relation}; use {account.relation} ({account.describe_left()})",
            code="LW408",
        )
    if account.privacy_unit != privacy_unit:
        raise BudgetError(
            f"data set {account.dataset!r} is accounted under the privacy unit {account.privacy_unit} and this release "
            f"asks for {privacy_unit}; {_how_to_name(account.privacy_unit)} ({account.describe_left()})",
            code="LW408",
        )


def _how_to_name(privacy_unit: str) -> str:
    """Say what the schema of a release must name as privacy unit."""
    if privacy_unit == "row":
        return "take privacyUnit out of the schema"
    field, _, max_rows = privacy_unit.rpartition(":")
    key = json.dumps(field, ensure_ascii=False)
    return (
        f'give the schema "privacyUnit": {{"field": {key}, "maxRows": {max_rows}}}, or linked tables a first '
        f'"primaryKey": {key} and "maxRows" that multiply to {max_rows}'
    )


def same_release(account: Balance, paid: Entry, details: Mapping[str, object]) -> Entry:
    """Return ``paid`` if it paid the budget of ``details``; else refuse: one id stands for one release."""
    for key, what in {"budget": "budget", "selection_delta": "delta", "description": "description"}.items():
        if _settled(paid.details, key) != _settled(details, key):
            raise ReleaseMismatchError(
                f"release {paid.release_id!r} was paid with another {what} already; resume it with the same settings, "
                f"or give the new release an id of its own ({account.describe_left()})",
                code="LW414",
            )
    return paid


def _settled(details: Mapping[str, object], key: str) -> object:
    """Return what a second debit must repeat: all but the code, which may be mended before a release is resumed."""
    found = details.get(key)
    return {name: value for name, value in found.items() if name != CODE} if isinstance(found, Mapping) else found


def note_answers(connection: Session, account: Balance, release_id: str, digests: Sequence[str]) -> None:
    """Append the digests that are new; refuse a list that is not a continuation of what was noted before.

    Where noise was drawn last, only a list that has its answers goes on: no two runs draw for the same place.
    """
    noted = noted_answers(connection, account, release_id)
    known, given = ([each for each in some if each != DRAWING] for some in (noted, digests))
    is_lacking = noted[-1:] == [DRAWING] and len(given) == len(known)
    if given[: len(known)] != known or is_lacking:
        raise ReleaseMismatchError(
            f"the ledger knows {len(known)} answers of release {release_id!r}{', and a draw after them' * is_lacking}, "
            "and this transcript lacks some of them; resume from the newest transcript, or make a new release",
            code="LW414",
        )
    new = given[len(known) :] + [DRAWING] * (digests[-1:] == [DRAWING])
    for number, digest in enumerate(new, start=len(noted)):
        row = (account.dataset, release_id, number, digest)
        connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", row)


def noted_answers(connection: Session, account: Balance, release_id: str) -> list[str]:
    """Return the digests that were noted of a release, in order, with `DRAWING` where noise was about to be drawn."""
    asked = "SELECT digest FROM answers WHERE dataset = ? AND release_id = ? ORDER BY number"
    return [row[0] for row in connection.execute(asked, (account.dataset, release_id))]


def overspent(account: Balance, units: int) -> BudgetError:
    """Return the refusal of a release that costs more than is left."""
    cost = Fraction(units, UNITS[account.unit])
    less = "ask for less, or " if account.left > 0 else ""
    return BudgetError(
        f"data set {account.dataset!r} has {account.describe(account.left)} left of its limit "
        f"{account.describe(account.limit)}, and this release costs {account.describe(cost)}; "
        f"{less}raise the limit with `lapwing ledger limit`",
        code="LW401",
    )


def check_selections(account: Balance, delta: Fraction) -> None:
    """Refuse a release whose selections spend more delta than the account has left for selections."""
    cost = Fraction(_selection_cost(delta), SELECTION_UNITS)
    if cost > 0 and account.selection_delta == 0:
        raise BudgetError(
            f"data set {account.dataset!r} allows no selections, and the selections of this release spend delta "
            f"{delta_text(cost)}; give lists of categories from public knowledge, or have its owner open an account "
            f"that allows them (`lapwing ledger init --selection-delta`; {account.describe_left()})",
            code="LW411",
        )
    if cost > account.selection_left:
        raise BudgetError(
            f"data set {account.dataset!r} has delta {delta_text(account.selection_left)} left of its limit for "
            f"selections, {delta_text(account.selection_delta)}, and the selections of this release spend delta "
            f"{delta_text(cost)}; ask for a smaller delta, or give lists of categories from public knowledge "
            f"({account.describe(account.left)} is left besides)",
            code="LW411",
        )


def _selection_cost(delta: Fraction) -> int:
    """Return what selections cost in whole units, rounded up."""
    return math.ceil(delta * SELECTION_UNITS)


def names(connection: Session) -> tuple[str, ...]:
    """Return the names of all data sets, sorted; a stranger's view in place of a table is asked nothing."""
    if misfit := connection.misfit():
        raise tampering_error(misfit)
    found = tuple(chain.account_rows(connection))
    if not all(isinstance(name, str) and name.isprintable() for name in found):
        raise tampering_error("the name of a data set")
    return found


def read_balance(connection: Session, dataset: str | None, release_id: str | None = None) -> Balance:
    """Return the state of a data set, as the ends of the chain say it; None stands for the only one in the file.

    release_id: of whose entry `read_entry` will be asked; a store is asked for both at once.
    """
    known = names(connection)
    if dataset is None and len(known) == 1:
        dataset = known[0]
    if dataset not in known:
        chain.verify(connection)  # an account that was taken away is no unknown one
        asked = "no data set was named" if dataset is None else f"there is no data set {dataset!r}"
        listed = f"the ledger holds {', '.join(known)}" if known else "the ledger holds none"
        raise BudgetError(
            f"{asked} and {listed}; name one of them, or open one with `lapwing ledger init`", code="LW413"
        )
    row = chain.check_end(connection, dataset, release_id)
    unit, delta, relation, privacy_unit, limit, spent, selection_limit, selection_spent = row
    try:
        return Balance(
            dataset=dataset,
            unit=unit,
            delta=None if delta is None else _exact(delta),
            relation=relation,
            privacy_unit=privacy_unit,
            limit=Fraction(limit, UNITS[unit]),
            spent=Fraction(spent, UNITS[unit]),
            selection_delta=Fraction(selection_limit, SELECTION_UNITS),
            selection_spent=Fraction(selection_spent, SELECTION_UNITS),
        )
    except (ArithmeticError, LookupError, TypeError, ValueError):
        pass  # SQLite stores any type in any column
    raise tampering_error(f"the account of data set {dataset!r}")


def _exact(text: str) -> Fraction:
    """Return the number in a text of an account, which has no exponent: a short one can stand for a huge number."""
    if re.fullmatch(r"[0-9./]{1,4000}", text, re.ASCII) is None:
        raise ValueError
    return Fraction(text)


def read_entry(connection: Session, account: Balance, release_id: str) -> Entry | None:
    """Return the entry that paid ``release_id``."""
    found = chain.ends(connection, account.dataset, release_id)
    return next((Entry.from_row(row, account.unit) for row in found if row[3:5] == (account.dataset, release_id)), None)


def read_opening(connection: Session, account: Balance, release_id: str | None = None) -> Entry:
    """Return the entry that opened an account; ``release_id`` as for `read_balance`."""
    for row in chain.ends(connection, account.dataset, release_id):
        if row[2:4] == ("init", account.dataset):
            return Entry.from_row(row, account.unit)
    raise tampering_error(f"the account of data set {account.dataset!r}")


def read_entries(connection: Session, account: Balance) -> tuple[Entry, ...]:
    """Return all entries of a data set in order, of a file that fits; the first one opened it."""
    return tuple(Entry.from_row(row, account.unit) for row in chain.verify(connection) if row[3] == account.dataset)
