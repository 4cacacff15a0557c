"""What README and the docs show is there, and what they mark as run does run."""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.documents import blocks, marked_blocks, prose, shown_make_commands, unshown
from helpers.notebooks import GALLERY
from helpers.source_tree import ROOT
from lapwing.mechanisms.registry import MECHANISMS

EXAMPLES = ROOT / "src" / "lapwing" / "examples"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
RUN = [
    "quickstart.md",
    "privacy-promise.md",
    "privacy-unit.md",
    "budget.md",
    "synthetic-data.md",
    "schema.md",
    "rules.md",
    "learn.md",
    "foreign.md",
    "engines.md",
    "after-the-release.md",
    "priors.md",
    "certificate.md",
    "accuracy.md",
    "evaluate.md",
    "publishing.md",
    "mechanisms.md",
    "adaptive.md",
    "tables.md",
    "pmm.md",
    "kd-tree.md",
    "microaggregation.md",
    "linear-statistics.md",
    "private-sampling.md",
    "anonymous.md",
    "ledger.md",
    "audit.md",
]
FIRST_SCREEN_LINES = 24
MOST_PAGES, MOST_WORDS = 45, 45_000
"""Without the eight notebooks, and with their words; outputs do not count."""
WRITTEN = {"arena.md": ROOT / "bench" / "arena" / "page_words.md"}
"""What somebody wrote of a page that a command makes; the rest is its output."""
PLAIN = re.compile(r"lapwing [^|<>&;$()#`]*")
"""A command of which a shell only finds the words."""
ROWS = 4000
"""Of the bundled table; the pages show the same with fewer rows, in half of the time."""


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def run_block(language: str, code: str, folder: Path, namespace: dict[str, object]) -> str:
    """Return what a block prints."""
    if language == "python":
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "quickstart", "exec"), namespace)
        return printed.getvalue()
    commands = code.replace("\\\n", " ").splitlines()
    if all(PLAIN.fullmatch(each) for each in commands):
        return "".join(run_command(each) for each in commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path}
    return subprocess.run(
        ["bash", "-euc", code], cwd=folder, env=environ, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout


def run_command(line: str) -> str:
    """Return what a command prints in this process: a process of its own takes longer to start than to run."""
    said = lapwing(*shlex.split(line)[1:])
    if said.status != 0:
        raise subprocess.CalledProcessError(said.status, line, said.out, said.err)
    return said.out


def test_the_first_screen_of_the_readme_has_exactly_the_two_commands() -> None:
    first_screen = (ROOT / "README.md").read_text().splitlines()[:FIRST_SCREEN_LINES]

    assert shown_make_commands("\n".join(first_screen)) == ["demo", "test"]


def test_every_make_command_that_is_shown_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]

    assert {name for page in pages for name in shown_make_commands(page.read_text())} <= make_targets()


def test_make_help_lists_the_targets_with_their_texts() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)

    listed = re.findall(r"^make ([a-z-]+) +(\S.*\.)$", done.stdout, flags=re.MULTILINE)
    assert {target for target, _ in listed} == make_targets()
    assert len(listed) == len(done.stdout.splitlines())


@pytest.mark.parametrize(("name", "lines"), [("docs/quickstart.md", None), ("docs/guarantees.md", FIRST_SCREEN_LINES)])
def test_a_reader_is_told_in_time_what_is_not_promised(name: str, lines: int | None) -> None:
    read = " ".join((ROOT / name).read_text().splitlines()[:lines])

    assert "model's guess, and no bound is proved for its error" in read


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_the_first_screen_shows_what_comes_out_and_names_no_mechanism(name: str) -> None:
    first_screen = "\n".join((ROOT / name).read_text().splitlines()[:FIRST_SCREEN_LINES])

    assert "img/real-and-synthetic.svg" in first_screen
    assert "lw.synthesize(" in first_screen
    assert [kind.name for kind in MECHANISMS.values() if kind.name in first_screen] == []


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_readme_and_home_say_what_is_not_promised(name: str) -> None:
    text = " ".join((ROOT / name).read_text().split())

    assert "Tables that were not measured are the model's guess, and no bound is proved for its error." in text


def test_a_command_that_does_not_exist_is_found() -> None:
    shown = shown_make_commands("Run `make nothing`:\n```sh\nmake neither\n```\n")

    assert set(shown) - make_targets() == {"nothing", "neither"}


