"""Tests that need R, Spark and the like are left out only where nothing that they look at changed, and it is said."""

import os
import re
import subprocess
import sys

import pytest

from helpers.source_tree import ROOT
from helpers.surroundings import BY_ALL, LOOKED_AT, unchanged

TESTS = """
import pytest

@pytest.mark.needs("R")
def test_r():
    pass

@pytest.mark.parametrize("name", ["here", pytest.param("there", marks=pytest.mark.needs("Spark"))])
def test_rows(name):
    pass
"""


def git(folder, *words):
    named = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path):
    """Return a clone of a change that has landed."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    (tmp_path / "r").mkdir()
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "all")
    return tmp_path


def said(folder, *words):
    """Run the tests of a clone; return all that is said, and the last line."""
    alone = {"PYTHONPATH": str(ROOT / "tests"), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugins = ("-p", "helpers.surroundings", "-p", "xdist", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, f"--rootdir={folder}", *plugins, *words, "tests"]
    settings = {"env": {**os.environ, **alone}, "cwd": folder}
    out = subprocess.run(command, check=False, capture_output=True, text=True, **settings).stdout
    return out, out.splitlines()[-1]


def test_what_needs_a_surrounding_is_left_out_and_named_before_the_closing_line(clone):
    out, last = said(clone, "--since", "HEAD", "-n", "1")

    assert re.search(
        r"left out because nothing they look at changed since HEAD: .* R, notebooks, Postgres, Spark;", out
    )
    assert "1 passed" in last


@pytest.mark.parametrize(
    ("new", "run"),
    [
        ("r/DESCRIPTION", {"R"}),
        ("src/lapwing/rows/new.py", {"Spark"}),
        ("src/lapwing/kernel/budget/new.py", {"Postgres"}),
        ("pyproject.toml", {*LOOKED_AT}),
        ("README.md", set()),
    ],
)
def test_what_changed_decides_what_runs(clone, new, run):
    (clone / new).parent.mkdir(parents=True, exist_ok=True)
    (clone / new).write_text("new")

    before_its_commit = unchanged(clone, "HEAD")
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "new")

    assert before_its_commit == unchanged(clone, "HEAD~1") == {*LOOKED_AT} - run
    assert unchanged(clone, "HEAD") == {*LOOKED_AT}


def test_tests_that_changed_run(clone):
    (clone / "tests" / "test_some.py").write_text(TESTS + "\n")

    assert "3 passed" in said(clone, "--since", "HEAD")[1]


@pytest.mark.parametrize("words", [(), ("--since", "HEAD~20")], ids=["without a commit", "with one that is not there"])
def test_nothing_is_left_out_unless_git_can_tell(clone, words):
    out, last = said(clone, *words)

    assert "left out" not in out
    assert "3 passed" in last


def test_nothing_is_left_out_where_there_is_no_git(tmp_path):
    assert unchanged(tmp_path, "HEAD") == set()


def test_every_path_that_decides_is_there():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for path in (*BY_ALL, *(path for paths in LOOKED_AT.values() for path in paths)):
        assert any(name.startswith(path) for name in files), path


def test_every_need_is_one_that_can_be_left_out():
    named = {
        need
        for path in (ROOT / "tests").rglob("test_*.py")
        for need in re.findall(r'\.needs\("(\w+)"\)', path.read_text())
    }

    assert named == {*LOOKED_AT}
