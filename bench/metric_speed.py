"""CPU seconds and memory of KDTree, Grid and PSMM, each in a process of its own. A CSV file.

    python bench/metric_speed.py [--quick] [-o bench/results]

KDTree and Grid on a mixture of Gaussians in five columns, 3,000,000 rows, from codes in memory; PSMM on 16,384 and
65,536 cells of two columns, four rows a cell; Grid with more cells than can be listed.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
from metric_models import arguments, as_frame, mixture, number_schema
from pmm import Line, write_lines

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import Mechanism
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.rows.source import code_table

TASKS: dict[str, tuple[Mechanism, int, int]] = {
    "KDTree": (KDTree(), 5, 3_000_000),
    "KDTree paper": (KDTree(variant="paper"), 5, 3_000_000),
    "Grid": (Grid(), 5, 3_000_000),
    "Grid 2**80 cells": (Grid(width=2.0**-16, variant="paper"), 5, 3_000_000),
    "PSMM 16384 cells": (PSMM(cells=16_384), 2, 65_536),
    "PSMM 65536 cells": (PSMM(cells=65_536), 2, 262_144),
}
"""Mechanism, columns and rows of each line."""


def measure(name: str, *, is_quick: bool) -> Line:
    """Return times and memory of one fit."""
    mechanism, d, rows = TASKS[name]
    rows = rows // 100 if is_quick else rows
    frame, schema = as_frame(mixture(d, rows)), number_schema(d, -1000, 1000)
    start = time.process_time()
    source = code_table(frame, schema)
    coding = time.process_time() - start
    terms = Terms(relation="add-remove", max_rows=1, rows=None, expected_rows=rows)
    room = Room(source, schema, terms, Budget.pure(1), bits=SystemBits(), sink=NoTranscript())
    start = time.process_time()
    model = mechanism.run(room, schema, Budget.pure(1), np.random.default_rng(1))
    fit = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line: Line = {"what": name, "columns": d, "rows": rows, "coding_s": coding, "fit_s": fit}
    return line | {"atoms": model.weights.size, "peak_mb": peak}


def speed(*, is_quick: bool) -> Iterator[Line]:
    """Yield one line per task."""
    for name in TASKS:
        command = [sys.executable, __file__, "measure", name, *(["--quick"] if is_quick else [])]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        yield json.loads(done.stdout)


def main() -> None:
    """Measure one task, or start a process for each."""
    if sys.argv[1:2] == ["measure"]:
        sys.stdout.write(json.dumps(measure(sys.argv[2], is_quick="--quick" in sys.argv)))
        return
    chosen = arguments(__doc__)
    write_lines(chosen.output / "metric_speed.csv", speed(is_quick=chosen.quick))


if __name__ == "__main__":
    main()
