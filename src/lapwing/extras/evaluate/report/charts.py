"""Charts of a report, as Vega-Lite: bars, bins, intervals, where the budget went; and what all charts share.

Each comes with the numbers behind it as a table. Column names and labels are data in a chart, never names of its fields
or parts of an expression: they may hold anything.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec

from lapwing.errors import LapwingError
from lapwing.present.document import Chart, Table
from lapwing.version import install_command

P = ParamSpec("P")
Figures = Sequence[float | None]  # numbers of a chart; None and NaN where there is none

_SERIES: Final = {"released": 1, "synthetic": 1, "real": 2, "bootstrap": 3, "independent": 4}
"""The colour that a series has wherever it is drawn; others take those that are left."""

_FALLBACKS: Final = {
    # Okabe and Ito (2008), told apart with any colour vision, darkened until they stand out from white. The page's
    # style sheet says what they are on a dark ground.
    "series-1": "#0072b2",
    "series-2": "#c25100",
    "series-3": "#00825f",
    "series-4": "#a8568a",
    "series-5": "#8a6d00",
    "series-6": "#3f7fae",
    "ink": "#1b2430",
    "ground": "#ffffff",
}
_RAMP: Final = ("#eef4f8", "#d6e6f0", "#b4d3e6", "#8abbd8", "#5c9fc7", "#3583b3", "#17669a", "#074b7c", "#03325a")
_BOTH_WAYS: Final = ("#8f3b00", "#c05a12", "#e08b4f", "#f3c3a1", "#f1f1f1", "#b5d2e5", "#6aa6ca", "#24779f", "#004a6e")

_MEMBERS: Final = {
    *("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor"),
    *("hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf"),
}
"""What every object of JavaScript has: Vega looks up labels in objects, and would find these there."""

MOST_LETTERS: Final = 48  # of a label beside a bar


def colour(name: str) -> str:
    """Return a colour that the page's style sheet may change, such as on a dark ground."""
    return f"var(--{name}, {_FALLBACKS[name]})"


def ramp(*, both_ways: bool = False) -> list[str]:
    """Return the shades of a heat map, from least to most, or from below to above zero."""
    kind, shades = ("both", _BOTH_WAYS) if both_ways else ("ramp", _RAMP)
    return [f"var(--{kind}-{place}, {shade})" for place, shade in enumerate(shades)]


def series_colours(names: Iterable[str]) -> dict[str, str]:
    """Return the colour of each series; the same name has the same colour in every chart."""
    listed = list(names)
    left = [place for place in range(1, 7) if place not in {_SERIES.get(name) for name in listed}]
    unnamed = [name for name in listed if name not in _SERIES]
    places = {name: left[number % len(left)] for number, name in enumerate(unnamed)}
    return {name: colour(f"series-{_SERIES.get(name) or places[name]}") for name in listed}


def distinct(labels: Iterable[str], letters: int = MOST_LETTERS) -> list[str]:
    """Return labels cut to a length and all different, since a chart joins bars that are called the same.

    >>> distinct(["abcdef", "abcxyz", "b"], letters=4)
    ['abc…', 'abc… (2)', 'b']
    """
    seen: dict[str, int] = {}
    shown = []
    for label in labels:
        text = label if len(label) <= letters else f"{label[: letters - 1]}…"
        text += "\u200b" * (text in _MEMBERS)  # no width
        while text in seen:
            seen[text] += 1
            text = f"{text} ({seen[text]})"
        seen[text] = 1
        shown.append(text)
    return shown


def number(value: float | None) -> float | None:
    """Return a number as JSON has it: None for NaN and infinity."""
    if value is None or not math.isfinite(value):
        return None
    return float(value)


def figure_text(value: float | None, *, is_share: bool = False) -> str:
    """Return a figure for a table: four significant digits, or a percentage.

    >>> figure_text(0.1234, is_share=True), figure_text(1234567.0), figure_text(None), figure_text(0.000012)
    ('12.34 %', '1,234,567', '-', '1.2e-05')
    """
    plain = number(value)
    if plain is None:
        return "-"
    if is_share:
        return f"{100 * plain:.2f} %"
    if abs(plain) >= 1000 or plain == round(plain):
        return f"{plain:,.0f}"
    return f"{plain:.4g}"


def altair() -> Any:  # noqa: ANN401 - a module
    """Return altair."""
    try:
        import altair as found  # noqa: PLC0415
    except ImportError:
        raise LapwingError(f"a report needs altair; run {install_command('evaluate')}", code="LW701") from None
    return found


def skip_validation(draw: Callable[P, Chart]) -> Callable[P, Chart]:
    """Let altair make a chart without checking each of its parts, which takes as long; a wrong one is not drawn."""

    @wraps(draw)
    def drawing(*args: P.args, **kwargs: P.kwargs) -> Chart:
        altair()
        from altair.utils.schemapi import debug_mode  # noqa: PLC0415

        with debug_mode(False):
            return draw(*args, **kwargs)

    return drawing


