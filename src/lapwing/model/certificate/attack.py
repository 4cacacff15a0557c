"""What a promise means for an attacker who knows everything but one person: bounds that follow from the accounting.

Whoever has to tell from a release whether a person is in the table makes two kinds of errors. Under ε and δ, of all
tests with false alarms at most f, none finds the person with a probability above ``e**ε f + δ``, nor above
``1 - e**-ε (1 - f - δ)`` (Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015). Under ρ-zCDP finding with
probability g and false alarms are two coins, which are no further apart than the releases: at every order λ > 1,
``g**λ f**(1-λ) + (1-g)**λ (1-f)**(1-λ) <= exp(λ (λ-1) ρ)`` (data processing; Bun and Steinke 2016).
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw

FALSE_ALARMS = (0.01, 0.1)
"""What attackers are usually allowed of them."""

RARE = 1e-6
"""The fewest false alarms, and hits that are missed, for which the Gaussian bound of a promise in ρ is stated."""

_ORDERS = 1 + np.geomspace(1e-2, 1e5, 120)
_LARGE = 600.0
_REMEMBERED = 1024  # bounds that the pages of one release ask for again and again
_HALVINGS = 40
_STEPS = (0.01, 0.05)  # of the list of false alarms, in deviations


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
    >>> round(most_found(Budget.zcdp("0.015"), 0.1), 3)
    0.142
    """
    if not 0.0 <= false_alarms <= 1.0:
        raise ParameterError(
            f"false_alarms must be a probability from 0 to 1, got {false_alarms}; give for example 0.01", code="LW301"
        )
    lists = float(delta)
    if total.notion == "pure":
        epsilon = float(total.amount)
        steep = math.exp(min(epsilon, 700.0)) * false_alarms + lists
        found = min(steep, 1.0 - math.exp(-epsilon) * max(0.0, 1.0 - false_alarms - lists))
    else:
        # Except with the probability of the lists the promise is one in ρ (Bun and Steinke 2016, section 8).
        found = lists + _under_rho(float(total.rho), min(1.0, false_alarms / (1.0 - lists)))
    return max(false_alarms, min(1.0, found))


def most_right(total: Budget, delta: Fraction = Fraction(0)) -> float:
    """Return the largest probability of telling rightly which of two equally likely tables a release is of.

    Both kinds of errors count alike, and tables may change places: no test does better than one whose errors are equal.

    >>> round(most_right(Budget.pure(1)), 4), round(most_right(Budget.zcdp("0.5")), 3)
    (0.7311, 0.74)
    """
    if total.notion == "pure":
        right = 1 / (1 + math.exp(-min(float(total.amount), 700.0)))
    else:
        right = _with_equal_errors(float(total.rho))
    return right + min(1.0, float(delta)) * (1 - right)


@lru_cache(_REMEMBERED)
def _with_equal_errors(rho: float) -> float:
    """Return the largest probability of being right about two tables that all orders allow."""
    return _largest(rho, 0.5, lambda found: 1 - found)


@lru_cache(_REMEMBERED)
def _under_rho(rho: float, alarms: float) -> float:
    """Return the largest probability that all orders allow: none of them is needed, so that a list of them will do."""
    return alarms if alarms in (0.0, 1.0) else _largest(rho, alarms, lambda found: np.full(found.shape, alarms))


def _largest(rho: float, low: float, alarms: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return how far up from ``low`` a probability of finding may lie, beside these false alarms, under every order."""
    if rho == 0.0:
        return low
    lower, upper = np.full(_ORDERS.size, low), np.ones(_ORDERS.size)
    most = _ORDERS * (_ORDERS - 1) * rho
    for _ in range(_HALVINGS):
        found = (lower + upper) / 2
        is_allowed = np.maximum(_divergence(found, alarms(found)), _divergence(alarms(found), found)) <= most
        lower, upper = np.where(is_allowed, found, lower), np.where(is_allowed, upper, found)
    return float(upper.min())


def _divergence(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return how far two coins are apart at each order, times the order less one."""
    with np.errstate(divide="ignore"):  # the logarithm of 0, where a coin has come to one side
        heads = _ORDERS * np.log(one) + (1 - _ORDERS) * np.log(other)
        tails = _ORDERS * np.log1p(-one) + (1 - _ORDERS) * np.log1p(-other)
    return np.asarray(np.logaddexp(heads, tails))


def gaussian_bound(total: Budget, delta: Fraction = Fraction(0)) -> float:
    """Return a μ: no attack finds more than one on a number with Gaussian noise that a person moves by μ deviations.

    Of a pure ε this is μ-GDP (Dong, Roth and Su 2022), at the point where both kinds of errors are equal. A promise in
    ρ, or with a δ, bounds attacks with false alarms and missed hits of `RARE` or more, since no μ holds for all: it is
    the largest distance over a fine list of false alarms up to a half, each taken with the next one's hits. Both curves
    are the same where the two kinds of errors change places, so that a half is enough.

    >>> round(gaussian_bound(Budget.pure(1)), 3), round(gaussian_bound(Budget.zcdp("0.5")), 2)
    (1.232, 1.33)
    """
    normal = NormalDist()
    if total.notion == "pure" and not delta:
        epsilon = float(total.amount)
        # Where e to it is too large for a float, a bound of the normal law's tail does.
        return -2 * normal.inv_cdf(1 / (1 + math.exp(epsilon))) if epsilon < _LARGE else 2 * math.sqrt(2 * epsilon + 1)
    step = min(max(math.sqrt(2 * float(total.amount)) / 20, _STEPS[0]), _STEPS[1])
    scores = np.arange(normal.inv_cdf(RARE), step, step)
    found = [min(most_found(total, normal.cdf(each), delta), 1 - RARE) for each in scores]
    return float(max(normal.inv_cdf(hit) - score for hit, score in zip(found[1:], scores, strict=False)))


def trade_off(total: Budget, delta: Fraction = Fraction(0)) -> list[tuple[float, float]]:
    """Return points of the curve of false alarms and the largest probability of finding a person.

    >>> [round(found, 3) for _, found in trade_off(Budget.pure(1))]
    [0.003, 0.027, 0.136, 0.272, 0.68, 0.816]
    """
    return [(alarms, most_found(total, alarms, delta)) for alarms in (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)]


def up(share: float) -> str:
    """Return a probability in percent, rounded up, so that what is shown holds.

    >>> up(0.02718), up(0.5), up(0.99999)
    ('2.8 %', '50.0 %', '100 %')
    """
    tenths = min(1000, math.ceil(1000 * share - 1e-9))
    return "100 %" if tenths == 1000 else f"{tenths / 10:.1f} %"


# -- ε in the words of those who decide: attacks, every δ, and what a small cell shows.


_WIDE = 10**8  # a variance from which on the sum over integers is the integral to all digits that are shown
_REACH = 12  # standard deviations


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
