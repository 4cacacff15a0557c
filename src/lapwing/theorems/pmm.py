"""He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data" (`PMM`, `PSMM`).

| in the paper | in the code | differs because |
|---|---|---|
| Theorem 1.1, Corollary 4.4, (A.4) | `corollary_4_4`, `PMM(variant="paper")` | constants in place of O |
| (1.1): all Lipschitz functions | `lipschitz_error`, `ramp_error`, `product_error`, `network_error` | – |
| (1.1): kernels, shares of rows | `kernel_error`, `share_error` | kernels are Lipschitz, shares by a density |
| Definition 3.1, Proposition 3.2 | `lapwing.maths.noise_transport.noise_transport` | computed, not Dudley's integral |
| Corollary 3.3 | `corollary_3_3` | whole noise; a number in place of a rate |
| Algorithm 1, Proposition 3.4 | `PSMM()` | a box that is public; the noisy sum may be kept |
| Algorithm 2, Proposition 3.5 | `PSMM(variant="paper")` | for a public number of rows |
| Theorem 3.6 | `theorem_3_6` | factor 3 where the measure sums to noisy counts |
| Corollary 3.7 | `corollary_3_7` | constants in place of O; d = 1: fewer cells, 2/3 for 1/2 |
| Algorithms 3, 4 | `PMM(variant="paper")`, `lapwing.mechanisms.trees.pmm.consistency.greedy_leaves` | – |
| Theorem 4.1, Lemma A.1 | `theorem_4_1` | its proof is for add-remove; replace-one costs double |
| (4.1): any metric | `PMM(metric=("hierarchy", "code"))` | the tree halves columns of the schema |
| (4.1): Δ and δ of a tree of cells | `nested_cells`, `MetricTree` | trees not binary; undivided cells do not count |
| Theorem 4.2, Lemmas 4.6 to 4.10 | `theorem_4_2` | faithful |
| Theorem 4.3, (A.4) | `theorem_4_3` | also for an exact root (replace-one) |
| Section 4.2, uniform, proportional | `PMM(variant="paper", consistency="proportional")` | faithful |
| – (weighted least squares) | `lapwing.mechanisms.shared.trees.simulation.stopped_bound` | the default's bound |

Symbols are the paper's: n rows, ε, d columns of length 1; Δ of a level is the sum of the diameters of the cells that it
divides. Distances are 1-Wasserstein distances, in the unit of the diameters; on the cube the largest coordinate counts.
Functions of Lipschitz averages take the distance of a certificate: each column has length 1 there, so a gradient is
measured by the sum of its absolute values.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.maths.noise_transport import noise_transport
from lapwing.theorems.checks import check_above_0, check_from_0

Root = Literal["noisy", "exact"]

# -- Sections 1 and 3: classes of functions, and the signed measure (PSMM).


def lipschitz_error(distance: float, constant: float, spread: float = math.inf) -> float:
    """Return how far the average of a function with this Lipschitz constant is off at most (1.1).

    Parameters
    ----------
    distance : float
        W1, at least 0.
    constant : float
        Lipschitz constant: 1 for a mean of one column, the sum of the absolute weights for a linear score, and their
        product with that of the loss for the logistic and the hinge loss of a score.
    spread : float, default inf
        The largest value of the function minus the least.

    Returns
    -------
    float
        In the unit of the function: ``|E f(X) - E f(Y)|`` is at most the constant times W1 (Kantorovich, Rubinstein).

    Examples
    --------
    >>> lipschitz_error(0.01, 3.0), lipschitz_error(0.5, 3.0, spread=1.0)
    (0.03, 1.0)
    """
    check_from_0(distance=distance, constant=constant)
    return min(distance * constant, spread)


def ramp_error(distance: float, margin: float) -> float:
    """Return how far the share of rows beyond a threshold is off at most, if rows within a margin count in part.

    Parameters
    ----------
    distance : float
        W1, at least 0.
    margin : float
        Above 0: over so much of a column, of length 1, the count rises evenly from 0 to 1.

    Returns
    -------
    float
        In shares of the rows.

    Examples
    --------
    >>> ramp_error(0.01, 0.1)
    0.1
    """
    check_above_0(margin=margin)
    return lipschitz_error(distance, 1 / margin, spread=1.0)


def share_error(distance: float, density: float) -> float:
    """Return how far the share of rows up to any threshold is off at most, if one of the laws has a bounded density.

    Parameters
    ----------
    distance : float
        W1, at least 0.
    density : float
        Largest density of one column of length 1: at least 1 somewhere, so a bound below 1 is none.

    Returns
    -------
    float
        ``sqrt(2 * distance * density)``, at most 1. Where the shares differ by s at a threshold, they differ on a
        stretch beside it that shrinks no faster than the density lets them, so that the distance is at least
        ``s^2 / (2 density)``.

    Examples
    --------
    >>> share_error(0.005, 1.0)
    0.1
    """
    check_from_0(distance=distance)
    if not 1 <= density < math.inf:
        raise ParameterError(f"density must be finite and at least 1, got {density}", code="LW390")
    return min(1.0, math.sqrt(2 * distance * density))


def kernel_error(distance: float, bandwidth: float, d: int) -> float:
    """Return how far a kernel density is off at most, at any place.

    Parameters
    ----------
    distance : float
        W1, at least 0.
    bandwidth : float
        σ of ``exp(-|x - y|^2 / (2 sigma^2))``, above 0, columns having length 1.
    d : int
        Columns, at least 1.

    Returns
    -------
    float
        The kernel's slope is at most ``1 / (sigma sqrt(e))`` in the Euclidean norm, which is at most ``sqrt(d)`` times
        the largest coordinate.

    Examples
    --------
    >>> round(kernel_error(0.01, 0.25, 2), 4)
    0.0343
    """
    check_above_0(bandwidth=bandwidth, d=d)
    return lipschitz_error(distance, math.sqrt(d / math.e) / bandwidth, spread=1.0)


def product_error(distance: float, d: int) -> float:
    """Return how far the mean of a product of d columns, each from 0 to 1, is off at most: a mixed moment.

    Parameters
    ----------
    distance : float
        W1, at least 0.
    d : int
        Columns, at least 1.

    Returns
    -------
    float
        At most 1.

    Examples
    --------
    >>> product_error(0.01, 2)
    0.02
    """
    check_above_0(d=d)
    return lipschitz_error(distance, d, spread=1.0)


def network_error(distance: float, norms: Sequence[float]) -> float:
    """Return how far the average output of a network with 1-Lipschitz activations is off at most.

    Parameters
    ----------
    distance : float
        W1, at least 0.
    norms : sequence of float
        For each layer, the largest sum of absolute weights of a unit.

    Returns
    -------
    float
        In the unit of the output.

    Examples
    --------
    >>> network_error(0.01, [2.0, 3.0])
    0.06
    """
    check_above_0(**{f"norm_{place}": norm for place, norm in enumerate(norms)})
    return lipschitz_error(distance, math.prod(norms))


def corollary_3_3(side: int, d: int, scale: float = 1.0) -> float:
    """Return the Laplacian complexity of Lipschitz functions on equal cells of the cube, at most (Corollary 3.3).

    Parameters
    ----------
    side : int
        Cells along an edge; ``side**d`` in all, at most 2^24.
    d : int
        Columns, at least 1.
    scale : float, default 1
        Of the discrete Laplace noise of each cell, in records.

    Returns
    -------
    float
        Expected bounded-Lipschitz norm of the noise on the cells, in records: the number of cells times the paper's
        mean. What we changed: computed from flows between cells, in place of ``O(m^(-1/d))`` for m cells of d > 2.

    Examples
    --------
    >>> [round(corollary_3_3(64, d) / 64**d, 3) for d in (1, 2, 3)]
    [0.236, 0.076, 0.032]
    """
    check_above_0(side=side, d=d, scale=scale)
    if side**d > 2**24:
        raise ParameterError(f"side**d must be at most 2**24, got {side}**{d}; use fewer cells", code="LW390")
    variance = 0.5 / math.sinh(0.5 / scale) ** 2 if scale > 1 / 700 else 0.0
    steps = [np.ones(side - 1, dtype=np.int64)] * d
    return float(noise_transport([(np.full((1, 1, *(side,) * d), variance), steps)], 1 / side, "variances")[0])


def theorem_3_6(diameter: float, complexity: float, *, n: float, factor: float = 2.0) -> float:
    """Return the bound on the expected W1 distance between a table and its private signed measure (Theorem 3.6).

    Parameters
    ----------
    diameter : float
        Of the largest cell.
    complexity : float
        The discrete Laplacian complexity in records: the expected bounded-Lipschitz norm of the noise, or a bound of it
        (`corollary_3_3`).
    n : float
        Rows in the cells, above 0.
    factor : float, default 2
        2 where the measure sums to the number of rows, 3 where it sums to the noisy counts.

    Returns
    -------
    float
        ``diameter + factor * complexity / n``.

    Notes
    -----
    Write c for the counts, Z for the noise, N for the sum of the measure, ``|.|`` for the bounded-Lipschitz norm, which
    on measures of sum 0 is the transport. Between points of two cells the distance is at most the diameter plus that of
    their centres; the rest is about counts.

    N = n: the measure is nearest to c + Z, so it is no further from it than c is, ``|Z|``; together ``2 |Z| / n``.

    What we changed: N may be the sum T of c + Z. Compare with ``c T / n``, the counts scaled. Then
    ``|c + Z - c T / n|`` is the largest ``sum (f - mean of f in the table) Z`` over 1-Lipschitz f, at most ``|Z|``
    because ``|f - mean| <= 1``. So the distance is at most ``2 |Z| / T`` (that is 2 n / T times ``|Z| / n``). If
    ``T >= 2 n / 3`` this is at most ``3 |Z| / n``. If not, ``|Z| >= |sum Z| > n / 3``, and ``3 |Z| / n`` is above 1,
    which no distance is.

    Examples
    --------
    >>> theorem_3_6(0.25, 100.0, n=1000)
    0.45
    """
    check_above_0(n=n)
    return diameter + factor * complexity / n


def corollary_3_7(n: float, epsilon: float, d: int) -> float:
    """Return the bound on the expected W1 distance of the signed measure on the cube (Corollary 3.7).

    Parameters
    ----------
    n, epsilon : float
        Rows, and ε, above 0, of noise of scale ``1 / epsilon``.
    d : int
        Columns, 1 to 24.

    Returns
    -------
    float
        The least `theorem_3_6` of cells whose number along an edge doubles, up to 2^18 cells in all. The paper's rates:
        ``(epsilon n)^(-1/d)`` from three columns on, with a logarithm for two, and ``(epsilon n)^(-1/2)`` for one;
        fewer cells than its ``epsilon n`` give ``(epsilon n)^(-2/3)`` there.

    Examples
    --------
    >>> [round(corollary_3_7(10**5, 1.0, d), 4) for d in (1, 2, 3)]
    [0.0022, 0.0218, 0.0726]
    """
    check_above_0(n=n, epsilon=epsilon, d=d)
    sides = [2**halved for halved in range(18 // d + 1)]
    return min(theorem_3_6(1 / side, corollary_3_3(side, d, 1 / epsilon), n=n) for side in sides)


# -- Section 4: the private measure (PMM).


def theorem_4_1(scales: Sequence[float]) -> float:
    """Return the ε of noise of these scales on the levels of a tree, for add-remove neighbours (Theorem 4.1).

    Parameters
    ----------
    scales : sequence of float
        Scale σ of the Laplace noise of each level, in records, above 0.

    Returns
    -------
    float
        ``sum(1 / sigma)``. What we changed: the paper's neighbours replace a row, which moves two counts of a level and
        costs double where the number of rows is noisy.

    Examples
    --------
    >>> theorem_4_1([4.0, 4.0, 2.0])
    1.0
    """
    check_above_0(**{f"scale_{level}": scale for level, scale in enumerate(scales)})
    return math.fsum(1 / scale for scale in scales)


def theorem_4_2(deltas: Sequence[float], scales: Sequence[float], *, n: float, resolution: float) -> float:
    """Return the bound on the expected W1 distance for any noise and comparable consistency (Theorem 4.2).

    Parameters
    ----------
    deltas : sequence of float
        Δ of each level: the diameter of the whole, then the summed diameters of the cells that the level divides.
    scales : sequence of float
        Scale σ of the discrete Laplace noise of each level, in records; for other noise its standard deviation over
        ``sqrt(2)``.
    n : float
        Rows, above 0.
    resolution : float
        δ, the largest diameter of a leaf cell.

    Returns
    -------
    float
        ``2 sqrt(2) / n * sum(sigma * Delta) + resolution``, in the unit of the diameters.

    Examples
    --------
    >>> round(theorem_4_2([1.0, 1.0], [2.0, 2.0], n=1000, resolution=0.5), 4)
    0.5113
    """
    check_above_0(n=n)
    total = math.fsum(scale * delta for scale, delta in zip(scales, deltas, strict=True))
    return 2 * math.sqrt(2) / n * total + resolution


def theorem_4_3(deltas: Sequence[float], epsilon: float, *, n: float, resolution: float, root: Root = "noisy") -> float:
    """Return `theorem_4_2` at the noise that makes it least (Theorem 4.3).

    Parameters
    ----------
    deltas, n, resolution
        As for `theorem_4_2`.
    epsilon : float
        ε, above 0.
    root : {"noisy", "exact"}, default "noisy"
        Add-remove neighbours, or replace-one neighbours with a public number of rows.

    Returns
    -------
    float
        ``2 sqrt(2) / (epsilon n) * sum(sqrt(Delta))^2 + resolution``; with an exact root the sum starts at level 1 and
        counts twice. The paper's proof is for a noisy root and add-remove neighbours.

    Examples
    --------
    >>> round(theorem_4_3([1.0, 1.0], 1.0, n=1000, resolution=0.5), 4)
    0.5113
    """
    check_above_0(n=n, epsilon=epsilon)
    first = 1 if root == "exact" else 0
    total = math.fsum(math.sqrt(delta) for delta in deltas[first:]) ** 2
    return 2 * math.sqrt(2) * (1 + first) / (epsilon * n) * total + resolution


def corollary_4_4(n: float, epsilon: float, d: int) -> float:
    """Return the bound on the expected W1 distance of the published PMM on the cube (Corollary 4.4, Theorem 1.1).

    Parameters
    ----------
    n, epsilon : float
        Rows and ε; above 1 together.
    d : int
        Columns, at least 1, halved in turn.

    Returns
    -------
    float
        `theorem_4_3` for ``ceil(log2(epsilon n))`` levels: ``log(epsilon n)^2 / (epsilon n)`` for one column,
        ``(epsilon n)^(-1/d)`` for more, with constants. From 1 on it says nothing.

    Examples
    --------
    4,000 rows of one column at ε = 1 have 13 levels, with the same noise on each:

    >>> round(corollary_4_4(4000, 1.0, 1), 4)
    0.1197
    """
    check_above_0(d=d)
    if not 1 < epsilon * n < math.inf:
        raise ParameterError(f"epsilon * n must be above 1, got {epsilon} * {n}", code="LW390")
    levels = math.ceil(math.log2(epsilon * n))
    deltas = [1.0] + [2.0 ** (level - level // d) for level in range(levels)]
    return theorem_4_3(deltas, epsilon, n=n, resolution=2.0 ** -(levels // d))


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
    Section 4.1. What we changed: trees that are not binary, and only cells that are divided count in Δ. `theorem_4_3`
    of the tree's deltas and resolution is what `PMM` promises in this metric at the best noise for it.

    Examples
    --------
    >>> apart = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [5.0, 5.0, 0.0]])
    >>> tree = nested_cells([np.array([0, 0, 1]), np.array([0, 1, 2])], apart)
    >>> tree.deltas, tree.resolution
    ([5.0, 5.0, 1.0], 0.0)
    >>> round(theorem_4_3(tree.deltas, 1.0, n=1000, resolution=tree.resolution), 4)
    0.0847
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
