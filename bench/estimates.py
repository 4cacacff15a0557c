"""Rows of the same noisy marginals by Lapwing's ``estimate`` and by mbi's estimation: error, CPU seconds, memory.

    python bench/estimates.py [--only TABLE ...] [--runs 2] [-o bench/results/estimates.csv]

Each table's columns, in at most 16 groups, are measured with Gaussian noise (rho = 0.1 in all): every column, and
``path`` the pairs of neighbours, ``star`` the pairs with the first column, ``cycle`` the path with its ends joined, or
``all`` pairs. Both get the same numbers. ``pairs`` is the mean total variation of the table's pairs between rows made
and real ones, ``measured`` that of the measured ones. mbi (its lock in ``arena/locks/mbi``, needs uv) fits by mirror
descent in 1,000 steps and rounds its own rows. Each run is a process of its own with one thread and 600 CPU seconds.
The output is internal: it compares with real rows.
"""

import argparse
import itertools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

RESULTS = Path(__file__).resolve().parent / "results"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
TABLES = ("adult-pgm", "nltcs")
SHAPES = ("path", "star", "cycle", "all")
GROUPS, RHO, CPU_S, STEPS = 16, 0.1, 600, 1000
Codes = dict[str, np.ndarray]


def main() -> None:
    """Measure both, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(TABLES))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "estimates.csv")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work(*chosen.worker)
        return
    from no_schema import write_lines

    write_lines(chosen.output, lines(chosen.only, chosen.runs))


def lines(tables: list[str], runs: int) -> Iterator[dict[str, object]]:
    """Yield one line per table, set of marginals, tool and run."""
    from adaptive import commit
    from arena.environments import _of_lock

    pythons = {"lapwing": Path(sys.executable), "mbi": _of_lock("mbi")}
    for name, shape, run in itertools.product(tables, SHAPES, range(1, runs + 1)):
        codes, sizes = coded(name)
        measured, noisy = measurements(codes, sizes, shape, run)
        for tool, python in pythons.items():
            found = made_by(python, tool, sizes, noisy)
            line: dict[str, object] = {"table": name, "columns": len(sizes), "marginals": shape, "run": run}
            line |= {"tool": tool, "pairs": None, "measured": None, **found.pop("costs"), "commit": commit()}
            if found:
                line["pairs"] = variation(codes, found, sizes, list(itertools.combinations(sizes, 2)))
                line["measured"] = variation(codes, found, sizes, measured)
            yield line


@cache
def coded(name: str) -> tuple[Codes, dict[str, int]]:
    """Return a table's codes in at most 16 groups of about equal size, and how many groups each column has."""
    import polars as pl

    frame = pl.read_parquet(SHARED / name / "data.parquet")
    codes = {}
    for column in frame.get_columns():
        ranks = column.to_physical() if column.dtype.is_numeric() else column.cast(pl.String).rank("dense")
        values = ranks.cast(pl.Float64).to_numpy()
        cuts = (
            np.unique(np.quantile(values, np.linspace(0, 1, GROUPS + 1)[1:-1])) if column.n_unique() > GROUPS else None
        )
        found = np.unique(values, return_inverse=True)[1] if cuts is None else np.searchsorted(cuts, values, "right")
        codes[column.name] = found
    return codes, {column: int(each.max()) + 1 for column, each in codes.items()}


def measurements(codes: Codes, sizes: dict[str, int], shape: str, run: int) -> tuple[list[tuple[str, ...]], list]:
    """Return the measured pairs, and noisy counts of these and of each column: columns, counts and sigma."""
    names = list(sizes)
    path = list(itertools.pairwise(names))
    pairs = {
        "path": path,
        "star": [(names[0], name) for name in names[1:]],
        "cycle": [*path, (names[0], names[-1])],
        "all": list(itertools.combinations(names, 2)),
    }[shape]
    every = [*((name,) for name in names), *pairs]
    sigma = (len(every) / (2 * RHO)) ** 0.5
    rng = np.random.default_rng([run, SHAPES.index(shape)])
    noisy = [(columns, table(codes, sizes, columns) + rng.normal(0, sigma, size=size(sizes, columns)), sigma)
             for columns in every]  # fmt: skip
    return pairs, noisy


def size(sizes: dict[str, int], columns: tuple[str, ...]) -> int:
    """Return the cells of a marginal."""
    return int(np.prod([sizes[name] for name in columns]))


def table(codes: Codes, sizes: dict[str, int], columns: tuple[str, ...]) -> np.ndarray:
    """Return the counts of a marginal, its last column fastest."""
    cells = np.ravel_multi_index([codes[name] for name in columns], [sizes[name] for name in columns])
    return np.bincount(cells, minlength=size(sizes, columns))


def variation(real: Codes, made: Codes, sizes: dict[str, int], tables: list[tuple[str, ...]]) -> float:
    """Return the mean total variation of some tables."""
    rows = [len(next(iter(each.values()))) for each in (real, made)]
    both = ((table(real, sizes, each) / rows[0], table(made, sizes, each) / rows[1]) for each in tables)
    return float(np.mean([np.abs(one - other).sum() / 2 for one, other in both]))


def made_by(python: Path, tool: str, sizes: dict[str, int], noisy: list) -> dict:
    """Return the rows of one tool as codes, none where it did not end, and under ``costs`` what it took."""
    with TemporaryDirectory() as folder:
        given, rows = Path(folder) / "given.npz", Path(folder) / "rows.npz"
        listed = {f"t{place}": counts for place, (_, counts, _) in enumerate(noisy)}
        head = {"sizes": sizes, "tool": tool, "asked": [[list(columns), sigma] for columns, _, sigma in noisy]}
        np.savez(given, head=json.dumps(head), **listed)
        command = [str(python), __file__, "--worker", str(given), str(rows)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            said = "over 600 CPU s" if done.returncode < 0 else (done.stderr.strip().splitlines() or ["?"])[-1][:80]
            return {"costs": {"status": said, "cpu_s": None, "peak_mb": None}}
        with np.load(rows) as found:
            return {"costs": {"status": "ok", **json.loads(done.stdout)}, **dict(found)}


def work(given: str, rows: str) -> None:
    """Fit and draw in this process; print what it took."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    with np.load(given) as held:
        head = json.loads(str(held["head"]))
        asked = [(columns, held[f"t{place}"], sigma) for place, (columns, sigma) in enumerate(head["asked"])]
    began = time.process_time()
    np.savez(rows, **{"lapwing": by_lapwing, "mbi": by_mbi}[head["tool"]](head["sizes"], asked))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu_s": round(time.process_time() - began, 1), "peak_mb": round(peak)}))


def by_lapwing(sizes: dict[str, int], asked: list) -> Codes:
    """Return rows by Lapwing."""
    from lapwing import estimate

    rows = estimate(sizes, [(None, counts, sigma, columns) for columns, counts, sigma in asked], seed=1).sample()
    return {name: rows[name].to_numpy() for name in sizes}


def by_mbi(sizes: dict[str, int], asked: list) -> Codes:
    """Return rows by mbi."""
    from mbi import Domain, LinearMeasurement
    from mbi.estimation import MirrorDescent

    domain = Domain(list(sizes), list(sizes.values()))
    measured = [LinearMeasurement(counts, tuple(columns), stddev=sigma) for columns, counts, sigma in asked]
    rows = MirrorDescent().estimate(domain, measured, iters=STEPS).synthetic_data()
    return {name: np.asarray(rows.data[name]) for name in sizes}


if __name__ == "__main__":
    main()
