"""The cheapest way to cover the negative counts of a table of cells from the positive ones: a min-cost flow.

Nothing here is specific to privacy. Costs are whole numbers, so that all flows are whole numbers too.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LARGEST: Final = 2**30
"""No count above it enters a maximum flow, whose numbers have 32 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The steps between neighbouring cells, each listed once and taken in both directions.

    tails, heads: int64 (steps,), the two cells; no pair twice; costs: int64 (steps,), of moving 1 from one to the
    other, at least 1.
    """

    tails: Integers
    heads: Integers
    costs: Integers


def cover_deficits(counts: Integers, steps: Steps, *, price: float, free: int = 0) -> Integers:
    """Move positive counts onto negative ones as cheaply as possible.

    counts: int64 (cells,), any signs; steps: between the cells. The cost of moving 1 is that of the cheapest path;
    price: a deficit that no path below this cost can reach is left as it is; free: stop as soon as all deficits
    together are at most this; at least 0. Returns int64 (cells,), same sum. Negative where a deficit is left.

    Primal-dual method (Ford and Fulkerson 1962): cells without a tight path to a deficit move away from it, one step
    at a time, and a maximum flow along tight steps then saves the cheapest paths first. So each deficit is covered at
    non-decreasing cost, and what is left in the end is what was dearest. Linear in the cells for each distinct cost of
    a path. Deficits of more than 2**29 together are moved in blocks, which is a little dearer than the cheapest way.

    >>> line = Steps(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([1, 1, 1]))
    >>> cover_deficits(np.array([5, 0, -2, 1]), line, price=9.0).tolist()
    [4, 0, 0, 0]
    """
    blocks = max(0, _deficit(counts).bit_length() - 29)
    rest = counts - (counts >> blocks << blocks)
    left = counts >> blocks
    flow = _Flow(steps)
    potentials = np.zeros(counts.size, dtype=np.int64)
    distance = 0
    while (wanted := _deficit(left) - (free >> blocks)) > 0:
        slack = flow.costs + potentials[flow.heads] - potentials[flow.tails]
        tight = np.flatnonzero(slack == 0)
        near = flow.reaching(tight, left < 0)
        if (near & (left > 0)).any():
            inside = tight[near[flow.tails[tight]] & near[flow.heads[tight]]]
            left = flow.send(inside, left, np.flatnonzero(near & (left > 0)), wanted)
            continue
        entering = slack[near[flow.heads] & ~near[flow.tails]]
        if not entering.size or distance + int(entering.min()) >= price:
            break
        distance += int(entering.min())
        potentials[~near] += entering.min()
    return (left << blocks) + rest


class _Flow:
    """A flow along steps in both directions; what flows one way is negative the other way."""

    def __init__(self, steps: Steps) -> None:
        self.tails = np.concatenate((steps.tails, steps.heads))
        self.heads = np.concatenate((steps.heads, steps.tails))
        self._prices = np.concatenate((steps.costs, steps.costs))
        self._moved = np.zeros(steps.tails.size, dtype=np.int64)
        self._update()

    def _update(self) -> None:
        """Set the cost and the room of every step: taking back what flows the other way comes first, and pays."""
        along = np.concatenate((self._moved, -self._moved))
        self.costs = np.where(along < 0, -self._prices, self._prices)
        self._room = np.where(along < 0, np.minimum(-along, LARGEST), LARGEST)

    def reaching(self, tight: npt.NDArray[np.intp], short: Flags) -> Flags:
        """Return which cells reach one that is short, along these steps."""
        from scipy.sparse import csr_array  # noqa: PLC0415
        from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415

        cells, ends = short.size, np.flatnonzero(short)
        rows = np.concatenate((self.heads[tight], np.full(ends.size, cells)))
        columns = np.concatenate((self.tails[tight], ends))
        graph = csr_array((np.ones(rows.size, dtype=np.int8), (rows, columns)), shape=(cells + 1, cells + 1))
        found = np.zeros(cells + 1, dtype=np.bool_)
        found[breadth_first_order(graph, cells, return_predecessors=False)] = True
        return found[:cells]

    def send(self, inside: npt.NDArray[np.intp], left: Integers, givers: npt.NDArray[np.intp], most: int) -> Integers:
        """Return what is left after as much as possible, but not more than ``most``, has moved along these steps."""
        from scipy.sparse import csr_array  # noqa: PLC0415
        from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415

        takers = np.flatnonzero(left < 0)
        source, limited, sink = left.size, left.size + 1, left.size + 2
        rows = np.concatenate((self.tails[inside], np.full(givers.size, limited), takers, [source]))
        columns = np.concatenate((self.heads[inside], givers, np.full(takers.size, sink), [limited]))
        room = np.concatenate((self._room[inside], np.minimum(left[givers], LARGEST), -left[takers], [most]))
        graph = csr_array((room.astype(np.int32), (rows, columns)), shape=(sink + 1, sink + 1))
        moved = maximum_flow(graph, source, sink).flow

        half, flows = self._moved.size, _entries(moved, self.tails[inside], self.heads[inside])
        is_forward = (flows > 0) & (inside < half)
        is_back = (flows > 0) & (inside >= half)
        self._moved[inside[is_forward]] += flows[is_forward]
        self._moved[inside[is_back] - half] -= flows[is_back]
        self._update()
        after = left.copy()
        after[givers] -= _entries(moved, np.full(givers.size, limited), givers)
        after[takers] += _entries(moved, takers, np.full(takers.size, sink))
        return after


def _entries(matrix: npt.NDArray[np.int32], rows: Integers, columns: Integers) -> Integers:
    """Return single entries of a sparse matrix."""
    return np.asarray(matrix[rows, columns]).reshape(-1).astype(np.int64)


def _deficit(counts: Integers) -> int:
    """Return what is below 0, in all."""
    return -int(np.minimum(counts, 0).sum())
