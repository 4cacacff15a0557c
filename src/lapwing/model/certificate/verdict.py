"""The verdict on a release as its certificate holds it: grades, what they rest on, and what not to use the rows for."""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, Literal, cast, get_args

from lapwing.errors import ParameterError

Word = Literal["good", "fair", "weak", "none"]
WORDS: Final = cast("tuple[Word, ...]", get_args(Word))

WAYS: Final = {1: "single columns", 2: "pairs", 3: "triples"}
"""What tables of so many columns are called."""


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
class Verdict:
    """Say how good a release is, from released numbers alone.

    grades: of single columns, pairs and triples, as far as there are so many columns; learnt, pairs: how many pairs of
    columns were counted together, and how many there are; better, budget: about how much ε, or ρ, the first of pairs,
    single columns and triples that is not good would need for the next grade, and which that is; not_for: what the rows
    should not be used for.
    """

    document: ClassVar = ("line", "grades", "learnt", "pairs", "better", "not_for")

    grades: tuple[Grade, ...]
    learnt: int
    pairs: int
    better: str = ""
    not_for: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Verdict({self.short})"

    def __post_init__(self) -> None:
        if not self.grades or not 0 <= self.learnt <= self.pairs:
            raise _refused("a verdict needs a grade, and at most as many pairs learnt as there are")

    @property
    def short(self) -> str:
        """The grades alone."""
        return ", ".join(f"{WAYS[each.ways]} {each.word}" for each in self.grades)

    @property
    def line(self) -> str:
        """The verdict in one line, as it stands in files."""
        return f"Verdict: {self.said}"

    @property
    def said(self) -> str:
        """The verdict in one line, without the word for it."""
        said = [f"{WAYS[each.ways]} {each.word} ({self.figures(each)})" for each in self.grades]
        learnt = f"; {self.learnt:,} of {self.pairs:,} pairs learnt" if self.pairs else ""
        return f"{', '.join(said)}{learnt}.{f' {self.better}.' * bool(self.better)}"

    def figures(self, grade: Grade) -> str:
        """Return what a grade rests on; of relations of which none was looked at, nothing is known."""
        if grade.ways > 1 and not self.learnt and grade.word == WORDS[-1]:
            return "none was counted"
        return f"expected error {_percent(grade.error)}, fresh rows {_percent(grade.fresh)}"


def _percent(share: float) -> str:
    """Return a share in percent, with two digits that count."""
    digits = max(0, 1 - math.floor(math.log10(100 * share))) if 0 < share < 0.1 else 0
    return f"{100 * share:.{min(digits, 2)}f} %"
