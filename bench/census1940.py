"""The 1940 census as far as a public schema can be: a table of its shape, what a release of it costs, what it keeps.

    python bench/census1940.py make|release|errors|show [--rows 137000000] [--scratch FOLDER] [--mechanism Adaptive]

``make``      the table: Parquet files and ``schema.json`` in SCRATCH/ROWS, drawn by the laws of `census1940_columns`
``release``   one release at epsilon 1 and delta 10**-9 with a million rows out, in a process of its own
``errors``    all 9,045 pairs of columns: total variation distance between the table and each release that there is, and
              between the table and a million rows drawn from it, which is what no release of a million rows goes below
``show``      the lines of the results as a table

google/dpsynth publishes the shape as its benchmark, of about 137 million rows, with Beam and GPUs to run it on; of the
IPUMS full count itself, which may not be passed on, nothing is here. Rows are independent of each other, unlike those
of a census, where people of a household stand together. Each run adds a line to ``census1940.csv``.
"""

import argparse
import csv
import os
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import numpy as np
from scale import FOUND, STAGES, Line, add_line, commit, lines_of, machine, measured, removed, size_mb

HERE = Path(__file__).resolve().parent
ROWS_OUT = 10**6
MECHANISMS = ("Adaptive", "Independent")
ERRORS = ["pair_mean", "pair_median", "pair_95", "one_way_mean"]
KEYS = ["part", "rows", "mechanism", "rows_out", "commit"]
COLUMNS = [*KEYS, *FOUND, *STAGES, "table_mb", *ERRORS, "load", "machine"]


def run_make(options: argparse.Namespace) -> None:
    """Make the table, and say what that took."""
    from census1940_rows import make

    make(table_of(options), options.rows, options.processes)
    add(options, "make", used(options) | {"status": "done", "table_mb": size_mb(table_of(options))})


def run_release(options: argparse.Namespace) -> None:
    """Release the table in a process of its own, and keep the rows for `errors`."""
    table, rows = table_of(options), rows_of(options, options.mechanism)
    removed(rows)
    command = ["synthesize", str(table), "--schema", str(table / "schema.json"), "--mechanism", options.mechanism]
    command += ["--epsilon", "1", "--delta", "1e-9", "--expected-rows", str(options.rows), "--rows", str(ROWS_OUT)]
    with TemporaryDirectory(dir=options.scratch) as own:
        options.own = Path(own)
        found = measured([*command, "--seed", "1", "-o", str(rows), "--quiet"], options)
    sizes = {"out_mb": size_mb(rows), "table_mb": size_mb(table)}
    add(options, "release", found | sizes | {"mechanism": options.mechanism, "rows_out": ROWS_OUT})


def run_errors(options: argparse.Namespace) -> None:
    """Count all pairs of the table once, then those of each release."""
    from census1940_pairs import count_pairs, distances, load, sampled, save

    counts = options.scratch / f"{options.rows}-pairs.npz"
    if not counts.exists():
        save(counts, count_pairs(table_of(options)))
        add(options, "count", used(options) | {"status": "done"})
    ours = load(counts)
    shown = {"rows drawn": sampled(ours, ROWS_OUT, seed=1)}
    shown |= {name: count_pairs(rows_of(options, name)) for name in MECHANISMS if rows_of(options, name).exists()}
    for name, others in shown.items():
        pairs, columns = distances(ours, others)
        figures = pairs.mean(), np.median(pairs), np.quantile(pairs, 0.95), columns.mean()
        found = dict(zip(ERRORS, map(float, figures), strict=True))
        add(options, "errors", found | {"status": "done", "mechanism": name, "rows_out": ROWS_OUT})


def run_show(options: argparse.Namespace) -> None:
    """Print the results, without empty columns."""
    lines = lines_of(options.output / "census1940.csv")
    names = [name for name in COLUMNS if any(line[name] for line in lines)]
    writer = csv.writer(sys.stdout, delimiter="|")
    writer.writerows([names, ["---"] * len(names), *([line[name] for name in names] for line in lines)])


def table_of(options: argparse.Namespace) -> Path:
    """Return the folder of the table."""
    return Path(options.scratch, str(options.rows))


def rows_of(options: argparse.Namespace, mechanism: str) -> Path:
    """Return the file of the rows that were released."""
    return Path(options.scratch, f"{options.rows}-{mechanism}.parquet")


def used(options: argparse.Namespace) -> Line:
    """Return what this process and those that it has waited for have used: the peak is that of the largest."""
    both = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in both)
    wall = time.perf_counter() - options.begin
    return {"cpu_s": cpu, "wall_s": wall, "peak_mb": max(each.ru_maxrss for each in both) / 1024}


def add(options: argparse.Namespace, part: str, found: Line) -> None:
    """Add a line to the results, and print it."""
    line: Line = {"part": part, "rows": options.rows, "commit": commit(options.tree), "machine": machine()}
    line |= found | {"load": os.getloadavg()[0]}
    add_line(options.output / "census1940.csv", COLUMNS, line)
    sys.stdout.write(" ".join(f"{key}={line[key]}" for key in COLUMNS if key in line) + "\n")
    sys.stdout.flush()


PARTS = {"make": run_make, "release": run_release, "errors": run_errors, "show": run_show}


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--rows", type=int, default=137_000_000)
    parser.add_argument("--mechanism", choices=MECHANISMS, default="Adaptive")
    parser.add_argument("--processes", type=int, choices=[1, 2], default=1, help="of make")
    parser.add_argument("--tree", type=Path, default=HERE.parent, help="the worktree that is measured")
    parser.add_argument("--threads", type=int, help="of a release; by default its own choice")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--scratch", type=Path, default=Path(gettempdir()) / "lapwing-census")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results")
    options = parser.parse_args(namespace=argparse.Namespace(begin=time.perf_counter()))
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
