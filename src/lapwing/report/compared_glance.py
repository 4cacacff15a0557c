"""The internal report's first section: what all figures together say, in plain words."""

from lapwing.evaluate.findings import Findings
from lapwing.evaluate.glance import APART, FRESH, MOST, NONE, PART, SAME, Glance, glance
from lapwing.evaluate.metrics import SYNTHETIC
from lapwing.report.compared_charts import place_chart, standings_table
from lapwing.report.compared_words import crossed, percent
from lapwing.report.sections import Fact, Facts, Part, Section, Text

_KEY = (
    f"Up to {100 * FRESH:.0f} %, or {SAME:g} times its distance, counts as a resample, up to {100 * MOST:.0f} % as "
    f"most of the dependence kept, up to {100 * PART:.0f} % as part, up to {100 * NONE:.0f} % as none; of an estimate "
    "its less favourable end, two standard errors away."
)
_REFERENCES = (
    "A resample: as many of the real rows, drawn with replacement. Rows of new people would be 1.4 times as far "
    "from the real ones in tables with many rows a cell, and up to 2.7 times in sparse ones.",
    "Independent columns: the real rows with every column shuffled by itself. Single columns are exact, all relations "
    "are gone.",
    f"A figure has a place between the two only where independent columns are at least {APART:g} times as far as a "
    "resample; others do not see dependence, or the tables have too few rows to show it.",
)


def glance_section(found: Findings) -> Section:
    """Return the section *At a glance*.

    Parameters
    ----------
    found : Findings

    Returns
    -------
    Section
    """
    seen = glance(found)
    parts: list[Part] = [Text(words=seen.headline), _facts(found, seen), Text(words="In short:", points=seen.details)]
    is_bad = any(each.verdict in ("none", "worse") for each in seen.standings)
    parts.append(Text(words="Before you decide:", points=seen.cautions, is_warning=is_bad))
    if any(each.place is not None for each in seen.standings):
        parts.append(
            place_chart(
                seen.standings,
                title="Between a resample and independent columns",
                meaning=f"{_spread(seen)} {_KEY}",
            )
        )
    table = standings_table(seen.standings)
    meanings = tuple(f"{each.metric.title}: {each.metric.meaning}" for each in seen.standings)
    sources = tuple(f"{each.metric.title}: {each.metric.reference}" for each in seen.standings)
    return Section(
        key="at-a-glance",
        title="At a glance",
        parts=tuple(parts),
        folded=(
            table,
            Text(words="What they are read against:", points=_REFERENCES),
            Text(words="What the figures mean:", points=meanings),
            Text(words="Where they were defined:", points=sources),
        ),
    )


def _spread(seen: Glance) -> str:
    """Return the sentence about all places: the best, the middle and the worst one."""
    placed = sorted((each.place, each.metric.title) for each in seen.standings if each.place is not None)
    best, middle, worst = placed[0], placed[(len(placed) - 1) // 2], placed[-1]
    if len(placed) == 1:
        return f"{best[1]} is at {100 * best[0]:.0f} %."
    return (
        f"From {100 * best[0]:.0f} % ({best[1]}) to {100 * worst[0]:.0f} % ({worst[1]}) of the way; half of the "
        f"{len(placed)} figures are at {100 * middle[0]:.0f} % or below."
    )


def _facts(found: Findings, seen: Glance) -> Facts:
    """Return the few figures that stand out."""
    places = {each.metric.key: each for each in seen.standings}
    facts = []
    single = places.get("total_variation_1")
    if single is not None:
        note = f"a resample: {percent(single.bootstrap.value, 2)}"
        facts.append(
            Fact(
                figure=percent(single.synthetic.value), what="of rows differ in a single column, on average", note=note
            )
        )
    pairs = places.get("total_variation_2")
    if pairs is not None:
        note = f"resample: {percent(pairs.bootstrap.value)}, independent: {percent(pairs.independent.value)}"
        facts.append(
            Fact(
                figure=percent(pairs.synthetic.value), what="of rows differ in a pair of columns, on average", note=note
            )
        )
    if found.downstream is None and pairs is not None:
        columns, distance = next(each for each in found.tables[SYNTHETIC] if each.ways == 2).worst(1)[0]
        facts.append(Fact(figure=percent(distance), what="differ in the worst pair of columns", note=crossed(columns)))
    if found.downstream is not None:
        area = found.downstream
        note = f"{area.ceiling:.3f} when trained on real rows, {area.floor:.1f} knows nothing"
        facts.append(Fact(figure=f"{area.auc:.3f}", what="AUC of a prediction learned from synthetic rows", note=note))
    return Facts(facts=tuple(facts))
