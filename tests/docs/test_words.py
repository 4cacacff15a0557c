"""Pages, printed texts and ``--help`` say *learned with budget*, *invalid value* and *hidden by noise*."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from helpers.source_tree import ROOT

OLD = re.compile(r"\b(?:bought\w*|buy\w*|purchas\w*|misfit\w*|drown\w*)", flags=re.IGNORECASE)
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`|<!--.*?-->|\]\([^)\n]*\)", flags=re.MULTILINE | re.DOTALL)
ALLOWED = {
    "docs/guarantees.md": {"MisfitRows"},
    "docs/reference/python.md": {"bought", "BoughtEvaluation"},
}
"""Names of the interface. Code, comments and addresses are not read; nor are decisions and the changelog."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "reference").glob("*.md"))]


def texts(table: dict[str, Any]) -> Iterator[str]:
    """Yield every text of a TOML file."""
    for value in table.values():
        if isinstance(value, dict):
            yield from texts(value)
        else:
            yield str(value)


@pytest.mark.parametrize("folder", ["present", "extras/evaluate"])
def test_what_lapwing_prints_keeps_to_the_words(folder) -> None:
    printed = tomllib.loads((ROOT / "src" / "lapwing" / folder / "en.toml").read_text(encoding="utf-8"))

    assert [text for text in texts(printed) if OLD.search(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_keeps_to_the_words(page) -> None:
    """docs/reference/command-line.md is what ``--help`` prints, as another test sees to."""
    name = page.relative_to(ROOT).as_posix()
    prose = CODE.sub(" ", page.read_text(encoding="utf-8"))
    assert set(OLD.findall(prose)) - ALLOWED.get(name, set()) == set()
