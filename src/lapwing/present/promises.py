"""The words of a promise: what is protected, what it costs, and what was learned before."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, cast

from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.kernel.plain import at_least
from lapwing.kernel.terms import Relation
from lapwing.model.certificate.promise import Together, are_alike, pairs_apart, rounded_up, some_of, unit_field
from lapwing.present.document import Fact
from lapwing.present.messages import say
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.purchases import Purchase

_LISTED: Final = 8
_SHORT: Final = 12  # digits of an amount that is shown as it is


def protected_facts(relation: Relation, privacy_unit: str) -> Iterator[Fact]:
    """Yield what is protected, and what this means for several rows, for rows without identifier and for rows out.

    >>> [fact.key for fact in protected_facts("add-remove", "patient:5")]
    ['protected', 'missing', 'drawn']
    """
    field = unit_field(privacy_unit)
    label = say("label.protected")
    if field is None:
        yield Fact("protected", label, say(f"protected.row.{relation}"))
        yield Fact("persons", "", say("protected.row.persons"))
        return
    rows = privacy_unit.rpartition(":")[2]
    used = say("protected.unit.used_1") if rows == "1" else say("protected.unit.used", rows=rows)
    yield Fact("protected", label, say(f"protected.unit.{relation}", field=field, used=used))
    yield Fact("missing", "", say("protected.unit.missing", field=field))
    yield Fact("drawn", "", say("protected.unit.drawn", field=field))


def protected_rows(linked: LinkedTables) -> str:
    """Return what is protected of linked tables, in a few sentences."""
    most = [say("protected.linked.most", rows=linked.max_rows(name), table=name) for name in linked.names[1:]]
    key = "protected.linked.events" if linked.is_events else "protected.linked.tables"
    said = say(key, key=linked.key, first=linked.names[0], most=say("protected.linked.and").join(most))
    return f"{said} {say('protected.unit.missing', field=linked.key)}"


def protection_text(relation: Relation, privacy_unit: str) -> str:
    """Return what is protected, as one sentence without a label."""
    return next(protected_facts(relation, privacy_unit)).text


def origin_facts(given: Sequence[str], bought: Sequence[str]) -> Iterator[Fact]:
    """Yield which bounds and categories the promise takes as given, all by name, or paid for."""
    if given:
        yield Fact("given", "", say("origin.given", fields=", ".join(given)))
    if bought:
        yield Fact("bought", "", say("origin.bought", fields=some_of(bought)))


def purchase_facts(
    purchases: Sequence[Purchase], terms: tuple[str, str], whole: Together | None, *, most: int = _LISTED
) -> Iterator[Fact]:
    """Yield what was learned before, and what it is together with a release of these terms."""
    for each in purchases[:most]:
        apart = say("purchase.other_terms", relation=each.relation, unit=each.privacy_unit)
        cost = _except_with(amount_text(Budget(cast("Notion", each.notion), each.amount)), each.delta)
        said = say("purchase.one", fields=some_of(each.fields), cost=cost, release=each.release)
        yield Fact("purchase", "", said + apart * (not are_alike(each, terms)))
    if len(purchases) > most:
        yield Fact("purchase", "", say("purchase.more", count=len(purchases) - most))
    if whole is not None:
        yield Fact("together", say("label.together"), f"{together_text(whole)}.")


def together_text(whole: Together) -> str:
    """Return a sum of a release and earlier purchases in words."""
    total = amount_text(whole.total)
    if whole.delta >= 1:
        return say("purchase.void", amount=total)
    if not whole.epsilons:
        return _except_with(total, whole.delta)
    pairs = [
        say("purchase.by_addition", pair=found) if delta in whole.plain else found
        for delta, epsilon in pairs_apart(whole.epsilons)
        for found in [pair_text(delta, epsilon, 4)]
    ]
    return f"{total}: {'; '.join(pairs)}"


def pair_text(delta: Fraction, epsilon: Fraction, digits: int = 3) -> str:
    """Return δ and ε in words, both rounded up; ε alone where δ is 0.

    >>> pair_text(Fraction(1, 10**6), Fraction(1, 3))
    'epsilon 0.3334 at delta 1e-06'
    """
    shown = str(at_least(epsilon, 4))
    return say("cost.pair", epsilon=shown, delta=at_least(delta, digits)) if delta else f"epsilon {shown}"


def amount_text(budget: Budget) -> str:
    """Return an amount as people read it: exact where that is short.

    >>> amount_text(Budget.pure("0.5")), amount_text(Budget.zcdp(Fraction(1, 3)))
    ('epsilon 0.5', 'rho 0.3334')
    """
    short = Budget(budget.notion, rounded_up(budget.amount))
    exact = str(short)
    number = exact.rpartition(" ")[2]
    is_short = len(number) <= _SHORT and "/" not in number
    return exact if is_short else f"{'epsilon' if short.notion == 'pure' else 'rho'} {at_least(short.amount, 4)}"


def _except_with(amount: str, delta: Fraction) -> str:
    """Return an amount with the δ of selections, as people read it."""
    return say("purchase.except", amount=amount, delta=at_least(rounded_up(delta), 3)) if delta else amount
