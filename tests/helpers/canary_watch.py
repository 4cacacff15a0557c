"""Make a call, and look for planted values in every place where it could have left one."""

import contextlib
import gc
import logging
import sys
import tempfile
import threading
from pathlib import Path

from helpers.planted_values import traces_in, traces_in_exception, traces_in_files, traces_within, watched


class Logged(logging.Handler):
    """Keep every record of every library."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.said = []

    def emit(self, record):
        self.said.append(f"{record.getMessage()} {record.args} {record.exc_info}")


@contextlib.contextmanager
def overheard(folder, monkeypatch):
    """Collect what is logged, and what is raised where nobody can catch it; temporary files go into the folder."""
    said, root, handler = [], logging.getLogger(), Logged()
    with monkeypatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", None)
        patch.setattr(sys, "unraisablehook", lambda told: said.append(f"{told.exc_value!r} {told.object!r}"))
        patch.setattr(threading, "excepthook", lambda told: said.append(repr(told.exc_value)))
        patch.setattr(handler, "said", said)
        level = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            yield said
            gc.collect(0)
        finally:
            root.removeHandler(handler)
            root.setLevel(level)


def traces_of(call, data, folder, *, capfd, monkeypatch, inputs):
    """Return what a call raised, and where planted values show.

    Parameters
    ----------
    call : callable
        From data and a folder to what it returns.
    data : object
        The private table.
    folder : Path
        Where all files go.
    inputs : set of Path
        Files that hold planted values by themselves.
    """
    capfd.readouterr()
    with overheard(folder, monkeypatch) as said:
        outcome = watched(lambda: call(data, folder))
    out, err = capfd.readouterr()
    texts = {"stdout": out, "stderr": err, "warnings": outcome.warned, "logs": "\n".join(said)}
    found = {place: traces_in(text) for place, text in texts.items()}
    found["exception"] = traces_in_exception(outcome.error)
    found["files"] = traces_in_files(folder, but=inputs)
    found["result"] = [*traces_in(repr(outcome.value)), *traces_within([outcome.value])]
    return outcome.error, {place: traces for place, traces in found.items() if traces}


def files_of(folder):
    """Return the files that are there."""
    return {path for path in Path(folder).rglob("*") if path.is_file()}
