"""What a purchase of bounds and lists, and the release after it, get of one granted budget: shares of what adds up."""

from collections.abc import Sequence
from fractions import Fraction
from math import floor, log10
from typing import Final

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import as_text, exact_number
from lapwing.kernel.budget.conversions import EPSILON_STEP, epsilon_for, rho_for
from lapwing.schema.purchases import Purchase

USUAL_DELTA: Final = "1e-9"
"""The δ that `lapwing start` and the studio begin with, and that others suggest."""

_BOUGHT: Final = Fraction(1, 5)
_DIGITS: Final = 6


def selection_delta(delta: str) -> str:
    """Return what lists of texts may cost of a δ: half of it, in two purchases."""
    return f"{float(delta) / 2:g}"


def bought_share(epsilon: str, delta: str | None, *, lists: bool) -> tuple[str, str | None]:
    """Return ε and δ of a purchase of a fifth of a budget: of ε, or, where ρ adds up, of ρ.

    lists: whether it is of lists of texts, which need a part of δ.

    >>> bought_share("1", None, lists=False), bought_share("1", "1e-9", lists=False)
    (('0.2', None), ('0.432872', '1e-9'))
    """
    if delta is None:
        return as_text(exact_number("epsilon", epsilon) * _BOUGHT), None
    part = _granted(epsilon, delta, lists=lists) * _BOUGHT
    own = selection_delta(delta) if lists else delta
    return _epsilon(part, exact_number("delta", own) / (2 if lists else 1)), own


def left_for_release(epsilon: str, delta: str | None, purchases: Sequence[Purchase]) -> str:
    """Return the ε that purchases leave of a budget for one release at the same δ.

    >>> left_for_release("1", "1e-9", ())
    '1'
    """
    if not purchases:
        return epsilon
    if delta is None:
        paid = (each.amount for each in purchases if each.notion == "pure")
        left = exact_number("epsilon", epsilon) - sum(paid, Fraction(0))
    else:
        spent = sum((each.amount if each.notion == "zcdp" else each.amount**2 / 2 for each in purchases), Fraction(0))
        left = _granted(epsilon, delta, lists=any(each.delta for each in purchases)) - spent
    if left <= 0:
        raise ParameterError(
            f"epsilon {epsilon} is no more than bounds and lists cost that were learned before; give a larger one",
            code="LW313",
        )
    return as_text(left) if delta is None else _epsilon(left, exact_number("delta", delta))


def _granted(epsilon: str, delta: str, *, lists: bool) -> Fraction:
    """Return the ρ of a budget; half of δ is for lists."""
    return rho_for(exact_number("epsilon", epsilon), exact_number("delta", delta) / (2 if lists else 1))


def _epsilon(rho: Fraction, delta: Fraction) -> str:
    """Return an ε of few digits that costs no more than ρ at a δ."""
    exact = epsilon_for(rho, delta) - Fraction(EPSILON_STEP)
    step = Fraction(10) ** (floor(log10(exact)) + 1 - _DIGITS)
    return as_text(exact // step * step)
