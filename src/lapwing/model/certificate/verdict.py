"""The verdict on a release as its certificate holds it: grades, what they rest on, and what not to use the rows for."""

import math
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, Literal, Self, cast, get_args

from lapwing.errors import ParameterError
from lapwing.kernel.plain import read_key, read_list, read_optional

Word = Literal["good", "fair", "weak", "none"]
WORDS: Final = cast("tuple[Word, ...]", get_args(Word))

WAYS: Final = {1: "single columns", 2: "pairs", 3: "triples"}
"""What tables of so many columns are called."""

NO_VERDICT: Final = (
    "Verdict: none, because the noisy answers do not tell what error to expect; compare with the real rows."
)

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
        """The verdict in one line."""
        said = [f"{WAYS[each.ways]} {each.word} ({self._figures(each)})" for each in self.grades]
        learnt = f"; {self.learnt:,} of {self.pairs:,} pairs learnt" if self.pairs else ""
        return f"Verdict: {', '.join(said)}{learnt}.{f' {self.better}.' * bool(self.better)}"

    def _figures(self, grade: Grade) -> str:
        """Return what a grade rests on; of relations of which none was looked at, nothing is known."""
        if grade.ways > 1 and not self.learnt and grade.word == WORDS[-1]:
            return "none was counted"
        return f"expected error {_percent(grade.error)}, fresh rows {_percent(grade.fresh)}"

    def lines(self) -> list[str]:
        """Return the verdict, and what follows from it, in sentences."""
        return [self.line, *([f"Do not use for: {'; '.join(self.not_for)}."] if self.not_for else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "line": self.line,
            "grades": [asdict(each) for each in self.grades],
            "learnt": self.learnt,
            "pairs": self.pairs,
            "better": self.better,
            "not_for": list(self.not_for),
        }

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where it is something else."""
        grades = tuple(
            Grade(
                ways=read_key(each, "ways", int),
                word=cast("Word", read_key(each, "word", str)),
                **{key: float(read_key(each, key, float)) for key in ("error", "fresh", "independent")},
            )
            for each in read_list(values, "grades", dict)
        )
        return cls(
            grades=grades,
            learnt=read_key(values, "learnt", int),
            pairs=read_key(values, "pairs", int),
            better=read_key(values, "better", str),
            not_for=read_list(values, "not_for", str),
        )


def verdict_lines(verdict: Verdict | None) -> list[str]:
    """Return the sentences of a verdict, or the one that says that there is none."""
    return [NO_VERDICT] if verdict is None else verdict.lines()


def read_verdict(values: object) -> Verdict | None:
    """Return what stands on a certificate, or None on one that has none."""
    found = read_optional(values, "verdict", dict)
    return None if found is None else Verdict.from_dict(found)


def _percent(share: float) -> str:
    """Return a share in percent, with two digits that count."""
    digits = max(0, 1 - math.floor(math.log10(100 * share))) if 0 < share < 0.1 else 0
    return f"{100 * share:.{min(digits, 2)}f} %"
