"""What several releases cost together, as plain JSON values and as the events of Google's dp-accounting."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, cast

from lapwing.errors import BudgetError
from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.model.certificate.attack import most_found
from lapwing.model.certificate.cost_lines import CostLine, budget_to_dict
from lapwing.model.certificate.promise import ROW, added_up
from lapwing.schema.purchases import Purchase

DELTAS: Final = tuple(Fraction(1, 10**places) for places in (3, 4, 5, 6, 7, 8, 9, 12))
FALSE_ALARMS: Final = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5)

_RELATIONS: Final = {"add-remove": "ADD_OR_REMOVE_ONE", "replace-one": "REPLACE_ONE"}
"""What dp-accounting calls the neighbour relations."""


def composition(
    terms: Sequence[tuple[str, str]],
    totals: Sequence[Budget],
    lines: Sequence[CostLine],
    deltas: Sequence[Fraction],
    purchases: Sequence[Purchase],
) -> dict[str, Any]:
    """Add releases up, with what learning their schemas cost; see `Certificate.compose`.

    terms: relation and privacy unit of each release; purchases: each once.
    """
    _check_terms([*terms, *((each.relation, each.privacy_unit) for each in purchases)])
    learned = [_cost(each) for each in purchases]
    costs = [*((_named(line), line.cost) for line in lines), *learned]
    amounts = [*totals, *(cost for _, cost in learned)]
    lists = sum((*deltas, *(each.delta for each in purchases)), Fraction(0))
    found = added_up(amounts, [cost for _, cost in costs], lists, DELTAS)
    return {
        "format": 1,
        "relation": _RELATIONS[terms[0][0]],
        "privacy_units": list(dict.fromkeys(unit for _, unit in terms)),
        "events": [{"of": name, **_event(cost)} for name, cost in costs],
        **found.to_dict(),
        "trade_off": [
            {
                "false_alarms": alarms,
                "found_at_most": most_found(found.total, alarms, found.delta) if found.delta < 1 else 1.0,
            }
            for alarms in FALSE_ALARMS
        ],
    }


def largest_of(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what releases of disjoint parts of a table cost, from what `composition` says of each; see `compose`."""
    if parts[0]["relation"] != _RELATIONS["add-remove"]:
        raise BudgetError(
            "whoever is replaced may move from one part to another, where both releases change; add releases under "
            "replace-one up, or make them under add-remove",
            code="LW418",
        )
    # All events are of zero-concentrated privacy: those whose sum is largest lose the most at every order.
    most = max(parts, key=lambda part: sum(Fraction(event["rho"]) for event in part["events"]))
    pairs = [{pair["delta"]["exact"]: pair for pair in part["epsilons"]} for part in parts]
    stated = [delta for delta in pairs[0] if all(delta in each for each in pairs)]
    trades = zip(*(part["trade_off"] for part in parts), strict=True)
    totals = [Budget(part["total"]["notion"], Fraction(part["total"]["exact"])) for part in parts]
    is_pure = all(total.notion == "pure" for total in totals)
    return most | {
        "disjoint": len(parts),
        "total": budget_to_dict(
            max(totals if is_pure else [each.as_zcdp() for each in totals], key=lambda each: each.amount)
        ),
        "privacy_units": list(dict.fromkeys(unit for part in parts for unit in part["privacy_units"])),
        "delta": max((part["delta"] for part in parts), key=lambda delta: Fraction(delta["exact"])),
        "epsilons": [
            max((each[delta] for each in pairs), key=lambda pair: Fraction(pair["epsilon"]["exact"]))
            for delta in stated
        ],
        "trade_off": [max(each, key=lambda row: row["found_at_most"]) for each in trades],
    }


def _check_terms(terms: Sequence[tuple[str, str]]) -> None:
    """Refuse releases whose losses are no sum."""
    if len({(relation, unit == ROW) for relation, unit in terms}) > 1:
        raise BudgetError(
            "budgets add up under one neighbour relation, and for rows or for people; name releases of one kind",
            code="LW418",
        )


def _named(line: CostLine) -> str:
    return " ".join([line.question, ", ".join(line.columns)]).strip()


def _cost(purchase: Purchase) -> tuple[str, Budget]:
    return f"learn {', '.join(purchase.fields)}", Budget(cast("Notion", purchase.notion), purchase.amount)


def _event(cost: Budget) -> dict[str, Any]:
    """Return an amount as an event; the float that stands for it is not below it."""
    exact = cost.as_zcdp().rho
    rho = float(exact)
    return {"event": "ZCDpEvent", "rho": rho if Fraction(rho) >= exact else math.nextafter(rho, math.inf), "xi": 0.0}
