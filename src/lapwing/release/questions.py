"""The closed set of questions that may be asked about private rows, and their answers.

A question is a frozen value that says what is counted and what it may cost. What a neighbour can change
(`sensitivity`) and what an answer then costs on two given tables (`privacy_loss`) stand here, with the proof beside
the code that answers, in the package `curator`.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, get_args

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.errors import CapacityError, ParameterError
from lapwing.release.category_selection import CategorySelection, SelectedTexts
from lapwing.release.cell_sums import CellSums, NoisySums
from lapwing.release.laws import read_only
from lapwing.release.linear_statistics import LinearStatistics
from lapwing.release.noise_law import NoiseLaw, NoisyTable, Sensitivity, calibrated, row_sensitivity
from lapwing.release.packing import MAX_CELLS, pack_counts, unpack_counts
from lapwing.release.plain import read_key, read_list, read_rational
from lapwing.release.private_draw import DrawnRows, PrivateDraw
from lapwing.release.second_moment import SecondMoment
from lapwing.release.select_worst import Selected, SelectWorst
from lapwing.release.sparse_counts import NoisyCells, SparseCounts
from lapwing.release.split_decisions import SplitDecisions, Splits
from lapwing.release.table_distances import TableDistances
from lapwing.release.terms import Relation
from lapwing.release.tree_counts import NoisyTree, TreeCounts
from lapwing.schema.groupings import Grouping


class Question(Protocol):
    """What every question can say about itself without any data."""

    kind: ClassVar[str]

    @property
    def cost(self) -> Budget:
        """The budget that the answer spends."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the question looks at."""
        ...

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """One per column: the finest table that is counted; empty for a selection read back, and of open columns."""
        ...

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of each exact table of the answer between neighbours."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain JSON values."""
        ...


