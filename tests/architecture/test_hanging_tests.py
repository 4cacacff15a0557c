"""A test that hangs fails after a while and says where it hangs; the others go on."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
(WORKERS,) = re.findall(r"(?m)^PYTEST_ARGS \?= (.+)$", (ROOT / "Makefile").read_text())
PROJECT = """
import threading
import pytest

@pytest.mark.parametrize("number", range(20))
def test_quick(number):
    if number == 5:
        waits_for_ever()

def waits_for_ever():
    threading.Event().wait()
"""


def run(folder, *arguments):
    (folder / "test_some.py").write_text(PROJECT)
    command = [sys.executable, "-m", "pytest", *arguments, "-p", "no:cacheprovider", "-p", "no:randomly"]
    limits = ["-c", os.devnull, "-o", "faulthandler_timeout=1", "-o", "faulthandler_exit_on_timeout=true"]
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    return subprocess.run(
        [*command, *limits, f"--rootdir={folder}", "test_some.py"],
        cwd=folder,
        env=settings,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_test_that_hangs_ends_its_worker_and_fails_while_all_others_pass(tmp_path):
    done = run(tmp_path, *WORKERS.split())

    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 19 passed" in done.stdout
    assert "crashed while running 'test_some.py::test_quick[5]'" in done.stdout
    assert "in waits_for_ever" in done.stderr


def test_the_limit_is_set_and_no_honest_test_comes_near_it():
    assert OPTIONS["faulthandler_exit_on_timeout"] is True
    assert 300 <= OPTIONS["faulthandler_timeout"] <= 600


@pytest.mark.parametrize("option", ["faulthandler_timeout", "faulthandler_exit_on_timeout"])
def test_this_very_run_has_the_limit(option, pytestconfig):
    assert pytestconfig.getini(option)
