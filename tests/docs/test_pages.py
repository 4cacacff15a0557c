"""What README and the docs show is there, and what they mark as run does run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.documents import marked_blocks, shown_make_commands
from helpers.source_tree import ROOT

EXAMPLES = ROOT / "src" / "lapwing" / "examples"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
FIRST_SCREEN_LINES = 24


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def run_block(language: str, code: str, folder: Path, namespace: dict[str, object]) -> None:
    if language == "python":
        exec(compile(code, "quickstart", "exec"), namespace)
        return
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-euc", code], cwd=folder, env={**os.environ, "PATH": path}, check=True)


def test_the_first_screen_of_the_readme_has_exactly_the_two_commands() -> None:
    first_screen = (ROOT / "README.md").read_text().splitlines()[:FIRST_SCREEN_LINES]

    assert shown_make_commands("\n".join(first_screen)) == ["demo", "test"]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", *(str(path.relative_to(ROOT)) for path in DOCS)])
def test_every_make_command_that_is_shown_exists(name: str) -> None:
    shown = shown_make_commands((ROOT / name).read_text())

    assert set(shown) <= make_targets()


def test_a_command_that_does_not_exist_is_found() -> None:
    shown = shown_make_commands("Run `make nothing`:\n```sh\nmake neither\n```\n")

    assert set(shown) - make_targets() == {"nothing", "neither"}


def test_the_marked_blocks_of_the_quickstart_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("adult.parquet", "adult.schema.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    blocks = marked_blocks((ROOT / "docs" / "quickstart.md").read_text())
    namespace: dict[str, object] = {}

    for language, code in blocks:
        run_block(language, code, tmp_path, namespace)

    assert {language for language, _ in blocks} == {"python", "sh"}


def test_only_marked_blocks_are_taken() -> None:
    text = "```python\n1\n```\n<!-- run -->\n```python\n2\n```\n\n<!-- run -->\n```sh\n3\n```\n"

    assert marked_blocks(text) == [("python", "2\n"), ("sh", "3\n")]


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run_block("python", "assert 1 == 2\n", tmp_path, {})
    with pytest.raises(subprocess.CalledProcessError):
        run_block("sh", "false\ntrue\n", tmp_path, {})


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (ROOT / "mkdocs.yml").read_text()

    assert [path for path in DOCS if f" {path.relative_to(ROOT / 'docs')}\n" not in contents] == []


def test_changelog_fragments_say_what_kind_they_are() -> None:
    names = {path.name for path in (ROOT / "changelog.d").iterdir()} - {"README.md"}
    kinds = "added|changed|fixed|removed|privacy"

    assert {name for name in names if not re.fullmatch(rf"[a-z0-9-]+\.({kinds})\.md", name)} == set()