class Answer(Protocol):
    """What every answer can say about itself."""

    @property
    def question(self) -> Question:
        """What was asked."""
        ...

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The noisy tables, in the order in which their noise was drawn; none for a choice."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return question and answer as plain JSON values."""
        ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarginalCounts:
    """Ask for the contingency table of some columns, each seen through a public grouping.

    Parameters
    ----------
    columns : tuple of str
        Distinct modelled columns; the empty tuple asks for the number of rows.
    groupings : tuple of Grouping
        One per column, in the same order. Cells of the table: the product of their groups, at most ``2**26``.
    cost : Budget
        What the answer spends.

    Raises
    ------
    ParameterError
        If columns repeat or columns and groupings differ in number.
    CapacityError
        If the table has more than ``2**26`` cells.

    Notes
    -----
    Guarantee: with discrete Laplace noise of scale ``l1 / ε`` on every cell the answer is ε-DP, with discrete
    Gaussian noise of ``sigma**2 = l2**2 / (2 ρ)`` ρ-zCDP, under the relation and ``max_rows`` that `sensitivity` is
    given (proof: ``curator/marginal_counts.proof.md``).

    Examples
    --------
    >>> rows = MarginalCounts(columns=(), groupings=(), cost=Budget.pure(1))
    >>> rows.shape, rows.sensitivity("replace-one", 3)
    ((), Sensitivity(l1=6, l2_squared=18))
    """

    kind: ClassVar[str] = "MarginalCounts"

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
        if self.cost.amount <= 0:
            raise ParameterError("a question must cost more than 0; give it a share of the budget", code="LW641")
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

    def noise(self, relation: Relation, max_rows: int) -> NoiseLaw:
        """Return the noise on each cell."""
        return calibrated(self.sensitivity(relation, max_rows), self.cost)

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain JSON values."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "groupings": [grouping.to_dict() for grouping in self.groupings],
            "cost": {"notion": self.cost.notion, "amount": str(self.cost.amount)},
        }


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCounts:
    """Hold the noisy answer to a counting question.

    Parameters
    ----------
    question : MarginalCounts
        What was asked.
    counts : ndarray of int64, shape ``question.shape``
        Exact count plus noise, cell by cell; may be negative.
    noise : NoiseLaw
        The law of the noise, independent from cell to cell.
    """

    question: MarginalCounts
    counts: np.ndarray
    noise: NoiseLaw

    def __post_init__(self) -> None:
        if self.counts.dtype != np.int64 or self.counts.shape != self.question.shape:
            raise ParameterError(
                f"an answer over {self.question.columns} must be int64 of shape {self.question.shape}, "
                f"got {self.counts.dtype} of shape {self.counts.shape}",
                code="LW643",
            )
        object.__setattr__(self, "counts", read_only(self.counts))

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The one noisy table."""
        return (NoisyTable(self.counts, self.noise, self.question.cost),)

    def privacy_loss(self, exact: np.ndarray, other: np.ndarray) -> Fraction:
        """Return the exact loss of this answer between two tables with these exact counts (ε or ρ, by the noise)."""
        return self.noise.loss(np.asarray(exact, dtype=np.int64) - np.asarray(other, dtype=np.int64))

    def to_dict(self) -> dict[str, Any]:
        """Return question and answer as plain JSON values."""
        return {
            "question": self.question.to_dict(),
            "answer": {"counts": pack_counts(self.counts), "noise": self.noise.to_dict()},
        }


KnownQuestion = (
    MarginalCounts
    | TreeCounts
    | SelectWorst
    | SplitDecisions
    | SparseCounts
    | SecondMoment
    | CellSums
    | LinearStatistics
    | TableDistances
    | PrivateDraw
    | CategorySelection
)
"""The closed set."""


def question_from_dict(values: Mapping[str, Any]) -> KnownQuestion:
    """Read back a question that ``to_dict`` wrote.

    Raises
    ------
    ParameterError
        If the kind is not in the closed set.
    """
    kind = values.get("kind")
    vectors = (SecondMoment, CellSums, LinearStatistics, TableDistances)
    for each in (TreeCounts, SelectWorst, SplitDecisions, SparseCounts, *vectors, PrivateDraw, CategorySelection):
        if kind == each.kind:
            return each.from_dict(values)
    if kind != MarginalCounts.kind:
        known = ", ".join(each.kind for each in get_args(KnownQuestion))
        raise ParameterError(f"unknown question kind {kind!r}; the closed set is {known}", code="LW641")
    return MarginalCounts(
        columns=read_list(values, "columns", str),
        groupings=tuple(Grouping.from_dict(grouping) for grouping in read_key(values, "groupings", list)),
        cost=Budget(values["cost"]["notion"], read_rational(values["cost"]["amount"])),
    )


def answer_from_dict(
    values: Mapping[str, Any],
) -> NoisyCounts | NoisyTree | Selected | Splits | NoisyCells | NoisySums | DrawnRows | SelectedTexts:
    """Read back an answer that ``to_dict`` wrote; the size is checked before memory is taken."""
    question, answer = question_from_dict(values["question"]), values["answer"]
    match question:
        case TreeCounts():
            return NoisyTree.from_dict(question, answer)
        case SelectWorst():
            return Selected.from_dict(question, answer)
        case SplitDecisions():
            return Splits.from_dict(question, answer)
        case SparseCounts():
            return NoisyCells.from_dict(question, answer)
        case SecondMoment() | CellSums() | LinearStatistics() | TableDistances():
            return NoisySums.from_dict(question, answer)
        case PrivateDraw():
            return DrawnRows.from_dict(question, answer)
        case CategorySelection():
            return SelectedTexts.from_dict(question, answer)
    counts = unpack_counts(answer["counts"], question.shape)
    return NoisyCounts(question, counts, NoiseLaw.from_dict(answer["noise"]))


def same_question(one: Question, other: Question) -> bool:
    """Tell whether two questions ask the same thing at the same cost."""
    return json.dumps(one.to_dict(), sort_keys=True) == json.dumps(other.to_dict(), sort_keys=True)
