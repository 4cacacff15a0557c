"""Private tables behind the paths that stand in files: under every spelling, and with every opening of them noticed."""

import copy
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DATA = "data-of-the-call.csv"
"""The private table as the call is given it: the one name under which it may be opened."""

KEYS = (
    *("public", "path", "file", "source", "schema", "url", "contentUrl", "prior", "mu", "ledger", "hold", "transcript"),
    *("publicTables", "tables", "domain", "resources", "$schema", "model", "policy", "published", "files"),
)
"""Keys that might make somebody follow a path, in whatever object they stand."""

_watched: list[tuple[int, int]] = []
_opened: list[str] = []
_hooked: list[bool] = []


def spellings(folder: Path) -> dict[str, str]:
    """Make other names of a private table, and return them with other spellings of its own."""
    table = folder / DATA
    os.link(table, folder / "hard.csv")
    os.symlink(table, folder / "soft.csv")
    (folder / "inside").mkdir()
    return {
        "same": DATA,
        "absolute": str(table),
        "dotted": f"./{DATA}",
        "through a folder": f"inside/../{DATA}",
        "hard link": "hard.csv",
        "symbolic link": "soft.csv",
    }


def places(tree: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where a path may stand in JSON values: in each leaf, and under each of `KEYS` in each object."""
    if isinstance(tree, dict):
        yield from ((*place, key) for key in KEYS if key not in tree)
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places(value, (*place, key))
    else:
        yield place


def planted(tree: Any, place: tuple[Any, ...], path: str) -> Any:
    """Return JSON values with a path in one place."""
    if not place:
        return path
    tree = inside = copy.deepcopy(tree)
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = [path] if place[-1] == "prior" else path
    return tree


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched or event != "open" or isinstance(arguments[0], int):
        return
    try:
        found = os.stat(arguments[0])
    except (OSError, ValueError):
        return
    if (found.st_dev, found.st_ino) in _watched:
        _opened.append(os.fsdecode(arguments[0]))


@contextmanager
def openings(table: Path) -> Iterator[list[str]]:
    """Collect the names under which a file is opened by Python."""
    if not _hooked:
        sys.addaudithook(_watch)  # stays for good
        _hooked.append(True)
    found = os.stat(table)
    _opened.clear()
    _watched.append((found.st_dev, found.st_ino))
    try:
        yield _opened
    finally:
        _watched.clear()
