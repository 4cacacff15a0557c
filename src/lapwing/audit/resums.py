"""Sums of the rows' vectors, found the slow way: row by row, in Python's own integers."""

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from lapwing.audit.held import Rows
from lapwing.release.cell_sums import MEAN_BITS, CellSums
from lapwing.release.coordinates import Coordinates
from lapwing.release.projections import Projection
from lapwing.release.second_moment import SecondMoment


def resummed(question: SecondMoment | CellSums, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise.

    Parameters
    ----------
    question : SecondMoment or CellSums
    source : Rows
        The private rows.

    Returns
    -------
    ndarray of int64, shape ``question.shape``
    """
    rows = list(_rows(question.coordinates, source))
    if isinstance(question, SecondMoment):
        pairs = zip(*(each.tolist() for each in question.pairs), strict=True)
        return np.array([sum(row[i] * row[j] for row in rows) for i, j in pairs], dtype=np.int64)
    cells = [0] * len(rows)
    if question.projection is not None:
        cells = [_cell(question.projection, row) for row in rows]
    counts = [0] * question.cells
    sums = [[0] * question.coordinates.size for _ in counts]
    for cell, row in zip(cells, rows, strict=True):
        counts[cell] += 1
        sums[cell] = [total + each for total, each in zip(sums[cell], row, strict=True)]
    if question.summed == "rows":
        return np.array(counts, dtype=np.int64)
    if question.damping is not None:
        divisors = [max(count, question.damping) * question.coordinates.unit for count in counts]
        sums = [
            [total * 2**MEAN_BITS // divisor for total in cell] for cell, divisor in zip(sums, divisors, strict=True)
        ]
    return np.array(sums, dtype=np.int64).reshape(question.shape)


def _rows(coordinates: Coordinates, source: Rows) -> Iterator[list[int]]:
    """Yield the vector of each row."""
    for chunk in source.chunks():
        groups = [
            grouping.apply(chunk[name]).tolist()
            for name, grouping in zip(coordinates.columns, coordinates.groupings, strict=True)
        ]
        for row in zip(*groups, strict=True):
            blocks = (_block(coordinates, place, group) for place, group in enumerate(row))
            yield _inside(coordinates, list(itertools.chain.from_iterable(blocks)))


def _block(coordinates: Coordinates, place: int, group: int) -> list[int]:
    """Return the coordinates of one column for a row in a group."""
    grouping, unit = coordinates.groupings[place], coordinates.unit
    is_line = coordinates.kinds[place] == "line"
    width = (1 if is_line else grouping.regular) + coordinates.listed[place]
    block = [0] * width
    if is_line and group < grouping.regular:
        starts, stops, groups = grouping.pieces()
        at = np.flatnonzero(groups == group)[-1]
        twice, last = int(starts[at] + stops[at] - 1), 2 * (grouping.values - 1)
        if last:
            low = -unit if coordinates.coding == "centred" else 0
            block[0] = low + (unit - low) * twice // last
    elif group < grouping.regular + coordinates.listed[place]:
        block[group - grouping.regular + 1 if is_line else group] = unit
    return block


def _inside(coordinates: Coordinates, row: list[int]) -> list[int]:
    """Bring a vector into its convex set."""
    unit = coordinates.unit
    if coordinates.convex_set == "ball":
        square = sum(each * each for each in row)
        if square > unit * unit:
            length = math.isqrt(square - 1) + 1
            return [(1 if each > 0 else -1) * (abs(each) * unit // length) for each in row]
    if coordinates.convex_set == "simplex":
        total = sum(row)
        return [each * unit // total for each in row] if total else [unit // len(row)] * len(row)
    return row


def _cell(projection: Projection, row: list[int]) -> int:
    """Return the cell of one vector: its place among the cuts, or the nearest lattice point by looking at all."""
    axes = projection.directions.T.tolist()
    projected = [sum(each * weight for each, weight in zip(row, axis, strict=True)) for axis in axes]
    if not projection.spacing:
        cell = 0
        for number, cuts in zip(projected, projection.cuts, strict=True):
            cell = cell * (len(cuts) + 1) + bisect_right(cuts.tolist(), number)
        return cell
    reach = math.isqrt(projection.norm)
    points = [
        point
        for point in itertools.product(range(-reach, reach + 1), repeat=projection.count)
        if sum(each * each for each in point) <= projection.norm
    ]
    shifted = [number - offset for number, offset in zip(projected, projection.origin.tolist(), strict=True)]

    def distance(point: tuple[int, ...]) -> int:
        return sum((a - projection.spacing * b) ** 2 for a, b in zip(shifted, point, strict=True))

    return min(range(len(points)), key=lambda place: distance(points[place]))
