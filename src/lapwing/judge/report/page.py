"""A report as one HTML file that fetches nothing.

Everything is inside: the style sheet, Vega and what draws the charts. A content security policy names the two scripts
by their hashes and allows nothing else, so that a column name could not run even if it were not escaped. The bytes
depend on the page and the versions of the libraries only.
"""

import base64
import functools
import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from lapwing.errors import LapwingError
from lapwing.judge.metrics import Internal, Releasable
from lapwing.schema.scalars import visible

# -- Tables as aligned text.


def aligned(lines: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return lines of cells as text with aligned columns.

    lines: all of the same length; the first is the heading. Returns one line of text each, without a line break at the
    end.

    >>> print(aligned([("sex", "count"), ("Female", "7")], right=[1]))
    sex     count
    Female      7
    """
    lines = [list(map(_cell, line)) for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if position in right else cell.ljust(width)
            for position, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cell(text: str) -> str:
    """Return a cell on one line in which nothing is hidden."""
    return visible(text).replace("\n", " ")


# -- What a report is made of: sections of text, tables and charts, without a word about how they look.


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Hold a table of the report.

    marked: lines that deserve a warning colour, besides the words that say so.
    """

    caption: str
    heading: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    marked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Hold a chart of the report.

    meaning: one sentence that says what can be seen: the text for those who do not see the chart.
    """

    title: str
    meaning: str
    spec: Mapping[str, Any]
    figures: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Hold a paragraph, or a list."""

    words: str
    points: tuple[str, ...] = ()
    is_warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Hold one figure that is set large."""

    figure: str
    what: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Hold the few figures that a reader should see first."""

    facts: tuple[Fact, ...]


Part = Text | Table | Chart | Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Hold a section of the report.

    key: the anchor of its heading: lower case, with hyphens.
    """

    key: str
    title: str
    parts: tuple[Part, ...]
    folded: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Hold a whole report.

    lead: what the page is made from, where that is not what its kind says.
    """

    title: str
    sections: tuple[Section, ...]
    lead: str = ""


NOTICE: Final = "internal - do not publish"
"""On every screen and every printed page of an internal report."""

Kind = Literal["releasable", "internal"]

_MISSING: Final = 'a report needs {}; install it with: pip install "lapwing[report]"'
_BUNDLED: Final = "globalThis.lapwingEmbed = vegaEmbed;"


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A chart, its place on the page, and its specification as text that may stand inside a script element."""

    chart: Chart
    place: int
    spec: str
    height: int


def render(page: Releasable[Page] | Internal[Page]) -> str:
    """Return a report as one HTML file.

    page: the type decides on the look: an internal report says so on every screen and every printed page. Returns the
    whole file, without a reference to anything outside it. Same page, same libraries, same text.

    About 1 MB of it is Vega; making that takes 2 seconds, once in a process.

    >>> from lapwing.judge.report.page import Section, Text
    >>> words = Section(key="words", title="Words", parts=(Text(words="<b>"),))
    >>> html = render(Internal(Page(title="A & B", sections=(words,))))
    >>> "&lt;b&gt;" in html, "internal - do not publish" in html
    (True, True)
    """
    kind: Kind = "internal" if isinstance(page, Internal) else "releasable"
    environment = _environment()
    vega, script = _vega(), _escaped_script(environment.loader.get_source(environment, "page.js")[0])
    return str(
        environment.get_template("page.html").render(
            page=page.value,
            lead=page.value.lead,
            kind=kind,
            notice=NOTICE,
            sections=_arranged(page.value),
            policy=_policy(vega, script),
            style=_safe(environment.get_template("page.css").render(kind=kind, notice=NOTICE)),
            scripts=[_safe(vega), _safe(script)],
        )
    )


def check_installed() -> None:
    """Refuse to begin what ends in a report where the extra ``report`` is not installed."""
    try:
        import altair  # noqa: F401, PLC0415
        import jinja2  # noqa: F401, PLC0415
        import vl_convert  # noqa: F401, PLC0415
    except ImportError as error:
        raise LapwingError(_MISSING.format(error.name), code="LW701") from None


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


def _drawn(chart: Chart, place: int) -> _Drawn:
    """Return a chart as the template needs it."""
    spec = {key: value for key, value in chart.spec.items() if key != "$schema"}  # the page knows its own Vega
    text = json.dumps(_cleaned(spec), allow_nan=False, separators=(",", ":"))
    for sign in "<>&":  # none of them may end the script element, or begin another
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    height = spec.get("height")
    return _Drawn(chart, place, _safe(text), int(height) + 60 if isinstance(height, int | float) else 260)


def _cleaned(value: Any) -> Any:  # noqa: ANN401
    """Return JSON values with all texts shown as they are."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _cleaned(each) for key, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def _environment() -> Any:  # noqa: ANN401
    """Return jinja2 with everything escaped."""
    try:
        import jinja2  # noqa: PLC0415
    except ImportError:
        raise LapwingError(_MISSING.format("jinja2"), code="LW701") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lapwing.judge.report", "templates"),
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


@functools.cache
def _vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one module that needs no network."""
    try:
        import vl_convert  # noqa: PLC0415
    except ImportError:
        raise LapwingError(_MISSING.format("vl-convert-python"), code="LW701") from None
    return _escaped_script(str(vl_convert.javascript_bundle(_BUNDLED)))


def _escaped_script(text: str) -> str:
    r"""Return a script that its element cannot end on: a `<` before `/script` or `!--` may stand in strings only."""
    return re.sub(r"<(?=/script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def _policy(*scripts: str) -> str:
    """Return what the page may do: run these scripts, and nothing else."""
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
