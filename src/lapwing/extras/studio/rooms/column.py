"""One column of the schema: what it can hold, from public knowledge; behind a door, what it does hold."""

from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.errors import LapwingError, SchemaError
from lapwing.extras.evaluate.internal.suggestions import frequent_texts, suggest
from lapwing.extras.studio.jobs import Job
from lapwing.extras.studio.pages import form_of, go, page
from lapwing.extras.studio.rooms.described import job_and_schema, keep, still_open, with_field, without_field
from lapwing.extras.studio.rooms.fields import (
    FROM,
    KINDS,
    LEAVE,
    count_of,
    field_of,
    in_words,
    is_listable,
    is_poor,
    key_of,
    known_for,
    name_of,
    others_for,
    texts_of,
)
from lapwing.schema.fields import Field
from lapwing.schema.scalars import in_full
from lapwing.schema.schemas import Schema

_TEXTS_SHOWN: Final = 20


def _column(request: Request) -> tuple[Job, Schema, int, Field]:
    """Return the job, its schema, and the column that an address names by its number from 1."""
    job, schema = job_and_schema(request)
    number = request.path_params["number"]
    if not 1 <= number <= len(schema.fields):
        raise HTTPException(404)
    return job, schema, number, schema.fields[number - 1]


def _page(
    request: Request, typed: dict[str, str] | None = None, *, status: int = 200, said: str = "", **more: object
) -> Response:
    """Return the page of a column; what was typed stands in its boxes, or what the schema says."""
    job, schema, number, field = _column(request)
    texts = texts_of(field)
    boxes = texts if typed is None else {key: typed.get(key, "") for key in texts}
    left = still_open(schema)
    shown = {
        "number": number,
        "count": len(schema.fields),
        "field": field,
        "column_key": key_of(field),
        "name": name_of(field),
        "boxes": boxes,
        "kinds": KINDS,
        "sources": FROM,
        "known": known_for(field, boxes["type"]),
        "others": others_for(field, boxes["type"]),
        "is_listable": is_listable(field),
        "listed": len(field.categories or ()),
        "is_unit": schema.privacy_unit is not None and schema.privacy_unit.field == field.name,
        "verdict": in_words(field),
        "count_of_values": count_of(field),
        "is_poor": is_poor(field),
        "left": len(left),
        "seen": None,
        "texts": (),
    }
    return page(
        request, "column.html", status=status, said=said, room="schema", job=job, **(shown | {"internal": False} | more)
    )


def shown(request: Request) -> Response:
    """Show a column's form."""
    return _page(request)


def judged(request: Request) -> Response:
    """Say what the form describes so far: a part of the page, shown while one types."""
    job, _, _, field = _column(request)
    found, said = field, ""
    form = form_of(request)
    is_left_out = form.get("role") == LEAVE
    try:
        found = field if is_left_out else field_of(form, field)
    except SchemaError as error:
        said = str(error)
    return page(
        request,
        "column_verdict.html",
        room="schema",
        job=job,
        said=said,
        field=found,
        is_left_out=is_left_out,
        verdict=in_words(found),
        count_of_values=count_of(found),
        is_poor=is_poor(found),
    )


def saved(request: Request) -> Response:
    """Take what the form says, and go on to the next column that is open, or back to all."""
    job, schema, number, field = _column(request)
    form = form_of(request)
    try:
        if form.get("column", key_of(field)) != key_of(field):
            raise SchemaError(
                "the columns have changed since this page was shown; go back to all columns, and choose it again",
                code="LW219",
            )
        is_left_out = form.get("role") == LEAVE
        changed = without_field(schema, field.name) if is_left_out else with_field(schema, _whole(form, field))
        keep(job, changed)
    except LapwingError as error:
        return _page(request, form, status=400, said=str(error))
    left = still_open(changed)
    after = [each for each in left if each > number - is_left_out] or left
    whole = f"/job/{job.name}/schema"
    return go(f"/job/{job.name}/column/{after[0]}" if after and form.get("then") == "next" else whole)


def _whole(form: dict[str, str], old: Field) -> Field:
    """Return the field of a form; who goes on to the next says first where a list or bounds are known from."""
    found = field_of(form, old)
    is_unsaid = not found.identifier and not found.blank and found.provenance == "drafted"
    if is_unsaid and form.get("then") == "next":
        raise SchemaError("it is not said yet where you know this from; choose one of the three below", code="LW212")
    return found


def looked(request: Request) -> Response:
    """Show what the column holds, as its form describes it: internal, as its owner asked for it. It is kept nowhere."""
    job, schema, _, field = _column(request)
    form = form_of(request)
    typed = form if "type" in form else None
    try:
        field = field if typed is None else field_of(form, field)
        if field.identifier:
            raise SchemaError("an identifier is not looked at, as it names rows or people", code="LW219")
        looked_at = with_field(schema, field)
        seen = suggest(job.data, looked_at, field.name).value
        texts = frequent_texts(job.data, looked_at, field.name, _TEXTS_SHOWN).value if field.type == "string" else ()
    except LapwingError as error:
        return _page(request, typed, status=400, said=str(error))
    shown = [(in_full(text), count) for text, count in texts]
    return _page(request, typed, internal=True, seen=next(iter(seen), None), texts=shown)


_AT: Final = "/job/{job}/column/{number:int}"
ROUTES: Final = (
    Route(_AT, shown),
    Route(_AT, saved, methods=["POST"]),
    Route(f"{_AT}/judged", judged, methods=["POST"]),
    Route(f"{_AT}/look", looked, methods=["POST"]),
)
