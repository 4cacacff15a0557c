"""How PMM cuts a table and divides its budget between the levels; from public numbers only."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from lapwing.errors import CapacityError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, calibrate_noise, row_sensitivity
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.trees.budget import (
    DEEP_STEPS,
    Root,
    bound_factor,
    chosen_depth,
    default_shares,
    optimal_shares,
    paper_shares,
    unit_sd,
)
from lapwing.mechanisms.shared.trees.own_metrics import OwnMetric, own_shape
from lapwing.mechanisms.shared.trees.shapes import TreeShape, tree_shape
from lapwing.schema.fields import Field
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

EXTRA_LEVELS: Final = 2
"""How far below the depth that minimises the bound the tree goes; chosen on four laws, d = 1 and 2 (docs/pmm.md)."""

MOSTLY_NONE: Final = 0.05
"""Where a count that has the whole budget errs by no more on average, one level alone may be counted."""
SINGLE_CELLS: Final = 2**17

_shape: Final = lru_cache(maxsize=8)(tree_shape)
_own_shape: Final = lru_cache(maxsize=8)(own_shape)
"""A release asks for the same shape when it is checked, planned and told of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlan:
    """Say how a table is cut and what share of the budget each level gets; a function of public numbers.

    schedule: the column of the schema that each level from 1 on splits; shares: share of each level from 0 on; they sum
    to 1, the last one is not 0.
    """

    schedule: tuple[int, ...]
    shares: tuple[Fraction, ...]

    def uncut(self, schema: Schema) -> tuple[Field, ...]:
        """Return the columns that are never cut, though others are and they have more than one value."""
        left_out = [field for place, field in enumerate(schema.columns) if self.schedule and place not in self.schedule]
        return tuple(each for each in left_out if each.domain.values + each.domain.specials + each.domain.missing > 1)

    def question(self, schema: Schema, budget: Budget) -> TreeCounts:
        """Return the question that spends exactly ``budget``; columns that are never split are left out of it."""
        used = sorted(set(self.schedule)) or [0]
        fields = [schema.columns[place] for place in used]
        return TreeCounts(
            columns=tuple(field.name for field in fields),
            hierarchies=tuple(
                hierarchy(field.domain, self.schedule.count(place)) for field, place in zip(fields, used, strict=True)
            ),
            schedule=tuple(used.index(place) for place in self.schedule),
            notion=budget.notion,
            amounts=tuple(budget.amount * share if share else None for share in self.shares),
        )


def tree_shapes(
    schema: Schema, depth: int | None, max_nodes: int, *, is_paper: bool, metric: OwnMetric | None = None
) -> tuple[TreeShape, ...]:
    """Return the ways to cut a table that a plan chooses from, as deep as the limit allows."""
    domains = tuple(column.domain for column in schema.columns)
    if metric is not None:
        shapes: tuple[TreeShape, ...] = (_own_shape(metric, max_nodes),)
    else:
        longest = _shape(domains, "longest", max_nodes)
        shapes = (longest,) if is_paper or len(domains) == 1 else (longest, _shape(domains, "cycle", max_nodes))
    fitting = tuple(shape for shape in shapes if depth is None or shape.is_complete or len(shape.schedule) >= depth)
    if not fitting:
        fits = max(len(shape.schedule) for shape in shapes)
        raise CapacityError(
            f"a tree of depth={depth} over {len(domains)} columns has more than max_nodes={max_nodes} nodes; "
            f"depth={fits} fits",
            code="LW503",
        )
    return fitting


