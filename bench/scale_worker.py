"""One `lapwing` command in a process of its own: CPU time stage by stage, memory, bytes read.

    python bench/scale_worker.py FOUND.json [lapwing's arguments]

`scale.py` starts it, with PYTHONPATH where another commit is measured. Functions between two stages are wrapped from
outside, so that the measured code is the shipped one. A stage has the CPU time of all threads while it is the innermost
that has begun; work that Polars calls back on a thread of its own is taken from the stage that waits for it.
"""

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Function = Callable[..., Any]
SOURCE_METHODS = ("count", "count_keys")


class Stages:
    """CPU seconds by stage, and how often the rows were gone through."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.passes = 0
        self._open = ["start"]
        self._mark = 0.0
        self._lock = threading.Lock()

    def settle(self) -> None:
        """Give the time since the last change to the stage that has been the innermost one."""
        now = cpu_seconds()
        with self._lock:
            self.seconds[self._open[-1]] += now - self._mark
        self._mark = now

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Give the time of what is done inside to a stage."""
        if threading.current_thread() is not threading.main_thread():
            waiting, begin = self._open[-1], time.thread_time()
            yield
            spent = time.thread_time() - begin
            with self._lock:
                self.seconds[name] += spent
                self.seconds[waiting] -= spent
            return
        self.settle()
        self._open.append(name)
        try:
            yield
        finally:
            self.settle()
            self._open.pop()

    def timed(self, name: str, function: Function) -> Function:
        """Return a function whose time counts as a stage."""

        def wrapped(*given: Any, **named: Any) -> Any:
            with self.within(name):
                return function(*given, **named)

        return wrapped

    def timed_steps(self, name: str, function: Function) -> Function:
        """Return a function that returns an iterator, each step of which counts as a stage."""

        def wrapped(*given: Any, **named: Any) -> Iterator[Any]:
            steps = iter(function(*given, **named))
            while True:
                with self.within(name):
                    step = next(steps, None)
                if step is None:
                    return
                yield step

        return wrapped

    def counted(self, function: Function) -> Function:
        """Return a function each call of which is a pass over the rows."""

        def wrapped(*given: Any, **named: Any) -> Any:
            self.passes += 1
            return function(*given, **named)

        return wrapped


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, its threads, and its children that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def watch_synthesize(stages: Stages, peaks: dict[str, float]) -> None:
    """Wrap what a release is made of: opening, passes over the rows, the room, the mechanism, the end."""
    import lapwing.api.synthesize  # noqa: F401
    from lapwing.api import running
    from lapwing.kernel.room.room import Room
    from lapwing.mechanisms.adaptive.mechanism import Adaptive
    from lapwing.mechanisms.independent.mechanism import Independent
    from lapwing.mechanisms.trees.pmm.mechanism import PMM

    tables = sys.modules["lapwing.rows.source"]
    opened = tables.code_table

    def code_table(*given: Any, **named: Any) -> Any:
        with stages.within("open"):
            source = opened(*given, **named)
        watch_source(type(source), stages)
        return source

    released = running.release_tables

    def release_tables(*given: Any) -> Any:
        with stages.within("finish"):
            releases = released(*given)
        peaks["release_mb"] = peak_mb()
        forget_peak()
        return releases

    setattr(tables, "code_table", code_table)  # noqa: B010 - the type checker knows the module without it
    setattr(running, "release_tables", release_tables)  # noqa: B010
    Room.ask = stages.timed("noise", Room.ask)  # type: ignore[method-assign]
    for mechanism in (Adaptive, PMM, Independent):
        mechanism.run = stages.timed("fit", mechanism.run)  # type: ignore[method-assign]


def watch_source(kind: Any, stages: Stages) -> None:
    """Wrap the passes over the rows of a source."""
    for name in SOURCE_METHODS:
        setattr(kind, name, stages.counted(stages.timed("count", getattr(kind, name))))
    kind.chunks = stages.timed_steps("read", kind.chunks)
    rows = sys.modules["lapwing.rows.source"]._Rows
    if hasattr(rows, "_codes"):  # done by threads that the count waits for
        rows._codes = stages.timed("read", rows._codes)


def watch_rows(stages: Stages) -> None:
    """Wrap what draws rows and what writes them, as this commit and those before issue 13 name it."""
    from lapwing.cli import outputs
    from lapwing.cli.commands import saved
    from lapwing.model import rows
    from lapwing.release import release

    writers: list[Any] = [outputs, saved]
    if find_spec("lapwing.release.rows_out"):
        from lapwing.release import rows_out

        writers = [rows_out]
        rows_out.rows_out = stages.timed("draw", rows_out.rows_out)
        rows.RowChunks.frame = stages.timed("draw", rows.RowChunks.frame)
    else:
        release.Release.frames = stages.timed_steps("draw", release.Release.frames)
    for module in writers:
        name = "write_to" if hasattr(module, "write_to") else "write_rows"
        setattr(module, name, stages.timed("write", getattr(module, name)))


def peak_mb() -> float:
    """Return the most memory that this process has used since the peak was last forgotten."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def forget_peak() -> None:
    """Let the peak begin at what is used now."""
    Path("/proc/self/clear_refs").write_text("5")


def bytes_read() -> dict[str, float]:
    """Return the megabytes that were asked for, and those that came from the disk."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return {"read_mb": int(lines["rchar"]) / 1e6, "disk_mb": int(lines["read_bytes"]) / 1e6}


def main() -> None:
    """Run the command, write what was measured, exit as it does."""
    path, arguments = Path(sys.argv[1]), sys.argv[2:]
    stages, peaks = Stages(), {"release_mb": 0.0}
    if arguments[0] == "synthesize":
        watch_synthesize(stages, peaks)
    if arguments[0] != "evaluate":
        watch_rows(stages)
    from lapwing.cli.main import execute

    with stages.within("rest"):
        status = execute(arguments)
    stages.settle()
    peaks["rows_mb"] = peak_mb()
    found = {f"{name}_s": max(0.0, seconds) for name, seconds in stages.seconds.items()}
    whole = {"cpu_s": cpu_seconds(), "peak_mb": max(peaks.values()), "passes": stages.passes}
    path.write_text(json.dumps(whole | peaks | found | bytes_read()))
    raise SystemExit(status)


if __name__ == "__main__":
    main()
