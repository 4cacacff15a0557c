"""What is proved about the accuracy of a private signed measure: before anything is asked, and of a release."""

import math
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.plain import MAX_CELLS
from lapwing.mechanisms.shared.trees.flows import CutColumn, cell_metric, is_line
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.mechanisms.shared.trees.shapes import tree_shape
from lapwing.mechanisms.shared.trees.simulation import check_rows, noise_variance, simulate_noise
from lapwing.mechanisms.shared.trees.stated import CountedTree, largest_cell, stated_distance
from lapwing.mechanisms.shared.trees.trees import Split
from lapwing.mechanisms.trees.psmm.box_cells import BoxCells, box_cells
from lapwing.model.certificate.statements import Statement
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

# -- How far noise on a table of cells can be from no noise: upper bounds of its bounded-Lipschitz norm.


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


SIMULATED_CELLS: Final = 2**21
SIMULATIONS: Final = (199, 99, 39)
"""The most of these that stay within so many simulated cells, else 19, the fewest that state a quantile."""

FACTOR_OF_THEOREM: Final = 2.0
"""Of the published algorithm, which knows the number of rows and returns a measure of just that sum."""

FACTOR_OF_NOISY_SUM: Final = 3.0  # where the released measure sums to the noisy counts


def theorem_3_6(diameter: float, complexity: float, *, rows: float, factor: float = FACTOR_OF_THEOREM) -> float:
    """Return the bound on the expected 1-Wasserstein distance between a table and its private signed measure.

    complexity: the discrete Laplacian complexity in records: the expected bounded-Lipschitz norm of the noise, or a
    bound of it (`expected_complexity`); rows: public number of rows in the cells, above 0; factor: 2 where the measure
    sums to the number of rows, 3 where it sums to the noisy counts.

    Write n for the counts and their sum, Z for the noise, N for the sum of the measure, ``|.|`` for the
    bounded-Lipschitz norm, which on measures of sum 0 is the transport. Between points of two cells the distance is at
    most the diameter plus that of their centres; the rest is about counts.

    N = n: the measure is nearest to n + Z, so it is no further from it than n is, ``|Z|``; together ``2 |Z| / n``.

    N = the sum T of n + Z: compare with ``n T / n``, the counts scaled. Then ``|n + Z - n T / n|`` is the largest
    ``sum (f - mean of f in the table) Z`` over 1-Lipschitz f, at most ``|Z|`` because ``|f - mean| <= 1``. So the
    distance is at most ``2 |Z| / T`` (that is 2 n / T times ``|Z| / n``). If ``T >= 2 n / 3`` this is at most
    ``3 |Z| / n``. If not, ``|Z| >= |sum Z| > n / 3``, and ``3 |Z| / n`` is above 1, which no distance is.

    He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data", Theorem 3.6.

    >>> theorem_3_6(0.25, 100.0, rows=1000)
    0.45
    """
    check_rows(rows)
    return diameter + factor * complexity / rows


def expected_complexity(cells: BoxCells, noise: NoiseLaw) -> float:
    """Bound the expected bounded-Lipschitz norm of the noise on cells, in records times distance."""
    variances = np.full((1, *cells.shape), noise_variance(noise.kind, float(noise.parameter)))
    return float(noise_transport(cells.layers(variances), cells.unit, "variances")[0])


def suitable_cells(schema: Schema, noise: NoiseLaw, rows: float, max_cells: int) -> BoxCells:
    """Choose how many cells to count, from public numbers only.

    rows: a number of rows that may be known, above 0. Returns of numbers of cells that double, the one with the least
    `theorem_3_6` of factor 1: the theorem's 2 is the worst case, and the measure is mostly as far from the table as the
    noise is from 0.
    """
    wanted = [max_cells >> halved for halved in range(max_cells.bit_length())]
    choices = [box_cells(schema, each, max_cells) for each in reversed(wanted)]
    return min(
        choices,
        key=lambda cells: theorem_3_6(cells.diameter, expected_complexity(cells, noise), rows=rows, factor=1.0),
    )


