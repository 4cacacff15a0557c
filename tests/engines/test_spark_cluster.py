"""Executors that are processes of their own, killed while they work, change no count, no release and no row.

`bench/spark_cluster.py` does the same with larger tables, and kills drivers too. CI kills workers of one executor
(`test_spark_failures`): a cluster takes half a minute to start.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.spark_sessions import java_home

pytestmark = pytest.mark.needs("Spark")

ROOT = Path(__file__).resolve().parents[2]


def said(program, *arguments):
    """Run a program of the tests or of the benchmarks; return what it prints."""
    pytest.importorskip("pyspark")
    java_home()  # skips here where there is no Java
    path = os.pathsep.join(filter(None, (str(ROOT / "tests"), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-W", "ignore", *program, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    ).stdout


@pytest.mark.full
def test_a_killed_executor_changes_nothing(tmp_path):
    steps = ["counting", "releasing", "drawing"]

    found = json.loads(said(["-m", "helpers.cluster_worker"], tmp_path, *steps))

    assert found == {step: [1, True] for step in steps}


@pytest.mark.full
def test_the_runbook_holds_for_killed_executors_and_killed_drivers(tmp_path):
    found = said([ROOT / "bench" / "spark_cluster.py"], tmp_path / "run", "--rows", 9000, "--drawn", 600_000)

    assert "[]" not in found  # an executor was killed each time
    assert found.count("15 of 15 tables as on one machine") == 2
    assert found.count("the same rows as of `lapwing sample --seed 4`") == 2
    assert found.count("those before as they were, debits 1") == 2
    assert (found.count("answers, debits 1\n"), found.count("answers, debits 1; it is said:")) == (2, 1)
    assert "the Spark frame cannot be used; is its session still running? (" in found
    assert "lw.resume('FOLDER/t3.jsonl', data) goes on from what is paid and answered" in found
