"""Scale: CPU, wall, memory and bytes read of releases and rows out, by rows and columns, stage by stage.

    python bench/scale.py rows|columns|evaluation|targets|overhead|stages|plots [--tree FOLDER] [--only WORD ...]
        [--most N] [--threads 1] [--scratch FOLDER] [-o bench/results]

``rows``      releases of 10**5 to 10**8 rows, and as many rows drawn from a model
``columns``   releases of 15 to 1,000 columns
``evaluation``  a generated table beside another of the same law, with the report
``targets``   the largest of these: what issue 13 set limits for
``overhead``  counting beside each engine's own count of the same tables, in one process
``stages``    what a cluster would do, on a local Spark: passes, shuffles by person, rows out
``plots``     ratios, growth exponents, pictures and all tables, from the runs that there are

Tables are generated in the scratch folder where they are not there yet. Every run is a process of its own; its line is
added to ``scale_runs.csv`` (``scale_engines.csv`` for the last two) at once, with commit and machine. What is there is
not run again, so an interrupted part goes on where it stopped. Another commit: ``git worktree add FOLDER COMMIT``, then
``--tree FOLDER``.
"""

import argparse
import csv
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

HERE = Path(__file__).resolve().parent
Job = dict[str, Any]
Line = dict[str, object]

ROWS = [10**5, 10**6, 10**7, 10**8]
COLUMNS = [15, 50, 100, 200]
WIDE_ROWS, WIDE_COLUMNS = 20_000, [100, 200, 500, 1000]
MOST_MIXED_ROWS = 10**7
MODEL_ROWS = 10**6
"""Of the tables whose models rows are drawn from."""

KEYS = ["action", "mechanism", "rows", "columns", "rows_out", "to", "threads", "commit"]
STAGES = ["start_s", "open_s", "read_s", "count_s", "noise_s", "fit_s", "finish_s", "draw_s", "write_s", "rest_s"]
FOUND = ["status", "cpu_s", "wall_s", "peak_mb", "release_mb", "rows_mb", "passes", "read_mb", "disk_mb", "out_mb"]
RUN_COLUMNS = [*KEYS, *FOUND, *STAGES, "table_mb", "load", "machine"]

ENGINE_KEYS = ["part", "engine", "case", "rows", "columns", "threads", "commit"]
ENGINE_FOUND = ["status", "start_cpu_s", "ours_cpu_s", "again_cpu_s", "engine_cpu_s", "values_cpu_s"]
ENGINE_FOUND += ["ours_wall_s", "again_wall_s", "engine_wall_s", "ratio", "wall_ratio", "again_ratio", "values_ratio"]
ENGINE_FOUND += ["differing", "cells", "jobs", "shuffle_mb", "rows_mb"]
ENGINE_COLUMNS = [*ENGINE_KEYS, *ENGINE_FOUND, "peak_mb", "load", "machine"]


def release(mechanism: str, rows: int, columns: int) -> Job:
    """Return a release of a generated table, with a thousand rows out."""
    return {"action": "release", "mechanism": mechanism, "rows": rows, "columns": columns, "rows_out": 1000, "to": ""}


def sample(mechanism: str, columns: int, rows_out: int, to: str = "file") -> Job:
    """Return rows drawn from a model and written to one file, or to a folder of files."""
    job = {"action": "sample", "mechanism": mechanism, "rows": MODEL_ROWS, "columns": columns}
    return job | {"rows_out": rows_out, "to": to}


def by_rows() -> Iterator[Job]:
    """Yield the runs of growing rows."""
    for rows in ROWS:
        yield release("PMM", rows, 5)
        yield sample("PMM", 5, rows)
        if rows <= MOST_MIXED_ROWS:
            yield release("Adaptive", rows, 15)
            yield release("Independent", rows, 15)
        yield sample("Adaptive", 15, rows)


def by_columns() -> Iterator[Job]:
    """Yield the runs of growing columns."""
    for columns in COLUMNS:
        yield release("Adaptive", 10**5, columns)
        yield sample("Adaptive", columns, 10**6)
    for columns in WIDE_COLUMNS:
        for rows in (WIDE_ROWS, 10**6):
            yield release("Adaptive", rows, columns)


