"""Intervals for the true weighted totals behind a released table, from noisy counts of weights and columns together.

A cell holds N_g rows in each group g of weights, from a_g to b_g in weight, so that its weighted total lies from the
sum of a_g N_g to that of b_g N_g. Noisy counts say each N_g up to noise; each end then misses with half of the failure
probability at most. The answer that serves a cell is the earliest that covers it, as in
`lapwing.model.queries.intervals`.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.questions.questions import Answer
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.queries.intervals import CellIntervals, CoveringView, covering_views, measured_groupings
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping

# -- How far weighted sums of discrete Laplace and Gaussian noise go with a given probability: never too little.


_UP: Final = 1 + 1e-9  # more than the relative rounding of these sums
_TRIED: Final = 200  # places of u, of which the best is taken


def weighted_sum_tail(
    kind: Literal["laplace", "gaussian"],
    parameter: Fraction,
    factors: np.ndarray,
    terms: np.ndarray,
    failure: Fraction | float,
) -> float:
    """Return a t with P(|S| > t) <= failure for S the sum of each factor times so many independent noise values.

    factors: float64 (k,), at least 0; terms: int64 (k,), noise values that each factor multiplies, at least 0. Returns
    never too small; at a failure of 0.05 about 1.4 (Gaussian) to 2 (Laplace) times the smallest one.

    References
    ----------
    Canonne, Kamath, Steinke (2020), "The Discrete Gaussian for Differential Privacy", Corollary 17 (sub-Gaussian); the
    moment generating function of a two-sided geometric law is a sum of geometric series.

    >>> round(weighted_sum_tail("gaussian", Fraction(25), np.array([1.0, 2.0]), np.array([4, 1]), 0.05), 2)
    38.41
    >>> round(weighted_sum_tail("laplace", Fraction(10), np.array([3.0]), np.array([1]), 0.05), 1)
    90.0
    """
    if parameter <= 0 or not 0 < failure < 1 or (factors < 0).any() or (terms < 0).any():
        raise ParameterError(
            "weighted noise needs a positive parameter, factors and terms from 0 up, 0 < failure < 1", code="LW390"
        )
    is_used = (factors > 0) & (terms > 0)
    used, count = factors[is_used], terms[is_used].astype(np.float64)
    if used.size <= 1:  # no weights to speak of: the tails of plain sums are sharper
        return float(used[0]) * sum_tail(kind, parameter, int(count[0]), failure) * _UP if used.size else 0.0
    budget = math.log(2 / failure)
    if kind == "gaussian":
        return math.sqrt(2 * float(parameter) * float((count * used**2).sum()) * budget) * _UP
    rate = 1 / float(parameter)
    tried = rate / used.max() * np.arange(1, _TRIED) / _TRIED
    placed = np.outer(tried, used)
    # log of (1 - q)^2 / ((1 - q e^v)(1 - q e^-v)), by expm1 so that small rates lose no digits
    logs = 2 * math.log(-math.expm1(-rate)) - np.log(-np.expm1(placed - rate)) - np.log(-np.expm1(-placed - rate))
    return float(((logs @ count + budget) / tried).min()) * _UP


_LARGEST = 2.0**61
"""Totals beyond say nothing, and would leave int64."""


def weighted_intervals(
    noisy: Sequence[Answer],
    weight: Field,
    columns: Sequence[str],
    groupings: Sequence[Grouping],
    *,
    failure: Fraction,
    public_rows: int | None = None,
) -> CellIntervals:
    """Return an interval for the true weighted total of each cell of a table, where a noisy answer tells of it.

    noisy: of one release, in the order in which they were given; failure: the most that the chance of a miss may be,
    for each cell. Returns ends rounded outwards; `terms` counts the noisy counts of groups with any weight. A cell is
    covered where every group of weights above 0 is.
    """
    shape = tuple(grouping.groups for grouping in groupings)
    lower, upper, terms = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    misfits_out = np.zeros(shape, dtype=np.bool_)
    names = (*columns, weight.name)
    for answer in noisy:
        found = measured_groupings([answer], names)
        if found is None:
            continue
        least, most = _weight_ends(weight, found[-1])
        for view in covering_views(answer, names, (*groupings, found[-1])):
            own = _terms_of_cells(view, most)
            new = (terms == 0) & (own > 0)
            if new.any():
                terms[new], misfits_out[new] = own[new], view.misfits_out
                lower[new], upper[new] = _ends(view, new, least, most, failure)
    largest = _LARGEST if public_rows is None else min(public_rows * float(weight.range.top), _LARGEST)
    ceiling = int(np.ceil(largest))
    return CellIntervals(np.clip(lower, 0, ceiling), np.clip(upper, 0, ceiling), terms, misfits_out)


def _weight_ends(weight: Field, grouping: Grouping) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest weight in each group of weights; 0 for what is missing or special."""
    found = weight.range
    starts, stops, group = (np.asarray(each) for each in grouping.pieces())
    is_regular = starts < found.values
    first, last = starts[is_regular], np.minimum(stops[is_regular], found.values) - 1
    # Without steps, codes are cells of a continuous range; one more on either side, as their ends are rounded.
    step = (found.hi - found.lo) / found.values if found.step is None else float(found.step)
    below, above = (1, 2) if found.step is None else (0, 0)
    low, high = found.lo + (first - below) * step, found.lo + (last + above) * step
    least, most = np.full(grouping.groups, np.inf), np.zeros(grouping.groups)
    np.minimum.at(least, group[is_regular], np.clip(low, found.lo, found.hi))
    np.maximum.at(most, group[is_regular], np.clip(high, found.lo, found.hi))
    return np.where(np.isfinite(least), least, 0.0), most


def _terms_of_cells(view: CoveringView, most: np.ndarray) -> np.ndarray:
    """Return how many noisy counts each cell's weighted total is made of; 0 where a group of weights is not covered."""
    needed = view.terms[..., most > 0]
    return np.where((needed > 0).all(axis=-1), needed.sum(axis=-1), 0)


def _ends(
    view: CoveringView, cells: np.ndarray, least: np.ndarray, most: np.ndarray, failure: Fraction
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals of some cells."""
    sums, terms = view.sums()[cells].astype(np.float64), view.terms[cells]
    kinds, places = np.unique(terms, axis=0, return_inverse=True)
    law = view.noise
    # A tail of both sides at the whole failure probability is one of one side at half of it.
    below, above = (
        np.array([weighted_sum_tail(law.kind, law.parameter, factors, each, failure) for each in kinds])
        for factors in (least, most)
    )
    lower = np.floor(sums @ least - below[places.reshape(-1)])
    upper = np.ceil(sums @ most + above[places.reshape(-1)])
    return _whole(lower), _whole(upper)


def _whole(ends: np.ndarray) -> np.ndarray:
    """Return whole ends as int64, cut where they say nothing."""
    return np.asarray(np.clip(ends, -_LARGEST, _LARGEST), dtype=np.int64)
