"""What a certificate may state as (δ, ε): never less than its total is worth."""

from fractions import Fraction

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for, rho_for


def check_pairs(
    pairs: tuple[tuple[Fraction, Fraction], ...],
    total: Budget,
    delta: Fraction,
    request: tuple[Fraction | None, Fraction | None],
) -> None:
    """Refuse (δ, ε) that do not follow from a total and the δ of selections, whoever worked them out.

    delta: the sum of the deltas of selections, part of each δ; request: a pair that was asked for holds where it grants
    the total.

    >>> check_pairs(((Fraction(1, 10**6), Fraction(6)),), Budget.zcdp("0.5"), Fraction(0), (None, None))
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
