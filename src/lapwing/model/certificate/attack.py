"""What a promise means for an attacker who knows everything but one person: bounds that follow from the accounting.

Whoever has to tell from a release whether a person is in the table makes two kinds of errors. Of all tests with false
alarms at most f, none finds the person with a probability above ``e**ε f + δ``, nor above ``1 - e**-ε (1 - f - δ)``
(Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015). A promise in ρ holds at every δ with its own ε, so the least
of these bounds holds.
"""

import math
from fractions import Fraction

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.kernel.terms import Relation
from lapwing.model.certificate.promise import unit_field

FALSE_ALARMS = (0.01, 0.1)
"""What attackers are usually allowed of them."""

_DELTAS = tuple(Fraction(digit, 10**power) for power in range(1, 16) for digit in (5, 2, 1))


def most_found(total: Budget, false_alarms: float, delta: Fraction = Fraction(0)) -> float:
    """Return the largest probability with which a person can be found.

    Parameters
    ----------
    total : Budget
        What a release cost, or all releases of a table together.
    false_alarms : float
        The probability, from 0 to 1, with which a person is found who is not there.
    delta : Fraction, default 0
        The part of every δ that lists of texts took, below 1.

    Returns
    -------
    float
        From ``false_alarms`` to 1.

    Raises
    ------
    ParameterError
        If ``false_alarms`` is no probability.

    Examples
    --------
    >>> round(most_found(Budget.pure(1), 0.01), 4)
    0.0272
    >>> round(most_found(Budget.zcdp("0.015"), 0.1), 2)
    0.14
    """
    if not 0.0 <= false_alarms <= 1.0:
        raise ParameterError(
            f"false_alarms must be a probability from 0 to 1, got {false_alarms}; give for example 0.01", code="LW301"
        )
    return max(false_alarms, min(1.0, *(_bound(pair, false_alarms) for pair in _pairs(total, delta))))


def _pairs(total: Budget, delta: Fraction) -> list[tuple[float, float]]:
    """Return pairs of ε and δ at which the promise holds."""
    if total.notion == "pure":
        return [(float(total.amount), float(delta))]
    return [(float(epsilon_for(total.rho, each)), float(each + delta)) for each in _DELTAS]


def _bound(pair: tuple[float, float], false_alarms: float) -> float:
    """Return what one pair allows."""
    epsilon, delta = pair
    steep = math.exp(min(epsilon, 700.0)) * false_alarms + delta
    return min(steep, 1.0 - math.exp(-epsilon) * max(0.0, 1.0 - false_alarms - delta))


def attack_line(total: Budget, delta: Fraction, relation: Relation, privacy_unit: str) -> str:
    """Say in a sentence what the best attack can do to one privacy unit."""
    field = unit_field(privacy_unit)
    unit = "a row" if field is None else f"a value of {field}"
    what = (
        f"finds out that {unit} is in the table" if relation == "add-remove" else f"tells two versions of {unit} apart"
    )
    found = [f"{most_found(total, each, delta):.1%} at {each:.0%} false alarms" for each in FALSE_ALARMS]
    return f"Attack: whoever has only this release, and all other rows, {what} in at most {' or '.join(found)}."
