"""How far a tree's released counts are from the true ones, by theorem.

Distances are 1-Wasserstein distances between normalised counts, in the units of the diameters. Nothing here looks at
an answer; sharper bounds by simulation are in `lapwing.mechanisms.shared.trees.simulation`.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.trees.budget import Root, paper_scales
from lapwing.mechanisms.shared.trees.trees import Split, level_shapes, pooled_variances

Floats = npt.NDArray[np.float64]


def cell_diameters(sides: Sequence[Floats]) -> Floats:
    """Return the largest side of every cell of a table.

    sides: sequence of float64, per axis, the length of each group. Returns float64, broadcasts against the table: an
    axis along which all groups are equally long has length 1.

    >>> cell_diameters([np.array([0.5, 0.5]), np.array([0.25, 0.75])])
    array([[0.5 , 0.75]])
    """
    axes = len(sides)
    diameters = np.zeros((1,) * axes)
    for axis, lengths in enumerate(sides):
        short = lengths[:1] if (lengths == lengths[0]).all() else lengths
        diameters = np.maximum(diameters, short.reshape((1,) * axis + (-1,) + (1,) * (axes - axis - 1)))
    return diameters


def tree_deltas(splits: Sequence[Split], diameters: Sequence[Floats]) -> list[float]:
    """Return Δ_{j-1} of every level ``j``: the diameters of the cells that it divides in two, summed.

    diameters: sequence of float64, of the cells of levels 0 to at least ``L - 1`` (level 0 also for ``L = 0``); they
    broadcast against the levels. Returns ``L + 1`` numbers, the first the diameter of the whole domain (Δ_{-1} := Δ_0
    in spec 01).

    Cells with a single child cost no transport, so they are left out; with none of them this is the paper's Δ.

    >>> halving = Split(0, np.array([0, 0]))
    >>> tree_deltas([halving, Split(0, np.array([0, 0, 1]))], [np.array([1.0]), np.array([0.5, 0.5])])
    [1.0, 1.0, 0.5]
    """
    shapes = level_shapes(splits, diameters[0].ndim)
    deltas = [float(diameters[0].max())]
    for split, sizes, shape in zip(splits, diameters, shapes, strict=False):
        whole = np.broadcast_to(sizes, shape)
        deltas.append(
            sum(float(split.at(whole, family.parents).sum()) for family in split.families if family.right is not None)
        )
    return deltas


def theorem_4_2(deltas: Sequence[float], scales: Sequence[float], *, rows: float, resolution: float) -> float:
    """Return the paper's bound on the expected distance for any noise scales and comparable consistency.

    scales: discrete Laplace scale σ_j of each level, in records; for other noise its standard deviation over sqrt(2).
    Returns ``(2 sqrt(2) / rows) Σ_j σ_j Δ_{j-1} + resolution``.

    References
    ----------
    He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data", Theorem 4.2.

    >>> round(theorem_4_2([1.0, 1.0], [2.0, 2.0], rows=1000, resolution=0.5), 4)
    0.5113
    """
    check_rows(rows)
    total = math.fsum(scale * delta for scale, delta in zip(scales, deltas, strict=True))
    return 2 * math.sqrt(2) / rows * total + resolution


def theorem_4_3(
    deltas: Sequence[float], epsilon: float, *, rows: float, resolution: float, root: Root = "noisy"
) -> float:
    """Return the paper's bound at its optimal noise scales.

    Returns ``(2 sqrt(2) / (epsilon rows)) (Σ_j sqrt(Δ_{j-1}))² + resolution``; with an exact root the sum starts at
    level 1 and counts twice.

    References
    ----------
    He, Vershynin, Zhu, Theorem 4.3; its proof is for add-remove neighbours.

    >>> round(theorem_4_3([1.0, 1.0], 1.0, rows=1000, resolution=0.5), 4)
    0.5113
    """
    return theorem_4_2(deltas, paper_scales(deltas, "pure", epsilon, root), rows=rows, resolution=resolution)


def least_squares_bound(
    deltas: Sequence[float], variances: Sequence[float], *, rows: float, resolution: float
) -> float:
    """Return the bound on the expected distance for weighted least squares and fair rounding (spec 01).

    variances: noise variance of each level: inf without budget, 0 for an exact root; the last one finite. Returns ``(1
    / rows) [sqrt(s_0) Δ_0 + Σ_j Δ_{j-1} sqrt(s_j / 2)] + resolution``.

    Holds with single-child nodes too: they only lower the pooled variances, and two siblings with variances ``s`` and
    ``t`` err by at most ``sqrt(s t / (s + t))``, which is at most ``sqrt(max(s, t) / 2)``.

    >>> least_squares_bound([1.0, 1.0], [0.0, 8.0], rows=1000, resolution=0.5)
    0.502
    """
    check_rows(rows)
    spreads = pooled_variances(variances)
    inner = [delta * math.sqrt(spread / 2) for delta, spread in zip(deltas[1:], spreads[1:], strict=True)]
    return (deltas[0] * math.sqrt(spreads[0]) + math.fsum(inner)) / rows + resolution


def stopped_bound(
    deltas: Sequence[float], variances: Sequence[float], resolutions: Sequence[float], *, rows: float
) -> float:
    """Return the best of the bounds of `least_squares_bound` that look at the first levels of the tree only.

    resolutions: of each level, the largest diameter of a cell. Returns the least over J of ``(1 / rows) [sqrt(s_0) Δ_0
    + Σ_{1 <= j <= J} Δ_{j-1} sqrt(s_j / 2)] + resolutions[J]``.

    The counts of level J determine where mass lies up to the cells of that level, and inside a cell it moves at most by
    the cell's diameter; the pooled variances still use all levels. Much less than the bound of the whole tree where its
    deepest levels, which are there for clustered rows, have little budget.

    >>> round(stopped_bound([1.0, 1.0, 2.0], [0.0, 8.0, 1e6], [1.0, 0.5, 0.25], rows=1000), 4)
    0.502
    """
    check_rows(rows)
    spreads = pooled_variances(variances)
    inner = [delta * math.sqrt(spread / 2) for delta, spread in zip(deltas[1:], spreads[1:], strict=True)]
    first = deltas[0] * math.sqrt(spreads[0])
    return min((first + math.fsum(inner[:level])) / rows + resolution for level, resolution in enumerate(resolutions))


def check_rows(rows: float) -> None:
    """Refuse a number of rows that is not above 0."""
    if not rows > 0:
        raise ParameterError(
            f"rows must be above 0, got {rows}; give a public guess of the number of rows", code="LW390"
        )
