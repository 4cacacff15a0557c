"""The arena: every rival on every table, each cell in a process of its own; interrupted, it goes on where it was.

    python bench/arena/run.py [--rivals NAME ...] [--tables NAME ...] [--forms codes ...] [--epsilons 1 ...]
        [--deltas 1e-9 ...] [--runs 3] [--limit 1800] [--memory 12000] [--checkout NAME=PATH ...] [--again]

A cell that bench/results/arena.csv answers is not run again, unless with --again: so one command reruns a row. Each is
written at once: a figure, or the reason why there is none. --limit is in CPU seconds, the same for all. Then
``python bench/arena/page.py`` writes docs/arena.md. It compares with real rows.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

sys.path.append(str(Path(__file__).resolve().parents[1]))

from arena import forms, tables
from arena.cells import RESULTS, Cell, answers, cell_of, planned, read_lines, record
from arena.environments import Unready, checkout_commit, interpreter, last_line
from arena.field import FORMS, RIVALS, Rival, not_offered
from arena.measures import measured

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SLACK = 4
"""Wall seconds that a cell may take for each CPU second of its limit, where other work shares the machine."""


def run_cell(cell: Cell, rival: Rival, table: tables.ArenaTable, options: argparse.Namespace) -> dict[str, object]:
    """Run one cell; return its line."""
    line: dict[str, object] = asdict(cell) | {"limit_s": options.limit, "machine": machine(), "commit": commit()}
    line |= {"rows": pl.scan_parquet(table.train).select(pl.len()).collect().item(), "columns": len(table.domain)}
    line |= {"checkout": checkout_commit(rival, options.checkouts)}
    with TemporaryDirectory() as folder:
        scratch = Path(folder)
        try:
            python = interpreter(rival, options.checkouts)
        except Unready as unready:
            return line | {"status": "not ready", "reason": str(unready)}
        form = forms.prepared(table, cell.form, cell.epsilon, cell.delta, run=int(cell.run), scratch=scratch)
        job = form.job | {"mechanism": rival.mechanism, "form": "native" if cell.form == "native" else "codes"}
        job |= {"run": int(cell.run), "checkout": str(options.checkouts.get(rival.checkout, ""))}
        (scratch / "job.json").write_text(json.dumps(job))
        line |= ended([str(python), str(HERE / "rivals" / f"{rival.script}.py")], scratch, options)
        if line["status"] == "done":
            line |= judged(table, form, scratch / "rows.parquet")
    return line


def ended(command: list[str], scratch: Path, options: argparse.Namespace) -> dict[str, object]:
    """Run an adapter to its end or its limits; return how it ended and what it cost."""
    start = time.perf_counter()
    # Threads that wait for each other burn the CPU seconds that are counted. mbi asks for no compiled programs on disk.
    settings = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_ENABLE_COMPILATION_CACHE": "0"}
    limited = ["prlimit", f"--cpu={int(options.limit)}:{int(options.limit) + 30}", *command, str(scratch / "job.json")]
    # Our own sources are for our own adapter.
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH" or command[0] == sys.executable}
    with (scratch / "said.txt").open("w") as said:
        process = subprocess.Popen(limited, stdout=said, stderr=said, env=inherited | settings)
        try:
            peak, cpu, code, too_much = watched(process, options.memory, SLACK * options.limit + 60)
        finally:
            if process.returncode is None:
                process.kill()
    cost = {"cpu_s": round(cpu, 1), "wall_s": round(time.perf_counter() - start, 1), "peak_mb": round(peak)}
    is_killed = code == -signal.SIGKILL and cpu >= options.limit
    if not too_much and (is_killed or code == -signal.SIGXCPU):  # which the kernel counts more finely than `cpu`
        too_much = f"over {options.limit:g} CPU s"
    if too_much:
        return cost | {"status": "did not finish", "reason": too_much}
    if code < 0:
        return cost | {"status": "failed", "reason": f"ended by signal {-code}, as where the machine's memory runs out"}
    if code:
        return cost | {"status": "failed", "reason": last_line((scratch / "said.txt").read_text())}
    result = json.loads((scratch / "result.json").read_text())
    told = {"versions": " ".join(f"{name} {version}" for name, version in result["versions"].items())}
    told["options"] = " ".join(f"{name}={value}" for name, value in result["options"].items())
    if "refused" in result:
        return cost | told | {"status": "refused", "reason": result["refused"]}
    told |= {key: round(result[key], 1) for key in ("fit_cpu_s", "rows_cpu_s")}
    return cost | told | {"status": "done", "reason": ""}


def watched(process: subprocess.Popen, memory_mb: float, wall_s: float) -> tuple[float, float, int, str]:
    """Wait for a process; return its peak memory in MB, CPU seconds, exit code, and why it was ended, if it was."""
    peak, too_much, start = 0.0, "", time.perf_counter()
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            code = process.returncode = os.waitstatus_to_exitcode(status)
            return peak, usage.ru_utime + usage.ru_stime, code, too_much
        # ru_maxrss would begin with the memory of this process, which started the other one.
        peak = max(peak, peak_memory_mb(process.pid))
        over_time = time.perf_counter() - start > wall_s
        if not too_much and (over_time or peak > memory_mb):
            too_much = f"over {wall_s:g} s of wall time" if over_time else f"over {memory_mb:g} MB"
            process.kill()
        time.sleep(0.1)


def peak_memory_mb(pid: int) -> float:
    """Return the most memory that a running process has used so far."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return max((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), default=0.0)


