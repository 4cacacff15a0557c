"""Documents as HTML: how facts, tables, texts and charts become elements, on every page and card, without a library."""

import html
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from lapwing.present.document import Chart, Document, Fact, Facts, Part, Section, Table, Text, clip_text, warnings_of
from lapwing.present.messages import say
from lapwing.schema.scalars import visible


class Html(str):
    """A text that is HTML already; templates of jinja take it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


Draw = Callable[[Chart], Html]


def escape(text: str) -> Html:
    """Return a text as HTML that shows it; what is HTML stays as it is."""
    return text if isinstance(text, Html) else Html(html.escape(visible(text)))


def join_html(parts: Iterable[str]) -> Html:
    """Return pieces of HTML as one."""
    return Html("".join(map(escape, parts)))


def element(tag: str, *inside: str, **attributes: str) -> Html:
    """Return an element; attributes that are empty are left out.

    >>> element("p", "<b>", class_="text", dir="auto")
    '<p class="text" dir="auto">&lt;b&gt;</p>'
    """
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in attributes.items() if value
    )
    return Html(f"<{tag}{given}>{join_html(inside)}</{tag}>")


def code_text(text: str) -> Html:
    """Return a text with what stands between backticks set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick by itself is one
        return escape(text)
    return join_html(element("code", part) if place % 2 else part for place, part in enumerate(parts))


def parts_html(parts: Iterable[Part], draw: Draw | None = None) -> Html:
    """Return parts one below the other, neighbouring charts side by side; draw: makes the figure of a chart."""
    found: list[Html] = []
    for is_chart, run in itertools.groupby(parts, key=lambda part: isinstance(part, Chart)):
        if is_chart and draw is not None:
            found.append(element("div", *(draw(each) for each in run if isinstance(each, Chart)), class_="charts"))
        else:
            found += [_part(part) for part in run]
    return join_html(found)


def _part(part: Part) -> Html:
    if isinstance(part, Table):
        return table_html(part)
    return facts_html(part) if isinstance(part, Facts) else _text(part) if isinstance(part, Text) else Html()


def _text(text: Text) -> Html:
    """Return a paragraph, or a list."""
    words = [element("p", code_text(text.words), dir="auto", data_fact=text.key)] if text.words else []
    points = (element("li", code_text(point), dir="auto") for point in text.points)
    listed = [element("ul", *points)] if text.points else []
    kinds = f"text{' warning' * text.is_warning}{' headline' * text.is_headline}"
    return element("div", *words, *listed, class_=kinds, role="note" * text.is_warning)


def facts_html(shown: Facts) -> Html:
    """Return facts, each beside its label; one without a label is a sentence by itself."""
    found = []
    for has_label, run in itertools.groupby(shown.facts, key=lambda fact: bool(fact.label)):
        if has_label:
            kinds = f"facts{' figures' * shown.are_figures}{' headline' * shown.is_headline}"
            found.append(element("dl", *map(_fact, run), class_=kinds))
        else:
            lines = [(fact, code_text(fact.line)) for fact in run]
            kind = "li" if len(lines) > 1 else "p"
            listed = [element(kind, line, dir="auto", data_fact=fact.key) for fact, line in lines]
            found.append(element("ul", *listed) if len(lines) > 1 else listed[0])
    return join_html(found)


def _fact(fact: Fact) -> Html:
    label = f"{fact.part}: {fact.label}" if fact.part else fact.label
    note = [element("dd", fact.note, class_="note")] if fact.note else []
    said = element("dd", code_text(fact.text), class_="said", dir="auto", data_fact=fact.key)
    return element("div", element("dt", label), said, *note)


def table_html(table: Table) -> Html:
    """Return a table that scrolls where it is wide; the first cell of a line heads it."""

    def kind(place: int) -> str:
        return "number" * (place in table.numbers)

    heads = (
        element("th", cell, scope="col", dir="auto", class_=kind(place)) for place, cell in enumerate(table.heading)
    )
    lines = (
        element(
            "tr",
            *(
                element("th", cell, scope="row", dir="auto")
                if place == 0 and 0 not in table.numbers
                else element("td", cell, dir="auto", class_=kind(place))
                for place, cell in enumerate(line)
            ),
            class_="marked" * (number in table.marked),
        )
        for number, line in enumerate(table.lines)
    )
    caption = [element("caption", table.caption, dir="auto")] if table.caption else []
    whole = element("table", *caption, element("thead", element("tr", *heads)), element("tbody", *lines))
    return element("div", whole, class_="wide", role="region", tabindex="0", aria_label=table.caption or "Table")


