"""The files of a release: which is which, who may have it, and whether they are those that its certificate names."""

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from lapwing.errors import DataError

Role = Literal["rows", "model", "certificate", "croissant", "report", "signature", "transcript"]

PUBLIC: Final[tuple[Role, ...]] = ("rows", "model", "certificate", "croissant", "report", "signature")
"""What may be given to anybody, in the order in which it is listed."""

_CERTIFICATE: Final = ".certificate.json"
_HASHES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One file as it is listed."""

    role: Role
    name: str
    size: int
    sha256: str

    @property
    def shown_size(self) -> str:
        """Its size in words."""
        return size_text(self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFiles:
    """The files of one release, in a folder of their own; a file may be missing, but for the certificate."""

    place: Path
    certificate: Path

    @property
    def number(self) -> int:
        """Which release of the job it is."""
        return int(self.place.name.removeprefix("release-"))

    @property
    def rows(self) -> Path:
        """The rows: the certificate is called after them."""
        return self.certificate.with_name(self.certificate.name.removesuffix(_CERTIFICATE))

    @property
    def model(self) -> Path:
        """The model."""
        return self._first("*.lapwing", "model.lapwing")

    @property
    def signature(self) -> Path:
        """The signature of the certificate."""
        return self.certificate.with_name(f"{self.certificate.name}.sig")

    @property
    def report(self) -> Path:
        """The report that may be published."""
        return self.place / "report.html"

    def file(self, role: Role) -> Path:
        """Return where the file of a role is, or would be."""
        match role:
            case "croissant":
                return self._first("*croissant.json", "croissant.json")
            case "transcript":
                return self._first("transcript.jsonl", "transcript.jsonl")
        found: Path = getattr(self, role)
        return found

    def public(self) -> list[tuple[Role, Path]]:
        """Return the files that are there and may be given to anybody."""
        return [(role, file) for role in PUBLIC if _is_own(file := self.file(role), self.place)]

    def listed(self) -> list[Listed]:
        """Return the public files with sizes and hashes."""
        return [_listed(role, file) for role, file in self.public()]

    def _first(self, pattern: str, usual: str) -> Path:
        return next(iter(sorted(self.place.glob(pattern))), self.place / usual)


def files_in(place: Path) -> ReleaseFiles:
    """Return the files of a release that is whole."""
    return ReleaseFiles(place=place, certificate=min(place.glob(f"*{_CERTIFICATE}")))


def _is_own(file: Path, place: Path) -> bool:
    """Return whether a file is there, and no link to one that lies elsewhere."""
    return file.is_file() and file.resolve().parent == place.resolve()


def _listed(role: Role, file: Path) -> Listed:
    found = os.stat(file)
    version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    return Listed(role=role, name=file.name, size=found.st_size, sha256=_hash(file, version))


def _hash_of(file: Path, version: tuple[int, ...]) -> str:  # noqa: ARG001 - tells versions of a file apart
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise DataError(f"{file.name} cannot be read ({reason}); put it back, or make the release again", code="LW602")


_hash: Final[Callable[[Path, tuple[int, ...]], str]] = lru_cache(maxsize=_HASHES)(_hash_of)


def size_text(size: int) -> str:
    """Return a number of bytes in words.

    >>> size_text(999), size_text(394_755), size_text(1_946_392)
    ('999 bytes', '394.8 kB', '1.9 MB')
    """
    if size < 1000:
        return f"{size} bytes"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if size < 1000 * scale or unit == "GB":
            return f"{size / scale:,.1f} {unit}"
    raise AssertionError


def safe_name(name: str) -> str:
    """Return a file's name in plain letters, as a browser is told it.

    >>> safe_name('rows "ä";.csv')
    'rows_.csv'
    """
    return re.sub(r"[^A-Za-z0-9.-]+", "_", name).lstrip(".")[-100:] or "file"
