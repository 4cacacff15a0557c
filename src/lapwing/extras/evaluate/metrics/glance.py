"""How good a table is, in a few words: its grades, what they follow from, and what they do not say.

Single columns, pairs and triples are good, fair, weak or none, by the thresholds of a release's verdict. A mean hides
its worst tables. So a grade is lowered by those that are no better than independent columns, and a table is never
called good while the list of its worst tables says otherwise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from lapwing.extras.evaluate.metrics.columns import error_sizes
from lapwing.extras.evaluate.metrics.findings import PREDICTION, Findings, placed_figures
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.extras.evaluate.metrics.prediction.downstream import Downstream
from lapwing.extras.evaluate.metrics.standing import APART, SEVERAL, Standing, Verdict, place_text, standing
from lapwing.extras.evaluate.words import say
from lapwing.present.document import count_text
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
_MOST: Final = 3  # columns of a table that is graded


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """Hold the grade of the tables of so many columns; why: the figures that it follows from."""

    ways: int
    grade: Grade
    why: str

    @property
    def words(self) -> str:
        """What was graded, and the grade."""
        return say("grade.words", what=self._what, grade=say(f"grade.{self.grade}"))

    @property
    def sentence(self) -> str:
        """The grade and why; where rows are too few, why says so already."""
        return say("grade.why", words=self._what if self.grade == "unknown" else self.words, why=self.why)

    @property
    def _what(self) -> str:
        return say.listed("grade.what")[self.ways - 1]


def graded(found: Findings, standings: Mapping[str, Standing]) -> tuple[Graded, ...]:
    """Return the grades of the tables of one, two and three columns, as far as there are any."""
    grades = []
    for place, tables in enumerate(found.tables[SYNTHETIC]):
        seen = standings.get(f"total_variation_{tables.ways}")
        if seen is not None and tables.ways <= _MOST:
            own, low, high = (found.tables[name][place].distances for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT))
            grades.append(_single(seen, own, low) if tables.ways == 1 else _joint(tables.ways, seen, own, low, high))
    return tuple(grades)


def _single(seen: Standing, own: np.ndarray, low: np.ndarray) -> Graded:
    """Grade single columns, which independent columns leave as they are: beside a resample alone."""
    mean, fresh = seen.synthetic.value, seen.bootstrap.value
    level = sum(mean > max(times * fresh, least) for times, least in _ENDS)
    far = int((own > np.maximum(SEVERAL * low, GOOD_ERROR)).sum())
    why = say("grade.single", mean=100 * mean, fresh=100 * fresh)
    if far:
        why += say("grade.far", far=far, columns=len(own), times=SEVERAL)
        level = max(level, 2 if 2 * far > len(own) else 1)
    return Graded(ways=1, grade=_ORDER[level], why=why)


def _joint(ways: int, seen: Standing, own: np.ndarray, low: np.ndarray, high: np.ndarray) -> Graded:
    """Grade tables of several columns, between a resample and independent columns."""
    is_related = high > APART * low
    lost = int((is_related & (own - low > WEAK_PLACE * (high - low))).sum())
    if seen.place is None:
        why, grade = say("grade.hardly", words=seen.words), _unplaced(seen)
    else:
        upper = seen.place + 2 * seen.place_error
        is_fresh = seen.verdict in ("closer", "fresh") or seen.synthetic.value <= GOOD_TIMES * seen.bootstrap.value
        level = 0 if is_fresh else sum(upper > each for each in _PLACES)
        why, grade = say("grade.place", place=place_text(seen)), _ORDER[level]
    if lost:
        related = int(is_related.sum())
        why += say("grade.lost", lost=lost, related=related)
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
    grades = graded(found, by_key)
    counts = (
        count_text(found.synthetic_rows, "synthetic row"),
        count_text(found.rows, "real one"),
        count_text(len(found.columns[SYNTHETIC]), "column"),
    )
    details = [say("glance.compared", synthetic=counts[0], real=counts[1], columns=counts[2]), _counted(places)]
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
    text = " ".join(f"{each.words}." for each in grades) or say("pairs.nothing")
    worst = max(
        (each for each in by_key.values() if each.place is not None), key=lambda each: each.place or 0.0, default=None
    )
    if worst is None or worst.verdict in ("closer", "fresh"):
        return text
    return say("glance.least", grades=text, title=quote(worst.metric.title), place=place_text(worst), words=worst.words)


def _counted(places: tuple[Standing, ...]) -> str:
    """Return how many figures have which verdict."""
    placed = [each.verdict for each in places if each.place is not None]
    if not placed:
        return say("glance.no_place")
    counts = {verdict: placed.count(verdict) for verdict in get_args(Verdict) if verdict in placed}
    listed = ", ".join(f"{count} {say(f'standing.{verdict}')}" for verdict, count in counts.items())
    return say("glance.placed", count=len(placed), verdicts=listed)


def _means(found: Findings) -> str:
    """Return how far the means of numbers are off; nothing where no column has one."""
    sizes = error_sizes(found.columns[SYNTHETIC])["mean"]
    if not sizes:
        return ""
    worst = max(sizes, key=sizes.__getitem__)
    mean = math.fsum(sizes.values()) / len(sizes)
    far = say("glance.worst_mean", column=quote(worst), far=sizes[worst])
    return say("glance.means", mean=mean, worst=far)


def _predicted(area: Downstream, found: Standing | None) -> str:
    """Return how well the target is predicted."""
    figures = say("glance.areas", auc=area.auc, ceiling=area.ceiling)
    if found is None or found.place is None:
        lost = say("glance.nothing_lost")
    else:
        lost = say("glance.share_lost", share=100 * min(max(found.place, 0.0), 1.0))
    pairs = [(each.auc, each.ceiling) for each in area.scores if each.auc is not None and each.ceiling is not None]
    kinds = ""
    if len(pairs) > 1:
        auc, ceiling = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
        kinds = say("glance.kinds", kinds=len(pairs), auc=auc, ceiling=ceiling)
    return say("glance.predicted", target=quote(area.target), areas=figures, floor=area.floor, lost=lost, kinds=kinds)


def _cautions(found: Findings, places: tuple[Standing, ...]) -> list[str]:
    """Return what the figures do not say, and what looks wrong."""
    cautions = []
    closer = sum(each.verdict == "closer" for each in places)
    if 2 * closer > len(places):
        cautions.append(say("glance.closer", closer=closer, figures=len(places)))
    worse = [each.metric.title for each in places if each.verdict == "worse"]
    if worse:
        cautions.append(say("glance.worse", figures="; ".join(worse)))
    small = sum(group.is_too_small for group in found.subgroups)
    if small:
        cautions.append(say("glance.small", small=small, groups=len(found.subgroups)))
    cautions.append(say("glance.caution"))
    return cautions
