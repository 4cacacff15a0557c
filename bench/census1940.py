"""The 1940 census, as far as a public schema can be: a table of its shape, and what a release of it costs and keeps.

    python bench/census1940.py make|release|errors|show [--rows 137000000] [--scratch FOLDER] [--mechanism Adaptive]

``make``      the table: Parquet files and ``schema.json`` in SCRATCH/ROWS, drawn by the laws of `census1940_columns`
"""

import argparse
import resource
import sys
import time
from pathlib import Path
from tempfile import gettempdir

from census1940_rows import make

HERE = Path(__file__).resolve().parent


def run_make(options: argparse.Namespace) -> None:
    """Make the table, and say what that took."""
    folder, begin = options.scratch / str(options.rows), time.perf_counter()
    make(folder, options.rows, options.processes)
    used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    peak = max(each.ru_maxrss for each in used) / 1024
    sys.stdout.write(
        f"{folder}: {options.rows} rows, {size / 1e9:.2f} GB, {cpu:.1f} CPU s, {time.perf_counter() - begin:.1f} s, "
        f"peak {peak:.0f} MB of one process\n"
    )


PARTS = {"make": run_make}


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--rows", type=int, default=137_000_000)
    parser.add_argument("--processes", type=int, choices=[1, 2], default=1)
    parser.add_argument("--scratch", type=Path, default=Path(gettempdir()) / "lapwing-census")
    options = parser.parse_args()
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
