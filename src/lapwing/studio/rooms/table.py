"""The first room: choose a file of the working folder, add one, or write a query; or open a release without a table."""

import hashlib
import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from lapwing.errors import DataError, ParameterError
from lapwing.studio.guard import UPLOAD
from lapwing.studio.jobs import JOBS, all_jobs, new_job
from lapwing.studio.pages import form_of, go, page, studio_of

_ENDINGS: Final = (
    ".parquet",
    ".pq",
    ".csv",
    ".csv.gz",
    ".tsv",
    ".xlsx",
    ".xls",
    ".ods",
    ".sav",
    ".dta",
    ".sas7bdat",
    ".xpt",
)
_MODEL: Final = ".lapwing"
_MOST_SHOWN: Final = 200
_MOST_LETTERS: Final = 120
_MOST_UPLOAD: Final = 8 << 30
"""Bytes of a file that is added; a larger one is put into the folder by other means."""


def files_of(folder: Path, *endings: str) -> list[str]:
    """Return the names of files that lie in a folder itself, by their endings; no link that leads elsewhere."""
    found = []
    for each in sorted(folder.iterdir()):
        is_there = each.is_file() and each.resolve().parent == folder
        if is_there and not each.name.startswith(".") and each.name.lower().endswith(endings):
            found.append(each.name)
    return found[:_MOST_SHOWN]


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


def shown(request: Request, *, said: str = "", status: int = 200) -> Response:
    """Show what can be opened."""
    folder = studio_of(request).folder
    return page(
        request,
        "table.html",
        status=status,
        said=said,
        folder=str(folder),
        jobs=all_jobs(folder),
        tables=files_of(folder, *_ENDINGS),
        first=studio_of(request).first,
        models={name: slug_of(name) for name in models_of(folder)},
    )


def opened(request: Request) -> Response:
    """Begin a job with a file of the working folder."""
    folder, name = studio_of(request).folder, form_of(request).get("table", "")
    if name not in files_of(folder, *_ENDINGS):
        raise DataError("the working folder has no table of that name; choose one that is listed", code="LW101")
    return go(f"/job/{new_job(folder, Path(name).stem, table=str(folder / name)).name}/schema")


def queried(request: Request) -> Response:
    """Begin a job with a query of a database."""
    form = form_of(request)
    sql, db = form.get("sql", "").strip(), form.get("db", "").strip()
    if not sql or not db:
        raise ParameterError("a query needs a database and a text; give both", code="LW316")
    if urlsplit(db).password:
        raise ParameterError(
            "the database's address holds a password, which would be written down; leave it out, and put it where the "
            "database's own tools look for it",
            code="LW316",
        )
    return go(f"/job/{new_job(studio_of(request).folder, 'query', sql=sql, db=db).name}/schema")


async def uploaded(request: Request) -> Response:
    """Write a file into the working folder as it comes; it appears under its name once it is whole."""
    folder = studio_of(request).folder
    name = unquote(request.headers.get("x-name", ""))
    place = folder / name
    if (
        name != os.path.basename(name)
        or name.startswith(".")
        or name == JOBS
        or not name.isprintable()
        or not name.lower().endswith((*_ENDINGS, _MODEL))
        or len(name) > _MOST_LETTERS
    ):
        return PlainTextResponse("This is no name of a table or of a saved release.", 400)
    if place.exists():
        return PlainTextResponse("There is a file of that name.", 409)
    begun = folder / f".{name}.part"
    try:
        if not await _written(request, begun):
            return PlainTextResponse("This file is too large; put it into the folder by other means.", 413)
        begun.rename(place)
    except OSError:
        return PlainTextResponse("The working folder cannot take this file.", 507)
    finally:
        begun.unlink(missing_ok=True)
    return PlainTextResponse("added")


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
