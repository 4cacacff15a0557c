"""The files that a Croissant file names: where they are, what their hash is, and that they belong together."""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lapwing.errors import DataError, ParameterError
from lapwing.model.certificate.certificate import Certificate


@dataclass(frozen=True, slots=True)
class Beside:
    """A file that the Croissant file names."""

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
        raise DataError(
            f"{target} cannot be read ({reason}); write it before the Croissant file that names it", code="LW602"
        )

    @classmethod
    def of(cls, target: Path, content: bytes) -> "Beside":
        """Return what a file of this content will be."""
        return cls(target, len(content), hashlib.sha256(content).hexdigest())


def content_url(file: Path, target: Path) -> str:
    """Return the address of a file as a Croissant file at `target` writes it: relative to its own folder."""
    found = os.path.relpath(os.path.abspath(file), os.path.abspath(target.parent))
    if found.startswith(os.pardir) or os.path.isabs(found):
        raise ParameterError(
            f"{target} must be in the folder of {file}, or above it, as it names that file by its place; "
            "move one of them",
            code="LW359",
        )
    return Path(found).as_posix()


def check_beside(target: Path, files: Iterable[Path | None]) -> None:
    """Refuse a place for a Croissant file from which it cannot name the others."""
    for file in files:
        if file is not None:
            content_url(file, target)


def path_of(what: str, value: object) -> Path:
    """Return a path, refusing anything else."""
    if not isinstance(value, str | Path):
        raise ParameterError(f"{what} must be a path to a file, got {type(value).__name__}", code="LW304")
    return Path(value)


def same_release(certificate: Certificate, file: Path) -> Certificate:
    """Return the certificate in a file, which also knows how many rows were written, if it is of the same release."""
    try:
        content = file.read_bytes()
        found = Certificate.from_dict(json.loads(content))
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (ValueError, RecursionError, ParameterError):
        reason = "it is no certificate"
    else:
        if replace(found, written_rows=certificate.written_rows, seed=certificate.seed) == certificate:
            return found
        raise ParameterError(
            f"{file} is the certificate of another release; give the one that lies beside the rows", code="LW620"
        )
    raise DataError(f"{file} cannot be read ({reason}); give the certificate that lies beside the rows", code="LW602")
