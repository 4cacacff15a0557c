"""A table that a plan knows the cost of, and not the columns."""

from dataclasses import dataclass

from lapwing.budget.budget import Budget


@dataclass(frozen=True, slots=True)
class ChosenTable:
    """Stand in a plan for the `MarginalCounts` question whose columns a selection will choose.

    Parameters
    ----------
    cost : Budget
        What its answer will cost.
    """

    cost: Budget
