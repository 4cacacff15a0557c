"""One question on two neighbours on which its answer is likely to lose all that it claims."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.audit.black_box import certified_loss, certified_rho
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.questions import Question
from lapwing.kernel.room.room import ANSWERS
from lapwing.kernel.terms import Relation, Terms
from lapwing.rows.source import CodedSource
from lapwing.schema.schemas import Schema

# -- Where record and replay looks: as releases usually run, where words are unlikely, and where tables are cramped.


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How one pair is run.

    has_unlikely_words: whether a quarter of the secret words is near 0 or near the largest
    (`lapwing.audit.bits.UnlikelyBits`); chunk_rows: tables are read in chunks of so many rows and not kept in memory,
    as only very large ones are otherwise.
    """

    has_unlikely_words: bool = False
    chunk_rows: int | None = None


USUAL: Final = Mode()
UNLIKELY_WORDS: Final = Mode(has_unlikely_words=True)
CRAMPED_TABLES: Final = Mode(chunk_rows=4)

MODES: Final = (USUAL, UNLIKELY_WORDS, CRAMPED_TABLES)


def mode_of(number: int) -> Mode:
    """Return the mode of one of many pairs, a third of them each.

    number: of the pair. What else alternates with the number, by twos, fours or sixes, meets every mode.

    >>> [MODES.index(mode_of(number)) for number in range(12)]
    [0, 1, 2, 0, 1, 2, 1, 2, 0, 1, 2, 0]
    """
    return MODES[(number + number // 6) % len(MODES)]


_BATCH: Final = 2000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QuestionCase:
    """A question, two neighbours, and what is seen of an answer.

    seen: returns the features of one answer, always as many.

    Guarantee: none, the sources are generated and nobody's.
    """

    asked: Question
    label: str
    sources: tuple[CodedSource, CodedSource]
    terms: Terms
    schema: Schema
    seen: Callable[[Any], Sequence[float]]

    @property
    def question(self) -> str:
        """Class name of the question."""
        return type(self.asked).__name__

    @property
    def relation(self) -> Relation:
        """How the two tables differ."""
        return self.terms.relation

    @property
    def max_rows(self) -> int:
        """Rows that one unit may own, and the one that differs does."""
        return self.terms.max_rows

    @property
    def cost(self) -> Budget:
        """What the question says that it costs."""
        return self.asked.cost

    @property
    def delta(self) -> Fraction:
        """The delta of the question."""
        return self.asked.delta

    @property
    def claim(self) -> float:
        """The claim in the notion of `cost`: an epsilon, or a rho; at `at_delta`."""
        return float(self.cost.amount)

    @property
    def at_delta(self) -> float:
        """The delta as a float."""
        return float(self.delta)

    def run(self, runs: int) -> tuple[np.ndarray, np.ndarray]:
        """Ask so many times on each of the two tables.

        Returns first, second: float64 (runs, features).
        """
        first, second = (self._runs(source, runs) for source in self.sources)
        return first, second

    def _runs(self, source: CodedSource, runs: int) -> np.ndarray:
        bits, seen, answer = SystemBits(), [], ANSWERS[self.asked.kind]
        for start in range(0, runs, _BATCH):
            questions = [self.asked] * min(_BATCH, runs - start)
            seen += [
                self.seen(answer) for answer in answer(questions, PrivateRows.of(source, self.schema), self.terms, bits)
            ]
        return np.array(seen, dtype=np.float64).reshape(runs, -1)

    def certified(self, first: np.ndarray, second: np.ndarray) -> float:
        """Return a lower bound on what the question loses, in the notion of `cost`, to be held against `claim`.

        first, second: (runs, features), from `run`. Returns above `claim` at most one time in a million where the
        question keeps its promise.
        """
        return self._bound(first, second, self.at_delta)

    def is_within_delta(self, first: np.ndarray, second: np.ndarray) -> bool:
        """Tell whether a loss would be certain if the question had no delta.

        first, second: (runs, features), from `run`.
        """
        return self.delta > 0 and self._bound(first, second, 0.0) > 0

    def _bound(self, first: np.ndarray, second: np.ndarray, delta: float) -> float:
        bound = certified_loss if self.cost.notion == "pure" else certified_rho
        return bound(first, second, delta=delta)
