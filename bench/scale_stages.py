"""What each stage of a release takes on an engine: a pass, a shuffle by person, a stream of codes, rows out.

`scale.py stages` starts this, for ten times as many rows a second time: what does not grow is the fixed cost of a job,
the rest is the cost per row that `docs/scale.md` multiplies. Spark writes what its jobs did; what they shuffled
is added up from there.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scale_engines import engine_of, measured, our_tables, peak_mb, tree_cpu_seconds

Job = dict[str, Any]
Line = dict[str, object]


def run_pass(data: Any, schema: Any, line: Line, job: Job) -> None:
    """Open the table and count all columns; then a second pass, a table of five columns too."""
    from lapwing.rows.source import code_table

    with measured("ours", line):
        source = code_table(data, schema)
        counts = source.count(our_tables(schema, "one-way"))
    with measured("again", line):
        source.count([*our_tables(schema, "one-way"), *our_tables(schema, "joint")])
    assert int(counts[0].sum()) == job["rows"]


def run_shuffle(data: Any, schema: Any, line: Line, job: Job) -> None:
    """Open a table of persons, each cut to three rows, and count it; then count it once more."""
    from lapwing.rows.source import code_table

    with measured("ours", line):
        source = code_table(data, schema)
        counts = source.count(our_tables(schema, "one-way"))
    with measured("again", line):
        source.count(our_tables(schema, "one-way"))
    assert 0 < int(counts[0].sum()) < job["rows"]


def run_stream(data: Any, schema: Any, line: Line, job: Job) -> None:
    """Go through the codes of all rows, as questions do that need each row."""
    from lapwing.rows.source import code_table

    with measured("ours", line):
        rows = sum(len(chunk["x"]) for chunk in code_table(data, schema).chunks())
    assert rows == job["rows"]


def run_rows(data: Any, schema: Any, line: Line, job: Job) -> None:
    """Release, then draw as many rows as there are, where the engine draws them, and write them as Parquet."""
    import lapwing as lw

    release = lw.synthesize(data, schema, epsilon=1, mechanism=lw.PMM(), expected_rows=job["rows"], seed=1)
    with TemporaryDirectory(dir=job["scratch"]) as folder:
        with measured("ours", line):
            written(release, job["engine"], job["rows"], folder)
        line["rows_mb"] = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet")) / 1e6


def written(release: Any, engine: str, rows: int, folder: str) -> None:
    """Draw rows and write them."""
    if engine == "spark":
        release.sample(rows, seed=1).write.parquet(f"{folder}/rows")
    else:
        release.write(f"{folder}/rows/", rows, seed=1)


CASES: dict[str, Callable[[Any, Any, Line, Job], None]] = {
    "pass": run_pass,
    "shuffle": run_shuffle,
    "stream": run_stream,
    "rows": run_rows,
}


def shuffled(logs: Path) -> tuple[int, float]:
    """Return how many jobs Spark ran, and the megabytes that they wrote for a shuffle."""
    jobs, total = 0, 0
    for path in logs.iterdir():
        for text in path.read_text().splitlines():
            event = json.loads(text)
            jobs += event["Event"] == "SparkListenerJobStart"
            if event["Event"] == "SparkListenerTaskEnd":
                total += ((event.get("Task Metrics") or {}).get("Shuffle Write Metrics") or {}).get(
                    "Shuffle Bytes Written", 0
                )
    return jobs, total / 1e6


def main() -> None:
    """Run the job that the command line gives."""
    from lapwing.schema.schemas import Schema

    job = json.loads(sys.argv[1])
    folder, line = Path(job["folder"]), dict[str, object]()
    schema = Schema.load(folder / "schema.json")
    with TemporaryDirectory(dir=job["scratch"]) as logs:
        begin = tree_cpu_seconds()
        data, _ = engine_of(job["engine"], folder, Path(logs))
        line["start_cpu_s"] = tree_cpu_seconds() - begin
        CASES[job["case"]](data, schema, line, job)
        line["peak_mb"] = peak_mb()
        if job["engine"] == "spark":
            data.sparkSession.stop()
            line["jobs"], line["shuffle_mb"] = shuffled(Path(logs))
    Path(job["found"]).write_text(json.dumps(line))


if __name__ == "__main__":
    main()
