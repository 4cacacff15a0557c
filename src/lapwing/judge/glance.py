"""How good a table is, in a few words: its grades, what they follow from, and what they do not say."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lapwing.judge.columns import error_sizes
from lapwing.judge.findings import PREDICTION, Findings, placed_figures
from lapwing.judge.grades import Graded, graded
from lapwing.judge.metrics import SYNTHETIC
from lapwing.judge.prediction.downstream import Downstream
from lapwing.judge.standing import WORDS, Standing, place_text, standing
from lapwing.schema.scalars import quote


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
