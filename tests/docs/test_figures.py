"""Figures on the pages are those of the results, which commands wrote, and a page says at which commit."""

import csv
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from helpers.source_tree import ROOT

sys.path.insert(0, str(ROOT / "bench"))
from figures import FIGURES, table

RESULTS = ROOT / "bench" / "results"
MARKER = re.compile(r"^<!-- figures: bench/results/(\w+)\.csv -->$", re.MULTILINE)
COMMAND = re.compile(r"`(?:\w+=\w+ )?(?:python )?bench/(\w+)\.py")
COMMIT = re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{7,10}\b")
WRITTEN = {"arena.md"}
"""Pages that a command writes whole."""
MADE = {"scale_tables", "mechanism_pictures", "mechanism_scenes"}
"""Commands that make tables and pictures, no figures."""
NOT_COMPARED = {
    ("accuracy.md", "certificates_ratios"),
    ("accuracy.md", "verdict"),
    ("adaptive.md", "number_errors"),
    ("anonymous.md", "anonymous_tables"),
    ("audit.md", "audit_power"),
    ("audit.md", "tight_audit"),
    ("learn.md", "domains_coverage"),
    ("rules.md", "rules_error"),
    ("scale.md", "census1940"),
    ("scale.md", "scale"),
    ("scale.md", "scale_overhead"),
    ("survey-weights.md", "survey_weights"),
    ("threat-model.md", "side_channels"),
}
"""Named with file and commit, and not yet compared: no page is added here."""
NO_FILE = {("accuracy.md", "replicates"), ("engines.md", "spark_cluster")}
NO_FILE |= {("ledger.md", "ledger_speed")}
"""Commands that print and keep nothing: no page is added here either."""


def pages() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}


def sections(text: str) -> list[str]:
    """Return the parts of a page between its headings."""
    return re.split(r"^#+ .*$", text, flags=re.MULTILINE)


def marked() -> list[tuple[str, str]]:
    return [(page, name) for page, text in pages().items() for name in MARKER.findall(text)]


def missing(page: str, name: str, text: str) -> list[str]:
    """Return what the results say, and the page does not."""
    said = " ".join(text.split())
    return [each for each in FIGURES[page, name](table(name)) if each not in said]


@cache
def commits(name: str) -> tuple[str, ...]:
    """Return the commits at which results were measured: their own column, else those that wrote the file."""
    path = RESULTS / f"{name}.csv"
    with path.open(newline="") as file:
        own = {line.get("commit") or "" for line in csv.DictReader(file)}
    if own != {""}:
        return tuple(own - {""})
    command = [shutil.which("git") or "git", "log", "--format=%H", "--", str(path)]
    return tuple(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split())


@pytest.mark.parametrize(("page", "name"), FIGURES, ids=lambda each: each)
def test_a_page_says_what_the_results_say(page: str, name: str) -> None:
    assert missing(page, name, pages()[page]) == [], f"python bench/figures.py {page}"


def test_every_marker_has_a_file_and_is_compared() -> None:
    found = set(marked())

    assert all((RESULTS / f"{name}.csv").is_file() for _, name in found)
    assert found - set(FIGURES) == NOT_COMPARED


def test_every_figure_that_a_command_made_has_a_marker_in_its_section() -> None:
    bare = {
        (page, command)
        for page, text in pages().items()
        if page not in WRITTEN
        for part in sections(text)
        for command in COMMAND.findall(part)
        if command not in MADE and not MARKER.search(part)
    }

    assert bare == NO_FILE


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="commits are known in a repository")
def test_a_page_says_the_commit_at_which_its_figures_were_measured() -> None:
    texts = pages()
    silent = [
        (page, name)
        for page, name in marked()
        for part in sections(texts[page])
        if f"/{name}.csv -->" in part
        and not any(
            known.startswith(said) or said.startswith(known) for said in COMMIT.findall(part) for known in commits(name)
        )
    ]

    assert silent == []


def test_a_figure_that_was_changed_by_hand_is_seen() -> None:
    page, name = "kd-tree.md", "kernel_mixtures"
    text = pages()[page]

    assert missing(page, name, text.replace("| 0.0083 |", "| 0.0082 |")) != []
    assert COMMAND.findall("(`python bench/other.py part`)") == ["other"]


def test_the_command_prints_the_figures_of_a_page() -> None:
    command = [sys.executable, str(ROOT / "bench" / "figures.py"), "linked-tables.md"]

    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert "| season | 0.055, 0.091 |" in printed
    assert Path(command[1]).is_file()
