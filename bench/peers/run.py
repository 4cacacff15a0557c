"""Fit a peer to a development table, in the peer's own environment: rows as a parquet file, one CSV line per fit.

    python bench/peers/run.py mbi-mst adult-pgm --epsilon 1 [--delta 1e-9] [--run 0]
        [--cpu-limit 1800] [--memory-limit 12000] [--rows-folder out/peers] [-o bench/results/peers.csv]
    python bench/peers/run.py all [--only PEER] [--runs 1] [--cpu-limit 1800]

`all` makes the environments, runs what the files of results lack, and writes docs/peers.md.
What peers get and how the fits are limited: README.md in this folder. It compares with real rows: its output is
internal.
"""

import argparse
import csv
import json
import os
import platform
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

sys.path.append(str(Path(__file__).resolve().parents[1]))

from codings import Coding, coding_of
from score import score

import lapwing
from lapwing.kernel.budget.budget import requested_budget

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DISTRIBUTIONS = {
    "mbi": "mbi",
    "smartnoise": "smartnoise-synth",
    "dpmm": "dpmm",
    "datasynthesizer": "datasynthesizer",
}
"""Package on the index of each environment."""
MECHANISMS = dict.fromkeys(DISTRIBUTIONS, ("aim", "mst"))
MECHANISMS |= {"datasynthesizer": ("privbayes", "k2", "k1"), "lapwing": ("adaptive", "independent")}
PEERS = [f"{package}-{mechanism}" for package, mechanisms in MECHANISMS.items() for mechanism in mechanisms]
NAMED_CODES = {"adult-pgm": ("native-country",)}
"""Columns of many codes that stand for names, in tables whose schema calls every column a number."""
COLUMNS = ["peer", "version", "table", "rows", "columns", "epsilon", "delta", "run", "status", "fit_cpu_s"]
COLUMNS += ["rows_cpu_s", "wall_s", "peak_mb", "rows_out", "tv1", "tv2", "tv3", "auc", "machine", "commit"]
COLUMNS += ["output"]


def environment(package: str) -> Path:
    """Return the interpreter of a peer's environment, after bringing it to its lock file; ours is this one."""
    if package == "lapwing":
        return Path(sys.executable)
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    place = cache / "lapwing-peers" / package
    settings = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    command = ["uv", "sync", "--quiet", "--locked", "--project", str(HERE / "locks" / package)]
    subprocess.run(command, check=True, env=settings | {"UV_PROJECT_ENVIRONMENT": str(place)})
    return place / "bin" / "python"


def watched(process: subprocess.Popen, memory_limit_mb: float) -> tuple[float, float, int, bool]:
    """Wait for a process; return its peak memory in MB, CPU seconds, exit code and whether it was too large."""
    peak, too_large = 0.0, False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            code = process.returncode = os.waitstatus_to_exitcode(status)
            return peak, usage.ru_utime + usage.ru_stime, code, too_large
        # ru_maxrss would begin with the memory of this process, which started the other one.
        peak = max(peak, peak_memory_mb(process.pid))
        if peak > memory_limit_mb and not too_large:
            too_large = True
            process.kill()
        time.sleep(0.2)


