"""The question for a whole tree of nested contingency tables, and its answer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable, Sensitivity, calibrate_noise, row_sensitivity
from lapwing.kernel.plain import MAX_CELLS, read_keys, unpack_counts
from lapwing.kernel.questions.questions import (
    RECORDS,
    TABLE,
    Part,
    Question,
    RecordedAnswer,
    WithoutDelta,
    checked_counts,
    nothing_more,
)
from lapwing.kernel.terms import Relation
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import Hierarchy


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TreeCounts(WithoutDelta["NoisyTree"]):
    """Ask for nested contingency tables: on each level one column is seen one level deeper than on the level above.

    Level 0 has one cell. Rows with a code that a hierarchy does not cover are in no cell of any level.

    schedule: for each level from 1 on, the position of the column that it splits; each column occurs as often as its
    hierarchy has levels; amounts: for each level from 0 on, what its noisy counts cost in the notion; None for a level
    that is not released. The deepest level has a cost.

    Guarantee: with noise on every cell of every released level, calibrated to the level's cost, the answer is ε-DP or
    ρ-zCDP at the sum of the costs, under the relation and ``max_rows`` that `sensitivity` is given (proof:
    ``proof.md``).
    """

    kind: ClassVar[str] = "TreeCounts"
    called: ClassVar[str] = TABLE
    purpose: ClassVar[str] = "counts of nested cells"

    columns: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    schedule: tuple[int, ...]
    notion: Notion
    amounts: tuple[Fraction | None, ...] = field(metadata={"key": "costs"})

    def __post_init__(self) -> None:
        self._check_columns()
        self._check_costs()
        counted = math.prod(grouping.groups for grouping in self.groupings)
        released = sum(
            math.prod(shape) for shape, cost in zip(self.shapes, self.costs, strict=True) if cost is not None
        )
        if max(counted, released) > MAX_CELLS:
            raise CapacityError(
                f"a tree over {', '.join(self.columns)} counts {counted} cells and releases {released}, above "
                f"{MAX_CELLS}; use fewer levels",
                code="LW502",
            )

    def _check_columns(self) -> None:
        """Refuse columns, hierarchies and schedules that do not go together."""
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                f"TreeCounts needs distinct columns, got {self.columns}; name each column once", code="LW641"
            )
        if len(self.columns) != len(self.hierarchies):
            raise ParameterError(
                f"TreeCounts has {len(self.columns)} columns and {len(self.hierarchies)} hierarchies; give one each",
                code="LW641",
            )
        for place, (name, nested) in enumerate(zip(self.columns, self.hierarchies, strict=True)):
            if self.schedule.count(place) != nested.depth:
                raise ParameterError(
                    f"the schedule splits {name!r} {self.schedule.count(place)} times, its hierarchy has "
                    f"{nested.depth} levels; schedule each level once",
                    code="LW641",
                )
        if not all(0 <= place < len(self.columns) for place in self.schedule):
            raise ParameterError(
                f"a schedule holds positions of the {len(self.columns)} columns, got {self.schedule}", code="LW641"
            )

    def _check_costs(self) -> None:
        """Refuse costs that are not one per level, positive, and of one notion."""
        if len(self.amounts) != len(self.schedule) + 1:
            raise ParameterError(
                f"a tree of {len(self.schedule) + 1} levels needs as many costs, got {len(self.amounts)}; "
                "give None for a level that is not released",
                code="LW641",
            )
        if self.amounts[-1] is None:
            raise ParameterError(
                "the deepest level of a tree must have a cost; drop levels below the last one released",
                code="LW641",
            )
        if min(amount for amount in self.amounts if amount is not None) <= 0:
            raise ParameterError("the costs of a tree's levels must be above 0; use None for no cost", code="LW641")

    @property
    def cost(self) -> Budget:
        """What all released levels cost together."""
        return Budget(self.notion, sum((each for each in self.amounts if each is not None), Fraction(0)))

    @property
    def costs(self) -> tuple[Budget | None, ...]:
        """What the counts of each level cost."""
        return tuple(None if each is None else Budget(self.notion, each) for each in self.amounts)

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """The deepest level as one table with each reserved code alone: what is counted in the pass over the rows."""
        return tuple(nested.grouping for nested in self.hierarchies)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Groups of each column, level by level."""
        depths = [self.depths(level) for level in range(len(self.costs))]
        return tuple(
            tuple(nested.groups(depth) for nested, depth in zip(self.hierarchies, each, strict=True)) for each in depths
        )

    def depths(self, level: int) -> tuple[int, ...]:
        """Return the level of each column's hierarchy that a level of the tree shows."""
        return tuple(self.schedule[:level].count(place) for place in range(len(self.columns)))

    def parents(self, level: int) -> tuple[int, np.ndarray]:
        """Return which axis a level from 1 on splits, and for each of its groups along it the group above."""
        axis = self.schedule[level - 1]
        return axis, self.hierarchies[axis].parents(self.depths(level)[axis])

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of each level: a unit owns at most ``max_rows`` rows, each in at most one cell."""
        return row_sensitivity(relation, max_rows)

    def noises(self, relation: Relation, max_rows: int) -> tuple[NoiseLaw | None, ...]:
        """Return the noise on each cell, level by level; None for a level that is not released."""
        bound = self.sensitivity(relation, max_rows)
        return tuple(None if cost is None else calibrate_noise(bound, cost) for cost in self.costs)

    def parts(self, relation: Relation, max_rows: int) -> tuple[Part, ...]:
        """Return the levels that are released."""
        laws = enumerate(zip(self.noises(relation, max_rows), self.costs, strict=True))
        return tuple(Part(law, cost, level) for level, (law, cost) in laws if cost is not None)

    check = nothing_more


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTree(RecordedAnswer):
    """Hold the noisy answer to a `TreeCounts` question.

    levels: tuple of int64 or None, for each level, exact count plus noise, cell by cell, of the question's shape; None
    where it was not released; noises: the law of the noise on each level, independent from cell to cell.
    """

    document: ClassVar = ("tables",)

    question: TreeCounts
    levels: tuple[np.ndarray | None, ...]
    noises: tuple[NoiseLaw | None, ...]

    def __post_init__(self) -> None:
        costs, shapes = self.question.costs, self.question.shapes
        if not len(self.levels) == len(self.noises) == len(costs):
            raise ParameterError(
                f"an answer of {len(self.levels)} levels does not fit a tree of {len(costs)} levels", code="LW643"
            )
        for place, (counts, law, cost) in enumerate(zip(self.levels, self.noises, costs, strict=True)):
            if (counts is None) != (cost is None) or (law is None) != (cost is None):
                raise ParameterError(
                    f"level {place} of a tree must have counts and noise exactly where it has a cost", code="LW643"
                )
        levels = tuple(
            None if counts is None else checked_counts(f"level {place} of a tree", counts, shape)
            for place, (counts, shape) in enumerate(zip(self.levels, shapes, strict=True))
        )
        object.__setattr__(self, "levels", levels)

    @classmethod
    def of(cls, question: TreeCounts, counts: Sequence[np.ndarray], noises: Sequence[NoiseLaw]) -> "NoisyTree":
        """Return the answer with these tables for the levels that have a cost, from the root downwards."""
        places = [level for level, cost in enumerate(question.costs) if cost is not None]
        if not len(places) == len(counts) == len(noises):
            raise ParameterError(
                f"a tree of {len(places)} released levels does not fit {len(counts)} tables", code="LW643"
            )
        found = dict(zip(places, zip(counts, noises, strict=True), strict=True))
        levels = [found.get(level, (None, None)) for level in range(len(question.costs))]
        return cls(question, tuple(each for each, _ in levels), tuple(law for _, law in levels))

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The released levels, from the root downwards."""
        return tuple(
            NoisyTable(counts, law, cost, level)
            for level, (counts, law, cost) in enumerate(zip(self.levels, self.noises, self.question.costs, strict=True))
            if counts is not None and law is not None and cost is not None
        )

    def privacy_loss(self, exact: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> Fraction:
        """Return the exact loss of this answer between two tables with these exact counts, level by level (ε or ρ)."""
        return sum(
            (
                law.loss(np.asarray(one, dtype=np.int64) - np.asarray(two, dtype=np.int64))
                for law, one, two in zip(self.noises, exact, other, strict=True)
                if law is not None
            ),
            Fraction(0),
        )

    @classmethod
    def read(cls, question: Question, values: object) -> "NoisyTree":
        """Read back what `to_dict` wrote as the answer."""
        assert isinstance(question, TreeCounts)
        (tables,) = read_keys(values, "tables")
        released = [shape for shape, cost in zip(question.shapes, question.costs, strict=True) if cost is not None]
        if not isinstance(tables, list) or len(tables) != len(released):
            raise ParameterError(f"a tree must list tables for its {len(released)} released levels", code="LW643")
        counts, laws = zip(*(read_keys(table, "counts", "noise") for table in tables), strict=True)
        unpacked = list(map(unpack_counts, counts, released))
        return cls.of(question, unpacked, [RECORDS.read(NoiseLaw, law) for law in laws])
