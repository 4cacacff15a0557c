"""Reading the project's own Markdown pages."""

import re
import textwrap
from dataclasses import dataclass


def shown_make_commands(text: str) -> list[str]:
    """Return the targets of ``make`` in code blocks and inline code, in order."""
    return re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, flags=re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code that is marked as run; ``after``: what a reader sees below it, before the next one.

    Below a block in one of several tabs is what stands below all of them.
    """

    language: str
    code: str
    after: str


_RUN = re.compile(r"^( *)<!-- run -->\n\1```(\w+)\n(.*?)^\1```$", flags=re.MULTILINE | re.DOTALL)
_WITHIN_TABS = re.compile(r"(?:\s*\n|=== [^\n]*\n| {4}[^\n]*\n)*")
_FIGURES = re.compile(r"^<!-- figures: \S+ -->$", flags=re.MULTILINE)
_OUTPUT = re.compile(r"^( *)```text\n(.*?)^\1```$", flags=re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[Block]:
    """Return the blocks after a line ``<!-- run -->``, in order; those of tabs are indented on the page."""
    found = list(_RUN.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)] * bool(found)
    between = [text[each.end() : end] for each, end in zip(found, ends, strict=True)]
    for place in reversed(range(len(found) - 1)):
        if found[place + 1][1] and _WITHIN_TABS.fullmatch(between[place].lstrip("\n")):
            between[place] += between[place + 1]
    return [Block(each[2], textwrap.dedent(each[3]), after) for each, after in zip(found, between, strict=True)]


def marked_blocks(text: str) -> list[tuple[str, str]]:
    """Return language and code of those blocks."""
    return [(each.language, each.code) for each in blocks(text)]


def prose(text: str) -> str:
    """Return a page without the outputs that it shows."""
    return _FIGURES.sub("", _OUTPUT.sub("", text))


def unshown(block: Block, printed: str) -> bool:
    """Whether a block printed something, and the page shows no output below it whose first words are those of a line.

    Figures and verdicts are not compared: noise has no seed.
    """
    shown = _OUTPUT.search(block.after)
    if not printed.strip():
        return False
    if shown is None:
        return True
    first = _words(shown[2].splitlines()[0])
    return not any(_words(line) == first for line in printed.splitlines())


def _words(line: str) -> list[str]:
    return re.sub(r"[-+]?\d[\d.,]*(e-?\d+)?", "#", line).split()[:3]
