"""The core runs where there is no POSIX, as far as a POSIX machine can show that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.source_tree import ROOT

PROGRAM = ROOT / "tests" / "helpers" / "without_posix.py"
PLAIN = {
    "LC_ALL": "C",  # ASCII wherever a file is opened without an encoding, as Windows has code pages
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONIOENCODING": "ascii:backslashreplace",
    "PYTHONTZPATH": "",  # Windows has no time zones
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what is open is read from /proc")


def run(*arguments: object, code: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program, or code that imports it, with a limit of time."""
    command = [sys.executable, *([str(PROGRAM)] if code is None else ["-c", code]), *map(str, arguments)]
    environment = os.environ | PLAIN | {"PYTHONPATH": str(PROGRAM.parent)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@NEEDS_PROC
def test_core_and_command_run_without_posix(tmp_path: Path) -> None:
    done = run(tmp_path)

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    watched = json.loads(done.stdout.splitlines()[-1])
    assert watched["refused"] == []
    assert {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"} <= set(watched["seen"])


def test_what_only_posix_has_is_not_there() -> None:
    lines = ["import fcntl", "import posix", "import tzdata.zoneinfo", "os.geteuid()", "os.O_NOFOLLOW", "signal.SIGHUP"]
    tried = f"""
import os, signal, without_posix
without_posix.take_posix_away()
for line in {lines}:
    try:
        exec(line)
    except (ModuleNotFoundError, AttributeError):
        print(line)
"""
    done = run(code=tried)

    assert (done.stdout.splitlines(), done.stderr) == (lines, "")


def test_what_windows_has_stays() -> None:
    names = "os.O_EXCL os.dup2 os.fsync os.umask os.waitpid os.W_OK os.link os.cpu_count signal.SIGTERM time.monotonic"
    tried = f"""
import os, signal, time, without_posix
without_posix.take_posix_away()
import concurrent.futures, json, sqlite3, tempfile, zipfile, zoneinfo
for name in {names.split()}:
    eval(name)
"""
    done = run(code=tried)

    assert (done.returncode, done.stderr) == (0, "")


@NEEDS_PROC
def test_what_windows_refuses_is_noted(tmp_path: Path) -> None:
    changes = {
        "open('a').close(); os.replace('a', 'b')": [],
        "file = open('b'); os.replace('b', 'a')": ["os.rename of what is open: b"],
        "file.close(); file = open('a'); os.replace('c', 'a')": ["os.rename of what is open: a"],
        "file = open('a'); os.remove('a')": ["os.remove of what is open: a"],
        "file = open('d/e', 'w'); os.replace('d', 'f')": ["os.rename of what is open: d"],
        "os.mkdir('12:30')": ["forbidden name: 12:30"],
        "os.rename('12:30', 'aux.txt')": ["forbidden name: aux.txt"],
    }
    for name in "abc":
        (tmp_path / name).touch()
    (tmp_path / "d").mkdir()
    tried = f"""
import os, sys, without_posix
os.chdir(sys.argv[1])
watch = without_posix.Watch(os.getcwd())
for change in {list(changes)}:
    watch.refused.clear()
    exec(change)
    print(watch.refused)
"""
    done = run(tmp_path, code=tried)

    assert (done.stdout.splitlines(), done.stderr) == ([str(refused) for refused in changes.values()], "")
