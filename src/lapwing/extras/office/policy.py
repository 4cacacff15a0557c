"""The policy of a data office: what may be spent, checked by settings and ledger before any debit. No row is read.

All of these hold at once: the file that LAPWING_POLICY names, the one of `lapwing --policy`, and the one that a ledger
keeps with the account's terms.
"""

import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from lapwing.errors import BudgetError, DataError, ParameterError
from lapwing.kernel.budget.accounts import delta_text
from lapwing.kernel.budget.budget import Budget, as_text, exact_number
from lapwing.kernel.budget.chain import Entry, tampering_error
from lapwing.kernel.budget.conversions import epsilon_for, rho_for
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs.spending import Spending
from lapwing.schema.scalars import is_encodable, quote, visible
from lapwing.schema.typed import TypedObject, read_content, text_of

VARIABLE: Final = "LAPWING_POLICY"
KEY: Final = "policy"  # of the details of an account's first entry
PEOPLE: Final = {"preparedBy": "--prepared-by", "approvedBy": "--approved-by"}

_GIVEN: ContextVar[str | None] = ContextVar("_GIVEN", default=None)
_NAMED: ContextVar[frozenset[str]] = ContextVar("_NAMED", default=frozenset())
_SMALLEST_DELTA, _LARGEST = Fraction(1, 10**18), 10**6
_MOST_LETTERS = 10**6
_MISREAD = "LW422"
_unread = partial(DataError, code="LW422")
_PLAIN = re.compile(r"\d{1,99}(\.\d{1,99})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be spent together."""

    epsilon: Fraction
    delta: Fraction

    def __str__(self) -> str:
        return f"epsilon {as_text(self.epsilon)} at delta {delta_text(self.delta)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of one file by their keys there, and those that a data set has instead; ask: who may change them."""

    file: str
    text: str
    ask: str
    rules: Mapping[str, Any]
    datasets: Mapping[str, Mapping[str, Any]]

    def of(self, dataset: str | None) -> Mapping[str, Any]:
        """Return the rules of a data set; None where there is no ledger that knows its name."""
        return self.rules if dataset is None else {**self.rules, **self.datasets.get(dataset, {})}

    def refusal(self, rule: str, said: str) -> BudgetError:
        """Return the refusal by one rule."""
        return BudgetError(f"the policy {self.file} ({rule}) {said}, or ask {self.ask}", code="LW421")

    def to_dict(self) -> dict[str, str]:
        """Return what a ledger keeps."""
        return {"file": self.file, "text": self.text}


# -- Which policies hold.


@contextmanager
def under(policy: Path) -> Iterator[None]:
    """Let a policy hold inside, beside that of the environment."""
    token = _GIVEN.set(os.path.abspath(policy))
    try:
        yield
    finally:
        _GIVEN.reset(token)


@contextmanager
def naming_people(**people: str | None) -> Iterator[None]:
    """Let a certificate name people, for policies that ask for them: preparedBy, approvedBy."""
    for key, who in people.items():
        if who and not is_encodable(who):
            raise ParameterError(f"{key} must be a text of whole characters; write the name again", code="LW304")
    token = _NAMED.set(frozenset(key for key, who in people.items() if who and who.strip()))
    try:
        yield
    finally:
        _NAMED.reset(token)


def in_force() -> tuple[Policy, ...]:
    """Read the policies that hold for this process."""
    return tuple(read_policy(Path(each)) for each in (os.environ.get(VARIABLE), _GIVEN.get()) if each)


def recorded_policy(opened: Entry | None) -> tuple[Policy, ...]:
    """Return the policy that the ledger keeps with an account, if it does, from the entry that opened it."""
    if opened is None or KEY not in opened.details:
        return ()
    kept = opened.details[KEY]
    file, text = (kept.get(each) for each in ("file", "text")) if isinstance(kept, Mapping) else (None, None)
    if not isinstance(file, str) or not isinstance(text, str):
        raise tampering_error(f"the policy in entry {opened.number}")
    return (parsed(text, file),)


# -- Read a file.


def read_policy(path: Path) -> Policy:
    """Read a policy; one that cannot be read, or has a key that is not known, allows nothing."""
    content = read_content(path, "the policy", _unread)
    return parsed(text_of(content, f"the policy {quote(str(path))}", _unread), str(path))


def parsed(text: str, file: str) -> Policy:
    """Return the policy that a text in TOML is; file: where it was read."""
    file = visible(" ".join(file.split()))
    try:
        if len(text) > _MOST_LETTERS:
            raise ValueError("it is larger than a megabyte")
        values = tomllib.loads(text, parse_float=str)
    except (ValueError, RecursionError) as error:
        reason = visible(" ".join(str(error).split()))
    else:
        top = TypedObject(values, f"the policy {file}", _MISREAD, ParameterError)
        datasets, ask = top.inner("datasets"), top.text("ask", None)
        if not ask.isprintable() or not ask.strip():
            raise top.wrong("ask", "say who may change the rules")
        own = {name: _rules(datasets.inner(name), _OF_ONE) for name in datasets.values}
        rules = _rules(top, (*_READERS, "ask", "datasets"))
        return Policy(file=file, text=text, ask=ask.strip(), rules=rules, datasets=own)
    raise DataError(f"the policy {file} is no TOML ({reason}); mend it, nothing is spent without it", code="LW422")


def _rules(own: TypedObject, known: Collection[str]) -> dict[str, Any]:
    """Read rules, which must all be known."""
    own.only(known, code=_MISREAD)
    return {key: read(own, key) for key, read in _READERS.items() if key in own.values}


def _words(own: TypedObject, key: str) -> tuple[str, ...]:
    words = own.texts(key)
    if not all(map(str.isprintable, words)):
        raise own.wrong(key, "be a list of texts of one line")
    return words


def _people(own: TypedObject, key: str) -> tuple[str, ...]:
    words = own.texts(key)
    if not set(words) <= set(PEOPLE):
        raise own.wrong(key, f"list {' or '.join(PEOPLE)}")
    return words


def _cap(own: TypedObject, key: str) -> Cap:
    cap = own.inner(key, None).only(("epsilon", "delta"), code=_MISREAD)
    if cap("epsilon") is None:
        raise cap.wrong("epsilon", "be a number")
    epsilon, delta = (exact_number(f"{cap.where}: {each}", cap(each, 0)) for each in ("epsilon", "delta"))
    if not 0 <= epsilon <= _LARGEST or not (delta == 0 or _SMALLEST_DELTA <= delta < 1):
        raise own.refusal(key, "must have an epsilon up to 10^6, and a delta of 0 or from 1e-18 to below 1")
    return Cap(epsilon, delta)


_SUMMED = ("year", "total")
_READERS: Final[Mapping[str, Callable[[TypedObject, str], Any]]] = {
    "release": _cap,
    "year": _cap,
    "total": _cap,
    "mechanisms": _words,
    "neighbours": _words,
    "privacyUnits": _words,
    "leastGroup": lambda own, key: own.whole(key, 1),
    "needsLedger": TypedObject.flag,
    "needsNames": _people,
}
_OF_ONE = tuple(key for key in _READERS if key not in ("leastGroup", "needsLedger"))
"""Rules that a data set can have for itself."""


# -- Check what is to be spent.


def check_spending(
    spending: Spending,
    policies: Sequence[Policy],
    at: str = "",
    opened: Entry | None = None,
    entries: Callable[[], Sequence[Entry]] = tuple,
) -> None:
    """Refuse what a policy forbids.

    at: the time of the debit, in UTC; by default now; opened, entries: of its account the first entry, and what returns
    all so far; None without a ledger.
    """
    when = at or datetime.now(UTC).isoformat()
    for policy in (*policies, *recorded_policy(opened)):
        rules = policy.of(None if opened is None else opened.dataset)
        for refusal in (*_by_settings(policy, rules, spending), *_by_names(policy, rules, opened)):
            raise refusal
        if opened is not None and not set(_SUMMED).isdisjoint(rules):
            for refusal in _by_ledger(policy, rules, spending, when, entries()):
                raise refusal


def forbidden(spending: Spending) -> tuple[Notice, ...]:
    """Say which rules forbid a release whatever the ledger says, for a plan."""
    found = [each for policy in in_force() for each in _by_settings(policy, policy.rules, spending)]
    return tuple(Notice("forbidden", {"why": str(each)}) for each in found)


def check_group(size: int) -> None:
    """Refuse groups that are smaller than a policy allows."""
    for policy in in_force():
        least = policy.rules.get("leastGroup", 1)
        if size < least:
            raise policy.refusal(
                "leastGroup", f"allows groups of at least {least}, got {size}; give a min_group_size of {least}"
            )


def check_limit(
    limit: Budget, selected: Fraction, policies: Sequence[Policy], dataset: str, terms: Mapping[str, str]
) -> None:
    """Refuse an account's limit, or its terms (neighbours, privacyUnits), that a policy forbids."""
    for policy in policies:
        rules = policy.of(dataset)
        for refusal in _by_words(policy, rules, {key: (word,) for key, word in terms.items()}):
            raise refusal
        cap = rules.get("total")
        reached = None if cap is None else _excess([limit], selected, cap)
        if reached is not None:
            raise policy.refusal("total", f"allows at most {cap} in all, and this limit is {reached}; give a lower one")


def _by_settings(policy: Policy, rules: Mapping[str, Any], spending: Spending) -> Iterator[BudgetError]:
    """Yield the refusals that settings alone decide."""
    words = {
        "mechanisms": spending.runs,
        "neighbours": (spending.relation,),
        "privacyUnits": (spending.privacy_unit,),
    }
    yield from _by_words(policy, rules, words)
    cap = rules.get("release")
    if cap is None:
        return
    reached = _excess([spending.budget], spending.selection_delta, cap)
    if reached is None and spending.delta > cap.delta:
        reached = f"delta {delta_text(spending.delta)}"
    if reached is not None:
        yield policy.refusal(
            "release", f"allows a release at most {cap}, and this one asks for {reached}; ask for less"
        )


def _by_words(policy: Policy, rules: Mapping[str, Any], words: Mapping[str, Sequence[str]]) -> Iterator[BudgetError]:
    """Yield the refusals of words that are not among those allowed."""
    for key, found in words.items():
        allowed = [each.casefold() for each in rules.get(key, found)]
        for word in found:
            if word.casefold() not in allowed:
                listed = ", ".join(rules[key]) or "none"
                yield policy.refusal(key, f"allows {listed}, got {visible(word)}; take what it allows")


def _by_names(policy: Policy, rules: Mapping[str, Any], opened: Entry | None) -> Iterator[BudgetError]:
    """Yield the refusals for want of a name or a ledger."""
    for who in rules.get("needsNames", ()):
        if who not in _NAMED.get():
            said = f"wants {who}, which `lapwing synthesize` and `resume` take as {PEOPLE[who]}; give a name"
            yield policy.refusal("needsNames", said)
    needs = [key for key in ("needsLedger", *_SUMMED) if rules.get(key)]
    needs += ["datasets"] if policy.datasets else []  # which rules hold, only the ledger knows
    if needs and opened is None:
        yield policy.refusal(needs[0], "needs a ledger, and none is given; give one")


def _by_ledger(
    policy: Policy, rules: Mapping[str, Any], spending: Spending, at: str, entries: Sequence[Entry]
) -> Iterator[BudgetError]:
    """Yield the refusals by what was spent before."""
    # A clock that was put back does not bring back an earlier year.
    *years, year = accumulate((*(each.at[:4] for each in entries), at[:4]), max)
    paid = [(each, its) for each, its in zip(entries, years, strict=True) if each.kind == "debit"]
    sums = (
        ("year", f"in the calendar year {year}", [each for each, its in paid if its == year]),
        ("total", "in all", [each for each, _ in paid]),
    )
    for key, when, before in sums:
        if rules.get(key) is None:
            continue
        budgets = [*(_paid(each, entries[0]) for each in before), spending.budget]
        selected = sum((each.selection_delta for each in before), spending.selection_delta)
        reached = _excess(budgets, selected, rules[key])
        if reached is not None:
            yield policy.refusal(
                key,
                f"allows data set {entries[0].dataset!r} at most {rules[key]} {when}, and with this release it comes "
                f"to {reached}; ask for less",
            )


def _paid(entry: Entry, opened: Entry) -> Budget:
    """Return what an entry paid: a pure epsilon as it was asked for, else the amount in the account's unit."""
    match entry.details.get("budget"):
        case ["pure", str(text)] if _PLAIN.fullmatch(text):
            return Budget("pure", Fraction(text))
    return Budget("pure" if opened.details.get("unit") == "pure" else "zcdp", entry.amount)


def _excess(budgets: Sequence[Budget], selected: Fraction, cap: Cap) -> str | None:
    """Say what budgets come to together where that is more than a cap; None where it is not.

    They are within it where pure epsilons add up to no more, or where rho does to no more than epsilon is worth at what
    the deltas of selections leave of delta; either way they are (epsilon, delta)-DP together.
    """
    if selected > cap.delta:
        return f"delta {delta_text(selected)} for selections"
    spare = cap.delta - selected
    rho = sum((each.as_zcdp().rho for each in budgets), Fraction(0))
    epsilon = None
    if all(each.notion == "pure" for each in budgets):
        epsilon = sum((each.epsilon for each in budgets), Fraction(0))
        if epsilon <= cap.epsilon:
            return None
    if spare > 0 and cap.epsilon > 0 and rho <= rho_for(cap.epsilon, spare):
        return None
    if epsilon is not None:
        return f"epsilon {as_text(epsilon)}"
    if spare == 0 or rho > _LARGEST:
        return f"rho {as_text(rho)}"
    return f"rho {as_text(rho)} (epsilon {as_text(epsilon_for(rho, spare))} at delta {delta_text(spare)})"
