"""The room where a release is handed over: its files, whether they are whole, its certificate in words, and paper."""

import base64
import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, cast
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from lapwing.errors import DataError, LapwingError, ParameterError
from lapwing.extras.office.paper.files import faults_of, or_data_error
from lapwing.extras.office.paper.page import signing_page
from lapwing.extras.office.paper.signature import sign
from lapwing.extras.studio.jobs import releases
from lapwing.extras.studio.pages import form_of, go, job_of, page, studio_of
from lapwing.extras.studio.rooms.asking import file_response
from lapwing.extras.studio.rooms.handed import PUBLIC, ReleaseFiles, Role, files_in, safe_name
from lapwing.extras.studio.rooms.look import release_of
from lapwing.extras.studio.rooms.opened import open_release
from lapwing.extras.studio.rooms.table import files_of
from lapwing.model.certificate.certificate import Certificate, certificate_in
from lapwing.model.certificate.issued import Beside
from lapwing.present.certificates import detailed_facts, short_facts
from lapwing.rows.out.outputs import write_output

_AT: Final = "/job/{job}/hand-over/{number:int}"
_PIECE: Final = 1 << 20
_KINDS: Final = {".json": "application/json", ".html": "text/html; charset=utf-8", ".csv": "text/csv; charset=utf-8"}
_OTHER: Final = "application/octet-stream"
_KEYS: Final = (".key", "id_ed25519", "id_ecdsa", "id_rsa")
_MOST_KEY: Final = 1 << 16
_OPEN_KEY: Final = b"openssh-key-v1\x00\x00\x00\x00\x04none"
"""How a private key begins that needs no passphrase: nobody could type one here."""


def hand_over(
    request: Request, *, said: str = "", faults: list[str] | None = None, typed: dict[str, str] | None = None
) -> Response:
    """Show the files of a release.

    faults: what a check of them found, None where there was none; typed: a description that was refused.
    """
    job = job_of(request)
    if "number" not in request.path_params and not releases(job):
        return page(request, "look_none.html", room="hand-over", job=job)
    files = release_of(request, job)
    paid, _ = certificate_in(files.certificate)
    numbers = [files_in(each).number for each in releases(job)]
    return page(
        request,
        "hand_over.html",
        status=400 if said else 200,
        room="hand-over",
        job=job,
        said=said,
        at=f"/job/{job.name}/hand-over/{files.number}",
        number=files.number,
        others=[(each, f"/job/{job.name}/hand-over/{each}") for each in numbers],
        files=files.listed(),
        has_report=files.report.is_file(),
        transcript=files.file("transcript").name if files.file("transcript").is_file() else "",
        faults=faults,
        short=or_data_error(files.certificate, lambda: short_facts(paid)),
        details=or_data_error(files.certificate, lambda: detailed_facts(paid)),
        about=typed or about_in(files.file("croissant")),
        keys=keys_in(studio_of(request).folder),
    )


def _faults(files: ReleaseFiles, paid: Certificate) -> list[str]:
    """Return what is wrong with the files that the certificate names: one sentence each."""
    if paid.issued is None:
        raise DataError(f"{files.certificate.name} names no files; make the release again", code="LW622")
    there = [each for each in (files.rows, files.model) if each.is_file()]
    wrong, missing = faults_of(paid, there, files.certificate.read_bytes())
    return wrong + missing


def check(request: Request) -> Response:
    """Check that the files are those that the certificate names, with a fresh look at each."""
    files = release_of(request, job_of(request))
    try:
        faults = _faults(files, certificate_in(files.certificate)[0])
    except LapwingError as error:
        return hand_over(request, said=str(error))
    return hand_over(request, faults=[each.replace(f"{files.place}/", "") for each in faults])


def download(request: Request) -> Response:
    """Return one public file, named by its role."""
    files, role = release_of(request, job_of(request)), request.path_params["role"]
    found = dict(files.public()).get(cast("Role", role)) if role in PUBLIC else None
    if found is None:
        raise HTTPException(404)
    kind = _KINDS.get(found.suffix, _OTHER)
    return FileResponse(found, media_type=kind, filename=safe_name(found.name))


