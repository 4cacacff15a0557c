"""What stands on a certificate once files were written with it: when, of what, by whom, and the hash of each file."""

import datetime as dt
import hashlib
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from lapwing.errors import DataError, ParameterError

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_HASH = re.compile("[0-9a-f]{64}")
SHOWN = 12
"""Digits of a hash that are shown where it stands beside others."""


@dataclass(frozen=True, slots=True)
class Beside:
    """A file that another one names by its hash; rows: how many synthetic rows are in it, None where it holds none."""

    document: ClassVar = ("target", "rows", "size", "sha256")

    target: Path = field(metadata={"key": "name"})
    size: int = field(metadata={"key": "bytes"})
    sha256: str
    rows: int | None = None

    @classmethod
    def read(cls, target: Path, place: Path | None = None, rows: int | None = None) -> "Beside":
        """Return what is in a file, which may yet stand in another place."""
        try:
            with open(target if place is None else place, "rb") as file:
                digest = hashlib.file_digest(file, "sha256")
                return cls(target, file.tell(), digest.hexdigest(), rows)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        raise DataError(f"{target} cannot be read ({reason}); give a file that is there, and readable", code="LW602")

    @classmethod
    def of(cls, target: Path, content: bytes) -> "Beside":
        """Return what a file of this content will be."""
        return cls(target, len(content), hashlib.sha256(content).hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRecord:
    """Say when a certificate was written, for which table and schema, by whom, and with which files.

    at: in UTC, such as ``2026-11-26T10:15:00Z``; table: what the data set is called in the ledger or the schema, if it
    is; schema: the fingerprint of the schema, SHA-256 in hexadecimal digits; files: name, rows, size in bytes and
    SHA-256 of each file beside the certificate; prepared_by, approved_by: as the caller wrote them; may be empty;
    python: the version of Python that wrote it.
    """

    at: str
    table: str
    schema: str
    files: tuple[Beside, ...]
    prepared_by: str = ""
    approved_by: str = ""
    python: str = ""

    def __post_init__(self) -> None:
        try:
            is_known = dt.datetime.strptime(self.at, _TIME).strftime(_TIME) == self.at
        except ValueError:
            is_known = False
        hashes = [self.schema, *(each.sha256 for each in self.files)]
        are_named = all(each.target.name and (each.rows or 0) >= 0 for each in self.files)
        if not is_known or not are_named or not all(map(_HASH.fullmatch, hashes)):
            raise ParameterError("a certificate is issued at a time in UTC, with SHA-256 of each file", code="LW621")

    @classmethod
    def now(cls, files: Sequence[Beside], **said: str) -> Self:
        """Return what is issued at this moment."""
        at = dt.datetime.now(dt.UTC).strftime(_TIME)
        return cls(at=at, files=tuple(files), python=platform.python_version(), **said)

    @property
    def when(self) -> str:
        """When it was written, to the minute."""
        return f"{dt.datetime.strptime(self.at, _TIME):%Y-%m-%d %H:%M} UTC"

    def faults(self, files: Sequence[Path]) -> tuple[list[str], list[str]]:
        """Return what is wrong with files that should be those beside the certificate, and with those not given.

        A file that lacks in a folder that was given is a fault, and that no file was given at all.
        """
        found, left = [], list(self.files)
        for name, path in (each for file in files for each in inside(file)):
            given = Beside.read(path)
            names = {name, f"{path.resolve().parent.name}/{name}"}
            called = [each for each in left if each.target.as_posix() in names]
            same = [each for each in called or left if each.sha256 == given.sha256]
            for each in (same or called)[:1]:
                left.remove(each)
            if not called and same:
                found.append(f"{path}: the certificate calls this file {same[0].target.as_posix()}")
            elif not called:
                found.append(f"{path}: the certificate names no file {name}, or it was given twice")
            elif not same:
                size = f" ({given.size} bytes, not {called[0].size})" if given.size != called[0].size else ""
                found.append(f"{path}: it is not the file that was written with the certificate{size}")
        folders = {_name(file) for file in files if file.is_dir()}
        cut = [each for each in left if len(each.target.parts) > 1 and each.target.parts[0] in folders]
        found += [f"{each.target.as_posix()}: it is missing from its folder" for each in cut]
        lacking = [
            f"{each.target.as_posix()}: the certificate names it, and it was not given"
            for each in left
            if each not in cut
        ]
        if len(left) == len(self.files):
            return [*found, *lacking], []
        return found, lacking


def inside(target: Path, place: Path | None = None) -> list[tuple[str, Path]]:
    """Return the file that a path is, or those of the folder that it is, each with its name on a certificate."""
    found = target if place is None else place
    if not found.is_dir():
        return [(target.name, found)]
    return [(f"{_name(target)}/{each.name}", each) for each in sorted(found.iterdir())]


def _name(folder: Path) -> str:
    """Return the name of a folder, which a path may not say."""
    return folder.name if folder.name not in ("", "..") else folder.resolve().name
