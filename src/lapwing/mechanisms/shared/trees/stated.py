"""How far a released model is from the table, with a stated probability, from noisy counts of a tree."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.mechanisms.shared.trees.flows import CellMetric, flow_costs, level_sums, spread_out
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.mechanisms.shared.trees.simulation import Kind, noise_variance, simulate_noise
from lapwing.mechanisms.shared.trees.trees import AxisSplit, level_shapes, linear_fit
from lapwing.model.certificate.statements import Statement

Floats = npt.NDArray[np.float64]

GAMMA: Final = 0.05
"""Probability with which a stated distance may be passed."""

SIMULATED_NODES: Final = 2**22
SIMULATIONS: Final = (999, 199, 99)
"""The most of these that stay within so many simulated nodes, a second or less; else `FEWEST`."""
FEWEST: Final = 39
SCALED: Final = 20
"""Further simulations, of how large the costs of the levels are beside each other."""
CHUNK_NODES: Final = 2**19
TRIED: Final = 4
"""Levels whose bound is worked out: those with the least of what does not depend on the model."""
ROUNDS: Final = 60
NEAR: Final = 0.01
"""Rounds end where one lowers no bound by so large a part."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CountedTree:
    """Noisy counts of a tree, and where its cells lie.

    levels: int64 of each level's shape, None where it was not asked for; parameters: per level, the scale (Laplace) or
    sigma squared (Gaussian) of the noise; inf where there are no counts, 0 where they are exact; deeper: how the levels
    below those of the metric divide, where counts stand on the deepest of them alone.
    """

    levels: tuple[npt.NDArray[np.int64] | None, ...]
    kind: Kind
    parameters: tuple[float, ...]
    metric: CellMetric
    deeper: tuple[AxisSplit, ...] = ()

    def until(self, depth: int) -> "CountedTree":
        """Return the first levels; where the last of them has no counts of its own, with what was counted below."""
        metric = self.metric.until(depth)
        if math.isinf(self.parameters[depth]):
            return replace(self, metric=metric, deeper=self.metric.splits[depth:])
        first = slice(0, depth + 1)
        return CountedTree(levels=self.levels[first], kind=self.kind, parameters=self.parameters[first], metric=metric)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of each level, of the deeper ones too."""
        return level_shapes((*self.metric.splits, *self.deeper), self.metric.inner[0].ndim)

    @property
    def nodes(self) -> int:
        """Cells of all levels."""
        return sum(math.prod(shape) for shape in self.shapes)

    def fit(self, levels: Sequence[npt.NDArray[np.generic] | None]) -> list[Floats]:
        """Return the linear fit of counts of some tables, shape ``(tables, *shape)`` per level."""
        splits = [split.of_tables for split in (*self.metric.splits, *self.deeper)]
        variances = [noise_variance(self.kind, parameter) for parameter in self.parameters]
        return linear_fit(levels, splits, variances, len(self.shapes[0]) + 1)[: len(self.metric.inner)]


def largest_cell(cells: int, diameter: float, *, is_in_steps: bool = False) -> Statement:
    """State the resolution; is_in_steps: whether the measure is nearest in a distance of steps between cells."""
    return Statement("largest_cell_in_steps" if is_in_steps else "largest_cell", diameter, {"cells": cells})


def stated_distance(counted: CountedTree, shares: Floats, placement: Placement, rng: np.random.Generator) -> float:
    """Return what the 1-Wasserstein distance of a model and a table exceeds with probability at most `GAMMA`.

    shares: float64, the model's probabilities of the cells of the deepest level, summing to 1; placement: where in
    them. From a centre, too, a row moves at most `inner`.

    Look at the first levels down to some one. Write T for their true counts, n for the sum, H = T / n; x = T + ξ for
    the linear fit of the noisy counts, X for its sum, Ξ for that of ξ; M for the model. Spread evenly in its cells, H
    is at most the mean of `inner` away from the table, and ``M - H = (M - x / X) + (ξ - Ξ H) / X``.

    The cost of the first is seen. Where inner differs from cell to cell, its mean is known up to a sum over ξ - Ξ H,
    which is added to the distance W that ξ - Ξ H stands for: call that A. H is fixed, and ξ depends on the noise alone,
    so that A and its values for S simulated noises are exchangeable: the k-th largest of these is passed with
    probability at most ``k / (S + 1)``. Taken of the largest over all levels, each in a unit of its own, that holds for
    all levels at once, and the best may be chosen. H is unknown, but the simulated values are at most those with M in
    its place, and Ξ W(M - H) more. W(M - H) is bounded by what it helps to bound: from a bound that always holds,
    rounds lower it.
    """
    first = counted.until(_simulated_depth(counted))
    metric = first.metric
    fit = first.fit([None if each is None else each[None] for each in first.levels])
    total = float(fit[0].sum())
    if total <= 0:
        return 1.0
    seen, model = [each / total for each in fit], level_sums(shares[None], counted.metric.splits)
    far = flow_costs([one - other for one, other in zip(model, seen, strict=False)], metric)[:, 0]
    noise = _noise_bounds(first, model[: len(seen)], far, total, rng)
    inner = np.array([float((level[0] * each).sum()) for level, each in zip(seen, metric.inner, strict=True)])
    without_model = noise + np.maximum(inner, 0.0)
    best = np.argsort(without_model)[:TRIED]
    moved = [
        flow_costs(
            [one - other for one, other in zip(model, spread_out(seen[: level + 1], counted.metric), strict=True)],
            counted.metric,
        )[-1, 0]
        for level in best.tolist()
    ]
    placed = 0.0 if placement == "uniform" else float((shares * counted.metric.inner[-1]).sum())
    return min(1.0, float((without_model[best] + np.array(moved)).min()) + placed)


def _noise_bounds(
    first: CountedTree, model: Sequence[Floats], far: Floats, total: float, rng: np.random.Generator
) -> Floats:
    """Return, for each level, what A over X is at most; far: the cost of M - x / X on each level."""
    count = next((each for each in SIMULATIONS if each * first.nodes <= SIMULATED_NODES), FEWEST)
    # The units must not depend on ξ, as the model does.
    even = spread_out([np.ones_like(model[0])], first.metric)
    units = np.maximum(np.add(*_simulated(first, even, SCALED, rng)).mean(axis=1), 1e-300)
    costs, sums = _simulated(first, model, count, rng)
    rank = math.floor(GAMMA * (count + 1))
    unlike = np.array([np.ptp(each) for each in first.metric.inner])
    apart, bounds = first.metric.farthest, np.zeros(len(units))
    for _ in range(ROUNDS):
        largest = ((costs + sums * (apart + unlike)[:, None]) / units[:, None]).max(axis=0)
        bounds = np.sort(largest)[-rank] * units / total
        before, apart = apart, np.minimum(apart, far + bounds)
        if (before - apart <= NEAR * before).all():
            break
    return bounds


def _simulated(
    first: CountedTree, model: Sequence[Floats], count: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return A of simulated noises with a model for H, float64 (levels, count), and the sizes of Ξ."""
    light = [float(each.max()) - each for each in first.metric.inner]
    costs, sums = [], []
    for trees in _chunks(count, max(1, CHUNK_NODES // first.nodes)):
        drawn = [
            None if math.isinf(parameter) else simulate_noise(first.kind, parameter, (trees, *shape), rng)
            for parameter, shape in zip(first.parameters, first.shapes, strict=True)
        ]
        noise = first.fit(drawn)
        whole = noise[0].copy()
        noise = [each - whole * part for each, part in zip(noise, model, strict=True)]
        unlike = [np.abs((each * part).reshape(trees, -1).sum(axis=1)) for each, part in zip(noise, light, strict=True)]
        costs.append(flow_costs(noise, first.metric) + np.array(unlike))
        sums.append(np.abs(whole.reshape(trees)))
    return np.concatenate(costs, axis=1), np.concatenate(sums)


def _chunks(count: int, size: int) -> Iterator[int]:
    for start in range(0, count, size):
        yield min(size, count - start)


def _simulated_depth(counted: CountedTree) -> int:
    """Return the deepest level with counts down to which noise can be simulated often enough, else the first one.

    Where the deepest level alone was counted, its sums are counts of all others.
    """
    sizes = np.cumsum([math.prod(shape) for shape in counted.shapes])
    asked = [level for level, parameter in enumerate(counted.parameters) if 0 < parameter < math.inf and level]
    if asked == [len(counted.parameters) - 1]:
        asked = list(range(1, len(counted.parameters)))
    fitting = [level for level in asked if sizes[level] * (FEWEST + SCALED) <= SIMULATED_NODES]
    return max(fitting) if fitting else min(asked, default=0)
