"""A warm process that runs command lines in forked children: followed, killed, failed, interrupted or raced.

    python release_server.py FOLDER

Reads one job a line from stdin as JSON and answers with one line; FOLDER holds what a first, unobserved release
needs, from which the server learns what is to be imported. It never works with rows itself, so that every child makes
its own threads.
"""

import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers.planted_orders import PLANTS
from helpers.syscalls import Call, Stop, is_traceable, traced
from lapwing.cli.main import execute

PAUSE_SECONDS = 0.4
"""How long the others may take while one process is paused; one that waits for it goes on afterwards."""
PLANTED_PAUSE_SECONDS = 20
"""The same where it is planted that nobody waits: the others end by themselves, also on a busy machine."""


def worker(arguments: list[str], plant: str | None, says: int) -> Callable[[], int]:
    """Return the work of one child: a command line, with a wrong order planted if need be."""

    def work() -> int:
        os.dup2(says, 1)
        os.dup2(says, 2)
        if plant is not None:
            PLANTS[plant]()
        status = 130
        with suppress(KeyboardInterrupt):
            status = execute(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        return status

    return work


def spawn(work: Callable[[], int]) -> int:
    """Start a child and return its number; Ctrl-C before its work began ends it as later."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return child
    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        status = work()
    except KeyboardInterrupt:
        status = 130
    finally:
        os._exit(status)


def ended(child: int, seconds: float | None = None) -> int | None:
    """Wait for a child and return its status, or None where it takes longer."""
    handle = os.pidfd_open(child)
    try:
        if not select.select([handle], [], [], seconds)[0]:
            return None
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def observed(job: dict[str, Any], work: Callable[[], int], says: int) -> dict[str, Any]:
    """Follow a command line, and do at one call what the job says; another one may run while it is paused."""
    stop = None if job.get("stop") is None else Stop(**job["stop"])
    other: list[int] = []
    statuses: list[int | None] = []

    def meanwhile() -> None:
        other.append(spawn(worker(job["meanwhile"], job.get("plant"), says)))
        status = ended(other[0], PAUSE_SECONDS if job.get("plant") is None else PLANTED_PAUSE_SECONDS)
        if status is not None:
            statuses.append(status)

    trace = traced(work, stop, meanwhile)
    if other and not statuses:
        statuses.append(trace.others.get(other[0]) if other[0] in trace.others else ended(other[0]))
    listed = [plain(call) for call in trace.calls] if job.get("listed") else []
    return {"status": trace.status, "made": trace.made, "calls": listed, "others": statuses}


def plain(call: Call) -> list[Any]:
    """Return a call as JSON can hold it."""
    return [call.name, call.arguments, call.paths, call.result, call.content.hex(), call.is_main]


def signalled(work: Callable[[], int], seconds: float, number: int) -> dict[str, Any]:
    """Send a signal to a command line after so many seconds."""
    child = spawn(work)
    time.sleep(seconds)
    os.kill(child, number)  # it is not waited for yet, so that the number is still its own
    return {"status": ended(child)}


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Do one job."""
    hears, says = os.pipe()
    works = [worker(arguments, job.get("plant"), says) for arguments in job["commands"]]
    if "after" in job:
        found = signalled(works[0], job["after"], job["signal"])
    elif job.get("traced"):
        found = observed(job, works[0], says)
    else:
        found = {"statuses": [ended(child) for child in [spawn(work) for work in works]]}
        found["status"] = found["statuses"][0]
    os.close(says)
    with open(hears, encoding="utf-8") as stream:
        return {**found, "said": stream.read()}


def warm_up(arguments: list[str]) -> None:
    """Import what a release in a child has imported."""
    hears, says = os.pipe()

    def work() -> int:
        status = execute([*arguments, "--quiet"])
        os.write(says, json.dumps([status, sorted(sys.modules)]).encode())
        return 0

    child = spawn(work)
    os.close(says)
    with open(hears, encoding="utf-8") as stream:
        status, modules = json.load(stream)
    assert (ended(child), status) == (0, 0)
    for module in modules:
        with suppress(ImportError):  # some modules make others that no path leads to
            importlib.import_module(module)


def serve() -> None:
    """Warm up with the first line, then answer one job a line."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warm_up(json.loads(sys.stdin.readline()))
    reply({"traceable": is_traceable()})
    for line in sys.stdin:
        reply(answer(json.loads(line)))


def reply(found: dict[str, Any]) -> None:
    """Write one line to the client."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve()
