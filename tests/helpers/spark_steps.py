"""What tests have executors do; a module of its own, because executors import it by its name."""

import os
import signal
import time
from pathlib import Path


def killed_once(folder, batches):
    """Pass a partition's rows on; the first worker of all is killed at its first row."""
    for batch in batches:
        _kill(Path(folder), 1)
        yield batch


def killed_always(folder, batches):
    """Pass a partition's rows on; every worker is killed at its first row, and counted by a file."""
    for batch in batches:
        _kill(Path(folder), 10**6)
        yield batch


def killed_while_there_is(switch, batches):
    """Pass a partition's rows on; a worker that meets the switch, a file, is killed."""
    for batch in batches:
        if Path(switch).exists():
            os.kill(os.getpid(), signal.SIGKILL)
        yield batch


def slow(mark, batches):
    """Say that it has begun by a file, and take a minute for each batch."""
    for batch in batches:
        Path(mark).touch()
        time.sleep(60)
        yield batch


def _kill(folder, times):
    for number in range(times):
        try:
            (folder / f"killed-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)
