"""How far noise on a table of cells can be from no noise: upper bounds of its bounded-Lipschitz norm."""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Layers = Iterable[tuple[Floats, Sequence[npt.NDArray[np.int64]]]]
Kind = Literal["noise", "variances"]
"""What the numbers in the cells are: noise itself, or variances of independent noise, whose expectation is bounded."""


def noise_transport(layers: Layers, unit: float, kind: Kind = "noise") -> Floats:
    """Bound the bounded-Lipschitz norm of noise, or its expectation.

    layers: ``grids`` of shape ``(tables, layers, *runs)`` holds the noise on several layers, for several tables at
    once; ``sides`` the distances between neighbouring runs of each axis, in units. Cells of different layers lie at
    distance 1. Steps within a layer go to all neighbours and cost their longest side; kind: for variances the result
    bounds the expected norm, as no absolute value has a larger expectation than the standard deviation. Returns float64
    (tables,), in records times distance. On one line of one layer, with sum 0, exactly the norm.

    Time linear in the cells. Grids of two and three axes are bounded to within a small factor of the norm per doubling;
    a block that sticks out of the grid is one of a larger grid, where distances between the cells are the same.

    >>> line = np.array([[[2.0, -1.0, -1.0]]])
    >>> noise_transport([(line, [np.array([1, 1])])], unit=0.5).tolist()
    [1.5]
    """
    costs, sums = [], []
    for grids, sides in layers:
        numbers = np.asarray(grids, dtype=np.float64)
        moved, spread = _along_line(numbers, sides[0], kind) if len(sides) == 1 else _in_blocks(numbers, sides, kind)
        costs.append(moved * unit)
        sums.append(spread)
    rest = np.concatenate(sums, axis=1)
    # Moving and removing: what is positive or what is negative, whichever is more.
    return np.asarray(np.sum(costs, axis=0) + (_size(rest, kind).sum(axis=1) + _size(rest.sum(axis=1), kind)) / 2)


def _along_line(grids: Floats, sides: npt.NDArray[np.int64], kind: Kind) -> tuple[Floats, Floats]:
    """Return what spreading evenly along lines costs, per table, and the sum of each line."""
    runs = grids.shape[-1]
    before = np.cumsum(grids, axis=-1)
    total, before = before[..., -1:], before[..., :-1]
    share = np.arange(1, runs) / runs
    if kind == "noise":
        crossing = np.abs(before - share * total)
    else:
        crossing = np.sqrt(np.maximum(before * (1 - 2 * share) + share**2 * total, 0.0))
    return (crossing * sides).sum(axis=(1, 2)), total[..., 0]


def _in_blocks(grids: Floats, sides: Sequence[npt.NDArray[np.int64]], kind: Kind) -> tuple[Floats, Floats]:
    """Return what spreading evenly over blocks that double costs, per table, and the sum of each layer.

    Axes of equal sides and blocks double together: the parts of the new block are shifts of each other by as many steps
    along each of these axes, so that mass goes from any to any other at the price of one block's length.
    """
    lengths = [int(each.max(initial=0)) for each in sides]
    blocks = [1] * len(sides)
    moved = np.zeros(grids.shape[0])
    while max(grids.shape[2:], default=1) > 1:
        growing = [axis for axis in range(len(sides)) if grids.shape[axis + 2] > 1]
        first = min(growing, key=lambda axis: blocks[axis] * lengths[axis])
        together = [axis for axis in growing if (blocks[axis], lengths[axis]) == (blocks[first], lengths[first])]
        parts = _parts(grids, [axis + 2 for axis in together])
        grids = parts.sum(axis=0)
        uneven = _unevenness(parts, grids, kind)
        # What is above the mean goes where it is below: half of all.
        moved += uneven.reshape(uneven.shape[0], -1).sum(axis=1) * (blocks[first] * lengths[first] / 2)
        for axis in together:
            blocks[axis] *= 2
    return moved, grids.reshape(grids.shape[:2])


def _parts(grids: Floats, axes: Sequence[int]) -> Floats:
    """Return the parts that each doubled block joins, shape ``(2**axes, *blocks)``; beyond the grid is nothing."""
    padding = [(0, grids.shape[axis] % 2 if axis in axes else 0) for axis in range(grids.ndim)]
    parts = np.pad(grids, padding)[None]
    for axis in axes:
        halves = [np.take(parts, range(start, parts.shape[axis + 1], 2), axis=axis + 1) for start in (0, 1)]
        parts = np.concatenate(halves)
    return parts


def _unevenness(parts: Floats, sums: Floats, kind: Kind) -> Floats:
    """Return the absolute differences to the mean part, or their standard deviations, summed over the parts."""
    count = len(parts)
    if kind == "noise":
        return np.asarray(np.abs(parts - sums / count).sum(axis=0))
    return np.asarray(np.sqrt(parts * (1 - 2 / count) + sums / count**2).sum(axis=0))


def _size(numbers: Floats, kind: Kind) -> Floats:
    """Return absolute values, or standard deviations."""
    return np.abs(numbers) if kind == "noise" else np.sqrt(numbers)
