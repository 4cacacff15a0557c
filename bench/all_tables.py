"""Every development table through `lapwing synthesize` with default settings: one CSV line per table.

    python bench/all_tables.py [--epsilon 1] [--only NAME ...] [-o bench/results/all_tables.csv]

Columns: rows and columns in; wall and CPU seconds and peak memory of the whole command in a process of its own; mean
and largest one-way total variation distance between real and synthetic columns, on the column's own values where it
has at most 1,024 of them and on 64 equal parts of the public domain otherwise (missing and special values count as
values); and whether every row out fits the schema. It compares with real rows: its output is internal.
"""

import argparse
import csv
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from lapwing.schema.groupings import evenly, identity
from lapwing.schema.schemas import Schema
from lapwing.table.source import code_table

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def one_way_distances(real: Path, synthetic: Path, schema: Schema) -> list[float]:
    """Return the total variation distance of every column."""
    tables = []
    for column in schema.columns:
        domain = column.domain
        tables.append(((column.name, identity(domain) if domain.values <= 1024 else evenly(domain, 64)),))
    counts = [code_table(path, schema).count(tables) for path in (real, synthetic)]
    return [float(np.abs(a / max(a.sum(), 1) - b / max(b.sum(), 1)).sum() / 2) for a, b in zip(*counts, strict=True)]


def run_command(folder: Path, epsilon: str, out: Path) -> dict[str, object]:
    """Run the command on one table in its own process."""
    lapwing = Path(sys.executable).with_name("lapwing")
    command = [lapwing, "synthesize", folder / "data.parquet", "--schema", folder / "schema.json", "--epsilon", epsilon]
    start = time.perf_counter()
    process = subprocess.Popen([*map(str, command), "-o", str(out), "--quiet"], stderr=subprocess.PIPE, text=True)
    message = process.stderr.read() if process.stderr else ""
    _, status, usage = os.wait4(process.pid, 0)
    line: dict[str, object] = {"table": folder.name, "wall_s": round(time.perf_counter() - start, 2)}
    line |= {"cpu_s": round(usage.ru_utime + usage.ru_stime, 2), "peak_mb": usage.ru_maxrss // 1024}
    return line | ({"refused": message.strip().splitlines()[-1]} if status else {})


def compare(folder: Path, out: Path) -> dict[str, object]:
    """Compare the columns of a table and of the rows made from it."""
    data, schema = folder / "data.parquet", Schema.load(folder / "schema.json")
    distances = one_way_distances(data, out, schema)
    fits = all(
        int(chunk[column.name].max(initial=0)) < (column.domain.size if column.domain.missing else column.domain.last)
        for chunk in code_table(out, schema).chunks()
        for column in schema.columns
    )
    return {
        "rows": code_table(data, schema).rows,
        "columns": len(schema.columns),
        "rows_out": code_table(out, schema).rows,
        "mean_tv": round(float(np.mean(distances)), 4),
        "max_tv": round(max(distances), 4),
        "worst": schema.columns[int(np.argmax(distances))].name,
        "rows_fit_schema": fits,
    }


def main() -> None:
    """Run all tables, then compare them: a process counts the peak memory of the one that started it as its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "all_tables.csv")
    chosen = parser.parse_args()
    folders = [
        p.parent for p in sorted(SHARED.glob("*/schema.json")) if not chosen.only or p.parent.name in chosen.only
    ]
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    names = ["table", "rows", "columns", "wall_s", "cpu_s", "peak_mb", "rows_out", "mean_tv", "max_tv", "worst"]
    names += ["rows_fit_schema", "refused"]
    with TemporaryDirectory() as scratch, chosen.output.open("w", newline="") as file:
        outs = {folder: Path(scratch) / f"{folder.name}.parquet" for folder in folders}
        lines = {folder: run_command(folder, chosen.epsilon, out) for folder, out in outs.items()}
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for folder, out in outs.items():
            line = lines[folder] | ({} if "refused" in lines[folder] else compare(folder, out))
            writer.writerow(line)
            sys.stdout.write(" ".join(f"{key}={line[key]}" for key in names if key in line) + "\n")


if __name__ == "__main__":
    main()