def zipped(request: Request) -> Response:
    """Return all public files as one, once they are those that the certificate names."""
    job = job_of(request)
    files = release_of(request, job)
    try:
        faults = _faults(files, certificate_in(files.certificate)[0])
    except LapwingError as error:
        return hand_over(request, said=str(error))
    if faults:
        return hand_over(request, faults=[each.replace(f"{files.place}/", "") for each in faults])
    name = f"{safe_name(job.name)}-release-{files.number}"
    place = cast("IO[bytes]", tempfile.TemporaryFile(dir=files.place))  # noqa: SIM115 - closed once it is sent
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as made:
        for _, file in files.public():
            made.write(file, f"{name}/{file.name}")
    place.seek(0)
    return file_response(_sent(place), f"{name}.zip", "application/zip")


def _sent(place: IO[bytes]) -> Iterator[bytes]:
    with place:
        while piece := place.read(_PIECE):
            yield piece


def printed(request: Request) -> Response:
    """Return one page to print and sign."""
    files = release_of(request, job_of(request))
    try:
        paid, content = certificate_in(files.certificate)
        made = or_data_error(files.certificate, lambda: signing_page(paid, Beside.of(files.certificate, content)))
    except LapwingError as error:
        return hand_over(request, said=str(error))
    return file_response(made.encode(), "certificate.html", _KINDS[".html"])


def report(request: Request) -> Response:
    """Write the report that may be published, beside the rows."""
    job = job_of(request)
    files = release_of(request, job)
    try:
        write_output(files.report, open_release(files.model, Path(job.title).stem).report)
    except LapwingError as error:
        return hand_over(request, said=str(error))
    return go(f"/job/{job.name}/hand-over/{files.number}")


def about_in(croissant: Path) -> dict[str, str]:
    """Return what a Croissant file says that only its owner can know; empty texts where it does not."""
    try:
        found = json.loads(croissant.read_text(encoding="utf-8"))
        creator = found.get("creator", "")
    except (OSError, ValueError, AttributeError):
        found, creator = {}, ""
    named = creator.get("name", "") if isinstance(creator, dict) else creator
    return {"license": str(found.get("license", "")), "creator": str(named), "url": str(found.get("url", ""))}


def described(request: Request) -> Response:
    """Write licence, author and address into the description for machines."""
    job = job_of(request)
    files, form = release_of(request, job), form_of(request)
    given = {name: form.get(name, "").strip() for name in ("license", "creator", "url")}
    about: dict[str, Any] = {name: text for name, text in given.items() if text}
    if "creator" in about:
        about["creator"] = {"@type": "Organization", "name": about["creator"]}
    try:
        if urlsplit(given["url"]).scheme not in ("", "http", "https"):
            raise ParameterError("the address must be one of the web; begin it with https://", code="LW316")
        open_release(files.model, Path(job.title).stem).release.to_croissant(
            files.file("croissant"), rows=files.rows, certificate=files.certificate, about=about
        )
    except LapwingError as error:
        return hand_over(request, said=str(error), typed=given)
    return go(f"/job/{job.name}/hand-over/{files.number}#public")


def signed(request: Request) -> Response:
    """Sign the certificate with a key of the working folder."""
    job, folder = job_of(request), studio_of(request).folder
    files, key = release_of(request, job), form_of(request).get("signer", "")
    if key not in keys_in(folder):
        return hand_over(request, said="the working folder has no such key without a passphrase; choose one listed")
    try:
        _, content = certificate_in(files.certificate)
        write_output(files.signature, sign(content, folder / key))
    except LapwingError as error:
        return hand_over(request, said=str(error))
    return go(f"/job/{job.name}/hand-over/{files.number}")


def keys_in(folder: Path) -> list[str]:
    """Return the private SSH keys of a folder that need no passphrase, by name."""
    return [name for name in files_of(folder, *_KEYS) if _is_open_key(folder / name)]


def _is_open_key(file: Path) -> bool:
    try:
        with file.open("rb") as opened_key:
            text = opened_key.read(_MOST_KEY)
        lines = text.strip().splitlines()
        is_key = bool(lines) and lines[0].strip() == b"-----BEGIN OPENSSH PRIVATE KEY-----"
        return is_key and base64.b64decode(b"".join(lines[1:-1])).startswith(_OPEN_KEY)
    except (OSError, ValueError):
        return False


ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/job/{job}/hand-over", hand_over),
    Route(_AT, hand_over),
    Route(f"{_AT}/check", check, methods=["POST"]),
    Route(f"{_AT}/file/{{role}}", download),
    Route(f"{_AT}/all.zip", zipped),
    Route(f"{_AT}/page.html", printed),
    Route(f"{_AT}/report", report, methods=["POST"]),
    Route(f"{_AT}/describe", described, methods=["POST"]),
    Route(f"{_AT}/sign", signed, methods=["POST"]),
)
