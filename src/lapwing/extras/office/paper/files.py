"""Certificates in files: of one table or of linked ones, and whether the files beside them are theirs."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from lapwing.errors import DataError
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.issued import inside
from lapwing.model.files import is_model, what_is_certified

T = TypeVar("T")


def faults_of(whole: Certificate, files: Sequence[Path], content: bytes) -> tuple[list[str], list[str]]:
    """Return what is wrong with files that should be those of a certificate, and with those not given.

    content: of the certificate's file. A model file holds the certificate too, but for what is written with it, and the
    schema.
    """
    if whole.issued is None:
        raise DataError("the certificate names no files; make the release again", code="LW622")
    found, missing = whole.issued.faults(files)
    for model in [] if found else models_in(files):
        certificate, schema = what_is_certified(model)
        if _promised(certificate) != _promised(json.loads(content)):
            found.append(f"{model}: the certificate inside says something else than this one; trust neither")
        elif schema != whole.issued.schema:
            found.append(f"{model}: the schema inside is not the one that the certificate names; trust neither")
    return found, missing


def models_in(files: Sequence[Path]) -> list[Path]:
    """Return the model files among files and those of folders."""
    return [path for file in files for _, path in inside(file) if is_model(path)]


def or_data_error(file: Path | str, make: Callable[[], T]) -> T:
    """Return what is made of certificates, whose amounts may be of a size that no release has; file: their names."""
    try:
        return make()
    except (ArithmeticError, ValueError):
        pass
    raise DataError(f"{file} holds amounts that no release can have; give one that Lapwing wrote", code="LW602")


def _promised(certificate: object) -> object:
    """Return all of a certificate but what is only known once files are written, as JSON text."""
    later = ("issued", "written_rows", "seed")
    if not isinstance(certificate, Mapping):
        return None
    kept = {key: value for key, value in certificate.items() if key not in later}
    if isinstance(parts := kept.get("parts"), Mapping):
        kept["parts"] = [[name, _promised(part)] for name, part in parts.items()]
    return json.dumps(kept, sort_keys=True)
