"""The first room: choose a file of the working folder, add one, or write a query; or open a release without a table."""

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from lapwing.errors import LapwingError, ParameterError
from lapwing.extras.studio.guard import UPLOAD
from lapwing.extras.studio.jobs import JOBS, Job, all_jobs, new_job
from lapwing.extras.studio.pages import form_of, go, page, studio_of
from lapwing.rows.elsewhere import Query
from lapwing.schema.named_files import IN_FOLDERS, TABLES

_MODEL: Final = ".lapwing"
_MOST_SHOWN: Final = 200
_MOST_BYTES: Final = 200
"""Of a file's name."""
_MOST_UPLOAD: Final = 8 << 30
"""Bytes of a file that is added; a larger one is put into the folder by other means."""
_PART: Final = ".lapwing-part"
_SECRETS: Final = ("password", "passwd", "pwd", "token", "secret")
_TAKEN: Final = "There is a file of that name."
_NOT_LISTED: Final = "the working folder has no table of that name; choose one that is listed"
_HELD: Final = (
    "the database's address holds a password, which would be written down; leave it out, and put it where the "
    "database's own tools look for it"
)


def files_of(folder: Path, *endings: str) -> list[str]:
    """Return the names of files that lie in a folder itself, by their endings; no link that leads elsewhere."""
    found = []
    for each in sorted(folder.iterdir()):
        is_shown = each.name.isprintable() and not each.name.startswith(".") and each.name.lower().endswith(endings)
        if is_shown and each.is_file() and each.resolve().parent == folder.resolve():
            found.append(each.name)
    return found


def folders_of(folder: Path) -> list[str]:
    """Return the names of folders right in a folder that hold files of one table; no link that leads elsewhere."""
    found = []
    for each in sorted(folder.iterdir()):
        is_shown = each.name.isprintable() and not each.name.startswith(".") and each.name != JOBS
        with suppress(OSError):  # one that this user may not read
            if is_shown and each.is_dir() and each.resolve().parent == folder.resolve() and files_of(each, *IN_FOLDERS):
                found.append(each.name)
    return found


def models_of(folder: Path) -> list[str]:
    """Return the saved releases of a working folder, by name."""
    return files_of(folder, _MODEL)


def slug_of(name: str) -> str:
    """Return what a file is called in addresses, the same wherever it stands in a list.

    >>> slug_of("Adult 2024.lapwing")
    'adult-2024-9e1755'
    """
    stem = re.sub(r"[^a-z0-9]+", "-", Path(name).stem.lower()).strip("-")[:40] or "model"
    return f"{stem}-{hashlib.sha256(name.encode(errors='surrogateescape')).hexdigest()[:6]}"


def shown(request: Request, *, said: str = "", status: int = 200, db: str = "", sql: str = "") -> Response:
    """Show what can be opened; a query that was refused stays as it was typed."""
    folder, first = studio_of(request).folder, studio_of(request).first
    tables = sorted(files_of(folder, *TABLES), key=lambda each: each != first)
    return page(
        request,
        "table.html",
        status=status,
        said=said,
        folder=str(folder),
        jobs=all_jobs(folder),
        tables=tables[:_MOST_SHOWN],
        more=len(tables) - _MOST_SHOWN,
        folders=folders_of(folder)[:_MOST_SHOWN],
        first=first,
        models={name: slug_of(name) for name in models_of(folder)},
        db=db,
        sql=sql,
    )


def opened(request: Request) -> Response:
    """Begin a job with a file of the working folder."""
    folder, name = studio_of(request).folder, form_of(request).get("table", "")
    if name not in (*files_of(folder, *TABLES), *folders_of(folder)):
        return shown(request, said=_NOT_LISTED, status=400)
    return _begun(request, new_job(folder, Path(name).stem, table=str(folder / name)))


def _begun(request: Request, job: Job) -> Response:
    """Go on to the schema of a job; without one nothing was looked at, and what there is was of a job of that name."""
    if not job.file("schema.json").exists():
        studio_of(request).works.forget_done(job.name)
    return go(f"/job/{job.name}/schema")


def queried(request: Request) -> Response:
    """Begin a job with a query of a database."""
    form = form_of(request)
    sql, db = form.get("sql", "").strip(), form.get("db", "").strip()
    try:
        Query(sql, db)  # which says what is no query
        if _has_password(db):
            raise ParameterError(_HELD, code="LW316")
    except LapwingError as error:
        return shown(request, said=str(error), status=400, db="" if str(error) == _HELD else db, sql=sql)
    return _begun(request, new_job(studio_of(request).folder, "query", sql=sql, db=db))


def _has_password(db: str) -> bool:
    """Return whether an address says a password, or cannot be read to its end."""
    try:
        parts = urlsplit(db)
        return bool(parts.password) or any(
            each in name.lower() for name, _ in parse_qsl(parts.query) for each in _SECRETS
        )
    except ValueError:
        return True


async def uploaded(request: Request) -> Response:
    """Write a file into the working folder as it comes; it appears under its name once it is whole."""
    folder = studio_of(request).folder
    name = unquote(request.headers.get("x-name", ""))
    if not _is_name(name):
        return PlainTextResponse("This is no name of a table or of a saved release.", 400)
    place, begun = folder / name, folder / f".{os.urandom(8).hex()}{_PART}"
    try:
        if os.path.lexists(place):
            return PlainTextResponse(_TAKEN, 409)
        if not await _written(request, begun):
            return PlainTextResponse("This file is too large; put it into the folder by other means.", 413)
        if os.path.lexists(place):  # by now
            return PlainTextResponse(_TAKEN, 409)
        begun.rename(place)
    except OSError:
        return PlainTextResponse("The working folder cannot take this file.", 507)
    except ClientDisconnect:
        return PlainTextResponse("The file did not come to its end.", 400)
    finally:
        begun.unlink(missing_ok=True)
    return PlainTextResponse("added")


def _is_name(name: str) -> bool:
    """Return whether a file of that name may be added: of a kind that can be opened, and in the folder itself."""
    is_plain = name.isprintable() and not name.startswith(".") and not set(name) & set('/\\:*?"<>|')
    return is_plain and name.lower().endswith((*TABLES, _MODEL)) and len(name.encode()) <= _MOST_BYTES


def clear(folder: Path) -> None:
    """Remove what is left of files whose adding was cut off by the end of a studio."""
    for each in folder.glob(f".*{_PART}"):
        if re.fullmatch(r"\.[0-9a-f]{16}", each.name.removesuffix(_PART)):
            each.unlink(missing_ok=True)


async def _written(request: Request, place: Path) -> bool:
    """Write the body of a request to a new file as it comes; return whether it was small enough."""
    size = 0
    with place.open("xb") as file:
        async for piece in request.stream():
            size += len(piece)
            if size > _MOST_UPLOAD:
                return False
            await run_in_threadpool(file.write, piece)
    return True


ROUTES: Final = (
    Route("/", shown),
    Route("/open", opened, methods=["POST"]),
    Route("/query", queried, methods=["POST"]),
    Route(UPLOAD, uploaded, methods=["POST"]),
)
