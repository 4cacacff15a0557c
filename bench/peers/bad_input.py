"""Put a fixed list of awkward inputs to every tool, each in its own environment, and record what it does.

    python bench/peers/bad_input.py [--only TOOL] [--case CASE]

Cases: bad_cases.py. Results: bench/results/peers_bad_input.csv; a case that is there at the tool's version is not asked
again. A case gets 60 CPU seconds and 4 GB. The rows are invented, so the results may be shown to anyone.
"""

import argparse
import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bad_cases import CASES
from bad_worker import CPU_LIMIT
from plan import lines_of
from run import HERE, MECHANISMS, commit, environment, locked_version, watched

TOOLS = tuple(sorted(MECHANISMS, key=lambda tool: (tool != "lapwing", tool)))
RESULTS = HERE.parent / "results" / "peers_bad_input.csv"
COLUMNS = ["tool", "version", "case", "outcome", "quotes", "holds", "rows_out", "largest", "sites", "missing"]
COLUMNS += ["same_again", "kind", "raised_in", "message", "said", "date", "commit"]
MEMORY_LIMIT = 4_000


def run_missing(path: Path, tools: Sequence[str] = TOOLS, cases: Sequence[str] = tuple(CASES)) -> None:
    """Ask every tool about the cases that the results lack at its version, and write the results anew."""
    # Once: others may commit while the tools are asked.
    asked_at = commit()
    for tool in tools:
        version = locked_version(tool)
        # Answers of another version go.
        lines = [line for line in lines_of(path) if line["tool"] != tool or line["version"] == version]
        asked = {line["case"] for line in lines if line["tool"] == tool}
        answers = answers_of(tool, [case for case in cases if case not in asked])
        stamp = {"tool": tool, "version": version, "date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": asked_at}
        write(path, [*lines, *(stamp | {key: str(value) for key, value in answer.items()} for answer in answers)])


def answers_of(tool: str, cases: Sequence[str]) -> list[Mapping[str, object]]:
    """Return what a tool does with each case; a process that dies has its case named and the rest asked again.

    A process that dies before it is ready to be asked is no answer to any case: then all stops with an error.
    """
    found: dict[str, Mapping[str, object]] = {}
    with TemporaryDirectory() as scratch:
        answers = Path(scratch) / "answers.jsonl"
        while left := [case for case in cases if case not in found]:
            answers.unlink(missing_ok=True)
            ending = ended(tool, answers, left)
            if not answers.exists():
                raise SystemExit(f"{tool}: its worker {ending} before the first case; see what it wrote above")
            found |= {answer["case"]: answer for answer in map(json.loads, answers.read_text().splitlines())}
            unanswered = [case for case in left if case not in found]
            if unanswered:
                found[unanswered[0]] = {"case": unanswered[0], "outcome": ending}
    return [found[case] for case in cases]


def ended(tool: str, answers: Path, cases: list[str]) -> str:
    """Run the worker over cases; say how it ended."""
    command = [str(environment(tool)), str(HERE / "bad_worker.py"), tool, str(answers), *cases]
    process = subprocess.Popen(command, stdout=sys.stderr, stderr=sys.stderr)
    try:
        _, _, code, too_large = watched(process, MEMORY_LIMIT)
    finally:
        if process.returncode is None:
            process.kill()
    if too_large:
        return f"stopped: over {MEMORY_LIMIT} MB"
    return f"stopped: over {CPU_LIMIT} CPU s" if code == -signal.SIGXCPU else f"died with exit code {code}"


def write(path: Path, lines: list[dict[str, str]]) -> None:
    """Write the table of results."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(lines, key=lambda line: (TOOLS.index(line["tool"]), list(CASES).index(line["case"]))))


def main() -> None:
    """Ask the tools."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=TOOLS, action="append")
    parser.add_argument("--case", choices=list(CASES), action="append")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    run_missing(options.output, options.only or TOOLS, options.case or tuple(CASES))


if __name__ == "__main__":
    main()
