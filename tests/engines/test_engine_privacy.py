"""What engines print, log and leave behind tells nothing of a row, and neither do their failures."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.engines import ENGINES, each_engine
from helpers.planted_values import BYTES, TEXT, traces_in, traces_in_files

WORKER = Path(__file__).resolve().parents[1] / "helpers" / "engine_worker.py"
QUICK = ("DuckDB relation", "PyArrow dataset")


def ran(engine, folder):
    """Run the worker with temporary files in the folder; return what it printed."""
    temporary = folder / "temporary"
    temporary.mkdir()
    (folder / "events").mkdir()
    path = os.pathsep.join(filter(None, (str(WORKER.parents[1]), os.environ.get("PYTHONPATH"))))
    settings = {"enabled": "true", "compress": "false", "dir": folder / "events"}
    events = "".join(f"--conf spark.eventLog.{name}={value} " for name, value in settings.items()) + "pyspark-shell"
    told = {"PYTHONPATH": path, "TMPDIR": str(temporary), "PYSPARK_SUBMIT_ARGS": events}
    command = [sys.executable, str(WORKER), engine, str(folder)]
    done = subprocess.run(command, env=os.environ | told, cwd=temporary, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout + done.stderr


@pytest.mark.parametrize("engine", each_engine(full=set(ENGINES) - set(QUICK)))
def test_releases_print_log_and_leave_nothing_of_a_row(engine, tmp_path):
    said = ran(engine, tmp_path)

    inputs = {path for path in (tmp_path / "inputs").rglob("*") if path.is_file()}
    assert [trace for trace in BYTES if trace in said] == []
    assert traces_in_files(tmp_path, but=inputs) == []
    assert b"Release(" in said
    assert traces_in(TEXT) == [TEXT]
