"""How good a table is, in a few words: by the words of a release's verdict, measured, and what they do not say."""

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np

from lapwing.extras.evaluate.metrics.columns import error_sizes
from lapwing.extras.evaluate.metrics.findings import PREDICTION, Findings, placed_figures
from lapwing.extras.evaluate.metrics.metric import SYNTHETIC
from lapwing.extras.evaluate.metrics.prediction.downstream import Downstream
from lapwing.extras.evaluate.metrics.standing import Standing, Verdict, place_text, standing
from lapwing.extras.evaluate.words import say
from lapwing.model.certificate.verdict import strength_word
from lapwing.model.quality import Quality, is_still_strong
from lapwing.present.certificates import quality_text, shares_text, word_text
from lapwing.present.document import count_text
from lapwing.release.runs.verdict.expected import WITHIN
from lapwing.schema.scalars import quote


def quality_lines(found: Quality) -> tuple[str, ...]:
    """Return the headline, single columns and relations, each in one sentence."""
    lines = [say("quality.score", text=quality_text(found.score, found.shape, found.trend))]
    lines.append(f"{shares_text(found.share_error)}.")
    if found.relations:
        within = float(np.quantile([each.error for each in found.relations], WITHIN))
        kept, word = sum(map(is_still_strong, found.relations)), word_text(strength_word(within))
        lines.append(say("quality.relations", word=word, kept=kept, strong=len(found.relations), within=within))
    elif len(found.shapes) > 1:
        lines.append(say("quality.none_strong"))
    return tuple(lines)


# -- The findings in a few words.


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """Hold the findings of a comparison in a few words.

    quality: the headline, single columns, relations; details: what was compared, the least favourable figure, means,
    prediction; cautions: what the figures do not say, and what looks wrong; standings: every figure, tables of one, two
    and three columns first.
    """

    quality: tuple[str, ...]
    details: tuple[str, ...]
    cautions: tuple[str, ...]
    standings: tuple[Standing, ...]

    @property
    def headline(self) -> str:
        """The first sentences in one line."""
        return " ".join(self.quality)


def glance(found: Findings) -> Glance:
    """Return the findings of a comparison in a few words that claim no more than the figures do."""
    places = tuple(each for each in map(standing, placed_figures(found)) if each is not None)
    by_key = {each.metric.key: each for each in places}
    counts = (
        count_text(found.synthetic_rows, "synthetic row"),
        count_text(found.rows, "real one"),
        count_text(len(found.columns[SYNTHETIC]), "column"),
    )
    details = [say("glance.compared", synthetic=counts[0], real=counts[1], columns=counts[2]), _counted(places)]
    details.append(_least(places))
    details.append(_means(found))
    if found.downstream is not None:
        details.append(_predicted(found.downstream, by_key.get(PREDICTION)))
    return Glance(
        quality=quality_lines(found.quality),
        details=tuple(each for each in details if each),
        cautions=(*found.notes, *_cautions(found, places)),
        standings=places,
    )


def _least(places: tuple[Standing, ...]) -> str:
    """Return the least favourable figure; nothing where all are as close as a resample."""
    placed = [each for each in places if each.place is not None]
    worst = max(placed, key=lambda each: each.place or 0.0, default=None)
    if worst is None or worst.verdict in ("closer", "fresh"):
        return ""
    return say("glance.least", title=quote(worst.metric.title), place=place_text(worst), words=worst.words)


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
