"""Write the manual page man/lapwing.1 from the commands themselves: ``python tools/man_page.py`` (make man)."""

import re
from collections.abc import Iterator
from pathlib import Path

import command_tree

from lapwing.version import VERSION

PAGE = Path(__file__).resolve().parents[1] / "man" / "lapwing.1"
_FILES = (
    ("OUT", "Rows: Parquet or CSV. They may be published when the certificate may."),
    ("OUT.certificate.json", "What was spent on what, and what was assumed; written last, so that it is there only "
     "when everything else is."),
    ("M.lapwing", "A released model: released numbers only, to draw more rows from."),
    ("S.json", "A schema: everything public about a table, written by its owner."),
)  # fmt: skip


def main() -> None:
    """Write the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8", newline="\n")


def page() -> str:
    """Return the manual page, in the macros of man(7)."""
    commands = list(command_tree.shown_commands())
    root = commands[0]
    lines = [
        "'\\\" -*- coding: utf-8 -*-",
        '.\\" Made by tools/man_page.py from the commands themselves: change those, then run make man.',
        f'.TH LAPWING 1 "" "Lapwing {VERSION}" "User Commands"',
        ".SH NAME",
        f"lapwing \\- {_plain(root.text)}",
        ".SH SYNOPSIS",
        ".B lapwing",
        _plain(root.usage.removeprefix("lapwing ")),
        ".SH DESCRIPTION",
        _plain("Everything public about a table is in a schema, which its owner writes. Questions about the rows are "
               "answered with exact noise, and the certificate says what was spent. Rows and numbers out are made "
               "of these answers alone."),
        ".SH OPTIONS",
        *_listed(root.options),
        ".SH COMMANDS",
    ]  # fmt: skip
    for each in commands[1:]:
        if not each.commands:
            lines += _command(each)
    lines += [".SH EXIT STATUS", _plain(root.epilog.removeprefix("Exit status: "))]
    lines += [".SH FILES", *_listed(_FILES)]
    return "\n".join(lines) + "\n"


def _command(shown: command_tree.Shown) -> Iterator[str]:
    """Yield one command: its usage, its text, its arguments and options."""
    yield f".SS {_plain(shown.usage)}"
    for number, paragraph in enumerate(shown.text.split("\n\n")):
        if number:
            yield ".PP"
        yield _plain(paragraph)
    yield from _listed(shown.arguments)
    yield from _listed(shown.options)


def _listed(records: "tuple[tuple[str, str], ...]") -> Iterator[str]:
    """Yield a list of things and what they are."""
    for name, text in records:
        yield ".TP"
        yield f".B {_plain(name)}"
        yield _plain(text) or "\\&"


def _plain(text: str) -> str:
    """Return a text as one line of a page, in which nothing means anything else to troff."""
    line = re.sub(r"\s+", " ", text).strip().replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line[:1] in (".", "'") else line


if __name__ == "__main__":
    main()
