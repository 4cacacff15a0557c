"""Which tests run through which lines of the source, for `mutants`: `sys.monitoring` says it."""

import functools
import gc
import hashlib
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterable
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest
from mutant_edits import Mutant

SECONDS_TO_COLLECT = 0.2
MONITORING: Any = getattr(sys, "monitoring", None)
TOOL = 4
Choice = tuple[list[str], float, str]
Bits = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]


class Lines:
    """Numbers for all lines of the source, and sets of lines as bits."""

    def __init__(self, copy: Path) -> None:
        self.first: dict[str, int] = {}
        self.total = 0
        digest = hashlib.sha256()
        for path in sorted((copy / "src" / "lapwing").rglob("*.py")):
            text = path.read_bytes()
            digest.update(text)
            self.first[str(path.relative_to(copy))] = self.total
            self.total += text.count(b"\n") + 2
        self.digest = digest.hexdigest()[:12]

    def packed(self, lines: Iterable[int]) -> Bits:
        """Return one bit for each line, eight in a byte."""
        bits = np.zeros(self.total, dtype=bool)
        bits[list(lines)] = True
        return np.packbits(bits)


class Watch:
    """A pytest plugin: notes the processor seconds of each test and the lines that it runs through.

    What a fixture of several tests ran through counts for all of them; caches are emptied before each test.
    """

    def __init__(self, copy: Path, lines: Lines) -> None:
        self.first = {str(copy / name): first for name, first in lines.first.items()}
        self.hit: set[int] = set()
        self.imported: set[int] = set()
        self.shared: dict[str, set[int]] = {}
        self.seen: dict[str, tuple[float, set[int]]] = {}
        self.bad: set[str] = set()
        MONITORING.use_tool_id(TOOL, "mutants")
        MONITORING.register_callback(TOOL, MONITORING.events.LINE, self._line)
        MONITORING.set_events(TOOL, MONITORING.events.LINE)

    def _line(self, code: CodeType, number: int) -> object:
        first = self.first.get(code.co_filename)
        if first is not None:
            # What is in no function runs for whichever test is the first to import it.
            (self.hit if code.co_flags & CO_OPTIMIZED else self.imported).add(first + number)
        return MONITORING.DISABLE

    def _anew(self) -> set[int]:
        self.hit = set()
        MONITORING.restart_events()
        return self.hit

    def pytest_collection_finish(self) -> None:
        self.imported |= self.hit
        # A library's threads do not survive a fork.
        self.is_alone = len(os.listdir("/proc/self/task")) == 1
        found = [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper)]
        self.caches = [each for each in found if not str(each.__module__).startswith("helpers")]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        for cache in self.caches:
            cache.cache_clear()
        hit, begun = self._anew(), os.times()
        result = yield
        seconds = sum(os.times()[:4]) - sum(begun[:4])
        self.seen[item.nodeid] = seconds, hit.union(*(self.shared.get(name, ()) for name in vars(item)["fixturenames"]))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        outer, hit = self.hit, self._anew()
        result = yield
        self.shared[fixturedef.argname] = self.shared.get(fixturedef.argname, set()) | hit
        self.hit = outer
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.bad.add(report.nodeid)


def run_pytest(copy: Path, files: Iterable[str], plugin: object, *options: str) -> int:
    """Run tests of a clone in this process, which has not imported Lapwing yet."""
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.path.insert(0, os.environ["PYTHONPATH"])
    fixed = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", f"--basetemp={copy}-pytest"]
    # The libraries are imported already.
    fixed += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*fixed, *options, *files], plugins=[plugin]))


def watch(copy: Path, lines: Lines, file: str, into: Path) -> str:
    """Run one file of tests, and save what each test that passes ran through."""
    plugin = Watch(copy, lines)
    run_pytest(copy, [file], plugin)
    seen = {name: each for name, each in plugin.seen.items() if name not in plugin.bad}
    imported = lines.packed(plugin.imported)
    np.savez_compressed(
        into,
        names=np.array(list(seen), dtype=str),
        seconds=np.array([seconds for seconds, _ in seen.values()]),
        rows=np.array([lines.packed(hit) for _, hit in seen.values()], dtype=np.uint8).reshape(-1, imported.size),
        imported=imported,
        is_alone=plugin.is_alone,
    )
    return f"{len(seen)} tests, {len(plugin.bad)} others"


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.split("::")[0]


class Map:
    """Which tests run through which lines."""

    def __init__(self, copy: Path, lines: Lines, most: float, seen: list[Path]) -> None:
        self.lines, self.most = lines, most
        loaded = [dict(np.load(path)) for path in seen]
        self.names = [str(name) for each in loaded for name in each["names"]]
        self.seconds = np.concatenate([each["seconds"] for each in loaded])
        self.rows = np.concatenate([each["rows"] for each in loaded])
        self.imported = np.bitwise_or.reduce([each["imported"] for each in loaded])
        self.alone = {file_of(str(name)) for each in loaded if each["is_alone"] for name in each["names"]}
        self.text = {file: (copy / file).read_text(encoding="utf-8") for file in set(map(file_of, self.names))}

    def through(self, mutant: Mutant) -> list[int]:
        """Return the tests that run through the changed line; where it runs on import, those that run in its file."""
        first = self.lines.first[mutant.path]
        byte, bit = divmod(first + mutant.line, 8)
        found = np.flatnonzero(self.rows[:, byte] & (128 >> bit))
        if not len(found) and self.imported[byte] & (128 >> bit):
            ends = [start for start in self.lines.first.values() if start > first]
            found = np.flatnonzero(self.rows[:, first // 8 + 1 : min(ends, default=self.lines.total) // 8].any(axis=1))
        return [int(place) for place in found]

    def choose(self, mutant: Mutant) -> Choice:
        """Return tests, by their files, their seconds, and how many there are of how many.

        The first cases of each test come first; of these, those of files that name the module; of these, the fastest.
        """
        module = mutant.path.removeprefix("src/").removesuffix(".py").replace("/", ".")
        through = sorted(self.through(mutant), key=lambda place: float(self.seconds[place]))
        cases: Counter[str] = Counter()
        ranked = []
        for name, seconds in ((self.names[place], float(self.seconds[place])) for place in through):
            ranked.append((cases[name.split("[")[0]] // 8, module not in self.text[file_of(name)], seconds, name))
            cases[name.split("[")[0]] += 1
        files: dict[str, list[str]] = {}
        total = 0.0
        for _, _, seconds, name in sorted(ranked):
            total += seconds + SECONDS_TO_COLLECT * (file_of(name) not in files)
            if files and total > self.most:
                break
            files.setdefault(file_of(name), []).append(name)
        names = [name for listed in files.values() for name in listed]
        return names, total, f"{len(names)}/{len(through)}"
