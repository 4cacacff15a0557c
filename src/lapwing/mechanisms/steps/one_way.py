"""Noisy one-way tables of every column, and the laws they give."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.numerics.simplex import project_to_simplex
from lapwing.release.curator import Curator
from lapwing.release.laws import Laws, laws_from_probabilities, uniform_law
from lapwing.release.questions import MarginalCounts, NoisyCounts
from lapwing.schema.domains import Domain
from lapwing.schema.fields import Field
from lapwing.schema.groupings import Grouping, cut, evenly, identity
from lapwing.schema.schemas import Schema
from lapwing.schema.values import bounds


def one_way_grouping(field: Field, groups: int) -> Grouping:
    """Return the public grouping under which a column's one-way table is asked.

    Parameters
    ----------
    field : Field
        A modelled column.
    groups : int
        About how many groups an ordered column gets.

    Returns
    -------
    Grouping
        Categories each on their own, and values of ordered columns that have at most ``2 * groups`` of them. Otherwise
        nearly equal runs, and, for whole numbers, the minimum, zero and the maximum on their own, where real tables
        keep most of their copies.
    """
    domain = field.domain
    if field.is_categorical or domain.values <= 2 * groups:
        return identity(domain)
    even = evenly(domain, groups)
    if domain.continuous or field.type != "integer":
        return even
    starts, _, group = even.pieces()
    low, high = (int(bound) for bound in bounds(field))
    single = [code - low for code in (low, 0, high) if low <= code <= high]
    inner = {int(start) for start in starts[group < even.regular]} | {s for code in single for s in (code, code + 1)}
    return cut(domain, np.array(sorted(start for start in inner if 0 < start < domain.values), dtype=np.int64))


def ask_one_way(
    curator: Curator,
    schema: Schema,
    groupings: Mapping[str, Grouping],
    budget: Budget,
    shares: Sequence[Fraction] | None = None,
) -> tuple[NoisyCounts, ...]:
    """Ask for one table per column.

    Parameters
    ----------
    curator : Curator
        Answers.
    schema : Schema
        Its columns are asked for, in order.
    groupings : mapping of str to Grouping
        One per column.
    budget : Budget
        Spent exactly.
    shares : sequence of Fraction, optional
        How the budget is divided, one positive number per column; evenly by default.

    Returns
    -------
    tuple of NoisyCounts
        One per column.
    """
    return curator.ask(*one_way_questions(schema, groupings, budget, shares))


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

    Parameters
    ----------
    table : NoisyCounts
        A one-way table.
    domain : Domain
        Of its column.
    total : float
        Number of rows, at least 0.

    Returns
    -------
    Laws
        One law, uniform inside each group. Uniform on the regular codes when nothing is left.
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
