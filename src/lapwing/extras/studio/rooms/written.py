"""The schema as its file: to read and take away, what has changed in it, and a box for those who write it by hand."""

import difflib
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.errors import LapwingError
from lapwing.extras.studio.pages import form_of, go, page
from lapwing.extras.studio.rooms.described import first_of, job_and_schema, keep
from lapwing.schema.files import file_text
from lapwing.schema.scalars import visible
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import check_object, parse_json

_MOST_SHOWN: Final = 250_000
"""Letters of a schema that a box can take: a form has a mebibyte, in which a letter may need three bytes."""


def shown(request: Request, *, typed: str | None = None, said: str = "") -> Response:
    """Show the file, and what has changed since the job began."""
    job, schema = job_and_schema(request)
    text, before = file_text(schema.to_dict()), file_text(first_of(job, schema).to_dict())
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), "before", "now", lineterm="", n=1)
    return page(
        request,
        "schema_json.html",
        status=400 if said else 200,
        said=said,
        room="schema",
        job=job,
        text=text if typed is None else typed,
        is_long=len(text) > _MOST_SHOWN,
        changes=[(line[:1], visible(line)) for line in lines][2:],
    )


def taken(request: Request) -> Response:
    """Give the file away."""
    job, schema = job_and_schema(request)
    return Response(
        file_text(schema.to_dict()),
        media_type="application/json",
        headers={"content-disposition": f'attachment; filename="{job.name}.schema.json"'},
    )


def edited(request: Request) -> Response:
    """Take the file as it was written by hand."""
    job, _ = job_and_schema(request)
    typed = form_of(request).get("text", "")
    try:
        keep(job, Schema.load_draft(check_object(parse_json(typed.encode(), "the text"), "the schema")))
    except LapwingError as error:
        return shown(request, typed=typed, said=str(error))
    return go(f"/job/{job.name}/schema")


ROUTES: Final = (
    Route("/job/{job}/schema.json", taken),
    Route("/job/{job}/schema/json", shown),
    Route("/job/{job}/schema/json", edited, methods=["POST"]),
)
