"""What is proved about the accuracy of a tree: from its question, its noise and the released model."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, row_sensitivity
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.trees.budget import Root, paper_scales
from lapwing.mechanisms.shared.trees.flows import CutColumn, cell_metric, is_line, nested_metric
from lapwing.mechanisms.shared.trees.model import Placement, leaf_shares, tree_splits
from lapwing.mechanisms.shared.trees.own_metrics import MEASURES, OwnMetric
from lapwing.mechanisms.shared.trees.shapes import TreeShape
from lapwing.mechanisms.shared.trees.simulation import (
    NoiseTree,
    cell_diameters,
    simulated_bound,
    stopped_bound,
    tree_deltas,
)
from lapwing.mechanisms.shared.trees.stated import CountedTree, largest_cell, stated_distance
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.schema.groupings.hierarchies import diameters
from lapwing.schema.schemas import Schema
from lapwing.theorems.pmm import theorem_4_2

PLAN_NODES: Final = 2**22
PLAN_DRAWS: Final = (4, 200)  # A plan simulates its tree at least and at most so often, in between by `PLAN_NODES`


def noise_tree(
    question: TreeCounts,
    noises: Sequence[NoiseLaw | None],
    schema: Schema,
    *,
    is_root_exact: bool,
    metric: OwnMetric | None = None,
) -> NoiseTree:
    """Return a tree's cells and noise without its counts."""
    domains = [schema.field(name).domain for name in question.columns]
    sizes = []
    for level in range(len(question.costs)):
        cut = list(zip(question.hierarchies, question.depths(level), strict=True))
        if metric is not None:
            sizes.append(metric.sizes(dict(zip(question.columns, cut, strict=True)), question.columns))
            continue
        parts = zip(cut, domains, strict=True)
        sizes.append(cell_diameters([diameters(nested, domain, depth) for (nested, depth), domain in parts]))
    kinds = [law.kind for law in noises if law is not None]
    parameters = [math.inf if law is None else float(law.parameter) for law in noises]
    if is_root_exact:
        parameters[0] = 0.0
    return NoiseTree(splits=tree_splits(question), diameters=tuple(sizes), kind=kinds[0], parameters=tuple(parameters))


def counted_tree(
    noisy: NoisyTree, tree: NoiseTree, schema: Schema, rows: int | None, metric: OwnMetric | None = None
) -> CountedTree:
    """Return the noisy counts of a tree; rows: the number of rows, where the root is exact."""
    question = noisy.question
    domains = [schema.field(name).domain for name in question.columns]
    columns = [
        CutColumn(nested, domain, is_line(domain)) for nested, domain in zip(question.hierarchies, domains, strict=True)
    ]
    levels = list(noisy.levels)
    if tree.parameters[0] == 0:
        levels[0] = np.full(question.shapes[0], rows)
    if metric is None:
        cells = cell_metric(columns, tree.splits)
    elif metric.spans and set(metric.columns) == set(question.columns):
        cells = cell_metric(columns, tree.splits, metric.shares(question.columns))
    else:
        cells = nested_metric(tree.splits, tree.diameters)
    return CountedTree(levels=tuple(levels), kind=tree.kind, parameters=tree.parameters, metric=cells)


def released_statements(
    noisy: NoisyTree,
    tree: NoiseTree,
    counted: CountedTree,
    model: ReleasedModel,
    *,
    placement: Placement,
    rng: np.random.Generator,
    metric: OwnMetric | None = None,
) -> tuple[Statement, ...]:
    """State how far a released model is from the table, whatever made its counts consistent."""
    shares = leaf_shares(model, noisy.question)
    bound = 1.0 if shares is None else stated_distance(counted, shares, placement, rng)
    if metric is not None:
        return Statement("own_distance", bound, _of_metric(metric)), _largest_own(noisy.question, tree, metric)
    return Statement("distance", bound, {"columns": noisy.question.columns}), largest_cell(
        math.prod(noisy.question.shapes[-1]), tree.resolution
    )


