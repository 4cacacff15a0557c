"""What a release costs by mechanism and rows: CPU seconds and most memory, each in a process of its own.

    python bench/mechanism_cost.py [-o bench/results]

For the mechanisms that `scale.py` does not measure, and Independent beside them. Tables are those of
`scale_tables.py`: ``reals`` has three numbers, an integer and a category, ``mixed`` columns of five kinds. ``plane`` is
the first two columns of ``reals``, and ``flags`` has Booleans that hang on one hidden number. CPU is that of all
threads from the file to the release, without the start of Python and its imports; memory is that of the process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import scale_tables
from scale_worker import peak_mb

RESULTS = Path(__file__).resolve().parent / "results"
ROOT = RESULTS.parents[1]
RUNS = (
    ("Independent", "mixed", 15, (10**5, 10**6)),
    ("PSMM", "plane", 2, (10**4, 10**5, 10**6)),
    ("Grid", "reals", 5, (10**5, 10**6)),
    ("KDTree", "reals", 5, (10**5, 10**6)),
    ("Microaggregation", "mixed", 15, (10**5, 10**6)),
    ("LinearStatistics", "mixed", 15, (10**5, 10**6)),
    ("PrivateSampling", "flags", 16, (10**5, 10**6)),
    ("anonymize", "reals", 5, (10**4, 10**5)),
)


def write(kind: str, rows: int, columns: int, folder: Path) -> None:
    """Write a table and its schema."""
    if kind in ("reals", "mixed"):
        scale_tables.write(kind, rows, columns, folder)
        return
    folder.mkdir(parents=True)
    rng = np.random.default_rng([rows, columns])
    if kind == "plane":
        frame = scale_tables.reals(rows, rng).select("x", "y")
        fields = scale_tables.reals_fields()[:2]
    else:
        hidden = rng.random(rows)
        frame = pl.DataFrame({f"c{place}": rng.random(rows) < hidden for place in range(columns)})
        fields = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in frame.columns]
    frame.write_parquet(folder / "part-00.parquet")
    (folder / "schema.json").write_text(json.dumps({"fields": fields}))


def measured(mechanism: str, folder: Path, rows: int) -> dict[str, float]:
    """Return what one release costs; runs in a process of its own."""
    import lapwing as lw
    from lapwing.mechanisms.registry import make_mechanism

    files, schema = [str(path) for path in sorted(folder.glob("*.parquet"))], str(folder / "schema.json")
    is_drawn = mechanism == "PrivateSampling"

    def release(data: object, rows: int) -> None:
        if mechanism == "anonymize":
            lw.anonymize(data, schema, seed=1)
            return
        relation = {"neighbours": "replace-one"} if is_drawn else {"expected_rows": rows}
        lw.synthesize(data, schema, epsilon=1, mechanism=make_mechanism(mechanism, {}), seed=1, **relation)

    small = 20_000 if is_drawn else 1000  # private sampling refuses fewer
    release(pl.read_parquet(files[0]).head(small), small)  # what is imported late is no part of the cost
    begin = time.process_time()
    release(files, rows)
    cpu = time.process_time() - begin
    return {"cpu_s": round(cpu, 3), "peak_mb": round(peak_mb(), 1)}


def lines(folder: Path) -> Iterator[dict[str, object]]:
    """Yield a line for each mechanism and number of rows."""
    named = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for mechanism, kind, columns, sizes in RUNS:
        for rows in sizes:
            table = folder / f"{kind}-{rows}-{columns}"
            if not table.exists():
                write(kind, rows, columns, table)
            command = [sys.executable, __file__, "--one", mechanism, str(table), str(rows)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
            line: dict[str, object] = {"mechanism": mechanism, "table": kind, "rows": rows, "columns": columns}
            line |= json.loads(done.stdout.splitlines()[-1])
            yield line | {"commit": named.stdout.strip(), "load": round(os.getloadavg()[0], 1)}


def main() -> None:
    """Measure all, and write ``mechanism_cost.csv``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        sys.stdout.write(json.dumps(measured(chosen.one[0], Path(chosen.one[1]), int(chosen.one[2]))) + "\n")
        return
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for line in lines(Path(folder)):
            found.append(line)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    pl.DataFrame(found).write_csv(chosen.output / "mechanism_cost.csv")


if __name__ == "__main__":
    main()
