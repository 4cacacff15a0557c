"""Noisy one-way tables of every column, and the laws they give."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import project_to_simplex
from lapwing.model.laws import Laws, laws_from_probabilities, uniform_law
from lapwing.model.model import Indexed, ReleasedModel, whole_rows
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping
from lapwing.schema.scalars import MOST_ROWS
from lapwing.schema.schemas import Schema

T = TypeVar("T")
SEEN_DEVIATIONS = 4.0
COUNT_SHARE = Fraction(1, 50)
"""Part of the budget that buys a noisy number of rows where nobody gives a public one; it only steers what follows."""


def public_or_expected_rows(terms: Terms) -> int:
    """Return the number of rows that is public or expected, at least 1; 1 where nobody tells one."""
    return max(1, (terms.rows if terms.rows is not None else terms.expected_rows) or 1)


def public_or_noisy_rows(curator: Curator, budget: Budget) -> tuple[float, Budget]:
    """Return a number of rows that may be known, and the budget that is left: public, expected, or bought."""
    bought, left = measure_row_count(curator, budget)
    return float(public_or_expected_rows(curator.terms)) if bought is None else max(
        1.0, float(whole_rows(int(bought.counts)))
    ), left


def measure_row_count(curator: Curator, budget: Budget) -> tuple[NoisyCounts | None, Budget]:
    """Buy a noisy number of rows where none is public or expected; return it, and the budget that is left."""
    cost, left = reserve_row_count_budget(curator.terms, budget)
    if cost is None:
        return None, budget
    (noisy,) = curator.ask(MarginalCounts(columns=(), groupings=(), cost=cost))
    return noisy, left


def reserve_row_count_budget(terms: Terms, budget: Budget) -> tuple[Budget | None, Budget]:
    """Return what a noisy number of rows costs where none is public or expected, else None, and what is left."""
    if terms.rows is not None or terms.expected_rows is not None:
        return None, budget
    cost, left = budget.split([COUNT_SHARE, 1 - COUNT_SHARE])
    return cost, left


def uniform_model(schema: Schema, rows: int) -> ReleasedModel:
    """Return the model that says nothing: one atom, uniform on the regular codes of each column."""
    laws = {each.name: Indexed(np.zeros(1, dtype=np.uint8), uniform_law(each.domain)) for each in schema.columns}
    return ReleasedModel(weights=np.ones(1), rows=rows, laws=laws)


def one_way_questions(schema: Schema, groupings: Mapping[str, Grouping], budget: Budget) -> tuple[MarginalCounts, ...]:
    """Return the questions of `ask_one_way`, which a plan states without any curator."""
    fields = schema.columns
    costs = budget.split([Fraction(1)] * len(fields))
    return tuple(
        MarginalCounts(columns=(each.name,), groupings=(groupings[each.name],), cost=cost, apart=each.domain.missing)
        for each, cost in zip(fields, costs, strict=True)
    )


def pooled_total(tables: Sequence[NoisyCounts], public_rows: int | None) -> float:
    """Return the number of rows: public, else the inverse-variance mean of the noisy totals, from 0 to 2**40."""
    if public_rows is not None:
        return float(public_rows)
    precision = np.array([1.0 / (table.whole.size * table.noise.sd**2) if table.noise.sd else 1e12 for table in tables])
    totals = np.array([float(table.whole.sum()) for table in tables])
    return min(max(0.0, float(precision @ totals / precision.sum())), float(MOST_ROWS))


def counts_with_misfits(answer: NoisyCounts) -> np.ndarray:
    """Return the noisy counts of a table, with misfits among missing cells where noise does not explain them.

    Returns float64, shape ``question.shape``: added always, the noise on their count would make missing cells of none.
    """
    counts = answer.counts.astype(np.float64)
    if answer.misfits is not None and answer.misfits > SEEN_DEVIATIONS * answer.noise.sd:
        counts[-1] += answer.misfits
    return counts


def one_way_law(table: NoisyCounts, domain: Domain, total: float) -> Laws:
    """Return the law of one column: its noisy table projected on the simplex, without the misfit code."""
    grouping = table.question.groupings[0]
    mass = project_to_simplex(counts_with_misfits(table), total)
    if not domain.missing:
        mass[-1] = 0.0
    if mass.sum() <= 0.0:
        return uniform_law(domain)
    starts, stops, group = grouping.pieces()
    lengths = (stops - starts).astype(np.float64)
    share = lengths / np.bincount(group, lengths, minlength=grouping.groups)[group]
    return laws_from_probabilities(starts, stops, mass[group] * share / mass.sum())


# -- The cells in which one-way tables are asked before anything is known: functions of the schema alone.
VALUE_BY_VALUE = 512
"""Ordered columns of up to so many values are counted value by value: codes may have no meaning as numbers."""
_MOST_CUTS = 128


def one_way_grouping(field: Field, groups: int) -> Grouping:
    """Return the public grouping under which a column's one-way table is asked.

    Returns categories each on their own, and values of ordered columns that have at most ``2 * groups`` of them.
    Otherwise `public_cells`.
    """
    domain = field.domain
    if field.is_categorical or domain.values <= 2 * groups:
        return identity(domain)
    return public_cells(field, groups)


def is_refined(field: Field) -> bool:
    """Tell whether an ordered column has too many values to count them one by one."""
    return field.domain.ordered and field.domain.values > VALUE_BY_VALUE


def public_cells(field: Field, cells: int) -> Grouping:
    """Return runs of codes: nearly equal ones, or those of a declared hierarchy or scale.

    Returns with the minimum, zero and the maximum of numbers on their own, where real tables keep most of their copies.

    >>> public_cells(Field(name="x", type="integer", minimum=0, maximum=999), 4).cuts.tolist()
    [1, 250, 500, 750, 999]
    """
    domain = field.domain
    even = evenly(domain, cells)
    inner = _declared(domain, max(cells, _MOST_CUTS)) if domain.cuts else even.pieces()[0][: even.regular]
    alone = [code + after for code in landmark_codes(field) for after in (0, 1)]
    cuts = np.unique(np.concatenate((inner, np.array(alone, dtype=np.int64))))
    return interval_grouping(domain, cuts[(cuts > 0) & (cuts < domain.values)])


def landmark_codes(field: Field) -> tuple[int, ...]:
    """Return the codes of the minimum, zero and the maximum of a column of numbers; none of other columns.

    >>> landmark_codes(Field(name="x", type="integer", minimum=-5, maximum=5))
    (0, 5, 10)
    """
    if field.is_categorical or field.type not in ("integer", "number"):
        return ()
    last, zero = field.domain.values - 1, field.range.zero
    return (0, zero, last) if 0 <= zero <= last else (0, last)


def _declared(domain: Domain, most: int) -> np.ndarray:
    """Return the cuts of the coarsest tiers, as many as fit; some of the first where it alone has too many."""
    kept = np.array(domain.cuts[0], dtype=np.int64)
    if kept.size > most:
        return kept[np.arange(1, most) * kept.size // most]
    for tier in domain.cuts[1:]:
        if kept.size + len(tier) > most:
            break
        kept = np.concatenate((kept, np.array(tier, dtype=np.int64)))
    return kept