def evaluations() -> Iterator[Job]:
    """Yield the comparisons of two tables."""
    for rows, columns in ((10**6, 50), (10**7, 20)):
        job = {"action": "evaluate", "mechanism": "", "rows": rows, "columns": columns}
        yield job | {"rows_out": rows, "to": "file"}


def targets() -> Iterator[Job]:
    """Yield the runs that have a limit."""
    yield release("PMM", 10**8, 5)
    yield release("Adaptive", 10**7, 15)
    yield release("Adaptive", 10**6, 100)
    for to in ("file", "folder"):
        yield sample("PMM", 5, 10**8, to)
        yield sample("Adaptive", 15, 10**8, to)


PARTS = {"rows": by_rows, "columns": by_columns, "evaluation": evaluations, "targets": targets}


# ---------------------------------------------------------------------------------------------------------- runs


def run(job: Job, options: argparse.Namespace) -> Line:
    """Do one run in a process of its own; return what it found, or how it failed."""
    kind = "reals" if job["mechanism"] == "PMM" else "mixed"
    table = table_of(kind, job["rows"], job["columns"], options.scratch)
    output = options.own / ("rows/" if job["to"] == "folder" else "rows.parquet")
    if job["action"] == "release":
        arguments = synthesize(job, table, output)
    elif job["action"] == "evaluate":
        output = output.with_name("report.html")
        other = table_of(kind, job["rows"], job["columns"], options.scratch, seed=1)
        arguments = ["evaluate", str(table), str(other), "--schema", str(table / "schema.json")]
    else:
        model = model_of(job, table, options)
        arguments = ["sample", str(model), "--rows", str(job["rows_out"]), "--seed", "1"]
    name = f"{output}/" if job["to"] == "folder" else str(output)
    found = measured([*arguments, "-o", name, "--quiet"], options)
    found |= {"out_mb": size_mb(output), "table_mb": size_mb(table)}
    for path in (output, output.with_name(output.name + ".certificate.json")):
        removed(path)
    return found


def synthesize(job: Job, table: Path, output: Path) -> list[str]:
    """Return the arguments of a release, with a public guess of the number of rows that is right."""
    budget = ["--epsilon", "1"] + ([] if job["mechanism"] == "PMM" else ["--delta", "1e-9"])
    arguments = ["synthesize", str(table), "--schema", str(table / "schema.json"), "--mechanism", job["mechanism"]]
    arguments += [*budget, "--expected-rows", str(job["rows"]), "--rows", str(job["rows_out"]), "--seed", "1"]
    return [*arguments, "--no-certificate"] if output.is_dir() else arguments


def model_of(job: Job, table: Path, options: argparse.Namespace) -> Path:
    """Return the model of a table, released by the measured commit where it is not there yet."""
    name = f"{job['mechanism']}-{job['rows']}x{job['columns']}-{commit(options.tree)}.lapwing"
    path = options.scratch / name
    if not path.exists():
        output = options.own / "model-rows.parquet"
        arguments = synthesize(job | {"rows_out": 1000}, table, output)
        found = measured([*arguments, "-o", str(output), "--model", str(path)], options)
        assert found["status"] == "done", found["status"]
    return path


def measured(arguments: list[str], options: argparse.Namespace) -> Line:
    """Run a command of Lapwing and return what its process says of itself."""
    path = options.own / "found.json"
    removed(path)
    begin = time.perf_counter()
    command = ["nice", "-n", str(options.nice), sys.executable, str(HERE / "scale_worker.py"), str(path), *arguments]
    done = subprocess.run(command, check=False, env=environment(options), capture_output=True, text=True)
    wall = time.perf_counter() - begin
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"status": f"failed ({done.returncode}): {last[:200]}", "wall_s": wall}
    return json.loads(path.read_text()) | {"status": "done", "wall_s": wall}


