"""Mutation testing: ``nice -n 19 PYTHON tools/mutants.py FOLDER --each 40``.

PYTHON is 3.12 or newer and has the libraries of the tests, as ``make python-3.12`` makes it. What is committed is
cloned into FOLDER for each worker. Every file of tests runs once, in a forked child of a process that has imported the
libraries and nothing of Lapwing; which lines each test ran through stays in FOLDER until the file or the source
changes. Then one small change after another (`mutant_edits`) is written to a clone, and in a forked child the tests
that run through the changed line decide, until one fails.

Figures go to ``FOLDER/mutants.csv``, one row per decided mutant: ``killed`` (by which test), ``timeout`` (no end within
three times the processor time of the same tests and some seconds), ``lived``, or ``no test`` (none runs through the
line); ``tests`` says how many there was time for, of how many that run through the line. A table by package is printed.
With ``--matrix`` a mutant's tests go on after the first that fails, and ``by`` names all that do; ``FOLDER/cover.csv``
then lists the tests that ran, those first that together kill what all kill and are fewest, by the greedy rule, each
with how many mutants it alone adds and kills. A test that adds none is a candidate to go.
What ``tests/architecture/mutants_argued.csv`` argues to change no behaviour is not tried.
"""

import argparse
import csv
import functools
import gc
import hashlib
import itertools
import multiprocessing
import os
import random  # noqa: TID251 - which mutants come first is no secret
import resource
import signal
import subprocess
import sys
import time
import types
from ast import unparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from mutant_edits import Mutant, mutants_of, mutated
from mutant_tests import Lines, Map, file_of, run_pytest, watch

FORK = multiprocessing.get_context("fork")
ROOT = Path(__file__).resolve().parents[1]
ARGUED = ROOT / "tests" / "architecture" / "mutants_argued.csv"
# What every promise of privacy rests on: all of its mutants are decided, not a sample.
KERNEL = {"kernel": "*", "rows": "codec guard units", "extras": "distributed"}
FIELDS = ("file", "line", "kind", "before", "after", "verdict", "tests", "seconds", "by")
ALIVE = ("lived", "no test")
BETWEEN = "\n"  # names of tests
LIBRARIES = "hypothesis.strategies pandas polars pyarrow.parquet scipy.optimize scipy.stats typer"
MEMORY = 12 << 30
Write = Callable[[Mutant, str | None, str, float], None]


