"""The question for a contingency table, and its answer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable, Sensitivity, row_sensitivity
from lapwing.kernel.plain import MAX_CELLS, pack_counts, read_list, unpack_counts
from lapwing.kernel.questions.questions import (
    TABLE,
    WithoutDelta,
    answer_record,
    check_cost,
    checked_counts,
    cost_to_dict,
    groupings_to_dict,
    noise_for_cost,
    nothing_more,
    one_table,
    read_cost,
    read_groupings,
)
from lapwing.kernel.terms import Relation
from lapwing.schema.groupings.grouping import Grouping


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarginalCounts(WithoutDelta):
    """Ask for the contingency table of some columns, each seen through a public grouping.

    columns: distinct modelled columns; the empty tuple asks for the number of rows; groupings: one per column, in the
    same order. Cells of the table: the product of their groups, at most ``2**26``.

    Guarantee: with discrete Laplace noise of scale ``l1 / ε`` on every cell the answer is ε-DP, with discrete
    Gaussian noise of ``sigma**2 = l2**2 / (2 ρ)`` ρ-zCDP, under the relation and ``max_rows`` that `sensitivity` is
    given (proof: ``proof.md``).

    >>> rows = MarginalCounts(columns=(), groupings=(), cost=Budget.pure(1))
    >>> rows.shape, rows.sensitivity("replace-one", 3)
    ((), Sensitivity(l1=6, l2_squared=18))
    """

    kind: ClassVar[str] = "MarginalCounts"
    called: ClassVar[str] = TABLE
    purpose: ClassVar[str] = ""

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    cost: Budget

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.groupings):
            raise ParameterError(
                f"MarginalCounts has {len(self.columns)} columns and {len(self.groupings)} groupings; give one each",
                code="LW641",
            )
        if len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                f"MarginalCounts names a column twice in {self.columns}; name each column once", code="LW641"
            )
        check_cost(self.cost)
        cells = math.prod(self.shape)
        if cells > MAX_CELLS:
            raise CapacityError(
                f"a table over {', '.join(self.columns)} has {cells} cells, above {MAX_CELLS}; use coarser groupings",
                code="LW502",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(grouping.groups for grouping in self.groupings)

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of the table: a unit owns at most ``max_rows`` rows, and each row lies in one cell."""
        return row_sensitivity(relation, max_rows)

    noise = noise_for_cost
    parts = one_table
    check = nothing_more

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain JSON values."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "groupings": groupings_to_dict(self.groupings),
            "cost": cost_to_dict(self.cost),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where it is something else."""
        return cls(columns=read_list(values, "columns", str), groupings=read_groupings(values), cost=read_cost(values))

    def read_answer(self, values: Mapping[str, Any]) -> "NoisyCounts":
        """Read back an answer that ``to_dict`` wrote; the size is checked before memory is taken."""
        return NoisyCounts(self, unpack_counts(values["counts"], self.shape), NoiseLaw.from_dict(values["noise"]))


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCounts:
    """Hold the noisy answer to a counting question.

    counts: int64, shape ``question.shape``, exact count plus noise, cell by cell; may be negative; noise: the law of
    the noise, independent from cell to cell.
    """

    question: MarginalCounts
    counts: np.ndarray
    noise: NoiseLaw

    def __post_init__(self) -> None:
        counts = checked_counts(f"an answer over {self.question.columns}", self.counts, self.question.shape)
        object.__setattr__(self, "counts", counts)

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The one noisy table."""
        return (NoisyTable(self.counts, self.noise, self.question.cost),)

    def privacy_loss(self, exact: np.ndarray, other: np.ndarray) -> Fraction:
        """Return the exact loss of this answer between two tables with these exact counts (ε or ρ, by the noise)."""
        return self.noise.loss(np.asarray(exact, dtype=np.int64) - np.asarray(other, dtype=np.int64))

    def to_dict(self) -> dict[str, Any]:
        """Return question and answer as plain JSON values."""
        return answer_record(self.question, counts=pack_counts(self.counts), noise=self.noise.to_dict())
