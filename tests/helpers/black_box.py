"""Black-box privacy tests: an event is learned on half of the runs, and certifies a lower bound on the other half."""

import itertools
import math

import numpy as np
from scipy.stats import beta

MISTAKE = 1e-6
"""How often an honest program is flagged, at most."""


def certified_loss(first, second):
    """Return a lower bound on epsilon, right but for one time in a million.

    Parameters
    ----------
    first, second : ndarray, shape (runs, features)
        What was seen of runs on two neighbours. An event is a threshold on one feature.
    """
    half = len(first) // 2
    learned = max(events(first[:half], second[:half]), key=lambda event: bound_of(event, first[:half], second[:half]))
    return bound_of(learned, first[half:], second[half:])


def events(first, second):
    """Yield events: feature, threshold, side, and which table makes it likely."""
    both = np.concatenate((first, second))
    for feature in range(both.shape[1]):
        cuts = np.unique(np.quantile(both[:, feature], np.linspace(0.005, 0.995, 60), method="lower"))
        yield from itertools.product((feature,), cuts.tolist(), (False, True), (False, True))


def bound_of(event, first, second):
    """Return the logarithm of how much likelier an event is, at least."""
    feature, cut, is_below, is_swapped = event
    if is_swapped:
        first, second = second, first
    likely, rare = (np.count_nonzero((runs[:, feature] <= cut) == is_below) for runs in (first, second))
    least = beta.ppf(MISTAKE / 2, likely, len(first) - likely + 1) if likely else 0.0
    most = beta.ppf(1 - MISTAKE / 2, rare + 1, len(second) - rare) if rare < len(second) else 1.0
    return math.log(least / most) if least > 0 else -math.inf
