"""Black box: a lower bound on the privacy loss of a program, from nothing but what was seen of its runs.

An event is learned on the first half of the runs on two neighbouring tables, and how likely it is on each is bounded
on the second half. Only a second net beside record and replay, which looks at exact losses: a bound from runs stays
below the true loss, the more so the fewer the runs.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.special import betaincinv, logsumexp

MISTAKE: Final = 1e-6
"""How often the bound is above the true loss, at most."""

_CUTS: Final = 60
_ORDERS: Final = 1 + np.geomspace(1e-3, 1e3, 40)
_Bound = Callable[[np.ndarray, np.ndarray], np.ndarray]


def certified_loss(first: np.ndarray, second: np.ndarray, *, delta: float = 0.0, mistake: float = MISTAKE) -> float:
    """Return a lower bound on the epsilon of (epsilon, delta)-privacy.

    first, second: float or int (runs, features), what was seen of independent runs on two neighbours, at least two runs
    of each. An event is a threshold on one feature, or on one of two sums of them that are learned too; delta: from 0
    to below 1: so much of the probability of an event needs no explanation; mistake: how probable it is, at most, that
    the bound is above the true epsilon.

    References
    ----------
    Clopper and Pearson (1934) for the bounds of the two probabilities; Ding, Wang, Wang, Zhang and Kifer (2018),
    "Detecting violations of differential privacy", for learning an event on runs of its own. What we changed: the
    answer is a bound on epsilon and no p-value.

    >>> often = np.tile([1, 1, 1, 1, 0], 1000)[:, None]
    >>> certified_loss(often, 1 - often)  # of ln 4 = 1.386
    1.145...
    """

    def epsilon(likely: np.ndarray, rare: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(np.maximum(likely - delta, 0)) - np.log(rare))

    return _certified(first, second, epsilon, mistake)


def certified_rho(first: np.ndarray, second: np.ndarray, *, delta: float = 0.0, mistake: float = MISTAKE) -> float:
    """Return a lower bound on the rho of delta-approximate zero-concentrated privacy.

    Returns at least 0. Whether an event happened is a function of what was seen, so rho is at least its Rényi
    divergence of any order, divided by the order (Bun and Steinke 2016, Lemma 2.2).

    >>> often = np.tile([1, 1, 1, 1, 0], 1000)[:, None]
    >>> certified_rho(often, 1 - often)  # of 0.832
    0.593...
    """

    def rho(likely: np.ndarray, rare: np.ndarray) -> np.ndarray:
        likely, rare = np.maximum(likely - delta, 0) / (1 - delta), np.minimum(rare / (1 - delta), 1)
        return _rho_of_event(likely, rare)

    return _certified(first, second, rho, mistake)


def _rho_of_event(likely: np.ndarray, rare: np.ndarray) -> np.ndarray:
    """Return the largest Rényi divergence per order of an event, as far as it is likelier on the first table."""
    orders = _ORDERS[:, None, None]
    outcomes = ((likely, rare), (1 - likely, 1 - rare))
    logs = np.stack([orders * np.log(one) + (1 - orders) * np.log(other) for one, other in outcomes])
    divergences = logsumexp(logs, axis=0) / (orders - 1) / orders
    return np.asarray(np.where(likely > rare, divergences.max(axis=0), 0.0))


def _certified(first: np.ndarray, second: np.ndarray, bound: _Bound, mistake: float) -> float:
    """Return what the event that says most on the first halves says at least on the second ones."""
    half = min(len(first), len(second)) // 2
    first, second = _with_sums(first, second, half)
    learned: tuple[float, int, np.ndarray, int] = (-np.inf, 0, np.zeros(1), 0)
    for feature in range(first.shape[1]):
        runs = first[:half, feature], second[:half, feature]
        cuts = np.quantile(np.concatenate(runs), np.linspace(0.005, 0.995, _CUTS), method="lower")
        found = _bounds(*runs, cuts, bound, mistake)
        kind, place = divmod(int(found.argmax()), len(cuts))
        learned = max(learned, (float(found.max()), feature, cuts[place : place + 1], kind), key=lambda each: each[0])
    _, feature, cuts, kind = learned
    certified = float(_bounds(first[half:, feature], second[half:, feature], cuts, bound, mistake)[kind, 0])
    return max(certified, 0.0)


def _bounds(one: np.ndarray, other: np.ndarray, cuts: np.ndarray, bound: _Bound, mistake: float) -> np.ndarray:
    """Return what each event says at least: one column per cut, four rows.

    The events: at most the cut, above it, and both once more with the tables swapped.
    """
    sizes = np.array([[len(one)], [len(other)]])
    below = np.array([np.searchsorted(np.sort(runs), cuts, side="right") for runs in (one, other)])
    seen = np.array([below, sizes - below])  # [below or above, table, cut]
    least = np.where(seen > 0, betaincinv(np.maximum(seen, 1), sizes - seen + 1, mistake / 2), 0.0)
    most = np.where(seen < sizes, betaincinv(seen + 1, np.maximum(sizes - seen, 1), 1 - mistake / 2), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [bound(least[:, table], most[:, 1 - table]) for table in (0, 1)]
    return np.concatenate(found)


def _with_sums(first: np.ndarray, second: np.ndarray, half: int) -> tuple[np.ndarray, np.ndarray]:
    """Add two sums of the features: how much better each run fits the first table, for Laplace and Gaussian noise.

    Both are learned on the first halves, which leaves the bound on the others right whatever is learned.
    """
    if first.shape[1] == 1:
        return first, second
    known = first[:half], second[:half]
    spread = np.sqrt((known[0].var(axis=0) + known[1].var(axis=0)) / 2)
    spread[spread == 0] = 1
    (one, other), (mean, other_mean) = ([f(runs, axis=0) for runs in known] for f in (np.median, np.mean))
    slopes = (mean - other_mean) / spread**2

    def with_sums(runs: np.ndarray) -> np.ndarray:
        laplace = ((np.abs(runs - other) - np.abs(runs - one)) / spread).sum(axis=1)
        # Rounded: runs that say the same stay on one side of every cut.
        return np.column_stack([runs, np.round(laplace, 9), np.round(runs @ slopes, 9)])

    return with_sums(first), with_sums(second)
