"""A report as one HTML file that fetches nothing, and the words that reports share.

Charts are drawn here, as SVG, so that the file needs no script. A content security policy allows none, so that a column
name could not run even if it were not escaped. The bytes depend on the page and the versions of the libraries only.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from lapwing.errors import LapwingError
from lapwing.release.marked import Internal, Releasable
from lapwing.schema.scalars import visible
from lapwing.version import install_command

# -- Tables as aligned text.


# -- What a report is made of: sections of text, tables and charts, without a word about how they look.


@dataclass(frozen=True, slots=True)
class Table:
    """Hold a table of the report; marked: lines that deserve a warning colour, besides the words that say so."""

    caption: str
    heading: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    marked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """Hold a chart of the report; meaning: one sentence that says what can be seen, for those who do not see it."""

    title: str
    meaning: str
    spec: Mapping[str, Any]
    figures: Table | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Hold a paragraph, or a list; is_headline: it grades the table, and is set large."""

    words: str
    points: tuple[str, ...] = ()
    is_warning: bool = False
    is_headline: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """Hold one figure that is set large."""

    figure: str
    what: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Hold the few figures that a reader should see first."""

    facts: tuple[Fact, ...]


Part = Text | Table | Chart | Facts


@dataclass(frozen=True, slots=True)
class Section:
    """Hold a section of the report; key: the anchor of its heading, lower case with hyphens."""

    key: str
    title: str
    parts: tuple[Part, ...]
    folded: tuple[Part, ...] = ()


def of_table(section: Section, number: int, table: str) -> Section:
    """Return a section of one of several tables, under a title and an anchor of its own."""
    return replace(section, key=f"table-{number}-{section.key}", title=f"{clipped(table)}: {section.title}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Hold a whole report; lead: what it is made from, where that is not what its kind says."""

    title: str
    sections: tuple[Section, ...]
    lead: str = ""


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


NAME_LETTERS: Final = 60  # of a column's name or a label in a sentence or a table


def clipped(text: str, letters: int = NAME_LETTERS) -> str:
    """Return a text of at most so many letters."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def labelled(text: str, letters: int = NAME_LETTERS) -> str:
    """Return a label that can be seen: one without any letter stands in quotes."""
    return clipped(text, letters) if text.strip() else f'"{clipped(text, letters)}"'


def crossed(columns: Sequence[str]) -> str:
    """Return the name of a table of several columns, such as ``age × sex``."""
    return " × ".join(clipped(name, max(16, NAME_LETTERS // len(columns))) for name in columns)


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent; small ones that are not 0 never look like 0.

    >>> percent(0.1234), percent(0.00001), percent(0.0), percent(None), percent(-0.00001)
    ('12.3 %', '< 0.1 %', '0 %', '-', '> -0.1 %')
    """
    if share is None:
        return "-"
    least = 10.0**-digits
    figure = round(100 * share, digits)
    if share and abs(figure) < least:
        return f"< {least:g} %" if share > 0 else f"> -{least:g} %"
    return f"{figure:.{digits}f} %" if figure else "0 %"


def signed(share: float, digits: int = 1) -> str:
    """Return a difference of shares in percent points, with its sign."""
    figure = round(100 * share, digits)
    return f"{figure:+.{digits}f}" if figure else "0"


def counted(count: int, what: str) -> str:
    """Return a number of things: ``1 column``, ``12,000 rows``."""
    return f"{count:,} {what}{'s' * (count != 1)}"
