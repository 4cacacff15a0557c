"""ε in the words of those who decide: attacks, every δ, and what a small cell shows, all from the accounting alone."""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.terms import Relation
from lapwing.model.certificate.attack import RARE, attack_line, gaussian_bound, trade_off, up
from lapwing.model.certificate.cost_lines import CostLine

DELTAS = tuple(Fraction(1, 10**power) for power in (3, 4, 5, 6, 7, 8, 9, 12))
MANY = 10
"""People whom an empty cell seems to have, from which on somebody would take it for a group."""

_WIDE = 10**8  # a variance from which on the sum over integers is the integral to all digits that are shown
_REACH = 12  # standard deviations


def in_other_words(
    total: Budget, delta: Fraction, relation: Relation, privacy_unit: str, lines: Iterable[CostLine]
) -> list[str]:
    """Return sentences on what a release gives away: post-processing of its accounting, which costs nothing."""
    curve = ", ".join(f"{up(found)} at {alarms:.1%}" for alarms, found in trade_off(total, delta))
    where = "" if total.notion == "pure" and not delta else f", for false alarms and misses of {RARE:g} or more"
    return [
        attack_line(total, delta, relation, privacy_unit),
        f"Trade-off, the largest probability of a hit at each probability of a false alarm: {curve}.",
        f"Gaussian: no better than an attack on one number with Gaussian noise of sd 1 that this unit moves by "
        f"{_up(gaussian_bound(total, delta))}{where}.",
        _every_delta(total, delta),
        *small_cells(lines),
    ]


def _every_delta(total: Budget, lists: Fraction) -> str:
    """Say which ε holds at each of eight δ."""
    if total.notion == "pure":
        return f"Epsilon at every delta{f' from {at_least(lists, 3)} on' * bool(lists)}: {at_least(total.amount, 4)}."
    pairs = [(each, epsilon_for(total.rho, each - lists)) for each in DELTAS if each > lists]
    return f"Epsilon at delta: {', '.join(f'{at_least(eps, 3)} at {at_least(each, 3)}' for each, eps in pairs)}."


def small_cells(lines: Iterable[CostLine]) -> list[str]:
    """Say for each kind of table what the noise makes of a cell with one person, and of an empty one.

    Each row of a privacy unit counts as a person here. Of tables of one kind those with the most usual noise speak.
    """
    kinds: dict[int, Counter[NoiseLaw]] = {}
    for line in lines:
        if line.noise is not None and line.columns and line.question == MarginalCounts.kind:
            kinds.setdefault(len(line.columns), Counter())[line.noise] += 1
    return [_cells_line(columns, laws) for columns, laws in sorted(kinds.items())]


def _cells_line(columns: int, laws: "Counter[NoiseLaw]") -> str:
    law, usual = laws.most_common(1)[0]
    tables = f"{usual} of {laws.total()} noisy tables" if usual < laws.total() else f"{usual} noisy tables"
    return (
        f"Small cells, {tables} of {columns} column{'s' * (columns > 1)} (noise sd {law.sd:.3g}): a cell of 1 is "
        f"counted as 0 or less in {tail(law, 1):.0%} of cases, an empty one as {MANY} or more in {tail(law, MANY):.0%}."
    )


def tail(law: NoiseLaw, least: int) -> float:
    """Return the probability that noise is at least a number above 0.

    >>> from lapwing.kernel.noise_law import NoiseLaw
    >>> round(tail(NoiseLaw("laplace", Fraction(1)), 1), 4), round(tail(NoiseLaw("gaussian", Fraction(4)), 1), 4)
    (0.2689, 0.4003)
    """
    if law.kind == "laplace":
        q = math.exp(-1 / float(law.parameter)) if law.sd else 0.0
        return q**least / (1 + q)
    variance = float(law.parameter)
    if variance > _WIDE:
        return math.erfc((least - 0.5) / math.sqrt(2 * variance)) / 2
    reach = least + math.ceil(_REACH * math.sqrt(variance))
    masses = [math.exp(-(z**2) / (2 * variance)) for z in range(reach)]
    return math.fsum(masses[least:]) / (2 * math.fsum(masses) - masses[0])


def _up(value: float) -> str:
    """Return a number that is never shown too small."""
    return f"{math.ceil(1000 * value) / 1000:.3f}"
