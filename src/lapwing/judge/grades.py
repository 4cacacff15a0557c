"""Grades of single columns, pairs and triples: good, fair, weak or none, by the thresholds of a release's verdict.

A mean hides its worst tables. So a grade is lowered by those that are no better than independent columns, and a table
is never called good while the list of its worst tables says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from lapwing.judge.findings import Findings
from lapwing.judge.metrics import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.judge.standing import APART, SEVERAL, Standing, place_text
from lapwing.judge.verdict.expected import (
    FAIR_ERROR,
    FAIR_PLACE,
    FAIR_TIMES,
    GOOD_ERROR,
    GOOD_PLACE,
    GOOD_TIMES,
    WEAK_ERROR,
    WEAK_PLACE,
    WEAK_TIMES,
)

Grade = Literal["good", "fair", "weak", "none", "unknown"]

_PLACES: Final = (GOOD_PLACE, FAIR_PLACE, WEAK_PLACE)
_ENDS: Final = ((GOOD_TIMES, GOOD_ERROR), (FAIR_TIMES, FAIR_ERROR), (WEAK_TIMES, WEAK_ERROR))
SOME: Final = 0.1  # of the pairs or triples no better than independent columns: weak at best; of more than half: none
_ORDER: Final[tuple[Grade, ...]] = ("good", "fair", "weak", "none")
_NAMES: Final = {1: "Single columns", 2: "Pairs of columns", 3: "Triples"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """Hold the grade of the tables of so many columns; why: the figures that it follows from."""

    ways: int
    grade: Grade
    why: str

    @property
    def words(self) -> str:
        """What was graded, and the grade."""
        return f"{_NAMES[self.ways]}: {'too few rows to tell' if self.grade == 'unknown' else self.grade}"

    @property
    def sentence(self) -> str:
        """The grade and why; where rows are too few, why says so already."""
        return f"{_NAMES[self.ways] if self.grade == 'unknown' else self.words}: {self.why}."


def graded(found: Findings, standings: Mapping[str, Standing]) -> tuple[Graded, ...]:
    """Return the grades of the tables of one, two and three columns, as far as there are any."""
    grades = []
    for place, tables in enumerate(found.tables[SYNTHETIC]):
        seen = standings.get(f"total_variation_{tables.ways}")
        if seen is not None and tables.ways in _NAMES:
            own, low, high = (found.tables[name][place].distances for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT))
            grades.append(_single(seen, own, low) if tables.ways == 1 else _joint(tables.ways, seen, own, low, high))
    return tuple(grades)


def _single(seen: Standing, own: np.ndarray, low: np.ndarray) -> Graded:
    """Grade single columns, which independent columns leave as they are: beside a resample alone."""
    mean, fresh = seen.synthetic.value, seen.bootstrap.value
    level = sum(mean > max(times * fresh, least) for times, least in _ENDS)
    far = int((own > np.maximum(SEVERAL * low, GOOD_ERROR)).sum())
    why = f"{100 * mean:.2g} % of rows differ, {100 * fresh:.2g} % in a resample"
    if far:
        why += f"; {far} of {len(own)} columns more than {SEVERAL:.0f} times as far as a resample"
        level = max(level, 2 if 2 * far > len(own) else 1)
    return Graded(ways=1, grade=_ORDER[level], why=why)


def _joint(ways: int, seen: Standing, own: np.ndarray, low: np.ndarray, high: np.ndarray) -> Graded:
    """Grade tables of several columns, between a resample and independent columns."""
    is_related = high > APART * low
    lost = int((is_related & (own - low > WEAK_PLACE * (high - low))).sum())
    if seen.place is None:
        why, grade = f"{seen.words}; hardly a relation is there to be kept", _unplaced(seen)
    else:
        upper = seen.place + 2 * seen.place_error
        is_fresh = seen.verdict in ("closer", "fresh") or seen.synthetic.value <= GOOD_TIMES * seen.bootstrap.value
        level = 0 if is_fresh else sum(upper > each for each in _PLACES)
        why, grade = f"{place_text(seen)} of the way from a resample to independent columns", _ORDER[level]
    if lost:
        related = int(is_related.sum())
        why += f"; {lost} of {related} with a clear relation are no better than independent columns"
        level = 1 if lost <= SOME * related else 2 if 2 * lost <= related else 3
        grade = grade if grade in _ORDER[level:] else _ORDER[level]
    return Graded(ways=ways, grade=grade, why=why)


def _unplaced(seen: Standing) -> Grade:
    """Grade tables whose independent columns are hardly farther than a resample."""
    if seen.verdict in ("closer", "fresh"):
        return "good"
    if seen.verdict == "sparse":
        return "unknown"
    return "weak" if seen.synthetic.value < seen.independent.value else "none"