def _of_metric(metric: OwnMetric) -> dict[str, object]:
    """Return what statements say of a metric."""
    return {
        "columns": metric.columns,
        "metric": metric.kind,
        "farthest": metric.farthest,
        "measure": MEASURES[metric.kind],
    }


def _largest_own(question: TreeCounts, tree: NoiseTree, metric: OwnMetric) -> Statement:
    cells = math.prod(question.shapes[-1])
    return Statement("largest_own_cell", tree.resolution, {"cells": cells, "metric": metric.kind})


def planned_statements(
    question: TreeCounts,
    tree: NoiseTree,
    rows: float,
    rng: np.random.Generator | None,
    metric: OwnMetric | None = None,
) -> tuple[Statement, ...]:
    """State what is expected of a release before it is made.

    rng: simulates the noise of a least-squares fit; None for the paper's greedy consistency, where Theorem 4.2 holds.
    """
    expected = {"columns": question.columns, "rows": round(rows)}
    if rng is None:
        bound = theorem_4_2(_deltas(tree), _scales(tree), n=rows, resolution=tree.resolution)
        if metric is not None:
            return _expected_own(bound, question, tree, rows, metric)
        return Statement("expected_distance", bound, expected), largest_cell(
            math.prod(question.shapes[-1]), tree.resolution
        )
    draws = min(max(PLAN_NODES // tree.nodes, PLAN_DRAWS[0]), PLAN_DRAWS[1])
    bounds = np.array([simulated_bound(tree, rows=rows / 2, simulations=1, rng=rng) for _ in range(draws)])
    whole, error = float(bounds.mean()), float(bounds.std(ddof=1)) / math.sqrt(draws)
    resolutions = [float(sizes.max()) for sizes in tree.diameters]
    # Twice the noise, as a fit that shrinks may double what flows between siblings.
    stopped = stopped_bound(_deltas(tree), tree.variances, resolutions, rows=rows / 2)
    if metric is not None:
        return _expected_own(min(stopped, whole), question, tree, rows, metric)
    return (
        Statement("expected_distance", min(stopped, whole), expected),
        Statement("simulated_bound", whole, {"draws": draws, "error": error}),
        largest_cell(math.prod(question.shapes[-1]), tree.resolution),
    )


def _expected_own(
    bound: float, question: TreeCounts, tree: NoiseTree, rows: float, metric: OwnMetric
) -> tuple[Statement, ...]:
    stated = Statement("expected_own_distance", bound, {"rows": round(rows), **_of_metric(metric)})
    return stated, _largest_own(question, tree, metric)


def paper_statement(shape: TreeShape, depth: int, terms: Terms, budget: Budget, rows: float) -> Statement | None:
    """State Theorem 4.3's bound for the published algorithm at its own depth, for comparison.

    depth: at most as many levels as the shape has. Returns none where a level divides no cell of positive diameter,
    which the theorem leaves out.
    """
    deltas = shape.deltas[: depth + 1]
    if min(deltas) <= 0:
        return None
    root: Root = "exact" if terms.rows is not None and depth else "noisy"
    # The theorem's exact root counts two changes per level itself.
    bound = row_sensitivity("add-remove" if root == "exact" else terms.relation, terms.max_rows)
    change = bound.l1 if budget.notion == "pure" else bound.l2_squared
    scales = paper_scales(deltas, budget.notion, float(budget.amount / change), root)
    if budget.notion == "zcdp":
        scales = [scale / math.sqrt(2) for scale in scales]
    value = theorem_4_2(deltas, scales, n=rows, resolution=shape.resolutions[depth])
    theorem = "Theorem 4.3" if budget.notion == "pure" else "Theorem 4.2 at its best scales"
    return Statement("published_bound", value, {"depth": depth, "theorem": theorem})


def _scales(tree: NoiseTree) -> list[float]:
    """Return the noise of each level as Theorem 4.2 takes it."""
    if tree.kind == "laplace":
        return list(tree.parameters)
    return [math.sqrt(variance / 2) for variance in tree.variances]


def _deltas(tree: NoiseTree) -> list[float]:
    """Return the diameters that each level divides."""
    return tree_deltas(tree.splits, tree.diameters)
