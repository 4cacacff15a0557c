"""A saved release that somebody was given: looked at without a private table, and checked with the files beside it."""

import os
from pathlib import Path
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from lapwing.errors import DataError, LapwingError
from lapwing.extras.office.paper.files import faults_of, or_data_error
from lapwing.extras.office.paper.signature import signer_of
from lapwing.extras.studio.pages import form_of, page, studio_of
from lapwing.extras.studio.rooms.asking import routes
from lapwing.extras.studio.rooms.look import first_figures
from lapwing.extras.studio.rooms.opened import Subject, open_release
from lapwing.extras.studio.rooms.table import files_of, models_of, slug_of
from lapwing.model.certificate.certificate import certificate_in
from lapwing.model.certificate.issued import IssueRecord
from lapwing.present.certificates import detailed_facts, short_facts

_AT: Final = "/model/{model}"
_CERTIFICATE: Final = ".certificate.json"
_KEYS: Final = (".pub", "allowed_signers")


def file_of(request: Request) -> Path:
    """Return the model file that an address names."""
    folder, slug = studio_of(request).folder, request.path_params["model"]
    name = next((each for each in models_of(folder) if slug_of(each) == slug), None)
    if name is None:
        raise HTTPException(404)
    return folder / name


def subject_of(request: Request) -> Subject:
    """Return what the pages of a saved release look at."""
    file = file_of(request)
    return Subject(at=f"/model/{slug_of(file.name)}", title=file.name, opened=open_release(file, file.stem))


def received(request: Request, *, checks: list[dict[str, Any]] | None = None) -> Response:
    """Show a saved release; checks: what a check of the files beside it found."""
    file, subject = file_of(request), subject_of(request)
    paid = subject.release.certificate
    return page(
        request,
        "received.html",
        room="look",
        subject=subject,
        name=file.name,
        beside=[each.name for each, _ in _beside(file)],
        checks=checks,
        keys=files_of(file.parent, *_KEYS),
        short=or_data_error(file, lambda: short_facts(paid)),
        details=or_data_error(file, lambda: detailed_facts(paid)),
        **first_figures(subject),
    )


def check(request: Request) -> Response:
    """Check that the files beside a saved release are those of the certificates that name it, and who signed these."""
    file, key = file_of(request), form_of(request).get("signer", "")
    found = [_checked(file, *each) for each in _beside(file)]
    if key:
        for each in found:
            by = _signed(file.parent / each["name"], key)
            each |= {"signer": by["signer"], "faults": [*each["faults"], *by["faults"]]}
    return received(request, checks=found)


def _signed(certificate: Path, key: str) -> dict[str, Any]:
    """Check who signed a certificate, with a public key of its folder."""
    try:
        if key not in files_of(certificate.parent, *_KEYS):
            raise DataError("the folder has no such public key; choose one that is listed", code="LW602")
        _, content = certificate_in(certificate)
        signer_of(content, certificate.with_name(f"{certificate.name}.sig"), certificate.with_name(key))
    except LapwingError as error:
        return {"signer": "", "faults": [str(error).replace(f"{certificate.parent}/", "")]}
    return {"signer": key, "faults": []}


def _beside(file: Path) -> list[tuple[Path, IssueRecord]]:
    """Return the certificates of the folder that name the model file; those that cannot be read name nothing."""
    found = []
    for name in files_of(file.parent, _CERTIFICATE):
        try:
            paid, _ = certificate_in(file.parent / name)
        except DataError:
            continue
        if paid.issued is not None and file.name in [each.target.as_posix() for each in paid.issued.files]:
            found.append((file.parent / name, paid.issued))
    return found


def _checked(file: Path, certificate: Path, issued: IssueRecord) -> dict[str, Any]:
    """Check the files that a certificate names, as far as they lie beside it."""
    named = [each.target.as_posix() for each in issued.files]
    there = [file.parent / name for name in named if name == os.path.basename(name)]  # of the folder itself
    files = [each for each in there if each.is_file()]
    paid, content = certificate_in(certificate)
    wrong, missing = faults_of(paid, files, content)
    faults = [each.replace(f"{file.parent}/", "") for each in (*wrong, *missing)]
    return {"signer": "", "name": certificate.name, "count": len(issued.files), "faults": faults}


ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route(_AT, received),
    Route(f"{_AT}/check", check, methods=["POST"]),
    *routes(_AT, subject_of),
)
