"""The frame of a card: title, verdict, a few figures, and what is folded away, as one piece of HTML without a script.

Colours are those of the notebook (Jupyter, VS Code, Material for MkDocs), or else of the reader's system.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from lapwing.present.document import Section, Table, Text, clipped, sentence
from lapwing.schema.scalars import visible

Tone = Literal["", "good", "fair", "weak", "none", "internal"]

_LINES: Final = 100  # of a table
_LETTERS: Final = 48  # of a cell of a table
_SAID: Final = 320  # letters of a sentence that is not folded away
_VISIBLE: Final = 2  # warnings that are not folded away

_THEMES: Final = {
    "ink": ("jp-content-font-color1", "vscode-editor-foreground", "md-default-fg-color"),
    "soft": ("jp-content-font-color2", "vscode-descriptionForeground", "md-default-fg-color--light"),
    "line": ("jp-border-color2", "vscode-editorWidget-border", "md-default-fg-color--lightest"),
    "ground": ("jp-layout-color0", "vscode-editor-background", "md-default-bg-color"),
}
_LIGHT: Final = {"ink": "#1b2430", "soft": "#566170", "line": "#d3dae2", "ground": "#ffffff"}
_DARK: Final = {"ink": "#e7ecf2", "soft": "#a9b5c3", "line": "#3a4654", "ground": "#12171e"}


def _style() -> str:
    """Return the style sheet; what notebooks say of tables is overruled."""
    light, dark = ("".join(f"--lw-{name}:{shade};" for name, shade in shades.items()) for shades in (_LIGHT, _DARK))
    ink, soft, line, ground = (
        f"{''.join(f'var(--{theme},' for theme in themes)}var(--lw-{name}){')' * len(themes)}"
        for name, themes in _THEMES.items()
    )
    return f"""