def paper_plan(shape: TreeShape, terms: Terms, budget: Budget, depth: int | None, rows: float) -> TreePlan:
    """Return the paper's plan: depth ``ceil(log2(ε n))`` and the shares of Theorem 4.3.

    budget: for the tree. A zCDP budget counts as the ε whose Laplace noise has the same standard deviation; rows: a
    public or noisy number of rows, at least 1; not looked at where a depth is given.
    """
    if depth is None:
        epsilon = math.sqrt(2) / unit_sd(budget.notion, budget.amount, _change("add-remove", terms, budget))
        depth = max(0, math.ceil(math.log2(epsilon * rows)))
    levels = min(depth, len(shape.schedule))
    shares = paper_shares(shape.deltas[: levels + 1], budget.notion, _root(terms, levels))
    return TreePlan(schedule=shape.schedule[:levels], shares=shares)


def default_plan(shapes: Sequence[TreeShape], terms: Terms, budget: Budget, depth: int | None, rows: float) -> TreePlan:
    """Return the better plan: cuts, depth and shares by the bound of weighted least squares."""
    noise = unit_sd(budget.notion, budget.amount, _change(terms.relation, terms, budget)) / rows
    plans = [_bounded_plan(shape, terms, budget, depth, noise) for shape in shapes]
    bound, plan, shape = min(plans, key=lambda each: each[0])
    law = calibrate_noise(row_sensitivity(terms.relation, terms.max_rows), budget)
    if depth is not None or law.mean_absolute > MOSTLY_NONE:
        return plan
    single = _single_level(shape, law, rows)
    return single[1] if single[0] < bound else plan


def _single_level(shape: TreeShape, law: NoiseLaw, rows: float) -> tuple[float, TreePlan]:
    """Return the plan of the least bound that spends all on one level, and that bound.

    Sums of noise that is mostly 0 are expected to be no larger than the sum of the sizes.
    """
    best = (math.inf, 0)
    for depth in range(1, len(shape.schedule) + 1):
        cells = [2.0 ** (depth - level) for level in range(1, depth + 1)]
        if 2 * cells[0] > SINGLE_CELLS:
            break
        noise = math.fsum(
            delta * min(math.sqrt(count / 2) * law.sd, count * law.mean_absolute)
            for delta, count in zip(shape.deltas[1:], cells, strict=False)
        )
        best = min(best, (noise / rows + shape.resolutions[depth], depth))
    shares = (Fraction(0),) * best[1] + (Fraction(1),)
    return best[0], TreePlan(schedule=shape.schedule[: best[1]], shares=shares)


def _bounded_plan(
    shape: TreeShape, terms: Terms, budget: Budget, depth: int | None, noise: float
) -> tuple[float, TreePlan, TreeShape]:
    """Return the best plan for one way to cut, its bound, and the way."""
    most = len(shape.schedule) if depth is None else min(depth, len(shape.schedule))
    root = _root(terms, most)
    deltas, resolutions = shape.deltas[: most + 1], shape.resolutions[: most + 1]
    # The bound counts every noise as if no row were there: measured distances are smallest two levels further down.
    best = min(chosen_depth(deltas, resolutions, noise, budget.notion, root) + EXTRA_LEVELS, most)
    if root == "exact":
        best = max(best, 1)  # an exact root has no noise to spend a budget on
    if depth is not None:
        # Deep levels come in steps of two: the last of them must be the depth that was asked for.
        best = max(best, most - DEEP_STEPS[-1])
        best += (most - best) % 2
    bound = noise * bound_factor(
        deltas[: best + 1], optimal_shares(deltas[: best + 1], budget.notion, root), budget.notion
    )
    shares = default_shares(deltas, best, budget.notion, root)
    return bound + resolutions[best], TreePlan(schedule=shape.schedule[: len(shares) - 1], shares=shares), shape


def _root(terms: Terms, levels: int) -> Root:
    """Return whether the root needs no budget: the number of rows is public, and there is another level to spend on."""
    return "exact" if terms.rows is not None and levels else "noisy"


def _change(relation: str, terms: Terms, budget: Budget) -> int:
    """Return the sensitivity of one level in the norm of the budget's noise."""
    bound = row_sensitivity("add-remove" if relation == "add-remove" else "replace-one", terms.max_rows)
    return bound.l1 if budget.notion == "pure" else bound.l2_squared
