"""`lapwing explain`: what the code at the end of a line means, from the text that docs/errors.md shows."""

import re
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli import options
from lapwing.cli.options import argument, flag
from lapwing.errors import ParameterError
from lapwing.schema.scalars import align_lines, quote

_PAGE = Path(__file__).resolve().parents[1] / "errors.md"
_WIDTH = 80
_ENTRY = re.compile(r"^### (LW\d{3}): (.+?) \{#lw\d{3}\}\n\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


def explain(
    context: typer.Context,
    code: Annotated[str | None, argument("CODE", "The code at the end of an error, such as LW310.")] = None,
    all_codes: Annotated[bool, flag("--list", "List all codes, one per line.")] = False,
) -> None:
    """Explain an error: what it means, why there is such a rule, and what to do."""
    if all_codes == (code is not None):
        raise options.misuse("give a code such as LW310, or --list for all of them", context, code="LW903")
    entries = {number: (title, body) for number, title, body in _ENTRY.findall(_PAGE.read_text(encoding="utf-8"))}
    if code is None:
        print(align_lines([("code", "what happened"), *((number, title) for number, (title, _) in entries.items())]))
        return
    wanted = "LW" + code.strip(" []").upper().removeprefix("LW")
    if wanted not in entries:
        raise ParameterError(f"there is no code {quote(code)}; `lapwing explain --list` shows all", code="LW906")
    title, body = entries[wanted]
    print(f"{wanted}: {title}\n\n{_as_text(body)}")


def _as_text(body: str) -> str:
    """Return paragraphs of the page as lines for a terminal; commands in fences stay as they are."""
    return "\n\n".join(
        textwrap.indent(part.strip("`\n"), "    ") if part.startswith("```") else _wrapped(part)
        for part in body.strip().split("\n\n")
    )


def _wrapped(paragraph: str) -> str:
    """Return a paragraph without the signs of Markdown, at the width of a terminal."""
    plain = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"\1 (docs/\2)", paragraph.replace("**", ""))
    # What stands between backticks is one word, so that a command can be copied from one line.
    kept = re.sub(r"`[^`]+`", lambda found: " ".join(found[0].split()).replace(" ", "\0"), plain)
    return textwrap.fill(kept, _WIDTH, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


# -- `lapwing mechanisms`.


def mechanisms() -> None:
    """List the mechanisms and what each one does."""
    from lapwing.mechanisms.registry import MECHANISMS  # noqa: PLC0415

    lines = [(kind.name, ", ".join(kind.relations), kind.summary) for kind in MECHANISMS.values()]
    print(align_lines([("name", "neighbours", "what it does"), *lines]))
