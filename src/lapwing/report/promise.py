"""What a privacy budget means, in chances: the most that somebody who guesses can be right.

Let a row (or all rows of a unit) be in the table or not. Whoever accuses it by any test of the release that has
false-alarm probability a finds it with a probability of at most ``min(e^ε a + δ, 1 - e^-ε (1 - a - δ))`` under (ε, δ)
(Wasserman and Zhou 2010, Theorem 2.4; Kairouz, Oh, Viswanath 2015, Theorem 2.1); and where both cases are equally
likely, guesses rightly with a probability of at most ``(e^ε + δ) / (1 + e^ε)``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from lapwing.budget.conversions import epsilon_for
from lapwing.errors import ParameterError
from lapwing.release.certificate import Certificate

Pairs = Sequence[tuple[float, float]]
"""(δ, ε) pairs that hold at once."""

_DELTAS: Final = tuple(Fraction(1, 10**power) for power in (1, 2, 3, 4, 5, 6, 9, 12))
_LARGEST: Final = 700.0  # e to it is the largest power of e that a float holds


@dataclass(frozen=True, slots=True)
class Chance:
    """Hold the most that a guess can be right, and the most that a test can find.

    Parameters
    ----------
    right : float
        Probability of guessing rightly between two cases that are equally likely, 0.5 to 1.
    found : tuple of float
        Probability of finding, at each of the false-alarm probabilities that were asked for.
    """

    right: float
    found: tuple[float, ...]


def chance(pairs: Pairs, false_alarms: Sequence[float] = ()) -> Chance:
    """Return the most that somebody can learn about one unit.

    Parameters
    ----------
    pairs : sequence of (δ, ε)
        All hold; δ is 0 for pure ε.
    false_alarms : sequence of float
        Probabilities, 0 to 1.

    Returns
    -------
    Chance

    Examples
    --------
    >>> round(chance([(0.0, 1.0)]).right, 3), round(chance([(0.0, 1.0)], [0.05]).found[0], 3)
    (0.731, 0.136)
    """
    right, found = 1.0, [1.0] * len(false_alarms)
    for delta, epsilon in pairs:
        power = math.exp(-min(epsilon, _LARGEST))
        right = min(right, (1 + delta * power) / (1 + power))
        for place, alarm in enumerate(false_alarms):
            most = min((alarm + delta * power) / power, 1 - power * (1 - alarm - delta))
            found[place] = min(found[place], most)
    return Chance(right, tuple(found))


def pairs_of(certificate: Certificate, *, releases: int = 1, units: int = 1) -> Pairs:
    """Return (δ, ε) pairs that hold for so many releases like this one, about so many units together.

    Parameters
    ----------
    certificate : Certificate
    releases, units : int, default 1
        Units are, for example, the rows of one person where each row is protected by itself.

    Returns
    -------
    sequence of (δ, ε)
        One for pure ε; several for ρ, down from a δ of 0.1: which of them says most depends on what is asked. None
        where ρ is too large to be converted.

    Notes
    -----
    k releases cost k times ε or ρ; k units k times ε, or k squared times ρ (Bun and Steinke 2016, Proposition 1.9).
    """
    total = certificate.total
    if total.notion == "pure":
        return [(0.0, float(total.epsilon * releases * units))]
    rho = total.rho * releases * units**2
    try:
        return [(float(delta), float(epsilon_for(rho, delta))) for delta in _DELTAS]
    except ParameterError:
        return []


def percent_up(share: float) -> str:
    """Return a probability in percent, rounded up, so that what is shown holds.

    Examples
    --------
    >>> percent_up(0.7311), percent_up(0.99999), percent_up(1.0)
    ('73.2 %', '100 %', '100 %')
    """
    tenths = min(1000, math.ceil(1000 * share - 1e-9))
    return "100 %" if tenths == 1000 else f"{tenths / 10:.1f} %"
