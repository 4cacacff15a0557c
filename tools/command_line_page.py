"""Write docs/reference/command-line.md from the commands themselves: ``python tools/command_line_page.py``."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import command_tree

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "command-line.md"
_HEAD = """\
<!-- Made by tools/command_line_page.py from the commands themselves: change those, then run it. -->

# The command line

What each command says with `--help`, which every one has. Errors have codes, which `lapwing explain CODE` explains;
commands that say *internal* show things about real rows, for their owner only.
"""
_TYPE = re.compile(r" <(?:str|path|list\[\w+\])>$")
_NOT_NAMES = re.compile(r"(?<=[a-z]) \S*[A-Z<].*| <.*")


def main() -> None:
    """Write the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8", newline="\n")


def page() -> str:
    """Return the page, in Markdown."""
    root, *commands = command_tree.shown_commands()
    shown = [each for each in commands if not each.commands]
    counted = Counter(each for one in shown for each in (*one.arguments, *one.options) if each[0] != "--help")
    shared = tuple(each for each, times in counted.items() if times > 1)
    parts = [_HEAD, *_listed("Options of all commands", root.options), f"{root.epilog}\n"]
    parts += ["## What several commands take\n", *_listed("The same wherever a command names it", shared)]
    return "\n".join([*parts, *(line for each in shown for line in _command(each, shared))])


def _command(shown: command_tree.Shown, shared: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield one command: its text, its arguments and options; shared ones by name."""
    yield f"## {shown.name}\n"
    for paragraph in shown.text.split("\n\n"):
        yield f"{_plain(paragraph)}\n"
    taken = (*shown.arguments, *(each for each in shown.options if each[0] != "--help"))
    yield from _listed("", tuple(each for each in taken if each not in shared))
    named = [f"`{_NOT_NAMES.sub('', name)}`" for name, text in taken if (name, text) in shared]
    if named:
        yield f"As above: {', '.join(named)}.\n"


def _listed(what: str, records: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield a list of things and what they are."""
    if records:
        lines = (f"- `{_TYPE.sub('', name)}`: {_plain(text)}" for name, text in records)
        yield "\n".join([*([f"{what}:\n"] if what else []), *lines, ""])


def _plain(text: str) -> str:
    """Return a text of a command as one line in which nothing but its code means anything to Markdown."""
    parts = re.split(r"(`[^`]*`)", re.sub(r"\s+", " ", text).strip())
    return "".join(part if part[:1] == "`" else re.sub(r"([\\*_<>\[\]|])", r"\\\1", part) for part in parts)


if __name__ == "__main__":
    main()
