"""Every development table through `lapwing synthesize` with default settings: one CSV line per table and ε.

    python bench/all_tables.py [--epsilon 1 10] [--delta 1e-9] [--only NAME ...] [--runs 1] [--rows-to DIR]
        [--schemas DIR] [-o OUT.csv]
    python bench/all_tables.py --rows-from DIR [--commit C] [-o OUT.csv]

Each release is made in a process of its own on one thread; time and memory are of the whole command, reading, writing
and imports included. ``--rows-to`` keeps the rows, as ``DIR/E/NAME.parquet`` (``NAME.SEED.parquet`` for later runs),
and ``DIR/timing.csv``; ``--rows-from`` compares rows that were made earlier, by whatever version. With several runs,
of seeds 1, 2, ..., errors are means over the runs, time and memory their least, and names those of the first.
``--schemas`` gives schemas under which rows are made instead, as ``DIR/NAME.json``; rows are always compared under the
table's own.

Figures are those of `lapwing.evaluate` with seed 0: tv1, tv2, tv3 are mean total variations of all one-way, all two-way
and 128 three-way tables, beside those of independently shuffled columns and of a bootstrap of the real rows;
``missing``, ``special`` mean differences in share; ``mean``, ``deviation``, ``wasserstein`` in real standard
deviations; ``rank`` of the seven quantiles and ``median`` of one of them are errors in rank; ``together`` and ``given``
mean total variations of what is missing, over at most 2,000 pairs of columns. All real rows are compared, also where a
privacy unit may keep fewer. Names under ``_worst`` are those of the worst columns. The output is internal: it compares
with real rows.
"""

import argparse
import csv
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results"
TIMING = ("table", "epsilon", "seed", "wall_s", "cpu_s", "peak_mb", "refused")
NAMES = ("commit", "table", "epsilon", "runs", "rows", "columns", "rows_out", "mechanism", "wall_s", "cpu_s", "peak_mb")
NAMES += ("tv1", "tv1_bootstrap", "tv2", "tv2_independent", "tv2_bootstrap", "tv3", "tv3_independent", "tv3_bootstrap")
NAMES += ("missing", "missing_bootstrap", "missing_worst", "special", "special_worst")
NAMES += ("together", "together_independent", "together_bootstrap", "given", "given_independent", "given_bootstrap")
NAMES += ("mean", "mean_bootstrap", "mean_worst", "deviation", "deviation_worst", "median", "median_worst")
NAMES += ("rank", "rank_bootstrap", "rank_worst", "kolmogorov", "kolmogorov_bootstrap", "kolmogorov_worst")
NAMES += ("wasserstein", "wasserstein_bootstrap", "wasserstein_worst", "rows_fit_schema", "refused")
MEDIAN = 3
"""Place of the median among the quantiles."""

Line = dict[str, object]


