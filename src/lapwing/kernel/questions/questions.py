"""What every question and every answer says about itself, and what questions have in common.

A question is a frozen value in the folder of its name: ``question.py`` says what it is, what neighbours change and what
it costs; ``answer.py`` is the only code that reads rows and draws noise for it; ``proof.md`` proves what it claims.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.codec import Codec
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable, Sensitivity, calibrate_noise
from lapwing.kernel.plain import read_exact, read_whole
from lapwing.kernel.terms import Relation, Terms
from lapwing.maths.arrays import read_only
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

TABLE: Final = "noisy table"
"""What most answers are called where costs are counted."""


A = TypeVar("A", bound="Answer")
A_co = TypeVar("A_co", bound="Answer", covariant=True)


@dataclass(frozen=True, slots=True)
class Part:
    """One noisy table or one choice of an answer, before it is made: a line of a certificate.

    noise: on each number; None where a random choice protects instead; level: of a tree of tables; candidates: how many
    tables a selection chooses among.
    """

    noise: NoiseLaw | None
    cost: Budget
    level: int | None = None
    candidates: int | None = None


class RecordedQuestion:
    """What questions share that are recorded by their fields."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return RECORDS.write(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where it is something else."""
        return RECORDS.read(cls, values)


class Asks(RecordedQuestion, Generic[A_co]):
    """What questions share whose answers are of one known type: so a caller of `ask` knows what it gets."""

    __slots__ = ()


class WithoutDelta(Asks[A_co]):
    """What questions share whose answers show nothing but what their cost pays for."""

    __slots__ = ()

    @property
    def delta(self) -> Fraction:
        """It is 0: there is no chance of more."""
        return Fraction(0)


class Question(Protocol):
    """What every question can say about itself without any data.

    kind: its name in records and certificates; called: what one of its answers is called, such as ``noisy table``;
    purpose: what it is asked for, in plain words; empty where its columns say it.
    """

    kind: ClassVar[str]
    called: ClassVar[str]
    purpose: ClassVar[str]

    @property
    def cost(self) -> Budget:
        """The budget that the answer spends."""
        ...

    @property
    def delta(self) -> Fraction:
        """With this probability at most the answer shows what its cost does not pay for; 0 for most questions."""
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

    def parts(self, relation: Relation, max_rows: int) -> tuple[Part, ...]:
        """Return what the answer will be made of: each part is one line of a certificate."""
        ...

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse, before any row is read, what cannot be answered under these terms, or was read back in part."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain JSON values."""
        ...

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote."""
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

    @classmethod
    def read(cls, question: Question, values: object) -> Self:
        """Read back what `to_dict` wrote as the answer; sizes are checked before memory is taken."""
        ...


class RecordedAnswer:
    """What answers share that are recorded by their fields."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def question(self) -> Any:  # noqa: ANN401 - a field of each answer, of its own kind of question
            """What was asked."""

    def to_dict(self) -> dict[str, Any]:
        """Return question and answer as plain JSON values."""
        return {"question": self.question.to_dict(), "answer": RECORDS.write(self)}

    @classmethod
    def read(cls, question: Question, values: object) -> Self:
        """Read back what `to_dict` wrote as the answer; sizes are checked before memory is taken."""
        return RECORDS.read(cls, values, question=question)


class _Noisy(Protocol):
    """A question with noise of one law on every number."""

    @property
    def cost(self) -> Budget: ...

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity: ...

    def noise(self, relation: Relation, max_rows: int) -> NoiseLaw: ...


# -- Methods that questions share: each names them in its class.


def noise_for_cost(question: _Noisy, relation: Relation, max_rows: int) -> NoiseLaw:
    """Return the noise on each number."""
    return calibrate_noise(question.sensitivity(relation, max_rows), question.cost)


def one_table(question: _Noisy, relation: Relation, max_rows: int) -> tuple[Part, ...]:
    """Return the one part of an answer with one noise law."""
    return (Part(question.noise(relation, max_rows), question.cost),)


def nothing_more(question: object, terms: Terms, schema: Schema) -> None:
    """Refuse nothing: what the question holds was checked when it was built, and its groupings are by the room."""
    del question, terms, schema


# -- Checks and records that questions and answers share.


def check_cost(cost: Budget) -> None:
    """Refuse a question that costs nothing."""
    if cost.amount <= 0:
        raise ParameterError("a question must cost more than 0; give it a share of the budget", code="LW641")


def checked_counts(what: str, counts: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the numbers of an answer, read-only, if they are int64 and of this shape."""
    if counts.dtype != np.int64 or counts.shape != shape:
        raise ParameterError(
            f"{what} must be int64 of shape {shape}, got {counts.dtype} of shape {counts.shape}", code="LW643"
        )
    return read_only(counts)


def _listed(value: object) -> object:
    return [_listed(each) for each in value] if isinstance(value, tuple) else value


def _unlisted(value: object) -> object:
    return tuple(map(_unlisted, value)) if isinstance(value, list) else value


RECORDS: Final = Codec(
    {
        Any: (_listed, _unlisted),
        Fraction: (str, read_exact),
        **dict.fromkeys((np.ndarray, npt.NDArray[np.int64], npt.NDArray[np.int32]), (np.ndarray.tolist, read_whole)),
    }
)
"""How questions are written: exact numbers as texts, the steps of a program as lists."""
