"""The transport that a tree's noise causes, in expectation: simulated, and by theorem.

Nothing here looks at an answer: every function needs only the tree and its noise.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.trees.trees import (
    AxisSplit,
    along,
    left_weight,
    level_shapes,
    node_variances,
    pooled_estimates,
    pooled_variances,
)

Floats = npt.NDArray[np.float64]
Kind = Literal["laplace", "gaussian"]

CHUNK_NODES: Final = 2**20  # nodes simulated at once: about 30 MiB


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NoiseTree:
    """A tree and its noise, without any counts.

    diameters: tuple of float64, diameters of the cells of all ``L + 1`` levels; each broadcasts against its level;
    parameters: per level, the scale (Laplace) or sigma squared (Gaussian): inf without budget, 0 for exact counts.

    >>> halving = AxisSplit(0, np.array([0, 0]))
    >>> tree = NoiseTree(splits=(halving,), diameters=(np.array([1.0]), np.array([0.5, 0.5])), kind="laplace",
    ...                  parameters=(0.0, 2.0))
    >>> tree.nodes, tree.resolution, [round(variance, 2) for variance in tree.variances]
    (3, 0.5, [0.0, 7.84])
    """

    splits: tuple[AxisSplit, ...]
    diameters: tuple[Floats, ...]
    kind: Kind
    parameters: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.splits) + 1 == len(self.diameters) == len(self.parameters):
            raise ParameterError(
                f"a tree of {len(self.splits)} splits needs {len(self.splits) + 1} diameters and noise parameters, "
                f"got {len(self.diameters)} and {len(self.parameters)}",
                code="LW390",
            )

    @property
    def nodes(self) -> int:
        """Number of cells on all levels."""
        return sum(math.prod(shape) for shape in level_shapes(self.splits, self.diameters[0].ndim))

    @property
    def resolution(self) -> float:
        """Largest diameter of a leaf cell."""
        return float(self.diameters[-1].max())

    @property
    def variances(self) -> list[float]:
        """Noise variance of each level."""
        return [noise_variance(self.kind, parameter) for parameter in self.parameters]


def noise_variance(kind: Kind, parameter: float) -> float:
    """Return the variance of an integer noise law; for the discrete Gaussian sigma squared, which it never exceeds.

    >>> round(noise_variance("laplace", 1.0), 4)
    1.8413
    """
    if kind == "gaussian" or parameter == 0 or math.isinf(parameter):
        return parameter
    # 2q / (1-q)^2 with q = exp(-1/scale), without cancellation; below the cut a double cannot hold it.
    return 0.5 / math.sinh(0.5 / parameter) ** 2 if parameter > 1 / 700 else 0.0


def simulated_bound(tree: NoiseTree, *, rows: float, simulations: int, rng: np.random.Generator) -> float:
    """Return the expected-distance bound, with the noise simulated instead of bounded.

    simulations: draws of the whole tree's noise, at least 1; few are enough for large trees. Returns the mean of ``(1 /
    rows) [|ζ_∅| Δ_0 + Σ_θ diam(Ω_θ) |ζ_θ0 - ζ_θ1| / 2] + resolution``, ζ the pooled noise.

    Where siblings have different pooled variances the flow between them is weighted as the fit weights them. Time
    O(simulations x nodes).

    >>> halving = AxisSplit(0, np.array([0, 0]))
    >>> tree = NoiseTree(splits=(halving,), diameters=(np.array([1.0]), np.array([0.5, 0.5])), kind="laplace",
    ...                  parameters=(0.0, 2.0))
    >>> round(simulated_bound(tree, rows=1000, simulations=2000, rng=np.random.default_rng(1)), 4)
    0.5015
    """
    check_rows(rows)
    return float(_transports(tree, simulations, rng).mean()) / rows + tree.resolution


def _transports(tree: NoiseTree, simulations: int, rng: np.random.Generator) -> Floats:
    """Return the transport that the noise causes at most, one number per simulation."""
    if simulations < 1:
        raise ParameterError(f"simulations must be at least 1, got {simulations}", code="LW390")
    # Many trees at once: one more axis, in front.
    splits = [split.of_tables for split in tree.splits]
    axes = tree.diameters[0].ndim
    spreads, weights = node_variances(splits, tree.variances, axes + 1)
    shapes = level_shapes(tree.splits, axes)

    transports = []
    for trees in _chunks(simulations, max(CHUNK_NODES // tree.nodes, 1)):
        noise = [
            None if math.isinf(parameter) else simulate_noise(tree.kind, parameter, (trees, *shape), rng)
            for parameter, shape in zip(tree.parameters, shapes, strict=True)
        ]
        pooled = pooled_estimates(noise, splits, weights)
        total = _flow(np.abs(pooled[0]), tree.diameters[0])
        for split, below, spread, diameters in zip(splits, pooled[1:], spreads[1:], tree.diameters[:-1], strict=True):
            total += _between_siblings(split, below, spread, diameters[None])
        transports.append(total)
    return np.concatenate(transports)


def _chunks(count: int, size: int) -> Iterator[int]:
    for start in range(0, count, size):
        yield min(size, count - start)


def _between_siblings(split: AxisSplit, below: Floats, spreads: Floats, diameters: Floats) -> Floats:
    """Return what flows between siblings of one level, times the diameters of their parents, per simulation."""
    total = np.zeros(below.shape[0])
    for family in split.dividing:
        left, right = split.halves(below, family)
        # With equal variances (ζ_0 - ζ_1) / 2: the error of the left child that the right one makes good.
        error = left + right
        error *= -left_weight(spreads, split, family)
        error += left
        np.abs(error, out=error)
        sizes = diameters if diameters.shape[split.axis] == 1 else split.at(diameters, family.parents)
        total += _flow(error, sizes)
    return total


def _flow(error: Floats, diameters: Floats) -> Floats:
    error *= diameters
    flow: Floats = error.reshape(error.shape[0], -1).sum(axis=1)
    return flow


def simulate_noise(kind: Kind, parameter: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw integer noise for a simulation; it protects nobody, and is exact up to the rounding of floats.

    >>> simulate_noise("laplace", 0.0, (2,), np.random.default_rng(1)).tolist()
    [0.0, 0.0]
    """
    if parameter == 0:
        return np.zeros(shape)
    if kind == "laplace":
        return _laplace(parameter, shape, rng)
    return _gaussian(parameter, math.prod(shape), rng).reshape(shape)


