"""The room where the table is described: each column a card, whose rows belong together, and rules."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.errors import DataError, LapwingError, ParameterError, SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.extras.evaluate.internal.suggestions import MOST_ROWS
from lapwing.extras.studio.jobs import Job
from lapwing.extras.studio.pages import form_of, go, job_of, page, studio_of
from lapwing.extras.studio.rooms.described import (
    FIRST,
    begin,
    begin_by_look,
    cards,
    first_of,
    job_and_schema,
    keep,
    protects,
    still_open,
    to_buy,
    with_field_back,
    with_keys,
    with_unit,
)
from lapwing.extras.studio.rooms.fields import key_of, name_of
from lapwing.extras.studio.rooms.table import files_of
from lapwing.rows.entry import source_of
from lapwing.schema.fields import Field
from lapwing.schema.named_files import PROGRAMS
from lapwing.schema.rules.rules import rule_to_dict
from lapwing.schema.rules.search import dead_values
from lapwing.schema.scalars import visible
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import parse_json

_DESCRIPTIONS: Final = (".json", ".yaml", ".yml")
_DEAD_SHOWN: Final = 10
_KIND: Final = "draft"
_AT_ONCE: Final = 1.0
"""Seconds that a look may take before a page is shown that waits for it."""

_DIGITS: Final = 10
"""Of a number of rows, which is shorter."""


def shown(request: Request) -> Response:
    """Show the columns, or the ways to a schema where there is none."""
    job = job_of(request)
    schema = job.schema
    return _start(request, job) if schema is None else _page(request, job, schema)


def _page(request: Request, job: Job, schema: Schema, *, said: str = "", **typed: str) -> Response:
    """Return the page of all columns; what was typed and refused stands in its boxes."""
    unit = schema.privacy_unit
    left = [*still_open(schema)]
    boxes = {
        "unit": "" if unit is None else key_of(schema.field(unit.field)),
        "most": str(MOST_ROWS if unit is None else unit.max_rows),
        "rules": "\n".join(_lines_of(schema)),
    }
    return page(
        request,
        "schema.html",
        status=400 if said else 200,
        said=said,
        room="schema",
        job=job,
        cards=cards(schema),
        names=[(key_of(field), name_of(field)) for field in schema.fields],
        boxes=boxes | typed,
        left=left,
        protects=protects(schema),
        to_buy=[field.name for field in to_buy(schema)],
        is_done=not schema.is_draft,
        is_guessed=any(field.provenance == "drafted" for field in schema.columns) and not _is_typed(job),
        questions=[visible(each) for each in schema.questions],
        rules=[(rule.text, rule.provenance) for rule in schema.rules],
        dead=_dead(schema),
        written=[f"{key} {value!r}" for key, value in schema.dialect.to_dict().items()],
        out=[(place, name_of(field)) for place, field in _left_out(job, schema)],
        purchases=len(schema.purchases),
    )


def _is_typed(job: Job) -> bool:
    """Tell whether the types of the columns are those of the table; not where it is not there."""
    try:
        return source_of(job.data).is_typed
    except LapwingError:
        return False


def _lines_of(schema: Schema) -> list[str]:
    """Return the rules, each as one line of JSON."""
    return [json.dumps(rule_to_dict(rule), ensure_ascii=False) for rule in schema.rules]


def _dead(schema: Schema) -> tuple[tuple[str, str, int], ...]:
    """Return the values that no row can have under the rules: column, the first of them, how many more."""
    if not schema.rules or still_open(schema) or to_buy(schema) or schema.questions:
        return ()
    return _dead_under(json.dumps(schema.to_dict()))


@lru_cache(maxsize=8)
def _dead_under(text: str) -> tuple[tuple[str, str, int], ...]:
    """Return what `_dead` does of a schema as text: a search that takes seconds under many rules."""
    return tuple(
        (visible(name), ", ".join(map(visible, found[:_DEAD_SHOWN])), max(0, len(found) - _DEAD_SHOWN))
        for name, found in dead_values(Schema.load_draft(json.loads(text))).items()
    )


def _left_out(job: Job, schema: Schema) -> list[tuple[int, Field]]:
    """Return the columns that the job began with and that were left out, with their places there."""
    known = set(schema.names)
    return [(place, each) for place, each in enumerate(first_of(job, schema).fields) if each.name not in known]


# -- Ways to a schema.


def _start(request: Request, job: Job, *, said: str = "") -> Response:
    """Return the page of the ways to a schema, or of the look that one was asked to begin with."""
    work = studio_of(request).works.get(job.name, _KIND)
    if work is not None and work.is_done:
        said, work = said or work.said, None
    source = source_of(job.data)
    return page(
        request,
        "schema_start.html",
        status=400 if said else 200,
        said=said,
        room="schema",
        job=job,
        files=_descriptions(request, job),
        is_typed=source.is_typed,
        is_query=source.form == "query",
        work=work,
    )


def _descriptions(request: Request, job: Job) -> list[str]:
    """Return the files that may describe the table: its own code book, where it has one, comes first."""
    folder = studio_of(request).folder
    found = files_of(folder, *_DESCRIPTIONS, *PROGRAMS)
    own = Path(job.table).name if job.table else ""
    stem = own.partition(".")[0]
    return sorted(found, key=lambda each: (each != own, not each.startswith(f"{stem}."), each))


def chosen(request: Request) -> Response:
    """Begin with a file that describes the table: a schema, or what another tool wrote."""
    job, form = job_of(request), form_of(request)
    if job.schema is not None:
        return go(f"/job/{job.name}/schema")
    try:
        if form.get("file") not in _descriptions(request, job):
            raise DataError("the working folder has no file of that name; choose one that is listed", code="LW101")
        begin(job, _read(studio_of(request).folder / form["file"], form.get("table", "").strip()))
    except LapwingError as error:
        return _start(request, job, said=str(error))
    return go(f"/job/{job.name}/schema")


def _read(place: Path, table: str) -> Schema:
    """Return the schema that a file holds, or that another tool's description gives."""
    if place.suffix.lower() == ".json" and not table:
        try:
            return Schema.load_draft(place)
        except SchemaError:
            pass  # another tool's, or broken: its reader tells which
    return read_foreign(place, table=table or None).schema