def peak_memory_mb(pid: int) -> float:
    """Return the most memory that a running process has used so far."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return max((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), default=0.0)


def status_of(code: int, too_large: bool, options: argparse.Namespace) -> str:
    """Say in words how a fit ended."""
    if too_large:
        return f"stopped: over {options.memory_limit:.0f} MB"
    if code == -signal.SIGXCPU:
        return f"stopped: over {options.cpu_limit:.0f} CPU s"
    return "done" if code == 0 else f"failed: exit code {code}"


def run_peer(options: argparse.Namespace, scratch: Path) -> dict[str, object]:
    """Fit one peer; return its CSV line."""
    package, mechanism = options.peer.split("-")
    coding = coding_of(options.table)
    codes = coding.parts()[0][: options.first_rows, : options.first_columns]
    np.save(scratch / "rows.npy", codes)
    job = {"package": package, "mechanism": mechanism, "sizes": coding.sizes[: options.first_columns]}
    job |= {"epsilon": options.epsilon, "delta": options.delta, "run": options.run, "cpu_limit_s": options.cpu_limit}
    job |= described(coding)
    if float(options.delta):
        job["rho"] = float(requested_budget(epsilon=options.epsilon, delta=options.delta).rho)
    (scratch / "job.json").write_text(json.dumps(job))

    line = {"peer": options.peer, "version": locked_version(package), "table": options.table, "rows": len(codes)}
    line |= {"columns": codes.shape[1], "epsilon": options.epsilon, "delta": options.delta, "run": options.run}
    line |= fitted(package, len(codes), scratch, options) | {"machine": machine(), "commit": commit()}
    if line["status"] == "done":
        synthetic = np.load(scratch / "synthetic.npy")
        names = coding.names[: options.first_columns]
        pure = "" if float(options.delta) else "_pure"
        file = f"{options.table}_{options.peer}_{options.epsilon}{pure}_{options.run}.codes.parquet"
        output = options.rows_folder / file
        pl.DataFrame({name: synthetic[:, j] for j, name in enumerate(names)}).write_parquet(output)
        line |= {"rows_out": len(synthetic), "output": output.name}
        # A trial on a part of the table has nothing to be compared with.
        line |= score(coding, synthetic) if codes.shape[1] == len(coding.sizes) else {}
    return line


def described(coding: Coding) -> dict[str, object]:
    """Return what is public about the columns besides how many codes they have."""
    fields, named = coding.schema.columns, NAMED_CODES.get(coding.table, ())
    return {
        "schema": coding.schema_of_codes().to_dict(),
        "is_number": [not field.is_categorical and field.name not in named for field in fields],
        "has_missing": [bool(field.domain.missing) for field in fields],
    }


def fitted(package: str, rows: int, scratch: Path, options: argparse.Namespace) -> dict[str, object]:
    """Run the worker to its end or its limits; return how it ended, its time and its memory."""
    python, settings = environment(package), dict(os.environ)
    if package == "mbi":
        # What the package itself asks for: doubles above 100,000 rows, and no compiled programs on disk.
        settings |= {"JAX_ENABLE_X64": str(int(rows > 100_000)), "JAX_ENABLE_COMPILATION_CACHE": "0"}
    start = time.perf_counter()
    command = [python, HERE / "worker.py", scratch]
    process = subprocess.Popen(command, stdout=sys.stderr, stderr=sys.stderr, env=settings)
    try:
        peak, cpu, code, too_large = watched(process, options.memory_limit)
    finally:
        if process.returncode is None:
            process.kill()
    found = {"status": status_of(code, too_large, options), "fit_cpu_s": round(cpu, 1), "peak_mb": round(peak)}
    if code == 0:
        done = json.loads((scratch / "done.json").read_text())
        found |= {key: round(seconds, 1) for key, seconds in done.items()}
    return found | {"wall_s": round(time.perf_counter() - start, 1)}


def locked_version(package: str) -> str:
    """Return the version of a peer that its lock file names, or ours."""
    if package == "lapwing":
        return lapwing.__version__
    listed = tomllib.loads((HERE / "locks" / package / "uv.lock").read_text())["package"]
    return next(entry["version"] for entry in listed if entry["name"] == DISTRIBUTIONS[package])


def machine() -> str:
    """Name the processor and how many there are."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} x {model}"


def commit() -> str:
    """Return the short name of the commit that is checked out."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def append_line(path: Path, line: dict[str, object]) -> None:
    """Add a line to the table of results, with the names of its columns where it is the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerow(line)


def run_and_record(options: argparse.Namespace) -> dict[str, object]:
    """Run one fit and add its line to the results."""
    options.rows_folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        line = run_peer(options, Path(scratch))
    append_line(options.output, line)
    return line


def read_options(words: list[str]) -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("table", help="a folder under ../shared/data")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--run", type=int, default=0, help="number of the repetition, which is also the seed")
    parser.add_argument("--cpu-limit", type=float, default=1800, help="CPU seconds of the fit")
    parser.add_argument("--memory-limit", type=float, default=12_000, help="MB")
    parser.add_argument("--first-rows", type=int, help="only these many, to try whether a peer runs")
    parser.add_argument("--first-columns", type=int)
    parser.add_argument("--rows-folder", type=Path, default=ROOT / "out" / "peers")
    parser.add_argument("-o", "--output", type=Path, default=HERE.parent / "results" / "peers.csv")
    return parser.parse_args(words)


def main() -> None:
    """Run one fit, or all that is missing."""
    if sys.argv[1:2] == ["all"]:
        # Only here: it imports this file.
        from everything import run_everything

        run_everything(sys.argv[2:])
        return
    line = run_and_record(read_options(sys.argv[1:]))
    sys.stdout.write(" ".join(f"{key}={line[key]}" for key in COLUMNS if key in line) + "\n")


if __name__ == "__main__":
    main()