def simulated_norms(cells: BoxCells, noise: NoiseLaw, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Simulate the noise and bound its bounded-Lipschitz norm."""
    count = next((each for each in SIMULATIONS if each * cells.cells <= SIMULATED_CELLS), 19)
    together = max(1, min(count, SIMULATED_CELLS // 8 // cells.cells))
    norms, sums = [], []
    for start in range(0, count, together):
        shape = (min(together, count - start), *cells.shape)
        drawn = simulate_noise(noise.kind, float(noise.parameter), shape, rng)
        norms.append(noise_transport(cells.layers(drawn), cells.unit))
        sums.append(drawn.reshape(shape[0], -1).sum(axis=1))
    return np.concatenate(norms), np.concatenate(sums)


def released_statements(
    cells: BoxCells,
    counted: CountedTree,
    measure: np.ndarray | None,
    placement: Placement,
    rng: np.random.Generator,
) -> tuple[Statement, ...]:
    """State how far a released measure is from the table."""
    if measure is None:
        return Statement("distance_unknown", 1.0, {"columns": tuple(cells.columns)}), _largest(cells)
    bound = stated_distance(counted, measure / measure.sum(), placement, rng)
    return Statement("distance", bound, {"columns": tuple(cells.columns)}), _largest(cells)


def counted_cells(
    schema: Schema, cells: BoxCells, noise: NoiseLaw, counts: np.ndarray, total: int | None
) -> CountedTree:
    """Return the cells as a tree that halves them, with counts on its deepest level."""
    domains = [column.domain for column in schema.columns]
    runs = [grouping.regular for grouping in cells.groupings]
    # Runs in place of codes, and after them what lies at distance 1.
    halved = [
        Domain(regular, max(0, size - regular - 1), missing=size > regular, ordered=domain.ordered, continuous=False)
        for domain, regular, size in zip(domains, runs, cells.shape, strict=True)
    ]
    schedule = tree_shape(halved, "longest", MAX_CELLS).schedule
    nested = [hierarchy(domain, schedule.count(place)) for place, domain in enumerate(halved)]
    splits = [
        Split(axis, nested[axis].parents(schedule[:level].count(axis) + 1)) for level, axis in enumerate(schedule)
    ]
    columns = []
    for tree, domain, grouping in zip(nested, domains, cells.groupings, strict=True):
        starts, stops, _ = grouping.pieces()
        edges = np.append(starts[: grouping.regular], stops[grouping.regular - 1])
        columns.append(CutColumn(tree, domain, is_line(domain), edges if is_line(domain) else None))
    levels: list[np.ndarray | None] = [None] * len(splits) + [counts]
    parameters = [math.inf] * len(splits) + [float(noise.parameter)]
    if total is not None and splits:
        levels[0], parameters[0] = np.full((1,) * len(columns), total), 0.0
    return CountedTree(
        levels=tuple(levels), kind=noise.kind, parameters=tuple(parameters), metric=cell_metric(columns, splits)
    )


def planned_statements(
    cells: BoxCells, noise: NoiseLaw, rows: float, rng: np.random.Generator, *, is_sum_public: bool
) -> tuple[Statement, ...]:
    """State what is expected of a release before it is made."""
    norms, sums = simulated_norms(cells, noise, rng)
    totals = np.full(norms.size, rows) if is_sum_public else rows + sums
    is_empty = totals <= 0
    bounds = cells.diameter + FACTOR_OF_THEOREM * norms / np.where(is_empty, 1.0, totals)
    bounds = np.where(is_empty, 1.0, np.minimum(1.0, bounds))
    error = float(bounds.std(ddof=1)) / math.sqrt(bounds.size)
    factor = FACTOR_OF_THEOREM if is_sum_public else FACTOR_OF_NOISY_SUM
    proved = theorem_3_6(cells.diameter, expected_complexity(cells, noise), rows=rows, factor=factor)
    distance = {"columns": tuple(cells.columns), "rows": round(rows), "draws": bounds.size, "error": error}
    return (
        Statement("expected_simulated_distance", float(bounds.mean()), distance),
        Statement("theorem_3_6", proved, {"factor": float(factor)}),
        _largest(cells),
    )


def _largest(cells: BoxCells) -> Statement:
    """State the resolution, and the distance in which the measure is nearest."""
    return largest_cell(cells.cells, cells.diameter, is_in_steps=not cells.is_exact)
