"""Charts that only the internal report has: where each figure lies between two references, and figures beside marks."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lapwing.judge.glance import FRESH, MOST, NONE, PART, Standing, estimate_text, place_text
from lapwing.judge.report.charts.parts import (
    Figures,
    altair,
    colour,
    distinct,
    number,
    plain_spec,
    ramp,
    series_colours,
    shown,
)
from lapwing.judge.report.page import Chart, Table

_ENDS: Final = (-0.2, 1.4)
"""Places that are drawn; what lies beyond stands at the end, as an arrow."""

_ZONES: Final = ("resample", "most kept", "part kept", "none kept", "worse")
"""What the dependence is in each part of the axis."""

_LINE: Final = 20
"""Height of a line with a dot, in pixels."""


def place_chart(standings: Sequence[Standing], *, title: str, meaning: str) -> Chart:
    """Return where figures lie between a resample and independent columns.

    standings: at least one with a place; those without are left out of the drawing.
    """
    alt = altair()
    placed = sorted((each for each in standings if each.place is not None), key=lambda each: -(each.place or 0.0))
    lines = [_place(each, label) for each, label in zip(placed, distinct(_titles(placed)), strict=True)]
    axis = alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1, 1.25], grid=False)
    across = alt.X("at:Q", scale=alt.Scale(domain=list(_ENDS), nice=False), axis=axis, title=_AXIS)
    zones = alt.Chart(alt.Data(values=_zones())).mark_rect(clip=True)
    shades = alt.Scale(domain=list(_ZONES), range=ramp()[: len(_ZONES)])
    zones = zones.encode(
        x=alt.X("start:Q", title=_AXIS),
        x2="stop:Q",
        color=alt.Color("zone:N", title=None, scale=shades, legend=alt.Legend(orient="top", columns=2)),
    )
    marks = alt.Chart(alt.Data(values=[{"at": 0}, {"at": 1}])).mark_rule(color=colour("ink"), strokeDash=[4, 3])
    base = alt.Chart(alt.Data(values=lines)).encode(
        y=alt.Y(
            "label:N",
            sort=None,
            scale=alt.Scale(domain=[line["label"] for line in lines]),
            title=None,
            axis=alt.Axis(ticks=False, domain=False),
        )
    )
    spans = base.mark_rule(strokeWidth=2, clip=True, color=colour("ink")).encode(
        x=alt.X("lower:Q", title=_AXIS), x2="upper:Q"
    )
    dots = base.mark_point(filled=True, opacity=1, size=80, color=colour("ink")).encode(
        x=across,
        shape=alt.Shape("shape:N", scale=None),
        tooltip=["label:N", alt.Tooltip("place:Q", format=".0%"), "verdict:N"],
    )
    chart = alt.layer(zones, marks.encode(x=across), spans, dots)
    chart = chart.properties(width="container", height=max(60, _LINE * len(lines)))
    return Chart(title=title, meaning=meaning, spec=plain_spec(chart), figures=standings_table(standings))


_AXIS: Final = "0 %: a resample of the real rows; 100 %: columns without any relation"


def standings_table(standings: Sequence[Standing]) -> Table:
    """Return every figure with its references, unit, place and verdict."""
    lines = [
        (
            each.metric.title,
            *(estimate_text(value) for value in (each.synthetic, each.bootstrap, each.independent)),
            each.metric.unit,
            place_text(each),
            each.words,
        )
        for each in standings
    ]
    return Table(
        caption="All figures; ± is one standard error, where a figure is an estimate",
        heading=("figure", "synthetic", "resample", "independent columns", "unit", "place", "in words"),
        lines=tuple(lines),
        numbers=(1, 2, 3, 5),
        marked=tuple(place for place, each in enumerate(standings) if each.verdict in ("none", "worse", "far")),
    )


def dots(
    labels: Sequence[str],
    series: Mapping[str, Figures],
    *,
    title: str,
    meaning: str,
    unit: str,
    ends: tuple[float, float] | None = None,
    is_share: bool = False,
) -> Chart:
    """Return several dots a line, each series with a colour and a shape.

    ends: of the axis; what the figures need when left out.
    """
    alt = altair()
    names = distinct(labels)
    lines = [
        {"label": label, "series": name, "value": number(value)}
        for name, values in series.items()
        for label, value in zip(names, values, strict=True)
        if number(value) is not None
    ]
    scale = alt.Scale(zero=False) if ends is None else alt.Scale(domain=list(ends), nice=False, clamp=True)
    shapes = ["circle", "diamond", "triangle-up", "square"][: len(series)]
    colours = alt.Scale(domain=list(series), range=list(series_colours(series).values()))
    form = ".2%" if is_share else ".4~g"
    chart = (
        alt.Chart(alt.Data(values=lines))
        .mark_point(filled=True, opacity=1, size=80)
        .encode(
            x=alt.X("value:Q", title=unit, scale=scale, axis=alt.Axis(format="~%" if is_share else "~g", tickCount=6)),
            y=alt.Y(
                "label:N",
                sort=None,
                scale=alt.Scale(domain=names),
                title=None,
                axis=alt.Axis(ticks=False, domain=False, grid=True),
            ),
            color=alt.Color("series:N", title=None, scale=colours, legend=alt.Legend(orient="top")),
            shape=alt.Shape("series:N", title=None, scale=alt.Scale(domain=list(series), range=shapes)),
            tooltip=["label:N", "series:N", alt.Tooltip("value:Q", format=form)],
        )
        .properties(width="container", height=max(60, _LINE * len(names)))
    )
    table = Table(
        caption=title,
        heading=("", *series),
        lines=tuple(
            (label, *(shown(values[place], is_share=is_share) for values in series.values()))
            for place, label in enumerate(labels)
        ),
        numbers=tuple(range(1, 1 + len(series))),
    )
    return Chart(title=title, meaning=meaning, spec=plain_spec(chart), figures=table)


def _titles(standings: Sequence[Standing]) -> list[str]:
    return [each.metric.title for each in standings]


def _place(found: Standing, label: str) -> dict[str, Any]:
    """Return the record of one dot; beyond the ends it stands there, as an arrow."""
    place = found.place or 0.0
    low, high = _ENDS
    shape = "triangle-left" if place < low else "triangle-right" if place > high else "circle"
    span = 2 * found.place_error
    return {
        "label": label,
        "at": min(max(place, low), high),
        "place": place,
        "lower": max(place - span, low) if span else None,
        "upper": min(place + span, high) if span else None,
        "shape": shape,
        "verdict": found.words,
    }


def _zones() -> list[dict[str, Any]]:
    """Return the grounds of the verdicts, from a resample to worse than independent columns."""
    limits = (_ENDS[0], FRESH, MOST, PART, NONE, _ENDS[1])
    return [
        {"start": start, "stop": stop, "zone": zone}
        for zone, (start, stop) in zip(_ZONES, itertools.pairwise(limits), strict=True)
    ]
