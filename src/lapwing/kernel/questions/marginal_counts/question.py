"""The question for a contingency table, and its answer."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.codec import KNOWN, SELDOM, packed_array
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable, Sensitivity, row_sensitivity
from lapwing.kernel.plain import MAX_CELLS
from lapwing.kernel.questions.questions import (
    TABLE,
    RecordedAnswer,
    WithoutDelta,
    check_cost,
    checked_counts,
    noise_for_cost,
    one_table,
)
from lapwing.kernel.terms import Relation, Terms
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarginalCounts(WithoutDelta["NoisyCounts"]):
    """Ask for the contingency table of some columns, each seen through a public grouping.

    columns: distinct modelled columns; the empty tuple asks for the number of rows; groupings: one per column, in the
    same order. Cells of the table: the product of their groups, at most ``2**26``; apart: of one column that may be
    missing, whether misfits have a cell of their own, behind that of missing.

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
    apart: bool = field(default=False, metadata=SELDOM)

    def __post_init__(self) -> None:
        if len(self.columns) != (1 if self.apart else len(self.groupings)):
            raise ParameterError(
                f"MarginalCounts has {len(self.columns)} columns and {len(self.groupings)} groupings; give one each",
                code="LW641",
            )
        if len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                f"MarginalCounts names a column twice in {self.columns}; name each column once", code="LW641"
            )
        check_cost(self.cost)
        cells = math.prod(self.counted)
        if cells > MAX_CELLS:
            raise CapacityError(
                f"a table over {', '.join(self.columns)} has {cells} cells, above {MAX_CELLS}; use coarser groupings",
                code="LW502",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(grouping.groups for grouping in self.groupings)

    @property
    def counted(self) -> tuple[int, ...]:
        """Shape of what is counted: that of the table, and the cell of misfits where it has one."""
        return (self.shape[0] + 1,) if self.apart else self.shape

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of the table: a unit owns at most ``max_rows`` rows, and each row lies in one cell."""
        return row_sensitivity(relation, max_rows)

    noise = noise_for_cost
    parts = one_table

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse to tell misfits from missing cells where none may be missing: there every misfit is apart already."""
        del terms
        if self.apart and not schema.field(self.columns[0]).domain.missing:
            raise ParameterError(
                "MarginalCounts separates invalid values only in columns that may be missing, and "
                f"{self.columns[0]!r} may not; leave apart out",
                code="LW641",
            )


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCounts(RecordedAnswer):
    """Hold the noisy answer to a counting question.

    whole: int64, shape ``question.counted``, exact count plus noise, cell by cell; may be negative; with the cell of
    misfits, where the question has one; noise: the law of the noise, independent from cell to cell; counts: those of
    shape ``question.shape``; misfits: the noisy number of cells that fit nothing, where they were told apart: then no
    other cell counts them.
    """

    question: MarginalCounts = field(metadata=KNOWN)
    whole: np.ndarray = field(metadata=packed_array(lambda seen: seen["question"].counted, key="counts"))
    noise: NoiseLaw
    counts: np.ndarray = field(init=False)
    misfits: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        counts = checked_counts(f"an answer over {self.question.columns}", self.whole, self.question.counted)
        object.__setattr__(self, "whole", counts)
        if self.question.apart:
            object.__setattr__(self, "misfits", int(counts[-1]))
            counts = counts[:-1]
        object.__setattr__(self, "counts", counts)

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The one noisy table."""
        return (NoisyTable(self.whole, self.noise, self.question.cost),)

    def privacy_loss(self, exact: np.ndarray, other: np.ndarray) -> Fraction:
        """Return the exact loss of this answer between two tables with these exact counts (ε or ρ, by the noise)."""
        return self.noise.loss(np.asarray(exact, dtype=np.int64) - np.asarray(other, dtype=np.int64))
