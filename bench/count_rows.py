"""Parquet to codes and one-way counts: CPU seconds and peak memory of a fresh process.

    python bench/count_rows.py [--rows 10000000] [--columns 5] [--file FILE]

Writes the table of uniform numbers first (in a process of its own), unless FILE is there.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import gettempdir

from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import prefix_grouping
from lapwing.schema.schemas import Schema

WRITE = """
import sys, numpy as np, polars as pl
rng = np.random.default_rng(0)
rows, columns = int(sys.argv[2]), int(sys.argv[3])
pl.DataFrame({f"x{i}": rng.random(rows) for i in range(columns)}).write_parquet(sys.argv[1])
"""


def main() -> None:
    """Measure and print one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--file", type=Path)
    chosen = parser.parse_args()
    path = chosen.file or Path(gettempdir()) / f"lapwing-uniform-{chosen.rows}x{chosen.columns}.parquet"
    if not path.exists():
        subprocess.run([sys.executable, "-c", WRITE, path, str(chosen.rows), str(chosen.columns)], check=True)
    bounds = {"minimum": 0, "maximum": 1, "required": True}
    names = [f"x{i}" for i in range(chosen.columns)]
    schema = Schema.from_dict({"fields": [{"name": name, "type": "number", "constraints": bounds} for name in names]})
    start = time.perf_counter()

    source = code_table(path, schema)
    counts = source.count([((name, prefix_grouping(schema.field(name).domain, 22)),) for name in names])

    usage = resource.getrusage(resource.RUSAGE_SELF)
    line = {
        "rows": int(counts[0].sum()),
        "wall_s": round(time.perf_counter() - start, 2),
        "cpu_s_with_imports": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": usage.ru_maxrss // 1024,
    }
    sys.stdout.write(" ".join(f"{key}={value}" for key, value in line.items()) + "\n")


if __name__ == "__main__":
    main()
