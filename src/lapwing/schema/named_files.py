"""Files that another file names, or that are given as public: none of them is a private table of the call.

Whoever wrote a schema or a transcript may have named a private table in it, under any spelling or link. So files are
compared, by device and number, and before anything of them is read.
"""

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from lapwing.errors import ParameterError

Identity = tuple[int, int]
"""Device and number of a file: the same for all its names."""

_Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False, repr=False)
class Origin:
    """Where a table is from: the caller's own object, and paths of the files, folders and patterns that it lies in.

    Paths stand as they are spelled, and may be addresses in a store. is_told: whether no file is known to be missing.
    """

    given: Any
    paths: tuple[_Path, ...]
    is_told: bool = field(default=True, kw_only=True)

    @property
    def spelled(self) -> set[str]:
        """The paths as texts."""
        return {os.fspath(path) for path in self.paths}


_PRIVATE: Final[ContextVar[tuple[Origin, ...]]] = ContextVar("the private tables of the calls in progress", default=())
STANDARD_INPUT: Final = Path("-")
IN_FOLDERS: Final = (
    *(".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    *(".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
)
"""How the names of files end that are rows where they lie in a folder; others stand beside rows, as code books do."""

EXCEL: Final = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
PROGRAMS: Final = {".sav": "SPSS", ".zsav": "SPSS", ".dta": "Stata", ".sas7bdat": "SAS", ".xpt": "SAS"}
"""Which program's file it is, by its suffix."""

TABLES: Final = (*IN_FOLDERS, *EXCEL, *PROGRAMS)
"""How the names of all files end that hold a table."""


@contextmanager
def holding_private(*tables: Origin) -> Iterator[None]:
    """Hold tables for private until the block ends, beside those that are held already."""
    token = _PRIVATE.set((*_PRIVATE.get(), *tables))
    try:
        yield
    finally:
        _PRIVATE.reset(token)


def refuse_private(public: object, what: str, *known: Identity | None) -> None:
    """Refuse what is named or given as public where it is a private table: the same object or file, or a file of it.

    public: a path, the origin of a table, or another object; what: begins the sentence; known: files that
    were read as it before, and may have another name by now.
    """
    private = _PRIVATE.get()
    if not private:
        return
    if not isinstance(public, Origin):
        public = Origin(public, (public,) if isinstance(public, str | os.PathLike) else ())
    own, spelled = {each for each in known if each} | _identities(public.paths), public.spelled
    if any(
        own & _identities(table.paths) or spelled & table.spelled or public.given is table.given for table in private
    ):
        raise ParameterError(
            f"{what} is the private table itself, but must be public; name another table, not the same or a file of "
            "it, that was published or released before",
            code="LW351",
        )
    has_files = bool(own or spelled or not public.is_told)
    if any(has_files if not table.is_told else table.paths and not public.is_told for table in private):
        raise ParameterError(
            f"{what} may be the private table itself: one of them does not tell its files; give the rows as a path, or "
            "the public table as a frame",
            code="LW351",
        )


@contextmanager
def open_public_file(path: str | os.PathLike[str], what: str | None) -> Iterator[tuple[BufferedReader, Identity]]:
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
        with open_public_file(each, what) as (file, _):
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return hashlib.sha256("".join(digests).encode()).hexdigest() if Path(path).is_dir() else digests[0]


def _identities(paths: Sequence[_Path]) -> set[Identity]:
    """Return the files that a table lies in."""
    found = set()
    for path in paths:
        for each in (Path(path), *_files(path)):
            try:
                found.add(_identity(os.fstat(0) if each == STANDARD_INPUT else os.stat(each)))
            except (OSError, ValueError):
                continue  # what is not there, or no path at all, is no file of anybody's
    return found


def _files(place: _Path) -> list[Path]:
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
