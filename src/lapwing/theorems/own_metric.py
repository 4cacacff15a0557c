"""PMM's theorems in a metric of one's own: great circles, roads, a tree of codes; from public numbers only.

The theorems ask for nested cells and their diameters, not for boxes. `PMM` itself chooses its budget by the metric of
the schema; its bound holds in any other metric too, at the noise that it had.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.trees.budget import paper_scales
from lapwing.mechanisms.shared.trees.simulation import theorem_4_2


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MetricTree:
    """Hold nested cells of a finite metric space; each is divided in two or goes on as it is.

    Attributes
    ----------
    cells : tuple of tuple of ndarray of int64
        The places in each cell of each level, from the whole space on.
    parents : tuple of ndarray of int64
        For each level from 1 on, the number of the cell above.
    diameters : tuple of ndarray of float64
        The diameter of each cell of each level.
    """

    cells: tuple[tuple[np.ndarray, ...], ...]
    parents: tuple[np.ndarray, ...]
    diameters: tuple[np.ndarray, ...]

    @property
    def deltas(self) -> list[float]:
        """Δ_{j-1} of each level: the diameter of the whole, then the diameters of the cells divided, summed."""
        divided = [np.bincount(parents) > 1 for parents in self.parents]
        sums = [float(sizes[is_two].sum()) for sizes, is_two in zip(self.diameters, divided, strict=False)]
        return [float(self.diameters[0][0]), *sums]

    @property
    def resolution(self) -> float:
        """The largest diameter of a cell of the last level."""
        return float(self.diameters[-1].max())

    def scales(self, epsilon: float) -> list[float]:
        """Return the Laplace noise of each level that minimises the bound (add-remove neighbours, Theorem 4.3)."""
        return paper_scales(self.deltas, "pure", epsilon)

    def bound(self, scales: Sequence[float], *, rows: float) -> float:
        """Return what the expected 1-Wasserstein distance in this metric is at most at any noise (Theorem 4.2).

        Parameters
        ----------
        scales : sequence of float
            Scale of the discrete Laplace noise of each level, in records.
        rows : float
            Number of rows, above 0.

        Returns
        -------
        float
            In the unit of the diameters, for ``PMM(variant="paper")``.
        """
        return theorem_4_2(self.deltas, scales, rows=rows, resolution=self.resolution)


def nested_cells(levels: Sequence[np.ndarray], distances: np.ndarray) -> MetricTree:
    """Return the tree of places that public groupings make, with the diameters of its cells.

    Parameters
    ----------
    levels : sequence of ndarray of int64, shape (k,)
        For each level the cell of each place, coarse ones first. A cell of one level lies in one cell of the level
        above; one with more than two parts is halved in the order of their numbers, on levels in between.
    distances : ndarray of float64, shape (k, k)
        A metric on the places.

    Returns
    -------
    MetricTree
        With one cell of all places first.

    Raises
    ------
    ParameterError
        If sizes differ, or distances are negative or not symmetric.

    Notes
    -----
    He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data", Section 4.1. What we changed:
    trees that are not binary, and only cells that are divided count in Δ.

    Examples
    --------
    >>> apart = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [5.0, 5.0, 0.0]])
    >>> tree = nested_cells([np.array([0, 0, 1]), np.array([0, 1, 2])], apart)
    >>> tree.deltas, tree.resolution
    ([5.0, 5.0, 1.0], 0.0)
    """
    count = len(distances)
    if any(level.shape != (count,) for level in levels) or distances.shape != (count, count) or not count:
        raise ParameterError(
            f"nested cells need a cell on each level and a distance for each of the {count} places; check the sizes",
            code="LW390",
        )
    if not (distances >= 0).all() or not np.array_equal(distances, distances.T):
        raise ParameterError("distances must be at least 0 and symmetric; give a metric", code="LW390")
    cells: list[tuple[np.ndarray, ...]] = [(np.arange(count),)]
    parents = []
    for level in levels:
        parts = [[cell[level[cell] == value] for value in np.unique(level[cell])] for cell in cells[-1]]
        while max(map(len, parts)) > 1:
            halves = [(place, half) for place, each in enumerate(parts) for half in _halved(each)]
            parents.append(np.array([place for place, _ in halves]))
            parts = [half for _, half in halves]
            cells.append(tuple(np.concatenate(half) for half in parts))
    diameters = tuple(np.array([distances[np.ix_(cell, cell)].max() for cell in level]) for level in cells)
    return MetricTree(cells=tuple(cells), parents=tuple(parents), diameters=diameters)


def _halved(parts: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Return the first and the second half of a list; one part stays alone."""
    middle = -(-len(parts) // 2)
    return [half for half in (parts[:middle], parts[middle:]) if half]