.lw-card{{{light}max-width:48rem;box-sizing:border-box;padding:.6rem .8rem;border:1px solid {line};
border-left:4px solid var(--lw-tone,{line});border-radius:4px;color:{ink};background:{ground};overflow-wrap:anywhere;
font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}}
@media (prefers-color-scheme:dark){{.lw-card{{{dark}}}}}
.lw-card.lw-good{{--lw-tone:#2a9d78}}.lw-card.lw-fair{{--lw-tone:#3f8fc4}}.lw-card.lw-weak{{--lw-tone:#d08a1d}}
.lw-card.lw-none,.lw-card.lw-internal{{--lw-tone:#d0455a}}
.lw-card p,.lw-card ul,.lw-card pre{{margin:.3rem 0;color:inherit;font-size:13px}}.lw-card ul{{padding-left:1.2rem}}
.lw-card .lw-soft,.lw-card th,.lw-card caption,.lw-card summary{{color:{soft}}}
.lw-card .lw-verdict{{font-size:15px;font-weight:600}}
.lw-card .lw-warn{{padding-left:.6rem;border-left:3px solid #d08a1d}}
.lw-card .lw-notice{{padding:.1rem .5rem;border-radius:3px;color:#fff;background:#b3273f;width:fit-content}}
.lw-card table.lw-table{{display:table;width:100%;margin:.4rem 0;border:0;border-collapse:collapse;table-layout:auto;
font-size:12.5px;color:inherit;background:none}}
.lw-card table.lw-table caption{{padding:0 0 .2rem;text-align:left;caption-side:top}}
.lw-card table.lw-table tr,.lw-card table.lw-table tr:nth-child(n){{border:0;background:none}}
.lw-card table.lw-table tr>*{{min-width:0;max-width:none;padding:.12rem .7rem .12rem 0;border:0;
border-bottom:1px solid {line};font-weight:400;text-align:left;vertical-align:top;white-space:normal;
overflow-wrap:break-word}}
.lw-card table.lw-table tr.lw-mark:nth-child(n){{background:rgba(208,69,90,.15)}}.lw-card .lw-wide{{overflow-x:auto}}
.lw-card table.lw-table tr>.lw-number{{text-align:right;font-variant-numeric:tabular-nums}}
.lw-card table.lw-table tr>td.lw-number{{white-space:nowrap}}
.lw-card table.lw-facts tr>*{{overflow-wrap:anywhere}}.lw-card table.lw-facts tr>th{{width:7rem}}
.lw-card details{{margin:.15rem 0}}
.lw-card summary{{cursor:pointer}}.lw-card details>div{{max-height:22rem;overflow:auto}}
.lw-card pre{{white-space:pre-wrap;background:none;font:12px/1.4 ui-monospace,"DejaVu Sans Mono",monospace}}
"""


_STYLE: Final = _style().replace("\n", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Hold what a card shows.

    kind, name: the title; notice: what must be read first; verdict: set large, in a colour by its tone; facts: the few
    figures, by name; points: sentences under them; shown: a short table; folded: sections that open with a click;
    hint: what to do next.
    """

    kind: str
    name: str = ""
    notice: str = ""
    verdict: str = ""
    tone: Tone = ""
    said: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    points: tuple[str, ...] = ()
    warnings: Sequence[str] = ()
    shown: Table | None = None
    folded: tuple[Section, ...] = ()
    hint: str = ""

    def html(self) -> str:
        """Return the card, every text of it escaped."""
        name = f" · {_text(clipped(self.name))}" if self.name else ""
        parts = [f'<div class="lw-soft">{_text(self.kind)}{name}</div>']
        parts += [f'<p class="lw-notice">{_text(self.notice)}</p>'] * bool(self.notice)
        parts += [f'<p class="lw-verdict">{_text(clipped(self.verdict, _SAID))}</p>'] * bool(self.verdict)
        parts += [f'<p class="lw-soft">{_text(clipped(self.said, _SAID))}</p>'] * bool(self.said)
        parts += [
            f'<p class="lw-warn">{_text(clipped(sentence(each), _SAID))}</p>' for each in self.warnings[:_VISIBLE]
        ]
        if self.facts:
            cells = ((_text(what), _text(clipped(said, _SAID))) for what, said in self.facts)
            lines = (f"<tr><th>{what}</th><td>{said}</td></tr>" for what, said in cells)
            parts.append(f'<table class="lw-table lw-facts"><tbody>{"".join(lines)}</tbody></table>')
        parts += [_listed([clipped(each, _SAID) for each in self.points])] * bool(self.points)
        parts += [] if self.shown is None else [_table(self.shown)]
        folded = self.folded
        if len(self.warnings) > _VISIBLE or any(len(each) > _SAID for each in self.warnings):
            folded = (*folded, sentences("All warnings", self.warnings))
        parts += [_folded(each) for each in folded]
        parts += [f'<div class="lw-soft">{_coded(self.hint)}</div>'] * bool(self.hint)
        tone = f" lw-{self.tone}" if self.tone else ""
        return f'<div class="lw-card{tone}"><style>{_STYLE}</style>{"".join(parts)}</div>'


def sentences(title: str, lines: Sequence[str]) -> Section:
    """Return a section that lists sentences."""
    return Section(key="", title=title, parts=(Text(words="", points=tuple(lines)),))


def in_full(title: str, text: str) -> Section:
    """Return a section that shows a text as it is printed."""
    return Section(key="in-full", title=title, parts=(Text(words=text),))


def _folded(section: Section) -> str:
    """Return a section that opens with a click."""
    parts = []
    for part in section.parts:
        if isinstance(part, Table):
            parts.append(_table(part))
        elif isinstance(part, Text):
            tag = "pre" if section.key == "in-full" else "p"
            parts += [f"<{tag}>{_text(part.words)}</{tag}>"] * bool(part.words)
            parts += [_listed(part.points)] * bool(part.points)
    return f"<details><summary>{_text(section.title)}</summary><div>{''.join(parts)}</div></details>"


def _table(table: Table) -> str:
    """Return a table without the columns that say nothing, and its first lines where it is long."""
    kept = [place for place in range(len(table.heading)) if any(line[place] != "-" for line in table.lines)]
    more = len(table.lines) - _LINES
    said = f"{table.caption}{f'; {more:,} more are left out' if more > 0 else ''}"
    marks = dict.fromkeys(table.numbers, ' class="lw-number"')
    lines = [
        "".join(f"<td{marks.get(place, '')}>{_text(clipped(line[place], _LETTERS))}</td>" for place in kept)
        for line in table.lines[:_LINES]
    ]
    heading = "".join(f"<th{marks.get(place, '')}>{_text(clipped(table.heading[place]))}</th>" for place in kept)
    caption = f"<caption>{_text(said)}</caption>" if said else ""
    marked = dict.fromkeys(table.marked, ' class="lw-mark"')
    body = "".join(f"<tr{marked.get(place, '')}>{line}</tr>" for place, line in enumerate(lines))
    head = f"<thead><tr>{heading}</tr></thead>"
    return f'<div class="lw-wide"><table class="lw-table">{caption}{head}<tbody>{body}</tbody></table></div>'


def first_lines(table: Table, count: int) -> Table:
    """Return a table with its first lines alone."""
    return replace(table, lines=table.lines[:count])


def _listed(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in lines)}</ul>"


def _coded(text: str) -> str:
    """Return a text of ours with what stands between backticks as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", _text(text))


def _text(text: str) -> str:
    return html.escape(visible(text))
