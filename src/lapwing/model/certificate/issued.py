"""What stands on a certificate once files were written with it: when, of what, by whom, and the hash of each file."""

import datetime as dt
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.plain import read_key, read_list, read_optional

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_HASH = re.compile("[0-9a-f]{64}")
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Beside:
    """A file that another one names by its hash."""

    target: Path
    size: int
    sha256: str

    @classmethod
    def read(cls, target: Path, place: Path | None = None) -> "Beside":
        """Return what is in a file, which may yet stand in another place."""
        try:
            with open(target if place is None else place, "rb") as file:
                digest = hashlib.file_digest(file, "sha256")
                return cls(target, file.tell(), digest.hexdigest())
        except OSError as error:
            reason = error.strerror or type(error).__name__
        raise DataError(f"{target} cannot be read ({reason}); give a file that is there, and readable", code="LW602")

    @classmethod
    def of(cls, target: Path, content: bytes) -> "Beside":
        """Return what a file of this content will be."""
        return cls(target, len(content), hashlib.sha256(content).hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """Say when a certificate was written, for which table and schema, by whom, and with which files.

    at: in UTC, such as ``2026-11-26T10:15:00Z``; table: what the data set is called in the ledger or the schema, if it
    is; schema: the fingerprint of the schema, SHA-256 in hexadecimal digits; files: name, size in bytes and SHA-256
    of each file beside the certificate; prepared_by, approved_by: as the caller wrote them; may be empty.
    """

    at: str
    table: str
    schema: str
    files: tuple[Beside, ...]
    prepared_by: str = ""
    approved_by: str = ""

    @classmethod
    def now(cls, files: Sequence[Beside], **said: str) -> Self:
        """Return what is issued at this moment."""
        return cls(at=dt.datetime.now(dt.UTC).strftime(_TIME), files=tuple(files), **said)

    def lines(self) -> list[str]:
        """Return it in plain sentences."""
        at = dt.datetime.strptime(self.at, _TIME)
        named = f" for {self.table}" if self.table else ""
        lines = [f"Issued: {at:%Y-%m-%d %H:%M} UTC{named}; schema {self.schema[:_SHOWN]}."]
        lines += [f"File: {each.target.as_posix()}, {each.size} bytes, SHA-256 {each.sha256}." for each in self.files]
        people = (("Prepared by", self.prepared_by), ("Approved by", self.approved_by))
        return lines + [f"{what}: {who}." for what, who in people if who]

    def faults(self, files: Sequence[Path]) -> list[str]:
        """Return what is wrong with files that should be those beside the certificate: one sentence each.

        files: given by whoever checks; each must be there under its own name and content, and none may be left out.
        """
        found, known = [], {each.target.as_posix(): each for each in self.files}
        for name, path in (each for file in files for each in inside(file)):
            beside = known.pop(name, None)
            if beside is None:
                found.append(f"{path}: the certificate names no file {name}, or it was given twice")
            elif Beside.read(path).sha256 != beside.sha256:
                found.append(f"{path}: it is not the file that was written with the certificate")
        return found + [f"{name}: the certificate names it, and it was not given" for name in known]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "at": self.at,
            "table": self.table,
            "schema": self.schema,
            "files": [
                {"name": each.target.as_posix(), "bytes": each.size, "sha256": each.sha256} for each in self.files
            ],
            "prepared_by": self.prepared_by,
            "approved_by": self.approved_by,
        }

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where it is something else."""
        keys = ("at", "table", "schema", "prepared_by", "approved_by")
        texts = {key: read_key(values, key, str) for key in keys}
        files = [
            Beside(Path(read_key(each, "name", str)), read_key(each, "bytes", int), read_key(each, "sha256", str))
            for each in read_list(values, "files", dict)
        ]
        try:
            dt.datetime.strptime(texts["at"], _TIME)
            is_known = True
        except ValueError:
            is_known = False
        hashes = [texts["schema"], *(each.sha256 for each in files)]
        if not is_known or not all(map(_HASH.fullmatch, hashes)) or not all(each.target.name for each in files):
            raise ParameterError("a certificate is issued at a time in UTC, with SHA-256 of each file", code="LW621")
        return cls(files=tuple(files), **texts)


def inside(target: Path, place: Path | None = None) -> list[tuple[str, Path]]:
    """Return the file that a path is, or those of the folder that it is, each with its name on a certificate.

    place: where it stands for now.
    """
    found = target if place is None else place
    if not found.is_dir():
        return [(target.name, found)]
    return [(f"{target.name}/{each.name}", each) for each in sorted(found.iterdir())]


def read_issued(values: object) -> Issued | None:
    """Return what stands on a certificate, or None on one that was not written with files, or before."""
    found = read_optional(values, "issued", dict) if isinstance(values, dict) and "issued" in values else None
    return None if found is None else Issued.from_dict(found)
