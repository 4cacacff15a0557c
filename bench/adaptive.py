"""Adaptive: accuracy beside independent columns and the bootstrap floor, many tables, scaling, ablations.

    python bench/adaptive.py accuracy|tables|scaling|ablations [--runs 3] [--only TABLE ...] [--epsilon 1 ...]
        [--variants NAME ...] [--sizes 1000000x100 ...] [--methods adaptive ...] [--delta 0] [--quick]
        [-o bench/results]
    python bench/adaptive.py summary            # CSV files of means, and pictures, from the runs that there are

Every run is a process of its own with one thread. Its line is added to ``adaptive_PART_runs.csv`` at once; a run whose
line is there already (same commit and settings) is not repeated, so an interrupted part goes on where it stopped. It
compares with real rows: its output is internal.
"""

import argparse
import csv
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adaptive_summary import summarise

HERE = Path(__file__).resolve().parent
Job = dict[str, Any]

TABLES = ["adult", "nist-ma2019", "nltcs", "bn-alarm", "salary-pgm", "plants", "rhc-icu", "nyc-airbnb"]
TABLES += ["teacher-climate", "jester", "nycflights13", "census-kdd"]
ABLATION_TABLES = ["adult-pgm", "nist-ma2019", "salary-pgm"]
BUDGETS = [(1, 1e-9), (0.1, 1e-9), (10, 1e-9), (1, None), (0.1, None), (10, None)]
METHODS = ["adaptive", "independent", "bootstrap"]
SIZES = [(10**6, 100), (10**4, 14), (10**5, 14), (10**6, 14), (10**7, 14)]
SIZES += [(10**5, 15), (10**5, 30), (10**5, 60), (10**5, 100), (10**5, 200)]
VARIANTS: dict[str, Job] = {
    "default": {},
    "no multi-resolution": {"settings": {"resolutions": [16]}},
    "as many tables in each round": {"patches": ["as many tables in each round"]},
    "not all pairs at once": {"patches": ["not all pairs at once"]},
    "no output descent": {"patches": ["systematic rows"]},
    "particles 5000": {"settings": {"particles": 5_000}},
    "particles 60000": {"settings": {"particles": 60_000}},
    "rounds 3": {"settings": {"rounds": 3}},
    "rounds 10": {"settings": {"rounds": 10}},
    "one_way_share 0.15": {"settings": {"one_way_share": 0.15}},
    "one_way_share 0.4": {"settings": {"one_way_share": 0.4}},
    "selection_share 0.1": {"settings": {"selection_share": 0.1}},
    "selection_share 0.02": {"settings": {"selection_share": 0.02}},
    "finest 16": {"settings": {"resolutions": [16, 8, 4]}},
    "finest 64": {"settings": {"resolutions": [64, 32, 16, 8, 4]}},
}
"""What differs from the default; the default has 20,000 particles, shares 0.25 and 0.05, up to 32 groups, 5 rounds."""

LIMIT_CPU_S = 1800
KEYS = ["part", "table", "method", "variant", "epsilon", "delta", "run", "commit"]
FOUND = [
    "status",
    "rows",
    "columns",
    "rows_out",
    "tv1",
    "tv2",
    "tv3",
    "auc",
    "sd_off",
    "numbers",
    "fit_cpu_s",
    "rows_cpu_s",
]
FOUND += ["cpu_s", "wall_s", "peak_mb", "start_mb", "answers", "atoms"]
COLUMNS = [*KEYS, *FOUND, "machine"]
SHOWN = [*KEYS[1:-1], "status", "tv1", "tv2", "tv3", "auc", "cpu_s", "peak_mb"]


def accuracy(options: argparse.Namespace) -> Iterator[Job]:
    """Yield the runs on adult-pgm."""
    for run, (epsilon, delta), method in product(range(options.runs), BUDGETS, METHODS):
        # The floor does not depend on the budget.
        is_needed = method != "bootstrap" or (epsilon, delta) == BUDGETS[0]
        if is_needed and (not options.epsilon or epsilon in options.epsilon):
            yield job("adult-pgm", method, run, epsilon=epsilon, delta=delta)


def tables(options: argparse.Namespace) -> Iterator[Job]:
    """Yield the runs on the development tables, one of each at ε = 1 first."""
    budgets, names = options.epsilon or [1, 0.1, 10], options.only or TABLES
    for run, epsilon, table, method in product(range(options.runs), budgets, names, options.methods):
        if method != "bootstrap" or epsilon == 1:
            yield job(table, method, run, epsilon=epsilon, delta=options.delta or None)


def ablations(options: argparse.Namespace) -> Iterator[Job]:
    """Yield the runs with one thing changed."""
    for run in range(options.runs):
        for variant in options.variants or VARIANTS:
            for table in options.only or ABLATION_TABLES:
                yield job(table, "adaptive", run, epsilon=1, delta=1e-9) | {"variant": variant} | VARIANTS[variant]