Lines = Sequence[Mapping[str, Any]]  # a record for each mark


def full_width(
    chart: Any,  # noqa: ANN401
    lines: Lines,
    height: int | dict[str, Any],
    *,
    title: str,
    meaning: str,
    figures: Table,
) -> Chart:
    """Return a chart of altair as wide as there is room, with its data, its words and the numbers behind it.

    The data are added last, in the place of a name: altair copies a chart at every step.
    """
    named = altair().NamedData(name="lines")
    spec = chart.properties(width="container", height=height, data=named).to_dict(validate=False)
    spec.pop("config", None)  # the page has one for all charts
    return Chart(title, meaning, {**spec, "data": {"values": list(lines)}}, figures)


Intervals = Mapping[str, tuple[Figures, Figures]]  # per series: lower and upper ends

_BAR: Final = 18  # height of a bar with its gap, in pixels
_LEGEND: Final = 32  # letters that fit in one line
_HEIGHT: Final = 170  # of a chart without bars that lie, in pixels
_HAS_ENDS: Final = "isValid(datum.lower) && isValid(datum.upper)"


@skip_validation
def bars(
    labels: Sequence[str],
    series: Mapping[str, Figures],
    *,
    title: str,
    meaning: str,
    unit: str,
    is_share: bool = False,
    intervals: Intervals | None = None,
) -> Chart:
    """Return lying bars, one a label and series, such as shares of categories in the real and the synthetic table.

    is_share: figures are shown in percent; intervals: drawn as whiskers, where both ends are known.
    """
    alt = altair()
    lines = _long(distinct(labels), series, intervals or {})
    place = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    offset = {"yOffset": alt.YOffset("series:N", sort=list(series))} if len(series) > 1 else {}
    figures = alt.X("value:Q", title=unit, axis=_axis(is_share), scale=alt.Scale(zero=True))
    base = alt.Chart().encode(y=place, **offset)
    layers = [base.mark_bar().encode(x=figures, color=_colours(series))]
    if intervals:
        whiskers = base.transform_filter(_HAS_ENDS).mark_rule(color=colour("ink"), strokeWidth=1.5)
        layers.append(whiskers.encode(x=alt.X("lower:Q", title=unit), x2="upper:Q"))
    behind = _figures(title, labels, series, intervals or {}, is_share)
    return full_width(alt.layer(*layers), lines, _lying(len(series)), title=title, meaning=meaning, figures=behind)


@skip_validation
def histogram(
    labels: Sequence[str],
    starts: Sequence[str],
    series: Mapping[str, Figures],
    *,
    title: str,
    meaning: str,
    unit: str,
    is_share: bool = True,
    intervals: Intervals | None = None,
) -> Chart:
    """Return the bins of an ordered column, in their order: further series as outlines over the first.

    starts: short, for the axis: where a bin begins; some are left out where there is no room.
    """
    alt = altair()
    lines = _long(distinct(labels), series, intervals or {})
    ticks = distinct(starts, letters=24)
    for line in lines:
        line["start"] = ticks[line["place"]]
    place = alt.X(
        "start:O",
        sort=None,
        title=None,
        axis=alt.Axis(labelOverlap="greedy", labelAngle=0, labelSeparation=6, labelBound=20, tickSize=0),
    )
    height = alt.Y("value:Q", title=unit, axis=_axis(is_share), scale=alt.Scale(zero=True))
    base = alt.Chart().encode(x=place)
    wide = alt.RelativeBandSize(0.94)
    layers = []
    for number, name in enumerate(series):
        look = {"filled": False, "strokeWidth": 1.8} if number else {}
        own = base.transform_filter(alt.datum.series == name).mark_bar(width=wide, **look)
        layers.append(own.encode(y=height, color=_colours(series)))
    if intervals:
        whiskers = base.transform_filter(_HAS_ENDS).mark_rule(color=colour("ink"), strokeWidth=1.2)
        layers.append(whiskers.encode(y=alt.Y("lower:Q", title=unit), y2="upper:Q"))
    behind = _figures(title, labels, series, intervals or {}, is_share)
    return full_width(alt.layer(*layers), lines, _HEIGHT, title=title, meaning=meaning, figures=behind)