def environment(options: argparse.Namespace) -> dict[str, str]:
    """Return the environment of a measured process: which source, how many threads."""
    found = os.environ | {"PYTHONPATH": str(options.tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    if options.threads:
        found |= {"OMP_NUM_THREADS": str(options.threads), "POLARS_MAX_THREADS": str(options.threads)}
    return found


def table_of(kind: str, rows: int, columns: int, scratch: Path, seed: int = 0) -> Path:
    """Return the folder of a generated table, made where it is not there yet, and out of the system's cache."""
    folder = scratch / f"{kind}-{rows}x{columns}{f'-{seed}' if seed else ''}"
    if not (folder / "schema.json").exists():
        removed(folder)
        command = [sys.executable, HERE / "scale_tables.py", kind, f"{rows}x{columns}", folder, str(seed)]
        subprocess.run(command, check=True)
    for path in folder.glob("*.parquet"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return folder


def removed(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def size_mb(path: Path) -> float:
    """Return the megabytes of a file, or of the Parquet files of a folder."""
    files = path.glob("*.parquet") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


@cache
def machine() -> str:
    """Name the processor and how many there are."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} x {model}"


@cache
def commit(tree: Path) -> str:
    """Return the commit of a tree, with a plus where its source has changes that are not committed."""
    git = ["git", "-C", str(tree)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout
    changed = subprocess.run([*git, "status", "--porcelain", "src"], check=True, capture_output=True, text=True).stdout
    return name.strip() + ("+" if changed.strip() else "")


# --------------------------------------------------------------------------------------------------------- files


def lines_of(path: Path) -> list[dict[str, str]]:
    """Return the lines of a file of runs, none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def add_line(path: Path, names: list[str], line: Line) -> None:
    """Add a line to a file of runs, with the names of its columns where it is the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        if is_new:
            writer.writeheader()
        writer.writerow({key: f"{value:.5g}" if isinstance(value, float) else value for key, value in line.items()})


def run_part(part: str, options: argparse.Namespace) -> None:
    """Do the runs of a part that are not done yet."""
    if part in PARTS:
        path, keys, names = options.output / "scale_runs.csv", KEYS, RUN_COLUMNS
        jobs, work = list(PARTS[part]()), run
    else:
        from scale_engines import jobs_of, run_engine

        path, keys, names = options.output / "scale_engines.csv", ENGINE_KEYS, ENGINE_COLUMNS
        jobs, work = list(jobs_of(part)), run_engine
    done = [line for line in lines_of(path) if line["status"] == "done"]
    known = {tuple(line[key] for key in keys) for line in done}
    for job in jobs:
        line: Line = job | {"threads": options.threads or "", "commit": commit(options.tree), "machine": machine()}
        words = {str(job[key]) for key in keys if key in job}
        is_wanted = max(job["rows"], job.get("rows_out") or 0) <= options.most and words >= set(options.only)
        if not is_wanted or tuple(str(line[key]) for key in keys) in known:
            continue
        line["load"] = os.getloadavg()[0]
        line |= work(job, options)
        add_line(path, names, line)
        told = [f"{key}={line[key]:.4g}" for key in names if isinstance(line.get(key), float)]
        shown = [str(line[key]) for key in [*keys, "status"] if line.get(key)]
        sys.stdout.write(f"{time.strftime('%H:%M:%S')} {' '.join(shown)} {' '.join(told)}\n")
        sys.stdout.flush()


def main() -> None:
    """Run a part, then write its means and pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "overhead", "stages", "plots"])
    parser.add_argument("--tree", type=Path, default=HERE.parent, help="the worktree that is measured")
    parser.add_argument("--only", nargs="*", default=[], help="words that a run must have, such as PMM or duckdb")
    parser.add_argument("--most", type=float, default=float("inf"), help="leave out runs of more rows")
    parser.add_argument("--threads", type=int, help="of Polars and of linear algebra; by default their own choice")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--scratch", type=Path, default=Path(gettempdir()) / "lapwing-scale")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results")
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    if options.part == "plots":
        from scale_pages import print_tables
        from scale_summary import summarise

        summarise(options.output, HERE.parent / "docs" / "img")
        print_tables(options.output)
        return
    with TemporaryDirectory(dir=options.scratch) as own:
        options.own = Path(own)
        run_part(options.part, options)


if __name__ == "__main__":
    main()
