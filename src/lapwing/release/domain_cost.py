"""What the bounds and lists of a schema cost that were bought before, and what that is together with a release."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, cast

from lapwing.budget.budget import Budget, Notion
from lapwing.budget.conversions import certificate_epsilons, epsilon_for
from lapwing.errors import ParameterError
from lapwing.release.cost_lines import budget_to_dict
from lapwing.release.plain import rational_text
from lapwing.schema.purchases import Purchase

Pairs = tuple[tuple[Fraction, Fraction], ...]
"""(δ, ε) that hold at once."""

_LISTED: Final = 8
_NAMED: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Add a release up with the purchases that were made under the same terms.

    Parameters
    ----------
    total : Budget
        The sum, in ε where all amounts are, else in ρ (a pure ε enters as ε²/2).
    delta : Fraction
        The sum of the deltas of selections.
    epsilons : tuple of (delta, epsilon) pairs of Fraction
        What the sum means as (ε, δ), where it is not pure: ``delta`` is part of each δ.
    """

    total: Budget
    delta: Fraction
    epsilons: Pairs

    def text(self) -> str:
        """Return the sum in words."""
        if not self.epsilons:
            more = f", except with probability {float(self.delta):.3g}" if self.delta else ""
            return f"{_budget_text(self.total)}{more}"
        pairs = "; ".join(f"epsilon {float(eps):.4g} at delta {float(delta):.4g}" for delta, eps in self.epsilons)
        return f"{_budget_text(self.total)}: {pairs}"

    def to_dict(self) -> dict[str, Any]:
        """Return the sum as plain JSON values."""
        return {
            "total": budget_to_dict(self.total),
            "delta": rational_text(self.delta),
            "epsilons": pairs_to_dict(self.epsilons),
        }


def pairs_at(rho: Fraction, delta: Fraction, requested: Fraction | None = None) -> Pairs:
    """Return what ρ and the deltas of selections are worth as (δ, ε): at the requested δ first, then at the usual ones.

    Parameters
    ----------
    rho : Fraction
        At least 0.
    delta : Fraction
        Of all selections together; part of every δ that is returned.
    requested : Fraction or None
        A δ to state first, above ``delta``.

    Returns
    -------
    tuple of (delta, epsilon)
        Those with a δ below 1.

    Raises
    ------
    ParameterError
        If ρ is too large to be converted.

    Notes
    -----
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

    Parameters
    ----------
    total : Budget
        Of the release.
    delta : Fraction
        Of its own selections.
    requested : Fraction or None
        The δ that was asked for.
    terms : (relation, privacy unit)
        Of the release.
    purchases : sequence of Purchase
        What was bought before.

    Returns
    -------
    Together or None
        None where no purchase was made under these terms: losses under two relations, or about two units, are no sum.
    """
    alike = [each for each in purchases if are_alike(each, terms)]
    if not alike:
        return None
    amounts = [total, *(Budget(cast("Notion", each.notion), each.amount) for each in alike)]
    is_pure = all(amount.notion == "pure" for amount in amounts)
    used = amounts if is_pure else [amount.as_zcdp() for amount in amounts]
    added = Budget(used[0].notion, sum((amount.amount for amount in used), Fraction(0)))
    bought = sum((each.delta for each in alike), Fraction(0))
    stated = None if requested is None else requested + bought
    try:
        pairs = () if is_pure else pairs_at(added.rho, delta + bought, stated)
    except ParameterError:
        pairs = ()  # many huge amounts
    return Together(total=added, delta=delta + bought, epsilons=pairs)


def are_alike(purchase: Purchase, terms: tuple[str, str]) -> bool:
    """Tell whether a purchase was made under a relation and privacy unit."""
    return (purchase.relation, purchase.privacy_unit) == terms


def purchase_lines(purchases: Sequence[Purchase], terms: tuple[str, str], whole: Together | None) -> list[str]:
    """Say what was bought before, and what it is together with a release of these terms.

    Parameters
    ----------
    purchases : sequence of Purchase
    terms : (relation, privacy unit)
    whole : Together or None
        The sum, as `together` gives it.

    Returns
    -------
    list of str
        Whole sentences; none where nothing was bought.
    """
    lines = [_sentence(each, are_alike(each, terms)) for each in purchases[:_LISTED]]
    if len(purchases) > _LISTED:
        lines.append(f"There are {len(purchases) - _LISTED} earlier purchases more.")
    if whole is not None:
        lines.append(f"Together with what was bought before under the same terms: {whole.text()}.")
    return lines


def purchase_cost(purchase: Purchase) -> str:
    """Return the price of a purchase in words."""
    amount = _budget_text(Budget(cast("Notion", purchase.notion), purchase.amount))
    return f"{amount}, except with probability {float(purchase.delta):.3g}" if purchase.delta else amount


def pairs_to_dict(pairs: Pairs) -> list[dict[str, dict[str, str]]]:
    """Return (δ, ε) pairs as plain JSON values."""
    return [{"delta": rational_text(delta), "epsilon": rational_text(eps)} for delta, eps in pairs]


def _sentence(purchase: Purchase, is_alike: bool) -> str:
    """Say what one purchase was."""
    names = ", ".join(purchase.fields[:_NAMED])
    more = f" and {len(purchase.fields) - _NAMED} more" if len(purchase.fields) > _NAMED else ""
    apart = (
        f" That was under {purchase.relation} neighbours and for the privacy unit {purchase.privacy_unit}, so that it "
        "is not added up here."
    )
    return (
        f"Bounds or categories of {names}{more} were bought before for {purchase_cost(purchase)} (release "
        f"{purchase.release}).{'' if is_alike else apart}"
    )


def _budget_text(budget: Budget) -> str:
    """Return an amount as people read it: exact where that is short."""
    exact = str(budget)
    name, _, number = exact.partition(" ")
    return exact if len(number) <= 12 and "/" not in number else f"{name} {float(budget.amount):.4g}"
