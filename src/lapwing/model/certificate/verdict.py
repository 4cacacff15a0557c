"""The verdict on a release as its certificate holds it: grades, what they rest on, and what not to use the rows for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, cast, get_args

from lapwing.errors import ParameterError
from lapwing.model.certificate.notices import Notice, Tables, Word
from lapwing.on_demand import Describable

WORDS: Final = cast("tuple[Word, ...]", get_args(Word))

WAYS: Final[Mapping[int, Tables]] = {1: "singles", 2: "pairs", 3: "triples"}
"""What tables of so many columns are called by code."""


_refused = partial(ParameterError, code="LW621")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """Grade the tables of so many columns.

    error: the total variation distance from the real tables that is expected, a mean over tables; fresh: that of as
    many real rows from the population; independent: that of columns without any relation, as far as the model has one;
    all from 0 to 1.
    """

    ways: int
    word: Word
    error: float
    fresh: float
    independent: float

    def __post_init__(self) -> None:
        shares = (self.error, self.fresh, self.independent)
        if self.ways not in WAYS or self.word not in WORDS or not all(0 <= each <= 1 for each in shares):
            raise _refused("a grade is a known word for 1, 2 or 3 columns, with errors from 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Describable):
    """Say how good a release is, from released numbers alone.

    grades: of single columns, pairs and triples, as far as there are so many columns; learnt, pairs: how many pairs of
    columns were counted together, and how many there are; better, budget: about how much ε, or ρ, the first of pairs,
    single columns and triples that is not good would need for the next grade, and which that is; not_for: what the rows
    should not be used for.
    """

    grades: tuple[Grade, ...]
    learnt: int
    pairs: int
    better: Notice | None = None
    not_for: tuple[Notice, ...] = ()

    def __repr__(self) -> str:
        return f"Verdict({self.short})"

    def __post_init__(self) -> None:
        if not self.grades or not 0 <= self.learnt <= self.pairs:
            raise _refused("a verdict needs a grade, and at most as many pairs learnt as there are")

    @property
    def short(self) -> str:
        """The grades alone."""
        return str(self._in_words("grades"))

    @property
    def text(self) -> str:
        """The verdict as one line."""
        return str(self._in_words("text"))

    def is_known(self, grade: Grade) -> bool:
        """Whether a grade rests on figures; of relations of which none was looked at, nothing is known."""
        return grade.ways == 1 or bool(self.learnt) or grade.word != WORDS[-1]
