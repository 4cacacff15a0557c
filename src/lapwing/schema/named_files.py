"""Files that another file names, or that are given as public: none of them is a private table of the call.

Whoever wrote a schema or a transcript may have named a private table in it, under any spelling or link. So files are
compared, by device and number, and before anything of them is read.
"""

import glob
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import Final

from lapwing.errors import ParameterError

Identity = tuple[int, int]
"""Device and number of a file: the same for all its names."""

_PRIVATE: Final[ContextVar[tuple[object, ...]]] = ContextVar("the private tables of the calls in progress", default=())
STANDARD_INPUT: Final = Path("-")
IN_FOLDERS: Final = (
    *(".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    *(".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
)
"""How the names of files end that are rows where they lie in a folder; others stand beside rows, as code books do."""


@contextmanager
def holding_private(*tables: object) -> Iterator[None]:
    """Hold tables for private until the block ends, beside those that are held already.

    tables: paths, folders, patterns, queries, frames; lists of them, or mappings to them.
    """
    held = [tuple(each.values()) if isinstance(each, Mapping) else each for each in tables]
    token = _PRIVATE.set((*_PRIVATE.get(), *_parts(held)))
    try:
        yield
    finally:
        _PRIVATE.reset(token)


def refuse_private(given: object, what: str, *known: Identity | None) -> None:
    """Refuse what is named or given as public where it is a private table: the same object or file, or a file of it.

    what: begins the sentence; known: files that were read as it before, and may have another name by now.
    """
    private, public = _PRIVATE.get(), tuple(_parts(given))
    if not private:
        return
    own = set(known).union(*map(_identities, public))
    if any(own & _identities(table) or any(_is_same(each, table) for each in public) for table in private):
        raise ParameterError(
            f"{what} is the private table itself, but must be public; name another table, not the same or a file of "
            "it, that was published or released before",
            code="LW351",
        )


@contextmanager
def opened(path: str | os.PathLike[str], what: str | None) -> Iterator[tuple[BufferedReader, Identity]]:
    """Open a file that is named or given as public; refused before that, and also if it is replaced meanwhile.

    what: begins the sentence; None of a schema, whose reader refuses a table in words of its own.
    """
    if what is not None:
        refuse_private(path, what)
    with Path(path).open("rb") as file:
        found = _identity(os.fstat(file.fileno()))
        if what is not None:
            refuse_private(None, what, found)
        yield file, found


def digest_of(path: str | os.PathLike[str], what: str) -> str:
    """Return SHA-256 in hexadecimal digits of a file's bytes; of a folder, of the digests of its files."""
    digests = []
    for each in sorted(_files(path)) or [Path(path)]:
        with opened(each, what) as (file, _):
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return hashlib.sha256("".join(digests).encode()).hexdigest() if Path(path).is_dir() else digests[0]


def _parts(given: object) -> Iterator[object]:
    """Yield what lists of tables hold, one by one."""
    if isinstance(given, list | tuple):
        for each in given:
            yield from _parts(each)
    elif not isinstance(given, int | float | None):
        yield given


def _is_same(given: object, table: object) -> bool:
    """Tell whether two tables are one object, or two paths or addresses of one spelling."""
    are_names = all(isinstance(each, str | os.PathLike) for each in (given, table))
    return os.fspath(given) == os.fspath(table) if are_names else given is table  # type: ignore[call-overload]


def _identities(table: object) -> set[Identity]:
    """Return the files that one table lies in."""
    own = getattr(type(table), "file", None)
    place = getattr(table, "file", None) if isinstance(own, property) else table  # a query tells its database's
    listed = getattr(place, "files", None)  # those of a PyArrow dataset
    if isinstance(listed, list):
        return set().union(*map(_identities, listed))
    if not isinstance(place, str | os.PathLike):
        return set()
    found = set()
    for each in (Path(place), *_files(place)):
        try:
            found.add(_identity(os.fstat(0) if each == STANDARD_INPUT else os.stat(each)))
        except (OSError, ValueError):
            continue  # what is not there, or no path at all, is no file of anybody's
    return found


def _files(place: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a folder or pattern, none of anything else."""
    try:
        if Path(place).is_dir():
            inside = (each for each in Path(place).rglob("*") if each.name.lower().endswith(IN_FOLDERS))
            return [each for each in inside if each.is_file()]
        has_match = glob.has_magic(os.fspath(place)) and not os.path.lexists(place)
    except (OSError, ValueError):
        return []
    return [Path(each) for each in glob.glob(os.fspath(place), recursive=True)] if has_match else []


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino
