"""Intervals for the true weighted totals behind a released table, from noisy counts of weights and columns together.

A cell holds N_g rows in each group g of weights, from a_g to b_g in weight, so that its weighted total lies from the
sum of a_g N_g to that of b_g N_g. Noisy counts say each N_g up to noise; each end then misses with half of the failure
probability at most. The answer that serves a cell is the earliest that covers it, as in `lapwing.api.intervals`.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from lapwing.api.intervals import CellIntervals, CoveringView, covering_views, measured_groupings
from lapwing.numerics.weighted_noise import weighted_sum_tail
from lapwing.release.questions import Answer
from lapwing.schema.fields import Field
from lapwing.schema.groupings import Grouping

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

    Parameters
    ----------
    noisy : sequence of answers
        Of one release, in the order in which they were given.
    weight : Field
        The column of weights, none of ``columns``.
    columns : sequence of str
        The table's columns.
    groupings : sequence of Grouping
        One per column.
    failure : Fraction
        The most that the chance of a miss may be, for each cell.
    public_rows : int or None
        The number of rows, where it is public.

    Returns
    -------
    CellIntervals
        Ends rounded outwards; `terms` counts the noisy counts of groups with any weight. A cell is covered where every
        group of weights above 0 is.
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
