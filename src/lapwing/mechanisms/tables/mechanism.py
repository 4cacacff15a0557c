"""Tables: exactly the tables that are named, and rows that meet them.

ask -> solve -> model: each named table once; estimates that agree wherever tables overlap; whole rows that meet them.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.base import Mechanism, Questions, Work
from lapwing.mechanisms.shared.settings import check_choice
from lapwing.mechanisms.shared.tables.estimates import consistent_estimates, counted_table, nested_axes
from lapwing.mechanisms.shared.tables.rows import model_of_tables
from lapwing.mechanisms.tables.named import WAY_OUT, NamedTable
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.schema.scalars import safe_repr
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

Least = Literal["total", "largest"]

_BYTES_PER_CELL = 150  # of all tables, measured at 2,500,000 cells
_SECONDS_PER_CELL = 2e-5  # measured with 10,000 to 400,000 groups of a column


@dataclass(frozen=True, slots=True)
class Tables(Mechanism):
    """Measure exactly the tables that are named, and nothing else.

    Parameters
    ----------
    tables : list of tables, default ()
        Each a column, a list of up to 8 columns, or an object with ``columns`` and perhaps ``groups`` and ``weight``;
        by default each column by itself. Categories and columns of up to 128 values are counted value by value, others
        in about 64 groups. ``groups`` names other ones by column: so many nearly equal runs, or the tiers of a
        hierarchy from the coarsest on; or the first values of all groups but the first. Groups of a column in several
        tables must be nested. ``weight``, 0.001 to 1000, says how much a table's errors count.
    least : {"total", "largest"}, default "total"
        What the division of the budget makes least, of all tables one by one: the weighted sum of the variances of all
        cells, or the largest weighted variance.

    Raises
    ------
    ParameterError
        If a setting is outside its range, or, when run, if groups are not nested.
    SchemaError
        When run, if a table names a column that the schema does not model.

    Notes
    -----
    Guarantee: one `MarginalCounts` question for each table: ε-DP or ρ-zCDP in all, for add-remove and replace-one
    neighbours and any number of rows per unit. With k cells and weight w a table gets a part of ρ as ``(w k)**(1/2)``,
    of ε as ``(w k)**(1/3)``; where the largest error counts, as ``w`` and ``w**(1/2)``.

    Expected error: every estimated cell is unbiased, and its variance is known exactly. Where the groups of a column
    have equally many groups of the next finer grouping, it is at most that of its own noise. Rows are at most a row or
    two per cell off what tables that contradict each other, or are negative, can be made to agree on. Time beside
    counting: the cells of all tables, then 200 sweeps over at most 1,048,576 combinations of groups, or 200,000
    particles where there are more.

    References
    ----------
    Xiao, He, Zhang, Kifer (2023), "An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss
    Functions": the parts into which tables split. What we changed: the tables themselves are measured, in whole
    numbers. For usual tables the sum of variances is 1.01 to 1.1 times that optimum (ResidualPlanner's), for all pairs
    or triples of ten binary columns 1.5 to 1.8.

    Examples
    --------
    >>> Tables([["sex", "age"], "region"]).tables[1].columns
    ('region',)
    """

    __repr__ = short
    name: ClassVar[str] = "Tables"
    summary: ClassVar[str] = (
        "exactly the tables that you name, with intervals, in whole numbers, and rows that meet them"
    )
    caveat: ClassVar[str] = "tables_alone"
    report: ClassVar[str] = (
        "counted, with noise, exactly the tables that were named. What these do not show was not looked at: rows have "
        "nothing of it."
    )
    not_proved: ClassVar[Statement] = Statement("not_proved_unmeasured")

    tables: tuple[NamedTable, ...] | Sequence[object] = ()
    _: KW_ONLY
    least: Least = "total"

    def __post_init__(self) -> None:
        if not isinstance(self.tables, list | tuple):
            raise ParameterError(f"tables must be a list, got {safe_repr(self.tables)}; {WAY_OUT}", code="LW304")
        object.__setattr__(self, "tables", tuple(map(NamedTable.of, self.tables)))
        check_choice(self, "least", Least)

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls()

    @classmethod
    def audited(cls, schema: Schema) -> tuple[Self, ...]:
        """Return the settings that audits run: each column, and tables of several columns and groupings."""
        names = [field.name for field in schema.columns]
        joint = [names[:2], {"columns": names[:1], "weight": 3}, names[1:4]]
        return cls(), cls(tuple(NamedTable.of(each) for each in joint if each), least="largest")

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return atoms of whole rows, spending ``budget``."""
        # Ask: the tables themselves, all at once.
        answers = curator.ask(*self.asked(schema, budget))

        # Solve: the parts that tables share, each from all tables that tell of it; tables are sums of parts.
        found = consistent_estimates([counted_table(each) for each in answers], curator.terms.rows)

        # Model: whole rows.
        return model_of_tables(schema, [each.question.columns for each in answers], found, rng)

    def work(self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rows: int) -> Work:
        """Return what the estimates of all cells, and rows that meet them, take."""
        del schema, budget, terms, rows
        cells = sum(math.prod(each.shape) for each in questions if isinstance(each, MarginalCounts))
        return Work(seconds=_SECONDS_PER_CELL * cells, model_bytes=_BYTES_PER_CELL * cells, table_bytes=0)

    def asked(self, schema: Schema, budget: Budget) -> tuple[MarginalCounts, ...]:
        """Return a question for each table, each with its part of the budget."""
        named = [NamedTable.of(each) for each in self.tables or [field.name for field in schema.columns]]
        groupings = [each.groupings(schema) for each in named]
        nested_axes([(each.columns, own) for each, own in zip(named, groupings, strict=True)])
        shares = [
            self._share(each, math.prod(grouping.groups for grouping in own), is_pure=budget.notion == "pure")
            for each, own in zip(named, groupings, strict=True)
        ]
        return tuple(
            MarginalCounts(columns=each.columns, groupings=own, cost=cost)
            for each, own, cost in zip(named, groupings, budget.split(shares), strict=True)
        )

    def _share(self, table: NamedTable, cells: int, *, is_pure: bool) -> Fraction:
        """Return the part of the budget of a table, beside those of others, that makes errors least."""
        loss = Fraction(str(table.weight)) * (cells if self.least == "total" else 1)
        power = 1 / (1 + (2 if is_pure else 1)) if self.least == "total" else 0.5 if is_pure else 1.0
        return Fraction(max(1, round(10**6 * float(loss) ** power)))
