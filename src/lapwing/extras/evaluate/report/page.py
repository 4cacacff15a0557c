"""A report as one HTML file that fetches nothing, and the words that reports share.

Charts are drawn here, as SVG, so that the file needs no script. A content security policy allows none, so that a column
name could not run even if it were not escaped. The bytes depend on the page and the versions of the libraries only.
"""

import itertools
import json
import re
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

from lapwing.errors import LapwingError
from lapwing.extras.evaluate.words import say
from lapwing.present.document import Chart, Page
from lapwing.present.html import Html, element, section_html, table_html, whole_page
from lapwing.release.marked import Internal, Releasable
from lapwing.schema.scalars import visible
from lapwing.version import install_command

NOTICE: Final = "internal - do not publish"  # on every screen and every printed page of an internal report
Kind = Literal["releasable", "internal"]

_MARKS: Final = 12  # on a printed page
_WIDTH: Final = 440  # of a chart in pixels: two stand side by side on paper, one on a phone
CONFIG: Final = {
    "aria": False,  # the element around a chart says what it shows
    "background": "transparent",
    "font": "Liberation Sans",  # inside vl-convert; as wide as Arial and Helvetica
    "padding": {"left": 8, "right": 14, "top": 4, "bottom": 4},
    "autosize": {"type": "fit-x", "contains": "padding"},
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "gridColor": "var(--grid)",
        "labelFontSize": 11.5,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelSeparation": 5,
        "labelLimit": 160,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--soft)",
        "labelFontSize": 12,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "symbolType": "square",
        "symbolStrokeWidth": 0,
        "labelLimit": 380,
        "offset": 8,
    },
    "scale": {"bandPaddingInner": 0.12, "bandPaddingOuter": 0.06, "rectBandPaddingInner": 0.04},
    "bar": {"discreteBandSize": {"band": 0.9}},
}


_TAG: Final = re.compile("<[^>]*>")  # texts of a drawing hold neither sign
_NEEDLESS: Final = re.compile(
    r' (?:role|aria-\w+|pointer-events|font-family|opacity)="(?:graphics-\w+|none|true|1|[\w ]+ (?:Sans|container))"'
    '|<path class="foreground"[^>]*/>'
)


def _missing(library: str | None) -> str:
    return f"a report needs {library}; run {install_command('evaluate')}"


def render(page: Releasable[Page] | Internal[Page]) -> str:
    """Return a report as one HTML file; an internal one says so on every screen and every printed page.

    Same page, same libraries, same text. Vega draws some ten charts a second, inside this process.

    >>> from lapwing.present.document import Page, Section, Text
    >>> words = Section(key="words", title="Words", parts=(Text(words="<b>"),))
    >>> html = render(Internal(Page(title="A & B", sections=(words,))))
    >>> "&lt;b&gt;" in html, "internal - do not publish" in html
    (True, True)
    """
    kind: Kind = "internal" if isinstance(page, Internal) else "releasable"
    whole, numbers = page.value, itertools.count(1)
    marks = [element("span", NOTICE)] * _MARKS
    noticed = [
        element("div", *marks, class_="watermark", aria_hidden="true"),
        element("p", element("strong", NOTICE), class_="banner", role="note"),
    ]
    links = (element("li", element("a", each.title, href=f"#{each.key}", dir="auto")) for each in whole.sections)
    contents = element("details", element("summary", say("report.contents")), element("ol", *links), open="open")
    title = (
        element("p", say(f"report.{kind}"), class_="kind"),
        element("h1", whole.title, dir="auto"),
        element("p", whole.lead or say(f"report.{kind}_lead"), class_="lead"),
    )
    sections = (section_html(each, lambda chart: _figure(chart, next(numbers))) for each in whole.sections)
    return whole_page(
        f"{whole.title} - {NOTICE}" if kind == "internal" else whole.title,
        _style(kind),
        element("a", say("report.skip"), class_="skip", href="#content"),
        *(noticed if kind == "internal" else []),
        element("header", element("div", *title, class_="inner"), class_="top"),
        element(
            "div",
            element("nav", contents, class_="contents", aria_label=say("report.contents")),
            element("main", *sections, id="content", tabindex="-1"),
            class_="frame",
        ),
        kind=kind,
    )


def _style(kind: Kind) -> str:
    """Return the style sheet of reports; on paper an internal one says so in its margins."""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    said = f'{{ content: "{NOTICE}"; font: bold 10pt sans-serif; color: #a3122a; }}'
    margins = f"@page {{ @top-center {said} @bottom-center {said} }}\n" if kind == "internal" else ""
    return style.replace("NOTICE", quote(NOTICE)) + margins


def check_installed() -> None:
    """Refuse to begin what ends in a report where the extra ``evaluate`` is not installed."""
    try:
        import altair  # noqa: F401, PLC0415
        import vl_convert  # noqa: F401, PLC0415
    except ImportError as error:
        raise LapwingError(_missing(error.name), code="LW701") from None


def _figure(chart: Chart, place: int) -> Html:
    """Return a chart and its drawing, whose texts Vega escapes; the figures behind it are folded away."""
    try:
        import vl_convert  # noqa: PLC0415
    except ImportError:
        raise LapwingError(_missing("vl-convert-python"), code="LW701") from None
    spec = json.dumps(visible_texts({**chart.spec, "width": _WIDTH}), allow_nan=False)
    svg = _TAG.sub(lambda tag: _NEEDLESS.sub("", tag[0]), vl_convert.vegalite_to_svg(spec, config=CONFIG))
    name = element("span", chart.title, class_="name", dir="auto")
    meaning = element("span", chart.meaning, class_="meaning", dir="auto")
    drawing = element("div", Html(svg), class_="drawing", role="img", aria_label=f"{chart.title}: {chart.meaning}")
    behind = element("span", say("report.behind", title=chart.title), class_="unseen")
    summary = element("summary", say("report.figures"), behind)
    table = "" if chart.figures is None else element("details", summary, table_html(chart.figures), class_="behind")
    caption = element("figcaption", name, " ", meaning)
    return element("figure", caption, drawing, table, class_="chart", id=f"chart-{place}")


def visible_texts(value: Any) -> Any:  # noqa: ANN401
    """Return JSON values with all texts shown as they are."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: visible_texts(each) for key, each in value.items()}
    return [visible_texts(each) for each in value] if isinstance(value, list | tuple) else value
