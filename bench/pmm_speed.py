"""Time and memory of PMM on ten million rows, in a process of its own."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from lapwing.kernel.room.transcript import NoTranscript

ROWS, COLUMNS, DEPTH = 10**7, 5, 20


def measure_speed(file: Path | None) -> Iterator[dict[str, object]]:
    """Yield CPU seconds (user and system) and memory, and the time to sum the table once."""
    path = file or Path(gettempdir()) / f"lapwing-uniform-{ROWS}x{COLUMNS}.parquet"
    if not path.exists():
        subprocess.run([sys.executable, __file__, "write", path], check=True)
    found = subprocess.run([sys.executable, __file__, "measure", path], check=True, capture_output=True, text=True)
    yield json.loads(found.stdout)


def measure(path: Path) -> dict[str, object]:
    """Code, fit, sample; then sum as many numbers, so that they are no part of the peak."""
    from lapwing.kernel.budget.budget import Budget
    from lapwing.kernel.noise.bits import SystemBits
    from lapwing.kernel.room.room import Room
    from lapwing.kernel.terms import Terms
    from lapwing.mechanisms.trees.pmm.mechanism import PMM
    from lapwing.model.rows import sample_codes
    from lapwing.rows.source import code_table
    from lapwing.schema.schemas import Schema

    bounds = {"minimum": 0, "maximum": 1, "required": True}
    names = [f"x{column}" for column in range(COLUMNS)]
    schema = Schema.from_dict({"fields": [{"name": name, "type": "number", "constraints": bounds} for name in names]})
    marks = [time.process_time()]
    source = code_table(path, schema)
    marks.append(time.process_time())
    terms = Terms(relation="add-remove", max_rows=1, rows=None, expected_rows=ROWS)
    asked: list[object] = []
    room = Room(source, schema, terms, Budget.pure(1), bits=SystemBits(), sink=_Sink(asked))
    model = PMM(depth=DEPTH).run(room, schema, Budget.pure(1), np.random.default_rng(1))
    marks.append(time.process_time())
    rows = sum(len(chunk["x0"]) for chunk in sample_codes(model, schema, ROWS, np.random.default_rng(2)))
    marks.append(time.process_time())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    question = asked[0].question  # type: ignore[attr-defined]
    table = tuple(zip(question.columns, question.groupings, strict=True))
    begin = time.process_time()
    counts = source.count([table])[0]
    counting = time.process_time() - begin
    summing = _summing_time()
    data = ROWS * COLUMNS * 8 / 2**20
    return {
        "rows": rows,
        "columns": COLUMNS,
        "cells": counts.size,
        "coding_s": marks[1] - marks[0],
        "fit_s": marks[2] - marks[1],
        "sampling_s": marks[3] - marks[2],
        "peak_mb": peak,
        "data_mb": data,
        "peak_to_data": peak / data,
        "counting_s": counting,
        "summing_s": summing,
        "counting_to_summing": counting / summing,
    }


class _Sink(NoTranscript):
    """Keep answers in memory."""

    def __init__(self, kept: list[object]) -> None:
        self._kept = kept

    def record(self, answers: object) -> None:
        """Keep some answers."""
        self._kept += list(answers)  # type: ignore[call-overload]


def _summing_time() -> float:
    """Return the time of one pass over the numbers, the best of five."""
    numbers = np.random.default_rng(0).random((ROWS, COLUMNS))
    times = []
    for _ in range(5):
        begin = time.process_time()
        numbers.sum()
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    """Write the table, or measure."""
    task, path = sys.argv[1], Path(sys.argv[2])
    if task == "write":
        import polars as pl

        rng = np.random.default_rng(0)
        pl.DataFrame({f"x{column}": rng.random(ROWS) for column in range(COLUMNS)}).write_parquet(path)
        return
    sys.stdout.write(json.dumps(measure(path)))


if __name__ == "__main__":
    main()