# -- A card: what there is room for in a notebook.

_LINES: Final = 100  # of a table
_LETTERS: Final = 48  # of a cell of a table
_SAID: Final = 320  # letters of a sentence that is not folded away
_VISIBLE: Final = 2  # warnings that are not folded away
_ABOVE: Final = ("notice", "headline", "verdict", "said", "warning")


def card_html(shown: Document) -> Html:
    """Return a card: what is to be read first, and sections that open with a click."""
    facts = shown.by(*shown.short) if shown.short else shown.facts
    above = {key: [fact for fact in facts if fact.key == key] for key in _ABOVE}
    warnings = [fact.text for fact in above["warning"]]
    others = tuple(replace(fact, text=clip_text(fact.text, _SAID)) for fact in facts if fact.key not in above)
    seen = [
        *(element("p", each.text, class_="notice") for each in above["notice"]),
        *(_headline(each) for each in (*above["headline"], *above["verdict"])),
        *(element("p", clip_text(each.text, _SAID), class_="soft") for each in above["said"]),
        *map(_text, warnings_of(clip_text(each, _SAID) for each in warnings[:_VISIBLE])),
        facts_html(Facts(others)),
    ]
    sections = [*shown.sections]
    if len(warnings) > _VISIBLE or any(len(each) > _SAID for each in warnings):
        sections.append(Section("warnings", say("card.warnings"), (Text("", tuple(warnings)),)))
    name = f" · {clip_text(shown.name)}" if shown.name else ""
    hint = [element("div", code_text(shown.hint), class_="soft")] if shown.hint else []
    style = element("style", Html(style_of("core.css", "card.css").replace("\n", "")))
    title = element("div", f"{shown.kind}{name}", class_="soft")
    kinds = f"lapwing lw-card{f' lw-{shown.tone}' * bool(shown.tone)}"
    return element("div", style, title, *seen, *map(_foldable, sections), *hint, class_=kinds)


def _headline(fact: Fact) -> Html:
    said = f"{fact.part}: {fact.text}" if fact.part else fact.text
    return _text(Text(clip_text(said, _SAID), is_headline=True, key=fact.key))


def _foldable(section: Section) -> Html:
    """Return a section that opens with a click; one without a title is open."""
    parts = parts_html(_short(part) if isinstance(part, Table) else part for part in section.parts)
    inside = element("summary", section.title), element("div", parts)
    return element("details", *inside) if section.title else parts


def _short(table: Table) -> Table:
    """Return a table without the columns that say nothing, and its first lines where it is long."""
    kept = [place for place in range(len(table.heading)) if any(line[place] != "-" for line in table.lines)]
    more = len(table.lines) - _LINES
    said = [table.caption, *([say("card.more", count=more)] if more > 0 else [])]
    return Table(
        "; ".join(each for each in said if each),
        tuple(clip_text(table.heading[place]) for place in kept),
        tuple(tuple(clip_text(line[place], _LETTERS) for place in kept) for line in table.lines[:_LINES]),
        tuple(number for number, place in enumerate(kept) if place in table.numbers),
        table.marked,
    )


# -- Whole pages.

_META: Final = """<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="generator" content="Lapwing">
"""


def whole_page(title: str, style: str, *body: str, kind: str) -> str:
    """Return a page by itself, which runs no script and asks for nothing; style: beside that of all pages."""
    head = element(
        "head", Html(_META), element("title", title), element("style", Html(f"\n{style_of('core.css')}{style}"))
    )
    page = element("html", head, element("body", *body), lang="en", class_=f"lapwing {kind}")
    return f"<!doctype html>\n{page}\n"


@cache
def style_of(*names: str) -> str:
    """Return style sheets of this folder as one."""
    return "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


def section_html(section: Section, draw: Draw | None = None) -> Html:
    """Return a section under its heading, what is for experts folded away."""
    more = element("summary", say("report.experts"))
    folded = [element("details", more, parts_html(section.folded, draw), class_="more")] if section.folded else []
    heading = element("h2", section.title, id=section.key, dir="auto")
    return element("section", heading, parts_html(section.parts, draw), *folded, aria_labelledby=section.key)