def _laplace(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    # The whole part of an exponential variable is geometric, and two of them differ by discrete Laplace noise.
    first, second = rng.standard_exponential(shape), rng.standard_exponential(shape)
    np.floor(np.multiply(first, scale, out=first), out=first)
    np.floor(np.multiply(second, scale, out=second), out=second)
    first -= second
    return first


def _gaussian(sigma_squared: float, size: int, rng: np.random.Generator) -> Floats:
    """Draw by rejection from discrete Laplace noise (Canonne, Kamath, Steinke 2020, Algorithm 3)."""
    scale = math.floor(math.sqrt(sigma_squared)) + 1
    kept: list[Floats] = []
    missing = size
    while missing:
        proposals = _laplace(scale, (missing + missing // 2 + 16,), rng)
        height = (np.abs(proposals) - sigma_squared / scale) ** 2 / (2 * sigma_squared)
        accepted = proposals[rng.standard_exponential(len(proposals)) > height][:missing]
        kept.append(accepted)
        missing -= len(accepted)
    return np.concatenate([*kept, np.zeros(0)])


# -- How far a tree's released counts are from the true ones, by theorem.


def cell_diameters(sides: Sequence[Floats]) -> Floats:
    """Return the largest side of every cell of a table.

    >>> cell_diameters([np.array([0.5, 0.5]), np.array([0.25, 0.75])])
    array([[0.5 , 0.75]])
    """
    axes = len(sides)
    diameters = np.zeros((1,) * axes)
    for axis, lengths in enumerate(sides):
        short = lengths[:1] if (lengths == lengths[0]).all() else lengths
        diameters = np.maximum(diameters, along(short, axis, axes))
    return diameters


def tree_deltas(splits: Sequence[AxisSplit], diameters: Sequence[Floats]) -> list[float]:
    """Return Δ_{j-1} of every level ``j``: the diameters of the cells that it divides in two, summed.

    diameters: sequence of float64, of the cells of levels 0 to at least ``L - 1`` (level 0 also for ``L = 0``); they
    broadcast against the levels. Returns ``L + 1`` numbers, the first the diameter of the whole domain (Δ_{-1} := Δ_0).

    Cells with a single child cost no transport, so they are left out; with none of them this is the paper's Δ.

    >>> halving = AxisSplit(0, np.array([0, 0]))
    >>> tree_deltas([halving, AxisSplit(0, np.array([0, 0, 1]))], [np.array([1.0]), np.array([0.5, 0.5])])
    [1.0, 1.0, 0.5]
    """
    shapes = level_shapes(splits, diameters[0].ndim)
    deltas = [float(diameters[0].max())]
    for split, sizes, shape in zip(splits, diameters, shapes, strict=False):
        whole = np.broadcast_to(sizes, shape)
        deltas.append(sum(float(split.at(whole, family.parents).sum()) for family in split.dividing))
    return deltas


def stopped_bound(
    deltas: Sequence[float], variances: Sequence[float], resolutions: Sequence[float], *, rows: float
) -> float:
    """Return the bound on the expected distance for weighted least squares and fair rounding.

    variances: noise variance of each level: inf without budget, 0 for an exact root; the last one finite; resolutions:
    of each level, the largest diameter of a cell. Returns the least over J of ``(1 / rows) [sqrt(s_0) Δ_0 + Σ_{1 <= j
    <= J} Δ_{j-1} sqrt(s_j / 2)] + resolutions[J]``.

    The counts of level J determine where mass lies up to the cells of that level, and inside a cell it moves at most by
    the cell's diameter; the pooled variances still use all levels. Holds with single-child nodes too: they only lower
    the variances, and siblings with variances ``s`` and ``t`` err by at most ``sqrt(s t / (s + t))``, which is at most
    ``sqrt(max(s, t) / 2)``.

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
