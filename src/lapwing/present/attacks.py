"""The words of an attack: a promise for those who decide, as chances, every δ, and what a small cell shows."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.terms import Relation
from lapwing.model.certificate.attack import FALSE_ALARMS, RARE, gaussian_bound, most_found, tail, trade_off, up
from lapwing.model.certificate.cost_lines import CostLine
from lapwing.model.certificate.promise import unit_field
from lapwing.present.document import Fact, count_text
from lapwing.present.messages import say

_DELTAS: Final = tuple(Fraction(1, 10**power) for power in (3, 4, 5, 6, 7, 8, 9, 12))
_MANY: Final = 10  # people whom an empty cell seems to have, from which on somebody would take it for a group


def attack_fact(total: Budget, delta: Fraction, relation: Relation, privacy_unit: str) -> Fact:
    """Say what the best attack can do to one privacy unit."""
    field = unit_field(privacy_unit)
    unit = say("attack.row") if field is None else say("attack.value", field=field)
    cases = [(up(most_found(total, each, delta)), _share(each)) for each in FALSE_ALARMS]
    said = say(
        "attack.line",
        what=say("attack.found" if relation == "add-remove" else "attack.told", unit=unit),
        most=" or ".join(say("attack.case", found=found, alarms=alarms) for found, alarms in cases),
        without=" and ".join(alarms for _, alarms in cases),
    )
    return Fact("attack", say("label.attack"), said)


def detail_facts(total: Budget, delta: Fraction, lines: Iterable[CostLine]) -> Iterator[Fact]:
    """Yield what else a release gives away: post-processing of its accounting, which costs nothing."""
    yield trade_off_fact(trade_off(total, delta))
    where = "" if total.notion == "pure" and not delta else say("attack.rare", rare=RARE)
    mu = f"{math.ceil(1000 * gaussian_bound(total, delta)) / 1000:.3f}"  # never shown too small
    yield Fact("gaussian", say("label.gaussian"), say("attack.gaussian", mu=mu, where=where))
    yield _every_delta(total, delta)
    for columns, laws in sorted(_tables(lines).items()):
        yield Fact("small_cells", "", _small_cells(columns, laws))


def trade_off_fact(points: Iterable[tuple[float, float]]) -> Fact:
    """Say the largest probability of a hit at each probability of a false alarm."""
    curve = ", ".join(say("attack.point", found=up(found), alarms=_share(alarms)) for alarms, found in points)
    return Fact("trade_off", "", say("attack.trade_off", curve=curve))


def zcdp_fact(pairs: Iterable[tuple[Fraction, Fraction]]) -> Fact:
    """Say which ε holds at each of some δ: pairs of δ and ε."""
    listed = ", ".join(f"{at_least(epsilon, 3)} at {at_least(delta, 3)}" for delta, epsilon in pairs)
    return Fact("every_delta", "", say("attack.zcdp", pairs=listed))


def _share(alarms: float) -> str:
    return f"{100 * alarms:g} %"


def _every_delta(total: Budget, lists: Fraction) -> Fact:
    """Say which ε holds at each of eight δ."""
    if total.notion == "pure":
        epsilon = at_least(total.amount, 4)
        found = say("attack.pure_lists", delta=at_least(lists, 3), epsilon=epsilon) if lists else None
        return Fact("every_delta", "", found or say("attack.pure", epsilon=epsilon))
    return zcdp_fact((each, epsilon_for(total.rho, each - lists)) for each in _DELTAS if each > lists)


def _tables(lines: Iterable[CostLine]) -> dict[int, Counter[NoiseLaw]]:
    """Return how often each noise law is on tables of so many columns."""
    kinds: dict[int, Counter[NoiseLaw]] = {}
    for line in lines:
        if line.noise is not None and line.columns and line.question == MarginalCounts.kind:
            kinds.setdefault(len(line.columns), Counter())[line.noise] += 1
    return kinds


def _small_cells(columns: int, laws: Counter[NoiseLaw]) -> str:
    """Say what the most usual noise makes of a cell with one person, and of an empty one; each row is a person here."""
    law, usual = laws.most_common(1)[0]
    return say(
        "attack.small_cells",
        tables=f"{usual} of {laws.total()} noisy tables" if usual < laws.total() else count_text(usual, "noisy table"),
        columns=count_text(columns, "column"),
        sd=law.sd,
        lost=f"{100 * tail(law, 1):.0f} %",
        many=_MANY,
        made=f"{100 * tail(law, _MANY):.0f} %",
    )