@skip_validation
def interval_dots(
    labels: Sequence[str],
    values: Figures,
    intervals: tuple[Figures, Figures] | None = None,
    *,
    title: str,
    meaning: str,
    unit: str,
    marks: Mapping[str, Figures] | None = None,
    is_share: bool = False,
    ends: tuple[float, float] | None = None,
) -> Chart:
    """Return one dot a label with its interval, and reference marks such as a floor and a ceiling, a shape each.

    ends: of the axis; without them it begins at 0.
    """
    alt = altair()
    series = {"synthetic": values, **(marks or {})}
    known: Intervals = {"synthetic": intervals} if intervals else {}
    scale = alt.Scale(zero=True) if ends is None else alt.Scale(domain=list(ends), nice=False, clamp=True)
    shapes = ["circle", "diamond", "triangle-up", "square", "cross"]
    place = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, grid=True))
    lines = _long(distinct(labels), series, known)
    base = alt.Chart().encode(y=place)
    rule = base.transform_filter(_HAS_ENDS).mark_rule(strokeWidth=2)
    rule = rule.encode(x=alt.X("lower:Q", title=unit), x2="upper:Q", color=_colours(series))
    dots = base.mark_point(filled=True, opacity=1, size=70).encode(
        x=alt.X("value:Q", title=unit, axis=_axis(is_share), scale=scale),
        color=_colours(series),
        shape=alt.Shape("series:N", title=None, scale=alt.Scale(domain=list(series), range=shapes[: len(series)])),
    )
    behind = _figures(title, labels, series, known, is_share)
    return full_width(alt.layer(rule, dots), lines, _lying(1), title=title, meaning=meaning, figures=behind)


@skip_validation
def budget_bar(parts: Sequence[tuple[str, float]], *, title: str, meaning: str, unit: str) -> Chart:
    """Return where the budget went: one bar, cut into parts."""
    alt = altair()
    total = sum(amount for _, amount in parts)
    names = distinct(name for name, _ in parts)
    scale = alt.Scale(domain=names, range=[colour(f"series-{1 + place % 6}") for place in range(len(parts))])
    legend = alt.Legend(orient="bottom", direction="vertical", columns=1)
    lines = [
        {"part": name, "place": place, "value": amount}
        for place, (name, (_, amount)) in enumerate(zip(names, parts, strict=True))
    ]
    base = alt.Chart().mark_bar(stroke=colour("ground"), strokeWidth=1.5)
    chart = base.encode(
        x=alt.X("value:Q", stack="zero", title=unit, axis=alt.Axis(grid=False, tickCount=5)),
        color=alt.Color("part:N", title=None, scale=scale, legend=legend),
        order=alt.Order("place:Q"),
    )
    shares = [figure_text(amount / total if total > 0 else 0.0, is_share=True) for _, amount in parts]
    figures = tuple((name, f"{amount:.4g}", share) for (name, amount), share in zip(parts, shares, strict=True))
    table = Table(title, ("spent on", unit, "share"), figures, numbers=(1, 2))
    return full_width(chart, lines, 44, title=title, meaning=meaning, figures=table)


def _long(labels: Sequence[str], series: Mapping[str, Figures], intervals: Intervals) -> list[dict[str, Any]]:
    """Return one record a label and series."""
    lines = []
    for name, values in series.items():
        lower, upper = intervals.get(name, ([None] * len(labels), [None] * len(labels)))
        for place, (label, value, low, high) in enumerate(zip(labels, values, lower, upper, strict=True)):
            record = {"label": label, "series": name, "place": place, "value": number(value)}
            lines.append(record | {"lower": number(low), "upper": number(high)})
    return lines


def _axis(is_share: bool) -> Any:  # noqa: ANN401
    """Return the axis of figures."""
    alt = altair()
    if is_share:
        return alt.Axis(format="~%", tickCount=5)
    plain = "abs(datum.value) >= 1000000 ? format(datum.value, '~s') : format(datum.value, ',.6~g')"
    return alt.Axis(labelExpr=plain, tickCount=5)


def _colours(series: Mapping[str, Figures]) -> Any:  # noqa: ANN401
    """Return the colours of series; no legend where there is one only."""
    alt = altair()
    found = series_colours(series)
    is_wide = sum(map(len, found)) > _LEGEND
    legend = alt.Legend(orient="top", columns=2 if is_wide else 0) if len(found) > 1 else None
    scale = alt.Scale(domain=list(found), range=list(found.values()))
    return alt.Color("series:N", title=None, scale=scale, legend=legend)


def _lying(series: int) -> dict[str, Any]:
    """Return the height of each label's bars, which the library adds up."""
    return {"step": max(_BAR, 4 + 11 * series), "for": "position"}


def _figures(
    caption: str, labels: Sequence[str], series: Mapping[str, Figures], intervals: Intervals, is_share: bool
) -> Table:
    """Return the numbers behind a chart."""
    heading, columns = [""], [list(labels)]
    for name, values in series.items():
        heading.append(name)
        columns.append([figure_text(value, is_share=is_share) for value in values])
        for end, ends in zip(("lower", "upper"), intervals.get(name, ()), strict=False):
            heading.append(end)
            columns.append([figure_text(value, is_share=is_share) for value in ends])
    lines = tuple(zip(*columns, strict=True))
    return Table(caption, tuple(heading), lines, numbers=tuple(range(1, len(heading))))
