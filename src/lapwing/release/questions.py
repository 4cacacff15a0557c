"""The closed set of questions that may be asked about private rows, and their answers.

A question is a frozen value that says what is counted and what it may cost. What a neighbour can change
(`sensitivity`) and what an answer then costs on two given tables (`privacy_loss`) stand here, with the proof beside
the code that answers, in the package `curator`.
"""

import base64
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.budget.exact import exact_number
from lapwing.errors import CapacityError, ParameterError
from lapwing.release.laws import read_only
from lapwing.release.noise_law import NoiseLaw, Sensitivity, calibrated
from lapwing.release.terms import Relation
from lapwing.schema.groupings import Grouping

MAX_CELLS = 2**26
"""The most cells of one table: 512 MiB of counts."""


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
    def shape(self) -> tuple[int, ...]:
        """Shape of the answer."""
        ...

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of the exact answer between neighbours."""
        ...

    def noise(self, relation: Relation, max_rows: int) -> NoiseLaw:
        """Return the law of the noise on each number of the answer."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain JSON values."""
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
                f"MarginalCounts has {len(self.columns)} columns and {len(self.groupings)} groupings; give one each"
            )
        if len(set(self.columns)) != len(self.columns):
            raise ParameterError(f"MarginalCounts names a column twice in {self.columns}; name each column once")
        if self.cost.amount <= 0:
            raise ParameterError("a question must cost more than 0; give it a share of the budget")
        cells = math.prod(self.shape)
        if cells > MAX_CELLS:
            raise CapacityError(
                f"a table over {', '.join(self.columns)} has {cells} cells, above {MAX_CELLS}; use coarser groupings"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(grouping.groups for grouping in self.groupings)

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of the table: a unit owns at most ``max_rows`` rows, and each row lies in one cell."""
        if relation == "add-remove":
            return Sensitivity(max_rows, max_rows**2)
        return Sensitivity(2 * max_rows, 2 * max_rows**2)

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
                f"got {self.counts.dtype} of shape {self.counts.shape}"
            )
        object.__setattr__(self, "counts", read_only(self.counts))

    def privacy_loss(self, exact: np.ndarray, other: np.ndarray) -> Fraction:
        """Return the exact loss of this answer between two tables with these exact counts (ε or ρ, by the noise)."""
        return self.noise.loss(np.asarray(exact, dtype=np.int64) - np.asarray(other, dtype=np.int64))

    def to_dict(self) -> dict[str, Any]:
        """Return question and answer as plain JSON values."""
        packed = zlib.compress(self.counts.astype("<i8").tobytes(), 6)
        return {
            "question": self.question.to_dict(),
            "answer": {"counts": base64.b64encode(packed).decode("ascii"), "noise": self.noise.to_dict()},
        }


def question_from_dict(values: Mapping[str, Any]) -> MarginalCounts:
    """Read back a question that ``to_dict`` wrote.

    Raises
    ------
    ParameterError
        If the kind is not in the closed set.
    """
    if values.get("kind") != MarginalCounts.kind:
        raise ParameterError(f"unknown question kind {values.get('kind')!r}; the closed set is {MarginalCounts.kind}")
    return MarginalCounts(
        columns=tuple(values["columns"]),
        groupings=tuple(Grouping.from_dict(grouping) for grouping in values["groupings"]),
        cost=Budget(values["cost"]["notion"], exact_number("the cost of a question", values["cost"]["amount"])),
    )


def answer_from_dict(values: Mapping[str, Any]) -> NoisyCounts:
    """Read back an answer that ``NoisyCounts.to_dict`` wrote; the size is checked before memory is taken."""
    question = question_from_dict(values["question"])
    cells = math.prod(question.shape)
    inflater = zlib.decompressobj()
    raw = inflater.decompress(base64.b64decode(values["answer"]["counts"], validate=True), 8 * cells + 1)
    if len(raw) != 8 * cells:
        raise ParameterError(f"an answer over {question.columns} must hold {cells} counts; the record is damaged")
    counts = np.frombuffer(raw, dtype="<i8").astype(np.int64).reshape(question.shape)
    return NoisyCounts(question, counts, NoiseLaw.from_dict(values["answer"]["noise"]))


def same_question(one: Question, other: Question) -> bool:
    """Tell whether two questions ask the same thing at the same cost."""
    return json.dumps(one.to_dict(), sort_keys=True) == json.dumps(other.to_dict(), sort_keys=True)
