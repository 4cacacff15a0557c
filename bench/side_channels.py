"""What the time and the memory of an answer say about the rows: tables of one size and of other values.

Run from the repository root: ``python bench/side_channels.py``; it writes bench/results/side_channels.csv.
"""

import csv
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers.asked_questions import asked, words_drawn  # noqa: E402
from lapwing.kernel.noise.bits import SystemBits  # noqa: E402
from lapwing.rows.source import code_table  # noqa: E402
from lapwing.schema.schemas import Schema  # noqa: E402

ROWS = 50_000
REPEATS = 31
FIELDS = [
    {"name": "town", "type": "string", "categories": [f"t{number}" for number in range(20)]},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}},
]
FLAGS = [{"name": f"x{place}", "type": "boolean", "constraints": {"required": True}} for place in range(8)]


def table(kind, rng):
    """Return rows that are all alike, spread out, or all misfits."""
    if kind == "all alike":
        return pl.DataFrame({"town": ["t3"] * ROWS, "age": [41] * ROWS, "size": [0.5] * ROWS})
    if kind == "all misfits":
        return pl.DataFrame({"town": ["?"] * ROWS, "age": [None] * ROWS, "size": [float("nan")] * ROWS}).cast(
            {"age": pl.Int64}
        )
    towns = np.char.add("t", rng.integers(0, 20, ROWS).astype(str))
    return pl.DataFrame({"town": towns, "age": rng.integers(0, 100, ROWS), "size": rng.random(ROWS)})


def flags(kind, rng):
    """Return the same of two-valued columns."""
    odds = {"all alike": 0.0, "spread out": 0.5, "all misfits": 0.0}[kind]
    cells = {f"x{place}": rng.random(ROWS) < odds for place in range(8)}
    return pl.DataFrame(cells if kind != "all misfits" else dict.fromkeys(cells, ["?"] * ROWS))


def measured(question, source, settings):
    """Return milliseconds of processor time (least), MiB of memory (peak) and secret words (median) of one answer."""
    seconds, words = [], []
    for _ in range(REPEATS):
        start = time.process_time()
        words.append(words_drawn(question, source, settings, SystemBits()))
        seconds.append(time.process_time() - start)
    tracemalloc.start()
    words_drawn(question, source, settings, SystemBits())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return 1000 * min(seconds), peak / 2**20, int(np.median(words))


def lines(make, fields, relation, kinds):
    """Yield a line for the first question of each kind and each table."""
    schema = Schema.from_dict({"fields": fields})
    tables = {kind: make(kind, np.random.default_rng(1)) for kind in ("all alike", "spread out", "all misfits")}
    every = asked(tables["spread out"], schema, relation, times=1)
    for run in every:
        for question in run.questions:
            if question.kind in kinds:
                continue
            kinds.add(question.kind)
            for name, data in tables.items():
                found = measured(question, code_table(data, run.schema), run.settings)
                yield (question.kind, run.name, name, ROWS, *(round(each, 2) for each in found))


def main():
    """Measure, print and write."""
    kinds = set()
    found = [*lines(table, FIELDS, "add-remove", kinds), *lines(flags, FLAGS, "replace-one", kinds)]
    path = ROOT / "bench" / "results" / "side_channels.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ("question", "asked_by", "rows_are", "rows", "least_cpu_milliseconds", "peak_mib", "secret_words")
        )
        writer.writerows(found)
    for line in found:
        print(*line)


if __name__ == "__main__":
    main()
