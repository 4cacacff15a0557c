"""Write docs/glossary.md from the words that documents keep to: ``python tools/glossary_page.py``."""

import textwrap
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "glossary.md"
WORDS = ROOT / "tools" / "words.toml"
_HEAD = """\
<!-- tools/glossary_page.py -->

# Glossary

The usual word stands beside our own.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8", newline="\n")


def page() -> str:
    """Return the page, in Markdown."""
    parts = [_HEAD]
    for subject, words in tomllib.loads(WORDS.read_text(encoding="utf-8")).items():
        lines = (f"- {word}: {meaning}" for word, meaning in words.items())
        wrapped = (textwrap.fill(line, 120, subsequent_indent="  ", break_on_hyphens=False) for line in lines)
        parts += [f"## {subject}\n", "\n".join(wrapped) + "\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
