"""How good a table is, in a few words: its grades, what they follow from, and what they do not say.

Single columns, pairs and triples are good, fair, weak or none, by the thresholds of a release's verdict. A mean hides
its worst tables. So a grade is lowered by those that are no better than independent columns, and a table is never
called good while the list of its worst tables says otherwise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from lapwing.extras.evaluate.metrics.columns import error_sizes
from lapwing.extras.evaluate.metrics.findings import PREDICTION, Findings, placed_figures
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.extras.evaluate.metrics.prediction.downstream import Downstream
from lapwing.extras.evaluate.metrics.standing import APART, SEVERAL, WORDS, Standing, place_text, standing
from lapwing.release.runs.verdict.expected import (
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
from lapwing.schema.scalars import quote

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
        why, grade = f"{seen.words}; these rows can hardly show relations", _unplaced(seen)
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


# -- The findings in a few words.


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """Hold the findings of a comparison in a few words.

    headline: the grades; details: what was compared, means, prediction; cautions:
    what the figures do not say, and what looks wrong; standings: every figure, tables of one, two and three columns
    first.
    """

    headline: str
    details: tuple[str, ...]
    cautions: tuple[str, ...]
    standings: tuple[Standing, ...]


def glance(found: Findings) -> Glance:
    """Return the findings of a comparison in a few words that claim no more than the figures do.

    The headline grades the tables of one, two and three columns, and names the least favourable figure of all in the
    same breath.
    """
    places = tuple(each for each in map(standing, placed_figures(found)) if each is not None)
    by_key = {each.metric.key: each for each in places}
    columns = len(found.columns[SYNTHETIC])
    counts = f"{_many(found.synthetic_rows, 'synthetic row')} with {_many(found.rows, 'real one')}"
    grades = graded(found, by_key)
    details = [f"Compared: {counts}, in {_many(columns, 'column')}.", _counted(places)]
    details += [each.sentence for each in grades]
    details.append(_means(found))
    if found.downstream is not None:
        details.append(_predicted(found.downstream, by_key.get(PREDICTION)))
    return Glance(
        headline=_headline(grades, by_key),
        details=tuple(each for each in details if each),
        cautions=(*found.notes, *_cautions(found, places)),
        standings=places,
    )


def _headline(grades: Sequence[Graded], by_key: Mapping[str, Standing]) -> str:
    """Return what is said first: the grades, with the least favourable figure beside them."""
    text = " ".join(f"{each.words}." for each in grades) or "There is nothing to compare."
    worst = max(
        (each for each in by_key.values() if each.place is not None), key=lambda each: each.place or 0.0, default=None
    )
    if worst is None or worst.verdict in ("closer", "fresh"):
        return text
    return f"{text} The least favourable figure is {quote(worst.metric.title)}, at {place_text(worst)}: {worst.words}."


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _counted(places: tuple[Standing, ...]) -> str:
    """Return how many figures have which verdict."""
    placed = [each.verdict for each in places if each.place is not None]
    if not placed:
        return "No figure has a place between a resample and independent columns: no dependence, or few rows."
    counts = [(WORDS[verdict], placed.count(verdict)) for verdict in WORDS if verdict in placed]
    listed = ", ".join(f"{count} {words}" for words, count in counts)
    return f"Of {len(placed)} figures that see dependence: {listed}."


def _means(found: Findings) -> str:
    """Return how far the means of numbers are off; nothing where no column has one."""
    sizes = error_sizes(found.columns[SYNTHETIC])["mean"]
    if not sizes:
        return ""
    worst = max(sizes, key=sizes.__getitem__)
    mean = math.fsum(sizes.values()) / len(sizes)
    far = f"{quote(worst)} by {sizes[worst]:.2g}"
    return f"Means of numbers: off by {mean:.2g} real standard deviations on average, {far}."


def _predicted(area: Downstream, found: Standing | None) -> str:
    """Return how well the target is predicted."""
    figures = f"AUC {area.auc:.3f} from synthetic rows, {area.ceiling:.3f} from real ones"
    if found is None or found.place is None:
        lost = "; real rows teach too little to lose"
    else:
        lost = f"; {100 * min(max(found.place, 0.0), 1.0):.0f} % of what real rows teach is lost"
    pairs = [(each.auc, each.ceiling) for each in area.scores if each.auc is not None and each.ceiling is not None]
    kinds = ""
    if len(pairs) > 1:
        auc, ceiling = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
        kinds = f" Mean over {len(pairs)} kinds of classifier: {auc:.3f}, {ceiling:.3f} from real rows."
    return f"Prediction of {quote(area.target)}: {figures}, {area.floor:.1f} knows nothing{lost}.{kinds}"


def _cautions(found: Findings, places: tuple[Standing, ...]) -> list[str]:
    """Return what the figures do not say, and what looks wrong."""
    cautions = []
    closer = sum(each.verdict == "closer" for each in places)
    if 2 * closer > len(places):
        cautions.append(
            f"{closer} of {len(places)} figures are closer to the real rows than a resample of them. That is usual "
            "for what a release measured with little noise; of a table made without a privacy guarantee it can mean "
            "copied rows."
        )
    worse = [each.metric.title for each in places if each.verdict == "worse"]
    if worse:
        cautions.append(f"Worse than independent columns: {'; '.join(worse)}.")
    small = sum(group.is_too_small for group in found.subgroups)
    if small:
        cautions.append(f"{small} of {len(found.subgroups)} groups are too small to trust their figures.")
    cautions.append(
        "Figures are means over many tables: a single table, a small group or a rare value can be much worse. They "
        "measure likeness to these rows, not privacy."
    )
    return cautions
