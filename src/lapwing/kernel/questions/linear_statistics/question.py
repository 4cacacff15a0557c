"""The question for sums of linear statistics over all rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.plain import read_list
from lapwing.kernel.questions.cell_sums.question import NoisySums, read_sums
from lapwing.kernel.questions.linear_statistics.statistics import RowStatistic, Statistic, statistic_from_dict
from lapwing.kernel.questions.questions import (
    NEVER,
    TABLE,
    cost_to_dict,
    groupings_to_dict,
    noise_for_cost,
    one_table,
    read_cost,
    read_groupings,
)
from lapwing.kernel.terms import Relation, Terms
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

MOST_STATISTICS: Final = 4096
"""Most statistics of one question: the noise on each grows with their number."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LinearStatistics:
    """Ask what each of some statistics sums to over all rows.

    groupings: one per column, every code on its own: statistics are functions of codes; statistics: 1 to 4096 functions
    of one row, each with public bounds inside -1 and 1.

    Guarantee: ε-DP with discrete Laplace, ρ-zCDP with discrete Gaussian noise of one law on every sum, under the
    relation and ``max_rows`` that `sensitivity` is given (proof: ``proof.md``). Indicators
    alone are counted in whole rows; otherwise every sum is in multiples of ``2**-16``.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Algorithm 1, step 1. What we
    changed: sums of integers in place of means of reals, and each statistic's own bounds in place of -1 and 1.
    """

    kind: ClassVar[str] = "LinearStatistics"
    called: ClassVar[str] = TABLE
    purpose: ClassVar[str] = "chosen statistics"
    delta: ClassVar[Fraction] = NEVER

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    statistics: tuple[Statistic | RowStatistic, ...]
    cost: Budget

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.groupings) or len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                "LinearStatistics needs distinct columns with one grouping each; name each once", code="LW641"
            )
        if not self.statistics:
            raise ParameterError("LinearStatistics needs at least one statistic; name one", code="LW641")
        if len(self.statistics) > MOST_STATISTICS:
            raise CapacityError(
                f"{len(self.statistics)} statistics are above {MOST_STATISTICS}; ask for fewer", code="LW504"
            )
        if any(grouping.regular != grouping.values for grouping in self.groupings):
            raise ParameterError(
                "LinearStatistics needs groupings in which every code is a group; use identity", code="LW641"
            )
        if not {name for each in self.statistics for name in each.columns} <= set(self.columns):
            raise ParameterError(
                "LinearStatistics must name the columns of all its statistics; add the others", code="LW641"
            )
        if self.cost.amount <= 0:
            raise ParameterError("a question must cost more than 0; give it a share of the budget", code="LW641")

    @property
    def bits(self) -> int:
        """Sums are in multiples of ``2**-bits``: 0 where all statistics are indicators."""
        return max(each.bits for each in self.statistics)

    @property
    def scale(self) -> int:
        """What stands for a statistic of 1 in one row."""
        return 1 << self.bits

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of statistics."""
        return (len(self.statistics),)

    @property
    def is_askable(self) -> bool:
        """Whether every row function is at hand; a question that was read back from a record has none."""
        return all(each.function is not None for each in self.statistics if isinstance(each, RowStatistic))

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse a question whose row functions are not at hand."""
        del terms, schema
        if not self.is_askable:
            raise ParameterError(
                "a row function is kept in no file: a release that has one cannot be resumed", code="LW343"
            )

    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Return the least and the largest value of each statistic in one row, in multiples of ``2**-bits``."""
        return tuple(
            (each.lower << self.bits - each.bits, each.upper << self.bits - each.bits) for each in self.statistics
        )

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of all sums: a unit owns at most ``max_rows`` rows."""
        changes = [largest_change(lower, upper, relation) for lower, upper in self.bounds()]
        return Sensitivity(max_rows * sum(changes), max_rows**2 * sum(change**2 for change in changes))

    noise = noise_for_cost
    parts = one_table

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain JSON values; of a row function only its name and bounds."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "groupings": groupings_to_dict(self.groupings),
            "statistics": [each.to_dict() for each in self.statistics],
            "cost": cost_to_dict(self.cost),
        }

    def read_answer(self, values: Mapping[str, Any]) -> NoisySums:
        """Read back an answer that ``to_dict`` wrote; sizes are checked before memory is taken."""
        return read_sums(self, values)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where it is something else."""
        return cls(
            columns=read_list(values, "columns", str),
            groupings=read_groupings(values),
            statistics=tuple(map(statistic_from_dict, read_list(values, "statistics", dict))),
            cost=read_cost(values),
        )


def largest_change(lower: int, upper: int, relation: Relation) -> int:
    """Return how far the sum of a statistic moves when one row is added or removed, or replaced.

    relation: a unit of several rows may be replaced by one of fewer, so replacing covers removing too.

    >>> largest_change(0, 1, "replace-one"), largest_change(-1, 1, "add-remove"), largest_change(-1, 1, "replace-one")
    (1, 1, 2)
    """
    alone = max(abs(lower), abs(upper))
    return alone if relation == "add-remove" else max(alone, upper - lower)