def scaling(options: argparse.Namespace) -> Iterator[Job]:
    """Yield the runs on tables of growing size."""
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes or []]
    for run in range(options.runs):
        for rows, columns in sizes or SIZES:
            for method in ("adaptive", "independent") if run == 0 else ("adaptive",):
                yield job(f"copies {rows} x {columns}", method, run, epsilon=1, delta=1e-9) | {
                    "copies": [rows, columns],
                    "most_pairs": 200,
                }


PARTS = {"accuracy": accuracy, "tables": tables, "ablations": ablations, "scaling": scaling}


def job(table: str, method: str, run: int, *, epsilon: float, delta: float | None) -> Job:
    """Return a run with the default settings."""
    found: Job = {"table": table, "method": method, "run": run, "epsilon": epsilon, "delta": delta}
    return found | {"settings": {}, "variant": "default"}


def worked(one: Job, scratch: Path) -> dict[str, object]:
    """Do one run in a process of its own; return what it found, or how it failed."""
    if "copies" in one:
        folder = scratch / "x".join(map(str, one["copies"]))
        one = one | {"folder": str(folder)}
        if not folder.exists():
            command = [sys.executable, HERE / "adaptive_copies.py", *map(str, one["copies"]), folder]
            subprocess.run(command, check=True)
    command = [sys.executable, str(HERE / "adaptive_worker.py"), json.dumps(one)]
    settings = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.run(command, check=False, env=settings, capture_output=True, text=True, preexec_fn=limited)
    if process.returncode:
        sys.stderr.write(process.stderr)
        last = (process.stderr.strip().splitlines() or [""])[-1]
        return {"status": f"failed ({process.returncode}): {last[:120]}"}
    return json.loads(process.stdout)


def limited() -> None:
    """End a process that takes too long, scoring included."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_CPU_S, LIMIT_CPU_S + 10))


@cache
def machine() -> str:
    """Name the processor and how many there are."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} x {model}"


@cache
def commit() -> str:
    """Return the commit: as the environment gives it, for a copy without history, or the one checked out."""
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    given = os.environ.get("LAPWING_COMMIT")
    return given or subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def key_of(line: dict[str, object]) -> tuple[str, ...]:
    """Return what tells one run from another."""
    return tuple("" if line[key] is None else str(line[key]) for key in KEYS)


def lines_of(path: Path) -> list[dict[str, object]]:
    """Return the lines of a file of runs, none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def add_line(path: Path, line: dict[str, object]) -> None:
    """Add a line to a file of runs, with the names of its columns where it is the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerow({key: f"{value:.5g}" if isinstance(value, float) else value for key, value in line.items()})


def run_part(part: str, options: argparse.Namespace) -> None:
    """Do the runs of a part that are not done yet."""
    path = options.output / f"adaptive_{part}_runs.csv"
    known = {key_of(line) for line in lines_of(path)}
    with TemporaryDirectory() as scratch:
        for one in PARTS[part](options):
            line: dict[str, object] = {"part": part, "commit": commit(), "machine": machine()}
            line |= {key: one[key] for key in KEYS if key in one}
            if key_of(line) in known:
                continue
            line |= {key: value for key, value in worked(one, Path(scratch)).items() if key in FOUND}
            add_line(path, line)
            shown = [key for key in SHOWN if key in line]
            stamp = time.strftime("%H:%M:%S")
            sys.stdout.write(f"{stamp} {part} " + " ".join(_brief(line[key]) for key in shown) + "\n")
            sys.stdout.flush()


def _brief(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def quick(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options of a small trial of every part, written to a folder of its own."""
    options.runs, options.epsilon, options.only = 1, [1], ["nltcs"]
    options.variants, options.sizes = ["no multi-resolution", "no output descent"], ["10000x15"]
    options.output = options.output / "quick"
    return options


def main() -> None:
    """Run a part, then write its means and pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "summary"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="tables")
    parser.add_argument("--epsilon", nargs="*", type=float)
    parser.add_argument("--delta", type=float, default=1e-9, help="of the part `tables`; 0: pure")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=METHODS, help="of the part `tables`")
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS))
    parser.add_argument("--sizes", nargs="*", help="such as 1000000x100")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results")
    options = parser.parse_args()
    options.epsilon = options.epsilon and [int(each) if each.is_integer() else each for each in options.epsilon]
    options = quick(options) if options.quick else options
    if options.part != "summary":
        run_part(options.part, options)
    for part in PARTS if options.part == "summary" else [options.part]:
        lines = lines_of(options.output / f"adaptive_{part}_runs.csv")
        if lines:
            summarise(part, lines, options.output)


if __name__ == "__main__":
    main()
