"""The internal report: a synthetic table beside the real one, section by section, the first for those in a hurry."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.glance import Glance, glance
from lapwing.extras.evaluate.metrics.metric import SYNTHETIC
from lapwing.extras.evaluate.metrics.standing import APART, FRESH, MOST, NONE, PART, SAME, Standing, glance_table
from lapwing.extras.evaluate.report.charts import altair, colour, distinct, drawn, ramp
from lapwing.extras.evaluate.report.columns import columns_section
from lapwing.extras.evaluate.report.pairs import maps_section, pairs_section, worst_section
from lapwing.extras.evaluate.report.tables import gaps_section, panel_section, rules_section, weighted_section
from lapwing.extras.evaluate.report.uses import disclosure_section, prediction_section, subgroups_section
from lapwing.present.document import Chart, Fact, Facts, Part, Section, Table, Text, crossed, percent
from lapwing.schema.schemas import Schema

_ENDS: Final = (-0.2, 1.4)  # places that are drawn; what lies beyond stands at the end, as an arrow
_ZONES: Final = ("resample", "most kept", "part kept", "none kept", "worse")
"""What the dependence is in each part of the axis."""

_LINE: Final = 20  # height of a line with a dot, in pixels


def place_chart(standings: Sequence[Standing], *, title: str, meaning: str) -> Chart:
    """Return where figures lie between a resample and independent columns; those without a place are left out."""
    alt = altair()
    placed = sorted((each for each in standings if each.place is not None), key=lambda each: -(each.place or 0.0))
    lines = [
        _place(each, label) for each, label in zip(placed, distinct(each.metric.title for each in placed), strict=True)
    ]
    axis = alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1, 1.25], grid=False)
    across = alt.X("at:Q", scale=alt.Scale(domain=list(_ENDS), nice=False), axis=axis, title=_AXIS)
    limits = itertools.pairwise((_ENDS[0], FRESH, MOST, PART, NONE, _ENDS[1]))
    grounds = [{"start": ends[0], "stop": ends[1], "zone": zone} for zone, ends in zip(_ZONES, limits, strict=True)]
    shades = alt.Scale(domain=list(_ZONES), range=ramp()[: len(_ZONES)])
    zones = alt.Chart(alt.Data(values=grounds)).mark_rect()
    zones = zones.encode(
        x=alt.X("start:Q", title=_AXIS),
        x2="stop:Q",
        color=alt.Color("zone:N", title=None, scale=shades, legend=alt.Legend(orient="top", columns=2)),
    )
    marks = alt.Chart(alt.Data(values=[{"at": 0}, {"at": 1}])).mark_rule(color=colour("ink"), strokeDash=[4, 3])
    names, bare = alt.Scale(domain=[line["label"] for line in lines]), alt.Axis(ticks=False, domain=False)
    base = alt.Chart(alt.Data(values=lines)).encode(y=alt.Y("label:N", sort=None, scale=names, title=None, axis=bare))
    spans = base.mark_rule(strokeWidth=2, color=colour("ink")).encode(x=alt.X("lower:Q", title=_AXIS), x2="upper:Q")
    dots = base.mark_point(filled=True, opacity=1, size=80, color=colour("ink"))
    dots = dots.encode(x=across, shape=alt.Shape("shape:N", scale=None))
    chart = alt.layer(zones, marks.encode(x=across), spans, dots)
    height = max(60, _LINE * len(lines))
    return drawn(chart, height, title=title, meaning=meaning, figures=standings_table(standings))


_AXIS: Final = "0 %: a resample; 100 %: columns without any relation"


def standings_table(standings: Sequence[Standing]) -> Table:
    """Return every figure with its references, unit, place and verdict."""
    _, *lines = glance_table(standings)
    lines = [(*line[:4], each.metric.unit, *line[4:]) for each, line in zip(standings, lines, strict=True)]
    return Table(
        "All figures; ± is one standard error, where a figure is an estimate",
        ("figure", "synthetic", "resample", "independent columns", "unit", "place", "in words"),
        tuple(lines),
        numbers=(1, 2, 3, 5),
        marked=tuple(place for place, each in enumerate(standings) if each.verdict in ("none", "worse", "far")),
    )


def _place(found: Standing, label: str) -> dict[str, Any]:
    """Return the record of one dot; beyond the ends it stands there, as an arrow."""
    place = found.place or 0.0
    low, high = _ENDS
    shape = "triangle-left" if place < low else "triangle-right" if place > high else "circle"
    span = 2 * found.place_error
    return {
        "label": label,
        "at": min(max(place, low), high),
        "lower": max(place - span, low) if span else None,
        "upper": min(place + span, high) if span else None,
        "shape": shape,
    }


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
    """Return the section *At a glance*."""
    seen = glance(found)
    parts: list[Part] = [
        Text(seen.headline, is_headline=True),
        _facts(found, seen),
        Text("In short:", points=seen.details),
    ]
    is_bad = any(each.verdict in ("none", "worse") for each in seen.standings)
    parts.append(Text("Before you decide:", points=seen.cautions, is_warning=is_bad))
    if any(each.place is not None for each in seen.standings):
        parts.append(
            place_chart(
                seen.standings, title="Between a resample and independent columns", meaning=f"{_spread(seen)} {_KEY}"
            )
        )
    table = standings_table(seen.standings)
    meanings = tuple(f"{each.metric.title}: {each.metric.meaning}" for each in seen.standings)
    sources = tuple(f"{each.metric.title}: {each.metric.reference}" for each in seen.standings)
    return Section(
        "at-a-glance",
        "At a glance",
        tuple(parts),
        folded=(
            table,
            Text("What they are read against:", points=_REFERENCES),
            Text("What the figures mean:", points=meanings),
            Text("Where they were defined:", points=sources),
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
    single, pairs = (places.get(f"total_variation_{ways}") for ways in (1, 2))
    facts = []
    if single is not None:
        note = f"a resample: {percent(single.bootstrap.value, 2)}"
        facts.append(
            Fact("single", "of rows differ in a single column, on average", percent(single.synthetic.value), note=note)
        )
    if pairs is not None:
        note = f"resample: {percent(pairs.bootstrap.value)}, independent: {percent(pairs.independent.value)}"
        facts.append(
            Fact("pairs", "of rows differ in a pair of columns, on average", percent(pairs.synthetic.value), note=note)
        )
    if found.downstream is None and pairs is not None:
        columns, distance = next(each for each in found.tables[SYNTHETIC] if each.ways == 2).worst(1)[0]
        facts.append(Fact("worst", "differ in the worst pair of columns", percent(distance), note=crossed(columns)))
    if found.downstream is not None:
        area = found.downstream
        note = f"{area.ceiling:.3f} when trained on real rows, {area.floor:.1f} knows nothing"
        facts.append(Fact("auc", "AUC of a prediction learned from synthetic rows", f"{area.auc:.3f}", note=note))
    return Facts(tuple(facts))


def compared_sections(findings: Findings, schema: Schema) -> tuple[Section, ...]:
    """Return the sections of an internal report; a section that does not apply says why, and which option to pass.

    Computed from private rows without noise. Charts of at most 40 columns and 60 x 60 pairs: some megabytes at most.
    """
    single = findings.tables[SYNTHETIC][0]
    plain = {table[0]: distance for table, distance in zip(single.tables, single.distances.tolist(), strict=True)}
    return (
        glance_section(findings),
        columns_section(findings, schema),
        *(() if findings.weighted is None else (weighted_section(findings.weighted, plain),)),
        pairs_section(findings),
        worst_section(findings),
        maps_section(findings),
        gaps_section(findings),
        *(() if findings.panel is None else (panel_section(findings.panel),)),
        *(() if findings.declared is None else (rules_section(findings.declared),)),
        prediction_section(findings),
        subgroups_section(findings),
        disclosure_section(findings),
    )
