"""What the bounds and lists of a schema cost when they were learned, and what that is together with a release."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, cast

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.kernel.budget.conversions import CERTIFICATE_DELTAS, certificate_epsilons, epsilon_for, rho_for
from lapwing.kernel.plain import rational_text, read_keys, read_rational
from lapwing.model.certificate.cost_lines import budget_to_dict
from lapwing.model.certificate.notices import Notice
from lapwing.schema.fields import Field
from lapwing.schema.purchases import Purchase
from lapwing.schema.schemas import Schema

# -- What a promise covers and what it takes as given, in plain words: for certificates, plans and messages.


ROW: Final = "row"
"""The privacy unit where each row is protected by itself."""


def unit_field(privacy_unit: str) -> str | None:
    """Return the field of a privacy unit FIELD:MAXROWS, or None where it is a row.

    >>> unit_field("patient:5")
    'patient'
    """
    return None if privacy_unit == ROW else privacy_unit.rpartition(":")[0]


def fields_of_origin(schema: Schema, origin: Literal["assumed", "dp"]) -> tuple[str, ...]:
    """Return the modelled fields whose domain was taken from the data, or was learned with budget."""
    return tuple(column.name for column in schema.columns if column.provenance == origin)


def uncovered_warnings(columns: Sequence[Field]) -> tuple[Notice, ...]:
    """Say which lists and bounds were taken from the table, all by name: what they say is outside the promise.

    Returns one, or none. Lists come first, the longest of them before others: a text in it may be one person's alone.
    """
    assumed = [column for column in columns if column.provenance == "assumed"]
    told = {
        column.name: None if column.categories is None else len(column.categories)
        for column in sorted(assumed, key=lambda each: (each.type != "string", -len(each.categories or ())))
        if column.categories is not None or column.type != "boolean"
    }
    return (Notice("uncovered", {"fields": told}),) if told else ()


Pairs = tuple[tuple[Fraction, Fraction], ...]
"""(δ, ε) that hold at once."""

_NAMED: Final = 8
_APART: Final = 10
_DIGITS: Final = 18
_PLACES: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Add a release up with the purchases that were made under the same terms.

    total: the sum, in ε where all amounts are, else in ρ (a pure ε enters as ε²/2); delta: the sum of the deltas of
    selections; at 1 or more nothing is promised; epsilons: what all of it means as (ε, δ), where it is not pure:
    ``delta`` is part of each δ; plain: those δ of ``epsilons`` at which plain addition of the ε is better than what the
    sum in ρ says.

    Sums with long denominators are rounded up to 18 digits, which is the safe side.
    """

    total: Budget
    delta: Fraction
    epsilons: Pairs
    plain: tuple[Fraction, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the sum as plain JSON values."""
        return {
            "total": budget_to_dict(self.total),
            "delta": rational_text(self.delta),
            "epsilons": [
                {**pair_to_dict(pair), "by": "addition" if pair[0] in self.plain else "rho"} for pair in self.epsilons
            ],
        }


def pairs_apart(pairs: Pairs) -> Pairs:
    """Return the pairs that a text shows: the first, and those whose δ is ten times from all that are shown before.

    >>> near = (Fraction(1, 1000), Fraction(1, 999), Fraction(1, 10**6))
    >>> [str(delta) for delta, _ in pairs_apart(tuple((delta, Fraction(1)) for delta in near))]
    ['1/1000', '1/1000000']
    """
    shown: list[tuple[Fraction, Fraction]] = []
    for delta, epsilon in pairs:
        if all(delta >= _APART * other or other >= _APART * delta for other, _ in shown):
            shown.append((delta, epsilon))
    return tuple(shown)


def pairs_at(rho: Fraction, delta: Fraction, requested: Fraction | None = None) -> Pairs:
    """Return what ρ and the deltas of selections are worth as (δ, ε): at the requested δ first, then at the usual ones.

    What is ρ-zCDP except with probability δ' is (ε, δ + δ')-DP wherever ρ-zCDP is (ε, δ)-DP (Bun and Steinke 2016,
    section 8).
    """
    found = tuple((part + delta, epsilon) for part, epsilon in certificate_epsilons(rho))
    if requested is not None and requested > delta:
        own = epsilon_for(rho, requested - delta)
        found = ((requested, own), *(pair for pair in found if pair[0] != requested))
    return tuple(pair for pair in found if pair[0] < 1)


def together(
    total: Budget,
    delta: Fraction,
    requested: Fraction | None,
    terms: tuple[str, str],
    purchases: Sequence[Purchase],
) -> Together | None:
    """Add up what a release and earlier purchases cost that were made under the same terms.

    Returns none where no purchase was made under these terms: losses under two relations, or about two units, are no
    sum.
    """
    alike = [each for each in purchases if are_alike(each, terms)]
    if not alike:
        return None
    amounts = [total, *(Budget(cast("Notion", each.notion), each.amount) for each in alike)]
    bought = _summed(each.delta for each in alike)
    selected = _summed([delta, bought])
    # A run that is asked for epsilon and delta keeps half of delta for its selections.
    first = 2 * selected if requested is None else _summed([requested, bought])
    usual = (_summed([delta, selected]) for delta in CERTIFICATE_DELTAS)
    is_pure = all(amount.notion == "pure" for amount in amounts)
    return added_up(amounts, amounts, selected, () if is_pure else (first, *usual))


def added_up(
    amounts: Sequence[Budget], parts: Sequence[Budget], delta: Fraction, stated: Iterable[Fraction]
) -> Together:
    """Add up what was spent on the same people.

    parts: the same amounts, or what they are sums of, for many small ε are less in ρ than their sum; delta: of
    selections; stated: at which δ ε is wanted.
    """
    pure = _summed(amount.epsilon for amount in amounts if amount.notion == "pure")
    rho = _summed(amount.rho for amount in amounts if amount.notion == "zcdp")
    whole = _summed(rounded_up(part.amount) ** 2 / 2 for part in parts if part.notion == "pure")
    added = Budget("zcdp", _summed([rho, whole]))
    pairs, plain = [], []
    for each in dict.fromkeys(one for one in stated if delta < one < 1):
        by_rho, by_addition = _converted(added.rho, each - delta), _converted(rho, each - delta, pure)
        least = min((found for found in (by_rho, by_addition) if found is not None), default=None)
        if least is not None:
            pairs.append((each, least))
            plain += [each] if by_rho is None or least < by_rho else []
    is_pure = all(amount.notion == "pure" for amount in amounts)
    total = Budget("pure", pure) if is_pure else added
    return Together(total=total, delta=delta, epsilons=tuple(pairs), plain=tuple(plain))


def _converted(rho: Fraction, delta: Fraction, pure: Fraction = Fraction(0)) -> Fraction | None:
    """Return the ε of ρ at a δ, and a pure ε beside it (basic composition); None where that cannot be said.

    What is ε-DP and what is (ε', δ)-DP, one after the other, are (ε + ε', δ)-DP (Dwork and Roth 2014, section 3.5).
    """
    try:
        return epsilon_for(rho, delta) + pure
    except ParameterError:
        return None  # many huge amounts, or a delta too small to be converted


def _summed(amounts: Iterable[Fraction]) -> Fraction:
    """Return a sum that is never too small, and whose denominator stays short however many amounts there are."""
    total = Fraction(0)
    for amount in amounts:
        total = rounded_up(total + rounded_up(amount))
    return total


def rounded_up(amount: Fraction) -> Fraction:
    """Return an amount as it is, or, where its denominator is long, rounded up to 18 digits or 300 decimal places."""
    if amount.denominator <= 10**_DIGITS:
        return amount
    # Zeros behind the decimal point, or one more; counted in bits, for logarithms of floats would overflow.
    zeros = (amount.denominator.bit_length() - amount.numerator.bit_length() + 1) * 302 // 1000
    unit = 10 ** min(_DIGITS + max(zeros, 0), _PLACES)
    return Fraction(math.ceil(amount * unit), unit)


def are_alike(purchase: Purchase, terms: tuple[str, str]) -> bool:
    """Tell whether a purchase was made under a relation and privacy unit."""
    return (purchase.relation, purchase.privacy_unit) == terms


def untold_warnings(fields: Sequence[str], purchases: Sequence[Purchase]) -> tuple[Notice, ...]:
    """Say which fields are said to be learned with budget though no purchase names them."""
    told = {name for each in purchases for name in each.fields}
    untold = tuple(name for name in fields if name not in told)
    return (Notice("untold", {"fields": untold}),) if untold else ()


def other_terms_warnings(
    fields: Sequence[str], purchases: Sequence[Purchase], relation: str, privacy_unit: str
) -> tuple[Notice, ...]:
    """Say which fields were learned under another promise than that of a release."""
    others: dict[tuple[str, str], list[str]] = {}
    for each in purchases:
        if (each.relation, each.privacy_unit) != (relation, privacy_unit):
            named = others.setdefault((each.relation, each.privacy_unit), [])
            named += [name for name in each.fields if name in fields and name not in named]
    return tuple(
        Notice("other_terms", {"fields": tuple(named), "relation": other, "unit": unit})
        for (other, unit), named in others.items()
        if named
    )


def pair_to_dict(pair: tuple[Fraction, Fraction]) -> dict[str, dict[str, str]]:
    """Return a pair of δ and ε as plain JSON values."""
    return {"delta": rational_text(pair[0]), "epsilon": rational_text(pair[1])}


def pair_from_dict(values: object) -> tuple[Fraction, Fraction]:
    """Read back what `pair_to_dict` made."""
    delta, epsilon = map(read_rational, read_keys(values, "delta", "epsilon"))
    return delta, epsilon


def some_of(fields: Sequence[str]) -> str:
    """Return a few names, and how many more there are."""
    more = f" and {len(fields) - _NAMED} more" if len(fields) > _NAMED else ""
    return ", ".join(fields[:_NAMED]) + more


# -- What a certificate may state as (δ, ε): never less than its total is worth.


def check_pairs(
    pairs: tuple[tuple[Fraction, Fraction], ...],
    total: Budget,
    delta: Fraction,
    request: tuple[Fraction | None, Fraction | None],
) -> None:
    """Refuse (δ, ε) that do not follow from a total and the δ of selections, whoever worked them out.

    delta: the sum of the deltas of selections, part of each δ; request: a pair that was asked for holds where it grants
    the total.
    """
    fault = None
    if not all(0 < at < 1 and epsilon >= 0 for at, epsilon in pairs):
        fault = "epsilons of a certificate need delta in (0, 1) and epsilon of at least 0"
    elif not 0 <= delta < 1 or any(at <= delta for at, _ in pairs):
        fault = "the delta of a certificate must be part of the delta of each of its epsilons"
    elif pairs and total.notion == "pure":
        fault = "a pure release has one epsilon at every delta; leave the list of epsilons out"
    elif not all(_is_worth(at - delta, epsilon, total, (epsilon, at) == request) for at, epsilon in pairs):
        fault = "an epsilon of a certificate must not be below what its total is worth at its delta"
    if fault is not None:
        raise ParameterError(fault, code="LW621")


def _is_worth(delta: Fraction, epsilon: Fraction, total: Budget, is_asked: bool) -> bool:
    """Tell whether a total implies (ε, δ): by its own conversion, or because a request for it grants as much."""
    return epsilon >= epsilon_for(total.rho, delta) or (is_asked and total.rho <= rho_for(epsilon, delta))