class Chosen:
    """A pytest plugin: keeps the tests that were chosen, in their order, and the names of those that fail."""

    def __init__(self, names: list[str]) -> None:
        self.place = {name: place for place, name in enumerate(names)}
        self.failed: dict[str, None] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((each for each in items if each.nodeid in self.place), key=lambda i: self.place[i.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed[report.nodeid] = None

    def told(self) -> str:
        """Return which tests fail, or that the mutant lived."""
        return BETWEEN.join(self.failed) or "lived"


# ------------------------------------------------------------------------------------------------------- in children


def forked(log: str, cpu_seconds: float, work: Callable[[], str]) -> str | None:
    """Return what work in a forked child returned, or that it died; None where it found no end."""
    reader, writer = FORK.Pipe(duplex=False)
    child = FORK.Process(target=in_child, args=(writer, log, int(cpu_seconds), work))
    child.start()
    writer.close()
    child.join(5 * cpu_seconds + 60)
    if child.exitcode is None:
        os.killpg(child.pid or 0, signal.SIGKILL)
        child.join()
    late = child.exitcode in {-signal.SIGXCPU, -signal.SIGKILL}
    return None if late else str(reader.recv()) if child.exitcode == 0 else "died"


def in_child(writer: Connection, log: str, cpu_seconds: int, work: Callable[[], str]) -> None:
    """Work within limits; what it prints goes to a file."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds + 1, cpu_seconds + 2))
    # Not of addresses: libraries reserve many times what they take, and whole files of tests died.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    with open(log, "w", encoding="utf-8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    writer.send(work())


class Quick:
    """A pytest plugin: decides changes of functions in forked children, by tests that are collected already."""

    def __init__(self, copy: Path, mutants: list[Mutant], known: Map, write: Write, *, goes_on: bool) -> None:
        self.copy, self.mutants, self.choose, self.write = copy, mutants, known.choose, write
        self.goes_on = goes_on

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        functions = functions_of({mutant.path for mutant in self.mutants})
        for each in gc.get_objects():
            if isinstance(each, functools._lru_cache_wrapper):
                each.cache_clear()
        gc.freeze()
        for mutant in self.mutants:
            begun = time.monotonic()
            names, seconds, of = self.choose(mutant)
            mine = [items[name] for name in names if name in items]
            mutable = functions[str(self.copy / mutant.path)]
            work = functools.partial(run_changed, mutable, self.copy, mutant, mine, goes_on=self.goes_on)
            told = forked(f"{self.copy}.log", 3 * seconds + 5, work) if mine else "died"
            if told is None or (told != "died" and (told != "lived" or len(mine) == len(names))):
                self.write(mutant, told, of, begun)
        return True


def functions_of(paths: Iterable[str]) -> dict[str, list[types.FunctionType]]:
    """Load modules, and return all functions by the files they are from.

    A module that a test loads later would have its functions as they are, and each of its mutants would live.
    """
    for path in paths:
        name = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
        __import__(name.replace("/", "."))
    functions: dict[str, list[types.FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType):
            functions[each.__code__.co_filename].append(each)
    return functions


def run_changed(
    functions: list[types.FunctionType], copy: Path, mutant: Mutant, items: list[pytest.Item], *, goes_on: bool
) -> str:
    """Give functions the code that they have in a changed file, and run tests until one fails, or all."""
    source = (copy / mutant.path).read_text(encoding="utf-8")
    code: dict[tuple[str, int], list[types.CodeType]] = defaultdict(list)
    rest = [compile(mutated(source, mutant), str(copy / mutant.path), "exec", dont_inherit=True)]
    while rest:
        each = rest.pop()
        code[each.co_qualname, each.co_firstlineno].append(each)
        rest.extend(inner for inner in each.co_consts if isinstance(inner, types.CodeType))
    for function in functions:
        found = code[function.__code__.co_qualname, function.__code__.co_firstlineno]
        # Of two nameless functions in one line, nobody knows which is which.
        if len(found) == 1:
            function.__code__ = found[0]
    plugin = Chosen([])
    items[0].config.pluginmanager.register(plugin)
    for item, following in itertools.zip_longest(items, items[1:]):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if plugin.failed and not goes_on:
            break
    return plugin.told()


def decide_quickly(copy: Path, mutants: list[Mutant], known: Map, write: Write, *, goes_on: bool) -> str:
    """Decide what can be decided without another file of the source."""
    files = {file_of(name) for mutant in mutants for name in known.choose(mutant)[0]} & known.alone
    if files:
        run_pytest(copy, sorted(files), Quick(copy, mutants, known, write, goes_on=goes_on), "-s")
    return ""


def decide(copy: Path, mutant: Mutant, names: list[str], seconds: float, *, goes_on: bool) -> str | None:
    """Write a change to a clone, run tests in a child until one fails, those of few files first; put the file back."""
    path = copy / mutant.path
    source, times = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(unparse(mutated(source, mutant)), encoding="utf-8")
    few = set(list(dict.fromkeys(map(file_of, names)))[: None if goes_on else 4])
    told: str | None = "lived"
    try:
        for is_first in (True, False):
            part = [name for name in names if (file_of(name) in few) == is_first]
            if part and told == "lived":
                told = forked(f"{copy}.log", 3 * seconds + 120, functools.partial(judge, copy, part, goes_on=goes_on))
    finally:
        path.write_text(source, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()
    return told


def judge(copy: Path, names: list[str], *, goes_on: bool) -> str:
    """Return the first test that fails, or all, or that the mutant lived."""
    plugin = Chosen(names)
    code = run_pytest(copy, dict.fromkeys(map(file_of, names)), plugin, *([] if goes_on else ["-x"]))
    return "import" if code not in {0, 5} and not plugin.failed else plugin.told()


def package_of(path: str) -> str:
    """Return the package of a file, or that it is of the kernel."""
    package, *rest = path.removeprefix("src/lapwing/").split("/")
    kernel = KERNEL.get(package, "").split()
    return "kernel" if "*" in kernel or Path(path).stem in kernel else package if rest else "lapwing"


def key_of(mutant: Mutant) -> tuple[str, ...]:
    """Return the first fields of the row of a mutant."""
    return mutant.path.removeprefix("src/lapwing/"), str(mutant.line), mutant.kind, mutant.before, mutant.after


def chosen(copy: Path, lines: Lines, asked: argparse.Namespace) -> list[Mutant]:
    """Return the mutants to be decided, in random order: all that there are, or some of each package."""
    with ARGUED.open(encoding="utf-8", newline="") as file:
        argued = {(row["file"], row["function"], row["before"], row["after"]) for row in csv.DictReader(file)}
    groups: dict[str, list[Mutant]] = defaultdict(list)
    for name in lines.first:
        if not asked.only or package_of(name) in asked.only or any(word in name for word in asked.only if "/" in word):
            groups[package_of(name)].extend(mutants_of(name, (copy / name).read_text(encoding="utf-8")))
    found = []
    for package, mutants in groups.items():
        random.Random(f"{asked.seed} {package}").shuffle(mutants)
        found.extend(mutants[: asked.each or None])
    random.Random(asked.seed).shuffle(found)
    keys = [(key_of(each)[0], each.function, each.before) for each in found]
    return [each for each, key in zip(found, keys, strict=True) if not {(*key, each.after), (*key, "*")} & argued]


# -------------------------------------------------------------------------------------------------------- the folder


def refreshed(copy: Path, commit: str) -> Path:
    """Bring a clone to a commit, whatever was left in it; files that did not change keep their times."""
    if not copy.exists():
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, copy], check=True)
    subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", commit], cwd=copy, check=True)
    return copy


def spread(copies: list[Path], work: Callable[[int, list[Path]], None]) -> None:
    """Work in one forked process for each clone, which ends with this one."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    workers = [FORK.Process(target=work, args=(number, copies)) for number in range(len(copies))]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    finally:
        for worker in workers:
            worker.terminate()


def test_files(copy: Path, seen: Path) -> dict[str, Path]:
    """Return the files of tests, and where it stands which lines they run through."""
    seen.mkdir(exist_ok=True)
    found = {}
    for path in sorted((copy / "tests").rglob("test_*.py")):
        if path.parent.name not in {"browser", "oracle"}:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
            found[str(path.relative_to(copy))] = seen / f"{path.parent.name}.{path.stem}.{digest}.npz"
    return found


def look(tests: dict[str, Path], lines: Lines, number: int, copies: list[Path]) -> None:
    """Run the files of tests of which it is not known which lines they run through."""
    for file, into in list(tests.items())[number :: len(copies)]:
        if not into.exists():
            work = functools.partial(watch, copies[number], lines, file, into)
            print(file, forked(f"{copies[number]}.log", 3600.0, work) or "found no end", flush=True)


def decide_all(
    mutants: list[Mutant], known: Map, figures: Path, number: int, copies: list[Path], *, goes_on: bool
) -> None:
    """Decide each so many-th mutant, and write what came of it: first what can be decided quickly."""
    mutants, copy = mutants[number :: len(copies)], copies[number]

    def write(mutant: Mutant, told: str | None, of: str, begun: float) -> None:
        verdict = "timeout" if told is None else told if told in ALIVE else "killed"
        row = [*key_of(mutant), verdict, of, f"{time.monotonic() - begun:.1f}", told if verdict == "killed" else ""]
        with figures.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow(row)

    inside = [mutant for mutant in mutants if mutant.function]
    forked(f"{copy}.quick.log", 1e5, functools.partial(decide_quickly, copy, inside, known, write, goes_on=goes_on))
    decided = {tuple(row[:5]) for row in rows_of(figures)}
    for mutant in mutants:
        if key_of(mutant) not in decided:
            begun, (names, seconds, of) = time.monotonic(), known.choose(mutant)
            write(mutant, decide(copy, mutant, names, seconds, goes_on=goes_on) if names else "no test", of, begun)


def rows_of(figures: Path) -> list[list[str]]:
    """Return the mutants that were decided."""
    if not figures.exists():
        return []
    with figures.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def table(rows: list[list[str]]) -> str:
    """Return how many mutants of each package were killed, as Markdown."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for name in (package_of(row[0]), "all"):
            counts[name][row[5]] += 1
    lines = [["package", "mutants", "killed", "timeout", *ALIVE, "killed, %"], ["---"] * 7]
    for name, found in sorted(counts.items(), key=lambda each: (each[0] == "all", each[0])):
        share = 100 * (found["killed"] + found["timeout"]) / found.total()
        lines.append([name, str(found.total()), *(str(found[each]) for each in lines[0][2:6]), f"{share:.0f}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cover(rows: list[list[str]], known: Map) -> list[tuple[str, str, int, int]]:
    """Return tests, the ones first that kill most of what those before them do not; the rest adds nothing."""
    kills: dict[str, set[tuple[str, ...]]] = {name: set() for name in known.names}
    for row in rows:
        for name in row[8].split(BETWEEN) if row[8] else ():
            kills.setdefault(name, set()).add(tuple(row[:5]))
    cpu = dict(zip(known.names, known.seconds, strict=True))
    left, found = {name: set(each) for name, each in kills.items()}, []
    while left:
        name = max(left, key=lambda each: (len(left[each]), -float(cpu.get(each, 0.0))))
        new = left.pop(name)
        found.append((name, f"{cpu.get(name, 0.0):.2f}", len(new), len(kills[name])))
        if new:
            left = {each: mutants - new for each, mutants in left.items()}
    return found


def settings() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for clones and figures; outside of the tree")
    parser.add_argument("--only", nargs="*", default=[], help="packages, kernel, or parts of paths, with a /")
    parser.add_argument("--each", type=int, default=0, help="mutants of each package; all where it is 0")
    parser.add_argument("--seed", type=int, default=26, help="of the choice of mutants")
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests per mutant, at most")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--matrix", action="store_true", help="run all tests of a mutant, and write cover.csv")
    parser.add_argument("--again", action="store_true", help="decide what lived again, and nothing else")
    return parser.parse_args()


def main() -> None:
    """Decide mutants until the time is over; figures of earlier calls stay, and their mutants are not decided again."""
    asked = settings()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        threads = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | threads)
    for name in LIBRARIES.split():
        __import__(name)
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    copies = [refreshed(folder / f"copy-{number}", commit.strip()) for number in range(asked.workers)]
    lines = Lines(copies[0])
    tests = test_files(copies[0], folder / f"seen-{lines.digest}")
    spread(copies, functools.partial(look, tests, lines))

    figures = folder / "mutants.csv"
    rows = rows_of(figures)
    again = [tuple(row[:5]) for row in rows if asked.again and row[5] in ALIVE]
    with figures.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([FIELDS, *(row for row in rows if tuple(row[:5]) not in again)])
    decided = {tuple(row[:5]) for row in rows}
    mutants = [each for each in chosen(copies[0], lines, asked) if key_of(each) in again or key_of(each) not in decided]
    mutants = [each for each in mutants if key_of(each) in again or not asked.again]
    print(f"{len(mutants)} mutants to decide", flush=True)
    known = Map(copies[0], lines, asked.seconds, list(tests.values()))
    spread(copies, functools.partial(decide_all, mutants, known, figures, goes_on=asked.matrix))
    print(table(rows_of(figures)))
    if asked.matrix:
        with (folder / "cover.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("test", "seconds", "adds", "kills"), *cover(rows_of(figures), known)])


if __name__ == "__main__":
    main()
