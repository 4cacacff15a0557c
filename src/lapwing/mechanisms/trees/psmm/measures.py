"""The measure without negative counts that is nearest in bounded-Lipschitz distance, and the model that it is."""

import heapq

import numpy as np
import numpy.typing as npt

from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.shared.one_way import uniform_model
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.mechanisms.trees.psmm.box_cells import BoxCells, cover_deficits
from lapwing.model.laws import Laws
from lapwing.model.model import Indexed, ReleasedModel, narrow, whole_rows
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

Integers = npt.NDArray[np.int64]


def isotonic_l1(values: Integers, weights: Integers) -> Integers:
    """Return a non-decreasing sequence that is nearest in weighted absolute error.

    values: int64 (k,), the sequence; weights: int64 (k,), at least 1. Returns int64 (k,), of the minimisers of
    ``sum(weights * abs(result - values))`` the one with the smallest last entries; it takes no value that is not one of
    ``values``.

    The error of the best non-decreasing prefix, as a function of an upper bound of its last entry, is convex and
    piecewise linear; a heap holds its bends. Time ``O(k log k)``.

    Rote (2019), "Isotonic regression by dynamic programming".

    >>> isotonic_l1(np.array([1, 5, 2, 3]), np.array([1, 1, 1, 1])).tolist()
    [1, 2, 2, 3]
    """
    bends: list[tuple[int, int]] = []
    lowest = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        heapq.heappush(bends, (-value, 2 * weight))
        # The new term raises all slopes to the right of the value; those above 0 are cut off.
        surplus = weight
        while bends[0][1] <= surplus:
            surplus -= heapq.heappop(bends)[1]
        place, slope = bends[0]
        heapq.heapreplace(bends, (place, slope - surplus))
        lowest.append(-place)
    backwards = np.minimum.accumulate(np.array(lowest[::-1], dtype=np.int64))
    return backwards[::-1]


def cover_line(counts: Integers, lengths: Integers) -> Integers:
    """Move counts on a line as little as possible, so that none has the other sign than their sum.

    What flows between neighbours is the difference of the cumulative sums, so the cumulative sums of the result are
    the nearest ones, weighted by the distances, that increase from 0 to the sum: isotonic regression, clipped.

    >>> cover_line(np.array([5, 0, -2, 1]), np.array([1, 1, 1])).tolist()
    [4, 0, 0, 0]
    >>> cover_line(np.array([1, -3]), np.array([1])).tolist()
    [0, -2]
    """
    total = int(counts.sum())
    if total < 0:
        return -cover_line(-counts, lengths)
    inner = isotonic_l1(np.cumsum(counts)[:-1], lengths)
    sums = np.concatenate(([0], np.clip(inner, 0, total), [total]))
    return sums[1:] - sums[:-1]


def nearest_measure(counts: np.ndarray, cells: BoxCells, total: int | None) -> np.ndarray:
    """Return the measure without negative counts that is nearest in bounded-Lipschitz distance.

    counts: int64, shape ``cells.shape``, noisy; total: what the result sums to; None for the sum of the counts. Returns
    float64, shape ``cells.shape``, at least 0. All zeros where the total is 0 or less.

    What the counts sum to more or less than the total is removed or added at price 1, the largest distance there is,
    and negative counts are covered at the price of distance. Both together cost least if the negative counts that lie
    furthest from positive ones are covered by what is added, and all others by moving. Where something is added or
    removed at price 1 does not matter for the cost, nor where mass comes from that moves at price 1: all cells lose or
    gain the same there, as far as they hold it (the Euclidean projection), so that no cell gets it all.
    """
    wanted = int(counts.sum()) if total is None else total
    if wanted <= 0:
        return np.zeros(cells.shape)
    added = max(0, wanted - int(counts.sum()))
    if len(cells.axes) == 1 and not added:
        left = _cover_lines(counts, cells)
    else:
        flat = np.ascontiguousarray(counts).reshape(-1)
        left = cover_deficits(flat, cells.steps(), price=1 / cells.unit, free=added).reshape(cells.shape)
    if left.min() >= 0 and left.sum() == wanted:
        return left.astype(np.float64)
    return project_to_simplex(left, float(wanted))


def _cover_lines(counts: np.ndarray, cells: BoxCells) -> np.ndarray:
    """Return the counts moved along lines of runs until no line has both signs.

    A line with a positive sum covers its own negative counts, at less than the price 1 of mass from elsewhere; a line
    with a negative sum needs as much as that sum from elsewhere, at price 1 wherever it goes.
    """
    axis, runs = cells.axes[0], cells.sides[0].size + 1
    left = np.moveaxis(counts.copy(), axis, -1)
    for place in np.ndindex(left.shape[:-1]):
        left[place][:runs] = cover_line(left[place][:runs], cells.sides[0])
    return np.moveaxis(left, -1, axis)


def measure_as_model(
    schema: Schema, cells: BoxCells, measure: np.ndarray, rows: int | None, placement: Placement
) -> ReleasedModel:
    """Return one atom per cell with mass; the uniform model where there is none."""
    full = np.flatnonzero(measure)
    stands_for = whole_rows(float(measure.sum())) if rows is None else rows
    if not full.size:
        return uniform_model(schema, stands_for)
    places = np.unravel_index(full, cells.shape)
    laws = {
        name: Indexed(narrow(place), _laws(grouping, size, placement))
        for name, grouping, size, place in zip(cells.columns, cells.groupings, cells.shape, places, strict=True)
    }
    return ReleasedModel(weights=measure.reshape(-1)[full], rows=stands_for, laws=laws)


def model_as_measure(model: ReleasedModel, cells: BoxCells) -> np.ndarray:
    """Return the measure that `measure_as_model` made a model of."""
    places = [law.index for law in model.laws.values() if isinstance(law, Indexed)]
    measure = np.zeros(cells.shape)
    measure[tuple(places)] = model.weights
    return measure


def _laws(grouping: Grouping, size: int, placement: Placement) -> Laws:
    """Return one law per coordinate of a column: uniform on its codes, or certain of the one in the middle."""
    starts, stops, _ = grouping.pieces()
    starts, stops = starts[:size], stops[:size]
    if placement == "centre":
        starts = starts + (stops - starts) // 2
        stops = starts + 1
    return Laws(np.arange(size + 1), starts, stops, np.ones(size))
