"""Mutation testing of the privacy-critical code: ``nice -n 19 .venv/bin/python tools/mutants.py FOLDER``.

Makes a copy of what is committed in FOLDER, collects the tests of `SUITE` there once, and runs them once to see which
lines each runs through and how long it takes. Then one small change after another (`mutant_edits`), in random order,
is put into a forked child, and the tests that run through the changed line decide: fastest first, until one fails. A
mutant outside of all functions is written to the copy and decided by a fresh pytest.

Figures go to ``FOLDER/mutants.csv``, one row per decided mutant: ``killed`` (by which test), ``survived``, ``timeout``
(no end within three times the processor time of the same tests and a second), or ``not run`` (no test runs through the
line).
"""

import argparse
import ast
import csv
import functools
import gc
import json
import os
import random  # noqa: TID251 - which mutants come first is no secret
import resource
import signal
import subprocess
import sys
import tarfile
import time
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from mutant_edits import Mutant, mutants_of, mutated

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("curator", "noise", "budget")
SUITE = {
    "unit": "budget_amounts budget_conversions category_selection cli_ledger exact_tables ledger_accounts "
    "ledger_file ledger_selections linear_statistics logarithms noise_proof_notes noise_samplers "
    "noise_selection_privacy plain_questions private_draw private_draw_privacy questions room select_worst "
    "selection_privacy selections_in_releases sparse_counts split_decisions table_distances transcript tree_counts "
    "unnoticed_slips vector_questions vector_records weighted_draws",
    "naive": "cells conversion damped_means linear_sensitivity noise_tails private_sampling select_worst "
    "table_distances vector_sensitivity",
    "property": "budget ledger noise_enclosures",
    "statistical": "category_law cell_laws gibbs_law exact_laws noise_laws selection_law",
    "boundary": "ledger_tampering one_debit_one_noise private_draw_replay",
}
FIELDS = ("file", "line", "kind", "before", "after", "verdict", "seconds", "by")
ALIVE = {"survived", "not run"}
MEMORY = 8 << 30
CACHED: list["functools._lru_cache_wrapper[Any]"] = []
Tracer = Callable[[types.FrameType, str, object], Any]


@dataclass
class Seen:
    """What one test did on the code as it is: how long it took, and the lines it ran through."""

    seconds: float
    lines: dict[str, list[int]]


