"""What is proved about the accuracy of a private signed measure: before anything is asked, and of a release."""

import math
from typing import Final

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.plain import MAX_CELLS
from lapwing.maths.noise_transport import noise_transport
from lapwing.mechanisms.shared.trees.flows import CutColumn, cell_metric, is_line
from lapwing.mechanisms.shared.trees.model import Placement
from lapwing.mechanisms.shared.trees.shapes import tree_shape
from lapwing.mechanisms.shared.trees.simulation import noise_variance, simulate_noise
from lapwing.mechanisms.shared.trees.stated import CountedTree, largest_cell, stated_distance
from lapwing.mechanisms.shared.trees.trees import AxisSplit
from lapwing.mechanisms.trees.psmm.box_cells import BoxCells, box_cells
from lapwing.model.certificate.statements import Statement
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema
from lapwing.theorems.pmm import theorem_3_6

SIMULATED_CELLS: Final = 2**21
SIMULATIONS: Final = (199, 99, 39)
"""The most of these that stay within so many simulated cells, else 19, the fewest that state a quantile."""

FACTOR_OF_THEOREM: Final = 2.0
FACTOR_OF_NOISY_SUM: Final = 3.0
"""Of `theorem_3_6`: where the measure sums to the public number of rows, and where to the noisy counts."""


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
        key=lambda cells: theorem_3_6(cells.diameter, expected_complexity(cells, noise), n=rows, factor=1.0),
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
        AxisSplit(axis, nested[axis].parents(schedule[:level].count(axis) + 1)) for level, axis in enumerate(schedule)
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
    proved = theorem_3_6(cells.diameter, expected_complexity(cells, noise), n=rows, factor=factor)
    distance = {"columns": tuple(cells.columns), "rows": round(rows), "draws": bounds.size, "error": error}
    return (
        Statement("expected_simulated_distance", float(bounds.mean()), distance),
        Statement("theorem_3_6", proved, {"factor": float(factor)}),
        _largest(cells),
    )


def _largest(cells: BoxCells) -> Statement:
    """State the resolution, and the distance in which the measure is nearest."""
    return largest_cell(cells.cells, cells.diameter, is_in_steps=not cells.is_exact)