def drafted(request: Request) -> Response:
    """Begin with names and types: public where the table says them itself; else its cells are looked at."""
    job = job_of(request)
    if job.schema is None:
        work = studio_of(request).works.begin(job.name, _KIND, lambda _: begin_by_look(job))
        work.join(_AT_ONCE)
    return go(f"/job/{job.name}/schema")


def watched(request: Request) -> Response:
    """Show whether the look that one begins with is over: a part of the page."""
    job = job_of(request)
    work = studio_of(request).works.get(job.name, _KIND)
    return page(request, "schema_work.html", room="schema", job=job, work=work)


def dropped(request: Request) -> Response:
    """Begin anew, unless something in the schema was paid for."""
    job, schema = job_and_schema(request)
    if schema.purchases:
        said = "parts of this schema were learned with budget, so it cannot be removed; change it column by column"
        return _page(request, job, schema, said=said)
    studio_of(request).works.forget(job.name, _KIND)
    for name in ("schema.json", FIRST):
        job.file(name).unlink(missing_ok=True)
    return go(f"/job/{job.name}/schema")


# -- What is of the whole table.


def _changed(request: Request, change: Callable[[Schema], Schema], **typed: str) -> Response:
    """Keep a change of the schema, and show it; a refusal with what was typed."""
    job, schema = job_and_schema(request)
    try:
        keep(job, change(schema))
    except LapwingError as error:
        return _page(request, job, schema, said=str(error), **typed)
    return go(f"/job/{job.name}/schema")


def protected(request: Request) -> Response:
    """Take whose rows are protected together."""
    form = form_of(request)
    given, is_column = form.get("unit", ""), form.get("who") == "column"
    most = form.get("most", "").strip()

    def change(schema: Schema) -> Schema:
        name = next((field.name for field in schema.fields if given and key_of(field) == given), "")
        if is_column and not name:
            raise ParameterError("no column was chosen; choose the one that identifies the person", code="LW316")
        unit = schema.privacy_unit
        if not is_column and name and (unit is None or unit.field != name):
            raise ParameterError(
                "a column was chosen, and also that every row is another person; choose one of them", code="LW316"
            )
        is_number = most.isascii() and most.isdigit() and len(most) < _DIGITS
        return with_unit(schema, name if is_column else "", int(most) if is_number else most)

    return _changed(request, change, unit=given, most=most)


def ruled(request: Request) -> Response:
    """Take the rules, one line of JSON each."""
    text = form_of(request).get("rules", "")

    def change(schema: Schema) -> Schema:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        rules = [parse_json(line.strip().rstrip(",").encode(), f"the rule in line {number}") for number, line in lines]
        return with_keys(schema, {"rules": rules})

    return _changed(request, change, rules=text)


def answered(request: Request) -> Response:
    """Take out the questions that are answered."""
    done = {value for name, value in request.state.form if name == "question"}
    return _changed(
        request,
        lambda schema: with_keys(
            schema, {"questions": [each for place, each in enumerate(schema.questions) if str(place) not in done]}
        ),
    )


def all_bought(request: Request) -> Response:
    """Mark what is open as to be bought: columns without bounds or a list."""
    return _changed(
        request,
        lambda schema: schema | {field.name: {"provenance": "dp"} for field in schema.columns if field.blank},
    )


def put_back(request: Request) -> Response:
    """Take in again a column that was left out."""
    given = form_of(request).get("column", "")

    def change(schema: Schema) -> Schema:
        out = _left_out(job_and_schema(request)[0], schema)
        found = next((field for place, field in out if str(place) == given), None)
        if found is None:
            raise SchemaError("this column is not left out; load the page again", code="LW219")
        return with_field_back(schema, found, first_of(job_and_schema(request)[0], schema))

    return _changed(request, change)


def done(request: Request) -> Response:
    """Say that the schema is done, and go on to the check."""
    job, schema = job_and_schema(request)
    try:
        keep(job, Schema.load({key: value for key, value in schema.to_dict().items() if key != "draft"}))
    except LapwingError as error:
        return _page(request, job, schema, said=str(error))
    return go(f"/job/{job.name}/check")


_AT: Final = "/job/{job}/schema"
ROUTES: Final = (
    Route(_AT, shown),
    Route(f"{_AT}/file", chosen, methods=["POST"]),
    Route(f"{_AT}/draft", drafted, methods=["POST"]),
    Route(f"{_AT}/work", watched),
    Route(f"{_AT}/drop", dropped, methods=["POST"]),
    Route(f"{_AT}/unit", protected, methods=["POST"]),
    Route(f"{_AT}/rules", ruled, methods=["POST"]),
    Route(f"{_AT}/answered", answered, methods=["POST"]),
    Route(f"{_AT}/bought", all_bought, methods=["POST"]),
    Route(f"{_AT}/back", put_back, methods=["POST"]),
    Route(f"{_AT}/done", done, methods=["POST"]),
)
