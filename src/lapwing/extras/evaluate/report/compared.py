"""The internal report: a synthetic table beside the real one, section by section, the first for those in a hurry."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.glance import Glance, glance
from lapwing.extras.evaluate.metrics.metric import SYNTHETIC
from lapwing.extras.evaluate.metrics.standing import APART, FRESH, MOST, NONE, PART, SAME, Standing, glance_lines
from lapwing.extras.evaluate.report.charts import altair, colour, distinct, full_width, ramp, skip_validation
from lapwing.extras.evaluate.report.columns import columns_section
from lapwing.extras.evaluate.report.pairs import maps_section, pairs_section, worst_section
from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.report.tables import gaps_section, panel_section, rules_section, weighted_section
from lapwing.extras.evaluate.report.uses import disclosure_section, prediction_section, subgroups_section
from lapwing.extras.evaluate.words import say
from lapwing.present.document import Chart, Fact, Facts, Part, Section, Table, Text, cross_name, percent
from lapwing.schema.schemas import Schema

_ENDS: Final = (-0.2, 1.4)  # places that are drawn; what lies beyond stands at the end, as an arrow
_LINE: Final = 20  # height of a line with a dot, in pixels


@skip_validation
def place_chart(standings: Sequence[Standing], *, title: str, meaning: str) -> Chart:
    """Return where figures lie between a resample and independent columns; those without a place are left out."""
    alt = altair()
    placed = sorted((each for each in standings if each.place is not None), key=lambda each: -(each.place or 0.0))
    lines = [
        _place(each, label) for each, label in zip(placed, distinct(each.metric.title for each in placed), strict=True)
    ]
    axis_title = say("glance.axis")
    axis = alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1, 1.25], grid=False)
    across = alt.X("at:Q", scale=alt.Scale(domain=list(_ENDS), nice=False), axis=axis, title=axis_title)
    names = say.listed("glance.zones")
    limits = itertools.pairwise((_ENDS[0], FRESH, MOST, PART, NONE, _ENDS[1]))
    grounds = [{"start": ends[0], "stop": ends[1], "zone": zone} for zone, ends in zip(names, limits, strict=True)]
    shades = alt.Scale(domain=list(names), range=ramp()[: len(names)])
    zones = alt.Chart(alt.Data(values=grounds)).mark_rect()
    zones = zones.encode(
        x=alt.X("start:Q", title=axis_title),
        x2="stop:Q",
        color=alt.Color("zone:N", title=None, scale=shades, legend=alt.Legend(orient="top", columns=2)),
    )
    marks = alt.Chart(alt.Data(values=[{"at": 0}, {"at": 1}])).mark_rule(color=colour("ink"), strokeDash=[4, 3])
    labels, bare = alt.Scale(domain=[line["label"] for line in lines]), alt.Axis(ticks=False, domain=False)
    base = alt.Chart(alt.Data(values=lines)).encode(y=alt.Y("label:N", sort=None, scale=labels, title=None, axis=bare))
    spans = base.mark_rule(strokeWidth=2, color=colour("ink")).encode(
        x=alt.X("lower:Q", title=axis_title), x2="upper:Q"
    )
    dots = base.mark_point(filled=True, opacity=1, size=80, color=colour("ink"))
    dots = dots.encode(x=across, shape=alt.Shape("shape:N", scale=None))
    chart = alt.layer(zones, marks.encode(x=across), spans, dots)
    height = max(60, _LINE * len(lines))
    return full_width(chart, (), height, title=title, meaning=meaning, figures=standings_table(standings))


def standings_table(standings: Sequence[Standing]) -> Table:
    """Return every figure with its references, unit, place and verdict."""
    lines = [
        (*line[:4], each.metric.unit, *line[4:]) for each, line in zip(standings, glance_lines(standings), strict=True)
    ]
    return table(
        "glance.table",
        lines,
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


def glance_section(found: Findings) -> Section:
    """Return the section *At a glance*."""
    seen = glance(found)
    parts: list[Part] = [
        Text(seen.headline, is_headline=True),
        _facts(found, seen),
        Text(say("glance.short"), points=seen.details),
    ]
    is_bad = any(each.verdict in ("none", "worse") for each in seen.standings)
    parts.append(Text(say("glance.before"), points=seen.cautions, is_warning=is_bad))
    if any(each.place is not None for each in seen.standings):
        key = say("glance.key", fresh=100 * FRESH, same=SAME, most=100 * MOST, part=100 * PART, none=100 * NONE)
        parts.append(place_chart(seen.standings, title=say("glance.places"), meaning=f"{_spread(seen)} {key}"))
    meanings = tuple(f"{each.metric.title}: {each.metric.meaning}" for each in seen.standings)
    sources = tuple(f"{each.metric.title}: {each.metric.reference}" for each in seen.standings)
    return section(
        "at-a-glance",
        parts,
        folded=(
            standings_table(seen.standings),
            Text(say("glance.references"), points=say.listed("glance.reference", apart=APART)),
            Text(say("glance.meanings"), points=meanings),
            Text(say("glance.sources"), points=sources),
        ),
    )


def _spread(seen: Glance) -> str:
    """Return the sentence about all places: the best, the middle and the worst one."""
    placed = sorted((each.place, each.metric.title) for each in seen.standings if each.place is not None)
    best, middle, worst = placed[0], placed[(len(placed) - 1) // 2], placed[-1]
    if len(placed) == 1:
        return say("glance.one", best=best[1], low=100 * best[0])
    return say(
        "glance.spread",
        low=100 * best[0],
        best=best[1],
        high=100 * worst[0],
        worst=worst[1],
        count=len(placed),
        middle=100 * middle[0],
    )


def _facts(found: Findings, seen: Glance) -> Facts:
    """Return the few figures that stand out."""
    places = {each.metric.key: each for each in seen.standings}
    single, pairs = (places.get(f"total_variation_{ways}") for ways in (1, 2))
    facts = []
    if single is not None:
        note = say("glance.single_note", resample=percent(single.bootstrap.value, 2))
        facts.append(Fact("single", say("glance.single"), percent(single.synthetic.value), note=note))
    if pairs is not None:
        beside = percent(pairs.bootstrap.value), percent(pairs.independent.value)
        note = say("glance.pairs_note", resample=beside[0], independent=beside[1])
        facts.append(Fact("pairs", say("glance.pairs"), percent(pairs.synthetic.value), note=note))
    if found.downstream is None and pairs is not None:
        columns, distance = next(each for each in found.tables[SYNTHETIC] if each.ways == 2).worst(1)[0]
        facts.append(Fact("worst", say("glance.worst"), percent(distance), note=cross_name(columns)))
    if found.downstream is not None:
        area = found.downstream
        note = say("glance.auc_note", ceiling=area.ceiling, floor=area.floor)
        facts.append(Fact("auc", say("glance.auc"), f"{area.auc:.3f}", note=note))
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