def main() -> None:
    """Make the rows unless they are there, then compare them: a large process would count as the runs' own memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", nargs="+", default=["1", "10"])
    parser.add_argument("--delta", help="default: none, pure ε")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rows-to", type=Path)
    parser.add_argument("--rows-from", type=Path)
    parser.add_argument("--schemas", type=Path)
    parser.add_argument("--commit", help="the version that made the rows; default: the current one")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "all_tables.csv")
    chosen = parser.parse_args()
    folders = [path.parent for path in SHARED.glob("*/schema.json")]
    folders = [folder for folder in folders if not chosen.only or folder.name in chosen.only]
    folders.sort(key=lambda folder: (folder / "data.parquet").stat().st_size)
    commit = chosen.commit or subprocess.check_output(
        ["git", "-C", Path(__file__).parent, "rev-parse", "--short", "HEAD"], text=True
    )
    with TemporaryDirectory() as scratch:
        rows = chosen.rows_from or chosen.rows_to or Path(scratch)
        if not chosen.rows_from:
            jobs = list(itertools.product(chosen.epsilon, folders, range(1, chosen.runs + 1)))
            make_rows(jobs, rows, chosen.schemas, chosen.delta)
        lines = compared(folders, rows)
        lines = ({"commit": commit.strip()} | line for line in lines if line["epsilon"] in chosen.epsilon)
        write_lines(chosen.output, lines)


def make_rows(jobs: list[tuple[str, Path, int]], rows: Path, schemas: Path | None, delta: str | None) -> None:
    """Release every table, and write down what each run took as soon as it is done."""
    for epsilon, _, _ in jobs:
        (rows / epsilon).mkdir(parents=True, exist_ok=True)
    with (rows / "timing.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, TIMING)
        writer.writeheader()
        for epsilon, folder, seed in jobs:
            other = None if schemas is None else schemas / f"{folder.name}.json"
            schema = other if other is not None and other.exists() else folder / "schema.json"
            out = rows_of(rows, epsilon, folder.name, seed)
            line: Line = {"table": folder.name, "epsilon": epsilon, "seed": seed}
            budget = ["--epsilon", epsilon, *(["--delta", delta] if delta else [])]
            writer.writerow(line | run_command(folder / "data.parquet", schema, budget, seed, out))
            file.flush()


def rows_of(rows: Path, epsilon: str, table: str, seed: int) -> Path:
    """Return where the rows of a run are."""
    return rows / epsilon / (f"{table}.parquet" if seed == 1 else f"{table}.{seed}.parquet")


def run_command(data: Path, schema: Path, budget: list[str], seed: int, out: Path) -> Line:
    """Run the command on one table in its own process."""
    command = [Path(sys.executable).with_name("lapwing"), "synthesize", data, "--schema", schema]
    command += [*budget, "--seed", seed, "-o", out, "--quiet"]
    start = time.perf_counter()
    process = subprocess.Popen(
        list(map(str, command)), stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    message = process.stderr.read() if process.stderr else ""
    _, status, usage = os.wait4(process.pid, 0)
    line: Line = {"wall_s": round(time.perf_counter() - start, 2)}
    line |= {"cpu_s": round(usage.ru_utime + usage.ru_stime, 2), "peak_mb": usage.ru_maxrss // 1024}
    return line | {"refused": message.strip().splitlines()[-1] if status else ""}


def compared(folders: list[Path], rows: Path) -> Iterable[Line]:
    """Yield what the runs on each table took, and how far the rows are from the real ones."""
    with (rows / "timing.csv").open(newline="") as file:
        runs = list(csv.DictReader(file))
    epsilons = dict.fromkeys(run["epsilon"] for run in runs)
    for epsilon, folder in itertools.product(epsilons, sorted(folders)):
        own = [run for run in runs if (run["table"], run["epsilon"]) == (folder.name, epsilon)]
        done = [run for run in own if not run["refused"]]
        if not own:
            continue
        line: Line = {"table": folder.name, "epsilon": epsilon, "runs": len(done)}
        line |= {key: min(float(run[key]) for run in own) for key in ("wall_s", "cpu_s", "peak_mb")}
        outs = [rows_of(rows, epsilon, folder.name, int(run.get("seed") or 1)) for run in done]
        line |= averaged([figures(folder, out) for out in outs])
        yield line | {"refused": next((run["refused"] for run in own if run["refused"]), "")}


def figures(folder: Path, out: Path) -> Line:
    """Return how far rows are from the real ones; nothing else where there is none."""
    import polars as pl

    import lapwing as lw
    from lapwing.schema.schemas import Schema

    if not pl.scan_parquet(out).select(pl.len()).collect().item():
        return {"rows_out": 0}
    schema = Schema.load(folder / "schema.json")
    found = lw.evaluate(folder / "data.parquet", out, schema).findings
    certificate = out.with_name(f"{out.name}.certificate.json")
    line: Line = {"rows": found.rows, "columns": len(schema.columns), "rows_out": found.synthetic_rows}
    line["mechanism"] = json.loads(certificate.read_text())["mechanism"]
    kinds = ("synthetic", "independent", "bootstrap")
    for each, lazy, floor in zip(*(found.tables[kind] for kind in kinds), strict=True):
        name = f"tv{each.ways}"
        line |= {name: each.mean, f"{name}_independent": lazy.mean, f"{name}_bootstrap": floor.mean}
    for name, gaps in (("together", found.together), ("given", found.given)):
        for rows, each in (gaps or {}).items():
            line[name if rows == "synthetic" else f"{name}_{rows}"] = each.mean
    return line | column_figures(found) | {"rows_fit_schema": rows_fit(out, schema)}


def column_figures(found: object) -> Line:
    """Return mean errors of single columns, those of the bootstrap, and the worst column."""
    from lapwing.extras.evaluate.metrics.columns import error_sizes

    sizes, floors = (
        (errors_and_median(each, error_sizes)) for each in (found.columns[kind] for kind in ("synthetic", "bootstrap"))
    )
    line: Line = {}
    for kind, errors in sizes.items():
        if errors:
            line |= {kind: mean(errors.values()), f"{kind}_bootstrap": mean(floors[kind].values())}
            line[f"{kind}_worst"] = max(errors, key=errors.__getitem__)
    return line


def errors_and_median(columns: tuple, error_sizes: object) -> dict[str, dict[str, float]]:
    """Return the sizes of the errors of columns, and those of the median alone."""
    medians = {each.column: abs(each.numbers.ranks[MEDIAN]) for each in columns if each.numbers is not None}
    return error_sizes(columns) | {"median": medians}


def rows_fit(out: Path, schema: object) -> bool:
    """Return whether every cell of the rows lies within the schema."""
    from lapwing.rows.source import code_table

    return all(
        int(chunk[column.name].max(initial=0)) < (column.domain.size if column.domain.missing else column.domain.last)
        for chunk in code_table(out, schema).chunks()
        for column in schema.columns
    )


def mean(values: Iterable[float]) -> float:
    """Return the mean, 0 of nothing."""
    values = list(values)
    return sum(values) / max(len(values), 1)


def averaged(lines: list[Line]) -> Line:
    """Return the mean of every number over the runs that have it, and the rest of the first; True where all are."""
    merged: Line = {}
    for key in dict.fromkeys(key for line in lines for key in line):
        every = [line[key] for line in lines if key in line]
        if isinstance(every[0], bool):
            merged[key] = all(every)
        else:
            merged[key] = type(every[0])(mean(every)) if isinstance(every[0], int | float) else every[0]
    return merged


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """Write lines as they come."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, NAMES, extrasaction="ignore")
        writer.writeheader()
        for line in lines:
            short = {key: _short(line[key]) for key in NAMES if key in line}
            writer.writerow(short)
            file.flush()
            sys.stdout.write(" ".join(f"{key}={value}" for key, value in short.items()) + "\n")


def _short(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


if __name__ == "__main__":
    main()