@pytest.mark.parametrize("name", RUN)
def test_the_marked_blocks_of_a_page_run_and_what_they_print_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(EXAMPLES / "adult.schema.json", tmp_path)
    pl.read_parquet(EXAMPLES / "adult.parquet").sample(ROWS, seed=1).write_parquet(tmp_path / "adult.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    found = blocks((ROOT / "docs" / name).read_text())
    namespace: dict[str, object] = {}

    printed = [run_block(each.language, each.code, tmp_path, namespace) for each in found]

    assert found
    assert [each.code for each, text in zip(found, printed, strict=True) if unshown(each, text)] == []


def test_an_output_that_is_missing_or_of_another_time_is_noticed() -> None:
    shown = blocks("<!-- run -->\n```sh\nlapwing x\n```\n\n```text\nrows    48,921\n```\n")[0]
    silent = blocks("<!-- run -->\n```sh\nlapwing x\n```\n\nMore.\n")[0]
    tabs = '=== "A"\n\n    <!-- run -->\n    ```sh\n    1\n    ```\n\n'
    both = blocks(f"{tabs}{tabs}```text\nrows  1\n```\n")

    assert not unshown(shown, "first\nrows 52,000\n")
    assert unshown(shown, "people 48,921\n")
    assert unshown(silent, "something\n")
    assert not unshown(silent, "\n")
    assert [unshown(each, "rows 7") for each in both] == [False, False]


@pytest.mark.parametrize("name", RUN)
def test_every_command_and_every_python_block_of_these_pages_is_run(name: str) -> None:
    text = (ROOT / "docs" / name).read_text()

    marked = [block for block in marked_blocks(text) if block[0] in ("python", "sh")]
    shown = re.findall(r"^ *```(?:python|sh)$", text, flags=re.MULTILINE)

    assert len(marked) == len(shown)


def test_every_key_of_a_certificate_is_explained() -> None:
    table = pl.DataFrame({"flag": [True, False]})
    schema = {"fields": [{"name": "flag", "type": "boolean"}]}
    keys = lw.synthesize(table, schema, epsilon=1).certificate.to_dict()
    page = (ROOT / "docs" / "certificate.md").read_text()

    lines = [line for line in page.splitlines() if line.startswith("- `")]

    inner = ("columns", "sensitivity", "noise", "cost", "question", "exact", "decimal")
    unexplained = [key for key in (*keys, *inner) if not any(f"`{key}`" in line for line in lines)]
    assert unexplained == []


def test_only_marked_blocks_are_taken() -> None:
    text = "```python\n1\n```\n<!-- run -->\n```python\n2\n```\n\n<!-- run -->\n```sh\n3\n```\n"

    assert marked_blocks(text) == [("python", "2\n"), ("sh", "3\n")]


def test_the_blocks_of_tabs_are_taken_without_their_indent() -> None:
    text = '=== "Python"\n\n    <!-- run -->\n    ```python\n    if 1:\n        2\n    ```\n'

    assert marked_blocks(text) == [("python", "if 1:\n    2\n")]


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run_block("python", "assert 1 == 2\n", tmp_path, {})
    with pytest.raises(subprocess.CalledProcessError):
        run_block("sh", "false\ntrue\n", tmp_path, {})
    with pytest.raises(subprocess.CalledProcessError):
        run_block("sh", "lapwing nothing\nlapwing --version\n", tmp_path, {})


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (ROOT / "mkdocs.yml").read_text()

    assert [path for path in DOCS if f" {path.relative_to(ROOT / 'docs')}\n" not in contents] == []


def test_the_list_for_language_models_has_every_page() -> None:
    listed = re.findall(r"^- \[.+\]\((.+)\)$", (ROOT / "docs" / "llms.txt").read_text(), flags=re.MULTILINE)

    assert sorted(listed) == sorted(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE))


def test_the_docs_stay_as_long_as_somebody_reads() -> None:
    written = [WRITTEN.get(path.name, path) for path in DOCS]
    pages = [prose(path.read_text(encoding="utf-8")) for path in written]
    cells = [cell for path in GALLERY for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]

    words = sum(len(text.split()) for text in (*pages, *("".join(cell["source"]) for cell in cells)))

    assert len(DOCS) <= MOST_PAGES
    assert words <= MOST_WORDS, "say it once: merge or shorten pages before you add one"


def test_the_glossary_has_at_most_forty_terms() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

    assert 30 <= len(re.findall(r"^- \*\*", glossary, flags=re.MULTILINE)) <= 40


def test_changelog_fragments_say_what_kind_they_are() -> None:
    names = {path.name for path in (ROOT / "changelog.d").iterdir()} - {"README.md"}
    kinds = "added|changed|fixed|removed|privacy"

    assert {name for name in names if not re.fullmatch(rf"[a-z0-9-]+\.({kinds})\.md", name)} == set()
