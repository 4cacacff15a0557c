"""Counting and streaming on engines: beside the engine's own count of the same tables, and what a cluster would do.

`scale.py` starts this for its parts ``overhead`` and ``stages``. The baseline of a ratio is the engine itself: the same
tables, grouped by expressions that cut numbers into the same groups (``engine``), or by the cells as they are
(``values``), in the same process, right before. CPU is that of the whole tree of processes, Java and workers included.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

Job = dict[str, Any]
Line = dict[str, object]

HERE = Path(__file__).resolve().parent
CASES = ["one-way", "pairs", "joint"]
"""All columns at 32 groups; all pairs at 16; five columns at 16, a table of 275,000 cells."""

FRAMES = ["polars-frame", "polars", "duckdb"]
CLUSTERS = ["spark"]
REPEATS = 2


def jobs_of(part: str) -> Iterator[Job]:
    """Yield the runs of a part."""
    if part == "overhead":
        for engine in [*FRAMES, *CLUSTERS]:
            for columns, case in ((5, "one-way"), (5, "joint"), (15, "one-way"), (15, "pairs")):
                rows = 10**7 if engine not in CLUSTERS else 10**6
                yield {"part": part, "engine": engine, "case": case, "rows": rows, "columns": columns}
        return
    for engine in ["polars", *CLUSTERS]:
        for case in ("pass", "shuffle", "stream", "rows"):
            for rows in (10**6, 10**7):
                yield {"part": part, "engine": engine, "case": case, "rows": rows, "columns": 5}


def run_engine(job: Job, options: argparse.Namespace) -> Line:
    """Do one run in a process of its own; return what it found, or how it failed."""
    from scale import environment, removed, table_of

    kind = "people" if job["case"] == "shuffle" else "mixed" if job["columns"] > 5 else "reals"
    folder = table_of(kind, job["rows"], job["columns"], options.scratch)
    path = options.own / "found.json"
    removed(path)
    name = "scale_engines.py" if job["part"] == "overhead" else "scale_stages.py"
    task = json.dumps(job | {"folder": str(folder), "found": str(path), "scratch": str(options.own)})
    command = ["nice", "-n", str(options.nice), sys.executable, str(HERE / name), task]
    done = subprocess.run(command, check=False, env=environment(options), capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"status": f"failed ({done.returncode}): {last[:200]}"}
    return json.loads(path.read_text()) | {"status": "done"}


# --------------------------------------------------------------------------------------------------- measurement


def tree_cpu_seconds() -> float:
    """Return the CPU seconds of this process, of all below it, and of those of them that have ended."""
    found: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended meanwhile
        found[int(path.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"))
    mine, total = {os.getpid()}, 0.0
    for pid in [os.getpid(), *sorted(found)]:
        if pid in mine or found.get(pid, (0, 0.0))[0] in mine:
            mine.add(pid)
    for pid in mine:
        total += found.get(pid, (0, 0.0))[1]
    return total


@contextmanager
def measured(name: str, line: Line) -> Iterator[None]:
    """Add CPU and wall seconds to a line; of several measurements of one name the least stays."""
    cpu, wall = tree_cpu_seconds(), time.perf_counter()
    yield
    for key, value in ((f"{name}_cpu_s", tree_cpu_seconds() - cpu), (f"{name}_wall_s", time.perf_counter() - wall)):
        line[key] = min(value, float(str(line.get(key, math.inf))))


def peak_mb() -> float:
    """Return the most memory that this process has used so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


# -------------------------------------------------------------------------------------------------------- tables


def columns_of_case(case: str, names: list[str]) -> list[tuple[str, ...]]:
    """Return the columns of each table that is counted."""
    if case == "one-way":
        return [(name,) for name in names]
    return list(combinations(names, 2)) if case == "pairs" else [tuple(names[:5])]


def groups_of_case(case: str) -> int:
    """Return the most groups of a column, a power of two."""
    return 32 if case == "one-way" else 16


def our_tables(schema: Any, case: str) -> list[tuple]:
    """Return the tables as a source counts them."""
    from lapwing.schema.groupings.grouping import identity, prefix_grouping

    most = groups_of_case(case)
    found = {}
    for field in schema.columns:
        domain = field.domain
        bits = max(0, (domain.values - 1).bit_length() - most.bit_length() + 1)
        found[field.name] = prefix_grouping(domain, bits) if bits else identity(domain)
    return [tuple((name, found[name]) for name in table) for table in columns_of_case(case, list(found))]


def sql_group(name: str, field: dict, most: int) -> str:
    """Return an expression for the group of a cell, in SQL that every engine here knows."""
    if field["type"] == "number":
        top = field["constraints"]["maximum"]
        return f"CAST(LEAST(FLOOR({name} / {top} * {most}), {most - 1}) AS INT)"
    if field["type"] == "integer":
        bits = max(0, 7 - most.bit_length() + 1)
        return f"CAST(FLOOR({name} / {2**bits}) AS INT)"
    return name


