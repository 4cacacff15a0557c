"""What ``run.py all`` does: environments, the fits and bad inputs that the results lack, and the page."""

import argparse
import sys
import time
from pathlib import Path

import bad_input
import page
from plan import Fit, is_answered, lines_of, planned
from run import COLUMNS, ROOT, locked_version, read_options, run_and_record

PROGRESS = ROOT / "out" / "peers" / "progress.txt"


def run_everything(words: list[str]) -> None:
    """Run what is missing, one fit at a time, then write the page; may be ended and started again at any time."""
    parser = argparse.ArgumentParser(prog="run.py all")
    parser.add_argument("--only", action="append", help="only peers whose names begin so; may be repeated")
    parser.add_argument("--table", action="append", help="only this table; may be repeated")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--cpu-limit", type=float, default=1800)
    options = parser.parse_args(words)
    for fit in planned(options.runs):
        is_wanted = fit.peer.startswith(tuple(options.only or [""])) and fit.table in (options.table or [fit.table])
        if is_wanted:
            run_missing(fit, options.cpu_limit)
    bad_input.run_missing(bad_input.RESULTS)
    page.write_page()


def run_missing(fit: Fit, cpu_limit: float) -> None:
    """Run one fit unless the results hold it at this version."""
    command = [fit.peer, fit.table, "--epsilon", fit.epsilon, "--delta", fit.delta, "--run", str(fit.run)]
    settings = read_options([*command, "--cpu-limit", str(cpu_limit)])
    lines = lines_of(settings.output)
    if is_answered(fit, locked_version(fit.peer.split("-")[0]), cpu_limit, lines):
        return
    note(f"begins {' '.join(command)}")
    line = run_and_record(settings)
    note(" ".join(f"{key}={line[key]}" for key in COLUMNS if key in line))


def note(words: str) -> None:
    """Write a line to the file of progress and to the screen."""
    PROGRESS.parent.mkdir(parents=True, exist_ok=True)
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {words}\n"
    with Path(PROGRESS).open("a") as file:
        file.write(line)
    sys.stdout.write(line)
    sys.stdout.flush()
