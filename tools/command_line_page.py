"""Write docs/reference/command-line.md from the commands themselves: ``python tools/command_line_page.py``."""

import re
from collections.abc import Iterator
from pathlib import Path

import command_tree

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "command-line.md"
_HEAD = """\
<!-- Made by tools/command_line_page.py from the commands themselves: change those, then run it. -->

# The command line

What each command says with `--help`. Errors have codes, which `lapwing explain CODE` explains; commands that say
*internal* show things about real rows, for their owner only.
"""


def main() -> None:
    """Write the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8", newline="\n")


def page() -> str:
    """Return the page, in Markdown."""
    root, *commands = command_tree.shown_commands()
    shown = [_HEAD, *_listed("Options of all commands", root.options), f"{root.epilog}\n"]
    for each in commands:
        if not each.commands:
            shown += _command(each)
    return "\n".join(shown)


def _command(shown: command_tree.Shown) -> Iterator[str]:
    """Yield one command: its usage, its text, its arguments and options."""
    yield f"## {shown.name}\n"
    yield f"```text\n{shown.usage}\n```\n"
    for paragraph in shown.text.split("\n\n"):
        yield f"{_plain(paragraph)}\n"
    yield from _listed("Arguments", shown.arguments)
    yield from _listed("Options", shown.options)


def _listed(what: str, records: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield a table of things and what they are."""
    if records:
        lines = [f"| `{name.replace('|', chr(92) + '|')}` | {_plain(text)} |" for name, text in records]
        yield "\n".join([f"| {what} | |", "|---|---|", *lines, ""])


def _plain(text: str) -> str:
    """Return a text of a command as one line in which nothing but its code means anything to Markdown."""
    parts = re.split(r"(`[^`]*`)", re.sub(r"\s+", " ", text).strip())
    return "".join(part if part[:1] == "`" else re.sub(r"([\\*_<>\[\]|])", r"\\\1", part) for part in parts)


if __name__ == "__main__":
    main()