def judged(table: tables.ArenaTable, form: forms.Prepared, path: Path) -> dict[str, object]:
    """Return the measures of rows out, or why there are none."""
    rows = pl.read_parquet(path)
    if not rows.height:
        return {"status": "failed", "reason": "it gave no rows", "rows_out": 0}
    real, held = pl.read_parquet(table.train), pl.read_parquet(table.held)
    figures = measured(real, held, form.native(rows), table.schema)
    return {"rows_out": rows.height} | {key: round(value, 5) for key, value in figures.items()}


def machine() -> str:
    """Name the processor and how many there are."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} x {model}"


def commit() -> str:
    """Return the short name of the commit that is checked out."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def run_all(options: argparse.Namespace, rivals: Mapping[str, Rival] = RIVALS) -> None:
    """Run what the results lack."""
    lines = [] if options.again else read_lines(options.output)
    answered = {cell_of(line) for line in lines if answers(line, options.limit)}
    budgets = [(epsilon, delta) for epsilon in options.epsilons for delta in options.deltas]
    for cell in planned(options.tables, options.forms, options.rivals or list(rivals), budgets, options.runs):
        rival = rivals[cell.rival]
        if cell in answered or not_offered(rival, cell.form, cell.delta):
            continue
        table = tables.made(cell.table, options.folder)
        if cell.form == "quantiles" and not forms.has_numbers(table):
            continue
        line = run_cell(cell, rival, table, options)
        record(options.output, line)
        told = " ".join(str(line.get(key, "")) for key in ("status", "reason", "cpu_s", "tv2_narrow"))
        print(time.strftime("%H:%M:%S"), *asdict(cell).values(), told, flush=True)


def read_options(words: list[str]) -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, metavar="NAME", help=f"of {', '.join(RIVALS)}")
    parser.add_argument("--tables", nargs="+", default=tables.names(), choices=tables.names(), metavar="NAME")
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=FORMS)
    parser.add_argument("--epsilons", nargs="+", default=["1", "0.1", "10"])
    parser.add_argument("--deltas", nargs="+", default=["1e-9", "1e-5", "0"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1800, help="CPU seconds of a cell, imports included")
    parser.add_argument("--memory", type=float, default=12_000, help="MB")
    parser.add_argument("--checkout", nargs="+", default=[], type=checkout, metavar="NAME=PATH")
    parser.add_argument("--again", action="store_true", help="also what the results answer")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "arena", help="of the tables")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options: Any = parser.parse_args(words)
    options.checkouts = dict(options.checkout)
    return options


def checkout(words: str) -> tuple[str, Path]:
    """Return the name and folder of a checkout."""
    name, _, path = words.partition("=")
    if not path or not Path(path).is_dir():
        raise argparse.ArgumentTypeError(f"{words} is not NAME=PATH of a folder that is there")
    return name, Path(path).resolve()


if __name__ == "__main__":
    run_all(read_options(sys.argv[1:]))
