"""Independent columns.

ask -> solve -> model: one noisy one-way table per column, each projected on the simplex, one product atom. The
baseline of every comparison: it keeps every column's own law and no relation between columns.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.base import Mechanism, Questions
from lapwing.mechanisms.shared.one_way import one_way_grouping, one_way_law, one_way_questions, pooled_total
from lapwing.mechanisms.shared.settings import check_whole
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short


@dataclass(frozen=True, slots=True, kw_only=True)
class Independent(Mechanism):
    """Release every column on its own.

    Parameters
    ----------
    groups : int, default 128
        About how many groups the one-way table of an ordered column has, 2 to 65536. Columns with at most twice as
        many values, and all categorical columns, are counted value by value.

    Notes
    -----
    Guarantee: the budget is split evenly over the d columns, one `MarginalCounts` question each; ε-DP or ρ-zCDP in all,
    for add-remove and replace-one neighbours and any number of rows per unit.

    Expected error: noise of scale ``d / ε`` (replace-one: ``2 d / ε``) on every cell; the expected total variation of a
    column with k groups is at most ``k d / (ε n)``, and its mass is uniform inside a group. Time ``O(n d + k d)``,
    memory ``O(k d)`` beside the coded rows.

    Examples
    --------
    >>> Independent(groups=64).groups
    64
    """

    __repr__ = short
    name: ClassVar[str] = "Independent"
    summary: ClassVar[str] = "every column on its own: noisy one-way tables, no relation between columns (baseline)"
    caveat: ClassVar[str] = "columns_apart"
    report: ClassVar[str] = (
        "counted, with noise, the values of each column by itself. How columns depend on each other was not looked "
        "at, and the rows show nothing of it."
    )
    not_proved: ClassVar[Statement] = Statement("not_proved_of_tables")

    groups: int = 128

    def __post_init__(self) -> None:
        check_whole(self, "groups", 2, 65_536, "; 128 suits most tables")

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(groups=4)

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:  # noqa: ARG002
        """Return one product atom, spending exactly ``budget``."""
        groupings = {column.name: one_way_grouping(column, self.groups) for column in schema.columns}
        return product_model(curator, schema, groupings, budget)

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return how far each column would be from its own law."""
        del schema, budget, rng
        return expected_variations([each for each in questions if isinstance(each, MarginalCounts)], terms)


# -- How far the laws of one-way tables are from the columns' own, in expectation, by theorem.


def expected_variations(questions: Sequence[MarginalCounts], terms: Terms) -> tuple[Statement, ...]:
    """Bound the expected total variation distance of every column's table, before anything is asked.

    Returns the largest bound of a column, then one bound per column, each at most 1.

    With n rows, k groups, noise z of standard deviation s, and T the number of rows used in the fit, the bound is
    ``(k s / 2 + t) / n``: the projection on the simplex moves no further from the truth in Euclidean distance than z
    does, so that it errs by at most ``sqrt(k) E|z|_2 <= k s`` in absolute sum; T in place of n moves the law by at most
    ``|T - n| / n``, where ``t`` bounds the expectation of ``|T - n|``: 0 where n is public, else the standard deviation
    of the pooled total. Leaving the misfit cell out brings the law no further from rows without misfits; where misfits
    pass four standard deviations they count as missing (`counts_with_misfits`), and the bound is of the rows with them.
    """
    rows = terms.rows if terms.rows is not None else terms.expected_rows or 1
    deviations = [question.noise(terms.relation, terms.max_rows).sd for question in questions]
    groups = [math.prod(question.counted) for question in questions]
    bounds = [
        (size * deviation / 2 + _total_deviation(groups, deviations, terms)) / max(1, rows)
        for size, deviation in zip(groups, deviations, strict=True)
    ]
    each = [
        Statement("expected_column_variation", bound, {"column": question.columns[0], "groups": size})
        for question, size, bound in zip(questions, groups, bounds, strict=True)
    ]
    return Statement("expected_variation", max(bounds), {"rows": rows}), *each


def _total_deviation(groups: Sequence[int], deviations: Sequence[float], terms: Terms) -> float:
    """Return the standard deviation of the inverse-variance mean of the noisy totals; 0 for a public number."""
    if terms.rows is not None or not all(deviations):
        return 0.0
    return 1 / math.sqrt(sum(1 / (size * sd**2) for size, sd in zip(groups, deviations, strict=True)))


def product_model(curator: Curator, schema: Schema, groupings: Mapping[str, Grouping], budget: Budget) -> ReleasedModel:
    """Spend a budget on one-way tables and return their product, one atom."""
    tables = ask_one_way(curator, schema, groupings, budget)
    total = pooled_total(tables, curator.terms.rows)
    laws = {
        column.name: Indexed(np.zeros(1, dtype=np.uint8), one_way_law(table, column.domain, total))
        for column, table in zip(schema.columns, tables, strict=True)
    }
    return ReleasedModel(weights=np.ones(1), rows=round(total), laws=laws)


def ask_one_way(
    curator: Curator, schema: Schema, groupings: Mapping[str, Grouping], budget: Budget
) -> tuple[NoisyCounts, ...]:
    """Ask for one table per column."""
    return curator.ask(*one_way_questions(schema, groupings, budget))