@dataclass
class Decider:
    """A pytest plugin: holds the collected tests, and decides mutants in forked children."""

    copy: Path
    mutants: list[Mutant]
    until: float
    most_seconds: float
    write: Callable[[Mutant, str, float, str], None]
    again: Path
    functions: dict[str, list[types.FunctionType]] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    items: dict[str, pytest.Item] = field(default_factory=dict)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if "polars-0" in [task.joinpath("comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]:
            raise pytest.UsageError("a test reads rows when it is imported; Polars' threads do not survive a fork")
        self.items = {item.nodeid: item for item in session.items}
        for function in gc.get_objects():
            if isinstance(function, functools._lru_cache_wrapper):
                CACHED.append(function)
            elif isinstance(function, types.FunctionType):
                self.functions.setdefault(function.__code__.co_filename, []).append(function)
        clear_caches()
        gc.freeze()
        if not self.again.exists():
            self.again.write_text(json.dumps(self._watch()))
        self.seen = {name: Seen(**each) for name, each in json.loads(self.again.read_text()).items()}
        for mutant in self.mutants:
            if time.monotonic() > self.until:
                break
            begun = time.monotonic()
            verdict, by = self._decide(mutant)
            self.write(mutant, verdict, time.monotonic() - begun, by)
        return True

    def _watch(self) -> dict[str, dict[str, Any]]:
        """Run every test once with a tracer for the files that are changed: in one child, or in more if it dies."""
        watched: dict[str, dict[str, Any]] = {}
        left = list(self.items)
        while left:
            work = functools.partial(watch, [self.items[name] for name in left], str(self.copy / "src"))
            _, told = forked(work, 3600.0)
            done = [json.loads(line) for line in told.splitlines()]
            watched |= {each.pop("name"): each["seen"] for each in done if each["seen"]}
            print(f"{len(left)} tests left, {len(done)} watched", flush=True)
            left = left[len(done) + 1 :]
        return watched

    def _decide(self, mutant: Mutant) -> tuple[str, str]:
        names = self._concerned(mutant)
        if not names:
            return "not run", ""
        seconds = sum(self.seen[name].seconds for name in names)
        if not mutant.in_function:
            return self._decide_anew(mutant, names, seconds)
        path = str(self.copy / mutant.path)
        items = [self.items[name] for name in names]
        changed = compile(mutated(Path(path).read_text(encoding="utf-8"), mutant), path, "exec", dont_inherit=True)
        work = functools.partial(run_changed, self.functions.get(path, []), changed, items)
        code, told = forked(work, 3 * seconds + 1)
        return {0: "survived", -1: "timeout"}.get(code, "killed"), told

    def _concerned(self, mutant: Mutant) -> list[str]:
        """Return the tests to run, fastest first, of at most so many seconds together."""
        found = [
            (each.seconds, name)
            for name, each in self.seen.items()
            if name in self.items
            and mutant.path in each.lines
            and (mutant.line in each.lines[mutant.path] or not mutant.in_function)
        ]
        names: list[str] = []
        total = 0.0
        for seconds, name in sorted(found):
            total += seconds
            if names and total > self.most_seconds:
                break
            names.append(name)
        return names

    def _decide_anew(self, mutant: Mutant, names: list[str], seconds: float) -> tuple[str, str]:
        """Write the change to the copy, run a fresh pytest, and put the file back."""
        path = self.copy / mutant.path
        source = path.read_text(encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()
        path.write_text(ast.unparse(mutated(source, mutant)), encoding="utf-8")
        command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:randomly"]
        try:
            done = subprocess.run(
                [*command, "-p", "no:cacheprovider", *names],
                cwd=self.copy,
                env=environment(self.copy),
                capture_output=True,
                text=True,
                check=False,
                timeout=20 * seconds + 120,
            )
        except subprocess.TimeoutExpired:
            return "timeout", ""
        finally:
            path.write_text(source, encoding="utf-8")
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return ("survived", "") if done.returncode == 0 else ("killed", failed[0][:200] if failed else "import")


# ------------------------------------------------------------------------------------------------------- in children


def forked(work: Callable[[Callable[[str], None]], int], cpu_seconds: float) -> tuple[int, str]:
    """Return what ``work`` returns and tells in a forked child: -1 where it takes too long, -2 where it dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _in_child(work, writer, cpu_seconds)
    os.close(writer)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(int(30 * cpu_seconds) + 60)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) in {signal.SIGXCPU, signal.SIGKILL}
        return (-1 if late else -2), told
    return os.WEXITSTATUS(status), told


def _in_child(work: Callable[[Callable[[str], None]], int], writer: int, cpu_seconds: float) -> None:
    code = 3
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        with os.fdopen(writer, "w", encoding="utf-8", buffering=1) as pipe:
            code = work(lambda text: print(text, end="", file=pipe))
    finally:
        os._exit(code)


def clear_caches() -> None:
    """Forget what caches keep: it was computed by other code, or is not computed again."""
    for cached in CACHED:
        cached.cache_clear()


def run_items(items: Iterable[pytest.Item]) -> str | None:
    """Return the name of the first test that fails; None where none does."""
    reports: list[pytest.TestReport] = []

    class Reports:
        @pytest.hookimpl
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            reports.append(report)

    listed = list(items)
    listed[0].config.pluginmanager.register(Reports())
    for item in listed:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        if any(report.failed for report in reports):
            return item.nodeid
    return None


def run_changed(
    functions: list[types.FunctionType], code: types.CodeType, items: list[pytest.Item], tell: Callable[[str], None]
) -> int:
    """Put new code into the functions of a module that is loaded, and run tests; 1 where one fails."""
    swap_code(functions, code)
    failed = run_items(items)
    tell(failed or "")
    return 0 if failed is None else 1


def swap_code(functions: list[types.FunctionType], code: types.CodeType) -> None:
    """Give functions that were made of one file the code of the same place and name in ``code``."""
    changed: dict[tuple[str, int], types.CodeType] = {}
    rest = [code]
    while rest:
        each = rest.pop()
        changed[each.co_qualname, each.co_firstlineno] = each
        rest.extend(inner for inner in each.co_consts if isinstance(inner, types.CodeType))
    for function in functions:
        key = function.__code__.co_qualname, function.__code__.co_firstlineno
        if key in changed:
            function.__code__ = changed[key]


def watch(items: list[pytest.Item], source: str, tell: Callable[[str], None]) -> int:
    """Run tests one by one; tell the processor seconds of each, and the lines of the packages that it ran through."""
    lines: dict[str, set[int]] = {}
    folders = tuple(os.path.join(source, "lapwing", package) + os.sep for package in PACKAGES)

    def local(frame: types.FrameType, event: str, _: object) -> Tracer:
        if event == "line":
            lines[frame.f_code.co_filename].add(frame.f_lineno)
        return local

    def entered(frame: types.FrameType, event: str, _: object) -> Tracer | None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(folders):
            return None
        lines.setdefault(name, set()).add(frame.f_lineno)
        return local

    for item in items:
        lines.clear()
        clear_caches()
        begun = time.process_time()
        sys.settrace(entered)
        failed = run_items([item])
        sys.settrace(None)
        relative = {os.path.relpath(name, os.path.dirname(source)): sorted(each) for name, each in lines.items()}
        seen = {"seconds": time.process_time() - begun, "lines": relative}
        tell(json.dumps({"name": item.nodeid, "seen": None if failed else seen}) + "\n")
    return 0


# --------------------------------------------------------------------------------------------------------- the copy


def environment(copy: Path) -> dict[str, str]:
    """Return the environment in which the copy is what is imported."""
    return os.environ | {"PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}


def make_copy(copy: Path) -> None:
    """Unpack the last commit, without what others are changing at the moment."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(copy, filter="data")


def suite(copy: Path, only: list[str]) -> list[str]:
    """Return the files of `SUITE` that exist, those with one of some words in their names where words are given."""
    found: list[str] = []
    for folder, names in SUITE.items():
        for name in names.split():
            paths = [copy / "tests" / folder / f"test_{name}{end}.py" for end in ("", f"_{folder}", f"_{folder}_dp")]
            found.extend(str(path.relative_to(copy)) for path in paths if path.exists())
    return [path for path in found if not only or any(word in path for word in only)]


def chosen(copy: Path, only: list[str], seed: int) -> list[Mutant]:
    """Return all mutants in random order, those in functions first."""
    files = sorted(path for package in PACKAGES for path in (copy / "src/lapwing" / package).glob("*.py"))
    mutants = [
        mutant
        for path in files
        if not only or path.stem in only
        for mutant in mutants_of(str(path.relative_to(copy)), path.read_text(encoding="utf-8"))
    ]
    print(f"{len(mutants)} mutants in {len(files)} files", flush=True)
    random.Random(seed).shuffle(mutants)
    # Those that need a fresh pytest take ten times as long.
    mutants.sort(key=lambda mutant: not mutant.in_function)
    return mutants


def row_of(mutant: Mutant, verdict: str = "", seconds: float = 0.0, by: str = "") -> tuple[str, ...]:
    """Return the row of a mutant in the table of figures."""
    name = mutant.path.removeprefix("src/lapwing/")
    before, after = (" ".join(text.split())[:160] for text in (mutant.before, mutant.after))
    return name, str(mutant.line), mutant.kind, before, after, verdict, f"{seconds:.2f}", by


def settings() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for the copy and the figures; outside of the tree")
    parser.add_argument("--minutes", type=float, default=35.0, help="time for mutants, after the tests were watched")
    parser.add_argument("--seconds", type=float, default=2.0, help="of tests per mutant, at most")
    parser.add_argument("--seed", type=int, default=12, help="of the random order")
    parser.add_argument("--only", nargs="*", default=[], help="names of changed files, such as laplace")
    parser.add_argument("--tests", nargs="*", default=[], help="words in the names of test files, instead of all")
    parser.add_argument("--survivors", action="store_true", help="decide those again that are left over, and no others")
    return parser.parse_args()


def main() -> None:
    """Decide mutants until the time is over; figures of earlier calls stay, and their mutants are not decided again."""
    asked = settings()
    folder = asked.folder.resolve()
    copy, table = folder / "copy", folder / "mutants.csv"
    if not copy.exists():
        make_copy(copy)
    if os.environ.get("PYTHONPATH") != str(copy / "src"):
        os.execve(sys.executable, [sys.executable, *sys.argv], environment(copy))
    os.chdir(copy)
    # Stopped while a mutant is written to the copy, the file is put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    rows = list(csv.reader(table.open(encoding="utf-8")))[1:] if table.exists() else []
    mutants = chosen(copy, asked.only, asked.seed)
    if asked.survivors:
        alive = {tuple(row[:5]) for row in rows if row[5] in ALIVE}
        rows = [row for row in rows if row[5] not in ALIVE]
        mutants = [mutant for mutant in mutants if row_of(mutant)[:5] in alive]
    done = {tuple(row[:5]) for row in rows}
    mutants = [mutant for mutant in mutants if row_of(mutant)[:5] not in done]
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([FIELDS, *rows])

        def write(mutant: Mutant, verdict: str, seconds: float, by: str) -> None:
            writer.writerow(row_of(mutant, verdict, seconds, by))
            file.flush()

        until = time.monotonic() + 60 * asked.minutes
        decider = Decider(copy, mutants, until, asked.seconds, write, folder / "watched.json")
        options = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", f"--basetemp={folder / 'pytest'}"]
        pytest.main([*options, "-s", *suite(copy, asked.tests)], plugins=[decider])


if __name__ == "__main__":
    main()