def polars_group(name: str, field: dict, most: int) -> Any:
    """Return the same expression for Polars."""
    import polars as pl

    if field["type"] == "number":
        top = field["constraints"]["maximum"]
        return (pl.col(name) / top * most).floor().clip(upper_bound=most - 1).cast(pl.Int32).alias(name)
    if field["type"] == "integer":
        bits = max(0, 7 - most.bit_length() + 1)
        return (pl.col(name) // 2**bits).cast(pl.Int32).alias(name)
    return pl.col(name)


# ------------------------------------------------------------------------------------------------------- engines

Counting = Callable[[list[tuple[str, ...]], dict[str, dict], int], int]
"""From tables, fields and the most groups (0: cells as they are) to the number of groups found; counts them all."""


def polars_engine(folder: Path, *, is_eager: bool) -> tuple[Any, Counting]:
    """Return a lazy scan, or a frame in memory, and its own count."""
    import polars as pl

    scan = pl.scan_parquet(folder / "*.parquet")
    data = scan.collect() if is_eager else scan

    def count(tables: list[tuple[str, ...]], fields: dict[str, dict], most: int) -> int:
        frame = data.lazy()
        if most:
            frame = frame.select(polars_group(name, field, most) for name, field in fields.items())
        return sum(found.height for found in pl.collect_all([frame.group_by(table).len() for table in tables]))

    return data, count


def sql_query(tables: list[tuple[str, ...]], fields: dict[str, dict], most: int, source: str) -> str:
    """Return one query that counts all tables, and gives the number of groups."""
    chosen = (f"{sql_group(name, field, most) if most else name} AS {name}" for name, field in fields.items())
    sets = ", ".join(f"({', '.join(table)})" for table in tables)
    names = ", ".join(dict.fromkeys(name for table in tables for name in table))
    cut = f"SELECT {', '.join(chosen)} FROM {source}"
    counts = f"SELECT {names}, COUNT(*) AS n FROM ({cut}) GROUP BY GROUPING SETS ({sets})"
    # What comes out is counted by the engine too: millions of groups are not brought into Python.
    return f"SELECT COUNT(*), SUM(n) FROM ({counts})"


def duckdb_engine(folder: Path) -> tuple[Any, Counting]:
    """Return a relation over the files, and its own count."""
    import duckdb

    relation = duckdb.read_parquet(str(folder / "*.parquet"))

    def count(tables: list[tuple[str, ...]], fields: dict[str, dict], most: int) -> int:
        found = relation.query("given", sql_query(tables, fields, most, "given"))
        return int(found.fetchall()[0][0])

    return relation, count


def spark_engine(folder: Path, logs: Path | None = None) -> tuple[Any, Counting]:
    """Return a frame over the files on a local cluster of two cores, and its own count."""
    session = spark_session(logs)
    data = session.read.parquet(*map(str, sorted(folder.glob("*.parquet"))))
    data.createOrReplaceTempView("given")

    def count(tables: list[tuple[str, ...]], fields: dict[str, dict], most: int) -> int:
        return int(session.sql(sql_query(tables, fields, most, "given")).collect()[0][0])

    return data, count


def spark_session(logs: Path | None) -> Any:
    """Start a local Spark; with `logs` it writes what its jobs did."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "3g").config("spark.sql.shuffle.partitions", "8")
    if logs is not None:
        builder = builder.config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", f"file://{logs}")
        builder = builder.config("spark.eventLog.compress", "false").config("spark.eventLog.rolling.enabled", "false")
    return builder.getOrCreate()


def engine_of(name: str, folder: Path, logs: Path | None = None) -> tuple[Any, Counting]:
    """Return a table on an engine, and the engine's own count."""
    if name.startswith("polars"):
        return polars_engine(folder, is_eager=name == "polars-frame")
    return spark_engine(folder, logs) if name == "spark" else duckdb_engine(folder)


# ------------------------------------------------------------------------------------------------------ overhead


def overhead(job: Job) -> Line:
    """Count by the engine and by us, twice each, and return seconds and ratios."""
    from lapwing.rows.source import code_table
    from lapwing.schema.schemas import Schema

    folder, case = Path(job["folder"]), job["case"]
    schema = Schema.load(folder / "schema.json")
    fields = {field["name"]: field for field in json.loads((folder / "schema.json").read_text())["fields"]}
    data, count = engine_of(job["engine"], folder)
    tables, most = columns_of_case(case, list(fields)), groups_of_case(case)
    line: Line = {}
    for _ in range(REPEATS):
        with measured("engine", line):
            cells = count(tables, fields, most)
        if case != "pairs":  # of reals there are as many pairs as rows
            with measured("values", line):
                count(tables, fields, 0)
        with measured("ours", line):
            source = code_table(data, schema)
            counts = source.count(our_tables(schema, case))
        with measured("again", line):
            source.count(our_tables(schema, case))
    wrong = abs(int(counts[0].sum()) - job["rows"])
    line |= {"cells": sum(each.size for each in counts), "differing": cells - sum(map(filled, counts)) or wrong}
    for name, base in (("ratio", "engine"), ("values_ratio", "values")):
        if f"{base}_cpu_s" in line:
            line[name] = float(str(line["ours_cpu_s"])) / float(str(line[f"{base}_cpu_s"]))
    line["again_ratio"] = float(str(line["again_cpu_s"])) / float(str(line["engine_cpu_s"]))
    line["wall_ratio"] = float(str(line["ours_wall_s"])) / float(str(line["engine_wall_s"]))
    return line | {"peak_mb": peak_mb()}


def filled(counts: Any) -> int:
    """Return how many cells are not empty."""
    return int((counts > 0).sum())


def main() -> None:
    """Run the job that the command line gives."""
    job = json.loads(sys.argv[1])
    Path(job["found"]).write_text(json.dumps(overhead(job)))


if __name__ == "__main__":
    main()
