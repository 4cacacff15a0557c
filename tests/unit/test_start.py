"""What a command loads, and what a short one costs: every module that it does not need is time of everybody."""

import json
import os
import re
import resource
import subprocess
import sys

import pytest

from helpers import make
from lapwing.version import VERSION

WATCHED = """
import atexit, json, sys
from pathlib import Path
place, *words = sys.argv[1:]
sys.argv = ["lapwing", *words]
atexit.register(lambda: Path(place).write_text(json.dumps(sorted(sys.modules))))
from lapwing.cli.main import run
run()
"""
COLUMNS = {"age": (0, 99), "sick": bool}
NEVER = {"pandas", "pyarrow", "narwhals", "duckdb", "matplotlib", "sklearn", "rich", "jinja2", "altair"}
"""What none of these commands needs, though it may be installed."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table of 100 rows, its schema and a model of it."""
    contents = {"t.csv": make.table(COLUMNS, 100), "s.json": make.schema(COLUMNS)}
    folder = make.files(tmp_path_factory.mktemp("start"), contents)
    make.release(COLUMNS, rows=100, epsilon=1).save(folder / "m.lapwing")
    return folder


SYNTHESIZE = ("synthesize", "t.csv", "--schema", "s.json", "--epsilon", "1", "-o", "o.csv", "--quiet", "--mechanism")
QUERY = ("query", "m.lapwing", "--column", "sick")


def loaded(folder, *words):
    """Run a command and return the names of the modules that it loaded."""
    command = [sys.executable, "-c", WATCHED, "modules.json", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads((folder / "modules.json").read_text()))


def mechanisms_of(modules):
    """Return the folders of the mechanisms that were loaded."""
    places = re.compile(r"lapwing\.mechanisms\.(?:trees\.|vectors\.)?(\w+)\.mechanism")
    return {found[1] for found in map(places.fullmatch, modules) if found}


@pytest.mark.parametrize("name", ["independent", "pmm"])
def test_synthesize_loads_its_own_mechanism_and_nothing_that_compiles_or_looks_first(name, folder):
    modules = loaded(folder, *SYNTHESIZE, name)

    assert mechanisms_of(modules) == {name}
    assert (
        modules
        & {*NEVER, "numba", "lapwing.extras.evaluate.internal.looks", "lapwing.release.shown", "lapwing.engine.kernel"}
        == set()
    )
    extras = {each for each in modules if re.match(r"lapwing\.extras\.\w+\.(?!commands)", each)}
    assert extras == {"lapwing.extras.office.policy", "lapwing.extras.evaluate.words"}


def test_query_loads_no_frames_no_noise_and_no_way_to_rows(folder):
    modules = loaded(folder, *QUERY)

    assert mechanisms_of(modules) == set()
    assert modules & {*NEVER, "numba", "scipy", "polars", "lapwing.kernel.room.room", "lapwing.rows.entry"} == set()


def test_help_loads_no_large_package(folder):
    assert loaded(folder, "--help") & {*NEVER, "numba", "scipy", "polars", "numpy"} == set()


def cpu_seconds(folder, words):
    """Return the CPU time of a whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "lapwing", *words]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        command, cwd=folder, env=environment | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(("words", "most"), [((*SYNTHESIZE, "pmm"), 2.1), (QUERY, 1.5)], ids=["synthesize", "query"])
def test_a_short_command_takes_at_most_three_times_of_what_was_measured(words, most, folder):
    assert any(cpu_seconds(folder, words) <= most for _ in range(3))


def test_the_package_runs_as_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "lapwing", "--version"], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.splitlines()[0] == VERSION


def test_the_package_as_a_command_gives_the_status_and_the_line_of_a_failure(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "lapwing", "query", str(tmp_path / "none.lapwing"), "--column", "a"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("lapwing: ")
