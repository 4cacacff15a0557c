"""The question for sums of the rows' vectors over public cells, and the answer to all questions for sums."""

from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, Protocol, get_args

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.codec import KNOWN, packed_array
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable, Sensitivity, row_sensitivity
from lapwing.kernel.plain import MAX_CELLS
from lapwing.kernel.questions.questions import (
    TABLE,
    Question,
    RecordedAnswer,
    WithoutDelta,
    check_cost,
    checked_counts,
    noise_for_cost,
    nothing_more,
    one_table,
)
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import LARGEST_PROJECTION, Projection
from lapwing.kernel.terms import Relation
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.scalars import check_whole_number

Summed = Literal["rows", "vectors", "damped means"]

MEAN_BITS: Final = 20
"""Damped means are rounded down to multiples of ``2**-20`` of a unit: exact integers, as noise needs them."""

MOST_MEAN_BITS: Final = 12
"""Most bits of coordinates whose means are asked: sums of ``2**31`` rows stay inside int64 when they are divided."""


MOST_DAMPING: Final = 2**31


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CellSums(WithoutDelta["NoisySums"]):
    """Ask, for every cell of a public partition, empty or not, how many rows it has or what their vectors sum to.

    projection: the cells; None for one cell of all rows. Projections of the vectors stay below ``2**40``; summed:
    ``rows``: their number. ``vectors``: the sum of each coordinate. ``damped means``: each sum divided by the number of
    rows or by ``damping``, whichever is larger, in multiples of ``2**-20`` units, rounded down.

    Guarantee: ε-DP with discrete Laplace, ρ-zCDP with discrete Gaussian noise of one law on every number, under the
    relation and ``max_rows`` that `sensitivity` is given (proof: ``proof.md``).
    """

    kind: ClassVar[str] = "CellSums"
    called: ClassVar[str] = TABLE
    purpose: ClassVar[str] = "sums over the rows of cells"

    coordinates: Coordinates
    projection: Projection | None
    summed: Summed
    damping: int | None = None
    cost: Budget

    def __post_init__(self) -> None:
        if self.summed not in get_args(Summed):
            raise ParameterError(
                f"summed must be one of {', '.join(get_args(Summed))}, got {self.summed!r}", code="LW641"
            )
        if (self.damping is not None) != (self.summed == "damped means"):
            raise ParameterError(f"damped means, and nothing else, need a damping, got {self.damping!r}", code="LW641")
        if self.damping is not None:
            check_whole_number("a damping", self.damping, 1, MOST_DAMPING, limit="2**31", code="LW641")
        if self.damping is not None and self.coordinates.bits > MOST_MEAN_BITS:
            raise ParameterError(
                f"damped means need coordinates of at most {MOST_MEAN_BITS} bits; use fewer", code="LW641"
            )
        check_cost(self.cost)
        if self.projection is not None:
            self._check_projection(self.projection)
        if self.cells * self.width > MAX_CELLS:
            raise CapacityError(
                f"{self.cells} cells of {self.width} numbers are above {MAX_CELLS} "
                f"({8 * self.cells * self.width / 2**20:.0f} MiB); use fewer cells",
                code="LW502",
            )

    def _check_projection(self, projection: Projection) -> None:
        """Refuse directions of other vectors, and such that could leave the range in which floats are exact."""
        if projection.width != self.coordinates.size:
            raise ParameterError(
                f"directions of {projection.width} coordinates do not fit vectors of {self.coordinates.size}",
                code="LW641",
            )
        if projection.reach(self.coordinates.row_norm) > LARGEST_PROJECTION:
            raise ParameterError(
                "projections on these directions could pass 2**40; scale the directions down", code="LW641"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the vectors."""
        return self.coordinates.columns

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """One per column, of the vectors that are summed."""
        return self.coordinates.groupings

    @property
    def cells(self) -> int:
        """Number of cells, s."""
        return 1 if self.projection is None else self.projection.cells

    @property
    def width(self) -> int:
        """Numbers of each cell: 1, or one per coordinate."""
        return 1 if self.summed == "rows" else self.coordinates.size

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells; for vectors and means also coordinates."""
        return (self.cells,) if self.summed == "rows" else (self.cells, self.width)

    @property
    def scale(self) -> int:
        """What stands for one row, or for one unit of a coordinate's sum; of damped means, for a mean of one unit."""
        if self.summed == "rows":
            return 1
        return self.coordinates.unit if self.damping is None else 2**MEAN_BITS

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of all numbers: a unit owns at most ``max_rows`` rows, each in one cell."""
        if self.summed == "rows":
            return row_sensitivity(relation, max_rows)
        if self.damping is not None:
            norm, width = self.coordinates.row_norm, self.coordinates.size
            touched = 1 if relation == "add-remove" else 2
            # ceil of 2 * norm / damping per touched cell (Lemma 5.6), and 1 per number for rounding down
            l1 = touched * (-(-2 * norm * 2**MEAN_BITS // (self.damping * self.coordinates.unit)) + width)
            return Sensitivity(max_rows * l1, (max_rows * l1) ** 2)
        change = self.coordinates.sum_change(relation)
        return Sensitivity(max_rows * change.l1, max_rows**2 * change.l2_squared)

    noise = noise_for_cost
    parts = one_table
    check = nothing_more


class AskedForSums(Question, Protocol):
    """A question whose answer is one table of sums, in multiples of a part of a row."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many sums there are."""
        ...

    @property
    def scale(self) -> int:
        """What stands for one row."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class NoisySums(RecordedAnswer):
    """Hold the noisy answer to a `SecondMoment`, `CellSums`, `LinearStatistics` or `TableDistances` question.

    values: int64, shape ``question.shape``, exact sum plus noise, number by number; noise: the law of the noise,
    independent from number to number.
    """

    question: AskedForSums = field(metadata=KNOWN)
    values: np.ndarray = field(metadata=packed_array(lambda seen: seen["question"].shape))
    noise: NoiseLaw

    def __post_init__(self) -> None:
        values = checked_counts(f"an answer to {self.question.kind}", self.values, self.question.shape)
        object.__setattr__(self, "values", values)

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The one noisy table."""
        return (NoisyTable(self.values, self.noise, self.question.cost, scale=self.question.scale),)
