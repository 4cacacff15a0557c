"""Noisy one-way tables of every column, and the laws they give."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.room.curator import Curator
from lapwing.maths.simplex import project_to_simplex
from lapwing.model.laws import Laws, laws_from_probabilities, uniform_law
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

COUNT_SHARE = Fraction(1, 50)
"""Part of the budget that buys a noisy number of rows where nobody gives a public one; it only steers what follows."""


def known_rows(curator: Curator, budget: Budget) -> tuple[float, Budget]:
    """Return a number of rows that may be known, and the budget that is left: public, expected, or bought."""
    terms = curator.terms
    known = terms.rows if terms.rows is not None else terms.expected_rows
    if known is not None:
        return float(max(1, known)), budget
    cost, left = budget.split([COUNT_SHARE, 1 - COUNT_SHARE])
    (noisy,) = curator.ask(MarginalCounts(columns=(), groupings=(), cost=cost))
    return float(max(1, int(noisy.counts))), left


def ask_one_way(
    curator: Curator,
    schema: Schema,
    groupings: Mapping[str, Grouping],
    budget: Budget,
    shares: Sequence[Fraction] | None = None,
) -> tuple[NoisyCounts, ...]:
    """Ask for one table per column.

    shares: how the budget is divided, one positive number per column; evenly by default.
    """
    return curator.ask(*one_way_questions(schema, groupings, budget, shares))


def product_model(curator: Curator, schema: Schema, groupings: Mapping[str, Grouping], budget: Budget) -> ReleasedModel:
    """Spend a budget on one-way tables and return their product, one atom."""
    tables = ask_one_way(curator, schema, groupings, budget)
    total = pooled_total(tables, curator.terms.rows)
    laws = {
        column.name: Indexed(np.zeros(1, dtype=np.uint8), fitted_law(table, column.domain, total))
        for column, table in zip(schema.columns, tables, strict=True)
    }
    return ReleasedModel(weights=np.ones(1), rows=round(total), laws=laws)


def one_way_questions(
    schema: Schema, groupings: Mapping[str, Grouping], budget: Budget, shares: Sequence[Fraction] | None = None
) -> tuple[MarginalCounts, ...]:
    """Return the questions of `ask_one_way`, which a plan states without any curator; parameters as there."""
    names = tuple(column.name for column in schema.columns)
    costs = budget.split([Fraction(1)] * len(names) if shares is None else shares)
    return tuple(
        MarginalCounts(columns=(name,), groupings=(groupings[name],), cost=cost)
        for name, cost in zip(names, costs, strict=True)
    )


def pooled_total(tables: Sequence[NoisyCounts], public_rows: int | None) -> float:
    """Return the number of rows: the public one, else the inverse-variance mean of the noisy totals, at least 0."""
    if public_rows is not None:
        return float(public_rows)
    precision = np.array(
        [1.0 / (table.counts.size * table.noise.sd**2) if table.noise.sd else 1e12 for table in tables]
    )
    totals = np.array([float(table.counts.sum()) for table in tables])
    return max(0.0, float(precision @ totals / precision.sum()))


def fitted_law(table: NoisyCounts, domain: Domain, total: float) -> Laws:
    """Return the law of one column: its noisy table projected on the simplex, without the misfit code.

    Returns one law, uniform inside each group. Uniform on the regular codes when nothing is left.
    """
    grouping = table.question.groupings[0]
    mass = project_to_simplex(table.counts.astype(np.float64), total)
    if not domain.missing:
        mass[-1] = 0.0
    if mass.sum() <= 0.0:
        return uniform_law(domain)
    starts, stops, group = grouping.pieces()
    lengths = (stops - starts).astype(np.float64)
    share = lengths / np.bincount(group, lengths, minlength=grouping.groups)[group]
    return laws_from_probabilities(starts, stops, mass[group] * share / mass.sum())
