"""A report as one HTML file that fetches nothing, and the words that reports share.

Charts are drawn here, as SVG, so that the file needs no script. A content security policy allows none, so that a column
name could not run even if it were not escaped. The bytes depend on the page and the versions of the libraries only.
"""

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from lapwing.errors import LapwingError
from lapwing.present.document import Chart, Page, Part
from lapwing.release.marked import Internal, Releasable
from lapwing.schema.scalars import visible
from lapwing.version import install_command

# -- Tables as aligned text.


# -- What a report is made of: sections of text, tables and charts, without a word about how they look.


NOTICE: Final = "internal - do not publish"  # on every screen and every printed page of an internal report
Kind = Literal["releasable", "internal"]

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
    environment = _environment()
    return str(
        environment.get_template("page.html").render(
            page=page.value,
            lead=page.value.lead,
            kind=kind,
            notice=NOTICE,
            sections=_arranged(page.value),
            style=_safe(environment.get_template("page.css").render(kind=kind, notice=NOTICE)),
        )
    )


def check_installed() -> None:
    """Refuse to begin what ends in a report where the extra ``evaluate`` is not installed."""
    try:
        import altair  # noqa: F401, PLC0415
        import jinja2  # noqa: F401, PLC0415
        import vl_convert  # noqa: F401, PLC0415
    except ImportError as error:
        raise LapwingError(_missing(error.name), code="LW701") from None


def _arranged(page: Page) -> list[dict[str, Any]]:
    """Return the sections with charts numbered and neighbouring charts put together."""
    numbers = itertools.count(1)
    return [
        {
            "key": section.key,
            "title": section.title,
            "parts": list(_runs(section.parts, numbers)),
            "folded": list(_runs(section.folded, numbers)),
        }
        for section in page.sections
    ]


def _runs(parts: Sequence[Part], numbers: "itertools.count[int]") -> Iterator[dict[str, Any]]:
    """Return parts with their kind; charts that follow each other are one part."""
    for is_chart, run in itertools.groupby(parts, key=lambda part: isinstance(part, Chart)):
        if is_chart:
            yield {"kind": "charts", "charts": [_drawn(each, next(numbers)) for each in run if isinstance(each, Chart)]}
        else:
            yield from ({"kind": type(part).__name__.lower(), "part": part} for part in run)


def _drawn(chart: Chart, place: int) -> dict[str, Any]:
    """Return a chart, its place on the page, and its drawing, whose texts Vega escapes."""
    try:
        import vl_convert  # noqa: PLC0415
    except ImportError:
        raise LapwingError(_missing("vl-convert-python"), code="LW701") from None
    spec = json.dumps(cleaned({**chart.spec, "width": _WIDTH}), allow_nan=False)
    svg = vl_convert.vegalite_to_svg(spec, config=CONFIG)
    return {"chart": chart, "place": place, "svg": _safe(_TAG.sub(lambda tag: _NEEDLESS.sub("", tag[0]), svg))}


def cleaned(value: Any) -> Any:  # noqa: ANN401
    """Return JSON values with all texts shown as they are."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: cleaned(each) for key, each in value.items()}
    return [cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def _environment() -> Any:  # noqa: ANN401
    """Return jinja2 with everything escaped."""
    try:
        import jinja2  # noqa: PLC0415
    except ImportError:
        raise LapwingError(_missing("jinja2"), code="LW701") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lapwing.extras.evaluate.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters["coded"] = _coded
    return environment


def _coded(text: str) -> Any:  # noqa: ANN401
    """Return an escaped text with what stands between backticks set as code."""
    import markupsafe  # noqa: PLC0415

    parts = [markupsafe.escape(part) for part in visible(text).split("`")]
    if len(parts) % 2 == 0:  # a backtick by itself is one
        return markupsafe.escape(visible(text))
    pieces = [f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts)]
    return _safe("".join(pieces))


def _safe(text: str) -> Any:  # noqa: ANN401
    """Return a text that is escaped already, or is ours."""
    import markupsafe  # noqa: PLC0415 - jinja2 needs it

    return markupsafe.Markup(text)  # noqa: S704
