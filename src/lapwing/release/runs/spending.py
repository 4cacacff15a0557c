"""What rules on spending look at, before a run is paid."""

from dataclasses import dataclass
from fractions import Fraction

from lapwing.kernel.budget.budget import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What rules look at of a run that is to be paid.

    runs: the mechanisms, or `evaluation` or `domain`, as a certificate names them; delta: that was asked for.
    """

    runs: tuple[str, ...]
    budget: Budget
    delta: Fraction
    selection_delta: Fraction
    relation: str
    privacy_unit: str
